"""How a fitted model shows itself: as a report, and in a notebook."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from fusewise.observations import Entries


class ShowingMixin:
    """``report`` and the HTML shown by notebooks, for an estimator with the results of ``FusionClustering``.

    Views read results, not estimators; they are imported when somebody asks to see something, since they take long.
    """

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        names: Sequence[Any] | npt.NDArray[Any] | None = None,
        feature_names: Sequence[Any] | npt.NDArray[Any] | None = None,
        title: str | None = None,
        force: bool = False,
    ) -> Path:
        """Write what was found to one HTML file that needs nothing but a browser; see ``fusewise.views.report``.

        Parameters
        ----------
        path : the file to write.
        names, feature_names : of the rows and the columns; by default numbers, and the names the table had.
        title : heading of the page.
        force : replace a file that is there.
        """
        from fusewise.views.report import write_report

        return write_report(self, path, names=names, feature_names=feature_names, title=title, force=force)

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._card()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._card()
        return bundle

    def _card(self) -> str:
        """What was found, below scikit-learn's diagram; nothing before the fit, or if the table is not held whole."""
        held = isinstance(getattr(self, "observations_", None), Entries)
        if not held:
            return ""
        from fusewise.views.report.card import card

        return card(self)
