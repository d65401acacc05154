"""Labels and surprising rows computed by torch, against NumPy and compiled loops."""

from dataclasses import replace

import numpy as np
import pytest

from fusewise import FusionClustering
from fusewise.automatic.coordinates.axes import fit_axes
from fusewise.automatic.coordinates.level_blocks import LevelBlock
from fusewise.automatic.coordinates.symmetric import Powers
from fusewise.automatic.coordinates.units import Units
from fusewise.automatic.models.beside import Beside
from fusewise.automatic.models.clusters import AlongAxes
from fusewise.automatic.models.columnwise import fit_columns
from fusewise.automatic.models.joined import Joined
from fusewise.automatic.models.mixture import Mixture
from fusewise.automatic.models.numbers_and_categories import NumbersAndCategories, moved_together, taken_apart
from fusewise.automatic.passes import device_passes
from fusewise.automatic.passes.classifying import Classifier, device_for
from fusewise.automatic.passes.surprising import Surprised, Surprises
from fusewise.automatic.search import sampled
from fusewise.datasets import hide_entries
from fusewise.observations import as_entries, reduce_blocks

torch = pytest.importorskip("torch")
K, P = 6, 9
KINDS = ["axes", "columns", "levels", "joined", "beside", "powers", "related", "shifted"]
LEVELS = (LevelBlock(P - 2, P),)


@pytest.fixture(params=[0.0, 0.4, 0.8])
def table(request):
    """Rows of which some determine few coordinates, and one none."""
    rng = np.random.default_rng(0)
    X = 2 * rng.standard_normal((K, P))[np.arange(800) % K] + 0.4 * rng.standard_normal((800, P))
    X[:, -2:] = np.eye(2)[(X[:, 0] > 0).astype(int)]
    X = hide_entries(X, request.param, random_state=1)
    X[:, -2:][np.isnan(X[:, -2:]).any(axis=1)] = np.nan
    X[5] = np.nan
    return as_entries(X)


def clusters_of(table, kind):
    rng = np.random.default_rng(2)
    posterior = np.eye(K)[np.arange(table.shape[0]) % K]
    columns = fit_columns(table, posterior, 2, LEVELS if kind == "levels" else ())
    if kind in ("columns", "levels"):
        return columns
    if kind in ("related", "shifted"):
        numbers, others = taken_apart(table, LEVELS)
        categories = fit_columns(others, posterior, 2, moved_together(LEVELS))
        shifts = rng.standard_normal((2, P - 2)) if kind == "shifted" else None
        return NumbersAndCategories(clusters_of(numbers, "axes"), categories, LEVELS, 1.0, shifts)
    subspace = fit_axes(table, 4)
    turned = 0.3 * rng.standard_normal((K, 4, 4))
    spreads = 0.1 * np.eye(4) + turned @ turned.transpose(0, 2, 1)
    mixture = Mixture(2 * rng.standard_normal((K, 4)), spreads, rng.dirichlet(np.full(K, 5.0)), "full", 0.0, 1.0)
    along = AlongAxes(subspace, mixture)
    if kind == "axes":
        return along
    joined = Joined(along, np.minimum(np.arange(K), K - 2))
    return joined if kind == "joined" else Beside(joined, columns, 0.1)


def classifier_of(table, kind):
    units = Units(np.arange(P), np.linspace(0.5, 2, P), np.linspace(-1, 1, P))
    if kind == "powers":
        units = replace(
            units, powers=Powers.of(units.scaled(table.take(slice(0, 700))))
        )  # others may be beyond what was fitted
        return Classifier(units, clusters_of(units.applied(table), "axes"))
    return Classifier(units, clusters_of(table, kind))


@pytest.mark.parametrize("kind", KINDS)
def test_labels_are_those_of_the_cpu(table, kind, monkeypatch):
    monkeypatch.setattr(device_passes, "ON_CPU", 40_000)  # several blocks
    monkeypatch.setattr(device_passes, "HOST_ROWS", 70)
    classifier = classifier_of(table, kind)
    here, there = (classifier.classify(table, posterior=True, device=device) for device in ("cpu", "torch:cpu"))
    np.testing.assert_array_equal(there.labels, here.labels)
    np.testing.assert_allclose(there.posterior, here.posterior, atol=1e-5)
    np.testing.assert_allclose(there.sure, here.sure, atol=1e-5)
    seen = table.row_counts > 0  # the tail of another row depends on what stands for an infinite variance
    near = here.tails > 0.99  # there 1 - tail grows with the distance, and its square has the rounding errors
    np.testing.assert_allclose(there.tails[seen & ~near], here.tails[seen & ~near], rtol=1e-5)
    np.testing.assert_allclose(there.tails[seen & near], here.tails[seen & near], atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_surprising_rows_are_those_of_the_cpu(table, kind, monkeypatch):
    monkeypatch.setattr(device_passes, "ON_CPU", 40_000)
    monkeypatch.setattr("fusewise.automatic.passes.surprising.MOST", 50)
    its = classifier_of(table, kind)
    surprised = Surprised(its.clusters, its.units, 7)
    here = reduce_blocks(surprised, Surprises.merged, table).in_order(10**6)
    there = device_passes.surprising_rows(surprised, table, torch.device("cpu")).in_order(10**6)
    np.testing.assert_array_equal(there.row, here.row)
    np.testing.assert_array_equal(there.label, here.label)
    np.testing.assert_allclose(there.tail, here.tail, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(there.density, here.density, rtol=1e-6)
    assert there.n_outlying == here.n_outlying
    assert there.left_out == pytest.approx(here.left_out, rel=1e-5)


def test_a_fit_gives_the_labels_of_the_cpu(monkeypatch):
    monkeypatch.setattr(sampled, "SAMPLE", 300)  # so that all rows are looked at for rare clusters
    rng = np.random.default_rng(0)
    y = np.arange(900) % 4
    X = hide_entries(3 * rng.standard_normal((4, 8))[y] + rng.standard_normal((900, 8)), 0.3, random_state=0)
    here, there = (FusionClustering(device=device).fit(X) for device in ("cpu", "torch:cpu"))
    np.testing.assert_array_equal(there.labels_, here.labels_)
    np.testing.assert_allclose(there.probabilities_, here.probabilities_, atol=1e-6)
    np.testing.assert_allclose(there.confidence_, here.confidence_, atol=1e-6)
    np.testing.assert_array_equal(there.predict(X[:50]), here.predict(X[:50]))


def test_what_a_device_cannot_do_is_done_by_the_cpu(table):
    clusters = clusters_of(table, "columns")
    assert device_for("torch:cpu", clusters, table) is not None
    assert device_for("cpu", clusters, table) is None
    assert device_for("torch:cpu", clusters, as_entries(table.values * 1j)) is None
    with pytest.raises(ValueError, match="unknown device"):
        device_for("gpu", clusters, table)
