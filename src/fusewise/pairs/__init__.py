"""Pairs of points that may fuse, and their weights: the second term of the objective."""

from fusewise.pairs._boxes import boxes, common_boxes, midpoints, spread_out
from fusewise.pairs._complete import CompletePairs, DeviceCompletePairs
from fusewise.pairs._distances import (
    DenseWeights,
    Pairs,
    PairWeights,
    h1_weight,
    partial_squared_distances,
    partial_squared_distances_to,
    real_view,
)
from fusewise.pairs._neighbors import NeighborPairs, SparseWeights, nearest_expected
