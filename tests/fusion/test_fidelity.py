"""Every prox minimises what it says, real and complex, with holes."""

import numpy as np
import pytest
from sklearn.base import clone

from fusewise.fidelity import Ball, Box, Quadratic
from fusewise.fusion import FIDELITIES, as_fidelity
from fusewise.fusion._problem import PooledEntries
from fusewise.observations import Entries, as_entries

N, P = 7, 4


def table(rng, kind):
    X = rng.normal(size=(N, P)) + (1j * rng.normal(size=(N, P)) if kind == "complex" else 0)
    X[rng.uniform(size=X.shape) < 0.4] = np.nan
    return as_entries(X)


def draw(rng, kind, scale=2.0):
    return scale * (rng.normal(size=(N, P)) + (1j * rng.normal(size=(N, P)) if kind == "complex" else 0))


def prox(fidelity, entries, anchors, pull):
    return fidelity.prox(entries if fidelity.constrained else PooledEntries.of(entries), anchors, pull)


def feasible(fidelity, entries: Entries, u, slack=1e-12):
    """The constraint as it is written, entry by entry."""
    for i in range(N):
        offset = [abs(u[i, p] - entries.values[i, p]) for p in range(P) if entries.mask[i, p]]
        if isinstance(fidelity, Box) and max(offset, default=0) > fidelity.epsilon / 2 + slack:
            return False
        if isinstance(fidelity, Ball):
            radius = np.broadcast_to(fidelity.radius, N)[i]
            if np.sqrt(sum(o * o for o in offset)) > radius + slack:
                return False
    return True


def cost(fidelity, entries: Entries, u, v, t):
    """f(u) + sum_i t_i ||u_i - v_i||², by a loop over the entries."""
    total = sum(t[i] * abs(u[i, p] - v[i, p]) ** 2 for i in range(N) for p in range(P))
    if isinstance(fidelity, Quadratic):
        total += sum(abs(u[i, p] - entries.values[i, p]) ** 2 for i in range(N) for p in range(P) if entries.mask[i, p])
    return total


FIDELITY_EXAMPLES = [Quadratic(), Box(0.5), Box(0.0), Ball(0.7), Ball(np.linspace(0, 2, N))]
every_fidelity = pytest.mark.parametrize("fidelity", FIDELITY_EXAMPLES, ids=lambda f: type(f).__name__)
both_kinds = pytest.mark.parametrize("kind", ["real", "complex"])


@every_fidelity
@both_kinds
def test_no_feasible_perturbation_beats_the_prox(fidelity, kind):
    rng = np.random.default_rng(0)
    entries, anchors, pull = table(rng, kind), draw(rng, kind), rng.uniform(0.1, 3, N)
    best = prox(fidelity, entries, anchors, pull)
    assert best.dtype == entries.values.dtype
    assert feasible(fidelity, entries, best)
    least = cost(fidelity, entries, best, anchors, pull)
    # The problem is convex: moves towards feasible points are feasible, and suffice.
    for size in (1e-4, 1e-2, 0.3, 1.0):
        for _ in range(20):
            other = prox(fidelity, entries, best + draw(rng, kind), pull)
            moved = best + size * (other - best)
            assert feasible(fidelity, entries, moved)
            assert cost(fidelity, entries, moved, anchors, pull) >= least - 1e-12 * least


@every_fidelity
@both_kinds
def test_constraints_do_not_see_the_pull_and_keep_what_is_inside(fidelity, kind):
    rng = np.random.default_rng(4)
    entries, anchors = table(rng, kind), draw(rng, kind)
    once = prox(fidelity, entries, anchors, np.full(N, 0.3))
    if fidelity.constrained:
        np.testing.assert_array_equal(once, fidelity.prox(entries, anchors, np.full(N, 7.0)))
        np.testing.assert_allclose(fidelity.prox(entries, once, np.ones(N)), once, atol=1e-14)
        assert feasible(fidelity, entries, once)
        assert not feasible(fidelity, entries, once + 10 * entries.mask)
    np.testing.assert_array_equal(once[~entries.mask], anchors[~entries.mask])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Box(-0.1), "epsilon must be non-negative and finite, got -0.1"),
        (lambda: Box(np.inf), "epsilon must be non-negative and finite"),
        (lambda: Box("wide"), "epsilon must be non-negative and finite, got 'wide'"),
        (lambda: Ball(-1), "radius must be non-negative and finite, got -1"),
        (lambda: Ball(np.array([1.0, -1.0])), "radius must be non-negative"),
        (lambda: Ball(np.array([1.0, np.nan])), "radius must be non-negative"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_resolved_parameters_hold_the_noise():
    rng = np.random.default_rng(6)
    noise = 0.3 * rng.normal(size=(500, 20))
    noise[rng.uniform(size=noise.shape) < 0.3] = np.nan
    entries = as_entries(noise)
    ball = Ball().resolve(entries, lambda: 0.3)
    lengths = np.sqrt(np.nansum(noise**2, axis=1))
    assert np.mean(lengths <= ball.radius) == pytest.approx(0.95, abs=0.03)
    # Half the tables of that size lie wholly within the box.
    width = Box().resolve(entries, lambda: 0.3).epsilon
    n_seen = entries.mask.sum()
    largest = [0.3 * np.abs(rng.normal(size=n_seen)).max() for _ in range(300)]
    assert np.mean(np.array(largest) <= width / 2) == pytest.approx(0.5, abs=0.1)
    assert Box(1.0).resolve(entries, lambda: 9.0) == Box(1.0)


def test_names_and_parameters():
    for name, kind in FIDELITIES.items():
        assert type(as_fidelity(name)) is kind
    with pytest.raises(ValueError, match="unknown fidelity 'huber'") as caught:
        as_fidelity("huber")
    assert all(repr(name) in str(caught.value) for name in FIDELITIES)
    radii = np.array([1.0, 2.0])
    assert Ball(radii) == Ball(radii.copy()) == clone(Ball(radii))
    assert Ball(radii) != Ball(1.0) != Box(1.0)
    assert Box(1.0).set_params(epsilon=2.0) == Box(2.0)
    assert hash(Ball(radii)) == hash(Ball(radii.copy()))
    assert hash(Ball()) == hash(Ball())
    with pytest.raises(ValueError, match="epsilon"):
        Box(1.0).set_params(epsilon=-2.0)
