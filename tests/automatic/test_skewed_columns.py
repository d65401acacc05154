"""Clusters that are due to the shapes of single columns, and the search in columns made symmetric."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import spearmanr
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, silhouette_score

import fusewise
from fusewise import FusionClustering
from fusewise.automatic import choosing
from fusewise.automatic.coordinates.one_cluster import OneCluster
from fusewise.automatic.coordinates.symmetric import Powers
from fusewise.automatic.coordinates.units import units_of
from fusewise.automatic.search import sampled, skewed_columns
from fusewise.datasets import hide_entries
from fusewise.observations import Entries, as_entries
from fusewise.views.findings import read_findings
from fusewise.views.report.provenance import convergence
from fusewise.views.sureness import number_sentence

SKEWED = {
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
}


def by_factors(n, p, seed):
    """Three groups of lognormal values that differ by factors, which are the same for all n."""
    rng = np.random.default_rng(seed)
    factors = np.exp(1.5 * rng.standard_normal((3, p)))
    y = rng.integers(3, size=n)
    return rng.lognormal(size=(n, p)) * factors[y], y


@pytest.fixture(scope="module")
def lognormal():
    return np.random.default_rng(0).lognormal(size=(1000, 8))


@pytest.mark.parametrize("hidden", [0.0, 0.25])
@pytest.mark.parametrize("kind", SKEWED)
@pytest.mark.parametrize("seed", range(2))
def test_skewed_columns_are_no_clusters(kind, hidden, seed):
    X = SKEWED[kind](np.random.default_rng(seed), (600, 8))
    X = hide_entries(X, hidden, random_state=seed) if hidden else X
    assert FusionClustering(random_state=0).fit(X).n_clusters_ == 1


def test_what_it_was_like_before(lognormal, monkeypatch):
    now = FusionClustering(random_state=0).fit(lognormal)
    assert now.n_clusters_ == 1
    assert any("skewed" in limit for limit in now.limits_)
    assert np.mean(now.labels_ < 0) < 0.02  # the tail is no outlier
    monkeypatch.setattr(choosing, "shapes_behind", lambda *_: False)
    before = FusionClustering(random_state=0).fit(lognormal)
    assert before.n_clusters_ > 4
    assert before.limits_ == ()


def test_powers_that_show_more_clusters_are_not_taken(monkeypatch):
    """Scores from 1 to 10, most of them 1: no power makes these symmetric, and each step would be a cluster."""
    rng = np.random.default_rng(0)
    y = rng.random(600) < 0.35
    low = np.minimum(rng.geometric(0.75, size=(600, 9)), 10)
    high = np.clip(np.round(6 + 2 * rng.normal(size=(600, 1)) + 2.5 * rng.normal(size=(600, 9))), 1, 10)
    X = np.where(y[:, None], high, low).astype(float)
    monkeypatch.setattr(choosing, "powers_in_question", lambda search, _: Powers.of(search.sample))
    monkeypatch.setattr(choosing, "shapes_behind", lambda *_: True)
    monkeypatch.setattr(choosing, "in_doubt", lambda *_: True)
    found = FusionClustering(random_state=0).fit(X)
    assert found.n_clusters_ == 2
    assert adjusted_rand_score(y, found.labels_) > 0.9
    assert found.limits_ == ()


@pytest.mark.parametrize("n_clusters", [None, 3])
@pytest.mark.parametrize("seed", range(2))
def test_groups_that_differ_by_factors(seed, n_clusters, monkeypatch):
    X, y = by_factors(1000, 8, seed)
    now = FusionClustering(n_clusters=n_clusters, random_state=0).fit(X)
    assert now.n_clusters_ == 3
    assert adjusted_rand_score(y, now.labels_) > 0.8
    monkeypatch.setattr(choosing, "shapes_behind", lambda *_: False)
    assert adjusted_rand_score(y, FusionClustering(n_clusters=n_clusters, random_state=0).fit(X).labels_) < 0.6


def test_the_same_clusters_as_of_logarithms():
    """An independent route: the transformation that is known to be right, made by hand."""
    X, _ = by_factors(1000, 8, 0)
    ours, by_hand = (FusionClustering(random_state=0).fit(each).labels_ for each in (X, np.log(X)))
    assert adjusted_rand_score(ours, by_hand) > 0.9


@pytest.fixture(scope="module")
def factors():
    return by_factors(1000, 8, 0)


@pytest.fixture(scope="module")
def model(factors):
    return FusionClustering(random_state=0).fit(hide_entries(factors[0], 0.1, random_state=0))


class TestTheModelIsWhole:
    """Everything that a model does, it does in the units in which its clusters were found."""

    def test_centres_are_values_of_the_table(self, factors, model):
        """Centres are those of symmetric columns, so they are near the medians, not the means."""
        X, y = factors
        assert model.path_.units.powers is not None
        medians = np.array([np.median(X[y == k], axis=0) for k in range(3)])
        nearest = np.abs(np.log(model.cluster_centers_)[:, None] - np.log(medians)).mean(axis=2)
        assert sorted(nearest.argmin(axis=1)) == [0, 1, 2]
        assert nearest.min(axis=1).max() < 0.2

    def test_it_is_saved(self, factors, model, tmp_path):
        model.save(tmp_path / "model.fusewise")
        again = fusewise.load(tmp_path / "model.fusewise")
        np.testing.assert_array_equal(again.predict(factors[0]), model.predict(factors[0]))
        np.testing.assert_array_equal(again.cluster_centers_, model.cluster_centers_)
        assert again.limits_ == model.limits_

    def test_new_rows(self, model):
        X, y = by_factors(1500, 8, 0)  # the first 1000 have other values, but the groups are the same
        X = X[:500]
        assert adjusted_rand_score(y[:500], model.predict(X)) > 0.8
        sparse_rows = model.predict(sparse.csr_array(X))
        np.testing.assert_array_equal(sparse_rows, model.predict(X))

    def test_values_beyond_all_others_are_outliers(self, model):
        far = np.array([[1e99] * 8, [-1e99] * 8, [1e30, *[1.0] * 7]])
        assert model.predict(far).tolist() == [-1, -1, -1]
        assert np.isfinite(model.fused_).all()
        assert np.isfinite(model.transform(far)).all()

    def test_filled_values_are_those_of_the_table(self, factors):
        X, _ = factors
        hidden = hide_entries(X, 0.2, random_state=1)
        table, missing = as_entries(hidden), np.isnan(hidden)
        found = FusionClustering(random_state=0).fit(hidden).path_
        filled = found.completed(table)
        for whole in (filled, found.drawn(table, np.ones(8), 0)):
            assert (whole >= 0.999 * np.nanmin(hidden, axis=0)).all()
            assert (whole <= 1.001 * np.nanmax(hidden, axis=0)).all()
        off, by_mean = (
            np.abs(np.log(each / X))[missing].mean()
            for each in (filled, np.tile(np.nanmean(hidden, axis=0), (1000, 1)))
        )
        assert off < 0.7 * by_mean

    def test_hints_are_obeyed_in_the_same_units(self, factors):
        X, y = factors
        known = np.where(np.arange(1000) % 10 == 0, y, -1)
        free, told = FusionClustering(random_state=0), FusionClustering(semi_supervised=True, random_state=0)
        free, told = free.fit(X), told.fit(X, known)
        assert told.path_.units.powers is not None
        some = known >= 0
        assert len(np.unique(told.labels_[some] * 3 + known[some])) == 3
        assert adjusted_rand_score(y, told.labels_) >= adjusted_rand_score(y, free.labels_)

    def test_alternatives_and_stability(self, factors, model):
        assert len(model.path_.criteria) > 3  # partitions of symmetric columns, which the result is one of
        assert model.path_.criteria[model.path_.chosen] == max(model.path_.criteria)
        assert [other for other in model.alternatives() if other.n_clusters == 3] == []
        assert model.stability(n_draws=4).clusters.min() > 0.6

    def test_a_large_table(self, monkeypatch):
        """Powers are those of the sample, and all rows are labelled by them; a block at a time."""
        monkeypatch.setattr(sampled, "SAMPLE", 800)
        X, y = by_factors(3000, 8, 0)
        model = FusionClustering(random_state=0).fit(X)
        assert len(model.path_.rows) == 800
        assert adjusted_rand_score(y, model.labels_) > 0.85


def test_clusters_of_different_density_are_left_alone():
    """Their columns are skewed, but the rows show a valley between them."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 400)
    X = rng.standard_normal((800, 6)) * np.array([0.3, 1.5])[y][:, None] + y[:, None]
    model = FusionClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 2
    assert model.limits_ == ()
    assert adjusted_rand_score(y, model.labels_) > 0.9


