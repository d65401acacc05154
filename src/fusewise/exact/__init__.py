"""The constrained l0 problem of the paper, solved to proven optimality, and certificates for other solvers.

`solve_l0` solves it; `certify` says how far a given partition is from its optimum; `fewest_splits` is a cheap bound on
that optimum. Only what the reductions leave needs HiGHS: ``pip install "fusewise[exact]"``.
"""

from fusewise.exact.certificate import Certificate, certify
from fusewise.exact.lower_bounds import fewest_splits
from fusewise.exact.search import Reductions
from fusewise.exact.solve import ExactSolution, solve_l0
from fusewise.exact.status import CertificateStatus, SolutionStatus

__all__ = [
    "Certificate",
    "CertificateStatus",
    "ExactSolution",
    "Reductions",
    "SolutionStatus",
    "certify",
    "fewest_splits",
    "solve_l0",
]
