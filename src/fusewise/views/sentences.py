"""Sentences and tables of the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fusewise.automatic import Choice
from fusewise.automatic.classes import ENOUGH_GAINED
from fusewise.kernels.types import Real
from fusewise.kernels.words import counted, in_series, readable, some_of
from fusewise.views.certainty import UNCERTAIN
from fusewise.views.columns import TableColumn
from fusewise.views.contrasts import Contrast
from fusewise.views.effects import LEVEL
from fusewise.views.palette import SYMBOLS, colour, shape
from fusewise.views.rules import ClusterRule

if TYPE_CHECKING:
    from fusewise.views.findings import Findings
    from fusewise.views.missingness import Missingness
    from fusewise.views.profile import ObservedCenters, Profile

#: Number of traits named, and the separation from which on a column is a trait.
MOST_TRAITS, LEAST_SEPARATION = 3, 0.25
#: Cliff's delta from which on values are higher or lower; below it they are in a narrower range.
LEAST_DELTA = 0.3
#: Difference in the share of missing values from which on it is a trait.
LEAST_MISSING = 0.25


@dataclass(frozen=True, eq=False)
class ClusterDescription:
    """A cluster in words.

    Attributes
    ----------
    cluster, size, share : its number, its number of rows, and their share of all rows.
    traits : what sets it apart, as phrases, the clearest first; empty if nothing does.
    short : the same for a narrow table: "alcohol ▲ 13.1".
    rule : a decision rule for it.
    """

    cluster: int
    size: int
    share: float
    traits: tuple[str, ...]
    short: tuple[str, ...]
    rule: ClusterRule

    @property
    def apart(self) -> str:
        """What sets it apart in one phrase."""
        return ", ".join(self.traits) or "nothing in particular: no column differs clearly from the other rows"

    @property
    def sentence(self) -> str:
        """The whole description: "62 rows (35%). Higher alcohol (median 13.1 against 12.3 elsewhere)."."""
        return f"{counted(self.size, 'row')} ({self.share:.0%}). {self.apart[0].upper()}{self.apart[1:]}."

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "cluster": self.cluster,
            "size": self.size,
            "share": self.share,
            "traits": list(self.traits),
            "short": list(self.short),
            "sentence": self.sentence,
        }


def describe_clusters(found: Findings) -> tuple[ClusterDescription, ...]:
    """Describe each cluster."""
    if found.n_clusters == 1 and (found.labels >= 0).sum() >= len(found.labels) - len(found.blank):
        rule = found.rules[0]
        share = int(found.sizes[0]) / len(found.labels)
        return (ClusterDescription(0, int(found.sizes[0]), share, ("every row: there is only one cluster",), (), rule),)
    described = []
    for k, contrasts in enumerate(found.contrasts.clusters):
        clear = [contrast for contrast in contrasts if contrast.differs and contrast.separation >= LEAST_SEPARATION]
        said = [_trait(contrast, found.columns[contrast.column]) for contrast in clear[:MOST_TRAITS]]
        said += [_missing(contrast) for contrast in contrasts if _often_missing(contrast)][: MOST_TRAITS - len(said)]
        traits, short = zip(*said, strict=True) if said else ((), ())
        share = int(found.sizes[k]) / max(len(found.labels), 1)
        described.append(ClusterDescription(k, int(found.sizes[k]), share, traits, short, found.rules[k]))
    return tuple(described)


def _trait(contrast: Contrast, column: TableColumn) -> tuple[str, str]:
    """A difference in words, at length and in short."""
    effect, inside, outside, name = contrast.effect, contrast.inside, contrast.outside, contrast.name
    assert effect is not None
    if contrast.level is not None:
        p, q = effect.parts
        often = "more" if p > q else "less"
        return (
            f"{often} often {name} = {contrast.level} ({p:.0%} against {q:.0%} elsewhere)",
            f"{name} = {contrast.level} {'▲' if p > q else '▼'} {p:.0%}",
        )
    if abs(effect.value) >= LEAST_DELTA:
        way = "higher" if effect.value > 0 else "lower"
        here, there = value_word(column, inside.median), value_word(column, outside.median)
        return (
            f"{way} {name} (median {here} against {there} elsewhere)",
            f"{name} {'▲' if effect.value > 0 else '▼'} {here}",
        )
    low, high = value_word(column, inside.low), value_word(column, inside.high)
    shares = f"{inside.within:.0%} against {outside.within:.0%} elsewhere"
    if low == high:
        return f"more often {name} = {low} ({shares})", f"{name} = {low}"
    return f"more often {name} from {low} to {high} ({shares})", f"{name} {low} to {high}"


def _often_missing(contrast: Contrast) -> bool:
    effect = contrast.missing
    return effect is not None and abs(effect.value) >= LEAST_MISSING and (effect.low > 0 or effect.high < 0)


def _missing(contrast: Contrast) -> tuple[str, str]:
    p, q = contrast.inside.missing, contrast.outside.missing
    often = "more" if p > q else "less"
    long = f"{often} often missing {contrast.name} ({p:.0%} against {q:.0%} elsewhere)"
    return long, f"{contrast.name} missing {'▲' if p > q else '▼'} {p:.0%}"


def value_word(column: TableColumn, value: float) -> str:
    """A value of a column as text: a number, or for ordered levels the level at the position."""
    if column.levels and np.isfinite(value):
        return str(column.levels[int(np.floor(value))])
    return readable(value)


#: Maximum number of columns named that do not differ between the clusters.
MOST_SILENT = 12
#: Maximum number of columns named in a sentence, of lines in a table, and of its cells if there are many clusters.
NAMED, LISTED, MOST_CELLS = 3, 200, 6_000


def headline(found: Findings) -> str:
    """The result in one sentence."""
    n, p = found.seen.shape
    outliers = int(np.count_nonzero(found.labels < 0)) - len(found.blank)
    others = f" and {counted(outliers, 'outlier')}" if outliers else ""
    size = f"{counted(n, 'row')} and {counted(p, 'column')}"
    clusters_ = f"{counted(found.n_clusters, 'cluster')}{others}"
    return f"{clusters_} in {size}; {found.observed_fraction:.1%} of the values observed."


def notes(found: Findings) -> list[str]:
    """Remarks on the fit, notes on rows that are not drawn, and what may have been missed."""
    said = list(found.remarks)
    blank, drawn = len(found.blank), len(found.drawn)
    if blank and not said:
        rows = counted(blank, "row has", "rows have")
        said.append(f"{rows} no observed value: not assigned to a cluster, and not drawn.")
    if drawn < len(found.labels) - blank:
        said.append(
            f"The map and the path show a random sample of {drawn:,} of the {len(found.labels) - blank:,} rows, with "
            "rows of every cluster; the tables refer to all rows."
        )
    return [_as_sentence(note) for note in (*said, *getattr(found.model, "limits_", ()))]


def _as_sentence(note: str) -> str:
    """A note of the command line with a capital letter and a full stop."""
    return note[:1].upper() + note[1:] + ("" if note.endswith((".", "!", "?")) else ".")


def clusters(found: Findings) -> list[dict[str, Any]]:
    """One line of the table of clusters per cluster."""
    lines = []
    for k, described in enumerate(found.described):
        members = found.labels == k
        sure = None if found.confidence is None else found.confidence[members]
        some = bool(members.any())
        lines.append(
            {
                "number": k,
                "colour": colour(k),
                "symbol": SYMBOLS[shape(k)],
                "size": described.size,
                "share": described.share,
                "observed": f"{found.seen[members].mean():.0%}" if some else "–",
                "confidence": None if sure is None else f"{sure.mean():.3f}" if some else "–",
                "uncertain": None if sure is None else int(np.count_nonzero(sure < UNCERTAIN)),
                "traits": list(described.short) or [described.apart],
                "apart": described.apart,
            }
        )
    return lines


def center_values(found: Findings, k: int) -> list[str]:
    """The centre of a cluster as text: numbers in the user's units, shares of levels in percent."""
    return _values(found, found.centers[k])


