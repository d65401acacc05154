"""The report's file: what is in it, what never gets into it, and how it is written."""

import base64
import errno
import html
import json
import os
import re

import numpy as np
import pytest
from report_helpers import NASTY_COLUMN, NASTY_ROW
from sklearn.exceptions import NotFittedError

from fusewise import DataWarning, FusionClustering, PenalizedFusion
from fusewise.datasets import hide_entries, make_clusters
from fusewise.penalties import H1
from fusewise.theory import ClusterGeometry, success_probability
from fusewise.views import Findings, TableOrigin, number_sentence, read_findings
from fusewise.views import _provenance as making
from fusewise.views import _sentences as words
from fusewise.views._columns import columns_in_memory, columns_of_model
from fusewise.views._guarantee import guarantee_of
from fusewise.views._payload import KINDS, packed_numbers, to_json
from fusewise.views._report import render, write_report
from fusewise.views._trees import Step, Trail


def data_of(path):
    """The JSON in a page."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text())[1])


def unpacked(entry):
    flat = np.frombuffer(base64.b64decode(entry["bytes"]), KINDS[entry["kind"]])
    return flat.reshape(entry["shape"])


def cells_of(data):
    """The table in a page, rows by columns, with missing values filled in."""
    return np.column_stack([unpacked(column["values"]) for column in data["rows"]["columns"]])


def test_names_never_become_html(page_file, names, features):
    text = page_file.read_text()
    assert "<script>window" not in text
    assert NASTY_ROW not in text
    assert NASTY_COLUMN not in text
    rows = data_of(page_file)["rows"]
    assert rows["names"][0] == NASTY_ROW
    assert [column["name"] for column in rows["columns"]] == features


def test_entries_travel_unchanged(page_file, table, model):
    data = data_of(page_file)
    drawn = np.delete(np.arange(len(table)), 5)  # row 5 has nothing observed
    seen = ~np.isnan(table[drawn])
    np.testing.assert_array_equal(np.where(seen, cells_of(data), np.nan), table[drawn].astype("f4"))
    np.testing.assert_array_equal(np.unpackbits(unpacked(data["rows"]["observed"]))[: seen.size], seen.ravel())
    np.testing.assert_array_equal(unpacked(data["partitions"][0]["labels"]), model.labels_[drawn])


def test_units_are_the_users(table, model, tmp_path):
    """A table standardised before the fit is shown as it was."""
    shift, scale = np.arange(8.0), np.linspace(1, 9, 8)
    path = write_report(model, tmp_path / "r.html", units=(shift, scale))
    shown = cells_of(data_of(path))[0]
    seen = ~np.isnan(table[0])
    np.testing.assert_allclose(shown[seen], (table[0] * scale + shift)[seen].astype("f4"), rtol=1e-6)


def test_numbers_travel_in_few_bytes():
    """Whole numbers exactly, others to seven digits; large whole numbers may be codes."""
    kinds = {"u1": [0, 255], "i2": [-300, 4], "i4": [70_000, 1], "f4": [0.1, 5e6], "f8": [0.5, 2**24 + 1]}
    for kind, numbers in kinds.items():
        entry = packed_numbers(np.array(numbers, float))
        assert entry["kind"] == kind
        np.testing.assert_allclose(unpacked(entry), numbers, rtol=0 if kind != "f4" else 6e-8)
    assert packed_numbers(np.array([1.0, np.nan]))["kind"] == "f4"


@pytest.mark.parametrize("unit", [1e60, 1e-60])
def test_entries_beyond_single_precision_travel_too(model, table, unit, tmp_path):
    shown = cells_of(data_of(write_report(model, tmp_path / "r.html", units=(0.0, unit))))[0]
    seen = ~np.isnan(table[0])
    np.testing.assert_allclose(shown[seen], table[0][seen] * unit)


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


def test_json_has_no_tags_and_no_nan():
    text = to_json({"a": ["</script>", float("nan"), np.float64("inf"), np.int64(3), 1.5]})
    assert "<" not in text
    assert json.loads(text) == {"a": ["</script>", None, None, 3, 1.5]}


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


@pytest.mark.parametrize("old", [None, "the old report"])
def test_full_disk_leaves_nothing(model, tmp_path, monkeypatch, old):
    path = tmp_path / "report.html"
    if old:
        path.write_text(old)

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"report\.html.*No space left") as caught:
        model.report(path, force=True)
    assert caught.value.errno == errno.ENOSPC
    assert [file.name for file in tmp_path.iterdir()] == ([path.name] if old else [])
    assert not old or path.read_text() == old


def test_names_of_files_that_are_no_unicode(model, tmp_path):
    """A file of a Latin-1 disk, and the command line that named it."""
    path = write_report(model, tmp_path / "r.html", title="caf\udce9.csv", command="fusewise fit 'caf\udce9.csv'")
    assert "<h1>caf?.csv</h1>" in path.read_text("utf-8")


def test_wrong_number_of_names(model, tmp_path):
    with pytest.raises(ValueError, match="names has 2 entries, but the model was fitted to 75"):
        model.report(tmp_path / "r.html", names=["a", "b"])
    assert list(tmp_path.iterdir()) == []


def test_unfitted(tmp_path):
    with pytest.raises(NotFittedError):
        FusionClustering().report(tmp_path / "r.html")


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
    data = data_of(path)
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


def test_fingerprint_tells_tables_apart(model, table):
    whole = making.fingerprint(read_findings(model))
    other = table.copy()
    other[0, np.flatnonzero(~np.isnan(table[0]))[0]] += 1e-12
    with pytest.warns(DataWarning, match="observed"):
        assert making.fingerprint(read_findings(FusionClustering().fit(other))) != whole


def test_how_many_rows_were_searched_is_said():
    """All, or a sample."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + 9 * rng.integers(2, size=(300, 1))
    assert len(making.convergence(read_findings(FusionClustering().fit(X)))) == 1
    many = rng.normal(size=(5100, 2)) + 9 * rng.integers(2, size=(5100, 1))
    (_, said) = making.convergence(read_findings(FusionClustering().fit(many)))
    assert said.startswith("The clusters were found in a random sample of 5,000 rows out of 5,100;")


