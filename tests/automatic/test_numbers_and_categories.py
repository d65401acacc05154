"""Classes whose numbers are related: their densities by another route, and when they take the place of others."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_t
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import fusewise
from fusewise import FusionClustering, FusionImputer
from fusewise.automatic import choosing
from fusewise.automatic.coordinates.axes import fit_axes
from fusewise.automatic.coordinates.level_blocks import LevelBlock
from fusewise.automatic.models.clusters import AlongAxes
from fusewise.automatic.models.columnwise import ColumnMixture, fit_columns
from fusewise.automatic.models.mixture import Mixture
from fusewise.automatic.models.numbers_and_categories import (
    NumbersAndCategories,
    moved_together,
    taken_apart,
)
from fusewise.automatic.models.spreads import TAIL
from fusewise.automatic.search import related_numbers
from fusewise.automatic.search.searching import TreeSearch
from fusewise.observations import Entries
from fusewise.views.findings import read_findings
from fusewise.views.report.provenance import convergence

#: Two numbers, three levels, one number, two levels.
LEVELS = (LevelBlock(2, 5), LevelBlock(6, 8))
NUMBERS = [0, 1, 5]


def some_rows(n=400, seed=0):
    """Numbers and levels of three groups, the levels 1 or 0."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = np.zeros((n, 8))
    X[:, NUMBERS] = rng.standard_normal((n, 3)) + np.array([[0, 0, 0], [3, 0, 1], [0, 3, -1]])[y]
    X[np.arange(n), 2 + (y + (rng.random(n) < 0.2)) % 3] = 1
    X[np.arange(n), 6 + (rng.random(n) < 0.3)] = 1
    return X, y


def model_of(X, y):
    table = Entries(X, np.ones(X.shape, bool))
    numbers, others = taken_apart(table, LEVELS)
    rng = np.random.default_rng(1)
    turned = rng.standard_normal((3, 3, 3))
    spreads = 0.5 * np.eye(3) + 0.1 * turned @ turned.transpose(0, 2, 1)
    mixture = Mixture(rng.standard_normal((3, 3)), spreads, np.array([0.5, 0.3, 0.2]), "full", 0.0, 1.0)
    categories = fit_columns(others, np.eye(3)[y], 1, moved_together(LEVELS))
    return NumbersAndCategories(AlongAxes(fit_axes(numbers, 3), mixture), categories, LEVELS, 10.0), table


@pytest.fixture(scope="module")
def example():
    return model_of(*some_rows())


def shares_of_levels(model, block):
    """q of one category, K x levels."""
    start, stop = moved_together(LEVELS)[block][:2]
    means = model.categories.means[:, start:stop]
    return means / means.sum(axis=1, keepdims=True)


class TestDensities:
    def test_a_product_of_two(self, example):
        """Against SciPy's density of the numbers, and the probability of each row's levels."""
        model, table = example
        subspace, mixture = model.numbers.subspace, model.numbers.mixture
        expected = np.empty((len(table.values), 3))
        for k in range(3):
            # all three dimensions are axes: the numbers are the coordinates, but for the noise
            middle = subspace.mean + subspace.basis @ mixture.means[k]
            spread = subspace.basis @ mixture.spreads[k] @ subspace.basis.T + np.diag(subspace.noises)
            of_numbers = multivariate_t(middle, spread, TAIL).logpdf(table.values[:, NUMBERS])
            of_levels = [np.log(shares_of_levels(model, b)[k, table.values[:, s:e].argmax(axis=1)])
                         for b, (s, e, _) in enumerate(LEVELS)]  # fmt: skip
            expected[:, k] = np.log(mixture.shares[k]) + of_numbers + sum(of_levels)
        np.testing.assert_allclose(model.log_densities(table)[0], expected, atol=0.05)

    def test_missing_levels_say_nothing(self, example):
        model, table = example
        mask = table.mask.copy()
        mask[:, 2:5] = mask[:, 6:8] = False
        bare = Entries(np.where(mask, table.values, 0), mask)
        numbers, _ = taken_apart(table, LEVELS)
        np.testing.assert_allclose(model.log_densities(bare)[0], model.numbers.log_densities(numbers)[0], rtol=1e-12)

    def test_missing_numbers_say_nothing(self, example):
        model, table = example
        mask = table.mask.copy()
        mask[:, NUMBERS] = False
        bare = Entries(np.where(mask, table.values, 0), mask)
        found = model.log_densities(bare)[0]
        levels = np.log(shares_of_levels(model, 0)[:, bare.values[:, 2:5].argmax(axis=1)]).T
        levels = levels + np.log(shares_of_levels(model, 1)[:, bare.values[:, 6:8].argmax(axis=1)]).T
        apart = found - levels - np.log(model.shares)
        np.testing.assert_allclose(apart, np.repeat(apart[:, :1], 3, axis=1), atol=1e-6)


