"""Learning from a stream: blocks of rows one after another, of which a summary of bounded size is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import check_random_state

from fusewise.automatic import NO_HINTS, Hints
from fusewise.estimators.fitted import CLUSTERING
from fusewise.kernels import Index, Mask
from fusewise.observations import Entries, StreamSummary, Table, warn_of_blanks
from fusewise.support.errors import InputError

if TYPE_CHECKING:
    from fusewise.estimators.base import FusionEstimator as Estimator
    from fusewise.tables import FrameEncoder
else:
    Estimator = object

#: Attributes that a block of rows leaves as they are, or sets; the others are computed when one of them is asked for.
KEPT = {"n_features_in_", "feature_names_in_", "encoder_", "observations_", "_stream", "_sklearn_output_config"}
COMPUTED = frozenset(set(CLUSTERING) - KEPT)
#: Rows of a sparse table that are made dense at a time.
ROWS_AT_A_TIME = 8192


class LearningMixin(Estimator):
    """The method ``partial_fit`` of ``FusionClustering``."""

    if TYPE_CHECKING:
        encoder_: FrameEncoder | None
        observations_: Table
        labels_: Any
        _stream: StreamSummary

        def _fit_table(self, table: Table, hints: Hints, counts: Index | None = None, worth: float = 1.0) -> Self: ...

        def _describe(self, table: Table) -> None: ...

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a further block of rows.

        A summary is kept of all blocks so far: statistics of the columns, and a uniform sample of ``summary_size``
        rows, chosen by random numbers that depend on the content of a row alone (and on ``random_state``). So rows that
        differ give the same clusters in any order and in blocks of any size. The clusters are fitted to the sample when
        a result is next asked for: ``labels_``, ``probabilities_`` and ``confidence_`` are those of the last block, and
        ``predict`` labels any other rows. A block after ``fit`` adds to the table of the fit.

        Levels of a category that are new in a block become levels of the model. A ``DataWarning`` names columns whose
        mean in a block is more than five standard deviations from that of the rows before.

        Parameters
        ----------
        X : the rows, in any form that ``fit`` takes.
        y : ignored.
        """
        self._check_parameters()
        if self.is_plain() or self.semi_supervised:
            what = "the plain algorithm" if self.is_plain() else "semi_supervised"
            raise InputError(f"partial_fit does not work with {what}: use the default parameters, or fit to all rows")
        before, encoder = self._so_far(), self._encoder
        try:
            table = self._read(X, None, reset=before is None, min_rows=1, extend=before is not None)
            warn_of_blanks(table, columns=False)
            after = self._with_levels(before, encoder)
            for rows in _in_blocks(table):
                after = self._with_rows(after, rows)
        except BaseException:
            self.encoder_ = encoder  # the summary is in its terms
            raise
        assert after is not None
        self._forget()
        self.observations_, self._stream = table, after
        return self

    def _fit_stream(self, blocks: Iterable[Any]) -> Self:
        """Fit to blocks of rows that come once."""
        for name in [name for name in vars(self) if name in CLUSTERING and name != "_sklearn_output_config"]:
            delattr(self, name)
        for block in blocks:
            self.partial_fit(block)
        if "_stream" not in vars(self):
            raise InputError("the stream has no blocks of rows")
        self._settle()
        return self

    def _so_far(self) -> StreamSummary | None:
        """The summary of the rows so far: of earlier blocks, or of the table of ``fit``; None if there are none."""
        held = vars(self)
        if "_stream" in held or "path_" not in held:
            return held.get("_stream")
        table = held["observations_"]
        if held.get("_counts") is not None or not hasattr(table, "parts") or getattr(table, "source", table) is None:
            raise InputError(
                "partial_fit cannot go on from a fit with sample_weight, or to a table that the model does not hold: "
                "start with partial_fit, or fit to all rows again"
            )
        summary = None
        for rows in _in_blocks(table):
            summary = self._with_rows(summary, rows)
        return summary

    def _with_rows(self, summary: StreamSummary | None, rows: Entries) -> StreamSummary:
        features, shares = self._columns(rows)
        if summary is not None:
            return summary.with_rows(rows, features, shares)
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31))
        return StreamSummary.of(rows, self.summary_size, seed, features, shares)

    def _with_levels(self, summary: StreamSummary | None, before: FrameEncoder | None) -> StreamSummary | None:
        """The summary in the features of an encoder that was extended."""
        now = self._encoder
        if summary is None or before is None or now is None or now is before:
            return summary
        return summary.in_columns(before.features, now.features, now.places_in(before))

    def _columns(self, rows: Entries) -> tuple[tuple[str, ...], Mask]:
        """Names of the features, and whether each is a level of a category."""
        encoder, p = self._encoder, rows.shape[1]
        if encoder is not None:
            return encoder.features, encoder.shares
        return rows.feature_names or tuple(f"x{j}" for j in range(p)), np.zeros(p, bool)

    @property
    def _is_stale(self) -> bool:
        """Whether blocks of rows have come since the clusters were computed."""
        return "_stream" in vars(self) and "path_" not in vars(self)

    def _forget(self) -> None:
        for name in COMPUTED.intersection(vars(self)):
            delattr(self, name)

    def _settle(self) -> None:
        """Compute the clusters, if blocks of rows have come since they were, and label the last block."""
        if not self._is_stale:
            return
        block = self.observations_
        try:
            self._fit_table(self._stream.table(block.feature_names), NO_HINTS)
            self._describe(block)
        except BaseException:
            self._forget()
            self.observations_ = block
            raise


def _in_blocks(table: Table) -> Iterator[Entries]:
    """The rows of a table, some at a time if it is not dense."""
    for part in table.parts():
        if isinstance(part, Entries):
            yield part
            continue
        for begin in range(0, part.shape[0], ROWS_AT_A_TIME):
            yield part.take(slice(begin, begin + ROWS_AT_A_TIME)).dense()
