"""Files go out and come back; a page of results stands on its own."""

import numpy as np
import pytest

from fusewise.mri.formats import read_cfl, read_scan, series_from_bart, write_cfl, write_images
from fusewise.mri.pages import recon, simulate, tile


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
    with pytest.raises(ValueError, match="cannot tell"):
        read_scan(tmp_path / "a.dcm")
    with pytest.raises(FileNotFoundError):
        read_scan(tmp_path / "none.npy")
    with pytest.raises(ValueError, match="cannot write"):
        write_images(tmp_path / "a.png", images())


def test_gridded_file_reads_its_mask(tmp_path):
    kspace = images()
    kspace[:, 0] = 0
    np.save(tmp_path / "k.npy", kspace)
    scan = read_scan(tmp_path / "k.npy")
    np.testing.assert_array_equal(scan.mask, kspace != 0)


def test_tiles():
    np.testing.assert_array_equal(tile(np.arange(3).reshape(3, 1, 1), 2), [[0, 1], [2, 0]])


def test_simulate_then_recon(tmp_path):
    pytest.importorskip("PIL")
    scan = simulate(tmp_path / "scan", frames=15, size=24)
    page = recon(scan, tmp_path / "out", verbose=0)
    text = page.read_text()
    assert "Not for diagnostic use" in text
    for name in ("movie.gif", "frames.png", "profile.png", "clusters.png", "mask.png"):
        assert name in text
        assert (page.parent / name).stat().st_size > 0
    assert np.load(page.parent / "images.npy").shape == (15, 24, 24)
    assert len(np.loadtxt(page.parent / "labels.txt")) == 15


def test_simulated_coils_are_radial(tmp_path):
    pytest.importorskip("finufft")
    scan = read_scan(simulate(tmp_path / "scan", frames=5, size=16, coils=2))
    assert scan.mask is None
    assert scan.maps.shape == (2, 16, 16)
    assert scan.kspace.shape[:2] == (5, 2)
    assert scan.trajectory.shape == (5, scan.kspace.shape[2], 2)