class TestTheRest:
    def test_some_of_the_components(self, example):
        model, table = example
        few = model.only(np.array([0, 2]))
        whole = model.log_densities(table)[0][:, [0, 2]]
        np.testing.assert_allclose(few.log_densities(table)[0], whole - np.log(0.7), rtol=1e-9)
        np.testing.assert_allclose(few.centers, model.centers[[0, 2]])

    def test_what_is_expected_of_missing_entries(self, example):
        model, _ = example
        blank = Entries(np.zeros((1, 8)), np.zeros((1, 8), bool))
        found = model.completed(blank, model.shares[None])
        np.testing.assert_allclose(found[0], model.shares @ model.centers, rtol=1e-6)

    def test_rows_drawn_are_those_of_the_model(self, example):
        """Of rows without entries: shares of components, levels of each, and relations of numbers."""
        model, _ = example
        n = 60_000
        blank = Entries(np.zeros((n, 8)), np.zeros((n, 8), bool))
        drawn = model.drawn(blank, np.ones(8), np.random.default_rng(0))
        for start, stop, _ in LEVELS:
            assert (drawn[:, start:stop] > 0).sum(axis=1).tolist() == [1] * n
        expected = model.shares @ shares_of_levels(model, 0)
        np.testing.assert_allclose((drawn[:, 2:5] > 0).mean(axis=0), expected, atol=0.01)
        np.testing.assert_allclose(drawn[:, NUMBERS].mean(axis=0), model.shares @ model.centers[:, NUMBERS], atol=0.05)
        # numbers and levels of one row are of one component
        level = drawn[:, 2:5].argmax(axis=1)
        joint = model.shares[:, None] * shares_of_levels(model, 0)
        means = (joint / joint.sum(axis=0)).T @ model.centers[:, NUMBERS]
        np.testing.assert_allclose([drawn[level == k][:, NUMBERS].mean(axis=0) for k in range(3)], means, atol=0.08)

    def test_forged_files_are_refused(self, example):
        model, _ = example
        with pytest.raises(ValueError, match="not the 5 columns of categories"):
            replace(model, levels=LEVELS[:1])
        with pytest.raises(ValueError, match="not the 5 columns of categories"):
            replace(model, levels=(LevelBlock(2, 5), LevelBlock(3, 5)))
        with pytest.raises(ValueError, match="levels are not columns"):
            replace(model, levels=(LevelBlock(2, 5), LevelBlock(7, 9)))


def related(n, seed, groups=1, apart=0.0, strength=0.8):
    """Six numbers that vary together along two factors, and four categories that depend on the group alone."""
    rng = np.random.default_rng(seed)
    y = rng.integers(groups, size=n)
    factors = rng.standard_normal((2, 6))
    factors /= np.linalg.norm(factors, axis=0)
    X = np.sqrt(strength) * rng.standard_normal((n, 2)) @ factors + np.sqrt(1 - strength) * rng.standard_normal((n, 6))
    X += apart * rng.standard_normal((groups, 6))[y]
    frame = pd.DataFrame(X, columns=list("uvwxyz"))
    for name in "abcd":
        shares = rng.dirichlet(np.ones(3), size=groups)
        frame[name] = pd.Categorical(np.array(["low", "mid", "high"])[[rng.choice(3, p=shares[k]) for k in y]])
    return frame.mask(rng.random(frame.shape) < 0.1), y


@pytest.fixture(scope="module")
def groups():
    return related(500, 0, 3, 0.6, 0.9)


@pytest.fixture(scope="module")
def model(groups):
    return FusionClustering(random_state=0).fit(groups[0])


def without_relations(monkeypatch):
    monkeypatch.setattr(choosing, "with_related_numbers", lambda _, found, *__: found)


@pytest.mark.parametrize("seed", range(3))
def test_one_normal_distribution_beside_categories_is_one_cluster(seed, monkeypatch):
    frame, _ = related(400, seed)
    assert FusionClustering(random_state=0).fit(frame).n_clusters_ == 1
    without_relations(monkeypatch)
    monkeypatch.setattr(TreeSearch, "alike", lambda *_, **__: [])  # nor are classes joined
    assert FusionClustering(random_state=0).fit(frame).n_clusters_ > 1


