"""Passes over all rows of a table on a device: their labels, and the rows that no cluster explains.

Blocks of rows are copied to the device, where densities are computed; what is left of them, a few numbers for each
row, comes back, and threads of the host compute the tails meanwhile (torch has no F distribution).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from fusewise.automatic.coordinates.symmetric import FAR
from fusewise.automatic.coordinates.units import Units
from fusewise.automatic.models.clusters import Clusters
from fusewise.automatic.models.joined import Joined
from fusewise.automatic.passes.device_axes import DeviceAxes, DeviceRows
from fusewise.automatic.passes.device_clusters import DeviceClusters, on_device
from fusewise.automatic.passes.labelling import Classified, tail
from fusewise.automatic.passes.surprising import Surprised, Surprises, tail_about
from fusewise.kernels.arrays import Array, to_host
from fusewise.kernels.threads import n_threads
from fusewise.kernels.types import Values
from fusewise.observations import InMemory, Table

#: Numbers of work space on a GPU, and where tests run the same code on the CPU; rows of a block, at most.
ON_GPU, ON_CPU, MOST_ROWS = 2**29, 2**22, 2**18
#: Rows that a thread of the host takes at a time.
HOST_ROWS = 2**14


class DeviceUnits(NamedTuple):
    """The units of the clusters, and the torch device."""

    units: Units
    device: Any

    def rows(self, table: InMemory, where: slice) -> DeviceRows:
        """Copy some rows to the device, in the units of the clusters."""
        rows, columns = table.take(where).dense(), self.units.columns
        values, mask = self._there(rows.values), self._there(rows.mask)
        if len(columns) < values.shape[1]:
            kept = self._there(columns)
            values, mask = values[:, kept], mask[:, kept]
        middle, scale = (self._there(each[columns].astype(float)) for each in (self.units.middle, self.units.scale))
        seen = mask.double()
        scaled = (values.double() - middle).div_(scale)
        return DeviceRows(self._made_symmetric(scaled).mul_(seen), seen)

    def _there(self, array: Values) -> Array:
        """An array as a tensor on the device."""
        import torch

        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device, non_blocking=True)

    def _made_symmetric(self, scaled: Array) -> Array:
        """What ``Powers.applied`` computes."""
        powers = self.units.powers
        if powers is None:
            return scaled
        (a, b), (c, d) = self._there(powers.before), self._there(powers.after)
        e, last, slopes = (self._there(each) for each in (powers.exponents, powers.last, powers.slopes))
        t = a * scaled + b
        inside = t.clip(0).minimum(last)
        logarithms, flat = inside.log1p(), e == 0
        power = ((e * logarithms).expm1() / (e + flat.double())).where(~flat, logarithms)
        y = power + t.clip(max=0) + slopes * (t - last).clip(0)
        return (c * y + d).clip(-FAR, FAR)

    def blocks(self, table: Table, width: int) -> Iterator[tuple[DeviceRows, slice]]:
        """Blocks of rows on the device, and where they are in the table; a row takes `width` numbers of work space."""
        room = ON_GPU if self.device.type == "cuda" else ON_CPU
        step, end = max(1, min(room // max(width, 1), MOST_ROWS)), 0
        for part in table.parts():
            first, end = end, end + part.shape[0]
            for begin in range(0, part.shape[0], step):
                stop = min(begin + step, part.shape[0])
                yield self.rows(part, slice(begin, stop)), slice(first + begin, first + stop)


def label_rows(clusters: Clusters, units: DeviceUnits, table: Table, found: Classified) -> None:
    """Fill in the most likely cluster of each row, its probability and tail (``labelling.classified``)."""
    model = on_device(clusters, units.device)
    with _behind() as behind:
        for rows, where in units.blocks(table, model.width):
            density, distance, dimensions = model.densities(rows)
            shares = density.softmax(1)
            sure, labels = shares.max(1)
            own = distance.gather(1, labels[:, None])[:, 0]
            kept = shares[:, : 0 if found.posterior is None else None]
            parts = [to_host(each) for each in (labels, sure, own, dimensions, kept)]

            def put(some: slice, where: slice = where, parts: Any = parts) -> None:
                labels, sure, own, dimensions, posterior = (each[some] for each in parts)
                at = slice(where.start + some.start, where.start + some.stop)
                found.put(at, Classified(labels, sure, tail(own, dimensions), posterior))

            behind(put, len(parts[0]))


def surprising_rows(surprised: Surprised, table: Table, device: Any) -> Surprises:
    """The rows that the clusters explain least: ``surprised`` of all blocks of a table, merged."""
    units = DeviceUnits(surprised.units, device)
    clusters = surprised.clusters
    model = on_device(clusters.parts if isinstance(clusters, Joined) else clusters, device)
    counts, found = table.row_counts, list[Surprises]()
    with _behind() as behind:
        for rows, where in units.blocks(table, model.width):
            known = [to_host(each) for each in _explained(model, rows)]

            def summarise(some: slice, where: slice = where, known: Any = known) -> None:
                total, label, distance, dimensions, about, left = (each[some] for each in known)
                tails = np.minimum(tail(distance, dimensions), tail_about(about, left))
                first = where.start + some.start
                seen = counts[first : first + len(total)] > 0
                found.append(surprised.summary(total, tails, label, seen, first))

            behind(summarise, len(known[0]))
    return Surprises.of_all(found)


def _explained(model: DeviceClusters, rows: DeviceRows) -> tuple[Array, ...]:
    """What ``surprising.explained`` computes, but for the tails.

    log p(x_i), the likeliest component, the distance from it and its dimensions; the distance from the axes and the
    entries that are left for it (both zero if there are no axes).
    """
    if isinstance(model, DeviceAxes):
        evidence = model.evidence(rows)
        density, distance, dimensions = model.given(evidence)
        noise = rows.seen @ (2 * np.pi * model.noises).log()
        about = (-2 * evidence.known - noise).clip(0)
        left = (rows.seen.sum(1).round().long() - dimensions).clip(0)
    else:
        density, distance, dimensions = model.densities(rows)
        about, left = density.new_zeros(len(density)), dimensions.new_zeros(len(density))
    label = density.argmax(1)
    own = distance.gather(1, label[:, None])[:, 0]
    return density.logsumexp(1), label, own, dimensions, about, left


@contextmanager
def _behind() -> Iterator[Callable[[Callable[[slice], None], int], None]]:
    """Run work on n rows in threads of the host, some rows at a time, while the device goes on."""
    begun: deque[Future[None]] = deque()
    threads = n_threads()
    with ThreadPoolExecutor(threads) as pool:

        def behind(work: Callable[[slice], None], n: int) -> None:
            starts = range(0, n, HOST_ROWS)
            begun.extend(pool.submit(work, slice(begin, min(begin + HOST_ROWS, n))) for begin in starts)
            while len(begun) > 2 * max(threads, len(starts)):  # no more blocks than two are held
                begun.popleft().result()

        yield behind
        while begun:
            begun.popleft().result()
