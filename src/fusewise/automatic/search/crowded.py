"""The search for very many clusters in a large sample, at a cost that grows with the rows, not with K rows."""

from __future__ import annotations

import numpy as np

from fusewise.automatic.coordinates.evidence import Evidence
from fusewise.automatic.coordinates.placed_rows import Rows
from fusewise.automatic.judging.comparing import Compared
from fusewise.automatic.judging.criterion import criterion
from fusewise.automatic.judging.valleys import linked, without_valley
from fusewise.automatic.models.clusters import SOFT_ROUNDS, AlongAxes, Clusters, axes_complexity
from fusewise.automatic.models.columnwise import columns_of_groups
from fusewise.automatic.models.group_fit import fit_groups
from fusewise.automatic.models.joined import joined_clusters
from fusewise.automatic.models.mixture import Mixture
from fusewise.automatic.models.partition_fit import describe
from fusewise.automatic.passes.nearby import near_components
from fusewise.automatic.search.candidates import allowed_nodes, labels_of
from fusewise.automatic.search.local_cuts import best_cuts
from fusewise.automatic.search.search_result import Searched
from fusewise.automatic.search.searching import LARGEST_RANK, TreeSearch
from fusewise.kernels.types import Index, Labels
from fusewise.kernels.words import counted

#: Rows of the smallest group.
FEWEST = 5.0
#: With fewer rows in each group on average, more rows may show more groups.
CROWDED_ROWS = 12
#: Densities computed to compare two partitions of an incomplete table: of all rows, or of as many as that allows.
MOST_DENSITIES = 20_000_000


class CrowdedSearch(TreeSearch):
    """A search for clusters, as many as there are: the tree is cut where that pays (``local_cuts``).

    Rows belong to one component each while components are fitted, and only those near a row are considered.
    """

    def among_all(self) -> Searched:
        """Compare the best of all partitions along the tree with a single cluster."""
        placed = self.place(min(LARGEST_RANK, self.most))
        tree, rows = placed.tree, placed.rows
        allowed = allowed_nodes(tree, min(self.smallest_of_many, FEWEST), self.copies)
        self.progress("cutting the merge tree", 0)
        nodes = best_cuts(tree, rows, allowed, lambda labels: describe(rows, labels, self.worth))
        partitions = [np.zeros(tree.n_points, np.intp)]
        if len(nodes) > 1:
            partitions.append(labels_of(tree, nodes, rows.places))
        compared = Compared((), (), interrupted=False)
        for labels in partitions:
            mixture = describe(rows, labels, self.worth)
            compared = compared.with_one(mixture, self._criterion(rows, mixture), 0.0)
        best = compared.best
        crowded = len(nodes) * CROWDED_ROWS > tree.n_points
        return Searched(placed, partitions, compared, best, unsettled=crowded)

    def _criterion(self, rows: Rows, mixture: Mixture) -> float:
        most = MOST_DENSITIES // mixture.n_components
        return criterion(rows.evidence, mixture, complete=self.sample.is_complete, worth=self.worth, most_rows=most)

    def clusters(self, found: Searched) -> tuple[Mixture, Clusters]:
        """The components that were chosen, along the axes, and the clusters as they are kept (see ``TreeSearch``)."""
        best = found.compared.mixtures[found.chosen]
        if best.n_components == 1 or not isinstance(best, Mixture):
            return super().clusters(found)
        subspace, rows, _ = found.placed
        self.progress(f"fitting {counted(best.n_components, 'component')}", 0)
        evidence = rows.evidence if self.wide is self.sample else Evidence.of(subspace, self.wide)
        mixture, labels = refitted(rows, evidence, best)
        kept = self._better_explained(AlongAxes(subspace, mixture), labels)
        own = labels if self.wide is self.sample else near_components(mixture, rows.evidence).labels
        group = linked(mixture.n_components, without_valley(mixture, rows.evidence, own))
        return mixture, joined_clusters(kept, group)

    def _better_explained(self, along: AlongAxes, labels: Labels) -> Clusters:
        """``clusters.better_explained`` with rows that belong to one component each."""
        n = self.wide.shape[0]
        apart = columns_of_groups(self.wide, labels, SOFT_ROUNDS)
        gain = self.worth * (apart.log_likelihood - along.mixture.fit)
        cost = apart.complexity - along.mixture.complexity - axes_complexity(self.wide, along.subspace)
        return apart if gain > 0.5 * cost * np.log(self.worth * n) else along


def refitted(rows: Rows, evidence: Evidence, mixture: Mixture) -> tuple[Mixture, Labels]:
    """Assign rows to their likeliest component and fit components to their rows, a few times; and the labels.

    Parameters
    ----------
    rows : the rows of the sample.
    evidence : of these, or of more rows that components are fitted to.
    mixture : the components; those that lose all rows are left out.
    """
    labels: Index = np.zeros(0, np.intp)
    for _ in range(SOFT_ROUNDS):
        again = np.unique(near_components(mixture, evidence).labels, return_inverse=True)[1]
        if np.array_equal(again, labels):
            break
        labels = again
        within = np.einsum("k,kij->ij", mixture.shares, mixture.spreads)
        mixture = fit_groups(evidence, labels, within, rows.prior(int(labels.max()) + 1), mixture.family)
    return mixture, labels
