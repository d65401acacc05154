"""Cluster scikit-learn's Wine table with 30% of its entries hidden.

Run ``make demo``, or ``python examples/demo.py --out DIR``. Prints what was found and writes ``labels.csv`` and
``completed.csv``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from fusewise import FusionClustering, FusionImputer
from fusewise.datasets import hide_entries


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the results")
    parser.add_argument("--fraction", type=float, default=0.3, help="of the entries to hide")
    args = parser.parse_args()

    wine = load_wine(as_frame=True)
    truth, cultivar = wine.data, wine.target
    hidden = pd.DataFrame(hide_entries(truth, args.fraction, random_state=0), columns=truth.columns)

    scaler = StandardScaler()
    table = scaler.fit_transform(hidden)
    start = time.perf_counter()
    model = FusionClustering(random_state=0).fit(table)
    seconds = time.perf_counter() - start
    filled = FusionImputer(random_state=0).fit_transform(table)
    completed = pd.DataFrame(scaler.inverse_transform(filled), columns=truth.columns)

    args.out.mkdir(parents=True, exist_ok=True)
    pd.DataFrame({"row": truth.index, "label": model.labels_}).to_csv(args.out / "labels.csv", index=False)
    completed.to_csv(args.out / "completed.csv", index=False)
    report(model, cultivar.to_numpy(), scaler.transform(truth), table, filled, seconds, args.out)


def report(
    model: FusionClustering,
    cultivar: np.ndarray,
    truth: np.ndarray,
    table: np.ndarray,
    filled: np.ndarray,
    seconds: float,
    out: Path,
) -> None:
    """What was found, beside what was hidden."""
    holes = np.isnan(table)
    error = np.sqrt(np.mean((filled - truth)[holes] ** 2))
    by_mean = np.sqrt(np.mean((np.nanmean(table, axis=0) - truth)[holes] ** 2))
    facts = Table(
        title=f"Wine: {len(table)} rows, 13 features, {holes.mean():.0%} of the entries hidden", show_header=False
    )
    facts.add_row("clusters found (nobody said how many)", str(model.n_clusters_))
    facts.add_row("outliers", str(np.count_nonzero(model.labels_ < 0)))
    facts.add_row(
        "agreement with the cultivars (adjusted Rand index)", f"{adjusted_rand_score(cultivar, model.labels_):.3f}"
    )
    facts.add_row("error of the filled holes (in standard deviations)", f"{error:.3f}")
    facts.add_row("  the same, filled with column means", f"{by_mean:.3f}")
    facts.add_row("time to cluster", f"{seconds:.2f} s")
    sizes = Table(title="Clusters against cultivars")
    for heading in ("cluster", "size", "cultivar 0", "cultivar 1", "cultivar 2"):
        sizes.add_column(heading, justify="right")
    for k in [*range(model.n_clusters_), *([-1] if (model.labels_ < 0).any() else [])]:
        members = cultivar[model.labels_ == k]
        name = "outliers" if k < 0 else str(k)
        sizes.add_row(name, str(len(members)), *map(str, np.bincount(members, minlength=3)))
    console = Console()
    console.print(facts)
    console.print(sizes)
    console.print(f"Wrote {out / 'labels.csv'} and {out / 'completed.csv'}.")


if __name__ == "__main__":
    main()