def _values(found: Findings, center: Real) -> list[str]:
    values = found.shown(center)
    return [
        # Shrinkage can leave a share slightly outside [0, 1].
        f"{np.clip(value, 0, 1):.0%}" if share and np.isfinite(value) else readable(value)
        for value, share in zip(values, found.shares, strict=True)
    ]


def steps(found: Findings) -> list[dict[str, Any]]:
    """One line of the table of steps per step of the path."""
    chosen = found.trail.chosen
    return [
        {"groups": s.n_groups, "lam": s.lam, "criterion": s.criterion, "chosen": k == chosen}
        for k, s in enumerate(found.trail.steps)
    ]


def path_sentence(found: Findings) -> str:
    """Sentence that describes the path."""
    trail = found.trail
    if trail.chosen is None:
        return "The model was fitted at a given lam, the strength of the fusion penalty: there is no path to show."
    compared = int(trail.steps[trail.chosen].partition.max(initial=-1)) + 1
    said = (
        "As lam, the strength of the fusion penalty, grows, rows fuse into fewer and fewer groups, here in "
        f"{counted(len(trail.steps), 'step')}. {_why_chosen(found, compared)}"
    )
    if isinstance(found.path, Choice):
        said += (
            " The clusters were fitted starting from it, and each row was assigned to the most likely one: the marked "
            "step shows the result."
        )
        if found.n_clusters < compared:
            left = counted(found.n_clusters, "cluster")
            said += f" Groups without a valley of lower density between them were joined, which leaves {left}."
    few = len(trail.rows) < len(found.drawn)
    return said + (f" The {len(trail.rows):,} rows on which the clusters were computed are shown." if few else "")


