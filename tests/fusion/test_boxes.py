"""Boxes with a tolerance, or bounds, for each entry: one box, feasible, never uphill, and the exact solver's too."""

import itertools

import numpy as np
import pytest

from fusewise import PenalizedFusion, fuse, fusion_path
from fusewise.exact import certify, solve_l0
from fusewise.fidelity import Box
from fusewise.penalties import H1, MCP

INF, NAN = np.inf, np.nan
pytestmark = pytest.mark.filterwarnings("ignore:not converged", "ignore:no centre", "ignore:row", "ignore:column")


def table(seed, n=8, p=3, missing=0.25):
    """Two groups of rows, and bounds: some infinite on one side or both, some of entries that were not observed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 0.3 + 1.2 * (np.arange(n) % 2)[:, None]
    hidden = rng.random(X.shape) < missing
    hidden[:, 0] = False
    lower, upper = X - rng.uniform(0, 0.8, X.shape), X + rng.uniform(0, 0.8, X.shape)
    kind = rng.integers(0, 4, X.shape)
    lower[kind == 0], upper[kind <= 1] = -INF, INF
    return np.where(hidden, NAN, X), lower, upper


def least_split(lower, upper):
    """Least l0 objective over all partitions into groups whose boxes have a point in common, by listing them."""
    n, best = len(lower), len(lower) * (len(lower) - 1)
    for labels in itertools.product(*(range(k + 1) for k in range(n))):
        if any(labels[k] > max(labels[:k], default=-1) + 1 for k in range(n)):
            continue
        groups = [np.flatnonzero(np.array(labels) == k) for k in range(max(labels) + 1)]
        if all((lower[g].max(axis=0) <= upper[g].min(axis=0)).all() for g in groups):
            best = min(best, n * n - sum(len(g) ** 2 for g in groups))
    return best


@pytest.mark.parametrize("seed", range(8))
def test_the_exact_solver_equals_brute_force(seed):
    X, lower, upper = table(seed, n=7)
    solution = solve_l0(X, lower=lower, upper=upper)
    assert solution.status == "optimal"
    assert solution.objective == least_split(lower, upper)
    known = np.isfinite(lower) | np.isfinite(upper)
    assert np.all((solution.centers >= lower - 1e-12) & (solution.centers <= upper + 1e-12) | ~known)
    assert str(certify(X, solution.labels, lower=lower, upper=upper)).startswith("Optimal")
    one = certify(X, np.zeros(7, int), lower=lower, upper=upper)
    assert one.feasible == (solution.objective == 0)
    assert one.feasible or "cannot share a centre, for instance rows" in str(one)
    epsilon = np.random.default_rng(seed).uniform(0, 1.5, X.shape)
    low, high = (np.where(np.isnan(X), side * INF, X + side * epsilon / 2) for side in (-1, 1))
    assert solve_l0(X, epsilon).objective == least_split(low, high)


@pytest.mark.parametrize("penalty", [H1(0.7), MCP(1.5, smoothing=0.02)], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_every_iterate_is_feasible_and_the_objective_never_rises(seed, penalty):
    X, lower, upper = table(seed, n=20)
    for init, max_iter in itertools.product(("partial", "zero", "mean", np.full(X.shape, 9.0)), (1, 3, 500)):
        solution = fuse(X, fidelity=Box(lower=lower, upper=upper), penalty=penalty, init=init, max_iter=max_iter)
        assert np.all((solution.centers >= lower) & (solution.centers <= upper))
        history = np.array(solution.history)
        assert np.all(np.diff(history) <= 1e-12 * history[:-1])


@pytest.mark.parametrize("seed", range(3))
def test_kkt_of_the_bounds(seed):
    """No slope inside a box, and at a face only slope that points out."""
    X, lower, upper = table(seed, n=12)
    solution = fuse(X, fidelity=Box(lower=lower, upper=upper), penalty=H1(0.7), max_iter=5000)
    U, slope = solution.centers, np.zeros(X.shape)
    for i, j in itertools.product(range(12), repeat=2):
        slope[i] += 4 * H1(0.7).weight(np.linalg.norm(U[i] - U[j])) * (U[i] - U[j])
    slope[lower + 1e-9 >= U] = np.minimum(slope, 0)[lower + 1e-9 >= U]
    slope[upper - 1e-9 <= U] = np.maximum(slope, 0)[upper - 1e-9 <= U]
    assert solution.converged
    assert np.abs(slope).max() < 1e-4


def test_epsilon_is_a_way_to_say_bounds():
    X, _, _ = table(0, n=16)
    widths = {"one": 0.5, "columns": np.array([0.5, 0.3, 0.8]), "entries": np.full(X.shape, 0.5)}
    for epsilon in widths.values():
        ways = Box(epsilon), Box(lower=X - np.divide(epsilon, 2), upper=X + np.divide(epsilon, 2))
        one, other = (fuse(X, fidelity=box, penalty=H1(0.7), tol=1e-8) for box in ways)
        np.testing.assert_allclose(one.centers, other.centers, atol=1e-5)
        np.testing.assert_array_equal(one.labels, other.labels)
    assert Box(widths["entries"]) == Box(widths["entries"].copy()) != Box(0.5)
    same = (fuse(X, fidelity=Box(epsilon), penalty=H1(0.7)) for epsilon in (0.5, widths["entries"]))
    np.testing.assert_array_equal(*(solution.centers for solution in same))
    Z = X[:, :2] + 1j * X[:, 1:]
    discs = fuse(Z, fidelity=Box(np.array([0.2, 0.6])), penalty=H1(0.7)).centers
    assert np.nanmax(np.abs(discs - Z) - [0.1, 0.3]) <= 1e-9


def test_bounds_beyond_the_entries_and_rows_with_nothing_observed():
    """A detection limit: what was not seen lies below 0.05. The row without an entry takes no part."""
    X = np.array([[0.06, 1.0], [NAN, 1.1], [NAN, NAN], [0.9, 3.0], [0.8, 3.1]])
    upper = np.where(np.isnan(X), 0.05, X + 0.1)
    lower = np.where(np.isnan(X), -INF, X - 0.1)
    box = Box(lower=lower, upper=upper)
    solution = fuse(X, fidelity=box, penalty=H1(0.5))
    path = fusion_path(X, sigmas=[0.3, 0.5], fidelity=box)
    model = PenalizedFusion(1.0, penalty=H1(0.5), fidelity=box).fit(X)
    for labels in (solution.labels, path.labels[-1], model.labels_):
        assert labels.tolist() == [0, 0, -1, 1, 1]
    assert solution.centers[1, 0] <= 0.05
    assert certify(X, solution.labels, lower=lower, upper=upper).feasible
    far = fuse(X[:2], fidelity=Box(lower=[[-INF, 5.0], [-INF, 6.0]]), penalty=H1(9.0)).centers
    assert np.all(far[:, 1] >= [5.0, 6.0])


@pytest.mark.parametrize(
    ("box", "message"),
    [
        ({"lower": [0.0, 2.0], "upper": [1.0, 1.0]}, r"lower is 2, but upper is 1: .* \(row 0, column 1\)"),
        ({"lower": [0.0, INF]}, r"lower is inf.*\(row 0, column 1\)"),
        ({"lower": np.zeros((3, 2))}, r"lower has shape \(3, 2\), but the table has shape \(4, 2\): give one number"),
        ({"epsilon": np.ones(3)}, r"epsilon has shape \(3,\), but the table has shape \(4, 2\)"),
        ({"epsilon": [[1, 1], [1, 1], [1, -2.0], [1, 1]]}, r"epsilon must be .*"),
        ({"epsilon": 1.0, "lower": 0.0}, "epsilon, .*or else lower and upper"),
    ],
)
def test_bad_boxes_are_refused(box, message):
    X = np.arange(8.0).reshape(4, 2)
    for refused in (lambda: fuse(X, fidelity=Box(**box), penalty=H1(1.0)), lambda: solve_l0(X, **box)):
        with pytest.raises(ValueError, match=message):
            refused()
    with pytest.raises(ValueError, match=r"got -2\.0 \(row 2, column 1\)"):
        certify(X, [0, 0, 1, 1], [[1, 1], [1, 1], [1, -2.0], [1, 1]])
    with pytest.raises(ValueError, match="for a complex table"):
        fuse(X * 1j, fidelity=Box(lower=0.0), penalty=H1(1.0))
