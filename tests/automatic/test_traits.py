"""Classes with a trait: tied probabilities and loadings by other routes, and when the evidence prefers them."""

from math import comb

import numpy as np
import pytest
from scipy import integrate
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering
from fusewise.automatic.choosing import choose
from fusewise.automatic.coordinates.level_blocks import LevelBlock
from fusewise.automatic.models.columnwise import ColumnMixture
from fusewise.automatic.models.joined import Joined
from fusewise.automatic.models.tilted_levels import TiltedLevels
from fusewise.automatic.models.traits import _choice_cost, fit_traits, nodes
from fusewise.observations import Entries
from fusewise.saving import load

LEVELS = (LevelBlock(0, 3), LevelBlock(3, 5))


def softmax(heights):
    odds = np.exp(heights - heights.max(axis=-1, keepdims=True))
    return odds / odds.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("n_traits", [1, 2])
def test_nodes_are_a_coarse_standard_normal_law(n_traits):
    places, weights = nodes(n_traits)
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(weights @ places, 0, atol=1e-12)
    np.testing.assert_allclose((places * weights[:, None]).T @ places, np.eye(n_traits), atol=0.2)


def test_tilted_levels_come_back_from_the_counts_they_expect():
    """Two classes, a column of three levels and one of two, and so many rows that priors do not matter."""
    rng = np.random.default_rng(0)
    places, weights = nodes(1)
    own, slopes = rng.normal(size=(2, 5)), rng.normal(size=5)
    chances = np.empty((2, len(places), 5))
    for begin, end, *_ in LEVELS:
        chances[..., begin:end] = softmax(own[:, None, begin:end] + places * slopes[begin:end])
    sizes = 1e5 * np.array([0.3, 0.7])[:, None] * weights
    counts = chances * sizes[..., None]
    fit = TiltedLevels.of(counts.sum(axis=(0, 1)) / 1e5, LEVELS, places)
    for _ in range(60):
        _, n_kept = fit.fit(counts, select=True)
    np.testing.assert_allclose(fit.means, chances, atol=1e-3)
    assert n_kept == 2


def test_slopes_cost_what_integrating_them_out_loses():
    """One class and one column of two levels: the integral over both slopes, on a grid."""
    places, weights = nodes(1)
    tilt = softmax(np.column_stack([np.zeros(5), 0.3 + 0.8 * places[:, 0]]))
    counts = np.round(60 * weights[:, None] * tilt)[None]
    middle = counts.sum(axis=(0, 1)) / counts.sum()
    fit = TiltedLevels.of(middle, (LevelBlock(0, 2),), places)
    for _ in range(60):
        cost, _ = fit.fit(counts, select=False)

    def log_joint(slopes):
        chances = softmax(fit.logits + places * slopes)
        return np.sum(counts[0] * np.log(chances)) - 0.5 * slopes @ slopes - np.log(2 * np.pi)

    best = np.sum(counts * np.log(fit.means))
    area, _ = integrate.dblquad(lambda a, b: np.exp(log_joint(np.array([a, b])) - best), -5, 5, -5, 5)
    assert cost == pytest.approx(-np.log(area), abs=0.1)  # one class has the shares of the column, at no cost


def test_a_column_that_does_not_follow_the_trait_has_no_slopes():
    places, weights = nodes(1)
    counts = 200 * weights[:, None] * np.array([0.3, 0.7])
    fit = TiltedLevels.of(np.array([0.3, 0.7]), (LevelBlock(0, 2),), places)
    cost, n_kept = fit.fit(counts[None], select=True)
    assert (cost, n_kept) == (pytest.approx(0), 0)
    np.testing.assert_array_equal(fit.slopes, 0)


def test_the_choice_of_columns_costs_the_number_of_choices():
    for n, k in ((7, 0), (7, 3), (60, 60)):
        assert _choice_cost(k, n) == pytest.approx(np.log((n + 1) * comb(n, k)))


