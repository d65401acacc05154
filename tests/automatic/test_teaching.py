"""Classes of known labels taught to clusters: the model, its cross-validation, and when it is taken."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering, load
from fusewise.automatic import teaching, with_hints
from fusewise.automatic.models.discriminant import Discriminant
from fusewise.automatic.models.mixture import probabilities
from fusewise.automatic.models.taught import Taught, class_odds, odds_without_own, taught
from fusewise.automatic.teaching import teach
from fusewise.estimators import automatic_fit
from fusewise.estimators.hinting import read_hints
from fusewise.observations import as_entries


def halves(n=400, seed=0, hidden=0.1):
    """One cluster of five columns, cut in two classes where no valley is; a fifth of the labels are known."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = (X[:, 0] + X[:, 1] > 0.3).astype(int)
    X[rng.random(X.shape) < hidden] = np.nan
    return X, y, np.where(np.arange(n) % 5 == 0, y, -1)


def beside_a_far_group(seed=0):
    """The same, and 80 rows far away none of which has a label."""
    X, y, known = halves(seed=seed)
    far = np.random.default_rng(seed + 1).normal(8.0, 1.0, size=(80, 5))
    return np.vstack([X, far]), np.append(y, np.full(80, 2)), np.append(known, np.full(80, -1))


