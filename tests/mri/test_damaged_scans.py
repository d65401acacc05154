"""Scans that are empty, cut off or of another kind: refused by name, and left as they are."""

from __future__ import annotations

import numpy as np
import pytest

from fusewise.mri._files import read_scan

GOOD = np.random.default_rng(0).normal(size=(4, 8, 8)).astype(complex)


def damaged(folder):
    """Files that are no scans."""
    np.save(folder / "good.npy", GOOD)
    np.savez(folder / "good.npz", kspace=GOOD)
    for suffix in (".npy", ".npz"):
        whole = (folder / f"good{suffix}").read_bytes()
        for length in (0, 1, 20, len(whole) // 2):
            path = folder / f"cut{length}{suffix}"
            path.write_bytes(whole[:length])
            yield path
    for name, array in {"text": np.array(["a"]), "flat": np.ones(3), "none": np.ones((0, 4, 4))}.items():
        np.save(folder / f"{name}.npy", array)
        yield folder / f"{name}.npy"
    for name, header in {"empty": "", "words": "# Dimensions\nx y\n", "negative": "# Dimensions\n-1 -4\n"}.items():
        (folder / f"{name}.hdr").write_text(header)
        (folder / f"{name}.cfl").write_bytes(bytes(32))
        yield folder / f"{name}.cfl"
    (folder / "alone.cfl").write_bytes(bytes(32))
    yield folder / "alone.cfl"


def test_files_that_are_no_scans(tmp_path):
    for path in damaged(tmp_path):
        with pytest.raises(ValueError, match=r"cannot be read as a scan|no array named kspace"):
            read_scan(path)


def test_reading_changes_no_file(tmp_path):
    """An empty file had 800 bytes afterwards."""
    pytest.importorskip("ismrmrd")
    for content in (b"", b"\x89HDF\r\n\x1a\n" + bytes(40), b"text"):
        path = tmp_path / "scan.h5"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"scan\.h5 cannot be read as a scan"):
            read_scan(path)
        assert path.read_bytes() == content
