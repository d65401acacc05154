"""Import of matplotlib, and the common style of the axes."""

from __future__ import annotations

from typing import Any

#: Colour of lines and text that are not data.
MUTED = "#57606a"


def load() -> Any:
    """Return matplotlib.pyplot, or raise an ImportError that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "fusewise[plot]"') from error
    return plt


def axes_for(ax: Any, width: float, height: float) -> Any:
    """Return `ax`, or new axes of the given size in inches, without the top and right spines."""
    if ax is None:
        _, ax = load().subplots(figsize=(width, height), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
