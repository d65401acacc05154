"""Report and notebook display of a fitted model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from fusewise.observations import Entries

if TYPE_CHECKING:
    from fusewise.views.description import Description


class ShowingMixin:
    """The ``report`` and ``describe`` methods and the notebook display of ``FusionClustering``.

    The views are imported on first use, because importing them is slow.
    """

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        names: Sequence[Any] | npt.NDArray[Any] | None = None,
        feature_names: Sequence[Any] | npt.NDArray[Any] | None = None,
        title: str | None = None,
        rows: bool = True,
        cluster_names: Sequence[str] = (),
        force: bool = False,
    ) -> Path:
        """Write the result to a self-contained HTML file; see ``fusewise.views.report``.

        Parameters
        ----------
        path : the file to write.
        names, feature_names : names of the rows and columns; by default row numbers and the column names of the table.
        title : heading of the page.
        rows : whether the page contains the rows; without them it shows groups of at least five rows only.
        cluster_names : a name for each cluster; by default made of what sets it apart.
        force : overwrite an existing file.
        """
        from fusewise.views.report import write_report

        given: dict[str, Any] = {"names": names, "feature_names": feature_names, "title": title}
        return write_report(self, path, rows=rows, cluster_names=cluster_names, force=force, **given)

    def describe(
        self,
        *,
        names: Sequence[Any] | npt.NDArray[Any] | None = None,
        feature_names: Sequence[Any] | npt.NDArray[Any] | None = None,
    ) -> Description:
        """Describe what makes each cluster and how sure the result is; see the user guide, "What makes a group".

        Parameters
        ----------
        names, feature_names : names of the rows and columns; by default row numbers and the column names of the table.

        Returns
        -------
        Description
            ``print`` shows it as text and a notebook as HTML. ``clusters`` describes each cluster in words,
            ``contrasts`` compares it with the other rows column by column (``to_frame`` for pandas), ``rules`` holds
            a decision rule for each with ``as_sql`` and ``as_python``, and ``certainty`` the uncertain rows and the
            other numbers of clusters.
        """
        from fusewise.views.description import Description
        from fusewise.views.findings import read_findings

        return Description.of(read_findings(self, names=names, feature_names=feature_names))

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._card()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._card()
        return bundle

    def _card(self) -> str:
        """HTML of the result for notebooks, below scikit-learn's diagram; empty before the fit, or if X is streamed."""
        held = isinstance(vars(self).get("observations_"), Entries) and "_stream" not in vars(self)
        if not held:
            return ""
        from fusewise.views.card import card

        return card(self)
