"""Logistic regression with given odds, against scikit-learn's and against direct minimisation."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from fusewise.automatic.models.discriminant import fit_discriminant


def table(n=60, q=4, m=3, seed=0):
    """Rows, classes that depend on them, and given log-odds."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, q))
    classes = (rows @ rng.normal(size=(q, m)) + rng.gumbel(size=(n, m))).argmax(axis=1)
    return rows, classes, rng.normal(size=(n, m))


def loss(weights, intercepts, rows, classes, odds, strength):
    """The formula, as it stands."""
    logs = log_softmax(odds + rows @ weights + intercepts, axis=1)
    own = logs[np.arange(len(classes)), classes].sum()
    return -own + (weights**2).sum() / (2 * strength) + (intercepts**2).sum() / 2


def test_without_odds_it_is_the_regression_of_scikit_learn():
    rows, classes, odds = table()
    found = fit_discriminant(rows, classes, 0 * odds, 1.0)
    # A column of ones has the same ridge as an intercept, if the strength is one.
    peer = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8).fit(np.column_stack([rows, np.ones(60)]), classes)
    expected = peer.predict_log_proba(np.column_stack([rows, np.ones(60)]))
    np.testing.assert_allclose(found.log_classes(rows, 0 * odds), expected, atol=2e-3)


@pytest.mark.parametrize(("n", "q"), [(40, 3), (12, 30)])  # the latter within the span of the rows
def test_with_odds_it_minimises_the_loss(n, q):
    rows, classes, odds = table(n, q)
    found = fit_discriminant(rows, classes, odds, 0.3)

    def given(v):
        return loss(v[:-3].reshape(q, 3), v[-3:], rows, classes, odds, 0.3)

    best = minimize(given, np.zeros((q + 1) * 3), method="BFGS").fun
    assert loss(*found, rows, classes, odds, 0.3) == pytest.approx(best, rel=1e-4)


def test_without_strength_the_given_odds_stay():
    rows, classes, odds = table()
    found = fit_discriminant(rows, classes, odds, 0.0)
    np.testing.assert_allclose(found.log_classes(rows, odds), log_softmax(odds, axis=1))


def test_more_strength_explains_the_rows_better():
    rows, classes, odds = table()
    explained = [
        fit_discriminant(rows, classes, odds, s).log_classes(rows, odds)[np.arange(60), classes].sum()
        for s in (0.0, 0.01, 0.1, 1.0)
    ]
    assert np.all(np.diff(explained) > 0)
