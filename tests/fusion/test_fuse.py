"""``fuse`` from the outside: what it returns, warns of and refuses."""

import numpy as np
import pytest
from fusion_naive import draw, objective, violation
from sklearn.exceptions import ConvergenceWarning

from fusewise.datasets import make_clusters
from fusewise.fidelity import Ball, Box, Quadratic
from fusewise.fusion import choose_sigma, fuse, lam_without_effect, noise_level, pose
from fusewise.observations import DataWarning, as_entries
from fusewise.penalties import H1
from fusewise.progress import listening

OPTIONS = {"lam": 1.0, "penalty": H1(0.7)}


def test_what_a_solution_holds():
    X = draw("complex", 0.3)
    solution = fuse(X, **OPTIONS)
    assert solution.converged
    assert solution.status == "converged"
    assert solution.centers.shape == X.shape
    assert solution.n_iter == len(solution.history) - 1
    assert solution.objective == pytest.approx(objective(X, solution.centers, 1.0, H1(0.7), Quadratic()), rel=1e-9)
    assert (solution.lam, solution.penalty, solution.fidelity) == (1.0, H1(0.7), Quadratic())
    np.testing.assert_array_equal(solution.observations.mask, ~np.isnan(X))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_lam_zero_returns_the_data(missing):
    X = draw("real", missing)
    solution = fuse(X, lam=0, penalty=H1(1.0))
    np.testing.assert_allclose(solution.centers[~np.isnan(X)], X[~np.isnan(X)], atol=1e-12)
    assert solution.converged
    assert solution.n_clusters == len(X)


def test_large_lam_merges_everything_to_the_mean():
    """With a penalty that reaches across the table and a huge lam, one centre: the mean of each column."""
    X = draw("real", 0.3)
    solution = fuse(X, lam=1e5, penalty=H1(50.0))
    assert solution.n_clusters == 1
    np.testing.assert_allclose(solution.centers, np.tile(np.nanmean(X, axis=0), (len(X), 1)), atol=0.02)


def test_neighbours_only():
    X = draw("real", 0.2)
    solution = fuse(X, n_neighbors=4, **OPTIONS)
    truth = np.arange(18) % 3
    for k in range(3):
        assert len(set(solution.labels[truth == k])) == 1
    # A graph of all neighbours is the problem of all pairs.
    np.testing.assert_allclose(
        fuse(X, n_neighbors=17, tol=1e-9, **OPTIONS).centers, fuse(X, tol=1e-9, **OPTIONS).centers, atol=1e-5
    )


class TestWarnings:
    def test_too_few_iterations(self):
        with pytest.warns(ConvergenceWarning, match=r"not converged after 1 iter.*Increase max_iter.*fusion_path"):
            solution = fuse(draw("real", 0.3), max_iter=1, tol=1e-12, continuation=False, **OPTIONS)
        assert not solution.converged
        assert solution.status == "max_iter"
        assert solution.n_iter == 1

    @pytest.mark.parametrize("fidelity", [Quadratic(), Box(0.4)], ids=["quadratic", "box"])
    def test_interrupted(self, fidelity):
        X = draw("real", 0.5)
        seen = []

        def stop(stage, iteration, total, **values):
            seen.append((iteration, values["objective"]))
            if iteration == 3:
                raise KeyboardInterrupt

        warned = pytest.warns(ConvergenceWarning, match="interrupted after 3 iterations: .* This is the best solution")
        with warned, listening(stop):
            solution = fuse(X, fidelity=fidelity, tol=0, continuation=False, init="zero", **OPTIONS)
        assert solution.status == "interrupted"
        assert [iteration for iteration, _ in seen] == [1, 2, 3]
        assert solution.n_iter == 3
        reached = objective(X, solution.centers, 1.0, H1(0.7), fidelity)
        assert reached == pytest.approx(seen[-1][1], rel=1e-9)
        assert reached <= min(objective for _, objective in seen) * (1 + 1e-12)
        assert len(solution.labels) == len(X)

    def test_rows_with_nothing(self):
        X = draw("real", 0.2)
        whole = fuse(X, **OPTIONS)
        blank = np.insert(X, [3, 10], np.nan, axis=0)
        with pytest.warns(DataWarning, match="rows 3, 11 have no observed entry: labelled -1"):
            solution = fuse(blank, **OPTIONS)
        assert solution.labels[[3, 11]].tolist() == [-1, -1]
        others = np.delete(np.arange(20), [3, 11])
        np.testing.assert_array_equal(solution.labels[others], whole.labels)
        np.testing.assert_array_equal(solution.centers[others], whole.centers)
        np.testing.assert_allclose(solution.centers[3], whole.centers.mean(axis=0))


