"""Clusters that are due to the shapes of single columns, and the search without these shapes."""

import numpy as np
import pytest
from scipy.stats import rankdata, skew
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import fusewise
from fusewise import FusionClustering
from fusewise.automatic import choice
from fusewise.automatic.coordinates.symmetric import symmetric
from fusewise.automatic.search import unrelated_columns
from fusewise.datasets import hide_entries
from fusewise.observations import as_entries
from fusewise.views.findings import read_findings
from fusewise.views.report.provenance import convergence
from fusewise.views.sureness import number_sentence

SKEWED = {
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
}


def by_factors(n, p, seed):
    """Three groups of lognormal values that differ by factors."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return rng.lognormal(size=(n, p)) * np.exp(1.5 * rng.standard_normal((3, p)))[y], y


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
    assert np.mean(now.labels_ < 0) < 0.02  # all components are kept: the tail is no outlier
    monkeypatch.setattr(choice, "without_shapes", lambda _, found: found)
    before = FusionClustering(random_state=0).fit(lognormal)
    assert before.n_clusters_ > 4
    assert before.limits_ == ()


@pytest.mark.parametrize("seed", range(2))
def test_groups_that_differ_by_factors(seed, monkeypatch):
    X, y = by_factors(1000, 8, seed)
    now = FusionClustering(random_state=0).fit(X)
    assert now.n_clusters_ == 3
    assert adjusted_rand_score(y, now.labels_) > 0.65
    monkeypatch.setattr(choice, "without_shapes", lambda _, found: found)
    assert adjusted_rand_score(y, FusionClustering(random_state=0).fit(X).labels_) < 0.5


def test_the_model_is_whole(lognormal, tmp_path):
    model = FusionClustering(random_state=0).fit(lognormal)
    np.testing.assert_array_equal(model.predict(lognormal), model.labels_)
    assert model.cluster_centers_.shape == (1, 8)
    assert [other.n_clusters for other in model.alternatives()] == []
    model.save(tmp_path / "model.fusewise")
    again = fusewise.load(tmp_path / "model.fusewise")
    np.testing.assert_array_equal(again.predict(lognormal), model.labels_)
    assert again.limits_ == model.limits_


def test_clusters_of_different_density_are_left_alone():
    """Their columns are skewed, but the rows show a valley between them."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 400)
    X = rng.standard_normal((800, 6)) * np.array([0.3, 1.5])[y][:, None] + y[:, None]
    model = FusionClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 2
    assert model.limits_ == ()
    assert adjusted_rand_score(y, model.labels_) > 0.9


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_shuffled_columns_that_were_related_show_less(seed, monkeypatch):
    """Skewed columns that mix two factors: this rule leaves them alone, whether they are clusters or not."""
    asked = []
    ask = unrelated_columns._gain_as_much
    monkeypatch.setattr(unrelated_columns, "_gain_as_much", lambda *given: asked.append(ask(*given)) or asked[-1])
    rng = np.random.default_rng(seed)
    X = rng.gamma(1.0, size=(600, 2)) @ rng.standard_normal((2, 10)) + 0.5 * rng.standard_normal((600, 10))
    model = FusionClustering(random_state=0).fit(X)
    assert asked == [False]
    assert model.limits_ == ()


def test_what_is_said_of_the_number(lognormal):
    """Other numbers were not compared in the columns as they are, so nothing is said of them."""
    found = read_findings(FusionClustering(random_state=0).fit(lognormal))
    assert number_sentence(found) == "1 cluster, found in columns made symmetric."
    assert convergence(found)[0].startswith("Clusters were searched for in columns made symmetric. Rows were placed in")


def test_a_given_number_is_kept(lognormal):
    model = FusionClustering(n_clusters=3, random_state=0).fit(lognormal)
    assert model.n_clusters_ == 3
    assert model.limits_ == ()


def test_ctrl_c_keeps_the_clusters_found_so_far(lognormal, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(unrelated_columns, "permuted", stop)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = FusionClustering(random_state=0).fit(lognormal)
    assert model.n_clusters_ > 1
    assert not model.converged_


def test_skewed_columns_are_recognised():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.exponential(size=500), rng.standard_normal((500, 3)), -rng.lognormal(size=500)])
    X[:, 2] = 3.0
    X[:, 3] = np.nan
    assert unrelated_columns.is_skewed(as_entries(X)).tolist() == [True, False, False, False, True]


class TestSymmetric:
    def test_skewed_columns(self, lognormal):
        X = np.column_stack([lognormal[:, 0], -lognormal[:, 1], lognormal[:, 2] * 1e6 + 3, lognormal[:, 3] * 1e-6])
        found = symmetric(as_entries(X)).values
        assert np.abs(skew(X)).min() > 3
        assert np.abs(skew(found)).max() < 0.3
        np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(found.std(axis=0), 1, rtol=1e-6)

    def test_the_order_stays(self, lognormal):
        found = symmetric(as_entries(lognormal)).values
        np.testing.assert_array_equal(rankdata(found, axis=0), rankdata(lognormal, axis=0))

    def test_a_normal_column_hardly_changes(self):
        X = np.random.default_rng(0).normal(5, 2, (2000, 1))
        assert np.corrcoef(X[:, 0], symmetric(as_entries(X)).values[:, 0])[0, 1] > 0.998

    def test_logarithms_of_lognormal_values(self, lognormal):
        """The power comes near to the transformation that is known to be right."""
        found = symmetric(as_entries(lognormal[:, :1])).values[:, 0]
        assert np.corrcoef(found, np.log(lognormal[:, 0]))[0, 1] > 0.99

    def test_missing_values_zeros_and_constants(self):
        X = np.random.default_rng(0).poisson(0.3, (200, 3)).astype(float)
        X = np.column_stack([X, np.full(200, np.nan)])
        X[:, 1], X[::3, 2] = 7.0, np.nan
        table = as_entries(X)
        found = symmetric(table)
        assert np.isfinite(found.values).all()
        np.testing.assert_array_equal(found.mask, table.mask)
        np.testing.assert_array_equal(found.values[~found.mask], 0)

    @pytest.mark.parametrize("error", [RuntimeError, ValueError])
    def test_a_column_without_a_power_stays_as_it_is(self, lognormal, monkeypatch, error):
        def fail(*_):
            raise error("no bracket")

        monkeypatch.setattr("sklearn.preprocessing.PowerTransformer.fit_transform", fail)
        np.testing.assert_array_equal(symmetric(as_entries(lognormal)).values, lognormal)