def fitted(X, known, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FusionClustering(semi_supervised=True, random_state=0, **given).fit(X, known)


def model_of(X):
    """The clusters of a table, and the table."""
    model = FusionClustering(random_state=0).fit(X)
    return model.path_, model.observations_


class TestModel:
    @pytest.fixture
    def classes(self):
        """Two classes taught to two clusters of a table with missing values, and the table on their scale."""
        X, _, _ = beside_a_far_group()
        choice, table = model_of(X)
        assert choice.n_clusters == 2
        rng = np.random.default_rng(0)
        odds = rng.dirichlet([1, 1], size=2).T
        found = Discriminant(rng.normal(size=(5, 2)), rng.normal(size=2))
        sample = choice.units.applied(table)
        return choice.clusters, odds, found, sample

    def test_densities_are_those_of_the_clusters_times_the_probability_of_a_class(self, classes):
        clusters, odds, found, sample = classes
        model = taught(clusters, odds, found, np.empty(0, int), sample)
        densities, _, dimensions = model.log_densities(sample)
        plain, _, same = clusters.log_densities(sample)
        np.testing.assert_allclose(np.logaddexp.reduce(densities, axis=1), np.logaddexp.reduce(plain, axis=1))
        np.testing.assert_array_equal(dimensions, same)
        posterior, _ = probabilities(plain)
        for i in range(0, sample.shape[0], 37):  # by hand, one row at a time
            x = np.where(sample.mask[i], sample.values[i], clusters.completed(sample, posterior)[i])
            weight = [
                sum(posterior[i, k] * odds[b, k] for k in range(2))
                * np.exp(x @ found.weights[:, b] + found.intercepts[b])
                for b in range(2)
            ]
            share = np.exp(densities[i] - np.logaddexp.reduce(densities[i]))
            np.testing.assert_allclose(share, np.array(weight) / sum(weight), rtol=1e-9)

    def test_a_cluster_without_labels_keeps_its_rows(self, classes):
        clusters, odds, found, sample = classes
        model = taught(clusters, odds, found, np.array([1]), sample)
        posterior, _ = probabilities(clusters.log_densities(sample)[0])
        shares, _ = probabilities(model.log_densities(sample)[0])
        assert model.n_components == 3
        np.testing.assert_allclose(shares[:, 2], posterior[:, 1], atol=1e-12)
        np.testing.assert_allclose(shares.sum(axis=1), 1)

    def test_shares_and_centres_are_means_over_the_rows(self, classes):
        clusters, odds, found, sample = classes
        model = taught(clusters, odds, found, np.empty(0, int), sample)
        shares, _ = probabilities(model.log_densities(sample)[0])
        np.testing.assert_allclose(model.shares, shares.mean(axis=0))
        whole = sample.fill(clusters.completed(sample, probabilities(clusters.log_densities(sample)[0])[0]))
        np.testing.assert_allclose(model.centers, [np.average(whole, axis=0, weights=w) for w in shares.T])

    def test_a_row_of_a_known_class_is_filled_by_the_clusters_that_the_class_is_in(self, classes):
        clusters, _, found, sample = classes
        model = taught(clusters, np.eye(2), found, np.empty(0, int), sample)
        sure = np.tile([0.0, 1.0], (sample.shape[0], 1))  # of the second class, hence of the second cluster
        np.testing.assert_allclose(model.completed(sample, sure), clusters.completed(sample, sure), atol=1e-9)

    def test_some_of_the_classes(self, classes):
        clusters, odds, found, sample = classes
        model = taught(clusters, odds, found, np.array([1]), sample)
        few = model.only(np.array([0, 2]))
        whole, part = (probabilities(m.log_densities(sample)[0])[0] for m in (model, few))
        assert few.n_components == 2
        np.testing.assert_allclose(part[:, 1], whole[:, 2], atol=1e-12)
        assert few.shares.sum() == pytest.approx(1)

    def test_parts_that_do_not_agree_are_refused(self, classes):
        clusters, odds, found, sample = classes
        model = taught(clusters, odds, found, np.array([1]), sample)
        with pytest.raises(ValueError, match="of 2 classes and 0 clusters"):
            replace(model, alone=np.empty(0, int))
        with pytest.raises(ValueError, match="weights are of 4 columns for 5 of the table"):
            replace(model, weights=model.weights[1:])


def test_odds_without_the_label_of_a_row_are_those_that_the_other_rows_give():
    rng = np.random.default_rng(0)
    posterior, classes = rng.dirichlet([1, 1, 1], size=9), rng.integers(2, size=9)
    found = odds_without_own(posterior, classes, 2)
    usual = np.bincount(classes) / 9
    for i in range(9):
        others = np.arange(9) != i
        e = np.array([posterior[others & (classes == b)].sum(axis=0) for b in range(2)])
        theta = (e + 0.5 * usual[:, None]) / (e.sum(axis=0) + 0.5)
        np.testing.assert_allclose(found[i], np.log(theta @ posterior[i]))
    np.testing.assert_allclose(class_odds(posterior, classes, 2).sum(axis=0), 1)


class TestCrossValidation:
    def test_labels_at_random_teach_nothing(self):
        X, _, known = halves(hidden=0)
        choice, table = model_of(X)
        labels = np.where(known >= 0, np.random.default_rng(1).integers(2, size=len(X)), -1)
        lesson = teach(choice, table, read_hints(len(X), None, None, labels, None))
        assert 0.25 < lesson.right.mean() < 0.75

    def test_classes_along_a_line_are_recognised_where_clusters_show_nothing(self):
        X, _, known = halves(hidden=0)
        choice, table = model_of(X)
        lesson = teach(choice, table, read_hints(len(X), None, None, known, None))
        assert choice.n_clusters == 1
        assert lesson.right.mean() > 0.9
        assert lesson.right_before.mean() < 0.7

    def test_a_row_is_judged_without_its_own_label(self):
        """A changed label changes whether its row is right, and hardly which class it is given."""
        X, _, known = halves(hidden=0)
        choice, table = model_of(X)
        middle = int(np.flatnonzero(known == 0)[np.nanargmin((X[known == 0, :2]).sum(axis=1))])  # deep in its class
        wrong = known.copy()
        wrong[middle] = 1
        for labels, right in ((known, True), (wrong, False)):
            hints = read_hints(len(X), None, None, labels, None)
            lesson = teach(choice, table, hints)
            assert lesson.right[hints.rows == middle] == [right]

    def test_many_labels_are_sampled_and_few_teach_nothing(self, monkeypatch):
        X, _, known = halves(hidden=0)
        choice, table = model_of(X)
        hints = read_hints(len(X), None, None, known, None)
        monkeypatch.setattr(teaching, "MOST_ROWS", 30)
        assert len(teach(choice, table, hints).right) == 30
        monkeypatch.setattr(teaching, "FEWEST_ROWS", 31)
        assert teach(choice, table, hints) is None
        assert teach(choice, table, read_hints(len(X), [(0, 1)], None, None, None)) is None


class TestTaken:
    def test_classes_without_a_valley_between_them_are_found(self, tmp_path):
        X, y, known = halves()
        model = fitted(X, known)
        assert isinstance(model.path_.clusters, Taught)
        assert adjusted_rand_score(y, model.labels_) > 0.55  # a tenth of the values is hidden
        assert model.n_clusters_ == 2
        assert model.alternatives() == []
        assert "classes of the given labels" in model.limits_[-1]
        told = known >= 0
        assert len(set(zip(known[told].tolist(), model.labels_[told].tolist(), strict=True))) == 2
        model.save(tmp_path / "model.fusewise")
        other = load(tmp_path / "model.fusewise")
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        new, truth, _ = halves(seed=5, hidden=0)
        peer = LogisticRegression().fit(np.nan_to_num(X[told]), known[told])
        assert adjusted_rand_score(truth, model.predict(new)) > adjusted_rand_score(truth, peer.predict(new)) - 0.05

    def test_a_group_without_labels_stays_a_cluster_of_its_own(self):
        X, y, known = beside_a_far_group()
        model = fitted(X, known)
        assert isinstance(model.path_.clusters, Taught)
        assert model.n_clusters_ == 3
        assert len(set(model.labels_[y == 2]) - {-1}) == 1
        assert not set(model.labels_[y == 2]) & set(model.labels_[known >= 0])

    @pytest.mark.parametrize(
        ("n_clusters", "more", "taken"), [(1, 1, True), (2, 1, False), (2, 6, False), (2, 7, True)]
    )
    def test_the_lead_that_is_needed(self, monkeypatch, n_clusters, more, taken):
        """More than 2.576 standard deviations of chance, unless there is a single cluster: it has nothing to lose."""
        X, _, known = halves() if n_clusters == 1 else beside_a_far_group()
        choice, table = model_of(X)
        assert choice.n_clusters == n_clusters
        hints = read_hints(len(X), None, None, known, None)
        lesson = teach(choice, table, hints)
        right = np.arange(len(lesson.right)) < 40 + more
        changed = replace(lesson, right=right, right_before=np.arange(len(right)) < 40)
        monkeypatch.setattr(with_hints, "teach", lambda *_: changed)
        monkeypatch.setattr(with_hints, "_clusters", lambda before, *_: before)
        found = with_hints.better_supported(choice, replace(choice), table, hints)
        assert isinstance(found.clusters, Taught) == taken

    def test_with_the_number_of_classes_given_and_with_another(self):
        X, y, known = halves()
        model = fitted(X, known, n_clusters=2)
        assert isinstance(model.path_.clusters, Taught)
        assert adjusted_rand_score(y, model.labels_) > 0.55
        assert not isinstance(fitted(X, known, n_clusters=3).path_.clusters, Taught)

    def test_clusters_that_agree_with_labels_stay(self):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], 100)
        X = rng.normal(size=(200, 4)) + 3.5 * y[:, None]
        known = np.where(np.arange(200) % 5 == 0, y, -1)
        known[0] = 1  # one label is wrong, so that the clusters do not obey
        model = fitted(X, known)
        assert not isinstance(model.path_.clusters, Taught)
        assert adjusted_rand_score(y[1:], model.labels_[1:]) == 1

    def test_values_of_two_kinds_and_complex_ones(self):
        pd = pytest.importorskip("pandas")
        X, y, known = halves(hidden=0)
        frame = pd.DataFrame(X, columns=list("abcde"))
        frame["f"] = pd.Categorical(np.where(np.random.default_rng(0).random(len(y)) < 0.5, "u", "v"))
        assert adjusted_rand_score(y, fitted(frame, known).labels_) > 0.6
        paired = X[:, :4] + 1j * X[:, [4, 2, 3, 0]]
        assert adjusted_rand_score(y, fitted(paired, known).labels_) > 0.6

    def test_rows_drawn_and_filled(self):
        X, _, known = halves()
        model = fitted(X, known)
        filled = model.path_.completed(as_entries(X))
        assert np.isfinite(filled).all()
        drawn = model.path_.drawn(as_entries(X), np.ones(5), 0)
        assert np.isfinite(drawn).all()


