"""Low-rank coordinates of incomplete points: probabilistic PCA on the observed entries.

``x_i = mean + Q v_i + e_i`` with ``v_i ~ N(0, diag(variances))``, ``e_i ~ N(0, noise I)`` and orthonormal ``Q``.
K centres lie in a (K-1)-dimensional affine subspace, so fusing the coordinates ``v_i`` instead of the rows
lowers the within-cluster energy from ``P * noise`` to ``rank * noise`` and keeps the distances between centres.
"""

from fusewise.subspace._em import choose_rank, fit_subspace
from fusewise.subspace._projection import (
    RowsOnDevice,
    Subspace,
    coordinates,
    coordinates_of,
    information,
    precisions,
    pulls,
    reconstruct,
)
from fusewise.subspace._smooth import Smooth, fit_shrunk_subspace, with_noise
