"""The result of a search for clusters."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fusewise.automatic.coordinates.placed_rows import Rows
from fusewise.automatic.judging.comparing import Compared
from fusewise.automatic.tree.merge_tree import MergeTree
from fusewise.kernels.types import Labels
from fusewise.kernels.words import counted
from fusewise.subspace import Subspace


class Placed(NamedTuple):
    """Rows placed in a subspace, and their merge tree."""

    subspace: Subspace
    rows: Rows
    tree: MergeTree


class Searched(NamedTuple):
    """The result of a search: the partitions that were compared, in order of the number of groups, and the best."""

    placed: Placed
    partitions: list[Labels]
    compared: Compared
    chosen: int
    unsettled: bool = False  # more rows may show more clusters

    @property
    def gain(self) -> float:
        """How much better the chosen partition explains the entries than a single cluster."""
        return self.compared.criteria[self.chosen] - self.compared.criteria[0]

    @property
    def criterion(self) -> float:
        """The criterion of the chosen partition; minus infinity if hints bar all of them."""
        barred = self.chosen in self.compared.barred
        return -np.inf if barred else self.compared.criteria[self.chosen]

    @property
    def allowed(self) -> Searched:
        """The same without the partitions that break hints."""
        kept = [k for k in range(len(self.partitions)) if k not in self.compared.barred]
        partitions = [self.partitions[k] for k in kept]
        return Searched(self.placed, partitions, self.compared.only(kept), kept.index(self.chosen))

    @property
    def n_groups(self) -> int:
        """Groups of the chosen partition."""
        return int(self.partitions[self.chosen].max()) + 1

    @property
    def n_classes(self) -> int:
        """Components of the chosen mixture, before any are joined."""
        return self.compared.mixtures[self.chosen].n_components

    @property
    def rank(self) -> int:
        """Dimensions searched."""
        return self.placed.subspace.rank

    @property
    def featureless(self) -> bool:
        """Whether rows vary less along the axes than about them: other axes would have done as well."""
        return bool(self.placed.rows.variances.mean() < self.placed.subspace.noises.mean())


def interrupted(found: Searched) -> Searched:
    """The search so far, after Ctrl-C in a further one."""
    searched = counted(found.rank, "dimension")
    warnings.warn(f"interrupted: this is the best result in {searched}", ConvergenceWarning, stacklevel=6)
    return found._replace(compared=replace(found.compared, interrupted=True))
