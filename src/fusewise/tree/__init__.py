"""The merge tree: the path of l0 fusion along a graph, from every point alone to all in one.

At weight lam the l0 problem on a graph,  sum_i f_i(u_i) + lam sum_ij c_ij [u_i != u_j],  gains from fusing two groups a
and b as soon as lam exceeds

    lam_ab = (rise of the fidelity if a and b share a centre) / (affinity between them).

Followed greedily from lam = 0 upwards, fusing the pair with the least lam_ab each time, that is a path of nested
partitions. Fused groups merge exactly: their quadratics add, their affinities add, and one node stands for all.
"""

from fusewise.tree.greedy import RIDGE, fusion_tree
from fusewise.tree.nested import MergeTree

__all__ = ["RIDGE", "MergeTree", "fusion_tree"]
