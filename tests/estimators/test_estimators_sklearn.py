"""scikit-learn's own checks of an estimator's conduct."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from fusewise import FusionClustering, FusionImputer


@parametrize_with_checks([FusionClustering(), FusionImputer()])
def test_conduct(estimator, check):
    check(estimator)
