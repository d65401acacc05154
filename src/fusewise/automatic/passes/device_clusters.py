"""Models of clusters in tensors on a device: the counterparts of ``clusters``, ``columnwise`` and ``beside``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fusewise.automatic.coordinates.level_blocks import is_number
from fusewise.automatic.models.beside import Beside
from fusewise.automatic.models.clusters import AlongAxes, Clusters
from fusewise.automatic.models.columnwise import ColumnMixture
from fusewise.automatic.models.joined import Joined
from fusewise.automatic.models.numbers_and_categories import NumbersAndCategories
from fusewise.automatic.passes.device_axes import Densities, DeviceAxes, DeviceRows, log_tails, tensor
from fusewise.kernels.arrays import Array


class DeviceClusters(Protocol):
    """K components, and their densities in tensors."""

    @property
    def width(self) -> int:
        """Numbers of work space that a row takes."""

    def densities(self, rows: DeviceRows) -> Densities:
        """What ``Clusters.log_densities`` says of the rows."""


def on_device(clusters: Clusters, device: Any) -> DeviceClusters:
    """Copy clusters to a torch device."""
    if isinstance(clusters, Beside):
        return DeviceBeside(
            on_device(clusters.common, device), DeviceColumns.of(clusters.rare, device), float(clusters.share)
        )
    if isinstance(clusters, Joined):
        groups = [tensor(np.flatnonzero(clusters.group == k), device) for k in range(clusters.n_components)]
        return DeviceJoined(on_device(clusters.parts, device), groups)
    if isinstance(clusters, AlongAxes):
        return DeviceAxes.of(clusters, device)
    if isinstance(clusters, NumbersAndCategories):
        return DeviceNumbersAndCategories(
            DeviceAxes.of(clusters.numbers, device),
            DeviceColumns.of(clusters.categories, device),
            tensor(np.flatnonzero(clusters.is_number), device),
            tensor(np.flatnonzero(~clusters.is_number), device),
            None if clusters.shifts is None else tensor(clusters.shifts, device),
        )
    assert isinstance(clusters, ColumnMixture)
    return DeviceColumns.of(clusters, device)


@dataclass(frozen=True, eq=False)
class DeviceColumns:
    """``ColumnMixture`` in tensors.

    Attributes
    ----------
    numeric : whether each column holds numbers, P.
    means, precisions, normaliser : of the numbers, K x P: m_kj, 1 / s_kj, and -log(2 pi s_kj) / 2; zero elsewhere.
    levels : K x P, what a level adds to the log-density; None if there are no categories.
    log_shares : K.
    """

    numeric: Array
    means: Array
    precisions: Array
    normaliser: Array
    levels: Array | None
    log_shares: Array

    @classmethod
    def of(cls, mixture: ColumnMixture, device: Any) -> DeviceColumns:
        """Copy a model to a device."""
        numeric = is_number(mixture.means.shape[1], mixture.levels)
        precisions = np.where(numeric, 1 / mixture.variances, 0)
        normaliser = np.where(numeric, -0.5 * np.log(2 * np.pi * mixture.variances), 0)
        levels = tensor(mixture.columns.log_levels(), device) if mixture.levels else None
        return cls(
            tensor(numeric.astype(float), device),
            tensor(mixture.means, device),
            tensor(precisions, device),
            tensor(normaliser, device),
            levels,
            tensor(np.log(mixture.shares), device),
        )

    @property
    def width(self) -> int:
        """Numbers of work space that a row takes."""
        return 6 * len(self.log_shares) + 4 * len(self.numeric)

    def densities(self, rows: DeviceRows) -> Densities:
        """What ``Clusters.log_densities`` says of the rows."""
        distance = rows.values.square() @ self.precisions.T - 2 * (rows.values @ (self.means * self.precisions).T)
        distance = (distance + rows.seen @ (self.means.square() * self.precisions).T).clip(0)
        dimensions = (rows.seen @ self.numeric).round().long()
        density = rows.seen @ self.normaliser.T + log_tails(distance, dimensions) + self.log_shares
        if self.levels is not None:
            density += rows.values @ self.levels.T
        return Densities(density, distance, dimensions)


@dataclass(frozen=True, eq=False)
class DeviceNumbersAndCategories:
    """``NumbersAndCategories`` in tensors: `where` and `others` are the columns of the two."""

    numbers: DeviceAxes
    categories: DeviceColumns
    where: Array
    others: Array
    shifts: Array | None

    @property
    def width(self) -> int:
        """Numbers of work space that a row takes."""
        return self.numbers.width + self.categories.width + 2 * (len(self.where) + len(self.others))

    def densities(self, rows: DeviceRows) -> Densities:
        """What ``NumbersAndCategories.log_densities`` says of the rows."""
        numbers, levels = rows.of(self.where), rows.of(self.others)
        if self.shifts is not None:
            numbers = numbers._replace(values=numbers.values - numbers.seen * (levels.values @ self.shifts))
        density, distance, dimensions = self.numbers.densities(numbers)
        of_levels = self.categories.densities(levels).density - self.categories.log_shares
        return Densities(density + of_levels, distance, dimensions)


@dataclass(frozen=True, eq=False)
class DeviceJoined:
    """``Joined`` in tensors: clusters of several components each."""

    parts: DeviceClusters
    groups: list[Array]

    @property
    def width(self) -> int:
        """Numbers of work space that a row takes."""
        return self.parts.width + 4 * len(self.groups)

    def densities(self, rows: DeviceRows) -> Densities:
        """Densities are added, and distances are those of the nearest component."""
        import torch

        density, distance, dimensions = self.parts.densities(rows)
        summed = torch.stack([density[:, group].logsumexp(1) for group in self.groups], 1)
        nearest = torch.stack([distance[:, group].amin(1) for group in self.groups], 1)
        return Densities(summed, nearest, dimensions)


@dataclass(frozen=True, eq=False)
class DeviceBeside:
    """``Beside`` in tensors: clusters, and rare ones with a share of the rows."""

    common: DeviceClusters
    rare: DeviceColumns
    share: float

    @property
    def width(self) -> int:
        """Numbers of work space that a row takes."""
        return self.common.width + self.rare.width

    def densities(self, rows: DeviceRows) -> Densities:
        """What ``Beside.log_densities`` says of the rows."""
        import torch

        density, distance, dimensions = self.common.densities(rows)
        others, far, numbers = self.rare.densities(rows)
        far = far * (dimensions.clip(1) / numbers.clip(1))[:, None]
        both = torch.cat([density + math.log1p(-self.share), others + math.log(self.share)], 1)
        return Densities(both, torch.cat([distance, far], 1), dimensions)
