"""``fusewise mri``: a scan goes in and a page comes out; mistakes are named, and nothing is half-written."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("PIL")

from fusewise.cli._mri import app, print_recon
from fusewise.mri._files import read_cfl, write_cfl
from fusewise.views import PAGE_FILES

SMALL = ("--frames", "15", "--size", "24")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments):
        result = CliRunner().invoke(app, [str(a) for a in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.fixture
def scan(run, tmp_path):
    assert run("simulate", "scan.npz", *SMALL).exit_code == 0
    return tmp_path / "scan.npz"


def test_simulate_then_recon(run, tmp_path, scan):
    ran = run("recon", scan, "--out", "out", "--format", "npy", "--format", "cfl", "--seed", "0")
    assert ran.exit_code == 0
    assert "15 frames of 24 x 24" in ran.stdout
    assert "Not for diagnostic use" in ran.stdout
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {*PAGE_FILES, "images.npy", "images.cfl", "images.hdr", "labels.csv"}
    images = np.load(tmp_path / "out" / "images.npy")
    np.testing.assert_array_equal(np.moveaxis(read_cfl(tmp_path / "out" / "images.cfl").squeeze(), 2, 0), images)
    with np.load(scan) as found:
        truth = found["truth"]
    assert np.linalg.norm(images - truth) < 0.2 * np.linalg.norm(truth)
    assert (tmp_path / "out" / "labels.csv").read_text().splitlines()[0] == "frame,cluster"


def test_json_and_quiet(run, scan):
    found = json.loads(run("recon", scan, "--json").stdout)
    assert found["frames"] == 15
    assert found["warning"] == "Not for diagnostic use."
    assert run("recon", scan, "--out", "again", "--quiet").stdout == ""


def test_method(run, scan):
    found = json.loads(run("recon", scan, "--method", "fusion", "--json").stdout)
    assert found["method"] == "fusion"
    assert json.loads(run("recon", scan, "--out", "other", "--json").stdout)["method"] == "interpolation"


def test_a_folder_is_named_as_it_is(capsys):
    """Rich would take [/x] for the end of a style, and end in an error."""
    said = {"frames": 2, "shape": [4, 4], "clusters": 1, "rank": 1, "lam": 1.0, "seconds": 0.1, "warning": "None."}
    print_recon(said | {"files": ["[/x]/index.html"]})
    assert "[/x]/index.html" in capsys.readouterr().out


def test_nothing_is_replaced_unless_told(run, tmp_path, scan):
    assert run("recon", scan, "--out", "out").exit_code == 0
    before = (tmp_path / "out" / "index.html").stat().st_mtime_ns
    ran = run("recon", scan, "--out", "out")
    assert ran.exit_code == 2
    assert "--force" in ran.stderr
    assert (tmp_path / "out" / "index.html").stat().st_mtime_ns == before
    assert run("recon", scan, "--out", "out", "--force").exit_code == 0
    assert run("simulate", scan, *SMALL).exit_code == 2
    assert run("simulate", scan, *SMALL, "--force").exit_code == 0


def test_coils_are_compressed(run, tmp_path):
    assert run("simulate", "scan.npz", *SMALL, "--coils", "4").exit_code == 0
    assert run("recon", "scan.npz", "--coils", "3", "--out", "out").exit_code == 0
    assert np.load(tmp_path / "out" / "images.npy").shape == (15, 24, 24)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.npz",), "file 'none.npz' does not exist"),
        (("text.npy",), "text.npy"),
        (("other.npz",), "no array named kspace"),
        (("scan.dcm",), "unknown format of scan.dcm"),
        (("short.npy",), "2 frames are too few"),
        (("broken.cfl",), "the header gives"),
        (("scan.npz", "--format", "png"), "unknown --format 'png'"),
        (("scan.npz", "--device", "abacus"), "unknown device 'abacus'"),
        (("scan.npz", "--method", "magic"), "unknown method 'magic'"),
    ],
)
def test_mistakes_are_named(run, tmp_path, scan, arguments, message):
    (tmp_path / "text.npy").write_text("no array")
    (tmp_path / "scan.dcm").touch()
    np.savez(tmp_path / "other.npz", images=np.ones(2))
    np.save(tmp_path / "short.npy", np.ones((2, 4, 4), complex))
    write_cfl(tmp_path / "broken.cfl", np.ones((2, 2)))
    (tmp_path / "broken.hdr").write_text("# Dimensions\n3 3\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    ran = run("recon", *arguments, "--out", "deep/out")
    assert ran.exit_code == 2
    assert message in ran.stderr
    assert ran.stderr.startswith("fusewise: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_missing_extra_is_named(run, scan, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "nibabel", None)
    ran = run("recon", scan, "--format", "nii", "--out", "out")
    assert ran.exit_code == 2
    assert "fusewise[mri]" in ran.stderr


def test_name_of_a_simulated_scan(run):
    ran = run("simulate", "scan.h5", *SMALL)
    assert ran.exit_code == 2
    assert "must end in .npz" in ran.stderr
