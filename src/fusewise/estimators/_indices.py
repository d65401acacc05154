"""Fit indices that people publish, for each number of clusters that was compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.special import logsumexp

from fusewise.automatic import Alternative, Choice
from fusewise.estimators._base import frame_of
from fusewise.kernels import Real
from fusewise.observations import Table


class Alternatives(list[Alternative]):
    """Other numbers of clusters that are nearly as good, and the fit indices of all that were compared.

    The log-likelihood L is that of the observed entries in standard deviations of their columns, d the number of
    parameters of the clusters, n that of the rows compared, and H the entropy of the labels given the entries:

        AIC = 2 d - 2 L,  BIC = d log n - 2 L,  ICL = BIC + 2 H,  entropy R² = 1 - H / (n log K)

    Smaller is better for the first three; an entropy R² near 1 means that clusters hardly overlap. The method does not
    choose by these, but by ``criterion``, larger is better (see the guide, "The default algorithm"). The parameters of
    the subspace and its noise are the same for all and not counted; a spread that is shrunk towards the common one
    counts in part.
    """

    def __init__(self, found: Iterable[Alternative], choice: Choice, table: Callable[[], Table]):
        super().__init__(found)
        self._choice, self._table = choice, table

    def to_frame(self) -> Any:
        """The fit indices of all numbers of clusters that were compared, as a pandas DataFrame, one line for each."""
        choice, table = self._choice, self._table()
        rows = np.flatnonzero(table.row_counts > 0)[choice.rows]
        scaled = choice.units.scaled(table.take(rows))
        sample, slopes = choice.classifier.placed(table.take(rows)), choice.units.log_slopes(scaled)
        lines = []
        for k, mixture in enumerate(choice.mixtures):
            own: Any = choice.evidence if isinstance(mixture, type(choice.mixture)) else sample
            joint = mixture.log_densities(own)[0]
            parts: Any = getattr(mixture, "parts", mixture)
            levels = sum(stop - start - 1 for start, stop, *_ in getattr(parts, "levels", ()))
            indices = fit_indices(joint + np.reshape(slopes, (-1, 1)), parts.complexity + levels * parts.n_components)
            shares = {"smallest_share": float(mixture.shares.min()), "criterion": choice.criteria[k]}
            lines.append(indices | shares | {"chosen": k == choice.chosen})
        order = np.argsort([line["n_clusters"] for line in lines], kind="stable")
        return frame_of({name: [lines[k][name] for k in order] for name in lines[0]})


def fit_indices(joint: Real, parameters: float) -> dict[str, Any]:
    """The indices of a mixture, given log p(k, x_i) of each component and row, N x K."""
    n, k = joint.shape
    total = logsumexp(joint, axis=1)
    entropy = float(np.sum(np.exp(joint - total[:, None]) * (total[:, None] - joint)))
    likelihood = float(total.sum())
    bic = parameters * np.log(n) - 2 * likelihood
    return {
        "n_clusters": k,
        "log_likelihood": likelihood,
        "parameters": parameters,
        "aic": 2 * parameters - 2 * likelihood,
        "bic": bic,
        "icl": bic + 2 * entropy,
        "entropy_r2": 1 - entropy / (n * np.log(k)) if k > 1 else 1.0,
    }
