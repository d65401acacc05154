"""The paper's method: penalties, fidelities, one loop that never raises the objective, and paths along lam."""

from fusewise.fusion._fidelity import FIDELITIES, Ball, Box, Fidelity, Quadratic, as_fidelity
from fusewise.fusion._fuse import (
    FusionPath,
    Settings,
    choose_sigma,
    cut_to,
    fuse,
    fusion_path,
    lam_schedule,
    lam_without_effect,
    longest_plateau,
    solutions,
)
from fusewise.fusion._loop import Status
from fusewise.fusion._penalties import (
    H1,
    L0,
    L1,
    MCP,
    PENALTIES,
    SCAD,
    GemanMcClure,
    Lp,
    ObjectiveTerm,
    Penalty,
    TruncatedL2,
    as_penalty,
)
from fusewise.fusion._problem import check_pairs_fit, noise_level, pose
from fusewise.fusion._solution import Solution