def _why_chosen(found: Findings, compared: int) -> str:
    """Why the partition into `compared` groups is the chosen one."""
    partition = f"The partition into {counted(compared, 'group')}"
    if found.model.n_clusters is not None:
        return f"{partition} was chosen because this number of clusters was requested."
    if not isinstance(found.path, Choice):
        return f"{partition} was chosen: it stays the same over the most steps."
    measure = "the criterion, which measures how well a partition explains the observed values"
    if found.path.criteria[found.path.chosen] >= max(found.path.criteria):
        return f"{partition} has the largest value of {measure}."
    gain = f"{ENOUGH_GAINED:.0%} of the largest gain over a single group"
    return f"{partition} is the one with the fewest groups that reaches {gain} in {measure}."


def telling(found: Findings, profile: Profile, observed: ObservedCenters | None = None) -> list[dict[str, Any]]:
    """Features ordered by how well they separate the clusters; the means of `observed` values are in brackets."""
    order = np.argsort(-profile.telling, kind="stable")[: _lines(found)]
    centers = [center_values(found, k) for k in range(found.n_clusters)]
    if observed is not None:
        means = [_values(found, center) for center in observed.means]
        centers = [[f"{a} ({b})" for a, b in zip(*of, strict=True)] for of in zip(centers, means, strict=True)]
    return [
        {
            "feature": found.features[j],
            "share": float(profile.telling[j]),
            "centers": [
                "no value" if np.isnan(profile.deviations[k, j]) else centers[k][j] for k in range(found.n_clusters)
            ],
        }
        for j in order
    ]