class TestRefusals:
    def test_hardly_any_row_with_anything(self):
        X = np.full((4, 3), np.nan)
        X[1] = 1.0
        with (
            pytest.warns(DataWarning),
            pytest.raises(ValueError, match="observed entries in only 1 of 4 rows: at least 2 rows are needed"),
        ):
            fuse(X, **OPTIONS)


def test_small_groups_are_outliers():
    X, _, _ = make_clusters(4, [12, 18, 12, 1], 50, noise=0.1, random_state=0)
    options = {"lam": 3.0, "penalty": H1(0.5)}
    assert fuse(X, **options).labels[-1] == 3
    few = fuse(X, min_cluster_size=2, **options)
    assert few.labels[-1] == -1
    assert (few.labels[:-1] >= 0).all()
    assert few.n_clusters == 3


def test_ball_with_radii_survives_a_blank_row():
    """One radius for each row of the table, one of which has nothing observed."""
    X = np.insert(draw("real", 0.2), 4, np.nan, axis=0)
    with pytest.warns(DataWarning):
        solution = fuse(X, penalty=H1(1.0), fidelity=Ball(np.full(len(X), 0.3)))
    assert solution.labels[4] == -1
    others = np.delete(np.arange(len(X)), 4)
    same = fuse(X[others], penalty=H1(1.0), fidelity=Ball(0.3))
    np.testing.assert_allclose(solution.centers[others], same.centers, atol=1e-9)


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_a_subspace_keeps_distances_so_its_objective_is_that_of_the_centres(kind):
    X = draw(kind, 0.3)
    solution = fuse(X, rank=2, **OPTIONS)
    assert np.linalg.matrix_rank(solution.centers - solution.centers.mean(axis=0), tol=1e-9) <= 2
    assert solution.objective == pytest.approx(objective(X, solution.centers, 1.0, H1(0.7), Quadratic()), rel=1e-6)
    assert np.all(np.diff(solution.history) <= 1e-12 * solution.history[0])


@pytest.mark.parametrize("fidelity", ["box", "ball"])
def test_open_parameters_are_chosen_from_the_noise(fidelity):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = 5 * rng.normal(size=(2, 30))[y] + 0.2 * rng.normal(size=(60, 30))
    assert noise_level(as_entries(X)) == pytest.approx(0.2, rel=0.15)
    solution = fuse(X, penalty=H1(2.0), fidelity=fidelity)
    assert solution.n_clusters == 2
    assert violation(X, solution.centers, solution.fidelity) <= 1e-9


def test_points_too_far_apart_to_be_coupled():
    # Their H1 weights are too small to be divided by: each point then stands alone, and nothing overflows.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 100)) + 1j * rng.normal(size=(40, 100))
    X[rng.random(X.shape) < 0.9] = complex(np.nan, np.nan)
    for scale in (1.5, 1.7, 1.8, 1.9, 2.0, 2.5, 20.0):
        solution = fuse(scale * X, lam=0.01, penalty=H1(1.0))
        assert np.isfinite(solution.objective)
        assert np.isfinite(solution.centers).all()
        assert (np.diff(solution.history) <= 1e-9 * abs(solution.history[0])).all()


def test_a_penalty_that_is_infinitely_strong_at_zero_ends():
    """lam is doubled from where it has no effect, which is zero here."""

    class Wall(H1):
        def value_and_weight(self, s):
            value, weight = super().value_and_weight(s)
            return value, np.where(s < 1e-3, np.inf, weight)

    X = np.random.default_rng(0).normal(size=(6, 2))
    problem = pose(X, None, 1.0, Wall(1e-6), "quadratic", None, None).problem
    assert 0 < lam_without_effect(problem) < 1e-300


def test_sigma_is_half_the_median_of_the_nearest_distances():
    # On a line, 0 1 3 7: the nearest are at 1, 1, 2 and 4.
    assert choose_sigma(as_entries([[0.0], [1.0], [3.0], [7.0]])) == pytest.approx(0.75)


def test_sigma_does_not_count_rows_on_top_of_each_other():
    assert choose_sigma(as_entries([[0.0], [0.0], [3.0], [5.0], [5.0]])) == pytest.approx(0.5 * 2)
    assert choose_sigma(as_entries(np.ones((4, 2)))) == 1.0
