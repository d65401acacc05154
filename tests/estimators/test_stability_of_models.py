"""``FusionClustering.stability``: what is stable, and what is not."""

import _thread
import signal
import warnings

import numpy as np
import pytest

import fusewise
from fusewise import FusionClustering
from fusewise.datasets import hide_entries, make_clusters
from fusewise.progress import listening


@pytest.fixture(scope="module")
def blobs():
    X, _, _ = make_clusters(3, 30, 6, noise=0.05, random_state=0)
    return hide_entries(X, 0.1, random_state=1)


def test_separate_clusters_are_highly_stable(blobs):
    model = FusionClustering().fit(blobs)
    found = model.stability(n_draws=6)
    assert (found.clusters > 0.85).all()
    assert next(iter(found.n_clusters)) == 3
    assert np.mean(found.rows) > 0.95
    assert found.hidden == pytest.approx(0.1, abs=0.01)
    assert model.stability_ is found
    assert np.mean(found.confidence) > 0.9


def test_cuts_of_one_gaussian_are_not_stable():
    """On average over clusters and tables; the largest part of any cut overlaps with the largest of another."""
    means, small = [], []
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(150, 5))
        found = FusionClustering(n_clusters=3).fit(X).stability(n_draws=4)
        assert found.n_clusters == {3: 4}  # the settings are kept
        assert found.hidden == 0  # a complete table stays complete
        means.append(found.clusters.mean())
        small.append(found.clusters[1:].max())
    assert np.mean(means) < 0.6
    assert np.mean(small) < 0.6


def test_half_the_rows_count_twice():
    """Two clusters that 60 rows support, but 30 rows alone do not: the draws have as much evidence as the table."""
    halves = draws = 0
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 2)) + np.repeat([[0, 0], [4, 0]], 30, axis=0)
        model = FusionClustering().fit(X)
        assert model.n_clusters_ == 2
        halves += sum(FusionClustering().fit(X[rng.permutation(60)[:30]]).n_clusters_ == 2 for _ in range(12))
        draws += model.stability(n_draws=12).n_clusters.get(2, 0)
    assert draws > halves + 3


def test_the_result_depends_on_the_seed_and_not_on_the_threads(blobs):
    X = hide_entries(blobs, 0.3, random_state=0)
    first, again, other = (
        FusionClustering(random_state=seed).fit(X).stability(n_draws=3, n_jobs=jobs)
        for seed, jobs in ((0, 1), (0, 3), (1, 1))
    )
    np.testing.assert_array_equal(first.clusters, again.clusters)
    np.testing.assert_array_equal(first.confidence, again.confidence)
    assert not np.array_equal(first.confidence, other.confidence)


def test_progress_is_reported_and_an_interruption_keeps_the_draws_done(blobs):
    model, steps = FusionClustering().fit(blobs), []

    def interrupt(stage, iteration=0, total=None, **values):
        steps.append((stage, iteration, total))
        if iteration == 2:
            _thread.interrupt_main()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored in the background
    try:
        with listening(interrupt), pytest.warns(match=r"interrupted after \d+ of 200 draws"):
            found = model.stability(n_draws=200, n_jobs=2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert steps[0] == ("fitting draws", 0, 200)
    assert 2 <= found.n_draws < 200
    assert sum(found.n_clusters.values()) == found.n_draws


def test_warnings_of_the_fit_are_not_repeated(blobs):
    X = blobs.copy()
    X[:2] = np.nan
    with pytest.warns(fusewise.DataWarning):
        model = FusionClustering(n_clusters=3).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model.stability(n_draws=2)
    assert np.isnan(found.rows[:2]).all()
    assert not np.isnan(found.rows[2:]).any()


def test_saved_with_the_model_and_forgotten_by_a_new_fit(blobs, tmp_path):
    model = FusionClustering(n_clusters=3).fit(blobs)
    found = model.stability(n_draws=2)
    model.save(tmp_path / "model.fusewise")
    again = fusewise.load(tmp_path / "model.fusewise")
    np.testing.assert_array_equal(again.stability_.clusters, found.clusters)
    assert again.stability_.n_clusters == {3: 2}
    np.testing.assert_array_equal(again.stability(n_draws=2).rows, found.rows)  # the table is saved, too
    assert not hasattr(model.fit(blobs), "stability_")


def test_impossible_requests_are_refused(blobs):
    model = FusionClustering(n_clusters=3).fit(blobs)
    with pytest.raises(ValueError, match="n_draws must be at least 1"):
        model.stability(n_draws=0)
    with pytest.raises(ValueError, match="half of the 5 rows, which is too few for n_clusters=3"):
        FusionClustering(n_clusters=3).fit(blobs[:5]).stability()


def test_stability_keeps_the_hints_on_the_rows_drawn():
    """Two halves of one Gaussian are no clusters, unless labels say so."""
    X = np.random.default_rng(0).normal(size=(120, 3))
    t = np.where(np.arange(120) % 3 == 0, X[:, 0] > 0, -1)
    assert set(FusionClustering().fit(X).stability(4, n_jobs=1).n_clusters) == {1}
    model = FusionClustering(semi_supervised=True).fit(X, t)
    assert min(model.stability(4, n_jobs=1).n_clusters) >= 2
