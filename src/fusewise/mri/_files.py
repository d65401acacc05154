"""File formats: reading of ISMRMRD, BART and NumPy scans; writing of NIfTI, NumPy and BART images.

Scans are read as ``Scan``, whose attributes are the arguments of ``fusewise.mri.reconstruct``.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from fusewise.mri._sampling import GridCells
from fusewise.mri._tensors import Array
from fusewise.support import InputError, counted

EXTRA = 'pip install "fusewise[mri]"'

#: Files of a series of images, by format.
IMAGE_FILES = {"npy": ("images.npy",), "cfl": ("images.cfl", "images.hdr"), "nii": ("images.nii.gz",)}


@dataclass(frozen=True, eq=False)
class Scan:
    """Samples of a series: gridded with a mask, or of any number of coils at a trajectory.

    Attributes
    ----------
    kspace, mask, trajectory, maps : arguments of ``fusewise.mri.reconstruct``.
    """

    kspace: Array
    mask: Array | None = None
    trajectory: Array | None = None
    maps: Array | None = None

    def first_mask(self, shape: tuple[int, ...]) -> Array:
        """Locations sampled in the first frame, of `shape` (ny, nx), with the centre of k-space in the middle."""
        if self.trajectory is not None:
            cells = GridCells.of(self.trajectory[:1], (shape[0], shape[1]))
            return np.fft.fftshift(cells.mask[0])
        if self.mask is not None:
            return np.asarray(self.mask[0])
        return np.asarray((self.kspace[0] != 0).reshape(-1, *shape).any(axis=0))


def read_scan(path: str | Path, *, lines_per_frame: int = 10) -> Scan:
    """Read the scan at `path` in the format of its file name extension.

    ``.h5``, ``.mrd``  ISMRMRD, radial, frames of `lines_per_frame` successive readouts (unless numbered in the file);
    ``.cfl``, ``.hdr`` BART, gridded: dimensions (y, x, 1, coils, ..., time at 10);
    ``.npz``           arrays named kspace, mask, trajectory, maps, as ``fusewise mri simulate`` writes them;
    ``.npy``           gridded k-space, zero where not sampled.
    """
    path = Path(path)
    if not path.exists() and not path.with_suffix(".cfl").exists():
        raise FileNotFoundError(f"no such file: {path}")
    try:
        return _read(path, lines_per_frame)
    except (ImportError, MemoryError, PermissionError):
        raise
    except Exception as error:  # each library raises its own errors for a damaged file
        raise InputError(f"{path.name} cannot be read as a scan: {error or type(error).__name__}") from error


def _read(path: Path, lines_per_frame: int) -> Scan:
    if path.suffix in (".h5", ".mrd"):
        return read_ismrmrd(path, lines_per_frame)
    if path.suffix in (".cfl", ".hdr"):
        return _gridded(series_from_bart(read_cfl(path)))
    if path.suffix == ".npy":
        return _gridded(np.load(path))
    if path.suffix == ".npz":
        with np.load(path) as found:
            if "kspace" not in found:
                raise InputError(f"{path.name} has no array named kspace; it has {', '.join(found) or 'none at all'}")
            return Scan(found["kspace"], *(found.get(name) for name in ("mask", "trajectory", "maps")))
    raise InputError(f"unknown format of {path.name}: use .h5, .mrd, .cfl, .npz or .npy")


def write_scan(path: str | Path, scan: Scan, **truth: Array) -> None:
    """Write a `scan`, and arrays of the ground `truth`, to `path` as ``.npz``."""
    arrays: dict[str, Any] = {name: part for name, part in vars(scan).items() if part is not None} | truth
    np.savez_compressed(path, **arrays)


def write_images(path: str | Path, images: Array) -> None:
    """Write `images` (T x ny x nx) to `path` by extension: ``.npy``, ``.cfl`` (complex), ``.nii(.gz)`` (magnitude)."""
    path = Path(path)
    if path.name.endswith((".nii", ".nii.gz")):
        write_nifti(path, images)
    elif path.suffix == ".cfl":
        ny, nx = images.shape[1:]
        write_cfl(path, np.moveaxis(images, 0, 2).reshape(ny, nx, *(8 * [1]), len(images)))
    elif path.suffix == ".npy":
        np.save(path, images)
    else:
        raise InputError(f"cannot write {path.name}: use .npy, .cfl, .nii or .nii.gz")


def read_cfl(path: str | Path) -> Array:
    """Read a BART array: dimensions in ``.hdr``, complex64 in column-major order in ``.cfl``."""
    path = Path(path)
    lines = path.with_suffix(".hdr").read_text().splitlines()
    dimensions = [int(n) for n in lines[lines.index("# Dimensions") + 1].split()]
    values = np.fromfile(path.with_suffix(".cfl"), dtype="<c8")
    if values.size != np.prod(dimensions):
        raise InputError(f"{path.name}: the header gives {np.prod(dimensions)} values, but the file has {values.size}")
    return np.asarray(values.reshape(dimensions, order="F"))


def write_cfl(path: str | Path, array: Array) -> None:
    """Write an array as BART's ``.cfl`` and ``.hdr``."""
    path = Path(path)
    path.with_suffix(".hdr").write_text("# Dimensions\n" + " ".join(map(str, array.shape)) + "\n")
    np.asarray(array, dtype="<c8").ravel(order="F").tofile(path.with_suffix(".cfl"))


