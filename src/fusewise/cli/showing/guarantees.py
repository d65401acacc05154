"""Output of ``guarantee`` and ``plan``."""

from __future__ import annotations

import math

from rich.text import Text

import fusewise
from fusewise.cli.running.planning import as_data, curve, sentences
from fusewise.cli.showing.console import BAR, Terminal, headed, print_below, print_json
from fusewise.theory import ClusterGeometry, Promise


def show(geometry: ClusterGeometry, result: Promise, uniform: bool, *, json: bool) -> None:
    """Print a recovery guarantee as sentences and a table, or as JSON."""
    if json:
        print_json({"version": fusewise.__version__} | as_data(geometry, result, uniform))
        return
    console = Terminal()
    first, *rest = sentences(result)
    console.print(Text(first, "bold"))
    for sentence in rest:
        console.print(Text(sentence))
    if result.reason or geometry.n_clusters == 1:
        return
    grid = headed("observed", "probability of recovery, at least", "")
    for fraction, chance in curve(geometry, uniform):
        bar = Text("█" * math.floor(BAR * chance), "green" if chance >= result.target else "yellow")
        grid.add_row(f"{fraction:.0%}", _chance(fraction, chance), bar)
    print_below(console, grid)


def _chance(fraction: float, chance: float) -> str:
    """Format a probability, rounded down: only complete data are ever shown as certain."""
    if chance >= 0.999:
        return "certain" if fraction == chance == 1 else "over 99.9%"
    return f"{math.floor(1000 * chance) / 10:.1f}%" if chance else "no guarantee"
