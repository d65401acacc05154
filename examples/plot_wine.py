"""Wine with 0, 30 and 50% of its entries hidden: points joined to their fused centres, as in the paper.

Run ``python examples/plot_wine.py --out wine.png``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from fusewise import fusion_path
from fusewise.datasets import hide_entries, load_wine_subset
from fusewise.penalties import H1

#: Okabe and Ito's palette, for colour-blind readers.
COLOURS = np.array(["#0072B2", "#E69F00", "#009E73"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("wine.png"))
    args = parser.parse_args()
    X, cultivar = load_wine_subset()
    plane = PCA(2).fit(X)
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharex=True, sharey=True, layout="constrained")
    for axis, fraction in zip(axes, (0.0, 0.3, 0.5), strict=True):
        # Published settings: penalty scale sigma 0.153, strength lam up to 0.65, each started from the previous one.
        path = fusion_path(
            hide_entries(X, fraction, random_state=0), lams=np.linspace(0.13, 0.65, 5), penalty=H1(0.153)
        )
        found = path[-1]
        draw(axis, plane.transform(X), plane.transform(found.centers), COLOURS[cultivar])
        score = adjusted_rand_score(cultivar, found.labels)
        axis.set_title(f"{fraction:.0%} hidden: {found.n_clusters} clusters, ARI {score:.2f}", fontsize=11)
    axes[0].set_ylabel("second principal component")
    axes[1].set_xlabel("first principal component")
    figure.savefig(args.out, dpi=160)
    print(f"wrote {args.out}")


def draw(axis: plt.Axes, points: np.ndarray, centers: np.ndarray, colours: np.ndarray) -> None:
    """Draw points, their centres in black, and a line from each point to its centre."""
    lines = LineCollection(np.stack([points, centers], axis=1), colors=colours, linewidths=0.5, alpha=0.45)
    axis.add_collection(lines)
    axis.scatter(*points.T, s=14, c=colours, linewidths=0)
    axis.scatter(*centers.T, s=22, c="black", zorder=3)
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_aspect("equal")
    axis.locator_params(nbins=5)


if __name__ == "__main__":
    main()
