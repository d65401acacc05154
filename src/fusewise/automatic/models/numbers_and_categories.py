"""Clusters whose numbers are related to each other, beside categories that are not.

    p(x, c | k) = p(x - c S | k) prod_j q_kj(c_j),

where the numbers spread along the axes of a subspace (``AlongAxes``), and each category c_j has the probabilities
q_kj of its levels (``ColumnMixture``). If the numbers of a cluster vary together, such as the measures of a body,
clusters with independent columns cut it into several. Numbers may differ between the levels of categories by the same
amounts S in all clusters (``category_shifts``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fusewise.automatic.coordinates.evidence import Evidence
from fusewise.automatic.coordinates.level_blocks import LevelBlock, Levels, is_number
from fusewise.automatic.coordinates.placed_rows import Rows
from fusewise.automatic.models.category_shifts import has_effects, shifted
from fusewise.automatic.models.clusters import AlongAxes, Count, axes_complexity
from fusewise.automatic.models.columnwise import LEVELS_RULE, ColumnMixture, fit_columns
from fusewise.automatic.models.mixture import Mixture, one_of_each, probabilities, soften
from fusewise.kernels.checked import Checked, Record
from fusewise.kernels.field_rules import Array, Dims, Maybe, Number
from fusewise.kernels.types import Index, Mask, Real, Values
from fusewise.observations import InMemory
from fusewise.subspace import Subspace


@dataclass(frozen=True, eq=False)
class NumbersAndCategories(Checked):
    """K components of numbers, and the levels of categories in each.

    Attributes
    ----------
    numbers : of the columns that hold numbers; its shares are those of the components.
    categories : of the other columns.
    levels : the blocks of columns that hold the levels of a category.
    complexity : number of free parameters, but for the levels of categories.
    shifts : S, of the columns of levels and those of numbers; None if it is zero.
    """

    numbers: AlongAxes
    categories: ColumnMixture
    levels: Levels
    complexity: float
    shifts: Real | None = None

    _rules: ClassVar = {
        "numbers": Record(AlongAxes, K="K", P="numbers"),
        "categories": Record(ColumnMixture, K="K", P="others"),
        "levels": LEVELS_RULE,
        "complexity": Number(low=0),
        "shifts": Maybe(Array("others", "numbers")),
    }

    def _agree(self, dims: Dims) -> None:
        dims["P"] = dims["numbers"] + dims["others"]
        if any(not 0 <= start < stop <= dims["P"] for start, stop, *_ in self.levels):
            raise ValueError("NumbersAndCategories.levels are not columns")
        if is_number(dims["P"], self.levels).sum() != dims["numbers"]:
            raise ValueError(f"NumbersAndCategories.levels are not the {dims['others']} columns of categories")

    @property
    def n_components(self) -> int:
        """K."""
        return self.numbers.n_components

    @property
    def shares(self) -> Real:
        """pi_k."""
        return self.numbers.shares

    @property
    def level_cost(self) -> float:
        """What not knowing the probabilities of levels costs, see ``level_shares``."""
        return self.categories.level_cost

    @property
    def n_effects(self) -> tuple[int, int]:
        """How many numbers differ between the levels of categories, and of how many of these."""
        numbers = 0 if self.shifts is None else int(self.shifts.any(axis=0).sum())
        return numbers, int(has_effects(self.shifts, moved_together(self.levels)).sum())

    @property
    def is_number(self) -> Mask:
        """Whether each column holds numbers."""
        return is_number(self.numbers.subspace.basis.shape[0] + self.categories.means.shape[1], self.levels)

    @property
    def centers(self) -> Values:
        """K x P."""
        return self._side_by_side(self.numbers.centers, self.categories.centers)

    def apart(self, table: InMemory) -> tuple[InMemory, InMemory]:
        """The columns of numbers without the effects of categories, x - c S, and those of levels, each as a table."""
        numbers, categories = taken_apart(table, self.levels)
        return shifted(numbers, categories, self.shifts), categories

    def log_densities(self, table: InMemory) -> tuple[Real, Real, Count]:
        """log pi_k + log p(x_i, c_i | k); squared distance of row i from centre k in its numbers; its dimensions."""
        numbers, categories = self.apart(table)
        densities, distances, dimensions = self.numbers.log_densities(numbers)
        return densities + of_levels(self.categories, categories), distances, dimensions

    def only(self, kept: Index) -> NumbersAndCategories:
        """Some of the components, their shares in the same proportions."""
        return replace(self, numbers=self.numbers.only(kept), categories=self.categories.only(kept))

    def occupied(self, table: InMemory, away: Real | float = 0.0) -> NumbersAndCategories:
        """The components that are the likeliest one of some row of the table, after adding `away`."""
        return self.only(np.unique((self.log_densities(table)[0] + away).argmax(axis=1)))

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """E[row | its entries]: the components' predictions, weighted by their probability."""
        numbers, categories = self.apart(table)
        return self._side_by_side(
            self.numbers.completed(numbers, posterior), self.categories.completed(categories, posterior), categories
        )

    def redrawn(self, evidence: Evidence, random: np.random.Generator) -> NumbersAndCategories:
        """Parameters drawn about their estimates."""
        numbers, categories = self.numbers.redrawn(evidence, random), self.categories.redrawn(evidence, random)
        return replace(self, numbers=numbers, categories=categories)

    def drawn(self, table: InMemory, scale: Real, random: np.random.Generator) -> Values:
        """Rows drawn given their entries: the component, then its numbers and categories."""
        numbers, categories = self.apart(table)
        labels = one_of_each(probabilities(self.log_densities(table)[0])[0], random)
        return self._side_by_side(
            self.numbers.drawn_in(numbers, labels, scale[self.is_number], random),
            self.categories.drawn_in(categories, labels, scale[~self.is_number], random),
            categories,
        )

    def _side_by_side(self, numbers: Values, categories: Values, known: InMemory | None = None) -> Values:
        """Rows of both, numbers with the effects of categories: of those that are known, and else of these."""
        numeric = self.is_number
        if self.shifts is not None:
            levels = categories if known is None else np.where(known.dense().mask, known.dense().values, categories)
            numbers = numbers + levels @ self.shifts
        whole = np.empty((len(numbers), len(numeric)))
        whole[:, numeric], whole[:, ~numeric] = numbers, categories
        return whole