@pytest.mark.parametrize("seed", [0, 2])
def test_related_skewed_columns_are_no_clusters(seed, monkeypatch):
    """Columns that grow together, by factors: of prices, sizes, counts."""
    rng = np.random.default_rng(seed)
    X = np.exp(0.7 * rng.standard_normal((600, 1)) @ rng.standard_normal((1, 6)) + 0.5 * rng.standard_normal((600, 6)))
    assert FusionClustering(random_state=0).fit(X).n_clusters_ == 1
    monkeypatch.setattr(choosing, "shapes_behind", lambda *_: False)
    assert FusionClustering(random_state=0).fit(X).n_clusters_ > 1


def test_clusters_whose_columns_are_skewed(monkeypatch):
    """A group that is wide and far away makes columns skewed, but one cluster of such columns shows less."""
    compared = []
    draw = OneCluster.drawn
    monkeypatch.setattr(OneCluster, "drawn", lambda *given: compared.append(1) or draw(*given))
    rng = np.random.default_rng(0)
    y = (np.arange(300) % 6 == 0).astype(int)
    X = rng.standard_normal((300, 6)) * np.array([1.0, 2.5])[y][:, None] + 3.0 * y[:, None] * (np.arange(6) < 3)
    model = FusionClustering(random_state=0).fit(X)
    assert len(compared) == skewed_columns.TABLES
    assert model.path_.units.powers is None
    assert adjusted_rand_score(y, model.labels_) > 0.75


