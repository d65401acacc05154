"""What the paper claims of its method, and what its authors' settings give."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fusewise.datasets import hide_entries, load_wine_subset, make_clusters
from fusewise.fidelity import Box
from fusewise.fusion import fuse, fusion_path
from fusewise.penalties import H1


class TestWine:
    """The authors' 120 wines at their published settings.

    Their sigma = 0.06 and lambda = 0.02 ... 0.1 act on mean squared distances: in ours sigma = 0.06 sqrt(13/2) and
    lam = 13/2 lambda; pairs with fewer than 4 common entries get no weight.
    """

    LAMS = 13 / 2 * np.linspace(0.02, 0.1, 5)
    SIGMA = 0.06 * np.sqrt(13 / 2)

    def scores(self, fraction, seed=None):
        X, y = load_wine_subset()
        path = fusion_path(
            hide_entries(X, fraction, random_state=seed), lams=self.LAMS, penalty=H1(self.SIGMA), min_overlap=4
        )
        return path, np.array([adjusted_rand_score(y, labels) for labels in path.labels])

    def test_complete(self):
        path, scores = self.scores(0.0)
        assert path.n_clusters.tolist() == [3] * len(self.LAMS)
        assert scores.tolist() == [1.0] * len(self.LAMS)

    @pytest.mark.parametrize(("fraction", "least"), [(0.3, 0.95), (0.5, 0.70)])
    def test_with_holes_over_ten_masks(self, fraction, least):
        scores = np.array([self.scores(fraction, seed)[1] for seed in range(10)])
        assert np.all(scores.mean(axis=0) >= least), "at every lam of the path"


@pytest.fixture(scope="module")
def simulated():
    """The table, its groups, their true centres, and the means of the groups."""
    X, y, centers = make_clusters(3, 200, 50, noise=0.1, random_state=0)
    return X, y, centers, np.array([X[y == k].mean(axis=0) for k in range(3)])


class TestComparisonOfPenalties:
    """Three clusters of 200 in R^50, centres uniform in the unit cube, noise of standard deviation 0.1, complete."""

    @staticmethod
    def spread_and_gap(centers, y):
        """Largest distance of a centre from its group's mean, and least distance between two group means."""
        means = np.array([centers[y == k].mean(axis=0) for k in range(3)])
        gaps = [np.linalg.norm(means[a] - means[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
        return np.linalg.norm(centers - means[y], axis=1).max(), min(gaps)

    def test_h1_recovers_the_groups_and_their_centres(self, simulated):
        X, y, centers, means = simulated
        _, true_gap = self.spread_and_gap(means[y], y)
        for solution in fusion_path(X, lams=[0.1, 0.3, 1.0], penalty=H1(0.5)):
            assert adjusted_rand_score(y, solution.labels) == 1.0
            error = np.linalg.norm(solution.centers - centers[y], axis=1).mean()
            assert error <= 1.05 * np.linalg.norm(means[y] - centers[y], axis=1).mean()
            spread, gap = self.spread_and_gap(solution.centers, y)
            assert gap == pytest.approx(true_gap, rel=1e-3)
            assert spread < 0.01 * gap


class TestConstrainedForm:
    """Two clusters of M in R^50, uniform noise of width epsilon = kappa |c_1 - c_2| / sqrt(P), a share p0 observed."""

    TRIALS = 20

    @staticmethod
    def succeeds(kappa, size, p0, seed):
        rng = np.random.RandomState(seed)
        centers = rng.uniform(size=(2, 50))
        distance = np.linalg.norm(centers[0] - centers[1])
        epsilon = kappa * distance / np.sqrt(50)
        X, y, _ = make_clusters(2, size, noise=epsilon, distribution="uniform", centers=centers, random_state=rng)
        X = hide_entries(X, 1 - p0, random_state=rng)
        solution = fuse(X, penalty=H1(0.15 * distance), fidelity=Box(epsilon), tol=1e-4, max_iter=200)
        offset = np.abs(np.where(np.isnan(X), 0, solution.centers - X))
        assert offset.max() <= epsilon / 2 + 1e-9
        return adjusted_rand_score(y, solution.labels) == 1.0

    # The corners of "kappa 0.4, M >= 25, p0 >= 0.3" and "kappa 1.1, M in {6, 25, 100}, p0 >= 0.5".
    @pytest.mark.filterwarnings("ignore:not converged", "ignore:column")
    @pytest.mark.parametrize(
        ("kappa", "size", "p0", "least"),
        [
            (0.4, 25, 0.3, 1.0),
            (0.4, 25, 1.0, 1.0),
            (0.4, 100, 0.3, 1.0),
            (1.1, 6, 0.5, 0.95),
            (1.1, 25, 0.5, 0.95),
            (1.1, 100, 0.5, 0.95),
            (1.1, 6, 1.0, 0.95),
        ],
    )
    def test_success_rates(self, kappa, size, p0, least):
        wins = [self.succeeds(kappa, size, p0, seed) for seed in range(self.TRIALS)]
        assert np.mean(wins) >= least