def series_from_bart(array: Array) -> Array:
    """T x ny x nx, or T x coils x ny x nx, from BART's dimensions (y, x, z, coils, ..., time at index 10)."""
    sides: list[int] = [*array.shape, *((16 - array.ndim) * [1])]
    if any(side != 1 for axis, side in enumerate(sides) if axis not in (0, 1, 3, 10)):
        raise InputError(f"BART array of dimensions {array.shape}: only y, x, coils (4th) and time (11th) may exceed 1")
    series = array.reshape(sides[0], sides[1], sides[3], sides[10]).transpose(3, 2, 0, 1)
    return series[:, 0] if sides[3] == 1 else series


def write_nifti(path: str | Path, images: Array) -> None:
    """Write magnitudes as a NIfTI series (x, y, 1, time)."""
    try:
        import nibabel
    except ImportError as error:
        raise ImportError(f"NIfTI files require nibabel: {EXTRA}") from error
    volume = np.abs(images).astype(np.float32).transpose(2, 1, 0)[:, :, None, :]
    series: Any = nibabel.Nifti1Image
    nibabel.save(series(volume, np.eye(4)), Path(path))


def read_ismrmrd(path: str | Path, lines_per_frame: int) -> Scan:
    """Read radial readouts with trajectories. Frames are the file's repetitions, or `lines_per_frame` readouts each.

    Noise scans are skipped. Trajectories that exceed 0.5 are interpreted as cycles per field of view, and scaled by the
    matrix size of the header to cycles per pixel.
    """
    try:
        import ismrmrd
    except ImportError as error:
        raise ImportError(f"ISMRMRD files require ismrmrd: {EXTRA}") from error
    with TemporaryDirectory() as folder:  # the library opens files for writing, and writes to an empty one
        file: Any = ismrmrd.Dataset(shutil.copy(path, folder), create_if_needed=False)
        try:
            header = ismrmrd.xsd.CreateFromDocument(file.read_xml_header())
            readouts = [file.read_acquisition(k) for k in range(file.number_of_acquisitions())]
        finally:
            file.close()
    readouts = [a for a in readouts if not a.is_flag_set(ismrmrd.ACQ_IS_NOISE_MEASUREMENT)]
    if not readouts or readouts[0].traj.shape[1] < 2:
        raise InputError(f"{Path(path).name} has no readouts with a trajectory (x, y)")
    lines = np.stack([a.data for a in readouts])
    # ISMRMRD names the axes x, y; ours are rows, columns.
    places = np.stack([a.traj[:, [1, 0]] for a in readouts]).astype(float)
    if np.abs(places).max() > 0.5:
        size = header.encoding[0].encodedSpace.matrixSize
        places = places / np.array([size.y, size.x])
    repetitions = np.array([a.idx.repetition for a in readouts])
    if repetitions.max() > 0:
        lines_per_frame = int(np.bincount(repetitions).min())
        kept = np.concatenate([np.flatnonzero(repetitions == r)[:lines_per_frame] for r in np.unique(repetitions)])
        lines, places = lines[kept], places[kept]
    n_frames = len(lines) // lines_per_frame
    if n_frames < 3:
        few = f"{counted(len(lines), 'readout')} ({lines_per_frame} per frame) give {counted(n_frames, 'frame')}"
        raise InputError(f"{few}: at least 3 frames are needed")
    used = slice(n_frames * lines_per_frame)
    kspace = lines[used].reshape(n_frames, lines_per_frame, *lines.shape[1:]).swapaxes(1, 2)
    samples = kspace.reshape(*kspace.shape[:2], -1).astype(np.complex64)
    return Scan(samples, trajectory=places[used].reshape(n_frames, -1, 2))


def _gridded(kspace: Array) -> Scan:
    if kspace.dtype.kind not in "biufc" or kspace.ndim not in (3, 4) or 0 in kspace.shape:
        raise InputError(f"k-space must be T x ny x nx or T x coils x ny x nx, got {kspace.shape} of {kspace.dtype}")
    seen = np.isfinite(kspace) & (kspace != 0)
    return Scan(np.nan_to_num(kspace), mask=seen.any(axis=1) if kspace.ndim == 4 else seen)
