"""Groups of fused centres, their labels, and the smaller problem in which each group is one centre.

Fusion brings centres together without making them exactly equal: within a group they end within a small fraction of
the penalty's scale, and groups stay at least about that scale apart. **The rule:** link the centres by single linkage,
and raise the heights of merges to the penalty's ``resolution`` (below it any two centres count as one). A gap between
successive heights is clear if it spans a factor 4 or more, and it can separate fused centres from others if it begins
below the penalty's ``reach`` (beyond it pairs hardly attract); after the last merge it extends to the reach. Of the
clear gaps the one with the widest part between resolution and reach is cut in its middle, all on a logarithmic scale:
moving the cut by a factor 2 changes nothing. If no gap is clear, only centres within the resolution are joined. A point
that is held more strongly by its data than it is pulled by its pairs has not fused: it stays alone.

With the centres of a group held equal, their fidelities and their affinities to others add up, and the pairs within
the group cost nothing: the smaller problem has the same objective as the full one at those centres.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fusewise.fusion._loop import Descent
from fusewise.fusion._penalties import Penalty
from fusewise.fusion._problem import Problem, place
from fusewise.kernels import Array, Index, Real, beside, components, sum_by, to_host
from fusewise.observations import Quadratics
from fusewise.pairs import SparseWeights

#: Factor that a clear gap must span: a factor 2 on either side of the cut.
CLEAR_GAP = 4.0

#: Reach of a penalty that does not saturate, in units of its resolution: centres fuse to within that, or not at all.
UNSATURATED_REACH = 100.0


def _reach(penalty: Penalty) -> float:
    """The distance beyond which no two centres count as fused, whatever the heights."""
    return penalty.reach or UNSATURATED_REACH * penalty.resolution


def fusion_scale(heights: Real, penalty: Penalty) -> float:
    """The distance within which centres count as fused (see the rule above), from the heights of their merges."""
    low = penalty.resolution
    high = _reach(penalty)
    steps = np.maximum(np.sort(heights), low)
    below, above = steps, np.append(steps[1:], max(high, steps[-1]))
    # Clear gaps are found from the heights alone: a height beyond the reach does not narrow a gap that begins below it.
    clear = (below < high) & (above >= CLEAR_GAP * below)
    if not clear.any():
        return low
    widest = int(np.argmax(np.where(clear, np.minimum(above, high) / below, 0)))
    return float(np.sqrt(below[widest] * above[widest]))


@dataclass(frozen=True, eq=False)
class MergedProblem:
    """A problem on nodes, each of which represents one or more of N points."""

    problem: Problem
    working: Problem  # the same, with its arrays on the device
    node_of: Index  # the node of each point
    device: str
    #: Lengths at which points within a node were linked when they merged. The rule that separates fused from distinct
    #: centres by the widest gap between lengths still uses them.
    heights: Real

    @classmethod
    def unmerged(cls, problem: Problem, device: str = "cpu") -> MergedProblem:
        return cls(problem, place(problem, device), np.arange(problem.pairs.n_points), device, np.zeros(0))

    @property
    def n_nodes(self) -> int:
        return self.problem.pairs.n_points

    def at(self, lam: float, penalty: Penalty) -> MergedProblem:
        return replace(self, problem=self.problem.at(lam, penalty), working=self.working.at(lam, penalty))

    def groups(self, descent: Descent) -> Index:
        """The group of fused centres of each point (numbers without an order), by the rule of ``fusion.labels``.

        Centres are linked along the pairs: on a graph only points that its edges join can fuse.
        """
        problem = self.problem
        held = np.zeros(self.n_nodes, bool)
        if not problem.fidelity.constrained:
            held = problem.pull(to_host(descent.weighted.degree)) < 1
        if held.all() or self._all_apart(descent):
            return self.node_of
        first, second, lengths = self.working.pairs.spans(descent.centers)
        # Parts of a graph that no edge joins are infinitely far apart.
        apart = [np.inf] if len(lengths) < self.n_nodes - 1 else []
        heights = np.concatenate([self.heights, lengths, apart])
        linked = lengths <= fusion_scale(heights, problem.penalty) if len(heights) else np.zeros(0, bool)
        groups = components(self.n_nodes, first[linked], second[linked])
        groups[held] = self.n_nodes + np.flatnonzero(held)
        return groups[self.node_of]

    def merge(self, groups: Index, centers: Array) -> tuple[MergedProblem, Array]:
        """Return the problem with the points of each group held equal, and its centres: the means over their points.

        Groups are numbered from 0, and every node lies within one; `centers` are those of the nodes.
        """
        n_groups = int(groups.max()) + 1
        if n_groups == self.n_nodes:
            return self, centers
        of_node = np.empty(self.n_nodes, np.intp)
        of_node[self.node_of] = groups
        problem = self.problem
        dtype = to_host(problem.observations.target[:0]).real.dtype
        members = np.ones(self.n_nodes, dtype) if problem.members is None else np.asarray(problem.members)
        counts = np.bincount(of_node, members, minlength=n_groups).astype(members.dtype)
        observations = problem.observations
        observations = observations.on_host if isinstance(observations, Quadratics) else observations
        smaller = replace(
            problem,
            observations=observations.merge(of_node, n_groups),
            pairs=problem.pairs.merge(of_node, n_groups),
            members=counts,
            data_size=problem.unit,
        )
        first, second, lengths = self.working.pairs.spans(centers)
        heights = np.concatenate([self.heights, lengths[of_node[first] == of_node[second]]])
        merged = MergedProblem(smaller, place(smaller, self.device), groups, self.device, heights)
        means = sum_by(of_node, n_groups, members[:, None] * to_host(centers)) / counts[:, None]
        return merged, beside(means, merged.working.observations.target)

    def _all_apart(self, descent: Descent) -> bool:
        """Whether every edge of a graph is so long that no cut joins its ends."""
        weighted, reach = descent.weighted, _reach(self.problem.penalty)
        return isinstance(weighted, SparseWeights) and bool((weighted.squares >= reach**2).all())


def agreed(groups: Index, others: Index) -> Index:
    """Intersection of two partitions, numbered from 0."""
    both = groups * (int(others.max(initial=0)) + 1) + others
    return np.asarray(np.unique(both, return_inverse=True)[1], dtype=np.intp)


def joined(groups: Index, others: Index) -> Index:
    """The finest partition of which both are refinements: groups that share a point are joined."""
    links = groups, int(groups.max(initial=0)) + 1 + others
    n = int(links[1].max(initial=0)) + 1
    return components(n, *links)[groups]
