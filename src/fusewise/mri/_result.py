"""What a reconstruction returns: images, and clusters of frames with similar breathing and heartbeat, as in the paper.

If the frames show a heartbeat (``find_rhythms``), a cluster is an arc of the beat at one depth of breath. For 20
clusters that is 10 arcs by 2 depths: the beat is the richer motion, and its phases are to be compared; the breath
mostly shifts the image. Clustering by distance alone finds little but the breath, which moves more of the image than
the beat does. It is used (as spectral clustering of the frames) if no beat is found: in
a short series, or with frames in arbitrary order.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from sklearn.cluster import SpectralClustering

from fusewise.kernels import Labels, Placement
from fusewise.mri._held_out import Setting
from fusewise.mri._rhythms import Rhythms, find_rhythms
from fusewise.mri._tensors import Array, energy, gram
from fusewise.observations import number_by_size
from fusewise.progress import Progress

#: Number of clusters shown in the paper.
N_CLUSTERS = 20

#: Frames move along few directions; further directions are errors. Rhythms need more of them than distances.
DIRECTIONS, RHYTHM_DIRECTIONS = 8, 16

#: Neighbours of a frame in the graph.
NEIGHBORS = 10

#: Arcs of the beat for each depth of breath, if there are many clusters.
ARCS_PER_DEPTH = 5


class Run(NamedTuple):
    """What every way to reconstruct needs beside the samples."""

    rng: np.random.Generator
    place: Placement  # to the device
    tell: Progress


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Images of all frames, and how they were made.

    Attributes
    ----------
    images : T x ny x nx, complex.
    lam : strength of the prior that was chosen, in squared units of the images. By fusion: the lam of the paper.
    sigma : scale of the H1 weights that was chosen (median over the image), per pixel. By fusion: of whole frames.
    rank : directions in time that stand out of the noise.
    history : relative residual of the last solve, step by step. By fusion: the objective after each step.
    local : the settings tried and the held-out samples' verdict on each.
    method : "interpolation" or "fusion", see ``mri.reconstruct``.
    """

    images: Array = field(repr=False)
    lam: float
    sigma: float
    rank: int
    history: tuple[float, ...] = field(repr=False)
    local: Setting
    method: str = "interpolation"

    @cached_property
    def rhythms(self) -> Rhythms:
        """Breath and beat, found in the images (computed when first asked for)."""
        return frame_rhythms(self.images)

    @property
    def breath(self) -> Array | None:
        """Position of the breath in each frame, 0 (where it rests) to 1; None where no breath was found."""
        return self.rhythms.breath

    @property
    def beat(self) -> Array | None:
        """Phase of the beat in each frame, in [0, 1); None where no beat was found."""
        return self.rhythms.beat

    @cached_property
    def labels(self) -> Labels:
        """Cluster of each frame, by breath and beat (computed when first asked for)."""
        return labels_of(self.images, self.rhythms)


def ser(truth: Array, estimate: Array, box: tuple[slice, slice] = (slice(None), slice(None))) -> float:
    """Signal-to-error ratio 20 log10(||x|| / ||x - u||) in decibels, over a box of all frames.

    Parameters
    ----------
    truth, estimate : x and u, T x ny x nx.
    box : rows and columns.
    """
    x, u = truth[:, box[0], box[1]], estimate[:, box[0], box[1]]
    error = energy(x - u)
    return float(10 * np.log10(energy(x) / error)) if error > 0 else float("inf")


def frame_labels(images: Array, n_clusters: int = N_CLUSTERS) -> Labels:
    """Label frames, given in temporal order, by breath and beat, the largest cluster first.

    Parameters
    ----------
    images : T x ny x nx.
    n_clusters : largest number of clusters; fewer if there are fewer than five frames for each.
    """
    return labels_of(images, frame_rhythms(images), n_clusters)


def frame_rhythms(images: Array) -> Rhythms:
    """Breath and beat of frames in temporal order."""
    return find_rhythms(coordinates(images, min(RHYTHM_DIRECTIONS, len(images) // 5)))


def labels_of(images: Array, rhythms: Rhythms, n_clusters: int = N_CLUSTERS) -> Labels:
    """Label frames by known rhythms; see ``frame_labels``."""
    wanted = min(n_clusters, max(1, len(images) // 5))
    # Frames at rest differ by the rounding of single precision at most.
    if wanted < 2 or energy(images - images.mean(axis=0)) <= 1e-11 * energy(images):
        return np.zeros(len(images), dtype=np.intp)
    if rhythms.beat is None:
        return spectral_labels(images, wanted)
    return number_by_size(cells(rhythms.beat, rhythms.breath, wanted))


def cells(beat: Array, breath: Array | None, n_cells: int) -> Labels:
    """Arc of the beat and depth of breath of each frame, as one number below `n_cells`.

    Depths have equally many frames, and arcs are equally long, the first centred on phase 0: the turning point of the
    beat is the middle of a cluster, not its edge. If `n_cells` is not a multiple of the number of depths, the first
    depths have one arc more.
    """
    depths = 1 if breath is None else max(min(2, n_cells // 3), round(np.sqrt(n_cells / ARCS_PER_DEPTH)), 1)
    rank = np.zeros(len(beat)) if breath is None else np.argsort(np.argsort(breath, kind="stable"), kind="stable")
    depth = (rank * depths // len(beat)).astype(np.intp)
    arcs = n_cells // depths + (np.arange(depths) < n_cells % depths)
    first = np.cumsum(arcs) - arcs
    return np.asarray(first[depth] + np.floor(beat * arcs[depth] + 0.5).astype(np.intp) % arcs[depth])


def spectral_labels(images: Array, n_clusters: int = N_CLUSTERS) -> Labels:
    """Label frames (`images`, in any order) by position along the leading directions of motion: `n_clusters`."""
    model = SpectralClustering(
        n_clusters, affinity="nearest_neighbors", n_neighbors=min(NEIGHBORS, len(images) - 1), random_state=0
    )
    with warnings.catch_warnings():
        # Distant phases can leave the graph disconnected: its parts are clusters, not an error.
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        return number_by_size(model.fit_predict(coordinates(images)))


def coordinates(images: Array, directions: int = DIRECTIONS) -> Array:
    """Coordinates of the frames along the leading directions of their motion, T x directions."""
    values, vectors = np.linalg.eigh(gram(images).astype(float))
    kept = slice(None, -min(directions, len(values)) - 1, -1)
    return np.asarray(vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0)))
