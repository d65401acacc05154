"""Tables in parts on the command line: the clusters of the same table in one file, in memory and on schedulers."""

import json
import os

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")
from distributed import Client, LocalCluster
from typer.testing import CliRunner

from fusewise.cli import _parts as schedulers
from fusewise.cli._app import app
from fusewise.datasets import make_clusters
from fusewise.tables import InputError, _rereading, parts_of, read_table


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run `fusewise ...` in an empty folder: exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        result = CliRunner().invoke(app, [str(a) for a in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout, result.stderr

    return call


@pytest.fixture(scope="module")
def people():
    """200 rows with names, numbers, a category, a flag and an ordered one; parts do not have all of the levels."""
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(3, size=200))
    frame = pd.DataFrame(
        {
            "id": [f"p{k:03d}" for k in range(200)],
            "height": (5 * y + rng.normal(size=200)).round(3),
            "weight": (rng.normal(size=200) - 4 * y).round(3),
            "colour": np.array(["red", "green", "blue"])[np.where(rng.random(200) < 0.9, y, rng.integers(3, size=200))],
            "smokes": np.where(rng.random(200) < 0.3 * y + 0.1, "yes", "no"),
        }
    )
    for name in ("height", "weight", "colour", "smokes"):
        frame.loc[rng.random(200) < 0.1, name] = None
    return frame.assign(rating=1 + y + rng.integers(2, size=200))


def half_known_people():
    """180 rows in 3 clusters; cells below a limit that the file does not say are in the first 60, missing in others."""
    X, _, _ = make_clusters(3, 60, 8, noise=0.15, random_state=0)
    X = X[np.random.default_rng(1).permutation(180)] + 3
    limits = np.quantile(X, 0.3, axis=0).round(3)
    cells = np.where(limits > X, [f"<{limit}" for limit in limits], np.char.mod("%.3f", X)).astype(object)
    banded = X[:, 6] > np.quantile(X[:, 6], 0.8)
    cells[banded, 6] = [f"{low / 2}-{low / 2 + 0.5}" for low in np.floor(2 * X[banded, 6])]
    cells[:60, 5] = np.where(X[:60, 5] < limits[5], "<LOD", cells[:60, 5])
    cells[60:, 5] = np.where(X[60:, 5] < limits[5], None, cells[60:, 5])
    cells[:, 7] = [f"{cell} ± 0.05" if cell[0] != "<" else cell for cell in cells[:, 7]]
    return pd.DataFrame(cells, columns=[f"c{j}" for j in range(8)])


def written(frame, folder, kind, n_parts=4):
    """Write a table in parts and as a whole."""
    folder.mkdir(exist_ok=True)
    save = (lambda f, p: f.to_csv(p, index=False)) if kind == "csv" else (lambda f, p: f.to_parquet(p, index=False))
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), n_parts)):
        save(frame.iloc[rows].reset_index(drop=True), folder / f"part-{k + 8}.{kind}")
    save(frame, folder.parent / f"whole.{kind}")


def labels_of(folder):
    files = sorted(folder.glob("labels/*.parquet"), key=lambda file: int(file.stem.partition("-")[2]))
    return pd.concat([pd.read_parquet(file) for file in files])


class TestFiles:
    def test_part_2_comes_before_part_10(self, people, tmp_path):
        written(people, tmp_path / "parts", "csv")
        names = ["part-8.csv", "part-9.csv", "part-10.csv", "part-11.csv"]
        assert [file.name for file in parts_of(tmp_path / "parts")] == names
        assert [file.name for file in parts_of(tmp_path / "parts" / "part-*.csv")] == names
        assert parts_of(tmp_path / "whole.csv") == []

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_parts_are_one_table(self, people, tmp_path, kind):
        written(people, tmp_path / "parts", kind)
        (tmp_path / "parts" / "_SUCCESS").touch()
        (tmp_path / "parts" / "notes.md").touch()
        whole, parts = read_table(tmp_path / f"whole.{kind}"), read_table(tmp_path / "parts")
        pd.testing.assert_frame_equal(parts.frame, whole.frame)
        assert parts.names.tolist() == whole.names.tolist()

    def test_a_file_whose_name_looks_like_a_pattern_is_a_file(self, tmp_path):
        (tmp_path / "a[1].csv").write_text("a,b\n1,2\n2,3\n")
        assert parts_of(tmp_path / "a[1].csv") == []
        assert read_table(tmp_path / "a[1].csv").n_rows == 2


@pytest.mark.parametrize(("files", "message"), [
    ({}, "no file matches 'p*'"),
    ({"p1.csv": "a,b\n1,2\n", "p2.csv": "a,c\n1,2\n"}, "'p2.csv' has no column 'b' and also has 'c'"),
    ({"p1.csv": "a,b\n1,2\n", "p2.parquet": "x"}, "'p1.csv' and 'p2.parquet' have different formats"),
    ({"p1.csv": "a,b\n1,2\n", "p2.xlsx": "x"}, "'p2.xlsx' cannot be a part"),
    ({"p1.csv": "a,b\n", "p2.csv": "a,b\n"}, "no rows"),
    ({"p1.parquet": "x"}, "p1.parquet' is not a readable Parquet file"),
])  # fmt: skip
@pytest.mark.parametrize("scheduler", [(), ("--scheduler", "synchronous")])
def test_parts_that_are_no_table(run, tmp_path, files, message, scheduler):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    code, _, err = run("fit", "p*", *scheduler)
    assert code == 2
    assert message in err
    assert len(err.splitlines()) == 1
    assert sorted(os.listdir(tmp_path)) == sorted(files)


