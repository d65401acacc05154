"""Dynamic MRI: frames that cluster, reconstructed from a few per cent of their samples. Not for diagnostic use."""

from fusewise.mri._files import IMAGE_FILES, Scan, read_scan, write_images, write_scan
from fusewise.mri._phantom import Phantom, contraction, inspiration, make_phantom, simulate_scan
from fusewise.mri._reconstruct import reconstruct
from fusewise.mri._result import Reconstruction, frame_labels, ser, spectral_labels
from fusewise.mri._sampling import compress_coils, invert, radial_mask, radial_trajectory, sample_grid

__all__ = [
    "IMAGE_FILES",
    "Phantom",
    "Reconstruction",
    "Scan",
    "compress_coils",
    "contraction",
    "frame_labels",
    "inspiration",
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
