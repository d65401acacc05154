"""Clusters of frames: frames of like cardiac and respiratory phase, by fusion of the reconstructed frames."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fusewise.estimators import FusionClustering
from fusewise.labels import Labels
from fusewise.mri.fourier import Array
from fusewise.mri.kernels import gram

#: As many as the paper shows.
N_CLUSTERS = 20

#: Frames move along few directions; what is beyond the first ones is error.
DIRECTIONS = 8


def frame_labels(images: Array, n_clusters: int = N_CLUSTERS) -> Labels:
    """Label the frames by fusing their coordinates along the leading directions of motion.

    Parameters
    ----------
    images : T x ny x nx.
    n_clusters : clusters to cut the path of fusion to; fewer where frames are fewer than five times as many.
    """
    n_frames = len(images)
    wanted = min(n_clusters, max(1, n_frames // 5))
    if wanted < 2:
        return np.zeros(n_frames, dtype=np.intp)
    points = coordinates(images)
    with warnings.catch_warnings():
        # A point of the path that has not converged to the last digit still gives the same groups.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = FusionClustering(n_clusters=wanted, n_neighbors=min(10, n_frames - 1), rank=None).fit(points)
    return np.asarray(model.labels_, dtype=np.intp)


def coordinates(images: Array) -> Array:
    """Coordinates of the frames along the leading directions of their motion, T x directions."""
    values, vectors = np.linalg.eigh(gram(np.ascontiguousarray(images)).astype(float))
    kept = slice(None, -min(DIRECTIONS, len(values)) - 1, -1)
    return np.asarray(vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0)))
