"""How sure the result is, in words: other numbers of clusters, why there is only one, and stability."""

from __future__ import annotations

from typing import Any

from fusewise.automatic import Choice
from fusewise.automatic.alternatives import Alternative, Cut, best_cut
from fusewise.automatic.stability import MOST_ROWS, Stability
from fusewise.kernels.words import counted, in_series, readable
from fusewise.views.findings import Findings
from fusewise.views.palette import SYMBOLS, colour, shape


def alternatives(found: Findings) -> list[Alternative]:
    """Other numbers of clusters that are nearly as good; none in the plain algorithm, which compares none."""
    return found.model.alternatives() if isinstance(found.path, Choice) else []


def stability(found: Findings) -> Stability | None:
    """The stability of the clusters, if it was computed."""
    return getattr(found.model, "stability_", None)


def number_sentence(found: Findings, option: str = "n_clusters=") -> str:
    """The number of clusters and its rivals: "3 clusters; 2 is nearly as good ..."; why there is only one.

    Parameters
    ----------
    found : the result.
    option : how the number of clusters is set, to which the number is appended.
    """
    if not isinstance(found.path, Choice):
        return "The plain algorithm does not compare numbers of clusters."
    others, cut = alternatives(found), best_cut(found.path)
    if found.n_clusters == 1 and cut is not None:
        return _why_one(cut, others, option, hinted=bool(getattr(found.model, "_hints", None)))
    told = found.model.n_clusters is not None
    number = counted(found.n_clusters, "cluster") + (", as requested" if told else "")
    if len(found.path.criteria) < 2:
        return f"{number}." if told else f"{number}: there was no other partition to compare."
    if not others:
        return f"{number}; no {'smaller' if told else 'other'} number is nearly as good."
    return f"{number}; {'; '.join(map(_rival, others))}."


def _rival(other: Alternative) -> str:
    """As in "2 is nearly as good (its criterion falls 1.6 nats short, 0.009 per row, standard error 7.2)"."""
    how = "is nearly as good" if other.gain <= 0 else "is better"
    size = f"{'falls' if other.gain <= 0 else 'is'} {readable(abs(other.gain))} nats"
    size += " short" if other.gain <= 0 else " higher"
    return f"{other.n_clusters} {how} (its criterion {size}, {_per_row(other)}, standard error {readable(other.error)})"


def _per_row(other: Alternative) -> str:
    return f"{abs(other.per_row):.2g} per row"


def _why_one(cut: Cut, others: list[Alternative], option: str, *, hinted: bool = False) -> str:
    number = len(cut.sizes)
    sizes = [f"{n:,}" for n in cut.sizes]
    groups = f"{number} groups of {in_series(sizes)} rows"
    parts = f"separate {sizes[0]} from {sizes[1]} rows" if number == 2 else f"make {groups}"
    if cut.joined:
        why = "hints join them, or there is no" if hinted else "there is no"
        return (
            f"1 cluster: {groups} describe the table better, but {why} valley "
            f"of lower density between them. To see them apart, set {option}{number}."
        )
    short = f"falls {readable(cut.short)} nats short ({cut.short / cut.n_rows:.2g} per row)"
    near = any(other.n_clusters == number for other in others)
    support = "is nearly as good" if near else "is supported"
    lead = f"1 cluster; a split {support}: it" if near else f"1 cluster: no split {support}. The best"
    return f"{lead} would {parts}, and its criterion {short}. To see it, set {option}{number}."


def rivals(found: Findings) -> list[dict[str, Any]]:
    """One line of the table of alternatives per number of clusters."""
    return [
        {
            "number": other.n_clusters,
            "sizes": ", ".join(f"{n:,}" for n in other.sizes),
            "gain": other.gain,
            "error": other.error,
            "per_row": other.per_row,
        }
        for other in alternatives(found)
    ]


def stability_sentence(judged: Stability) -> str:
    """What was drawn, and how often each number of clusters was found."""
    hidden = f", with {judged.hidden:.0%} of the observed values hidden" if judged.hidden else ""
    numbers = in_series([f"{counted(k, 'cluster')} in {often}" for k, often in judged.n_clusters.items()])
    draws = counted(judged.n_draws, "draw")
    return f"The model was fitted to {draws} of half of the rows (at most {MOST_ROWS:,}){hidden}: it found {numbers}."


def stable_clusters(found: Findings) -> list[dict[str, Any]]:
    """One line of the table of stability per cluster; empty if it was not computed."""
    judged = stability(found)
    if judged is None:
        return []
    return [
        {"number": k, "colour": colour(k), "symbol": SYMBOLS[shape(k)], "similarity": float(value), "grade": word}
        for k, (value, word) in enumerate(zip(judged.clusters, judged.grades, strict=True))
    ]
