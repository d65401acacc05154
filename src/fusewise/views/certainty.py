"""How sure the result is: confidence, other numbers of clusters, why there is only one, and stability."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fusewise.automatic import Choice
from fusewise.automatic.alternatives import Alternative, Cut, best_cut
from fusewise.automatic.classes import ENOUGH_GAINED
from fusewise.automatic.mixture import Mixture
from fusewise.automatic.stability import MOST_ROWS, Stability
from fusewise.kernels.types import Index
from fusewise.kernels.words import counted, in_series, readable
from fusewise.views.palette import SYMBOLS, colour, shape

if TYPE_CHECKING:
    from fusewise.views.findings import Findings

#: The criterion by which numbers of clusters are compared, in words.
CRITERION = "its penalised log-likelihood"
#: A row is uncertain if the probability of its most likely cluster is below this.
UNCERTAIN = 0.8
#: Maximum number of doubtful rows listed.
MOST_DOUBTFUL = 500


@dataclass(frozen=True)
class DoubtfulRow:
    """A row whose cluster is uncertain.

    Attributes
    ----------
    row, name : its position in the table, and its name.
    cluster, confidence : its cluster, and the probability of it; -1 for an outlier.
    second, second_probability : the next most likely cluster, and its probability; None if there is no other.
    """

    row: int
    name: str
    cluster: int
    confidence: float
    second: int | None
    second_probability: float | None

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class ClusterConfidence:
    """How sure the rows of a cluster are.

    Attributes
    ----------
    cluster : its number.
    mean : mean confidence of its rows; None if the model has no probabilities.
    n_uncertain : number of rows with a confidence below 0.8.
    stability, grade : how stable the cluster is, as a number and in a word; None if not computed.
    """

    cluster: int
    mean: float | None
    n_uncertain: int
    stability: float | None
    grade: str | None

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class HowSure:
    """How sure the result is.

    Attributes
    ----------
    number : the number of clusters and its rivals in words; why there is only one.
    advice : what to try next; empty if nothing needs to be tried.
    clusters : confidence and stability of each cluster.
    doubtful : rows with a confidence below 0.8, the least certain first, at most 500.
    n_doubtful : number of all such rows.
    alternatives : other numbers of clusters that are nearly as good, with their labels.
    stability : what was drawn in words; None if not computed.
    """

    number: str
    advice: tuple[str, ...]
    clusters: tuple[ClusterConfidence, ...]
    doubtful: tuple[DoubtfulRow, ...]
    n_doubtful: int
    alternatives: tuple[Alternative, ...]
    stability: str | None

    @property
    def doubt(self) -> str:
        """How many rows are uncertain, in words."""
        rows = counted(self.n_doubtful, "row has", "rows have")
        return f"{rows} a confidence below {UNCERTAIN:g}."

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "number": self.number,
            "doubt": self.doubt,
            "advice": list(self.advice),
            "clusters": [cluster.as_dict() for cluster in self.clusters],
            "doubtful": [row.as_dict() for row in self.doubtful],
            "n_doubtful": self.n_doubtful,
            "alternatives": [_alternative(other) | {"labels": other.labels.tolist()} for other in self.alternatives],
            "stability": self.stability,
        }


def how_sure(found: Findings, option: str = "n_clusters=") -> HowSure:
    """Collect what is known of the certainty of a result; `option` as in ``number_sentence``."""
    judged = stability(found)
    rows = doubtful_rows(found)
    return HowSure(
        number_sentence(found, option),
        tuple(advice(found)),
        tuple(_confidence(found, judged, k) for k in range(found.n_clusters)),
        tuple(_doubtful(found, int(row)) for row in rows[:MOST_DOUBTFUL]),
        len(rows),
        tuple(alternatives(found)),
        None if judged is None else stability_sentence(judged),
    )


def _confidence(found: Findings, judged: Stability | None, k: int) -> ClusterConfidence:
    members = found.labels == k
    sure = None if found.confidence is None or not members.any() else found.confidence[members]
    return ClusterConfidence(
        k,
        None if sure is None else float(sure.mean()),
        0 if sure is None else int(np.count_nonzero(sure < UNCERTAIN)),
        None if judged is None else float(judged.clusters[k]),
        None if judged is None else judged.grades[k],
    )


def doubtful_rows(found: Findings) -> Index:
    """Rows with a confidence below 0.8, the least certain first; none if the model has no probabilities."""
    if found.confidence is None:
        return np.arange(0)
    seen = np.setdiff1d(np.flatnonzero(found.confidence < UNCERTAIN), found.blank, assume_unique=True)
    return seen[np.argsort(found.confidence[seen], kind="stable")]


def _doubtful(found: Findings, row: int) -> DoubtfulRow:
    """A row with its second-best cluster: of an outlier, the most likely cluster if it were in one."""
    assert found.confidence is not None
    label, shares = int(found.labels[row]), np.array(found.model.probabilities_[row], dtype=float)
    if label >= 0:
        shares[label] = -1
    second = int(shares.argmax()) if len(shares) > (label >= 0) else None
    probability = None if second is None else float(shares[second])
    return DoubtfulRow(row, found.names[row], label, float(found.confidence[row]), second, probability)


def advice(found: Findings) -> list[str]:
    """What to try if there is only one cluster, if many rows are uncertain, or if columns say nothing."""
    if found.n_clusters == 1:
        return [
            "Leave out columns that have nothing to do with the groups you expect: they can hide a split.",
            "Check how the columns were read: codes may have been read as numbers, or markers of missing values, such "
            "as -99, as values.",
            "The fewer the rows, the clearer a difference must be for a split to be supported: more rows may show it.",
        ]
    uncertain = len(doubtful_rows(found))
    said = []
    if uncertain > 0.2 * len(found.labels):
        share = uncertain / len(found.labels)
        said.append(f"{share:.0%} of the rows lie between clusters: treat their labels with caution.")
    return said


def alternatives(found: Findings) -> list[Alternative]:
    """Other numbers of clusters that are nearly as good; none by the paper's algorithm, which compares none."""
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
        return "The paper's algorithm does not compare numbers of clusters."
    others, cut = alternatives(found), best_cut(found.path)
    if found.n_clusters == 1 and cut is not None:
        return _why_one(cut, others, option, hinted=bool(getattr(found.model, "_hints", None)))
    told = found.model.n_clusters is not None
    number = counted(found.n_clusters, "cluster") + (", as requested" if told else "")
    if len(found.path.criteria) < 2:
        return f"{number}." if told else f"{number}: there was no other partition to compare."
    if not others:
        return f"{number}; no {'smaller' if told else 'other'} number is nearly as good."
    higher, near = ([o for o in others if (o.gain > 0) == above] for above in (True, False))
    few = bool(higher) and not told and not isinstance(found.path.mixtures[found.path.chosen], Mixture)
    if few:  # of mixed tables the smallest number is taken that gains enough (see ``automatic.classes``)
        share = f"{ENOUGH_GAINED:.0%} of the largest gain in penalised log-likelihood over a single cluster"
        number += f", the smallest number that reaches {share}"
    better = ("gains more", "gain more") if few else ("is better", "are better")
    said = [_rivals(*better, higher), _rivals("is nearly as good", "are nearly as good", near)]
    return "; ".join([number, *filter(None, said)]) + "."


