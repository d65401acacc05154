"""Dynamic MRI: frames that cluster, reconstructed from a few per cent of their samples. Not for diagnostic use."""

from fusewise.mri.frames.phases import frame_labels
from fusewise.mri.phantom import Phantom, make_phantom
from fusewise.mri.reconstruct import reconstruct
from fusewise.mri.result import Reconstruction
from fusewise.mri.sampling.trajectories import radial_mask, radial_trajectory, sample_grid

__all__ = [
    "Phantom",
    "Reconstruction",
    "frame_labels",
    "make_phantom",
    "radial_mask",
    "radial_trajectory",
    "reconstruct",
    "sample_grid",
]