class TestOneCluster:
    def test_the_same_shapes_and_correlations(self):
        rng = np.random.default_rng(0)
        X = np.exp(rng.standard_normal((4000, 1)) + 0.7 * rng.standard_normal((4000, 4)))
        X[:, 3] = -X[:, 3]
        table = as_entries(hide_entries(X, 0.2, random_state=0))
        found = OneCluster.like(table, Powers.of(table), 4).drawn(table, np.random.default_rng(1))
        np.testing.assert_array_equal(found.mask, table.mask)
        Z = np.where(found.mask, found.values, np.nan)
        shares = [0.05, 0.25, 0.5, 0.75, 0.95]
        np.testing.assert_allclose(np.nanquantile(Z, shares, axis=0), np.quantile(X, shares, axis=0), rtol=0.35)
        ours, theirs = (spearmanr(each, nan_policy="omit").statistic for each in (Z, X))
        np.testing.assert_allclose(ours, theirs, atol=0.06)

    def test_one_normal_distribution_of_two_groups(self):
        """Groups become one: that is what is compared."""
        y = np.arange(1000) % 2
        X = np.random.default_rng(0).standard_normal((1000, 5)) + 6.0 * y[:, None]
        table = as_entries(X)
        values = OneCluster.like(table, Powers.of(table), 5).drawn(table, np.random.default_rng(1)).values
        assert np.mean(np.abs(X.mean(axis=1) - 3) < 1) < 0.01
        assert np.mean(np.abs(values.mean(axis=1) - 3) < 1) > 0.2


def test_what_is_said(lognormal):
    found = read_findings(FusionClustering(random_state=0).fit(lognormal))
    assert number_sentence(found).startswith("1 cluster: no split is supported.")
    assert convergence(found)[0].endswith("dimensions of the columns, made symmetric.")


def test_the_map_shows_symmetric_columns(factors, model):
    """Rows near each other in the units of the clusters; in the columns as they are most lie in one corner."""
    X, y = factors
    found = read_findings(model)
    assert found.plane.of_what == " of columns made symmetric"
    own = found.plane.project(found.centers)[found.labels[found.labels >= 0]]
    rows = found.points[found.labels[found.drawn] >= 0]
    logarithms = PCA(2).fit_transform(np.log(X))
    ours, best = (silhouette_score(each, y) for each in (found.points, logarithms))
    assert ours > 0.9 * best > 1.3 * silhouette_score(PCA(2).fit_transform(X / X.std(axis=0)), y)
    assert np.square(rows - own).sum() < 0.6 * np.square(rows - rows.mean(axis=0)).sum()


def test_a_given_number_is_kept(lognormal):
    model = FusionClustering(n_clusters=3, random_state=0).fit(lognormal)
    assert model.n_clusters_ == 3
    assert any("skewed" in limit for limit in model.limits_)


@pytest.mark.parametrize("where", ["one cluster", "symmetric"])
def test_ctrl_c_keeps_the_clusters_found_so_far(lognormal, monkeypatch, where):
    def stop(*_):
        raise KeyboardInterrupt

    if where == "one cluster":
        monkeypatch.setattr(OneCluster, "drawn", stop)
    else:
        monkeypatch.setattr(Powers, "applied", stop)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = FusionClustering(random_state=0).fit(lognormal)
    assert model.n_clusters_ > 1
    assert model.path_.units.powers is None
    assert not model.converged_


