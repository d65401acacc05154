"""All sentences of the descriptions, the report and the command: what is said, and when it may be said.

A statement needs values enough to be true (``contrasts.enough``), a difference beyond chance (``Contrast.differs``),
and numbers that differ as they are printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from fusewise.automatic import Choice, Cut, Stability, best_cut
from fusewise.kernels import Mask
from fusewise.support import PlainRecord, counted, in_series, readable, readable_apart, some_of
from fusewise.views._certainty import doubtful_rows
from fusewise.views._columns import OTHERS, TableColumn
from fusewise.views._contrasts import LEAST_VALUES, LEVEL, Contrast
from fusewise.views._rules import ClusterRule, either, level_word, limit_word, percent

if TYPE_CHECKING:
    from fusewise.views._findings import Findings

#: Number of traits named, and the separation from which on a column is a trait.
MOST_TRAITS, LEAST_SEPARATION = 3, 0.25
#: Cliff's delta from which on values are higher or lower; below it they are in a narrower range.
LEAST_DELTA = 0.3
#: Difference in shares from which on some levels, or missing values, are a trait.
LEAST_LEVELS, LEAST_MISSING = 0.1, 0.25
#: Levels named together in a trait.
MOST_LEVELS = 3
#: Properties in the name of a cluster, and how many more if two clusters would have the same name.
FEW_PROPERTIES, MOST_PROPERTIES = 2, 3
#: Maximum number of characters of a column or a level in the name of a cluster; longer ones are cut in the middle.
MOST_CHARACTERS = 32
#: Maximum number of columns named that do not differ between the clusters.
MOST_SILENT = 12
#: Maximum number of columns named in a sentence, of lines in a table, and of its cells if there are many clusters.
NAMED, LISTED, MOST_CELLS = 3, 200, 6_000
#: A row is between two clusters if the probability of its own is below this.
BETWEEN = 0.9
#: Numbers that differ only in more characters than this count as the same.
MOST_DIGITS = 9


class Trait(NamedTuple):
    """Something that sets a cluster apart: the column, and what is said."""

    column: str
    words: str  # "higher alcohol (median 13.1 against 12.3 elsewhere)"
    short: str  # for a narrow table: "alcohol ▲ 13.1"
    name: str  # for the name of the cluster: "high alcohol"


@dataclass(frozen=True, eq=False)
class ClusterDescription(PlainRecord):
    """A cluster in words.

    Attributes
    ----------
    cluster, size, share : its number, its number of rows, and their share of all rows.
    name : a short name, yours or made of at most three traits; empty if nothing sets it apart.
    traits : what sets it apart, as phrases, the clearest first; empty if nothing does.
    columns : the columns of the traits.
    short : the same for a narrow table: "alcohol ▲ 13.1".
    rule : a decision rule for it.
    otherwise : what is said if there are no traits.
    """

    cluster: int
    size: int
    share: float
    name: str
    traits: tuple[str, ...]
    columns: tuple[str, ...]
    short: tuple[str, ...]
    rule: ClusterRule
    otherwise: str

    _written: ClassVar = ("sentence",)

    @property
    def apart(self) -> str:
        """What sets it apart in one phrase."""
        return ", ".join(self.traits) or self.otherwise

    @property
    def title(self) -> str:
        """Its number and its name: "2: high alcohol"."""
        return f"{self.cluster}: {self.name}" if self.name else str(self.cluster)

    @property
    def sentence(self) -> str:
        """The whole description: "62 rows (35%). Higher alcohol (median 13.1 against 12.3 elsewhere)."."""
        return f"{counted(self.size, 'row')} ({percent(self.share)}). {self.apart[0].upper()}{self.apart[1:]}."


def describe_clusters(found: Findings) -> tuple[ClusterDescription, ...]:
    """Describe each cluster."""
    traits = [_traits(found, k) for k in range(found.n_clusters)]
    names = found.given_names if len(found.given_names) == found.n_clusters else cluster_names(traits)
    described = []
    for k, of in enumerate(traits):
        size, rows = int(found.sizes[k]), max(len(found.labels), 1)
        otherwise = "nothing in particular: no column differs clearly from the other rows"
        if found.n_clusters == 1:
            otherwise = f"every row{' but the outliers' if found.n_outliers else ''}: there is only one cluster"
        elif size < LEAST_VALUES:
            otherwise = "too few rows to say what sets it apart"
        words, columns, short = (tuple(getattr(trait, part) for trait in of) for part in ("words", "column", "short"))
        about = ClusterDescription(k, size, size / rows, names[k], words, columns, short, found.rules[k], otherwise)
        described.append(about)
    return tuple(described)


def cluster_names(traits: Sequence[Sequence[Trait]]) -> tuple[str, ...]:
    """A name for each cluster, of two properties; of three, or with their values, where others would have the same."""
    found: list[list[str]] = [[] for _ in traits]
    for part, most in (("name", FEW_PROPERTIES), ("name", MOST_PROPERTIES), ("short", FEW_PROPERTIES)):
        often = Counter(frozenset(name) for name in found)  # "high a, high b" is "high b, high a"
        longer = [
            [getattr(trait, part).replace(trait.column, _shortened(trait.column), 1) for trait in of[:most]]
            for of in traits
        ]
        found = [
            more if often[frozenset(name)] > 1 or not name else name for name, more in zip(found, longer, strict=True)
        ]
    return tuple(map(", ".join, found))


def _shortened(text: str) -> str:
    """A text without its middle if it is long, in whole words if it has some."""
    half = MOST_CHARACTERS // 2
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:half].rsplit(' ', 1)[0]}…{text[-half:].split(' ', 1)[-1]}"


def _traits(found: Findings, k: int) -> list[Trait]:
    """What sets a cluster apart, the clearest first; then what is often missing in it, or seldom."""
    if found.n_clusters == 1:
        return []
    contrasts = found.contrasts.clusters[k]
    clear = [contrast for contrast in contrasts if contrast.differs and contrast.separation >= LEAST_SEPARATION]
    said = [_trait(contrast, found.columns[contrast.column], found.labels == k) for contrast in clear]
    differing = found.missingness.differing
    said += [_missing(each, found.columns[each.column]) for each in contrasts if each.column in differing]
    return [trait for trait in said if trait is not None][:MOST_TRAITS]


def _trait(contrast: Contrast, column: TableColumn, member: Mask) -> Trait | None:
    """A difference in words; None if no numbers can be printed that differ."""
    if not column.scaled:
        return _level_trait(contrast)
    column = column.placed()
    inside, outside, name = contrast.inside, contrast.outside, contrast.name
    assert contrast.effect is not None
    delta = contrast.effect.value
    here, there = value_words(column, inside.median, outside.median)
    if abs(delta) >= LEAST_DELTA and here != there and (inside.median - outside.median) * delta > 0:
        way, sign, much = ("higher", "▲", "high") if delta > 0 else ("lower", "▼", "low")
        words = f"{way} {name} (median {here} against {there} elsewhere)"
        return Trait(name, words, f"{name} {sign} {here}", f"{much} {name}")
    inner = _shares_of((column.values >= inside.low) & (column.values <= inside.high), column, member)
    if inner[0] - inner[1] > contrast.separation:
        low, high = value_words(column, inside.low, inside.high)
        which = _equal(name, low) if low == high else f"{name} from {low} to {high}"
        return _share_trait(name, which, inner, which)
    limit = str(column.levels[int(contrast.limit)]) if column.levels else limit_word(contrast.limit)
    shares = _shares_of(column.values > contrast.limit, column, member)
    above = shares[0] > shares[1]
    which = f"{name} {'>' if above else '≤'} {limit}"
    beyond = column.values[column.seen & ((column.values > contrast.limit) == above)]
    if (beyond == beyond[0]).all():  # "= 0" says more than "≤ 0" if nothing is below
        which = _equal(name, value_words(column, beyond[0])[0])
    return _share_trait(name, which, shares if above else (1 - shares[0], 1 - shares[1]), which)


def _shares_of(met: Mask, column: TableColumn, member: Mask) -> tuple[float, float]:
    """The share of the values of a column that meet something, inside a cluster and outside it."""
    inside, outside = (float(met[column.seen & side].mean()) for side in (member, ~member))
    return inside, outside


def _equal(name: str, word: str) -> str:
    return f"{name} {word}" if word.startswith(("below ", "above ")) else f"{name} = {word}"


def _level_trait(contrast: Contrast) -> Trait | None:
    """The level that is more or less frequent; if that is little of the difference, a few that are more frequent."""
    assert contrast.effect is not None
    parts, name, level = contrast.effect.parts, contrast.name, str(contrast.level)
    if abs(parts[0] - parts[1]) >= contrast.separation / 2:
        way = "" if parts[0] > parts[1] else "not "
        short = level_word(_shortened(level))
        return _share_trait(name, f"{name} = {level_word(level)}", parts, f"{name} {way}{short}")
    each = zip(contrast.levels, contrast.inside.shares, contrast.outside.shares, strict=True)
    some = sorted((of for of in each if of[0] != OTHERS), key=lambda of: of[2] - of[1])[:MOST_LEVELS]
    p, q = sum(of[1] for of in some), sum(of[2] for of in some)
    which = f"{name} = {either([of[0] for of in some])}"
    return _share_trait(name, which, (p, q), which) if p - q >= LEAST_LEVELS else None


def _missing(contrast: Contrast, column: TableColumn) -> Trait | None:
    """That values are often missing, or seldom, if that is beyond chance."""
    effect = contrast.missing
    if effect is None or abs(effect.value) < LEAST_MISSING or effect.low <= 0 <= effect.high:
        return None
    p, q, name = contrast.inside.missing, contrast.outside.missing, contrast.name
    which = f"missing {name}" if column.unseen == "missing" else f"{name} {column.unseen}"
    return _share_trait(name, which, (p, q), f"{name} {column.unseen if p > q else 'known'}")


def _share_trait(column: str, which: str, shares: tuple[float, float], name: str) -> Trait | None:
    """As in "more often wet = yes (62% against 11% elsewhere)"; None if both shares read the same."""
    p, q = map(percent, shares)
    if p == q:
        return None
    often, sign = ("more", "▲") if shares[0] > shares[1] else ("less", "▼")
    return Trait(column, f"{often} often {which} ({p} against {q} elsewhere)", f"{which} {sign} {p}", name)


def value_words(column: TableColumn, *values: float) -> list[str]:
    """Values of a column as text, with digits enough to differ; for ordered levels the level at the position."""
    if column.levels:
        return [str(column.levels[int(np.floor(value))]) if np.isfinite(value) else "–" for value in values]
    texts = readable_apart(values)
    texts = texts if max(map(len, texts)) <= MOST_DIGITS else [readable(value) for value in values]
    return [column.beyond(value) or text for value, text in zip(values, texts, strict=True)]


def headline(found: Findings) -> str:
    """The result in one sentence."""
    n, p = found.seen.shape
    others = f" and {counted(found.n_outliers, 'outlier')}" if found.n_outliers else ""
    size = f"{counted(n, 'row')} and {counted(p, 'column')}"
    number = counted(found.n_clusters, "cluster")
    return f"{number}{others} in {size}; {observed_words(float(found.seen.mean()))}."


def observed_words(share: float) -> str:
    """As in "97.5% of the values observed"."""
    return "all values observed" if share == 1 else f"{percent(share, 1)} of the values observed"


def lead(found: Findings, option: str) -> list[str]:
    """What must be known before anything else: that the number of clusters, or a cluster itself, is not sure."""
    number = number_sentence(found, option)
    said, judged = [number] if found.n_clusters == 1 or "not sure" in number else [], found.stability
    loose = [] if judged is None else [k for k, grade in enumerate(judged.grades) if grade == "not stable"]
    if loose:
        which = f"Cluster {loose[0]} is" if len(loose) == 1 else f"Clusters {number_ranges(loose)} are"
        which = "The clusters are" if len(loose) == found.n_clusters > 1 else which
        said.append(f"{which} not stable: fits to random parts of the rows find others.")
    return said


def remarks(found: Findings) -> list[str]:
    """Remarks on the fit, and on rows without any value."""
    said = list(found.remarks)
    if len(found.blank) and not said:
        rows = counted(len(found.blank), "row has", "rows have")
        said.append(f"{rows} no observed value: not assigned to a cluster, and not drawn.")
    return [_as_sentence(note) for note in said]


def limits(found: Findings) -> list[str]:
    """Where clusters have no gap between them, and what may have been missed."""
    return [_as_sentence(note) for note in getattr(found.model, "limits_", ())]


def gap_sentences(model: Any) -> list[str]:
    """Clusters without a gap between them: half as many rows belong to either as the smaller one has."""
    labels, sure = np.asarray(model.labels_), np.asarray(model.confidence_)
    if model.n_clusters_ < 2:
        return []
    rows = np.flatnonzero((sure < BETWEEN) & (labels >= 0))
    sizes = np.bincount(labels[labels >= 0], minlength=model.n_clusters_)
    if 2 * len(rows) < sizes.min():
        return []
    likely = np.sort(np.argsort(-np.asarray(model.probabilities_[rows]), axis=1)[:, :2], axis=1)
    pairs, counts = np.unique(likely, axis=0, return_counts=True)
    each = [(a, b, n) for (a, b), n in zip(pairs.tolist(), counts.tolist(), strict=True)]
    open_ = [(a, b, n) for a, b, n in each if 2 * n >= min(sizes[a], sizes[b])]
    if not open_:
        return []
    words = [f"{a} and {b} ({counted(n, 'row')} between them)" for a, b, n in sorted(open_, key=lambda of: -of[2])]
    return [
        f"There is no gap between clusters {some_of(words, NAMED)}: rows between two clusters belong to their own "
        f"with a probability under {BETWEEN:g}. Where one ends and the other begins is a choice, as in a continuum."
    ]


def drawn_sentences(found: Findings) -> list[str]:
    """How many rows are drawn, if these are not all."""
    drawn, rows = len(found.drawn), len(found.labels) - len(found.blank)
    if drawn >= rows or not found.rows:
        return []
    return [f"Drawn is a random sample of {drawn:,} of the {rows:,} rows, with rows of every cluster."]


def _as_sentence(note: str) -> str:
    """A note of the command line with a capital letter and a full stop."""
    return note[:1].upper() + note[1:] + ("" if note.endswith((".", "!", "?")) else ".")


def advice(found: Findings) -> list[str]:
    """What to try if there is only one cluster, if many rows are uncertain, or if columns say nothing."""
    if found.n_clusters == 1:
        return [
            "Leave out columns that have nothing to do with the groups you expect: they can hide a split.",
            "Check how the columns were read: codes may have been read as numbers, or markers of missing values, such "
            "as -99, as values.",
            "The fewer the rows, the clearer a difference must be for a split to be supported: more rows may show it.",
        ]
    share = len(doubtful_rows(found)) / max(len(found.labels), 1)
    return [f"{share:.0%} of the rows lie between clusters: treat their labels with caution."] if share > 0.2 else []


def number_sentence(found: Findings, option: str = "n_clusters=") -> str:
    """The number of clusters and how sure it is: "3 clusters; 2 is about as good."; why there is only one.

    `option` is how the number of clusters is set; the number is appended to it.
    """
    if not isinstance(found.path, Choice):
        return "The paper's algorithm does not compare numbers of clusters."
    others, cut = sorted(other.n_clusters for other in found.alternatives), best_cut(found.path)
    if found.n_clusters == 1 and cut is not None:
        return _why_one(cut, others, option, hinted=bool(getattr(found.model, "_hints", None)))
    told = found.model.n_clusters is not None
    number = counted(found.n_clusters, "cluster") + (", as requested" if told else "")
    if len(found.path.criteria) < 2:
        return f"{number}." if told else f"{number}: there was no other partition to compare."
    if not others:
        return f"{number}; no {'smaller' if told else 'other'} number is about as good."
    one = " A single cluster is among them: it is not sure that there are groups at all." if 1 in others else ""
    if len(others) == 1:
        alone = " It is not sure that there are groups at all." if one else ""
        return f"{number}; {others[0]} {'is' if others[0] == 1 else 'are'} about as good.{alone}"
    best = max(found.alternatives, key=lambda other: other.gain)
    better = not told and best.n_clusters > found.n_clusters and best.gain > 2 * best.error
    if better:
        most = f"The criterion is largest for {best.n_clusters}"
        one = f" {most}; the fewest clusters with most of its gain over a single one were taken.{one}"
    every = sorted([*others, found.n_clusters])
    whole = every == list(range(every[0], every[-1] + 1))
    rivals = f"any number from {every[0]} to {every[-1]} is" if whole else f"{number_ranges(others)} are"
    good = "about as good, or better" if better else "about as good"
    return f"{number}, but the number is not sure: {rivals} {good}.{one}"


def path_sentences(found: Findings) -> list[str]:
    """What the steps of the path are, and why the chosen one was chosen."""
    trail, path = found.trail, found.path
    if trail.chosen is None:
        return ["The model was fitted at a given lam, the strength of the fusion penalty: there is no path to show."]
    groups = int(trail.steps[trail.chosen].partition.max(initial=-1)) + 1
    if found.model.n_clusters is not None:
        why = "was chosen because this number of clusters was requested"
    elif not isinstance(path, Choice):
        why = f"was chosen: {'it stays the same over the most steps' if groups > 1 else 'no step has several groups'}"
    else:
        best = path.criteria[path.chosen] >= max(path.criteria)
        why = "has the largest value of" if best else "has the fewest groups of those with most of the largest gain in"
        why += " the criterion, which measures how well a partition explains the observed values"
    said = [
        "As lam, the strength of the fusion penalty, grows, rows fuse into fewer and fewer groups, here in "
        f"{counted(len(trail.steps), 'step')}.",
        f"The partition into {counted(groups, 'group')} {why}.",
    ]
    if isinstance(path, Choice):
        said.append("The clusters were fitted starting from it, and the marked step shows these.")
        if found.n_clusters < groups:
            left = counted(found.n_clusters, "cluster")
            said.append(f"Groups without a valley of lower density between them were joined, which leaves {left}.")
    if len(trail.rows) < len(found.drawn):
        said.append(f"The {len(trail.rows):,} rows on which the clusters were computed are shown.")
    return said


def number_ranges(numbers: Sequence[int]) -> str:
    """Increasing numbers as ranges: "2 to 4, 7 and 9"."""
    runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    words = [[f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run) for run in runs]
    return in_series([word for of in words for word in of])


def _why_one(cut: Cut, others: list[int], option: str, *, hinted: bool = False) -> str:
    number = len(cut.sizes)
    sizes = [f"{n:,}" for n in cut.sizes]
    groups = f"{number} groups of {in_series(sizes)} rows"
    if cut.joined:
        why = "hints join them, or there is no" if hinted else "there is no"
        return (
            f"1 cluster: {groups} describe the table better, but {why} valley "
            f"of lower density between them. To see them apart, set {option}{number}."
        )
    if number in others:
        return f"1 cluster, but that is not sure: {groups} are about as good. To see them, set {option}{number}."
    parts = f"separate {sizes[0]} from {sizes[1]} rows" if number == 2 else f"make {groups}"
    return f"1 cluster: no split is supported. The best would {parts}. To see it, set {option}{number}."


def stability_sentence(judged: Stability) -> str:
    """What was drawn, and how often each number of clusters was found."""
    hidden = f", with {judged.hidden:.0%} of the observed values hidden" if judged.hidden else ""
    total = judged.n_draws
    numbers = [
        f"{counted(k, 'cluster')} in {'all of them' if often == total > 1 else counted(often, 'fit')}"
        for k, often in judged.n_clusters.items()
    ]
    fits = f"{counted(total, 'time')}, {'each time ' if total > 1 else ''}to a random part of the rows, at most half"
    return f"The model was fitted again {fits}{hidden}: it found {in_series(numbers)}."


def profile_sentences(found: Findings, *, drawn: bool = False) -> list[str]:
    """Sentences on the columns that separate the clusters and, if their profile is drawn, on what is not in it."""
    if not found.n_clusters:
        return ["There is no cluster."]
    if found.n_clusters == 1:
        return ["There is only one cluster, so there is nothing to compare."]
    traits = {name for described in found.described for name in described.columns}
    differing = [about for about in found.contrasts.columns if about.differs and about.name in traits]
    named = [f"{about.name} ({about.importance:.0%})" for about in differing]
    said = [
        f"The clusters differ most in {in_series(named[:NAMED])}. Percentages: part of a column's variance that is "
        "between clusters (eta²; for categories Cramér's V²)."
        if named
        else "Nothing is sure about what the clusters are: no column differs clearly between them."
    ]
    silent = [about.name for about in found.contrasts.columns if about.compared and not about.differs]
    if silent:
        where = f"{counted(len(silent), 'column')}: {some_of(silent, MOST_SILENT)}"
        said.append(f"No difference between the clusters was found in {where}.")
    empty = [about.name for about in found.contrasts.columns if not about.compared]
    if empty:
        columns = counted(len(empty), "column has", "columns have")
        said.append(f"{columns} too few observed values to compare the clusters: {some_of(empty, MOST_SILENT)}.")
    if found.contrasts.n_rows < len(found.labels):
        said.append(f"Clusters were compared on a random sample of {found.contrasts.n_rows:,} rows.")
    if not drawn:
        return said
    profile = found.profile
    if profile.n_columns < len(found.columns):
        said.append(f"The {profile.n_columns} columns of {len(found.columns):,} that separate them best are drawn.")
    crosses = int(np.isnan(profile.effects).sum())
    if crosses:
        said.append(f"{counted(crosses, 'cell is', 'cells are')} crossed out: too few observed values to compare.")
    return said


def missing_sentences(found: Findings) -> list[str]:
    """Sentences on whether missingness depends on the cluster."""
    missing = found.missingness
    if found.seen.all():
        return ["No values are missing."]
    half = [(column, int(np.count_nonzero(column.bounded))) for column in found.columns if column.bounded.any()]
    said = []
    if half:
        each = [f"{column.name} ({counted(n, 'value')} {column.within})" for column, n in half]
        said = [f"Counted as missing here, but known in part: {some_of(each, NAMED)}."]
    if found.n_clusters < 2:
        return [*said, "Missing values can be compared only between two or more clusters."]
    tested, differing = int(np.count_nonzero(~np.isnan(missing.p_values))), missing.differing
    if not tested:
        return [*said, "No column has enough missing and observed values in every cluster to test for a difference."]
    how = f"Pearson's chi-square test for each column with Holm's correction, level {LEVEL:.0%}"
    untested, columns = found.seen.shape[1] - tested, f"the {counted(tested, 'column')} tested ({how})."
    columns += f" {counted(untested, 'column')} had too few missing or observed values to test." if untested else ""
    if not len(differing):
        return [*said, f"No dependence of missingness on the cluster was found in {columns}"]
    named = []
    for j in differing[:NAMED]:
        rates = missing.rates[:, j]
        each = [f"in {rates[k]:.0%} of cluster {k}" for k in (rates.argmin(), rates.argmax())]
        named.append(f"{missing.names[j]} ({found.columns[j].unseen} {each[0]}, {each[1]})")
    return [
        *said,
        f"Missingness depends on the cluster in {len(differing)} of {columns}",
        f"The clearest differences: {in_series(named)}.",
        "This can be a finding in itself. It also means that values are not missing completely at random.",
    ]


def map_size(found: Findings) -> str:
    """Sentence that says what a cell of the missingness map represents."""
    missing = found.missingness
    n, p = found.seen.shape
    rows, columns = missing.bands.shape
    if (rows, columns) == (n, p):
        return "Each cell is one value of the table."
    tall = f"up to {int(np.diff(missing.rows).max()):,} rows of one cluster" if rows < n else "a row"
    wide = f"up to {int(np.diff(missing.columns).max()):,} columns" if columns < p else "a column"
    return f"The table is too large to draw every value: a cell is {tall} by {wide}, shaded by the fraction observed."


def missing_columns(found: Findings) -> list[dict[str, Any]]:
    """One line of the table of missing values per column, clearest differences first."""
    missing = found.missingness
    most = max(NAMED, min(LISTED, MOST_CELLS // max(found.n_clusters, 1)))
    order = np.argsort(np.nan_to_num(missing.p_values, nan=2.0), kind="stable")[:most]
    return [
        {
            "feature": missing.names[j],
            "whole": float(1 - found.seen[:, j].mean()),
            "rates": missing.rates[:, j].tolist(),
            "p_value": None if np.isnan(missing.p_values[j]) else float(missing.p_values[j]),
        }
        for j in order
    ]
