"""What a reconstruction returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from fusewise.kernels import Labels
from fusewise.mri._phases import frame_rhythms, labels_of
from fusewise.mri._rhythms import Rhythms
from fusewise.mri._tensors import Array


@dataclass(frozen=True)
class Setting:
    """A setting, and what the samples left out say of it.

    Attributes
    ----------
    scale : sigma² of the H1 weights in units of the median squared distance.
    noise : lam in units of the variance of the motion.
    score : energy of the samples left out over that of their prediction's error, in decibels.
    tried : (scale, noise, score) of every setting tried.
    """

    scale: float
    noise: float
    score: float
    tried: tuple[tuple[float, float, float], ...] = field(default=(), repr=False)


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Images of all frames, and how they were made.

    Attributes
    ----------
    images : T x ny x nx, complex.
    lam : strength of the prior that was chosen, in squared units of the images. By fusion: the lam of the paper.
    sigma : scale of the H1 weights that was chosen (median over the image), per pixel. By fusion: of whole frames.
    rank : directions in time that stand out of the noise.
    history : relative residual of the last solve, step by step. By fusion: the objective after each step.
    bands, local : the settings tried and the held-out samples' verdict on each. By fusion there is no ``bands``.
    way : "ByImage" or "BySample", as the solver that was used; "" where nothing moves, and by fusion.
    method : "interpolation" or "fusion", see ``mri.reconstruct``.
    """

    images: Array = field(repr=False)
    lam: float
    sigma: float
    rank: int
    history: tuple[float, ...] = field(repr=False)
    bands: Setting | None
    local: Setting
    method: str = "interpolation"

    @cached_property
    def rhythms(self) -> Rhythms:
        """Breath and beat, found in the images (computed when first asked for)."""
        return frame_rhythms(self.images)

    @property
    def breath(self) -> Array | None:
        """Position of the breath in each frame, 0 (where it rests) to 1; None where no breath was found."""
        return self.rhythms.breath

    @property
    def beat(self) -> Array | None:
        """Phase of the beat in each frame, in [0, 1); None where no beat was found."""
        return self.rhythms.beat

    @cached_property
    def labels(self) -> Labels:
        """Cluster of each frame, by breath and beat (computed when first asked for)."""
        return labels_of(self.images, self.rhythms)
