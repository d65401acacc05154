"""Dynamic MRI: frames that cluster, reconstructed from a few per cent of their samples. Not for diagnostic use."""

from fusewise.mri._coils import compress_coils
from fusewise.mri._files import IMAGE_FILES, Scan, read_scan, write_images, write_scan
from fusewise.mri._fourier import invert
from fusewise.mri._metrics import ser
from fusewise.mri._phantom import Phantom, make_phantom
from fusewise.mri._phases import frame_labels, spectral_labels
from fusewise.mri._reconstruct import reconstruct
from fusewise.mri._result import Reconstruction
from fusewise.mri._simulating import simulate_scan
from fusewise.mri._trajectories import radial_mask, radial_trajectory, sample_grid

__all__ = [
    "IMAGE_FILES",
    "Phantom",
    "Reconstruction",
    "Scan",
    "compress_coils",
    "frame_labels",
    "invert",
    "make_phantom",
    "radial_mask",
    "radial_trajectory",
    "read_scan",
    "reconstruct",
    "sample_grid",
    "ser",
    "simulate_scan",
    "spectral_labels",
    "write_images",
    "write_scan",
]
