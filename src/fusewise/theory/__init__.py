"""Recovery guarantees: those of the paper, sharper ones of our own, and both in plain words.

`ClusterGeometry` and `coherence` say how wide clusters are, how far apart, and in how many features. For one pair of
points the paper has `gamma0`, `delta0`, `beta0` and `beta1`; ours, never above beta0, is (1 - p0^2)^n with n =
`separating_features`. For all points the paper has `eta0`, `eta0_approx` and `eta1`; ours are `sharp_failure`, and
`blind_failure`, a lower bound. `success_probability`, `required_sampling` and `promise` put them to use.
"""

from fusewise.theory._bounds import beta0, beta1, delta0, gamma0, separating_features
from fusewise.theory._compositions import eta0, eta0_approx, eta1
from fusewise.theory._failure import blind_failure, sharp_failure
from fusewise.theory._geometry import ClusterGeometry, coherence
from fusewise.theory._promises import Promise, promise, required_sampling, success_probability

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
    "eta1",
    "gamma0",
    "promise",
    "required_sampling",
    "separating_features",
    "sharp_failure",
    "success_probability",
]