def profile_sentences(found: Findings, profile: Profile | None = None) -> list[str]:
    """Sentences on the columns that separate the clusters and, with a profile, on what is not drawn of it."""
    if found.n_clusters < 2:
        return (
            ["There is only one cluster, so there is nothing to compare."]
            if found.n_clusters
            else ["There is no cluster."]
        )
    named = in_series([f"{about.name} ({about.importance:.0%})" for about in found.contrasts.columns[:NAMED]])
    said = [
        f"The clusters differ most in {named}. Percentages: part of a column's variance that is between clusters "
        "(eta²; for categories Cramér's V²)."
    ]
    silent = [about.name for about in found.contrasts.columns if about.says_nothing]
    if silent:
        which = some_of(silent, MOST_SILENT)
        said.append(f"{counted(len(silent), 'column does', 'columns do')} not differ between the clusters: {which}.")
    if profile is None:
        return said
    if len(profile.shown) < len(profile.telling):
        said.append(f"The {len(profile.shown)} features of {len(profile.telling):,} that separate them best are drawn.")
    empty = int(np.isnan(profile.deviations).sum())
    if empty:
        said.append(f"{counted(empty, 'cell is', 'cells are')} empty: no row of the cluster has the feature observed.")
    return said


def missing_sentences(found: Findings, missing: Missingness) -> list[str]:
    """Sentences on whether missingness depends on the cluster."""
    if found.seen.all():
        return ["No values are missing."]
    if found.n_clusters < 2:
        return ["Missing values can be compared only between two or more clusters."]
    tested, differing = int(np.count_nonzero(~np.isnan(missing.p_values))), missing.differing
    how = f"Pearson's chi-square test for each column with Holm's correction, level {LEVEL:.0%}"
    if not tested:
        return ["No column has enough missing and observed values in every cluster to test for a difference."]
    untested, columns = found.seen.shape[1] - tested, f"the {counted(tested, 'column')} tested ({how})."
    columns += f" {counted(untested, 'column')} had too few missing or observed values to test." if untested else ""
    if not len(differing):
        return [f"No dependence of missingness on the cluster was found in {columns}"]
    depends = f"Missingness depends on the cluster in {len(differing)} of {columns}"
    named = in_series([_extremes(found, missing, j) for j in differing[:NAMED]])
    care = (
        "This can be a finding in itself. It also means that values are not missing completely at random, "
        "which the recovery guarantee below assumes."
    )
    return [depends, f"The clearest differences: {named}.", care]


def _extremes(found: Findings, missing: Missingness, j: int) -> str:
    low, high = int(missing.rates[:, j].argmin()), int(missing.rates[:, j].argmax())
    return (
        f"{missing.names[j]} (missing in {missing.rates[low, j]:.0%} of cluster {low}, "
        f"in {missing.rates[high, j]:.0%} of cluster {high})"
    )


def map_size(found: Findings, missing: Missingness) -> str:
    """Sentence that says what a cell of the missingness map represents."""
    n, p = found.seen.shape
    rows, columns = missing.bands.shape
    if (rows, columns) == (n, p):
        return "Each cell is one value of the table."
    tall = f"up to {int(np.diff(missing.rows).max()):,} rows of one cluster" if rows < n else "a row"
    wide = f"up to {int(np.diff(missing.columns).max()):,} columns" if columns < p else "a column"
    return f"The table is too large to draw every value: a cell is {tall} by {wide}, shaded by the fraction observed."


def missing_columns(found: Findings, missing: Missingness) -> list[dict[str, Any]]:
    """One line of the table of missing values per column, clearest differences first."""
    order = np.lexsort((np.arange(len(missing.p_values)), np.nan_to_num(missing.p_values, nan=2.0)))[: _lines(found)]
    return [
        {
            "feature": missing.names[j],
            "whole": float(1 - found.seen[:, j].mean()),
            "rates": missing.rates[:, j].tolist(),
            "p_value": None if np.isnan(missing.p_values[j]) else float(missing.p_values[j]),
        }
        for j in order
    ]


def _lines(found: Findings) -> int:
    """Maximum number of lines in a table with a column for each cluster."""
    return max(NAMED, min(LISTED, MOST_CELLS // max(found.n_clusters, 1)))
