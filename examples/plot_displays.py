"""Five plots of one model: map, path, profiles, missing values and the table itself.

Run ``python examples/plot_displays.py --out displays.png``. The table is Wine with 30% of its entries hidden and
the ash column hidden entirely for the first cultivar, which the plot of the missing values reveals.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from fusewise import FusionClustering
from fusewise.datasets import hide_entries
from fusewise.plots import (
    ClusterMapDisplay,
    FusionMapDisplay,
    FusionPathDisplay,
    MissingnessDisplay,
    ProfileDisplay,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("displays.png"))
    args = parser.parse_args()
    wine = load_wine(as_frame=True)
    table = wine.data.mask(np.isnan(hide_entries(wine.data.to_numpy(), 0.3, random_state=0)))
    table.loc[wine.target == 0, "ash"] = np.nan
    model = FusionClustering().fit(table)

    figure = plt.figure(figsize=(13, 15), layout="constrained")
    places = figure.subplot_mosaic(
        [["map", "profile"], ["path", "profile"], ["path", "missing"], ["table", "table"]], height_ratios=[3, 1, 2, 4]
    )
    FusionMapDisplay.from_estimator(model, ax=places["map"])
    FusionPathDisplay.from_estimator(model, ax=places["path"])
    ProfileDisplay.from_estimator(model, ax=places["profile"])
    MissingnessDisplay.from_estimator(model, ax=places["missing"])
    ClusterMapDisplay.from_estimator(model, ax=places["table"])
    figure.savefig(args.out, dpi=160)
    print(f"wrote {args.out}")


if __name__ == "__main__":
    main()
