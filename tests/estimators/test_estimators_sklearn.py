"""scikit-learn's own checks of an estimator's conduct."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from fusewise import FusionClustering, FusionImputer, PenalizedFusion

#: Two checks take whatever has ``predict_proba`` for a classifier of four classes, as soon as it accepts sparse tables.
WHY = "asks for the tags of a classifier, which a clusterer does not have"


def expected_failures(estimator):
    checks = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")
    return dict.fromkeys(checks, WHY) if isinstance(estimator, FusionClustering) else {}


@parametrize_with_checks(
    [FusionClustering(), FusionImputer(), PenalizedFusion()], expected_failed_checks=expected_failures
)
def test_conduct(estimator, check):
    check(estimator)
