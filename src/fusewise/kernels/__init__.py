"""Compiled loops and their device versions, devices, threads and memory.

The fusion loop is written once, in operators that NumPy arrays and torch tensors share; what the two libraries spell
differently (``library``, ``to_host``, ...) is here.
"""

from fusewise.kernels._arrays import (
    Array,
    Floats,
    Index,
    Labels,
    Mask,
    Placement,
    Real,
    Values,
    available_memory,
    beside,
    check_finite,
    copied,
    device_memory,
    inner_product,
    library,
    norm,
    placement,
    rounding_unit,
    splitmix64,
    to_host,
    torch_device,
    total,
)
from fusewise.kernels._compiling import (
    SMALL,
    Stopwatch,
    announcing,
    compiled,
    few,
    in_ranges,
    in_threads,
    small_products,
    threads_for,
)
from fusewise.kernels._graph import (
    by_rows,
    components,
    edge_squares,
    laplacian,
    merged_edges,
    row_weights,
    spanning_forest,
    spanning_tree,
    sum_by,
)
from fusewise.kernels._krylov import conjugate_gradients, shrunk_by
from fusewise.kernels._nearest import nearest_in
from fusewise.kernels._normals import Truncated, column_moments, sites, truncated
from fusewise.kernels._small_matrices import (
    LANES,
    block_inverses,
    block_products,
    each_applied,
    factorise,
    inverse_roots,
    inverses_in_place,
    invert_in_lanes,
    pattern_distances,
    shifted_inverses,
)
from fusewise.kernels._tensors import factorised, squares_of
