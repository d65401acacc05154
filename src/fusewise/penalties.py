"""The penalties phi of a fusion problem, and their base class."""

from fusewise.fusion import H1, L0, L1, MCP, SCAD, GemanMcClure, Lp, Penalty, TruncatedL2

__all__ = ["H1", "L0", "L1", "MCP", "SCAD", "GemanMcClure", "Lp", "Penalty", "TruncatedL2"]
