"""The contract of every penalty in the registry, against finite differences, formulas and limits."""

import numpy as np
import pytest
from sklearn.base import clone

from fusewise.fusion import PENALTIES, as_penalty
from fusewise.penalties import H1, L0, L1, MCP, SCAD, GemanMcClure, Lp, Penalty, TruncatedL2

SCALES = (0.05, 1.0, 7.0)

#: Several parameters of each penalty; the test below keeps it in step with the registry.
EXAMPLES: dict[str, list[Penalty]] = {
    "l1": [L1(), L1(smoothing=0.1)],
    "lp": [Lp(p, smoothing=e) for p, e in ((0.1, 1e-3), (0.5, 1e-4), (0.9, 0.1))],
    "h1": [H1(), *map(H1, SCALES)],
    "mcp": [MCP(), *map(MCP, SCALES), MCP(1.0, smoothing=0.2)],
    "scad": [SCAD(), *map(SCAD, SCALES), SCAD(2.0, a=2.1, smoothing=0.1)],
    "truncated_l2": [TruncatedL2(), *map(TruncatedL2, SCALES)],
    "geman_mcclure": [GemanMcClure(), *map(GemanMcClure, SCALES)],
}
WEIGHTED = [penalty for some in EXAMPLES.values() for penalty in some]
SATURATING = [H1, MCP, SCAD, TruncatedL2, GemanMcClure]

every_penalty = pytest.mark.parametrize("penalty", WEIGHTED, ids=repr)


def grid(penalty: Penalty) -> np.ndarray:
    """Distances from far inside the smoothing to far beyond the reach."""
    unit = penalty.reach or 1.0
    return np.concatenate([[0.0], unit * np.geomspace(1e-5, 50, 60)])


def test_examples_cover_the_registry():
    assert set(EXAMPLES) == {name for name, kind in PENALTIES.items() if kind.has_weight}
    assert all(type(penalty) is PENALTIES[name] for name, some in EXAMPLES.items() for penalty in some)


@every_penalty
def test_weight_is_half_the_slope_over_t(penalty):
    t = grid(penalty)[1:]
    if penalty.reach:  # 1 - (something near 1) leaves no digits to difference very near zero
        t = t[t >= 1e-3 * penalty.reach]
    if isinstance(penalty, TruncatedL2):  # its corner has no derivative
        t = t[np.abs(t / penalty.scale - 1) > 1e-3]
    h = 1e-4 * t
    slope = (penalty.value(t + h) - penalty.value(t - h)) / (2 * h)
    rounding = 1e-15 * (1.0 if penalty.reach else penalty.value(t)) / (2 * t * h)
    kinks = 2e-4 * penalty.weight(t)  # where the second derivative jumps (MCP, SCAD), and for the truncation
    assert np.all(np.abs(penalty.weight(t) - slope / (2 * t)) <= kinks + rounding)


@every_penalty
def test_the_quadratic_lies_above_and_touches(penalty):
    t, x = grid(penalty)[:, None], grid(penalty)[None, :]
    quadratic = penalty.value(t) + penalty.weight(t) * (x**2 - t**2)
    rounding = 1e-12 * (np.abs(quadratic) + penalty.weight(t) * t**2 + penalty.value(x)) + 1e-15
    assert np.all(quadratic >= penalty.value(x) - rounding)
    touching = np.diagonal(quadratic)
    np.testing.assert_allclose(touching, penalty.value(grid(penalty)), rtol=1e-12, atol=1e-15)


@every_penalty
def test_value_starts_at_zero_and_rises(penalty):
    values = penalty.value(grid(penalty))
    assert values[0] == 0
    assert np.all(np.diff(values) >= -1e-14 * values[1:])
    assert values.dtype == float


@every_penalty
def test_weight_is_real_finite_non_negative_and_non_increasing(penalty):
    weights = penalty.weight(grid(penalty))
    assert weights.dtype == float
    assert np.isfinite(weights).all()
    assert np.all(weights >= 0)
    assert np.all(np.diff(weights) <= 1e-12 * weights[:-1])
    assert weights[0] > 0, "nothing would ever fuse"


@pytest.mark.parametrize("kind", SATURATING)
@pytest.mark.parametrize("sigma", SCALES)
def test_saturating_penalties_reach_one_at_their_scale(kind, sigma):
    penalty = kind(sigma)
    assert penalty.value(1e3 * sigma) == pytest.approx(1, abs=1e-5)
    assert 0.2 < penalty.value(sigma) <= 1
    # A change of unit is a change of sigma.
    np.testing.assert_allclose(penalty.value(0.3 * sigma), kind(1.0).value(0.3), rtol=1e-12)
    np.testing.assert_allclose(penalty.weight(0.3 * sigma) * sigma**2, kind(1.0).weight(0.3), rtol=1e-12)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_lp_is_t_to_the_p_away_from_the_smoothing(p):
    t = np.geomspace(1e-2, 100, 30)
    np.testing.assert_allclose(Lp(p, smoothing=1e-6).value(t), t**p, rtol=1e-7)
    np.testing.assert_allclose(Lp(p, smoothing=1e-6).weight(t), p / 2 * t ** (p - 2), rtol=1e-6)
    assert Lp(p, smoothing=1e-3).weight(0.0) == pytest.approx(1e-3 ** (p - 2), rel=1e-12)


