"""``fusewise mri``: a scan goes in and a page comes out; mistakes are named, and nothing is half-written."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("PIL")

from fusewise.mri._files import read_cfl, write_cfl
from fusewise.views import PAGE_FILES

SMALL = ("--frames", "15", "--size", "24")


@pytest.fixture
def scan(run, tmp_path):
    assert run("mri", "simulate", "scan.npz", *SMALL).code == 0
    return tmp_path / "scan.npz"


def test_simulate_then_recon(run, tmp_path, scan):
    ran = run("mri", "recon", scan, "--out", "out", "--format", "npy", "--format", "cfl", "--seed", "0")
    assert ran.code == 0
    assert "15 frames of 24 x 24" in ran.out
    assert "Not for diagnostic use" in ran.out
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {*PAGE_FILES, "images.npy", "images.cfl", "images.hdr", "labels.csv"}
    images = np.load(tmp_path / "out" / "images.npy")
    np.testing.assert_array_equal(np.moveaxis(read_cfl(tmp_path / "out" / "images.cfl").squeeze(), 2, 0), images)
    with np.load(scan) as found:
        truth = found["truth"]
    assert np.linalg.norm(images - truth) < 0.2 * np.linalg.norm(truth)
    assert (tmp_path / "out" / "labels.csv").read_text().splitlines()[0] == "frame,cluster"


def test_json_and_quiet(run, scan):
    found = run("mri", "recon", scan, "--json").json
    assert found["frames"] == 15
    assert found["warning"] == "Not for diagnostic use."
    assert run("mri", "recon", scan, "--out", "again", "--quiet").out == ""


def test_method(run, scan):
    found = run("mri", "recon", scan, "--method", "fusion", "--json").json
    assert found["method"] == "fusion"
    assert run("mri", "recon", scan, "--out", "other", "--json").json["method"] == "interpolation"


def test_a_folder_is_named_as_it_is(run, scan):
    """Rich would take [/x] for the end of a style, and end in an error."""
    assert "[/x]/index.html" in run("mri", "recon", scan, "--out", "[/x]").out


def test_nothing_is_replaced_unless_told(run, tmp_path, scan):
    assert run("mri", "recon", scan, "--out", "out").code == 0
    before = (tmp_path / "out" / "index.html").stat().st_mtime_ns
    ran = run("mri", "recon", scan, "--out", "out")
    assert ran.code == 2
    assert "--force" in ran.err
    assert (tmp_path / "out" / "index.html").stat().st_mtime_ns == before
    assert run("mri", "recon", scan, "--out", "out", "--force").code == 0
    assert run("mri", "simulate", scan, *SMALL).code == 2
    assert run("mri", "simulate", scan, *SMALL, "--force").code == 0


def test_coils_are_compressed(run, tmp_path):
    assert run("mri", "simulate", "scan.npz", *SMALL, "--coils", "4").code == 0
    assert run("mri", "recon", "scan.npz", "--coils", "3", "--out", "out").code == 0
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
    ran = run("mri", "recon", *arguments, "--out", "deep/out")
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.startswith("fusewise: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_missing_extra_is_named(run, scan, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "nibabel", None)
    ran = run("mri", "recon", scan, "--format", "nii", "--out", "out")
    assert ran.code == 2
    assert "fusewise[mri]" in ran.err


def test_name_of_a_simulated_scan(run):
    ran = run("mri", "simulate", "scan.h5", *SMALL)
    assert ran.code == 2
    assert "must end in .npz" in ran.err
