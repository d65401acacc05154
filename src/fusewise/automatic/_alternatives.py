"""How sure a result is: its stability, and other numbers of clusters that were compared.

The criterion is a sum over rows, less a penalty. The difference of two candidates has the standard error

    sqrt(N) * standard deviation over the rows of (what a row adds to one - what it adds to the other)

(Vuong, 1989): in another sample of the table the difference could be smaller or larger by as much. A number of clusters
is nearly as good as the chosen one if it falls short by no more than `NEARLY` of these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fusewise.automatic._choice import Choice
from fusewise.automatic._choosing import clusters_of
from fusewise.automatic._classes import class_explained
from fusewise.automatic._comparison import NEARLY, Candidate, Placed, Searched, explained
from fusewise.automatic._hints import Hints, place
from fusewise.automatic._mixture import Mixture
from fusewise.automatic._rows import Rows, prior_variances
from fusewise.automatic._sample import shares_of_copies, worth_of_rows
from fusewise.automatic._search import TreeSearch
from fusewise.kernels import Labels, Real
from fusewise.observations import InMemory, Table
from fusewise.progress import silent
from fusewise.support import Number, NumberArray, PositionArray, Record, Rule, counted, readable


@dataclass(frozen=True, eq=False, repr=False)
class Alternative(Record):
    """Another number of clusters that the data nearly support.

    Attributes
    ----------
    n_clusters : the number.
    gain : its criterion minus that of the result, in nats; negative if it falls short.
    error : standard error of the gain over samples of the rows.
    per_row : the gain divided by the number of rows compared.
    labels : cluster of each row, largest cluster first; -1 for outliers and rows with nothing observed.
    """

    n_clusters: int
    gain: float
    error: float
    per_row: float
    labels: Labels

    _rules: ClassVar = {
        "n_clusters": Number(size="K"),
        "gain": Number(),
        "error": Number(low=0),
        "per_row": Number(),
        "labels": PositionArray("N", below="K", low=-1),
    }

    @property
    def sizes(self) -> list[int]:
        """Rows in each cluster."""
        return [int(n) for n in np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters)]

    def __repr__(self) -> str:
        how = f"{readable(abs(self.gain))} {'short' if self.gain < 0 else 'better'}"
        sizes = ", ".join(f"{n:,}" for n in self.sizes)
        number = counted(self.n_clusters, "cluster")
        return f"Alternative({number} of {sizes} rows: {how} ± {readable(self.error)}, {abs(self.per_row):.2g} per row)"


#: Mean Jaccard similarity from which a cluster is called so (Hennig, 2008; documentation of ``fpc::clusterboot``).
GRADES = ((0.85, "highly stable"), (0.75, "stable"), (0.6, "doubtful"), (0.0, "not stable"))


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Record):
    """How stable the clusters of a model are.

    Attributes
    ----------
    clusters : K, the mean over the draws of the largest Jaccard similarity ``|A ∩ B| / |A ∪ B|`` of a cluster A,
        reduced to the rows drawn, with a cluster B of the new fit. From 0.85 a cluster is highly stable, from 0.75
        stable; below 0.6 it should not be trusted.
    rows : N, the share of the draws in which a row was in the cluster most similar to its own, or for an outlier, in
        none. NaN for rows that were never drawn.
    confidence : N, the mean over the draws of the probability that the new fit gives to a row's own cluster (for an
        outlier, 1 where it is one again). It knows the uncertainty of the clusters themselves, which the model's own
        probabilities take for granted. NaN for rows that were never drawn.
    n_clusters : how often each number of clusters was found, the most frequent first.
    n_draws : number of draws.
    hidden : share of the observed entries that was hidden in each draw.
    """

    clusters: Real
    rows: Real
    confidence: Real
    n_clusters: dict[int, int]
    n_draws: int
    hidden: float

    _rules: ClassVar = {
        "clusters": NumberArray("K", finite=False),
        "rows": NumberArray("N", finite=False),
        "confidence": NumberArray("N", finite=False),
        "n_clusters": Rule(),
        "n_draws": Number(low=1, whole=True),
        "hidden": Number(low=0),
    }

    @property
    def grades(self) -> list[str]:
        """Each cluster in words."""
        words = [[word for least, word in GRADES if value >= least] for value in self.clusters]
        return [word[0] if word else "never drawn" for word in words]

    def __repr__(self) -> str:
        numbers = ", ".join(f"{k} in {often}" for k, often in self.n_clusters.items())
        lines = [f"Stability over {counted(self.n_draws, 'draw')} (clusters found: {numbers})"]
        each = zip(self.clusters, self.grades, strict=True)
        return "\n".join([*lines, *(f"  cluster {k}: {value:.2f}, {word}" for k, (value, word) in enumerate(each))])

    def _repr_html_(self) -> str:
        each = enumerate(zip(self.clusters, self.grades, strict=True))
        lines = "".join(f"<tr><td>{k}</td><td>{value:.2f}</td><td>{word}</td></tr>" for k, (value, word) in each)
        head = "<tr><th>cluster</th><th>stability</th><th></th></tr>"
        return f"<p>{repr(self).splitlines()[0]}</p><table><thead>{head}</thead><tbody>{lines}</tbody></table>"


@dataclass(frozen=True)
class Cut:
    """The best partition into two or more groups, where the result is a single cluster."""

    sizes: tuple[int, ...]  # rows in each group, smallest first, of those that were compared
    short: float  # by how many nats its criterion falls short of a single cluster
    joined: bool  # whether its criterion is better, but its groups have no valley of low density between them
    n_rows: int  # rows that were compared


def best_cut(choice: Choice) -> Cut | None:
    """The cut that comes closest, if the result is one cluster; None if it is not, or if nothing else was compared."""
    if choice.n_clusters > 1 or len(choice.criteria) < 2:
        return None
    best = 1 + int(np.argmax(choice.criteria[1:]))
    sizes = np.bincount(choice.partitions[best])
    short = choice.criteria[0] - choice.criteria[best]
    return Cut(tuple(sorted(int(n) for n in sizes)), short, choice.chosen > 0, len(choice.rows))


def nearly_as_good(choice: Choice, table: Table, hints: Hints, *, told: bool) -> list[tuple[Choice, float, float]]:
    """Other candidates as if they had been chosen, with gain and its standard error, the best of each number first.

    Candidates that cannot obey the hints are left out. Components without a valley between them are joined, unless the
    number of clusters was told.
    """
    rows = np.flatnonzero(table.row_counts > 0)[choice.rows]
    sample, known = choice.classifier.placed(table.take(rows)), hints.among(rows)
    ours = _explained(choice, choice.chosen, sample)
    found: dict[int, tuple[Choice, float, float]] = {}
    order = sorted(range(len(choice.criteria)), key=lambda k: -choice.criteria[k])
    for k in (k for k in order if k != choice.chosen):
        gain = choice.criteria[k] - choice.criteria[choice.chosen]
        error = float(np.sqrt(len(ours)) * np.std(_explained(choice, k, sample) - ours))
        fits = place(np.zeros((hints.n_blocks, choice.mixtures[k].n_components)), hints.conflicts) is not None
        if gain < -NEARLY * error or not fits:
            continue
        other = _as_if_chosen(choice, k, sample, known, told=told)
        if other.n_clusters != choice.n_clusters:
            found.setdefault(other.n_clusters, (other, gain, error))
    return list(found.values())


def _explained(choice: Choice, k: int, sample: InMemory) -> Real:
    """What each row adds to the criterion of a candidate."""
    mixture = choice.mixtures[k]
    if not isinstance(mixture, Mixture):
        return class_explained(sample, mixture)
    if sample.is_complete:
        labels = choice.partitions[k]
        return np.asarray(mixture.log_densities(choice.evidence.judged)[0][np.arange(len(labels)), labels])
    return explained(choice.evidence.judged, mixture)


def _as_if_chosen(choice: Choice, k: int, sample: InMemory, hints: Hints, *, told: bool) -> Choice:
    """The result that another candidate would have given."""
    rows = Rows.of(choice.evidence, prior_variances(choice.subspace, choice.evidence))
    candidates = tuple(map(Candidate, choice.partitions, choice.mixtures, choice.criteria))
    found = Searched(Placed(choice.subspace, rows, choice.tree), candidates, k)
    n_clusters = int(choice.partitions[k].max()) + 1 if told else None
    worth = worth_of_rows(shares_of_copies(sample))
    search = TreeSearch(sample, sample, (), 1.0, 1.0, n_clusters, silent, worth, hints, hints)
    mixture, clusters = clusters_of(search, found)
    return replace(choice, chosen=k, mixture=mixture, clusters=clusters)
