"""The number of clusters, confirmed in the dimensions that their centres span."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering
from fusewise.automatic import choosing
from fusewise.automatic.coordinates.axes import axes_through
from fusewise.automatic.judging.comparing import Comparison
from fusewise.automatic.search.among_centres import _confirms_another
from fusewise.subspace import Subspace


def subspace_of(rank=5, p=9, seed=0):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(p, rank)))[0]
    return Subspace(rng.normal(size=p), basis, np.sort(rng.uniform(1, 5, rank))[::-1].copy(), 0.3)


def covariance(subspace):
    return (subspace.basis * subspace.variances) @ subspace.basis.T + subspace.noise * np.eye(len(subspace.mean))


class TestAxesThrough:
    def test_span_of_the_points(self):
        subspace, points = subspace_of(), np.random.default_rng(1).normal(size=(4, 5))
        through = axes_through(subspace, points, 2)
        assert through.rank == 3
        np.testing.assert_allclose(through.basis.T @ through.basis, np.eye(3), atol=1e-12)
        apart = (points - points[0]) @ subspace.basis.T
        np.testing.assert_allclose(apart @ through.basis @ through.basis.T, apart, atol=1e-5)

    def test_two_points_are_joined_by_a_line_and_the_direction_that_varies_most(self):
        subspace = subspace_of()
        through = axes_through(subspace, np.array([[0, 0, 1.0, 0, 0], [0, 0, -1.0, 0, 0]]), 2)
        inside = through.basis @ through.basis.T
        np.testing.assert_allclose(inside @ subspace.basis[:, [0, 2]], subspace.basis[:, [0, 2]], atol=1e-5)

    def test_variances_and_noise_are_the_likeliest_of_these_directions(self):
        """Rows of covariance S: the log-likelihood is -log det(C) - tr(C^-1 S), over the variances along fixed axes."""
        subspace = subspace_of()
        through = axes_through(subspace, np.random.default_rng(2).normal(size=(3, 5)), 2)
        data = covariance(subspace)

        def misfit(log_variances):
            *variances, noise = np.exp(log_variances)
            model = (through.basis * variances) @ through.basis.T + noise * np.eye(len(data))
            return np.linalg.slogdet(model)[1] + np.trace(np.linalg.solve(model, data))

        best = minimize(misfit, np.zeros(through.rank + 1), tol=1e-12)
        np.testing.assert_allclose(np.exp(best.x), [*through.variances, through.noise], rtol=1e-3)

    def test_columns_outside_the_axes_stay_outside(self):
        subspace = subspace_of()
        basis = np.vstack([subspace.basis, np.zeros((4, 5))])
        wider = Subspace(np.zeros(13), basis, subspace.variances, 0.3, blur=np.r_[np.zeros(9), np.ones(4)])
        points = np.random.default_rng(1).normal(size=(4, 5))
        narrow, through = axes_through(subspace, points, 2), axes_through(wider, points, 2)
        assert not through.basis[9:].any()
        assert through.noise == pytest.approx(narrow.noise)


def searched(gains, rank, chosen):
    """A search with these gains of 1, 2, ... clusters over one, which stand for the partitions and the rows too."""
    mixtures = [SimpleNamespace(n_components=k + 1) for k in range(len(gains))]
    compared = SimpleNamespace(mixtures=mixtures, interrupted=False)
    return SimpleNamespace(
        placed=SimpleNamespace(rows=None), partitions=list(gains), compared=compared, n_groups=chosen, rank=rank,
        criterion=gains[chosen - 1], gain=gains[chosen - 1],
    )  # fmt: skip


def confirms(second, first):
    """Each partition is its own gain, so that comparing it returns it."""
    compare = SimpleNamespace(comparison=lambda _: lambda parts, **_: SimpleNamespace(criteria=tuple(parts)))
    return _confirms_another(compare, second, first)


class TestAnotherNumber:
    @pytest.mark.parametrize(
        ("second", "rank", "number", "taken"),
        [
            ((0, 50, 48), 2, 2, True),  # two lose 10% of the gain of the first search
            ((0, 10, 60, 90), 3, 4, True),  # four lose 5% of it, and three a third of the gain of the second
            ((0, 10, 80, 90), 3, 4, False),  # three lose only a ninth of it
            ((0, 30, 50), 2, 3, False),  # the same number
            ((0, 10, 20, 90), 2, 4, False),  # four centres need three dimensions
            ((0, -5, -9), 2, 1, False),  # nothing is left of the clusters
        ],
    )
    def test_is_taken_if_the_first_search_loses_little_by_it(self, second, rank, number, taken):
        assert confirms(searched(second, rank, number), searched((0, 90, 100, 95), 6, 3)) is taken

    def test_but_not_if_the_first_search_loses_much(self):
        assert not confirms(searched((0, 50, 5), 2, 2), searched((0, 70, 100), 6, 3))

    def test_nor_if_the_first_search_did_not_compare_it(self):
        assert not confirms(searched((0, 5, 6, 50), 3, 4), searched((0, 70, 100), 6, 3))


def marks(seed):
    """Marks from 1 to 10: low ones in one group, which vary in one column, and any in the other."""
    rng = np.random.default_rng(seed)
    y = (rng.random(500) < 0.35).astype(int)
    low = 1 + np.minimum(rng.geometric(0.75, (500, 9)) - 1, 9)
    low[:, 0] = rng.integers(1, 6, 500)
    return np.where(y[:, None] == 1, rng.integers(1, 11, (500, 9)), low).astype(float), y


def test_a_group_that_was_cut_for_its_shape(monkeypatch):
    X, y = marks(4)
    model = FusionClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(y, model.labels_) > 0.95
    monkeypatch.setattr(choosing, "among_centres", lambda search, found: found)
    assert adjusted_rand_score(y, FusionClustering(random_state=0).fit(X).labels_) < 0.7


def test_ctrl_c_keeps_what_was_found(monkeypatch):
    X, _ = marks(4)
    calls = []

    def interrupt(*arguments):
        calls.append(arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr("fusewise.automatic.search.among_centres.axes_through", interrupt)
    with pytest.warns(UserWarning, match="interrupted"):
        model = FusionClustering(random_state=0).fit(X)
    assert calls
    assert model.n_clusters_ > 1


def test_ctrl_c_while_partitions_are_compared_is_told(monkeypatch):
    X, _ = marks(4)
    compare = Comparison.__call__

    def stopped(self, *arguments, **options):
        found = compare(self, *arguments, **options)
        return replace(found, interrupted=self.rows.evidence.shape[1] < 6)  # as the second search is

    monkeypatch.setattr(Comparison, "__call__", stopped)
    model = FusionClustering(random_state=0).fit(X)
    assert model.path_.interrupted
    assert model.path_.subspace.rank >= 6


@pytest.mark.parametrize("seed", [0, 3])
def test_a_search_in_few_columns_is_left_alone(seed):
    """Four groups in six of fifty columns: as many are found as in the six columns alone, where none is confirmed."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=500)
    X = rng.normal(size=(500, 50))
    X[:, :6] += rng.uniform(-3, 3, (4, 6))[y]
    assert FusionClustering(random_state=0).fit(X[:, :6]).n_clusters_ == 4
    assert FusionClustering(random_state=0).fit(X).n_clusters_ == 4
