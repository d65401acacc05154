"""How time and memory grow with rows, columns, missing entries and clusters: ``python benchmarks/scale.py growth``.

    python benchmarks/scale.py growth --threads 1 --cpu-limit 60 --points growth.json --picture growth.png
    python benchmarks/scale.py growth --methods Fusewise --cpu-limit 300 --points growth.json  # further with one method

A table of 1000 rows, 10 columns, 10 clusters and 30% hidden entries is varied in one respect at a time. Each point is
measured in a process of its own; a method that fails or takes longer than the limits is not tried on a larger table.
CCMM, which needs complete tables, is given such, and computes a path of 200 steps. Times are CPU seconds. With
``--points`` the measurements are kept in a file, and those already in it are not repeated.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

TYPICAL = {"n": 1000, "p": 10, "k": 10, "noise": 0.1, "hidden": 0.3}


@dataclass(frozen=True)
class Sweep:
    """One respect in which the table is varied; `grows` says whether a power law is fitted."""

    name: str
    argument: str
    values: tuple[float, ...]
    grows: bool = True


SWEEPS = (
    Sweep("rows", "n", (1000, 10_000, 100_000, 1_000_000, 10_000_000)),
    Sweep("columns", "p", (2, 10, 100, 1000, 10_000)),
    Sweep("share of entries hidden", "hidden", (0.0, 0.3, 0.6, 0.9), grows=False),
    Sweep("clusters", "k", (2, 10, 50)),
)
#: Colour and marker of each method.
STYLES = {
    "Fusewise": ("#0b5fa5", "o"),
    "IterativeImputer + KMeans (K)": ("#d1710e", "s"),
    "KNNImputer + HDBSCAN": ("#3b8a4f", "^"),
    "StepMix (K)": ("#8a5aa8", "D"),
    "CCMM, path": ("#7a7a7a", "v"),
}

Points = dict[str, dict[str, Any]]


def growth(run: Any) -> None:
    """Measure every method along every sweep, print the fitted exponents, and draw the picture."""
    file = Path(run.options.points) if run.options.points else None
    points: Points = json.loads(file.read_text()) if file and file.exists() else {}
    for sweep in SWEEPS:
        for method in run.options.methods or STYLES:
            for value in sweep.values:
                arguments = table(sweep, method, value)
                if arguments is None:
                    continue
                key = name(method, arguments)
                if key not in points:
                    if not measured(run, method, f"{sweep.name}: {value:,}", arguments, points):
                        break
                    if file:
                        file.write_text(json.dumps(points))
            if sweep.grows:
                sizes, cpu, peak = along(points, sweep, method)
                if len(sizes) > 2:
                    powers = f"time {exponent(sizes, cpu):.2f}, memory {exponent(sizes, peak):.2f}"
                    print(f"| exponent of {sweep.name} | {method} | {powers} | | | | | |", flush=True)
    if run.options.picture:
        draw(points, run.options.picture)


def table(sweep: Sweep, method: str, value: float) -> dict[str, Any] | None:
    """The arguments of a table along a sweep; None if the method is not for it."""
    arguments: dict[str, Any] = TYPICAL | {sweep.argument: value}
    if method.startswith("CCMM"):
        arguments["hidden"] = 0.0
        return arguments if sweep.argument in ("n", "p") else None
    return arguments


def name(method: str, arguments: dict[str, Any]) -> str:
    """The name of a point: those that sweeps share are measured once."""
    return json.dumps([method, arguments], sort_keys=True)


def measured(run: Any, method: str, label: str, arguments: dict[str, Any], points: Points) -> bool:
    """Add the CPU seconds and peak GiB of one point; False if it failed."""
    if np.isnan(run.cell(method, label, "clusters", arguments["k"], **arguments)):
        return False
    found = run.found[method]
    points[name(method, arguments)] = {what: found.get(what) for what in ("cpu", "peak", "ari", "found")}
    return True


def along(points: Points, sweep: Sweep, method: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sizes, CPU seconds and peak GiB of a method along a sweep, where it was measured."""
    tables = [(value, table(sweep, method, value)) for value in sweep.values]
    seen = [(value, points.get(name(method, arguments))) for value, arguments in tables if arguments]
    rows = [(value, point["cpu"], point["peak"]) for value, point in seen if point]
    return tuple(np.array(rows, float).reshape(-1, 3).T)  # type: ignore[return-value]


def exponent(sizes: np.ndarray, values: np.ndarray) -> float:
    """The power b of the least-squares fit log value = a + b log size."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def draw(points: Points, file: str) -> None:
    """Time above memory, one column for each sweep; fitted exponents of the time at the ends of the lines."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter

    plt.rcParams.update({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(2, len(SWEEPS), figsize=(11, 5), sharey="row", sharex="col", layout="constrained")
    for column, sweep in enumerate(SWEEPS):
        for method, (colour, marker) in STYLES.items():
            sizes, *measures = along(points, sweep, method)
            ours = method == "Fusewise"
            for axis, values in zip(axes[:, column], measures, strict=True):
                label = method + (" (complete tables)" if method.startswith("CCMM") else "")
                axis.plot(sizes, values, color=colour, marker=marker, markersize=3.5, label=label,
                          linewidth=2 if ours else 1, zorder=3 if ours else 2)  # fmt: skip
                if sweep.grows and len(sizes) > 2:
                    power = exponent(sizes, values)
                    axis.annotate(f"{power:.2f}", (sizes[-1], values[-1]), (4, 0), textcoords="offset points",
                                  color=colour, va="center", fontsize=7)  # fmt: skip
        for axis in axes[:, column]:
            axis.set_yscale("log")
            axis.grid(color="0.9", linewidth=0.6)
            axis.margins(x=0.12)
            if sweep.grows:
                axis.set_xscale("log")
                axis.xaxis.set_minor_formatter(NullFormatter())
                if len(sweep.values) < 5:
                    axis.set_xticks(sweep.values, [f"{value:g}" for value in sweep.values])
        axes[1, column].set_xlabel(sweep.name)
    axes[0, 0].set_ylabel("CPU seconds")
    axes[1, 0].set_ylabel("peak memory, GiB")
    axes[1, 0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes[1, 0].yaxis.set_major_formatter("{x:g}")
    axes[1, 0].yaxis.set_minor_formatter(NullFormatter())
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(file, dpi=160)
