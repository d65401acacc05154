"""Tables too large to be made dense or read whole: the same results, held in less."""

import gc
import pickle
import weakref

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import fusewise
from fusewise import DataWarning, FusionClustering, FusionImputer, PenalizedFusion
from fusewise.automatic import _sample as sample
from fusewise.automatic._evidence import Evidence
from fusewise.automatic._rows import fit_axes
from fusewise.datasets import hide_entries, make_clusters
from fusewise.observations import (
    ArrayBlocks,
    SparseEntries,
    StreamedEntries,
    as_entries,
)
from fusewise.observations import _conversion as reading
from fusewise.observations import _streamed as blocks


@pytest.fixture
def large(monkeypatch):
    """Every table counts as large; rows are read forty at a time."""
    monkeypatch.setattr(reading, "DENSE_ENTRIES", 0)
    monkeypatch.setattr(blocks, "READ_ENTRIES", 400)


def clusters(hidden=0.3, dtype=float):
    X, y, _ = make_clusters(3, [60, 40, 30], 10, noise=0.1, random_state=0)
    if dtype is complex:
        X = X + 1j * make_clusters(3, [60, 40, 30], 10, noise=0.1, random_state=1)[0]
    X = hide_entries(X, hidden, random_state=0)
    X[5] = np.nan if dtype is not complex else complex(np.nan, np.nan)
    X[9] = 30.0  # far from everything
    return X.astype(dtype), y


def stored(X):
    seen = ~np.isnan(X)
    return sparse.csr_matrix((X[seen], np.nonzero(seen)), X.shape)