class TestAgainst:
    """A search with hints that seems better, because it has seen the labels."""

    def test_it_is_judged_by_labels_that_it_has_not_seen(self, monkeypatch):
        X, y, known = halves()
        seen = []
        choose = automatic_fit.choose

        def counted(table, **given):
            seen.append(len(given["hints"].rows) if given.get("hints") else 0)
            return choose(table, **given)

        monkeypatch.setattr(automatic_fit, "choose", counted)
        right = with_hints.are_right
        monkeypatch.setattr(with_hints, "are_right", lambda *given: right(*given) | True)
        monkeypatch.setattr(with_hints, "_clusters", lambda before, told, *_: told)
        model = fitted(X, known)
        assert seen == [0, 80, 40, 40]
        assert isinstance(model.path_.clusters, Taught)
        assert adjusted_rand_score(y, model.labels_) > 0.55

    def test_without_a_search_what_was_found_with_hints_stays(self, monkeypatch):
        X, _, known = halves()
        choice, table = model_of(X)
        told = replace(choice)
        hints = read_hints(len(X), None, None, known, None)
        monkeypatch.setattr(with_hints, "_clusters", lambda before, told, *_: told)
        monkeypatch.setattr(with_hints, "are_right", lambda densities, *_: np.ones(len(densities), bool))
        assert with_hints.better_supported(choice, told, table, hints) is told

    def test_ctrl_c_keeps_what_was_found(self, monkeypatch):
        X, _, known = halves()

        def stopped(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(with_hints, "teach", stopped)
        model = fitted(X, known)
        assert not model.converged_
        assert len(model.labels_) == len(X)
