"""The idea in pictures: a table with missing values, a centre for every row, and centres that fuse.

Run ``python examples/plot_idea.py --out idea.png``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from sklearn.decomposition import PCA

from fusewise import fusion_path
from fusewise.datasets import hide_entries, make_clusters
from fusewise.penalties import H1

#: Okabe and Ito's palette, for colour-blind readers.
COLOURS = np.array(["#0072B2", "#E69F00", "#009E73"])
LAMS = (3e-4, 5e-3, 0.05)
TITLES = ("every row has its own centre", "similar centres approach", "fused centres are the clusters")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("idea.png"))
    args = parser.parse_args()
    X, y, _ = make_clusters(3, 30, 12, noise=0.12, random_state=3)
    table = hide_entries(X, 0.4, random_state=0)
    path = fusion_path(table, lams=LAMS, penalty=H1(0.2), tol=1e-4)

    figure, axes = plt.subplots(1, 4, figsize=(13, 3.3), layout="constrained", width_ratios=[0.7, 1, 1, 1])
    axes[0].imshow(table, cmap="cividis", aspect="auto", interpolation="nearest")
    axes[0].set(xticks=[], yticks=[], xlabel="12 features", ylabel="90 rows", title="white: missing values")
    plane = PCA(2).fit(X)
    for axis, solution, title in zip(axes[1:], path, TITLES, strict=True):
        draw(axis, plane.transform(X), plane.transform(solution.centers), COLOURS[y])
        axis.set(title=title, xlabel=rf"$\lambda$ = {solution.lam:g}")
    figure.savefig(args.out, dpi=130)
    print(f"wrote {args.out}")


def draw(axis: plt.Axes, points: np.ndarray, centers: np.ndarray, colours: np.ndarray) -> None:
    """Draw points, their centres in black, and a line from each point to its centre."""
    axis.add_collection(LineCollection(np.stack([points, centers], axis=1), colors=colours, linewidths=0.6, alpha=0.5))
    axis.scatter(*points.T, s=16, c=colours, linewidths=0)
    axis.scatter(*centers.T, s=16, c="black", zorder=3)
    axis.set(xticks=[], yticks=[], aspect="equal")


if __name__ == "__main__":
    main()
