"""Tables of Dask: the results of the same table in memory, and nothing of its length on the client."""

import pickle
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client

import fusewise
from fusewise import DataWarning, FusionClustering, FusionImputer
from fusewise.observations import DaskTable
from fusewise.support import InputError

pytestmark = pytest.mark.filterwarnings("ignore::fusewise.DataWarning")


@pytest.fixture
def in_turn():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def in_memory(table):
    """The model of the table in memory, fitted to a sample of 150 rows."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr("fusewise.automatic._sample.SAMPLE", 150)
        return FusionClustering(random_state=1).fit(table)


def agrees(model, whole, X):
    np.testing.assert_array_equal(np.asarray(model.labels_.compute()), whole.labels_)
    np.testing.assert_allclose(np.asarray(model.probabilities_.compute()), whole.probabilities_, atol=1e-8)
    np.testing.assert_allclose(model.cluster_centers_, whole.cluster_centers_, atol=1e-8)
    assert model.n_clusters_ == whole.n_clusters_ == 3
    np.testing.assert_allclose(np.asarray(model.transform(X).compute()), whole.transform(X.compute()), atol=1e-8)


class TestAsInMemory:
    @pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes", "distributed"])
    def test_on_every_scheduler(self, scheduler, table, in_memory):
        X = da.from_array(table, chunks=(100, 8))
        with ExitStack() as stack:
            if scheduler == "distributed":
                stack.enter_context(Client(processes=False, dashboard_address=None, n_workers=2, threads_per_worker=1))
            elif scheduler == "processes":  # started once, not for each pass
                pool = stack.enter_context(ProcessPoolExecutor(1, get_context("spawn")))
                stack.enter_context(dask.config.set(scheduler=scheduler, pool=pool))
            else:
                stack.enter_context(dask.config.set(scheduler=scheduler, num_workers=2))
            agrees(FusionClustering(random_state=1).fit(X), in_memory, X)

    @pytest.mark.usefixtures("in_turn")
    @pytest.mark.parametrize("chunks", [(360, 8), (7, 8), ((0, 5, 1, 0, 354), (1, 3, 4)), ((359, 1), 1)])
    def test_for_any_chunks(self, chunks, table, in_memory):
        X = da.from_array(table, chunks=chunks)
        model = FusionClustering(random_state=1).fit(X)
        agrees(model, in_memory, X)
        assert model.labels_.chunks == X.chunks[:1]
        assert model.predict_proba(X).chunks == (X.chunks[0], (3,))

    @pytest.mark.usefixtures("in_turn")
    def test_with_weights_of_columns(self, table):
        X = da.from_array(table[:120], chunks=(50, 8))
        weights = [2, 1, 1, 1, 0.5, 1, 1, 1]
        whole = FusionClustering(feature_weights=weights, random_state=1).fit(table[:120])
        agrees(FusionClustering(feature_weights=weights, random_state=1).fit(X), whole, X)
        absent = FusionClustering(feature_weights={"x0": 0})
        with pytest.raises(ValueError, match="not in memory takes no feature_weights of 0: leave these columns out"):
            absent.fit(X)
        with pytest.raises(ValueError, match="not in memory takes no feature_weights of 0"):
            absent.fit(table).predict(X)

    @pytest.mark.usefixtures("in_turn")
    def test_of_unknown_length(self, table, in_memory):
        padded = da.from_array(np.vstack([np.full((50, 8), 1e6), table]), chunks=(45, 8))
        X = padded[~(padded[:, 0] == 1e6)]
        assert np.isnan(X.chunks[0]).all()
        model = FusionClustering(random_state=1).fit(X)  # the first block is empty
        agrees(model, in_memory, X)
        assert model.observations_.shape == (360, 8)


@pytest.mark.usefixtures("in_turn")
class TestFrames:
    def test_levels_of_all_partitions(self, frame):
        frame = frame.sort_values("colour").set_axis(frame.index)  # a partition has only some of the levels
        own = [frame[begin : begin + 75] for begin in range(0, 300, 75)]
        assert own[0]["colour"].nunique() < 3
        X = dd.from_map(lambda part: part, own, meta=frame.iloc[:0])
        whole, model = (FusionClustering(random_state=1).fit(each) for each in (frame, X))
        assert model.encoder_.features == whole.encoder_.features
        assert whole.n_clusters_ >= 2
        found = model.labels_.compute()
        np.testing.assert_array_equal(found, whole.labels_)
        assert found.index.equals(frame.index)
        np.testing.assert_allclose(model.predict_proba(X).compute(), whole.probabilities_, atol=1e-8)

    def test_filled_with_the_dtypes_and_the_index_that_came_in(self, frame):
        X = dd.from_pandas(frame, npartitions=3)
        whole, model = (FusionImputer(random_state=1).fit(each) for each in (frame, X))
        filled = model.transform(X)
        assert filled.divisions == X.divisions
        came_in = X.compute().dtypes  # Dask keeps text in Arrow's arrays, whatever it was in
        assert came_in["colour"].storage == "pyarrow"
        assert (filled.dtypes == came_in).all()
        pd.testing.assert_frame_equal(filled.compute(), whole.transform(frame).astype(came_in))
        assert not filled.compute().isna().any().any()


@pytest.mark.usefixtures("in_turn")
class TestImputer:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_arrays(self, table, dtype):
        given = np.where(np.arange(8) < 6, table, np.round(table)).astype(dtype)  # two columns have a grid
        X = da.from_array(given, chunks=(100, 5))
        model = FusionImputer(random_state=1).fit(X)
        filled = model.transform(X)
        assert filled.dtype == filled.compute().dtype == dtype
        assert filled.chunks == ((100, 100, 100, 60), (8,))
        np.testing.assert_allclose(filled.compute(), model.transform(given), rtol=1e-5)
        seen = ~np.isnan(given)
        np.testing.assert_array_equal(filled.compute()[seen], given[seen])
        assert set(np.unique(filled.compute()[:, 6:])) <= set(np.unique(given[:, 6:][seen[:, 6:]]))


@pytest.mark.usefixtures("in_turn")
class TestErrorsAndBounds:
    @pytest.fixture
    def known(self, table):
        """The table with its lowest entries known to be below a limit, and some with errors."""
        limit = np.nanquantile(table, 0.3, axis=0)
        below = table < limit
        error = np.where(np.random.default_rng(1).random(table.shape) < 0.2, 0.1, 0.0)
        return np.where(below, np.nan, table), {"upper": np.where(below, limit, np.nan), "error": error}

    @pytest.mark.parametrize("chunks", [(360, 8), ((0, 100, 1, 259), (3, 5))])
    def test_arrays(self, known, chunks):
        given, half = known
        whole = FusionClustering(random_state=1).fit(given, **half)
        X, lazy = da.from_array(given, chunks=chunks), {}
        for name in half:
            lazy[name] = da.from_array(half[name], chunks=(chunks[0], 5))
        model = FusionClustering(random_state=1).fit(X, **lazy)
        np.testing.assert_array_equal(model.labels_.compute(), whole.labels_)
        np.testing.assert_allclose(model.cluster_centers_, whole.cluster_centers_, atol=1e-8)
        for asked in ("predict_proba", "predict_confidence", "transform"):
            found = getattr(model, asked)(X, **lazy)
            assert found.chunks[0] == X.chunks[0]
            np.testing.assert_allclose(found.compute(), getattr(model, asked)(given, **half), atol=1e-8)
        per_column = np.full(8, 0.1)
        np.testing.assert_array_equal(
            model.predict(X, error=per_column).compute(), model.predict(given, error=per_column)
        )

    def test_frames_are_filled_within_their_bounds(self, known, tmp_path):
        given, half = known
        names, kind = list("abcdefgh"), np.arange(360) % 2 == 0
        frame = pd.DataFrame(given, columns=names).assign(kind=np.where(kind, "u", "v"))
        upper = pd.DataFrame(half["upper"], columns=names).assign(kind=np.nan)
        X, lazy = dd.from_pandas(frame, npartitions=3), dd.from_pandas(upper, npartitions=3)[["kind", *names]]
        whole, model = FusionImputer().fit(frame, upper=upper), FusionImputer().fit(X, upper=lazy)
        filled = model.transform(X, upper=lazy).compute()
        bounded = ~np.isnan(half["upper"])
        assert (filled[names].to_numpy()[bounded] <= half["upper"][bounded]).all()
        np.testing.assert_allclose(filled[names], whole.transform(frame, upper=upper)[names], atol=1e-6)
        model.save(tmp_path / "i.fusewise")
        again = fusewise.load(tmp_path / "i.fusewise")
        np.testing.assert_allclose(again.transform(frame, upper=upper)[names], filled[names])

    def test_what_does_not_fit_is_said(self, known):
        given, half = known
        X = da.from_array(given, chunks=(100, 8))
        for upper in (da.from_array(half["upper"][:300], chunks=(100, 8)), dd.from_pandas(pd.DataFrame(half["upper"]))):
            with pytest.raises(InputError, match="upper must be a table of Dask with the rows of X in the same blocks"):
                FusionClustering().fit(X, upper=upper)
        with pytest.raises(InputError, match=r"shape \(360, 8\): give one number for each column, or a table of Dask"):
            FusionClustering().fit(X, upper=half["upper"])
        wrong = half["error"].copy()
        wrong[210, np.flatnonzero(~np.isnan(given[210]))[0]] = -1
        with pytest.raises(ValueError, match="block 2 of 4, from 0: the error at row 10, column "):
            FusionClustering().fit(X, error=da.from_array(wrong, chunks=(100, 8)))
        two = FusionClustering().fit(np.column_stack([given, np.arange(360) % 2]))
        Y = da.from_array(np.column_stack([given, np.arange(360) % 2]), chunks=(100, 9))
        with pytest.raises(ValueError, match="column 8 has one of two values in each row of the fit"):
            two.predict(Y, error=np.full(9, 0.1)).compute()


@pytest.mark.usefixtures("in_turn")
class TestWhatTravels:
    def test_the_model_is_part_of_the_graph_once(self, table, in_memory):
        model = FusionClustering(random_state=1).fit(da.from_array(table, chunks=(100, 8)))
        own = len(cloudpickle.dumps(model._found.labeller))
        sizes = []
        for chunk in (90, 4):
            X = da.zeros((360, 8), chunks=(chunk, 8))
            sizes.append(len(cloudpickle.dumps(dict(model.predict(X).__dask_graph__()))))
        assert sizes[1] - sizes[0] < 86 * own / 4
        assert len(cloudpickle.dumps(model)) > 5 * own  # the model itself, with the sample of its fit, is not sent


@pytest.mark.usefixtures("in_turn")
class TestSavingAndRefusals:
    def test_a_saved_model_leaves_the_table_out(self, tmp_path, table, in_memory):
        X = da.from_array(table, chunks=(100, 8))
        model = FusionClustering(random_state=1).fit(X)
        model.save(tmp_path / "m.fusewise")
        for again in (fusewise.load(tmp_path / "m.fusewise"), pickle.loads(pickle.dumps(model))):
            assert isinstance(again.observations_, DaskTable)
            np.testing.assert_array_equal(again.predict(table), in_memory.labels_)
            np.testing.assert_array_equal(again.predict(X).compute(), in_memory.labels_)
            with pytest.raises(AttributeError, match=r"has no labels_ of its Dask table: use predict\(X\)"):
                _ = again.labels_
        imputer = FusionImputer(random_state=1).fit(X)
        imputer.save(tmp_path / "i.fusewise")
        np.testing.assert_allclose(fusewise.load(tmp_path / "i.fusewise").transform(table), imputer.transform(table))

    def test_what_needs_all_rows_says_so(self, table):
        X = da.from_array(table, chunks=(100, 8))
        model = FusionClustering(random_state=1).fit(X)
        with pytest.raises(AttributeError, match="fused_ has the size of the table"):
            _ = model.fused_
        with pytest.raises(TypeError, match="Dask table"):
            model.stability()
        for given in ({"sample_weight": np.ones(360)}, {"must_link": [(0, 1)]}):
            with pytest.raises(ValueError, match="a Dask table takes no"):
                FusionClustering().fit(X, **given)
        with pytest.raises(ValueError, match="a Dask table takes no"):
            FusionClustering(semi_supervised=True).fit(X)
        with pytest.raises(ValueError, match="Expected 2D"):
            FusionClustering().fit(X[:, 0])
        with pytest.raises(ValueError, match="a minimum of 2 is required"):
            FusionClustering().fit(X[:1])
        with pytest.raises(ValueError, match="needs at least 2 rows with an observed entry, got 0 of 2"):
            FusionClustering().fit(X[100:102])
        with pytest.raises(ValueError, match="3 features, but FusionClustering is expecting 8"):
            model.predict(X[:, :3])

    def test_empty_rows_are_counted(self, table):
        with pytest.warns(DataWarning, match="^4 rows have no observed entry"):
            FusionClustering(random_state=1).fit(da.from_array(table, chunks=(100, 8)))