def taken_apart(table: InMemory, levels: Levels) -> tuple[InMemory, InMemory]:
    """The columns of numbers, and those of levels, each as a table."""
    p = table.shape[1]
    numeric, same = is_number(p, levels), (np.ones(p), np.zeros(p))
    return table.standardised(np.flatnonzero(numeric), *same), table.standardised(np.flatnonzero(~numeric), *same)


def of_levels(categories: ColumnMixture, table: InMemory) -> Real:
    """sum_j log q_kj(c_ij), N x K."""
    return np.asarray(categories.log_densities(table)[0] - np.log(categories.shares))


def moved_together(levels: Levels) -> Levels:
    """The blocks of levels, where no other columns are between them."""
    ends = np.cumsum([0, *(stop - start for start, stop, *_ in levels)])
    return tuple(
        LevelBlock(int(start), int(stop), bool(block.ordered))
        for start, stop, block in zip(ends[:-1], ends[1:], levels, strict=True)
    )


def fit_numbers_and_categories(
    table: InMemory,
    levels: Levels,
    subspace: Subspace,
    rows: Rows,
    mixture: Mixture,
    posterior: Real,
    rounds: int,
    gain: float,
) -> NumbersAndCategories:
    """Fit related numbers beside categories, by EM from components of the numbers.

    Parameters
    ----------
    table : the rows, standardised.
    levels : the blocks of columns that hold the levels of a category.
    subspace, rows : axes of the numbers, and the rows along them.
    mixture, posterior : components to begin with, and their probabilities, N x K.
    rounds : maximum number of rounds.
    gain : stop when a round raises the log-likelihood by less than this.
    """
    numbers, others = taken_apart(table, levels)
    blocks, prior, before = moved_together(levels), rows.prior(mixture.n_components), -np.inf
    for _ in range(rounds):
        categories = fit_columns(others, posterior, 1, blocks)
        known = of_levels(categories, others)
        mixture = soften(rows.evidence, mixture, prior, 1, known)
        posterior, total = probabilities(mixture.log_densities(rows.evidence)[0] + known)
        if abs(float(total.sum()) - before) < gain:
            break
        before = float(total.sum())
    complexity = mixture.complexity + axes_complexity(numbers, subspace)
    return NumbersAndCategories(AlongAxes(subspace, mixture), categories, levels, complexity)