def beside_categories(n, groups, seed):
    """Five lognormal numbers, of groups that differ by factors, and four categories that tell nothing of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(groups, size=n)
    factors = np.exp(1.5 * rng.standard_normal((groups, 5))) if groups > 1 else np.ones((1, 5))
    frame = pd.DataFrame(rng.lognormal(size=(n, 5)) * factors[y], columns=list("vwxyz"))
    for name in "abcd":
        frame[name] = pd.Categorical(rng.choice(["low", "mid", "high"], size=n))
    return frame.mask(rng.random(frame.shape) < 0.1), y


class TestBesideCategories:
    @pytest.mark.parametrize("seed", range(3))
    def test_skewed_numbers_are_no_clusters(self, seed, monkeypatch):
        frame, _ = beside_categories(400, 1, seed)
        now = FusionClustering(random_state=0).fit(frame)
        assert now.n_clusters_ == 1
        assert any("skewed" in limit for limit in now.limits_)
        monkeypatch.setattr(choosing, "powers_in_question", lambda *_: None)
        assert FusionClustering(random_state=0).fit(frame).n_clusters_ > 1

    @pytest.mark.parametrize("n_clusters", [None, 3])
    def test_groups_that_differ_by_factors(self, n_clusters):
        """As well as in logarithms, the transformation that is known to be right."""
        frame, y = beside_categories(800, 3, 0)
        logarithms = frame.assign(**{name: np.log(frame[name]) for name in "vwxyz"})
        ours, by_hand = (
            FusionClustering(n_clusters=n_clusters, random_state=0).fit(each) for each in (frame, logarithms)
        )
        assert ours.path_.units.powers is not None
        assert by_hand.path_.units.powers is None
        scores = [adjusted_rand_score(y, each.labels_) for each in (ours, by_hand)]
        assert scores[0] > scores[1] - 0.05

    def test_symmetric_numbers_are_left_alone(self):
        frame, y = beside_categories(800, 3, 0)
        numbers = np.random.default_rng(1).standard_normal((800, 5)) + 3 * np.eye(3, 5)[y]
        model = FusionClustering(random_state=0).fit(frame.assign(**dict(zip("vwxyz", numbers.T, strict=True))))
        assert model.path_.units.powers is None
        assert model.n_clusters_ == 3

    def test_the_model_is_whole(self, tmp_path):
        frame, _ = beside_categories(800, 3, 0)
        model = FusionClustering(random_state=0).fit(frame)
        model.save(tmp_path / "model.fusewise")
        again = fusewise.load(tmp_path / "model.fusewise")
        np.testing.assert_array_equal(again.predict(frame), model.labels_)
        filled = model.path_.completed(model.observations_)
        np.testing.assert_allclose(filled[:, 5:].reshape(800, 4, 3).sum(axis=2), 1, atol=1e-9)
        assert (filled[:, :5] > 0).all()

    def test_levels_stay_as_they_are(self):
        frame, _ = beside_categories(300, 1, 0)
        table, levels = _encoded(frame)
        powers = Powers.of(table, levels)
        np.testing.assert_array_equal(powers.applied(table).values[:, 5:], table.values[:, 5:])
        np.testing.assert_allclose(powers.undone(table.values)[:, 5:], table.values[:, 5:], atol=1e-12)
        numbers = Entries(table.values[:, :5], table.mask[:, :5])
        alone = Powers.of(numbers)
        np.testing.assert_array_equal(powers.exponents[:5], alone.exponents)
        np.testing.assert_array_equal(powers.applied(table).values[:, :5], alone.applied(numbers).values)
        assert powers.gain(table) == pytest.approx(alone.gain(numbers))

    def test_one_cluster_has_the_same_levels_in_other_rows(self):
        frame, _ = beside_categories(300, 3, 0)
        table, levels = _encoded(frame)
        drawn = OneCluster.like(table, Powers.of(table, levels), 5, levels).drawn(table, np.random.default_rng(0))
        np.testing.assert_array_equal(drawn.mask, table.mask)
        np.testing.assert_allclose(drawn.values[:, 5:].sum(axis=0), table.values[:, 5:].sum(axis=0))
        for start, stop, *_ in levels:
            seen = table.mask[:, start]
            assert (drawn.values[seen, start:stop] > 0).sum(axis=1).tolist() == [1] * seen.sum()
        assert np.mean(drawn.values[:, 5:] == table.values[:, 5:]) < 0.8


def _encoded(frame):
    """The table in its units, numbers first, and its blocks of levels."""
    model = FusionClustering(n_clusters=1).fit(frame)
    units, levels = units_of(model.observations_, model._levels())
    return units.applied(model.observations_), levels
