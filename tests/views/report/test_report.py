"""The report's file: what is in it, what never gets into it, and how it is written."""

import re

import numpy as np
import pytest
from report_helpers import NASTY_COLUMN, NASTY_ROW, data_of, unpacked

from fusewise import DataWarning, FusionClustering, PenalizedFusion
from fusewise.datasets import hide_entries, make_clusters
from fusewise.penalties import H1
from fusewise.theory import ClusterGeometry, success_probability
from fusewise.views import _report as making
from fusewise.views import read_findings
from fusewise.views._report import guarantee_of, write_report


def cells_of(data):
    """The table in a page, rows by columns, with missing values filled in."""
    return np.column_stack([unpacked(column["values"]) for column in data["rows"]["columns"]])


def test_names_never_become_html(page_file, names, features):
    text = page_file.read_text()
    assert "<script>window" not in text
    assert NASTY_ROW not in text
    assert NASTY_COLUMN not in text
    rows = data_of(page_file.read_text())["rows"]
    assert rows["names"][0] == NASTY_ROW
    assert [column["name"] for column in rows["columns"]] == features


def test_entries_travel_unchanged(page_file, table, model):
    data = data_of(page_file.read_text())
    drawn = np.delete(np.arange(len(table)), 5)  # row 5 has nothing observed
    seen = ~np.isnan(table[drawn])
    np.testing.assert_array_equal(np.where(seen, cells_of(data), np.nan), table[drawn].astype("f4"))
    np.testing.assert_array_equal(np.unpackbits(unpacked(data["rows"]["observed"]))[: seen.size], seen.ravel())
    np.testing.assert_array_equal(unpacked(data["partitions"][0]["labels"]), model.labels_[drawn])


def test_entries_below_a_limit_are_filled_below_it(tmp_path):
    """The page has the limits, expects nothing above them, and says what these entries add to a row's cluster."""
    values = make_clusters(3, 30, 4, noise=0.3, random_state=0)[0] + 9
    limit = np.quantile(values, 0.3, axis=0)
    below = values < limit
    assert below.all(axis=1).any()  # a row of which nothing else is known
    model = FusionClustering(n_clusters=3).fit(np.where(below, np.nan, values), upper=limit)
    data = data_of(model.report(tmp_path / "r.html").read_text())
    assert (cells_of(data) <= np.where(below, limit, np.inf)).all()
    uppers = np.column_stack([unpacked(column["upper"]) for column in data["rows"]["columns"]])
    np.testing.assert_allclose(uppers, np.where(below, limit, np.inf))
    odds, sizes, nats = (unpacked(data["why"][name]) for name in ("odds", "sizes", "nats"))
    np.testing.assert_allclose(np.nansum(nats.reshape(len(odds), -1), axis=1) + sizes, odds, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("unit", [1e60, 1e-60])
def test_entries_beyond_single_precision_travel_too(table, unit, tmp_path):
    X = np.delete(table, 5, axis=0) * unit
    shown = cells_of(data_of(FusionClustering(1).fit(X).report(tmp_path / "r.html").read_text()))
    np.testing.assert_allclose(np.where(np.isnan(X), np.nan, shown), X)


def test_tables_are_as_wide_as_their_heads(table, tmp_path):
    """Also where rows are outliers, whose line has fewer cells, and where there is no confidence."""
    for model in (FusionClustering(), PenalizedFusion(0.0, penalty=H1(0.5))):
        with pytest.warns(DataWarning, match="observed"):
            page = model.fit(table).report(tmp_path / f"{type(model).__name__}.html").read_text()
        clusters = re.search(r"<caption>Clusters.*?</table>", page, re.DOTALL)[0]
        head, *lines = re.findall(r"<tr>.*?</tr>", clusters)
        cells = [line.count("<th") + line.count("<td") for line in (head, *lines)]
        spans = [sum(int(n) - 1 for n in re.findall(r'colspan="(\d+)"', line)) for line in (head, *lines)]
        assert "outliers" in lines[-1]
        assert {n + more for n, more in zip(cells, spans, strict=True)} == {cells[0]}


def test_never_overwrites_unless_told(model, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("precious")
    with pytest.raises(FileExistsError, match="force=True"):
        model.report(path)
    assert path.read_text() == "precious"
    assert model.report(path, force=True) == path
    assert path.read_text().startswith("<!doctype html>")


def test_bad_places_are_named(model, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        model.report(tmp_path / "nowhere" / "report.html")
    with pytest.raises(IsADirectoryError, match="give the name of a file in it"):
        model.report(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="is a file, not a folder"):
        model.report(tmp_path / "file" / "report.html")


def test_names_of_files_that_are_no_unicode(model, tmp_path):
    """A file of a Latin-1 disk, and the command line that named it."""
    path = write_report(model, tmp_path / "r.html", title="caf\udce9.csv", command="fusewise fit 'caf\udce9.csv'")
    assert "<h1>caf?.csv</h1>" in path.read_text("utf-8")


def test_wrong_number_of_names(model, tmp_path):
    with pytest.raises(ValueError, match="names has 2 entries, but the model was fitted to 75"):
        model.report(tmp_path / "r.html", names=["a", "b"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (FusionClustering(), "partitions of the merge tree were compared"),
        (FusionClustering(1), "There is only one cluster"),
        (PenalizedFusion(penalty=H1(0.5)), "points of the path converged"),
        (PenalizedFusion(0.05, penalty=H1(0.5)), "there is no path to show"),
        (PenalizedFusion(0.0, penalty=H1(0.5)), "There is no cluster"),
    ],
)
@pytest.mark.parametrize("kind", [float, complex])
def test_every_kind_of_model(model, said, kind, tmp_path):
    X, _, _ = make_clusters(2, 12, 4, noise=0.05, random_state=0)
    X = hide_entries(X, 0.2, random_state=0)
    X = X if kind is float else X * (1 + 0.5j)
    path = model.fit(X).report(tmp_path / "r.html")
    assert said in path.read_text()
    data = data_of(path.read_text())
    assert len(data["rows"]["columns"]) == (4 if kind is float else 8)


def test_the_rerun_line_reruns(tmp_path, monkeypatch):
    X, _, _ = make_clusters(2, 12, 4, noise=0.05, random_state=0)
    model = PenalizedFusion(0.05, penalty=H1(0.5), max_iter=200).fit(X)
    line = making.rerun(read_findings(model), "again.html")
    space = {"X": X}
    monkeypatch.chdir(tmp_path)
    exec(line, space)
    assert space["model"].get_params() == model.get_params()
    np.testing.assert_array_equal(space["model"].labels_, model.labels_)
    assert (tmp_path / "again.html").exists()


def test_guarantee_is_that_of_the_theory():
    """On complete data all rows are measured, and the curve is success_probability."""
    X = np.repeat([[-1.0] * 30, [1.0] * 30], 20, axis=0) + np.random.default_rng(0).uniform(-0.1, 0.1, (40, 30))
    found = read_findings(FusionClustering().fit(X))
    sentences, curve = guarantee_of(found)
    geometry = ClusterGeometry.from_data(X / X.std(axis=0), found.labels)
    assert not any("sample" in said for said in sentences)
    assert curve
    for fraction, chance in curve:
        assert chance == pytest.approx(float(success_probability(geometry, fraction)))
