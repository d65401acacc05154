"""Reading the result of a fitted model into plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fusewise.automatic import Alternative, Choice, Stability
from fusewise.fusion import FusionPath
from fusewise.kernels import Index, Labels, Mask, Real
from fusewise.observations import BoundedEntries, Entries
from fusewise.support import InputError
from fusewise.views._certainty import KnownLabels, compare_labels
from fusewise.views._columns import HalfKnown, TableColumn, TableOrigin
from fusewise.views._contrasts import LEAST_VALUES, contrasts_of
from fusewise.views._layouts import Plane, fit_plane
from fusewise.views._profile import ObservedCenters, compare_missingness, profile_of
from fusewise.views._rules import rules_of
from fusewise.views._sentences import describe_clusters
from fusewise.views._trees import read_trail

#: Maximum number of rows drawn; longer tables are sampled, with rows of every cluster.
MOST_DRAWN = 20_000
#: Minimum number of rows of each cluster in a sample (all rows of a smaller cluster).
FEWEST_OF_A_CLUSTER = 20
#: Rows are explained as long as that takes no more densities of rows, of which each takes so many for each column.
MOST_EVALUATED, EVALUATED = 200_000, 24


@dataclass(frozen=True, eq=False)
class Findings:
    """The result of a model. Complex columns are split into two real ones."""

    # names of the rows, and of the features of the model
    names: tuple[str, ...]
    features: tuple[str, ...]
    origin: TableOrigin  # the columns of the user's table, and how each was read
    values: Real  # the features, N x P; NaN if missing
    # of the rows; confidence is None if the model has none
    labels: Labels
    confidence: Real | None
    centers: Real  # cluster centres, K x P
    # unit of length in each column, P: its standard deviation (of a category that of all its levels together, so that
    # it counts as much as a number, and a rare level no more than a frequent one), or 1 for ``PenalizedFusion``
    unit: Real
    # P; the user's units are value * scale + shift
    shift: Real
    scale: Real
    shares: Mask  # P, whether a feature is a level of a category; its centre is then the share of that level
    drawn: Index  # indices of the rows to draw: all rows with an observed entry, or a sample of them
    # of the drawn rows: with missing values filled in by the model, and their centres
    completed: Real
    fused: Real
    path: Choice | FusionPath | None  # the candidates the result was chosen from
    model: Any  # the estimator
    remarks: tuple[str, ...] = ()  # notes on the fit that are to be shown beside the result
    rows: bool = True  # whether rows may be shown one by one; if not, only groups of at least `LEAST_VALUES` are
    # names of the clusters instead of those made from what sets them apart; empty for the latter
    given_names: tuple[str, ...] = ()

    @cached_property
    def alternatives(self) -> list[Alternative]:
        """Other numbers of clusters that are nearly as good; none by the paper's algorithm, which compares none."""
        return self.model.alternatives() if isinstance(self.path, Choice) else []

    @cached_property
    def explained(self) -> tuple[Index, list[Any]] | None:
        """The least certain of the drawn rows, and why they are in their clusters (``explain``).

        None if there is no other cluster, if no rows may be shown, or if the columns are parts of complex ones.
        """
        if not isinstance(self.path, Choice) or np.iscomplexobj(self.path.units.middle):
            return None
        if self.confidence is None or not self.rows or self.n_clusters == 1:
            return None
        most = max(1, MOST_EVALUATED // (EVALUATED * (len(self.columns) + 1)))
        rows = np.sort(np.argsort(self.confidence[self.drawn], kind="stable")[:most])
        return rows, self.model.explain(rows=self.drawn[rows].tolist())

    @property
    def stability(self) -> Stability | None:
        """The stability of the clusters, if it was computed; other partitions have none, and no confidence."""
        return None if self.confidence is None else getattr(self.model, "stability_", None)

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns of the user's table that were used; a category has several features."""
        return self.origin.columns

    @cached_property
    def seen(self) -> Mask:
        """Whether each entry of the user's table was observed, N x columns: what is counted everywhere."""
        return np.column_stack([column.seen for column in self.columns])

    @property
    def n_clusters(self) -> int:
        """Number of clusters K."""
        return len(self.centers)

    @cached_property
    def blank(self) -> Index:
        """Rows of which nothing is known."""
        known = [~np.isnan(self.values).all(axis=1), *(column.bounded for column in self.columns)]
        return np.flatnonzero(~np.any(known, axis=0))

    @property
    def n_outliers(self) -> int:
        """Number of rows in no cluster, but for those with nothing observed."""
        return int(np.count_nonzero(np.delete(self.labels, self.blank) < 0))

    @cached_property
    def looked_at(self) -> Index:
        """The rows on which the clusters of the default method were computed, in its order."""
        assert isinstance(self.path, Choice)
        return np.setdiff1d(np.arange(len(self.labels)), self.blank, assume_unique=True)[self.path.rows]

    @cached_property
    def sizes(self) -> Index:
        """Number of rows in each cluster."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters).astype(np.intp)

    @cached_property
    def plane(self) -> Plane:
        """The first two principal components of the clustered rows (so that outliers do not rotate the picture)."""
        inside = self.labels[self.drawn] >= 0
        units = self.path.units if isinstance(self.path, Choice) and self.path.units.powers is not None else None
        return fit_plane(self.completed[inside] if inside.sum() > 1 else self.completed, self.unit, units)

    @cached_property
    def points(self) -> Real:
        """Coordinates of the drawn rows in the plane."""
        return self.plane.project(self.completed)

    @cached_property
    def observed(self) -> ObservedCenters:
        """Means and medians of the observed values of each cluster."""
        return ObservedCenters.of(self.values, self.labels, self.n_clusters)

    # each is computed when it is first asked for
    trail = cached_property(read_trail)
    contrasts = cached_property(contrasts_of)
    missingness = cached_property(compare_missingness)
    profile = cached_property(profile_of)
    rules = cached_property(rules_of)
    described = cached_property(describe_clusters)

    @cached_property
    def known(self) -> KnownLabels | None:
        """The known classes beside the clusters, if the table has them."""
        classes = self.origin.classes
        return None if classes is None else compare_labels(*classes, self.labels, self.n_clusters)

    def shown(self, rows: Real) -> Real:
        """Convert values of the model to the user's units."""
        return np.asarray(rows * self.scale + self.shift)

    def without_rows(self) -> Findings:
        """The same findings for a page that shows groups only: rare levels are counted as one."""
        columns = tuple(column.without_rare(LEAST_VALUES) for column in self.columns)
        return replace(self, rows=False, remarks=(), origin=replace(self.origin, columns=columns))


def read_findings(
    model: Any,
    *,
    names: Sequence[Any] | npt.NDArray[Any] | None = None,
    feature_names: Sequence[Any] | npt.NDArray[Any] | None = None,
    origin: TableOrigin | None = None,
    most_drawn: int = MOST_DRAWN,
) -> Findings:
    """Read a fitted model.

    Parameters
    ----------
    names : names of the rows; by default their numbers, from 0.
    feature_names : names of the columns; by default those of the table, or x0, x1, ...
    origin : the columns and how they were read, if the table came from a file; by default those of the model.
    most_drawn : maximum number of rows drawn.
    """
    check_is_fitted(model)
    if "_stream" in vars(model):
        raise InputError(
            "reports and plots need all rows, and a model that learnt by partial_fit holds only a sample of them: "
            "fit a new model to the rows to be shown"
        )
    entries: Entries = model.observations_.dense()
    n, p = entries.shape
    rows = _words("names", names, n) or tuple(map(str, range(n)))
    encoder = getattr(model, "encoder_", None)
    known = getattr(model, "feature_names_in_", entries.feature_names) if encoder is None else encoder.features
    known = [f"x{j}" for j in range(p)] if known is None else known
    columns = _words("feature_names", feature_names, p) or tuple(map(str, known))
    shift, scale = (np.zeros(p), np.ones(p)) if encoder is None else encoder.units
    fractions = np.zeros(p, bool) if encoder is None else encoder.shares
    drawn = _sample(model, np.flatnonzero(entries.row_counts > 0), most_drawn)
    some, by_default = entries.take(drawn), isinstance(model.path_, Choice)
    completed = some.fill(model.path_.completed(some) if by_default else np.asarray(model.fused_)[drawn])
    values = np.where(entries.mask, entries.values, np.nan)
    spread = np.sqrt(entries.column_variances)
    unit = np.where(by_default & (spread > 0), spread, 1.0)
    centers, fused = np.asarray(model.cluster_centers_), np.asarray(model.fused_)[drawn]
    if np.iscomplexobj(values):
        values[~entries.mask] = complex(np.nan, np.nan)
        columns = tuple(f"{name} ({part})" for part in ("real", "imaginary") for name in columns)
        values, centers, fused, completed = (
            np.hstack([part.real, part.imag]) for part in (values, centers, fused, completed)
        )
        unit, scale, shift = np.tile(unit, 2), np.tile(scale, 2), np.concatenate([shift, np.zeros(p)])
        fractions = np.tile(fractions, 2)
    if origin is None:
        origin = TableOrigin.of_model(encoder, values.astype(float) * scale + shift, columns)
    if isinstance(entries, BoundedEntries) or entries.variances is not None:
        marked = [replace(each, half=_half_known(entries, each, shift, scale)) for each in origin.columns]
        origin = replace(origin, columns=tuple(marked))
    if by_default:  # that of a column: sqrt(sum_j s_j²) over the features j that encode it
        for column in origin.columns:
            where = slice(*column.features)
            unit[where] = np.sqrt(np.square(unit[where]).sum())
    return Findings(
        names=rows,
        features=columns,
        origin=origin,
        values=values.astype(float),
        labels=np.asarray(model.labels_),
        confidence=getattr(model, "confidence_", None),
        centers=centers.astype(float),
        unit=unit,
        shift=shift,
        scale=scale,
        shares=fractions,
        drawn=drawn,
        completed=completed.astype(float),
        fused=fused.astype(float),
        path=model.path_,
        model=model,
        given_names=tuple(getattr(model, "cluster_names_", ())),
    )


def _half_known(entries: Entries, column: TableColumn, shift: Real, scale: Real) -> HalfKnown | None:
    """Errors and bounds of a column of numbers, in the user's units; None if it has none."""
    j, free = column.features[0], np.full(len(column.values), np.inf)
    if column.kind != "number":
        return None
    errors = 0 * column.values if entries.variances is None else np.sqrt(entries.variances[:, j]) * abs(scale[j])
    low, high = -free, free
    if isinstance(entries, BoundedEntries):
        low, high = (end[:, j] * scale[j] + shift[j] for end in (entries.low, entries.high))
    half = HalfKnown(np.where(column.seen, errors, 0.0), low, high)
    return half if half.error.any() or np.isfinite([low, high]).any() else None


def _words(what: str, given: Any, length: int) -> tuple[str, ...]:
    """Names as text; raises ValueError if their number is not `length`."""
    words = () if given is None else tuple(map(str, given))
    if given is not None and len(words) != length:
        raise InputError(f"{what} has {len(words)} entries, but the model was fitted to {length}")
    return words


def _sample(model: Any, seen: Index, most: int) -> Index:
    """`seen`, or a sample of about `most`: each cluster (and the outliers) in proportion, with a minimum number.

    Rows on which the clusters were computed come first: only their path is known.
    """
    if len(seen) <= most:
        return seen
    turn = 1 + np.random.default_rng(0).random(len(seen))
    if isinstance(model.path_, Choice):
        turn[model.path_.rows] -= 1
    labels = model.labels_[seen]
    kept = []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        share = max(most * len(members) // len(seen), min(FEWEST_OF_A_CLUSTER, len(members)))
        kept.append(members[np.argsort(turn[members], kind="stable")[:share]])
    return seen[np.sort(np.concatenate(kept))]
