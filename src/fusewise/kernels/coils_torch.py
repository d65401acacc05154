"""Images seen by several coils, in tensors: Triton kernels on a GPU, torch operations elsewhere."""

from __future__ import annotations

from fusewise.kernels.arrays import Array
from fusewise.kernels.graph_torch import can_run_triton


def spread(images: Array, maps: Array, out: Array) -> None:
    """Write m_c u_t into the corner of the planes of `out`; elsewhere these stay as they are.

    Parameters
    ----------
    images, maps, out : T x ny x nx, coils x ny x nx and T x coils x my x mx, with my >= ny and mx >= nx.
    """
    if can_run_triton(images.device):
        from fusewise.kernels import coils_triton

        coils_triton.spread(images, maps, out)
        return
    ny, nx = maps.shape[1:]
    out[..., :ny, :nx] = images[:, None] * maps


def combine(planes: Array, maps: Array, out: Array) -> None:
    """Write sum_c conj(m_c) v_tc into `out`, where v is the corner of the planes: the adjoint of ``spread``."""
    if can_run_triton(planes.device):
        from fusewise.kernels import coils_triton

        coils_triton.combine(planes, maps, out)
        return
    ny, nx = maps.shape[1:]
    out[...] = (planes[..., :ny, :nx] * maps.conj()).sum(1)