class TestSchedulers:
    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_the_clusters_of_one_file(self, people, run, tmp_path, kind):
        written(people, tmp_path / "parts", kind)
        code, out, err = run("fit", f"whole.{kind}", "--seed", 1, "--json")
        assert code == 0, err
        whole = json.loads(out)
        code, out, err = run("fit", f"parts/part-*.{kind}", "--scheduler", "synchronous", "--seed", 1, "--json")
        assert code == 0, err
        found = json.loads(out)
        for name in ("rows", "features", "clusters", "sizes", "outliers", "observed_fraction"):
            assert found[name] == pytest.approx(whole[name]), name
        assert found["clusters"] > 1
        labels, expected = labels_of(tmp_path / "part_fusewise"), pd.read_csv("whole_fusewise/labels.csv")
        assert labels["id"].tolist() == expected["id"].tolist()
        assert labels["label"].tolist() == expected["label"].tolist()
        np.testing.assert_allclose(labels["confidence"], expected["confidence"], atol=0.013)
        mine, theirs = (pd.read_csv(f"{name}_fusewise/centers.csv") for name in ("part", "whole"))
        np.testing.assert_allclose(mine["height"], theirs["height"], rtol=1e-3)
        # The names of clusters and observed values need the rows.
        assert set(mine.columns) == {name for name in theirs.columns if "(observed" not in name} - {"name"}

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_entries_known_in_part(self, run, tmp_path, kind):
        """Entries below a limit, in ranges and with errors; with these missing, two clusters are found."""
        written(half_known_people(), tmp_path / "parts", kind, 3)
        options, found = ("--below", "c5=3.68", "--seed", 1, "--json", "--save"), {}
        for path, more in {f"whole.{kind}": (), f"parts/part-*.{kind}": ("--scheduler", "synchronous")}.items():
            code, out, err = run("fit", path, *options, f"{len(found)}.fusewise", *more)
            assert code == 0, err
            found[path] = json.loads(out)
        whole, parts = found.values()
        for name in ("rows", "clusters", "sizes", "outliers", "observed_fraction", "notes"):
            assert parts[name] == pytest.approx(whole[name]), name
        assert parts["clusters"] == 3
        assert parts["columns"] == whole["columns"]
        labels, expected = labels_of(tmp_path / "part_fusewise"), pd.read_csv("whole_fusewise/labels.csv")
        assert labels["label"].tolist() == expected["label"].tolist()
        np.testing.assert_allclose(labels["confidence"], expected["confidence"], atol=1e-4)
        code, _, err = run("predict", "1.fusewise", f"parts/part-9.{kind}", "--out", "labels.csv")
        assert code == 0, err
        own = pd.read_parquet("part_fusewise/labels/part-9.parquet")
        new = pd.read_csv("labels.csv")
        assert new["label"].tolist() == own["label"].tolist()
        np.testing.assert_allclose(new["confidence"], own["confidence"], atol=1e-4)

    def test_a_saved_model_predicts_files(self, people, run, tmp_path):
        written(people, tmp_path / "parts", "csv")
        code, out, err = run("fit", "parts", "--scheduler", "threads", "--save", "m.fusewise", "--seed", 1)
        assert code == 0, err
        assert "4 parts, 200 rows × 5 columns" in out
        assert "m.fusewise" in out
        code, said, err = run("predict", "m.fusewise", "parts/part-9.csv", "--out", "labels.csv")
        assert code == 0, err
        own = pd.read_parquet("parts_fusewise/labels/part-9.parquet")
        assert pd.read_csv("labels.csv")["label"].tolist() == own["label"].tolist()
        assert "unknown to the model" not in said

    def test_a_scheduler_by_its_address(self, people, run, tmp_path):
        written(people, tmp_path / "parts", "parquet", 2)
        cluster = LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None)
        with cluster, Client(cluster, set_as_default=False) as client:
            code, _, err = run("fit", "parts", "--scheduler", cluster.scheduler_address)
            assert code == 0, err
            seen = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.transition_log))
        assert seen > 20
        assert len(labels_of(tmp_path / "parts_fusewise")) == 200

    def test_parts_that_exceed_memory_go_to_a_local_cluster(self, people, run, tmp_path, monkeypatch):
        written(people, tmp_path / "parts", "parquet", 2)
        size = sum(file.stat().st_size for file in parts_of(tmp_path / "parts"))
        monkeypatch.setattr(schedulers, "available_memory", lambda: schedulers.IN_MEMORY * size)
        assert schedulers.exceeding(parts_of(tmp_path / "parts")) is None
        monkeypatch.setattr(schedulers, "available_memory", lambda: schedulers.IN_MEMORY * size - 1)
        monkeypatch.setattr("fusewise.cli._parts.LOCAL", "synchronous")  # no processes in this test
        code, out, err = run("fit", "parts")
        assert code == 0, err
        assert "would take more than the available memory" in " ".join(out.split())

    @pytest.mark.parametrize(("options", "message"), [
        (("--report",), "--report needs the table in memory"),
        (("--stability",), "--stability needs the table in memory"),
        (("--scheduler", "tcp://127.0.0.1:9"), "no scheduler answers there"),
        (("--scheduler", "nowhere"), "no scheduler answers there"),
    ])  # fmt: skip
    def test_what_cannot_be(self, people, run, tmp_path, monkeypatch, options, message):
        monkeypatch.setattr(schedulers, "PATIENCE", 0.5)
        written(people, tmp_path / "parts", "csv")
        before = sorted(os.listdir(tmp_path))
        code, _, err = run("fit", "parts", "--scheduler", "synchronous", *options)
        assert code == 2
        assert message in err
        assert len(err.splitlines()) == 1
        assert sorted(os.listdir(tmp_path)) == before

    def test_labels_of_parts_are_not_mixed_with_those_of_others(self, people, run, tmp_path):
        written(people, tmp_path / "parts", "parquet", 3)
        options = ("fit", "parts", "--scheduler", "synchronous", "--out", "o", "--force")
        assert run(*options)[0] == 0
        before = {file.name: file.read_bytes() for file in (tmp_path / "o/labels").iterdir()}
        gone = sorted((tmp_path / "parts").iterdir())[-1]
        gone.unlink()
        code, _, err = run(*options)
        assert code == 2
        assert f"has labels of other parts ({gone.name})" in err
        assert {file.name: file.read_bytes() for file in (tmp_path / "o/labels").iterdir()} == before

    def test_a_local_cluster_listens_on_this_machine_alone(self):
        psutil = pytest.importorskip("psutil")
        with schedulers.local_cluster(1):
            ours = [psutil.Process(), *psutil.Process().children(recursive=True)]
            open_ = [place for process in ours for place in process.net_connections("inet") if place.status == "LISTEN"]
        assert len(open_) > 1
        assert {place.laddr.ip for place in open_} == {"127.0.0.1"}

    def test_a_part_that_disagrees_is_named(self, people, run, tmp_path, monkeypatch):
        monkeypatch.setattr(_rereading, "SAMPLED_PARTS", 2)  # the first and the last
        written(people, tmp_path / "parts", "csv")
        odd = pd.read_csv(tmp_path / "parts" / "part-9.csv").astype({"height": object})
        odd.loc[7, "height"] = "tall"
        odd.to_csv(tmp_path / "parts" / "part-9.csv", index=False)
        code, _, err = run("fit", "parts", "--scheduler", "synchronous", "--out", "out")
        assert code == 2
        assert "part-9.csv': column 'height', row 8: 'tall' is not a number" in err
        assert len(err.splitlines()) == 1
        assert not (tmp_path / "out").exists()


