"""Compiled loops and their device versions, devices, threads and memory.

The fusion loop is written once, in operators that NumPy arrays and torch tensors share; what the two libraries spell
differently (``library``, ``to_host``, ...) is here. ``graph`` has loops along the edges of a graph, ``graph_steps`` the
steps of fusion along one, and ``tensors`` the same in torch.
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
from fusewise.kernels._krylov import conjugate_gradients, shrunk_by
from fusewise.kernels._memory import available_memory
from fusewise.kernels._nearest import nearest_in
from fusewise.kernels._patterns import by_groups, each_applied, pattern_distances, shifted_inverses
from fusewise.kernels._small_matrices import (
    LANES,
    accumulate,
    block_inverses,
    block_products,
    factorise,
    inverse_roots,
    inverses_in_place,
    invert_triangles,
    solve_triangles,
)
from fusewise.kernels._threads import in_ranges, in_threads, one_thread, single_products, small_products, threads_for

__all__ = [
    "LANES",
    "SMALL",
    "Array",
    "Floats",
    "Index",
    "Labels",
    "Mask",
    "Placement",
    "Real",
    "Stopwatch",
    "Values",
    "accumulate",
    "announcing",
    "available_memory",
    "beside",
    "block_inverses",
    "block_products",
    "by_groups",
    "check_finite",
    "compiled",
    "conjugate_gradients",
    "copied",
    "device_memory",
    "each_applied",
    "factorise",
    "few",
    "in_ranges",
    "in_threads",
    "inner_product",
    "inverse_roots",
    "inverses_in_place",
    "invert_triangles",
    "library",
    "nearest_in",
    "norm",
    "one_thread",
    "pattern_distances",
    "placement",
    "rounding_unit",
    "shifted_inverses",
    "shrunk_by",
    "single_products",
    "small_products",
    "solve_triangles",
    "splitmix64",
    "threads_for",
    "to_host",
    "torch_device",
    "total",
]
