"""What the authors' settings give on their table."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fusewise.datasets import hide_entries, load_wine_subset
from fusewise.fusion import fusion_path
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