def test_guarantee_is_that_of_the_theory():
    """On complete data all rows are measured, and the curve is success_probability."""
    X = np.repeat([[-1.0] * 30, [1.0] * 30], 20, axis=0) + np.random.default_rng(0).uniform(-0.1, 0.1, (40, 30))
    found = read_findings(FusionClustering().fit(X))
    guarantee = guarantee_of(found)
    geometry = ClusterGeometry.from_data(X / X.std(axis=0), found.labels)
    assert not any("sample" in said for said in guarantee.sentences)
    assert guarantee.curve
    for fraction, chance in guarantee.curve:
        assert chance == pytest.approx(float(success_probability(geometry, fraction)))


def test_guarantee_by_a_sample_is_of_all_rows():
    """Measured on fewer rows, the guarantee still counts every row, and says what was done."""
    X, _, _ = make_clusters(2, 20, 30, noise=0.02, random_state=0)
    found = read_findings(FusionClustering().fit(X))
    guarantee = guarantee_of(found, most_measured=15)
    assert guarantee.promise.sentences[0].startswith("2 clusters of 20 points each")
    assert "15 of the 40 clustered rows" in guarantee.sentences[-1]


def test_words_about_samples(model):
    found = read_findings(model, most_drawn=40)
    assert any(f"random sample of {len(found.drawn)} of the 74 rows" in note for note in words.drawn_sentences(found))
    assert any("1 row has no observed value" in note for note in words.remarks(found))


def test_twenty_thousand_rows_by_fifty_fit_in_15_megabytes(model):
    """With as many steps as the default route ever has: 25 partitions, and cuts of the tree by 1.5 below them."""
    rng = np.random.default_rng(0)
    n, p, k = 20_000, 50, 25
    labels = rng.integers(-1, k, n)
    values, features = rng.normal(size=(n, p)), tuple(f"feature {j}" for j in range(p))
    columns = columns_of_model(None, values, features)
    found = Findings(
        names=tuple(f"a name of a row {i}" for i in range(n)), features=features,
        origin=TableOrigin(columns, columns_in_memory(columns)), values=values, labels=labels,
        confidence=rng.uniform(0.9, 1, n), centers=rng.normal(size=(k, p)),
        unit=np.ones(p), shift=np.zeros(p), scale=np.ones(p), shares=np.zeros(p, bool), drawn=np.arange(n),
        completed=rng.normal(size=(n, p)), fused=rng.normal(size=(n, p)), path=model.path_, model=model,
    )  # fmt: skip
    counts = [*(int(n / 1.5**i) for i in range(17)), *range(25, 0, -1)]
    steps = [Step(groups, groups, 1.0, 1.0) for groups in (rng.integers(0, count, n) for count in counts)]
    found.__dict__.update(trail=Trail(tuple(steps), np.arange(n), 20, "criterion"), explained=None)
    assert len(render(found, title="large", file="large.html").encode()) < 15e6


def test_notebooks_show_the_result(table, model):
    assert "svg" not in FusionClustering()._repr_mimebundle_()["text/html"].split("</style>")[-1]
    for shown in (model._repr_mimebundle_()["text/html"], model._repr_html_()):
        found = read_findings(model)
        for sentence in (words.headline(found), number_sentence(found), *(of.apart for of in found.described)):
            assert html.escape(sentence, quote=False) in shown
        assert shown.count("<circle") == 74  # a dot for each row with an entry


def test_notebook_card_escapes_column_names():
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(24, 3))
    X[:12, 0] += 30  # the column that the card is about
    frame = pandas.DataFrame(X, columns=["<script>window.hacked=1</script>", "b", "c"])
    shown = FusionClustering().fit(frame)._repr_html_()
    assert "&lt;script&gt;window" in shown
    assert "<script>window.hacked" not in shown.split("</style>")[-1]
