"""Hints: a few known labels join groups that belong together, and separate those that do not.

Run ``python examples/plot_hints.py --out hints.png``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering

#: Okabe and Ito's palette, for colour-blind readers; the last colour is that of outliers.
COLOURS = np.array(["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("hints.png"))
    args = parser.parse_args()
    # Class 0 has two groups far from each other; classes 1 and 2 overlap.
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 60)
    truth = np.array([0, 0, 1, 2])[group]
    X = np.array([[0, 0], [9, 0], [4, 6], [6.5, 6]])[group] + rng.standard_normal((240, 2))
    known = np.where(rng.random(240) < 0.1, truth, -1)

    without = FusionClustering().fit(X)
    with_hints = FusionClustering(semi_supervised=True).fit(X, known)
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharex=True, sharey=True, layout="constrained")
    draw(axes[0], X, np.where(known < 0, 6, known), f"labels of {(known >= 0).sum()} of 240 rows are known", known >= 0)
    for axis, model, name in zip(axes[1:], (without, with_hints), ("without hints", "with hints"), strict=True):
        score = adjusted_rand_score(truth, model.labels_)
        draw(axis, X, model.labels_, f"{name}: {model.n_clusters_} clusters, ARI {score:.2f}", np.ones(240, bool))
    figure.savefig(args.out, dpi=160)
    print(f"wrote {args.out}")


def draw(axis: plt.Axes, points: np.ndarray, labels: np.ndarray, title: str, large: np.ndarray) -> None:
    """Draw points in the colours of their labels."""
    axis.scatter(*points.T, c=COLOURS[labels], s=np.where(large, 16, 2), linewidths=0)
    axis.set_title(title, fontsize=11)
    axis.set_aspect("equal")
    axis.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
