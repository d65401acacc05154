"""From fused centres to labels.

Fusion brings centres together without making them equal to the last digit: within a group they end at a small
fraction of the penalty's scale, and groups stay at least about that scale apart. **The rule:** link the centres by
single linkage, and take the heights of the merges, raised to the penalty's ``resolution`` (below it any two centres
count as one) and lowered to its ``reach`` (beyond it pairs hardly attract). Cut in the middle of the widest gap among
them, the reach included, on a logarithmic scale. Where that gap spans a factor 4 or more, the labels do not change if
the cut is moved by a factor 2 either way; where no gap does, nothing has clearly fused, and only centres within the
resolution are joined. A point that its data hold more strongly than its pairs pull it has not fused, however near the
others are: it stays alone. (``fusion.merging`` applies the rule along the pairs of a problem.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.observations.entries import Real, Values
from fusewise.penalties import Penalty

Labels = npt.NDArray[np.intp]

#: A gap must span this factor to count as one: a factor 2 on either side of the cut.
CLEAR_GAP = 4.0

#: Reach of a penalty that does not saturate, in units of its resolution: its kink fuses to within that, or not at all.
WIDE = 100.0


def fusion_scale(heights: Real, penalty: Penalty) -> float:
    """The distance within which centres count as fused (see the rule above), from the heights of their merges."""
    low = penalty.resolution
    high = penalty.reach or WIDE * low
    steps = np.append(np.clip(np.sort(heights), low, high), high)
    ratios = steps[1:] / steps[:-1]
    widest = int(np.argmax(ratios))
    return float(np.sqrt(steps[widest] * steps[widest + 1])) if ratios[widest] >= CLEAR_GAP else low


def number_by_size(groups: npt.NDArray[Any], min_size: int = 1) -> Labels:
    """Number the groups 0, 1, ... by falling size (first seen first among equals), too small ones -1."""
    _, first, members, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -sizes))
    names = np.empty(len(sizes), dtype=np.intp)
    names[order] = np.arange(len(sizes))
    names[sizes < min_size] = -1
    return names[members]


def group_means(table: Values, labels: Labels) -> Values:
    """Mean row of each group 0, 1, ...; no groups give no rows."""
    n_groups = int(labels.max(initial=-1)) + 1
    kept = labels >= 0
    sums = np.zeros((n_groups, table.shape[1]), dtype=table.dtype)
    np.add.at(sums, labels[kept], table[kept])
    return sums / np.bincount(labels[kept], minlength=n_groups)[:, None]