def _rivals(is_how: str, are_how: str, others: list[Alternative]) -> str:
    """As in "2 is nearly as good (its penalised log-likelihood falls 1.6 short, 0.009 per row, standard error 7.2)"."""
    if not others:
        return ""
    gains, errors = sorted(abs(other.gain) for other in others), sorted(other.error for other in others)
    higher = others[0].gain > 0
    if len(others) == 1:
        (other,) = others
        size = f"is {readable(gains[0])} higher" if higher else f"falls {readable(gains[0])} short"
        details = f"{CRITERION} {size}, {abs(other.per_row):.2g} per row, standard error {readable(other.error)}"
        return f"{other.n_clusters} {is_how} ({details})"
    numbers = in_series([str(n) for n in sorted(other.n_clusters for other in others)])
    size = f"are {_range(gains)} higher" if higher else f"fall {_range(gains)} short"
    return f"{numbers} {are_how} (their penalised log-likelihoods {size}, standard errors {_range(errors)})"


def _range(ordered: list[float]) -> str:
    low, high = readable(ordered[0]), readable(ordered[-1])
    return low if low == high else f"{low} to {high}"


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
    short = f"falls {readable(cut.short)} short ({cut.short / cut.n_rows:.2g} per row)"
    near = any(other.n_clusters == number for other in others)
    support = "is nearly as good" if near else "is supported"
    lead = f"1 cluster; a split {support}: it" if near else f"1 cluster: no split {support}. The best"
    return f"{lead} would {parts}, and {CRITERION} {short}. To see it, set {option}{number}."


def rivals(found: Findings) -> list[dict[str, Any]]:
    """One line of the table of alternatives per number of clusters."""
    return [
        {"number": other.n_clusters} | _alternative(other) | {"sizes": ", ".join(f"{n:,}" for n in other.sizes)}
        for other in sorted(alternatives(found), key=lambda other: other.n_clusters)
    ]


def _alternative(other: Alternative) -> dict[str, Any]:
    return {
        "clusters": other.n_clusters,
        "sizes": other.sizes,
        "gain": other.gain,
        "error": other.error,
        "per_row": other.per_row,
    }


def stability_sentence(judged: Stability) -> str:
    """What was drawn, and how often each number of clusters was found."""
    hidden = f", with {judged.hidden:.0%} of the observed values hidden" if judged.hidden else ""
    total = judged.n_draws
    numbers = [
        f"{counted(k, 'cluster')} in {'all of them' if often == total > 1 else counted(often, 'fit')}"
        for k, often in judged.n_clusters.items()
    ]
    fits = f"{counted(total, 'time')}, {'each time ' if total > 1 else ''}to a random half of the rows"
    return f"The model was fitted again {fits} (at most {MOST_ROWS:,}){hidden}: it found {in_series(numbers)}."


def stable_clusters(found: Findings) -> list[dict[str, Any]]:
    """One line of the table of stability per cluster; empty if it was not computed."""
    judged = stability(found)
    if judged is None:
        return []
    return [
        {"number": k, "colour": colour(k), "symbol": SYMBOLS[shape(k)], "similarity": float(value), "grade": word}
        for k, (value, word) in enumerate(zip(judged.clusters, judged.grades, strict=True))
    ]