def test_h1_is_the_papers_formula():
    t = np.array([0.0, 0.1, 0.5, 2.0])
    np.testing.assert_allclose(H1(0.5).value(t), [0, 1 - np.exp(-0.02), 1 - np.exp(-0.5), 1 - np.exp(-8)], rtol=1e-12)
    np.testing.assert_allclose(H1(0.5).weight(t), 2 * np.exp(-2 * t**2), rtol=1e-12)


def test_the_other_formulas_of_their_docstrings():
    assert GemanMcClure(2.0).value(1.0) == pytest.approx(1 / 5)
    assert TruncatedL2(2.0).value(1.0) == pytest.approx(1 / 4)
    assert TruncatedL2(2.0).value(3.0) == 1
    assert MCP(2.0, smoothing=1e-8).value(1.0) == pytest.approx(3 / 4)
    # SCAD with a = 3 saturates at t = 3 with value 2: 0.5 at t = 1 and (12 - 4 - 1)/4 / 2 at t = 2.
    np.testing.assert_allclose(SCAD(3.0, a=3.0, smoothing=1e-8).value([1.0, 2.0, 3.0, 9.0]), [0.5, 0.875, 1, 1])


def test_l0_counts_and_has_no_weight():
    assert L0().value([0.0, 1e-300, 3.0]).tolist() == [0, 1, 1]
    with pytest.raises(TypeError, match=r"H1.*solve_l0"):
        L0().weight(1.0)
    with pytest.raises(TypeError, match="no weight"):
        L0().value_and_weight(np.ones(2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Lp(0), r"0 < p < 1, got p=0 "),
        (lambda: Lp(1), r"0 < p < 1, got p=1 .*L1"),
        (lambda: Lp(-0.3), r"0 < p < 1"),
        (lambda: Lp(np.nan), r"0 < p < 1"),
        (lambda: Lp(0.5, smoothing=0), "smoothing must be a positive number, got 0"),
        (lambda: L1(smoothing=-1.0), "smoothing must be a positive number, got -1.0"),
        (lambda: MCP(1.0, smoothing=0.0), "smoothing must be a positive number"),
        (lambda: SCAD(1.0, smoothing=np.nan), "smoothing must be a positive number"),
        (lambda: SCAD(1.0, a=2), r"a > 2, got a=2"),
        *[(lambda kind=kind: kind(0.0), "sigma must be a positive number, got 0.0") for kind in SATURATING],
        *[(lambda kind=kind: kind(-1), "sigma must be a positive number, got -1") for kind in SATURATING],
        *[(lambda kind=kind: kind(np.inf), "sigma must be a positive number") for kind in SATURATING],
        *[(lambda kind=kind: kind("wide"), "sigma must be a positive number, got 'wide'") for kind in SATURATING],
    ],
)
def test_parameters_out_of_range_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_names():
    for name, kind in PENALTIES.items():
        assert type(as_penalty(name)) is kind
        assert type(as_penalty(name.upper())) is kind
    mine = H1(0.3)
    assert as_penalty(mine) is mine
    with pytest.raises(ValueError, match="unknown penalty 'huber'") as caught:
        as_penalty("huber")
    assert all(repr(name) in str(caught.value) for name in PENALTIES)
    with pytest.raises(ValueError, match="unknown penalty"):
        as_penalty(H1)  # the class, not an object of it


@every_penalty
def test_parameters_travel(penalty):
    copy = clone(penalty)
    assert copy is not penalty
    assert copy == penalty
    assert hash(copy) == hash(penalty)
    name = "sigma" if penalty.reach else "smoothing"
    other = penalty.replace(**{name: 0.123})
    assert other != penalty
    assert other.get_params()[name] == 0.123
    assert penalty == copy, "replace must not change the original"
    assert copy.set_params(**{name: 0.123}) is copy
    assert copy == other


@pytest.mark.parametrize("sigma", [1e-108, 1e-60, 1e60, 1e108])
def test_scales_as_small_and_as_large_as_those_of_tables(sigma):
    """At t = sigma, Geman-McClure is 1/2 and its weight 1 / (4 sigma²), as sigma⁴ under- or overflows."""
    value, weight = GemanMcClure(sigma).value_and_weight(np.array([sigma**2]))
    np.testing.assert_allclose([value[0], weight[0] * sigma**2], [0.5, 0.25])
