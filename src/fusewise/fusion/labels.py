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

import numpy as np

from fusewise.fusion.penalties import Penalty
from fusewise.observations.entries import Real

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
