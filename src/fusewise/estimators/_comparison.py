"""How clusters differ in columns that were not used for them, corrected for uncertain membership."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from fusewise.estimators._base import frame_of
from fusewise.kernels import Index, Labels, Real
from fusewise.observations import DataWarning
from fusewise.support import InputError, counted, readable, some_of
from fusewise.tables import FrameEncoder

#: Wrong assignments are undone by the inverse of a matrix; above this condition number the result is too uncertain.
MOST_CONFUSED = 100.0


@dataclass(frozen=True)
class ColumnTest:
    """Wald test that a column has the same mean (or the same shares of its levels) in all clusters."""

    column: str
    statistic: float
    df: int
    p_value: float


@dataclass(frozen=True, eq=False, repr=False)
class ClusterComparison:
    """Means of further columns in the K clusters; of a category the shares of its levels, each a feature.

    Rows in the wrong cluster make clusters look more alike than they are. With D_ts the probability that a row of
    cluster t is assigned to s, a row assigned to s counts in cluster t with the weight (D^-1)_st (Bolck, Croon and
    Hagenaars, 2004; Vermunt, 2010): on average 1 in its own cluster and 0 in the others. Errors are those of weighted
    means (a sandwich estimate), with D taken as known.

    Attributes
    ----------
    features : names of the F features: a column, or a column and its level.
    means, errors : K x F, corrected means and their standard errors.
    low, high : K x F, confidence intervals of the means at the level that was asked for.
    uncorrected : K x F, means over the rows assigned to each cluster.
    tests : a ``ColumnTest`` for each column; p-values are not adjusted for their number.
    """

    features: tuple[str, ...]
    means: Real
    errors: Real
    low: Real
    high: Real
    uncorrected: Real
    tests: tuple[ColumnTest, ...]

    def __repr__(self) -> str:
        chances = ["< 0.0001" if test.p_value < 1e-4 else f"= {readable(test.p_value, 2)}" for test in self.tests]
        tests = [f"{test.column}: p {p} for no difference" for test, p in zip(self.tests, chances, strict=True)]
        lines = []
        for j, feature in enumerate(self.features):
            parts = zip(self.means[:, j], self.low[:, j], self.high[:, j], strict=True)
            said = [f"{k}: {readable(mean)} ({readable(a)} to {readable(b)})" for k, (mean, a, b) in enumerate(parts)]
            lines.append(f"{feature} in cluster {', '.join(said)}")
        return "\n".join(tests + lines)

    def to_frame(self) -> Any:
        """A pandas DataFrame, one line for each feature and cluster."""
        k, f = self.means.shape
        given = {"mean": self.means, "error": self.errors, "low": self.low, "high": self.high}
        columns = {name: values.T.ravel() for name, values in (given | {"uncorrected": self.uncorrected}).items()}
        return frame_of({"feature": np.repeat(self.features, k), "cluster": np.tile(np.arange(k), f)} | columns)


def compare(
    labels: Labels, shares: Real, counts: Index | None, frame: Any, used: Sequence[str], level: float
) -> ClusterComparison:
    """Compare the clusters of rows, given the probabilities of each and how often each row counts (None: once)."""
    if not 0 < level < 1:
        raise InputError(f"level must be between 0 and 1, got {level!r}")
    frame = frame.to_frame() if hasattr(frame, "to_frame") else frame  # a single column
    frame = frame[:, None] if isinstance(frame, np.ndarray) and frame.ndim == 1 else frame
    if len(frame) != len(labels):
        here, rows = counted(len(frame), "row"), counted(len(labels), "row")
        raise InputError(f"the table to compare has {here}, but the model was fitted to {rows}: pass the same rows")
    encoder = FrameEncoder.of(frame)
    same = [column.name for column in encoder.columns if column.name in used]
    if same:
        warnings.warn(
            f"column {some_of(same)} was used to find the clusters, which differ in it by construction",
            DataWarning,
            stacklevel=3,
        )
    often = np.ones(len(labels)) if counts is None else counts.astype(float)
    inside = (labels >= 0) & (often > 0)
    features = encoder.encode(frame)[inside]
    membership, own = _corrected(labels[inside], shares[inside], often[inside])
    weights = membership * often[inside, None]
    parts, tests = [], []
    for code, columns in encoder.by_column(np.arange(float(features.shape[1]))[None]):
        values = features[:, columns[0].astype(int)]
        seen = ~np.isnan(values).any(axis=1)
        if (own[seen].sum(axis=0) == 0).any() or not seen.any():
            raise InputError(f"column {code.name!r} has no entry in the rows of some cluster: leave it out")
        values, total = values[seen], weights[seen].sum(axis=0)
        means = weights[seen].T @ values / total[:, None]
        away = values[:, None] - means  # rows x clusters x features
        pulls = (membership[seen] / total)[..., None] * away * np.sqrt(often[inside][seen])[:, None, None]
        plain = (own * often[inside, None])[seen]
        parts.append((means, np.sqrt(np.square(pulls).sum(axis=0)), plain.T @ values / plain.sum(axis=0)[:, None]))
        tests.append(_wald(code.name, means, pulls, drop=len(code.features) > 1))
    means, errors, uncorrected = (np.hstack(part) for part in zip(*parts, strict=True))
    reach = stats.norm.ppf(0.5 + level / 2) * errors
    return ClusterComparison(encoder.features, means, errors, means - reach, means + reach, uncorrected, tuple(tests))


def _corrected(labels: Labels, shares: Real, often: Real) -> tuple[Real, Real]:
    """The weights of rows in each cluster, corrected and by their labels alone, N x K."""
    own = (labels[:, None] == np.arange(shares.shape[1])).astype(float)
    assigned = (shares * often[:, None]).T @ own
    assigned /= assigned.sum(axis=1, keepdims=True)
    if np.linalg.cond(assigned) > MOST_CONFUSED:
        raise InputError("the clusters overlap so much that means cannot be corrected for it: ask for fewer clusters")
    return own @ np.linalg.inv(assigned), own


def _wald(column: str, means: Real, pulls: Real, *, drop: bool) -> ColumnTest:
    """Test that the means are the same in all clusters, given what each row adds to the error of each."""
    if drop:  # shares add up to one
        means, pulls = means[:, 1:], pulls[:, :, 1:]
    differences = (means[1:] - means[0]).ravel()
    rows = (pulls[:, 1:] - pulls[:, :1]).reshape(len(pulls), -1)
    statistic = float(differences @ np.linalg.pinv(rows.T @ rows, hermitian=True) @ differences)
    return ColumnTest(column, statistic, len(differences), float(stats.chi2.sf(statistic, max(len(differences), 1))))
