"""The confidence that an outlier is one."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from fusewise import FusionClustering
from fusewise.automatic._choice import outlier_confidence


def test_it_is_one_minus_the_adjusted_p_value():
    rng = np.random.default_rng(0)
    tails = np.concatenate([rng.random(300), rng.random(10) * 1e-3])
    far = tails < 0.01
    found = outlier_confidence(tails[far], np.sort(tails[far]), len(tails))
    # Adjusted p-values (Benjamini and Hochberg) look at all rows; those beyond the level cannot lower them here.
    np.testing.assert_allclose(found, 1 - false_discovery_control(tails)[far])


def test_new_rows_are_compared_with_those_of_the_fit():
    known = np.array([1e-6, 1e-3])
    # Further than all: 100 * 1e-8 / 1; between: 100 * 5e-4 / 1 = 0.05, as the second row has (0.1 / 2); 0.2 / 2.
    np.testing.assert_allclose(outlier_confidence(np.array([1e-8, 5e-4, 2e-3]), known, 100), [1 - 1e-6, 0.95, 0.9])


@pytest.fixture(scope="module")
def contaminated():
    """400 rows of one Student-t cluster, and 20 strays."""
    rng = np.random.default_rng(0)
    heavy = rng.normal(size=(400, 4)) / np.sqrt(rng.chisquare(5, size=(400, 1)) / 5)
    return np.vstack([heavy, rng.uniform(-40, 40, size=(20, 4))])


def test_strays_are_sure_and_rows_in_a_tail_are_not(contaminated):
    model = FusionClustering().fit(contaminated)
    out = model.labels_ < 0
    assert out[400:].mean() > 0.8
    assert np.median(model.confidence_[400:][out[400:]]) > 0.95
    assert model.probabilities_.max(axis=1)[out].min() == 1  # the only cluster, which they are not in


def test_a_row_is_an_outlier_if_that_is_likelier_than_not():
    """Of 4000 rows of the model's own distribution about 40 are as far out as one in a hundred is: no outliers."""
    rows = np.random.default_rng(0).standard_t(5, (4000, 1))
    alone = FusionClustering(random_state=0).fit(rows)
    assert alone.n_clusters_ == 1
    assert (alone.labels_ < 0).mean() < 0.002
    strays = FusionClustering(random_state=0).fit(np.vstack([rows, np.geomspace(20, 2000, 40)[:, None]]))
    assert (strays.labels_[4000:] < 0).mean() > 0.8
    # Beyond a point of the tail there are more strays than rows: only there are rows lost.
    assert (strays.labels_[:4000] < 0).sum() < (strays.labels_[4000:] < 0).sum()
    assert strays.confidence_[strays.labels_ < 0].min() > 0.5


def test_predicted_rows_have_the_confidence_of_the_fit(contaminated):
    model = FusionClustering().fit(contaminated)
    np.testing.assert_array_equal(model.predict_confidence(contaminated), model.confidence_)
    blank = np.full((1, 4), np.nan)
    assert model.predict_confidence(blank) == 0