class TestPartReader:
    def read(self, folder, *contents):
        """A reader that has seen the first of several CSV files, and their paths."""
        paths = [folder / f"{k}.csv" for k in range(len(contents))]
        for path, text in zip(paths, contents, strict=True):
            path.write_text(text)
        asked = _rereading.ReadOptions()
        sample = _rereading.read_sample(folder, paths[:1], [_rereading.sampled_rows(paths[0], 0, 1, asked)], asked, 1)
        return _rereading.PartReader.like(sample, paths[0], asked), paths

    def test_one_convention_for_all_parts(self, tmp_path):
        # 1.234 alone may be a thousand; the first part says that the comma is the decimal separator.
        reader, paths = self.read(tmp_path, "x;y\n1.234,5;1\n2,25;2\n3,5;4\n", "x;y\n1.234;2\n2.000;3\n")
        assert reader(paths[1])["rows"]["x"].tolist() == [1234.0, 2000.0]

    def test_new_levels_and_other_values(self, tmp_path):
        header, rows = "colour,wet,n\n", "red,yes,1.5\nblue,no,2.5\nred,no,0.5\n" * 6
        others = "n,colour,wet\n3.5,green,no\n,NA,\n", header + "red,maybe,1\n", header
        reader, paths = self.read(tmp_path, header + rows, *others)
        found = reader(paths[1])["rows"]
        assert found.columns.tolist() == ["colour", "wet", "n"]
        assert found["colour"].astype(object).where(found["colour"].notna(), None).tolist() == ["green", None]
        assert found["wet"].tolist() == [False, pd.NA]
        with pytest.raises(InputError, match=r"2\.csv': column 'wet', row 1: 'maybe' is not one of the values"):
            reader(paths[2])
        none = reader(paths[3])["rows"]
        assert len(none) == 0
        assert (none.dtypes == reader.header_frame.dtypes).all()
