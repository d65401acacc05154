"""The criterion: what it is on complete tables, and that it charges for overlap but not for holes."""

import numpy as np
import pytest
from scipy import stats

from fusewise.automatic._classes import ROWS, class_criterion
from fusewise.automatic._columns import fit_columns
from fusewise.automatic._comparison import CERTAIN, criterion, foreseen
from fusewise.automatic._evidence import Evidence
from fusewise.automatic._mixture import TAIL, Mixture, enough_gain, fit_groups
from fusewise.observations import as_entries
from fusewise.subspace import Subspace

P = 6


def space(noise=1e-4):
    return Subspace(np.zeros(P), np.eye(P), np.ones(P), noise)


def two_groups(distance, hidden, n=200, seed=0):
    """Two Gaussian groups with centres a distance apart, on entries of which a part is hidden."""
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], n // 2)
    X = rng.normal(size=(n, P)) + labels[:, None] * distance / np.sqrt(P)
    X[rng.uniform(size=X.shape) < hidden] = np.nan
    evidence = Evidence.of(space(), as_entries(X))
    return evidence, labels


def fitted(evidence, labels, family="scale"):
    return fit_groups(evidence, labels, np.eye(P), np.eye(P), family)


def penalty(evidence, mixture):
    """Half a log N for every parameter, a log N for every cut."""
    return (0.5 * mixture.complexity + mixture.n_components - 1) * np.log(evidence.shape[0])


def entropy(evidence, mixture):
    """What the criterion charges beyond the likelihood of the mixture and the count of its parameters."""
    likelihood = np.logaddexp.reduce(mixture.log_densities(evidence)[0], axis=1).sum()
    found = criterion(evidence, mixture, complete=False)
    return likelihood - penalty(evidence, mixture) - found


def posterior_entropy(v, mixture):
    """H(label | v) of each row of whole coordinates, by SciPy's multivariate t."""
    components = zip(mixture.shares, mixture.means, mixture.spreads, strict=True)
    scores = np.column_stack([np.log(s) + stats.multivariate_t.logpdf(v, m, C, df=TAIL) for s, m, C in components])
    return stats.entropy(np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None]), axis=1)


@pytest.mark.parametrize("family", ["scale", "full"])
def test_on_a_complete_table_it_is_the_classification_likelihood(family):
    evidence, labels = two_groups(2.0, 0.0)
    mixture = fitted(evidence, labels, family)
    found = criterion(evidence, mixture, complete=True)
    own = mixture.log_densities(evidence)[0][np.arange(len(labels)), labels].sum()
    assert found == pytest.approx(own - penalty(evidence, mixture))


@pytest.mark.parametrize("hidden", [0.0, 0.5])
def test_one_group_leaves_no_doubt(hidden):
    evidence, labels = two_groups(2.0, hidden)
    mixture = fitted(evidence, 0 * labels)
    expected = mixture.log_densities(evidence)[0].sum() - penalty(evidence, mixture)
    for complete in (True, False):
        assert criterion(evidence, mixture, complete=complete) == pytest.approx(expected)


@pytest.mark.parametrize("hidden", [0.0, 0.3, 0.6, 0.85])
def test_overlap_costs_the_more_the_larger_it_is(hidden):
    costs = [entropy(evidence, fitted(evidence, labels))
             for evidence, labels in (two_groups(d, hidden, n=400) for d in (0.5, 2.5, 5.0, 10.0))]  # fmt: skip
    assert np.all(np.diff(costs) < 0)
    assert costs[0] > 0.3 * 400  # of log 2 = 0.69 for a row that could be either
    assert np.all(np.array(costs) <= 400 * np.log(2))


def test_entropy_of_rows_seen_whole_is_that_of_student_posteriors():
    # Noise of 1e-8: the coordinates drawn are those seen, and SciPy's multivariate t gives the posterior.
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, P))
    X[:40] += 1.0
    evidence = Evidence.of(space(1e-8), as_entries(X))
    mixture = fitted(evidence, (np.arange(100) >= 40).astype(np.intp), "full")
    expected, left_out = posterior_entropy(X, mixture).sum(), CERTAIN * enough_gain(100)
    assert 0.999 * expected - left_out < entropy(evidence, mixture) < 1.001 * expected


def test_rows_with_nothing_seen_have_the_entropy_of_the_mixture():
    # E[H(label | v)], v drawn from the Gaussian components: 20 000 rows against 100 000 draws, five standard errors.
    rng = np.random.default_rng(0)
    n, draws = 20_000, 100_000
    means = np.array([[0.0] * P, [0.8] * P])
    spreads = np.array([np.eye(P), np.diag(np.arange(1.0, P + 1))])
    mixture = Mixture(means, spreads, np.array([0.3, 0.7]), "full", 0.0, 0.0)
    evidence = Evidence.of(space(), as_entries(np.full((n, P), np.nan)))
    k = (rng.uniform(size=draws) > 0.3).astype(int)
    v = means[k] + np.sqrt(np.array([np.diag(s) for s in spreads]))[k] * rng.normal(size=(draws, P))
    expected = posterior_entropy(v, mixture)
    error = expected.std() * np.sqrt(1 / n + 1 / draws)
    assert entropy(evidence, mixture) / n == pytest.approx(expected.mean(), abs=5 * error)


def test_rows_that_stand_for_two_count_as_if_they_were_repeated():
    """But for half a nat for each parameter, by which fitting raises the likelihood of the rows it is fitted to."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 20)
    X = np.where(rng.random((40, 3)) < 0.2, np.nan, rng.normal(size=(40, 3)) + 3 * labels[:, None])
    mixture = fit_columns(as_entries(X), np.eye(2)[labels], 1)
    twice = class_criterion(as_entries(np.vstack([X, X])), mixture)
    assert class_criterion(as_entries(X), mixture, worth=2) == pytest.approx(
        twice - mixture.complexity / 2 / (1 + 80 / ROWS)
    )


@pytest.mark.parametrize("worth", [0.5, 1.0, 3.0])
def test_what_more_rows_would_have_is_foreseen(worth):
    """As many times the likelihood, but for half a nat for each parameter, and the logarithm of as many rows."""
    evidence, labels = two_groups(4.0, 0.0)
    mixture = fitted(evidence, labels)
    judged = criterion(evidence, mixture, complete=True, worth=worth)
    later = criterion(evidence, mixture, complete=True, worth=4 * worth)
    by_chance = max(4 * worth - 1, 0) * mixture.complexity / 2
    by_hand = 4 * worth * mixture.fit - by_chance - (mixture.complexity / 2 + 1) * np.log(800 * worth)
    assert foreseen(judged, mixture, 200, worth, times=4) == pytest.approx(later) == pytest.approx(by_hand)
