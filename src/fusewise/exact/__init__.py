"""The constrained l0 problem of the paper, solved to proven optimality, and certificates for other solvers.

`solve_l0` solves it; `certify` says how far a given partition is from its optimum. Only what the reductions leave needs
HiGHS: ``pip install "fusewise[exact]"``.
"""

from fusewise.exact._solve import Certificate, ExactSolution, certify, solve_l0

__all__ = ["Certificate", "ExactSolution", "certify", "solve_l0"]