def tastes(n, p, per_row, k=3, seed=0):
    """Rows of k tastes, each seen in few columns: the sparse table and the truth."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    ends = np.repeat(np.arange(n), per_row), rng.integers(p, size=n * per_row)
    X = sparse.coo_matrix((np.ones(n * per_row), ends), (n, p)).tocsr()  # sums duplicates
    centers = 2 * rng.normal(size=(k, p))
    rows = np.repeat(np.arange(n), np.diff(X.indptr))
    X.data = 3 + centers[y[rows], X.indices] + rng.normal(size=X.nnz)
    return X, y


def same(model, wanted, X, given):
    np.testing.assert_array_equal(model.labels_, wanted.labels_)
    np.testing.assert_allclose(model.probabilities_, wanted.probabilities_, atol=1e-3)  # the tolerance of EM
    np.testing.assert_allclose(model.cluster_centers_, wanted.cluster_centers_, atol=1e-4)
    np.testing.assert_allclose(model.fused_, wanted.fused_, atol=1e-3)
    assert model.fused_.dtype == wanted.fused_.dtype
    with pytest.warns(DataWarning, match="row 5 has no observed entry"):
        np.testing.assert_array_equal(model.predict(given), wanted.predict(X))
    np.testing.assert_allclose(model.transform(given), wanted.transform(X), atol=1e-4)
    assert model.score(given) == pytest.approx(wanted.score(X), rel=1e-4)


@pytest.mark.filterwarnings("ignore:row 5 has no observed entry")
class TestTheSameResults:
    @pytest.mark.parametrize("dtype", [float, np.float32, complex])
    def test_sparse(self, request, dtype):
        X, _ = clusters(dtype=dtype)
        wanted = FusionClustering().fit(X)
        request.getfixturevalue("large")
        model = FusionClustering().fit(stored(X))
        assert isinstance(model.observations_, SparseEntries)
        same(model, wanted, X, stored(X))

    @pytest.mark.parametrize("dtype", [float, np.float32, complex])
    def test_memory_mapped(self, request, tmp_path, dtype):
        X, _ = clusters(dtype=dtype)
        wanted = FusionClustering().fit(X)
        request.getfixturevalue("large")
        np.save(tmp_path / "x.npy", X)
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
        model = FusionClustering().fit(mapped)
        assert isinstance(model.observations_, StreamedEntries)
        same(model, wanted, X, mapped)

    def test_a_sample_of_the_rows(self, request, monkeypatch):
        monkeypatch.setattr(sample, "SAMPLE", 80)
        monkeypatch.setattr(sample, "ENTRIES_PER_COLUMN", 80)  # of which a column has 56 in 80 rows
        X, _ = clusters()
        wanted = FusionClustering().fit(X)
        assert wanted.path_.evidence.shape[0] == len(wanted.path_.rows) == 80
        request.getfixturevalue("large")
        for given in (stored(X), ArrayBlocks(X)):
            same(FusionClustering().fit(given), wanted, X, given)

    def test_the_papers_algorithm_takes_the_table_whole(self, request):
        X, _ = clusters()
        plain = PenalizedFusion(0.5, penalty="h1")
        wanted = plain.fit(X).labels_
        request.getfixturevalue("large")
        for given in (stored(X), ArrayBlocks(X)):
            np.testing.assert_array_equal(plain.fit(given).labels_, wanted)


class TestNearlyEmpty:
    def test_columns_are_fitted_to_more_rows_than_the_sample(self, monkeypatch):
        # In 500 rows a column has 12 entries, too few for its six loadings; in all 6000 it has 150.
        monkeypatch.setattr(sample, "SAMPLE", 500)
        X, y = tastes(6000, 200, 5)
        model = FusionClustering().fit(X)
        assert model.n_clusters_ == 3
        assert adjusted_rand_score(y, model.labels_) > 0.9
        assert len(model.path_.rows) == 500


@pytest.mark.filterwarnings("ignore:row 5 has no observed entry")
@pytest.mark.usefixtures("large")
class TestWhatIsKept:
    @pytest.mark.parametrize("given", [stored, ArrayBlocks])
    def test_saved_and_copied(self, tmp_path, given):
        X, _ = clusters()
        model = FusionClustering().fit(given(X))
        model.save(tmp_path / "m")
        for back in (fusewise.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(back.predict(given(X)), model.labels_)
            np.testing.assert_array_equal(back.observations_.column_means, model.observations_.column_means)
            if given is stored:
                np.testing.assert_array_equal(back.fused_, model.fused_)
            else:  # the outlier's own place is in a row that stayed where it was
                with pytest.raises(ValueError, match="do not include their table on disk"):
                    _ = back.fused_

    @pytest.mark.parametrize("given", [stored, ArrayBlocks])
    def test_what_does_not_fit_is_said(self, monkeypatch, given, tmp_path):
        X, _ = clusters()
        model = FusionClustering().fit(given(X))
        imputer = FusionImputer().fit(given(X))
        monkeypatch.setattr("fusewise.observations._checks.available_memory", lambda: 2000)
        with pytest.raises(MemoryError, match=r"fused_ .* needs .* \(130 x 10 numbers\)"):
            _ = model.fused_
        for needs_all in (imputer.transform, PenalizedFusion(0.5, penalty="h1").fit):
            with pytest.raises(MemoryError, match="130 x 10 numbers"):
                needs_all(given(X))
        with pytest.raises(MemoryError, match="130 x 10 numbers"):
            model.report(tmp_path / "r.html")
        assert "labels_" in dir(model)  # which asks for every attribute of the class

    @pytest.mark.parametrize("given", [stored, ArrayBlocks])
    def test_some_rows_are_filled_from_the_clusters(self, given):
        X, _ = clusters()
        rows = np.arange(20, 50)
        imputer = FusionImputer().fit(given(X))
        assert imputer.fill_ == "clusters"
        assert imputer.held_out_error_ == {}
        filled, holes = imputer.transform(given(X[rows])), np.isnan(X[rows])
        np.testing.assert_array_equal(filled[~holes], X[rows][~holes])
        truth = make_clusters(3, [60, 40, 30], 10, noise=0.1, random_state=0)[0][rows]
        # the noise is 0.1: none could do better
        assert np.sqrt(np.mean((filled - truth)[holes] ** 2)) < 0.15


def test_what_is_known_of_a_block_of_rows_is_let_go_of_with_it():
    """A cycle would hold on to the blocks of a large table until the garbage collector comes by."""
    table = as_entries(hide_entries(np.random.default_rng(0).standard_normal((300, 4)), 0.3, random_state=0))
    evidence = Evidence.of(fit_axes(table, 2), table)
    gc.disable()
    try:
        evidence.seen_from(np.zeros((1, 2)), np.eye(2)[None])
        assert len(evidence.together.order) == 300
        held = weakref.ref(evidence)
        del evidence
        assert held() is None
    finally:
        gc.enable()
