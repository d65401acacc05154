"""The interface of an observation model, as fusion uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from fusewise.kernels.types import Real, Values


class Observations(Protocol):
    """The quadratic ||A_i u - b_i||² of each point i, through operations on all centres at once (N x dimension)."""

    @property
    def separable(self) -> bool:
        """Whether every A_i' A_i is diagonal, so that columns can be solved for one by one."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """(N, dimension of a centre)."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether every A_i' A_i is the identity."""
        ...

    @property
    def target(self) -> Values:
        """A_i' b_i."""
        ...

    @property
    def centred(self) -> Values:
        """A_i' (b_i - A_i m), with one common centre m for all points: the scale of gradients."""
        ...

    def misfit(self, centers: Values) -> float:
        """sum_i ||A_i u_i - b_i||²."""
        ...

    def normal(self, centers: Values) -> Values:
        """A_i' A_i u_i."""
        ...

    def solve(self, anchors: Values, pull: Real) -> Values:
        """argmin_u ||A_i u - b_i||² + t_i ||u - v_i||²."""
        ...

    def confine(self, centers: Values) -> Values:
        """Project the centres onto a set that contains a minimum; this never raises the objective."""
        ...

    def preconditioner(self, pull: Real) -> Callable[[Values], Values]:
        """(A_i' A_i + t_i I)^-1, as a function of the right-hand sides."""
        ...
