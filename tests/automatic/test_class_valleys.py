"""Classes that neither numbers nor categories tell apart."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln

from fusewise import FusionClustering
from fusewise.automatic.coordinates.level_blocks import LevelBlock
from fusewise.automatic.judging.class_valleys import alike_classes, told_apart
from fusewise.automatic.models.columnwise import fit_columns
from fusewise.automatic.models.joined import Joined
from fusewise.automatic.models.level_shares import PSEUDO_ENTRIES
from fusewise.automatic.search.searching import TreeSearch
from fusewise.observations import Entries

#: Two numbers and a category of three levels.
LEVELS = (LevelBlock(2, 5),)


def table_of(numbers, level):
    X = np.zeros((len(numbers), 5))
    X[:, :2], X[np.arange(len(numbers)), 2 + level] = numbers, 1.0
    return Entries(X, np.ones(X.shape, bool))


def halves(apart, levels_differ, n=400, seed=0):
    """Two normal groups so far apart, with the same shares of levels or others; and the classes that they are."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    numbers = rng.standard_normal((n, 2)) + apart * y[:, None] * [1, 0]
    shares = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6] if levels_differ else [0.6, 0.3, 0.1]])
    level = (rng.random(n)[:, None] > shares.cumsum(axis=1)[y][:, :2]).sum(axis=1)
    table = table_of(numbers, level)
    return table, fit_columns(table, np.eye(2)[y], 1, LEVELS)


@pytest.mark.parametrize(
    ("apart", "levels_differ", "alike"),
    [(1.0, False, True), (6.0, False, False), (1.0, True, False), (6.0, True, False)],
)
def test_both_must_be_alike(apart, levels_differ, alike):
    table, classes = halves(apart, levels_differ)
    assert bool(alike_classes(table, classes, 12)) == alike


def test_the_evidence_of_levels():
    """By the formula of the Dirichlet-multinomial distribution, with the smoothing that has most evidence."""
    rng = np.random.default_rng(0)
    level, y = rng.integers(3, size=90), np.arange(90) % 2
    level[y == 0] = np.minimum(level[y == 0], 1)
    counts = np.array([[np.sum((level == each) & (y == k)) for each in range(3)] for k in range(2)])
    base = counts.sum(axis=0) / 90

    def log_p(rows):
        finite = [
            sum(gammaln(a) - gammaln(a + n.sum()) + np.sum(gammaln(a * base + n) - gammaln(a * base)) for n in rows)
            for a in PSEUDO_ENTRIES
        ]
        return max(*finite, float(np.sum(rows * np.log(base))))  # a may be infinite

    expected = log_p(counts) - log_p(counts.sum(axis=0, keepdims=True))
    X = np.eye(3)[level]
    found = told_apart(Entries(X, np.ones(X.shape, bool)), (LevelBlock(0, 3),), np.eye(2)[y])
    assert found == pytest.approx(expected)
    assert found > 0


def test_tables_without_numbers_have_no_valleys():
    X = np.eye(3)[np.arange(60) % 3]
    table = Entries(X, np.ones(X.shape, bool))
    assert alike_classes(table, fit_columns(table, np.eye(3)[np.arange(60) % 3], 1, (LevelBlock(0, 3),)), 12) == []


def frame_of(numbers, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(numbers, columns=[f"x{j}" for j in range(numbers.shape[1])])
    return frame.assign(**{name: rng.choice(["low", "mid", "high"], size=len(frame)) for name in "abc"})


def test_flat_numbers_are_mostly_one_cluster(monkeypatch):
    frames = [frame_of(np.random.default_rng(seed).random((300, 2)), seed) for seed in range(6)]
    now = [FusionClustering(random_state=0).fit(frame).n_clusters_ for frame in frames]
    assert now.count(1) >= 5
    monkeypatch.setattr(TreeSearch, "alike", lambda *_, **__: [])
    assert [FusionClustering(random_state=0).fit(frame).n_clusters_ for frame in frames].count(1) <= 1


@pytest.mark.parametrize("seed", range(2))
def test_long_tails_are_one_cluster(seed, monkeypatch):
    frame = frame_of(np.random.default_rng(seed).standard_t(3, size=(1000, 6)), seed)
    now = FusionClustering(random_state=0).fit(frame)
    assert now.n_clusters_ == 1
    monkeypatch.setattr(TreeSearch, "alike", lambda *_, **__: [])
    assert FusionClustering(random_state=0).fit(frame).n_clusters_ > 1


def test_a_given_number_is_kept():
    frame = frame_of(np.random.default_rng(0).random((300, 2)), 0)
    assert FusionClustering(n_clusters=2, random_state=0).fit(frame).n_clusters_ == 2


def test_joined_classes_are_whole():
    """Labels, probabilities and alternatives of classes that were joined."""
    frame = frame_of(np.random.default_rng(0).random((300, 2)), 0)
    model = FusionClustering(random_state=0).fit(frame)
    assert isinstance(model.path_.clusters, Joined)
    assert model.n_clusters_ == 1 < model.path_.clusters.parts.n_components
    assert (model.predict(frame) == 0).mean() > 0.98
    np.testing.assert_allclose(model.predict_proba(frame), 1)
    assert all(other.n_clusters > 1 for other in model.alternatives())
