"""Pairs of points that may fuse, and their weights: the second term of the objective."""

from fusewise.pairs.complete import CompletePairs
from fusewise.pairs.distances import (
    partial_squared_distances,
    partial_squared_distances_to,
    squared_distances,
)
from fusewise.pairs.expected import nearest_expected
from fusewise.pairs.neighbors import NeighborPairs, SparseWeights
from fusewise.pairs.weights import DenseWeights, Pairs, Weighted

__all__ = [
    "CompletePairs",
    "DenseWeights",
    "NeighborPairs",
    "Pairs",
    "SparseWeights",
    "Weighted",
    "nearest_expected",
    "partial_squared_distances",
    "partial_squared_distances_to",
    "squared_distances",
]
