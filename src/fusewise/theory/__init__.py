"""Recovery guarantees: those of the paper, sharper ones of our own, and both in plain words.

=====================  ==========================================================================
``geometry``           `ClusterGeometry`, `coherence`: how wide, how far apart, in how many features
``bounds``             the paper, one pair: `gamma0`, `delta0`, `beta0`, `beta1`
``compositions``       the paper, all points: `eta0`, `eta0_approx`, `eta1`
``sharper``            ours, one pair: `sharp_beta0`, `mixture_beta0`, `sharp_beta1`, `uniform_beta0`
``failure``            ours, all points: `sharp_failure`, and `blind_failure`, a lower bound
``promises``           `success_probability`, `required_sampling`, `promise`
=====================  ==========================================================================
"""

from fusewise.theory.bounds import beta0, beta1, delta0, gamma0, log_beta0, log_beta1, log_delta0, log_gamma0
from fusewise.theory.compositions import eta0, eta0_approx, eta0_approx_valid, eta1, log_eta0, log_eta1
from fusewise.theory.failure import blind_failure, log_sharp_failure, sharp_failure
from fusewise.theory.geometry import ClusterGeometry, coherence
from fusewise.theory.promises import (
    Promise,
    log_failure,
    promise,
    required_sampling,
    success_probability,
    why_no_guarantee,
)
from fusewise.theory.sharper import (
    log_sharp_beta0,
    log_sharp_beta1,
    log_uniform_beta0,
    mixture_beta0,
    separating_features,
    sharp_beta0,
    sharp_beta1,
    uniform_beta0,
)

__all__ = [
    "ClusterGeometry",
    "Promise",
    "beta0",
    "beta1",
    "blind_failure",
    "coherence",
    "delta0",
    "eta0",
    "eta0_approx",
    "eta0_approx_valid",
    "eta1",
    "gamma0",
    "log_beta0",
    "log_beta1",
    "log_delta0",
    "log_eta0",
    "log_eta1",
    "log_failure",
    "log_gamma0",
    "log_sharp_beta0",
    "log_sharp_beta1",
    "log_sharp_failure",
    "log_uniform_beta0",
    "mixture_beta0",
    "promise",
    "required_sampling",
    "separating_features",
    "sharp_beta0",
    "sharp_beta1",
    "sharp_failure",
    "success_probability",
    "uniform_beta0",
    "why_no_guarantee",
]