def test_numbers_follow_the_trait_by_their_loadings():
    """What is left within a component is the noise, and the steps between nodes are the loadings."""
    rng = np.random.default_rng(1)
    y, z = rng.integers(2, size=3000), rng.normal(size=3000)
    loadings, centers = np.array([0.9, -0.6, 0.0, 0.8]), np.array([[2.0, 1.0, 0.0, 0.0], [-2.0, 0.0, 1.0, 0.0]])
    x = centers[y] + np.outer(z, loadings) + 0.5 * rng.normal(size=(3000, 4))
    x -= x.mean(axis=0)
    values = np.column_stack([x, np.eye(2)[(rng.random(3000) < 0.3 + 0.4 * y).astype(int)]])
    found = fit_traits(Entries(values, np.ones(values.shape, bool)), np.eye(2)[y], 60, (LevelBlock(4, 6),), 1e-3, 1)
    means = found.parts.means[:, :4].reshape(2, -1, 4)
    steps = np.diff(means, axis=1)
    np.testing.assert_allclose(np.abs(steps[0, 0]), np.abs(loadings), atol=0.12)
    np.testing.assert_allclose(steps, np.broadcast_to(steps[0, 0], steps.shape), atol=1e-9)
    # nodes a deviation apart leave some of the trait in the noise, and a Student's law for normal noise takes some away
    assert np.all((found.parts.variances[:, :4] > 0.15) & (found.parts.variances[:, :4] < 0.36))
    assert found.n_components == 2


def by_degrees(rng, n, n_classes, n_columns=24, strength=1.0):
    """Answers of classes that also follow a trait of the row, yes or no in each column."""
    y, z = rng.integers(n_classes, size=n), rng.normal(size=n)
    logits = 1.5 * rng.normal(size=(n_classes, n_columns))[y] + strength * np.outer(z, rng.normal(size=n_columns))
    return (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(int), y


def encoded(cells):
    values = np.hstack([np.eye(2)[column] for column in cells.T])
    levels = tuple(LevelBlock(2 * j, 2 * j + 2) for j in range(cells.shape[1]))
    return Entries(values, np.ones(values.shape, bool)), levels


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_rows_that_differ_by_degrees_are_not_cut(n_classes):
    cells, y = by_degrees(np.random.default_rng(n_classes), 500, n_classes)
    table, levels = encoded(cells)
    choice = choose(table, levels=levels)
    assert choice.n_clusters == n_classes
    assert isinstance(choice.clusters, Joined)
    assert adjusted_rand_score(y, choice.classify(table).labels) > 0.8


def test_classes_alone_where_rows_do_not_differ_by_degrees():
    cells, y = by_degrees(np.random.default_rng(5), 600, 3, strength=0.0)
    table, levels = encoded(cells)
    choice = choose(table, levels=levels)
    assert choice.n_clusters == 3
    assert isinstance(choice.clusters, ColumnMixture)
    assert adjusted_rand_score(y, choice.classify(table).labels) > 0.8


def test_given_their_number_classes_may_have_a_trait_too():
    cells, y = by_degrees(np.random.default_rng(2), 500, 2)
    table, levels = encoded(cells)
    choice = choose(table, levels=levels, n_clusters=2)
    assert isinstance(choice.clusters, Joined)
    assert adjusted_rand_score(y, choice.classify(table).labels) > 0.8
    assert choose(table, levels=levels, n_clusters=5).n_clusters == 5


def test_a_model_with_a_trait_predicts_obeys_hints_and_is_saved(tmp_path):
    cells, _ = by_degrees(np.random.default_rng(2), 400, 2)
    X = cells.astype(float)
    X[::7, ::5] = np.nan
    model = FusionClustering(categorical_features=list(range(X.shape[1])), random_state=0)
    model.fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1)
    model.save(tmp_path / "model.fusewise")
    np.testing.assert_array_equal(load(tmp_path / "model.fusewise").predict(X), model.labels_)
    one, other = np.flatnonzero(model.labels_ == 0)[:2]
    apart = np.flatnonzero(model.labels_ == 1)[0]
    hinted = model.fit(X, must_link=[(one, apart)], cannot_link=[(one, other)]).labels_
    assert hinted[one] == hinted[apart] != hinted[other]


def test_ctrl_c_among_traits_leaves_the_classes():
    cells, _ = by_degrees(np.random.default_rng(2), 400, 2)
    table, levels = encoded(cells)

    def progress(stage, *_args, **_details):
        if "trait" in stage:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="without traits"):
        choice = choose(table, levels=levels, progress=progress)
    assert choice.interrupted
    assert choice.n_clusters > 1
    assert isinstance(choice.clusters, ColumnMixture)
