"""Clusters of frames: frames of like cardiac and respiratory phase, by spectral clustering of the fused frames.

As in the paper. Phases form a continuum, so there is no gap for a merge tree to find: cutting a path of fusion to 20
groups follows the known phases less well (``benchmarks/mri/labels.py``).
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import SpectralClustering

from fusewise.labels import Labels, number_by_size
from fusewise.mri.arrays import Array
from fusewise.mri.kernels import gram

#: As many as the paper shows.
N_CLUSTERS = 20

#: Frames move along few directions; what is beyond the first ones is error.
DIRECTIONS = 8

#: Neighbours of a frame in the graph.
NEIGHBORS = 10


def frame_labels(images: Array, n_clusters: int = N_CLUSTERS) -> Labels:
    """Label the frames by their position along the leading directions of motion, the largest cluster first.

    Parameters
    ----------
    images : T x ny x nx.
    n_clusters : clusters; fewer where frames are fewer than five times as many.
    """
    n_frames = len(images)
    wanted = min(n_clusters, max(1, n_frames // 5))
    if wanted < 2:
        return np.zeros(n_frames, dtype=np.intp)
    model = SpectralClustering(
        wanted, affinity="nearest_neighbors", n_neighbors=min(NEIGHBORS, n_frames - 1), random_state=0
    )
    with warnings.catch_warnings():
        # Phases that are never near each other leave the graph in pieces: those are clusters, not a fault.
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        return number_by_size(model.fit_predict(coordinates(images)))


def coordinates(images: Array) -> Array:
    """Coordinates of the frames along the leading directions of their motion, T x directions."""
    values, vectors = np.linalg.eigh(gram(images).astype(float))
    kept = slice(None, -min(DIRECTIONS, len(values)) - 1, -1)
    return np.asarray(vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0)))
