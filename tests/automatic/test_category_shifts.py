"""Numbers that differ between the levels of categories: effects against least squares, and when they are taken."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import fusewise
from fusewise import FusionClustering, FusionImputer
from fusewise.automatic.coordinates.axes import fit_axes
from fusewise.automatic.coordinates.level_blocks import LevelBlock
from fusewise.automatic.models.category_shifts import category_shifts, count_effects, shifted
from fusewise.automatic.models.clusters import AlongAxes
from fusewise.automatic.models.columnwise import fit_columns
from fusewise.automatic.models.mixture import Mixture
from fusewise.automatic.models.numbers_and_categories import NumbersAndCategories, taken_apart
from fusewise.automatic.search import related_numbers
from fusewise.observations import Entries

#: Two categories, of two levels and three.
LEVELS = (LevelBlock(0, 2), LevelBlock(2, 5))


def whole(X):
    return Entries(X, np.ones(X.shape, bool))


def rows_with_effects(n=600, seed=0, hidden=0.0):
    """Numbers of three groups: the first depends on one category, the second on both, the third on none."""
    rng = np.random.default_rng(seed)
    y, one, two = rng.integers(3, size=n), rng.integers(2, size=n), rng.integers(3, size=n)
    effects = np.array([[1.0, 0.5, 0], [-1, -0.5, 0], [0, 0, 0], [0, 1, 0], [0, 2, 0]])
    has = np.zeros((n, 5))
    has[np.arange(n), one] = has[np.arange(n), 2 + two] = 1
    X = 4 * rng.standard_normal((3, 3))[y] + has @ effects + rng.standard_normal((n, 3))
    mask = rng.random(X.shape) >= hidden
    return Entries(np.where(mask, X, 0), mask), whole(has), y


def differences(effects):
    """Between each level of a category and its first."""
    return np.concatenate([effects[start:stop] - effects[start] for start, stop, _ in LEVELS])


class TestEffects:
    @pytest.mark.parametrize("hidden", [0.0, 0.3])
    def test_they_are_those_of_least_squares(self, hidden):
        """Against a regression of each number on groups and levels, with all levels at once."""
        numbers, categories, y = rows_with_effects(hidden=hidden)
        found = category_shifts(numbers, categories, LEVELS, y).effects
        for j, involved in enumerate(([0, 1], [0, 1, 2, 3, 4], [])):
            seen = numbers.mask[:, j]
            design = np.hstack([np.eye(3)[y], categories.values[:, involved]])[seen]
            exact = np.zeros(5)
            exact[involved] = np.linalg.lstsq(design, numbers.values[seen, j], rcond=None)[0][3:]
            np.testing.assert_allclose(differences(found[:, j]), differences(exact), atol=0.03)

    def test_the_unit_of_a_level_does_not_matter(self):
        numbers, categories, y = rows_with_effects()
        plain = category_shifts(numbers, categories, LEVELS, y)
        scaled = category_shifts(numbers, whole(0.2 * categories.values), LEVELS, y)
        np.testing.assert_allclose(
            shifted(numbers, categories, plain.effects).values,
            shifted(numbers, whole(0.2 * categories.values), scaled.effects).values,
        )

    @pytest.mark.parametrize("effect", [0.05, 0.1, 0.15, 0.2, 0.3])
    def test_they_are_taken_where_the_bic_is_lower(self, effect):
        """Of one number and one category: n / 2 log(R / R') against (L - 1) / 2 log n, by least squares."""
        rng = np.random.default_rng(3)
        y, has = rng.integers(3, size=600), np.eye(2)[np.arange(600) % 2]
        x = rng.standard_normal(3)[y] + effect * (2 * has[:, 0] - 1) + rng.standard_normal(600)
        designs = np.eye(3)[y], np.hstack([np.eye(3)[y], has])
        left = [np.square(x - each @ np.linalg.lstsq(each, x, rcond=None)[0]).sum() for each in designs]
        gain = 300 * np.log(left[0] / left[1]) - 0.5 * np.log(600)
        assert abs(gain) > 0.3  # not a matter of shrinkage
        found = category_shifts(whole(x[:, None]), whole(has), LEVELS[:1], y)
        assert (found is not None) == (gain > 0)
        assert found is None or found.worth == pytest.approx(gain, rel=0.02, abs=0.1)

    def test_they_average_zero_so_that_a_missing_category_shifts_nothing(self):
        numbers, categories, y = rows_with_effects()
        found = category_shifts(numbers, categories, LEVELS, y).effects
        np.testing.assert_allclose((categories.values @ found).mean(axis=0), 0, atol=0.01)

    def test_they_are_multiples_of_the_step_of_a_column(self):
        numbers, categories, y = rows_with_effects()
        rounded = whole(np.round(numbers.values / 0.25) * 0.25)
        found = category_shifts(rounded, categories, LEVELS, y).effects
        assert found.any()
        np.testing.assert_allclose(found / 0.25, np.round(found / 0.25), atol=1e-9)

    def test_categories_that_say_nothing_have_none(self):
        """Chance is worth the price in a few tables of a hundred, however many columns these have."""
        rng = np.random.default_rng(0)
        for p in (1, 4, 20):
            taken = 0
            for _ in range(50):
                X, has = rng.standard_normal((300, p)), np.eye(2)[rng.integers(2, size=300)]
                taken += category_shifts(whole(X), whole(has), LEVELS[:1], rng.integers(3, size=300)) is not None
            assert taken <= 4

    def test_a_single_cluster_that_shows_an_effect_is_not_enough(self):
        """Two levels in one of two clusters are two clusters; in both of them, they have an effect."""
        rng = np.random.default_rng(0)
        y, has = np.repeat([0, 1], 200), np.eye(2)[np.arange(400) % 2]
        X = rng.standard_normal((400, 2)) + 5 * y[:, None] + has @ [[2.0, 2], [0, 0]]
        both = category_shifts(whole(X), whole(has), LEVELS[:1], y)
        np.testing.assert_allclose(differences(np.vstack([both.effects, np.zeros((3, 2))]))[1], -2, atol=0.3)
        alone = has.copy()
        alone[y == 1] = [0, 1]
        X = rng.standard_normal((400, 2)) + 5 * y[:, None] + alone @ [[2.0, 2], [0, 0]]
        assert category_shifts(whole(X), whole(alone), LEVELS[:1], y) is None
        assert category_shifts(whole(X), whole(alone), LEVELS[:1], np.zeros(400, int)) is not None

    def test_they_are_counted(self):
        numbers, categories, y = rows_with_effects()
        found = category_shifts(numbers, categories, LEVELS, y).effects
        assert count_effects(found, LEVELS) == 1 + (1 + 2)
        assert count_effects(None, LEVELS) == 0


@pytest.fixture(scope="module")
def example():
    """A model with effects, the same without them, and a table: two numbers, then two levels."""
    rng = np.random.default_rng(0)
    X = np.hstack([rng.standard_normal((200, 2)), np.eye(2)[rng.integers(2, size=200)]])
    levels = (LevelBlock(2, 4),)
    numbers, others = taken_apart(whole(X), levels)
    mixture = Mixture(np.array([[0.0, 1], [2, 0]]), np.array([np.eye(2)] * 2), np.array([0.6, 0.4]), "full", 0.0, 1)
    categories = fit_columns(others, np.eye(2)[np.arange(200) % 2], 1, LEVELS[:1])
    plain = NumbersAndCategories(AlongAxes(fit_axes(numbers, 2), mixture), categories, levels, 5.0)
    return replace(plain, shifts=np.array([[0.5, -1.0], [-0.5, 1.0]])), plain, whole(X)


class TestTheModel:
    def test_densities_are_those_of_shifted_numbers(self, example):
        model, plain, table = example
        moved = table.values.copy()
        moved[:, :2] -= np.where(table.values[:, 2:3] > 0, [0.5, -1.0], [-0.5, 1.0])
        for ours, theirs in zip(model.log_densities(table), plain.log_densities(whole(moved)), strict=True):
            np.testing.assert_allclose(ours, theirs)

    def test_centres_have_the_effects_of_their_levels(self, example):
        model, plain, _ = example
        shares = plain.centers[:, 2:]
        np.testing.assert_allclose(model.centers[:, :2], plain.centers[:, :2] + shares @ model.shifts)
        np.testing.assert_allclose(model.centers[:, 2:], shares)

    def test_filled_values_have_the_effects_of_the_levels_of_their_row(self, example):
        model, plain, table = example
        mask = table.mask.copy()
        mask[:, :2] = False
        bare, posterior = Entries(np.where(mask, table.values, 0), mask), np.tile(model.shares, (200, 1))
        moved = model.completed(bare, posterior)[:, :2] - plain.completed(bare, posterior)[:, :2]
        np.testing.assert_allclose(moved, table.values[:, 2:] @ model.shifts)

    def test_rows_drawn_are_those_of_the_model(self, example):
        model, plain, _ = example
        blank = Entries(np.zeros((40_000, 4)), np.zeros((40_000, 4), bool))
        drawn = model.drawn(blank, np.ones(4), np.random.default_rng(0))
        first = drawn[:, 2] > 0
        joint = plain.shares[:, None] * plain.centers[:, 2:]
        expected = (joint / joint.sum(axis=0)).T @ plain.centers[:, :2] + model.shifts
        np.testing.assert_allclose([drawn[first, :2].mean(0), drawn[~first, :2].mean(0)], expected, atol=0.05)

    def test_forged_files_are_refused(self, example):
        with pytest.raises(ValueError, match="shifts"):
            replace(example[0], shifts=np.zeros((3, 2)))


def animals(n=400, seed=0, effect=3.0):
    """Four related measures of three species; one sex is larger in each of them. A tenth of the cells is missing."""
    rng = np.random.default_rng(seed)
    y, male = rng.integers(3, size=n), rng.integers(2, size=n)
    centres = 3.5 * np.array([[0, 0, 0, 0], [1, 0, 1, 0], [0, 1.2, 0, 0.6]])
    X = centres[y] + effect * np.outer(male, [1, 0.8, 1, 0.5]) + rng.standard_normal((n, 4))
    X += 0.7 * rng.standard_normal((n, 1))
    frame = pd.DataFrame(X, columns=["bill", "wing", "mass", "tail"])
    frame["sex"] = pd.Categorical(np.array(["female", "male"])[male])
    return frame.mask(rng.random(frame.shape) < 0.1), y, male


def effects_of(model):
    """The effects of a fitted model's categories, or None."""
    clusters = model.path_.clusters
    return getattr(getattr(clusters, "parts", clusters), "shifts", None)


@pytest.fixture(scope="module")
def fitted():
    frame, y, _ = animals()
    return frame, y, FusionClustering(random_state=0).fit(frame)


class TestFitted:
    @pytest.mark.parametrize("n_clusters", [None, 3])
    def test_species_are_found_in_spite_of_the_sexes(self, n_clusters, monkeypatch):
        frame, y, _ = animals()
        now = FusionClustering(n_clusters=n_clusters, random_state=0).fit(frame)
        assert effects_of(now) is not None
        assert now.n_clusters_ == 3
        assert now.limits_[0].startswith("4 columns of numbers differ between the levels of 1 category by the same")
        score = adjusted_rand_score(y, now.labels_)
        monkeypatch.setattr(related_numbers, "category_shifts", lambda *_: None)
        before = FusionClustering(n_clusters=n_clusters, random_state=0).fit(frame)
        assert score > max(0.8, adjusted_rand_score(y, before.labels_) + 0.3)

    def test_a_category_that_is_the_cluster_is_found(self):
        """Two sexes of one species are two clusters: effects of the sex would leave one, and say nothing."""
        frame, y, male = animals(effect=4.0)
        one = frame[y == 0]
        found = FusionClustering(random_state=0).fit(one)
        assert effects_of(found) is None
        assert adjusted_rand_score(male[y == 0], found.labels_) > 0.8

    def test_a_gap_between_levels_is_not_an_effect(self):
        """Three groups far apart, of which a category tells one from the others: no cluster has both levels."""
        rng = np.random.default_rng(2)
        kind = np.repeat([0, 1, 2], [100, 70, 30])
        centres = np.array([[0.0] * 5, [12.0] * 5, [12.0] * 4 + [21.0]])
        frame = pd.DataFrame(centres[kind] + rng.normal(size=(200, 5)), columns=list("abcde"))
        frame["f"] = pd.Categorical(np.array(["x", "y", "y"])[kind])
        found = FusionClustering(random_state=0).fit(frame)
        assert effects_of(found) is None
        assert adjusted_rand_score(kind > 0, found.labels_) > 0.7

    def test_categories_without_effects_have_none(self):
        frame, y, _ = animals(effect=0.0)
        found = FusionClustering(random_state=0).fit(frame)
        assert effects_of(found) is None
        assert adjusted_rand_score(y, found.labels_) > 0.8

    def test_ctrl_c_keeps_the_result_without_effects(self, monkeypatch):
        def stop(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(related_numbers, "category_shifts", stop)
        with pytest.warns(ConvergenceWarning, match="interrupted: this is the best result without effects"):
            found = FusionClustering(random_state=0).fit(animals()[0])
        assert not found.converged_
        assert effects_of(found) is None

    def test_it_is_saved(self, fitted, tmp_path):
        frame, _, model = fitted
        model.save(tmp_path / "model.fusewise")
        again = fusewise.load(tmp_path / "model.fusewise")
        np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
        np.testing.assert_array_equal(model.predict(frame), model.labels_)

    def test_the_sex_tells_of_a_missing_measure(self):
        frame, _, _ = animals()
        hidden = frame["bill"].notna() & frame["sex"].notna() & (np.arange(len(frame)) % 5 == 0)
        given = frame.assign(bill=frame["bill"].mask(hidden))

        def error(table):
            filled = FusionImputer(random_state=0).fit_transform(table)
            return np.mean((filled["bill"][hidden] - frame["bill"][hidden]) ** 2)

        assert error(given) < 0.9 * error(given.drop(columns="sex"))
