"""Each figure's numbers against another route, and each verdict against results made up for it."""

import itertools

import numpy as np
import pytest

from fusewise.exact import solve_l0
from fusewise.mri import radial_mask
from fusewise.reproduce import (
    STUDIES,
    _fig2_fig3_penalties,
    _fig4_guarantees,
    _fig5_success,
    _fig6_simulated,
    _fig7_wine,
    _fig8_mri,
)
from fusewise.reproduce._drawing import TRIANGLE, designed_pair, triangle_centers
from fusewise.reproduce._study import Outcomes


class TestTables:
    def test_triangle(self):
        centers = triangle_centers(50, seed=3)
        sides = [np.linalg.norm(centers[a] - centers[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
        assert sides == pytest.approx(TRIANGLE)

    @pytest.mark.parametrize("case", [_fig5_success.EASY, _fig5_success.HARD], ids=["easy", "hard"])
    def test_designed_pair_has_the_papers_geometry(self, case):
        """kappa = epsilon sqrt(P) / delta and mu0, by going over all pairs of fresh points."""
        centers, epsilon = designed_pair(**case)
        rng = np.random.default_rng(5)
        clouds = [center + rng.uniform(-epsilon / 2, epsilon / 2, (100, 50)) for center in centers]
        gaps = [a - b for a, b in itertools.product(*clouds)]
        delta = min(np.linalg.norm(gap) for gap in gaps)
        width = max(np.ptp(cloud, axis=0).max() for cloud in clouds)
        assert width * np.sqrt(50) / delta == pytest.approx(case["kappa"], rel=0.05)
        mu = max(50 * np.abs(gap).max() ** 2 / np.linalg.norm(gap) ** 2 for gap in gaps)
        assert mu == pytest.approx(case["mu0"], rel=0.1)


def outcomes(study, result, fractions=None):
    """Those of a quick run whose trials give `result` for their settings, at some of its fractions observed."""
    trials = [trial for trial in study.plan(True) if fractions is None or trial.settings["p0"] in fractions]
    results = ({name: np.asarray(value) for name, value in result(trial.settings).items()} for trial in trials)
    return Outcomes(trials, list(results))


MAP = {"points": np.zeros((3, 2)), "centers": np.zeros((3, 2)), "truth": np.arange(3)}


def test_all_figures_of_the_paper_with_a_claim():
    assert list(STUDIES) == [f"fig{k}" for k in range(2, 9)]


def test_h1_recovers_the_groups_and_their_centres():
    found = _fig2_fig3_penalties.trial("h1", seed=0)
    assert found["ari"] == [1.0] * 3
    np.testing.assert_allclose(found["gap"], 1, rtol=1e-3)


def test_fig2_reports():
    found = STUDIES["fig2"].report(Outcomes([], []))
    assert [claim.verdict for claim in found.claims] == ["agrees"]
    # Mean of |t - 1| over [0, 2].
    assert ["b", "p = 1", "0.500"] in [list(row) for row in found.tables[0].rows]


class TestFigure4:
    @pytest.mark.parametrize(("case", "size"), [("noiseless", 3), ("uniform", 4)])
    def test_beaten_means_beaten(self, case, size):
        """Where a point can join the other cluster, the exact solver finds a partition better than the true one."""
        rng = np.random.RandomState(0)
        beaten = 0
        for _ in range(60):
            table = _fig4_guarantees.draw(case, size, rng)
            table = table[:, 8:12] if case == "noiseless" else table  # two features that separate, two that do not
            table[rng.uniform(size=table.shape) >= (0.6 if case == "noiseless" else 1.0)] = np.nan
            if np.isnan(table).all(axis=1).any():
                continue  # the solver leaves out a row that could join any group
            best, truth = (2 * size) ** 2 - solve_l0(table, 1.0).objective, 2 * size**2
            if _fig4_guarantees.truth_is_beaten(table, size):
                beaten += 1
                assert best > truth
            else:
                assert best >= truth
        assert 5 < beaten < 60

    def test_limit_of_uniform_clusters(self):
        """Two independent events of probability 1/2: 3/4 for many points."""
        failed = _fig4_guarantees.trial("uniform", 2000, 1.0, draws=1500, seed=1)["failed"]
        assert failed == pytest.approx(0.75, abs=0.04)

    def test_the_table_has_the_geometry_of_figure_5(self):
        """kappa and mu0 by going over all pairs of points of different clusters."""
        table = _fig4_guarantees.draw("fig5", 20, np.random.RandomState(0))
        gaps = np.array([a - b for a, b in itertools.product(table[:20], table[20:])])
        squares = np.square(gaps).sum(axis=1)
        width = max(np.ptp(half, axis=0).max() for half in (table[:20], table[20:]))
        assert width * np.sqrt(50 / squares.min()) == pytest.approx(0.39)
        assert (50 * np.square(gaps).max(axis=1) / squares).max() <= 2.3
        assert (np.abs(gaps) > width).sum(axis=1).tolist() == [21] * len(gaps)

    @pytest.mark.parametrize(("failed", "verdicts"), [(0.5, "differs"), (0.0, "agrees")])
    def test_verdicts_follow_the_simulations(self, failed, verdicts):
        claims = _fig4_guarantees.report(outcomes(_fig4_guarantees.STUDY, lambda _: {"failed": failed})).claims
        assert [claim.verdict for claim in claims[1:]] == [verdicts] * 3


class TestFigure5:
    @staticmethod
    def report(rate):
        return _fig5_success.report(outcomes(_fig5_success, lambda settings: {"success": rate(settings)}))

    def test_rates_that_dominate(self):
        found = self.report(lambda settings: 1.0)
        assert [claim.verdict for claim in found.claims] == ["agrees"] * 3
        assert len(found.tables[0].rows) == 50

    def test_one_cell_below_the_bound_is_named(self):
        def rate(settings):
            return 0.0 if (settings["size"], settings["p0"]) == (25, 0.8) else 1.0

        claim = self.report(rate).claims[0]
        assert claim.verdict == "differs"
        assert "in 49 of 50 cells" in claim.measured
        assert "M = 25, p0 = 0.8: 0.00 < 1.00" in claim.measured

    @pytest.mark.parametrize(
        ("case", "size", "p0"),
        [
            (_fig5_success.EASY, 25, 0.4),
            (_fig5_success.EASY, 100, 0.4),
            (_fig5_success.HARD, 6, 1.0),
            (_fig5_success.HARD, 25, 0.8),
        ],
    )
    def test_every_run_succeeds(self, case, size, p0):
        assert all(_fig5_success.trial(**case, size=size, p0=p0, seed=seed)["success"] for seed in range(10))


class TestFigure6:
    @staticmethod
    def outcomes(ari, fractions=(1.0, 0.8, 0.6, 0.4, 0.2)):
        plain = {"bayes": 1.0, "share": 0.5, "n_clusters": 3, **MAP}
        return outcomes(_fig6_simulated, lambda settings: {"ari": ari(settings), **plain}, fractions)

    def test_all_as_the_paper_says(self):
        def ari(settings):
            loss = 0.2 if "zero" in settings["scheme"] else 0.1 if settings["scheme"].startswith("constr") else 0.0
            return 1 - (loss + (0.02 if settings["dataset"] == "Dataset-2" else 0.0)) * (settings["p0"] < 0.5)

        assert [c.verdict for c in _fig6_simulated.judge(self.outcomes(ari))] == ["agrees"] * 5

    def test_all_against_it(self):
        def ari(settings):
            good = settings["scheme"] == "constrained, zero-filled" or settings["dataset"] == "Dataset-2"
            return 0.8 if good else 0.1

        assert [c.verdict for c in _fig6_simulated.judge(self.outcomes(ari))] == ["differs"] * 5

    def test_pictures_and_numbers(self):
        found = _fig6_simulated.report(self.outcomes(lambda settings: 0.5, fractions=(1.0,)))
        assert len({picture.file for picture in found.pictures}) == 5
        assert len(found.tables[0].rows) == 2 * 2 * 6

    def test_a_small_trial(self):
        settings = {"reading": "deviation 0.1", "dataset": "Dataset-1", "p0": 0.8, "size": 15, "seed": 0}
        found = _fig6_simulated.trial(scheme=_fig6_simulated.SCHEMES[0], **settings)
        assert found["ari"] == 1
        assert found["bayes"] == 1
        assert 0 < found["share"] <= 1
        assert found["points"].shape == found["centers"].shape == (45, 2)


class TestFigure7:
    @pytest.mark.parametrize(("last", "expected"), [(0.8, "agrees"), (0.2, "agrees in part")])
    def test_the_verdict_follows_the_steepest_fall(self, last, expected):
        def result(settings):
            return {"ari": last if settings["fraction"] == 0.6 else 1.0, "n_clusters": 3, **MAP}

        (claim,) = _fig7_wine.report(outcomes(_fig7_wine, result)).claims
        assert claim.verdict == expected


def test_fig8_samples_about_five_percent():
    for quick in (True, False):
        settings = _fig8_mri.plan(quick)[0].settings
        size, lines = settings["size"], (settings["golden"], settings["navigators"])
        assert 0.045 < radial_mask(settings["frames"], (size, size), *lines).mean() < 0.055
    assert settings["frames"] == 1000


def test_fig8_reports_a_small_series():
    trial = _fig8_mri.plan(True)[0]
    settings = {"frames": 40, "size": 24, "golden": 3, "navigators": 2, "seed": 0}
    result = {name: np.asarray(value) for name, value in _fig8_mri.trial(**settings).items()}
    zero, fused, ours = result["ser"]
    assert zero < fused
    assert zero < ours
    assert result["fused"].shape == result["truth"].shape == (6, 24, 24)
    found = _fig8_mri.report(Outcomes([trial], [result]))
    assert f"{ours:.1f} dB" in found.claims[0].measured
