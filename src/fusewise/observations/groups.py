"""Groups of rows: labels 0, 1, ... by decreasing size, and -1 for rows in no group."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.kernels.types import Labels, Values


def number_by_size(groups: npt.NDArray[Any], min_size: int = 1) -> Labels:
    """Number the groups 0, 1, ... by decreasing size (ties in order of appearance); -1 for groups below `min_size`."""
    n = len(groups)
    # Numbers that are not much larger than n need not be sorted to be counted.
    small = groups.dtype.kind in "iu" and groups.min(initial=0) >= 0 and groups.max(initial=0) <= 4 * n
    members = groups if small else np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(members)
    first = np.full(len(sizes), n)
    first[members[::-1]] = np.arange(n)[::-1]  # of several the last assignment holds
    order = np.lexsort((first, -sizes))
    names = np.empty(len(sizes), dtype=np.intp)
    names[order] = np.arange(len(sizes))
    names[sizes < min_size] = -1
    return names[members]


def group_means(table: Values, labels: Labels) -> Values:
    """Mean row of each group 0, 1, ...; an empty array if there are no groups."""
    n_groups = int(labels.max(initial=-1)) + 1
    kept = labels >= 0
    sums = np.zeros((n_groups, table.shape[1]), dtype=table.dtype)
    np.add.at(sums, labels[kept], table[kept])
    return sums / np.bincount(labels[kept], minlength=n_groups)[:, None]
