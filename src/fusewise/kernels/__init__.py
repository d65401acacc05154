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
from fusewise.kernels._compiling import SMALL, Stopwatch, announcing, compiled, few
from fusewise.kernels._graph import (
    Integers,
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
from fusewise.kernels._graph_steps import ColumnSystems
from fusewise.kernels._krylov import conjugate_gradients, shrunk_by
from fusewise.kernels._memory import available_memory
from fusewise.kernels._nearest import nearest_in
from fusewise.kernels._normals import Truncated, column_moments, sites, truncated
from fusewise.kernels._patterns import by_groups, each_applied, pattern_distances, shifted_inverses
from fusewise.kernels._small_matrices import (
    LANES,
    accumulate,
    block_inverses,
    block_products,
    factorise,
    inverse_roots,
    inverses_and_log_dets,
    inverses_in_place,
    invert_triangles,
    solve_triangles,
)
from fusewise.kernels._tensors import EDGE_BLOCK, factorised, squares_of
from fusewise.kernels._threads import in_ranges, in_threads, one_thread, single_products, small_products, threads_for
