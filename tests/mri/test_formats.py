"""Files go out and come back; a page of results stands on its own."""

import numpy as np
import pytest

from fusewise.mri import reconstruct
from fusewise.mri._files import (
    read_cfl,
    read_scan,
    series_from_bart,
    write_cfl,
    write_images,
    write_scan,
)
from fusewise.mri._phantom import simulate_scan
from fusewise.views._mri_page import PAGE_FILES, tile, write_mri_page


def images(shape=(3, 4, 5)):
    rng = np.random.default_rng(0)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)


def test_bart_round_trip(tmp_path):
    write_images(tmp_path / "a.cfl", images())
    array = read_cfl(tmp_path / "a.cfl")
    assert array.shape == (4, 5, 1, 1, 1, 1, 1, 1, 1, 1, 3)  # time is BART's eleventh dimension
    np.testing.assert_array_equal(series_from_bart(array), images())


def test_bart_layout_is_column_major(tmp_path):
    write_cfl(tmp_path / "b.cfl", np.array([[1, 2], [3, 4]]))
    np.testing.assert_array_equal(np.fromfile(tmp_path / "b.cfl", "<c8"), [1, 3, 2, 4])
    assert (tmp_path / "b.hdr").read_text() == "# Dimensions\n2 2\n"


def test_broken_bart_file(tmp_path):
    write_cfl(tmp_path / "b.cfl", np.ones((2, 2)))
    (tmp_path / "b.hdr").write_text("# Dimensions\n3 3\n")
    with pytest.raises(ValueError, match="9 values"):
        read_cfl(tmp_path / "b.cfl")


def test_nifti_is_magnitude_with_time_last(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    write_images(tmp_path / "a.nii.gz", images())
    volume = nibabel.load(tmp_path / "a.nii.gz").get_fdata()
    np.testing.assert_allclose(volume[:, :, 0], np.abs(images()).transpose(2, 1, 0), rtol=1e-6)


def test_ismrmrd_radial_lines(tmp_path):
    ismrmrd = pytest.importorskip("ismrmrd")
    path = tmp_path / "a.h5"
    rng = np.random.default_rng(0)
    lines = (rng.standard_normal((6, 2, 8)) + 1j * rng.standard_normal((6, 2, 8))).astype(np.complex64)
    places = rng.uniform(-0.5, 0.5, (6, 8, 2)).astype(np.float32)
    file = ismrmrd.Dataset(str(path))
    space = "<matrixSize><x>8</x><y>8</y><z>1</z></matrixSize><fieldOfView_mm><x>8</x><y>8</y><z>1</z></fieldOfView_mm>"
    file.write_xml_header(
        '<ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD"><experimentalConditions>'
        "<H1resonanceFrequency_Hz>63000000</H1resonanceFrequency_Hz></experimentalConditions>"
        f"<encoding><encodedSpace>{space}</encodedSpace><reconSpace>{space}</reconSpace>"
        "<encodingLimits/><trajectory>radial</trajectory></encoding></ismrmrdHeader>"
    )
    for line, place in zip(lines, places, strict=True):
        file.append_acquisition(ismrmrd.Acquisition.from_array(line, place))
    file.close()
    scan = read_scan(path, lines_per_frame=2)
    assert scan.kspace.shape == (3, 2, 16)
    assert scan.trajectory.shape == (3, 16, 2)
    np.testing.assert_array_equal(scan.kspace[1, 0], lines[2:4, 0].ravel())
    np.testing.assert_allclose(scan.trajectory[1, :8], places[2][:, [1, 0]])


def test_unknown_format(tmp_path):
    (tmp_path / "a.dcm").touch()
    with pytest.raises(ValueError, match="unknown format"):
        read_scan(tmp_path / "a.dcm")
    with pytest.raises(FileNotFoundError):
        read_scan(tmp_path / "none.npy")
    with pytest.raises(ValueError, match="cannot write"):
        write_images(tmp_path / "a.png", images())


def test_tiles():
    np.testing.assert_array_equal(tile(np.arange(3).reshape(3, 1, 1), 2), [[0, 1], [2, 0]])


def test_page_stands_on_its_own(tmp_path):
    pytest.importorskip("PIL")
    scan, _ = simulate_scan(15, 24)
    page = write_mri_page(tmp_path, reconstruct(scan.kspace, scan.mask, random_state=0), scan, "a <scan>")
    text = page.read_text()
    assert "Not for diagnostic use" in text
    assert "a &lt;scan&gt;" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(PAGE_FILES)
    assert all(name in text for name in PAGE_FILES if name != page.name)


def test_simulated_coils_are_radial(tmp_path):
    scan, truth = simulate_scan(5, 16, coils=2)
    write_scan(tmp_path / "scan.npz", scan, **truth)
    again = read_scan(tmp_path / "scan.npz")
    assert again.mask is None
    assert again.maps.shape == (2, 16, 16)
    np.testing.assert_array_equal(again.kspace, scan.kspace)
    assert again.trajectory.shape == (5, scan.kspace.shape[2], 2)
    assert again.first_mask((16, 16))[8].all()  # the first navigator line runs along a row
    with pytest.raises(ValueError, match="at least 1"):
        simulate_scan(5, 16, golden=0, navigators=0)


def test_scan_without_kspace(tmp_path):
    np.savez(tmp_path / "a.npz", images=np.ones(2))
    with pytest.raises(ValueError, match="no array named kspace; it has images"):
        read_scan(tmp_path / "a.npz")


def test_bart_coils(tmp_path):
    kspace = images((3, 2, 4, 5))
    kspace[:, :, 0] = 0
    write_cfl(tmp_path / "k.cfl", kspace.transpose(2, 3, 1, 0).reshape(4, 5, 1, 2, *(6 * [1]), 3))
    scan = read_scan(tmp_path / "k.cfl")
    np.testing.assert_array_equal(scan.kspace, kspace)
    np.testing.assert_array_equal(scan.mask, kspace[:, 0] != 0)
    with pytest.raises(ValueError, match="may exceed 1"):
        series_from_bart(np.ones((2, 2, 2)))


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