@pytest.mark.parametrize("n_clusters", [None, 3])
def test_groups_of_related_numbers(groups, n_clusters, monkeypatch):
    frame, y = groups
    now = FusionClustering(n_clusters=n_clusters, random_state=0).fit(frame)
    assert isinstance(now.path_.clusters, NumbersAndCategories)
    assert now.n_clusters_ == 3
    assert adjusted_rand_score(y, now.labels_) > 0.8
    without_relations(monkeypatch)
    assert adjusted_rand_score(y, FusionClustering(n_clusters=n_clusters, random_state=0).fit(frame).labels_) < 0.7


def test_independent_numbers_are_left_alone():
    frame, y = related(500, 0, 3, 1.5, 0.0)
    found = FusionClustering(random_state=0).fit(frame)
    assert not isinstance(found.path_.clusters, NumbersAndCategories)
    assert adjusted_rand_score(y, found.labels_) > 0.8


class TestTheModelIsWhole:
    def test_it_is_saved(self, groups, model, tmp_path):
        model.save(tmp_path / "model.fusewise")
        again = fusewise.load(tmp_path / "model.fusewise")
        np.testing.assert_array_equal(again.predict(groups[0]), model.predict(groups[0]))
        np.testing.assert_array_equal(again.predict_proba(groups[0]), model.predict_proba(groups[0]))

    def test_new_rows(self, groups, model):
        frame, y = groups
        inside = model.predict(frame) >= 0
        assert inside.mean() > 0.95
        np.testing.assert_array_equal(model.predict(frame), model.labels_)
        assert adjusted_rand_score(y[:100], model.predict(frame[:100])) > 0.8
        assert model.predict_proba(frame).sum(axis=1) == pytest.approx(1.0)

    def test_its_tree_and_coordinates_are_those_of_the_numbers(self, groups, model):
        path = model.path_
        assert path.evidence.shape == (500, path.subspace.rank)
        levels = path.subspace.basis[6:]
        assert not levels.any()
        assert path.places(model.observations_).shape == path.evidence.shape
        assert path.tree.n_points == 500
        assert np.isfinite(model.lam_)

    def test_filled_values_use_the_relations(self, groups):
        """A number that is missing is told by the others of its row."""
        frame, _ = groups
        rng = np.random.default_rng(3)
        hidden = frame["u"].notna() & (rng.random(500) < 0.2)
        given = frame.assign(u=frame["u"].mask(hidden))
        off = given.pipe(FusionImputer(random_state=0).fit_transform)["u"][hidden] - frame["u"][hidden]
        assert np.mean(off**2) < 0.5 * frame["u"].var()

    def test_alternatives_stability_and_hints(self, groups, model):
        frame, y = groups
        assert all(other.n_clusters != 3 for other in model.alternatives())
        assert model.stability(n_draws=3).clusters.min() > 0.6
        known = np.where(np.arange(500) % 10 == 0, y, -1)
        told = FusionClustering(semi_supervised=True, random_state=0).fit(frame, known)
        some = known >= 0
        assert len(np.unique(told.labels_[some] * 3 + known[some])) == 3
        assert adjusted_rand_score(y, told.labels_) > adjusted_rand_score(y, model.labels_) - 0.02

    def test_what_is_said(self, model):
        said = convergence(read_findings(model))[0]
        assert said.endswith(" of the numbers, which are related to each other within clusters.")

    def test_draws(self, groups):
        frame, _ = groups
        draws = list(FusionImputer(random_state=0).fit(frame).sample(frame, n_draws=2, random_state=0))
        assert len(draws) == 2
        for each in draws:
            assert not each.isna().any(axis=None)
            assert set(each["a"]) <= {"low", "mid", "high"}


def test_ctrl_c_keeps_the_classes_found_so_far(groups, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(related_numbers, "fit_numbers_and_categories", stop)
    with pytest.warns(ConvergenceWarning, match="interrupted: this is the best result without relations"):
        found = FusionClustering(random_state=0).fit(groups[0])
    assert not found.converged_
    assert found.n_clusters_ > 1


def test_rows_without_numbers_or_categories():
    frame, _ = related(300, 0, 3, 0.8, 0.9)
    frame.iloc[:20, :6] = np.nan
    frame.iloc[20:40, 6:] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = FusionClustering(random_state=0).fit(frame)
    assert np.isfinite(found.predict_proba(frame)).all()


def test_a_column_mixture_of_levels_alone():
    """The part of the categories is one of its own."""
    X, y = some_rows()
    model, _ = model_of(X, y)
    assert isinstance(model.categories, ColumnMixture)
    assert model.level_cost == model.categories.level_cost
    np.testing.assert_array_equal(np.flatnonzero(model.is_number), NUMBERS)
