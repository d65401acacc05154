"""The only door to matplotlib: its import, new axes, and the look they share."""

from __future__ import annotations

from typing import Any

#: Lines and words that are not data.
QUIET = "#57606a"


def load() -> Any:
    """Return matplotlib.pyplot, or raise an ImportError that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('Pictures need matplotlib: pip install "fusewise[plot]"') from error
    return plt


def axes_for(ax: Any, width: float, height: float) -> Any:
    """`ax`, or new axes of so many inches; without the box around them."""
    if ax is None:
        _, ax = load().subplots(figsize=(width, height), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
