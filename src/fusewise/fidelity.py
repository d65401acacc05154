"""The fidelities f of a fusion problem, and their base class."""

from fusewise.fusion import Ball, Box, Fidelity, Quadratic

__all__ = ["Ball", "Box", "Fidelity", "Quadratic"]
