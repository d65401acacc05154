"""Labels from fused centres.

Fusion brings centres together without making them exactly equal: within a group they end within a small fraction of
the penalty's scale, and groups stay at least about that scale apart. **The rule:** link the centres by single linkage
and look at the gaps between the heights of successive merges. Heights below the penalty's ``resolution`` are raised to
it (below it any two centres count as one). A gap is clear if it spans a factor 4 or more, and it can separate fused
centres from others if it begins below the penalty's ``reach`` (beyond it pairs hardly attract, so nothing fuses there).
After the last merge the gap extends to the reach. Among the clear gaps the one with the widest part between resolution
and reach is chosen, and the cut is in its middle, all on a logarithmic scale. The labels then do not change if the cut
is moved by a factor 2 either way. If no gap is clear, nothing has clearly fused, and only centres within the
resolution are joined. A point that is held more strongly by its data than it is pulled by its pairs has not fused,
however close the others are: it stays alone. (``fusion.merging`` applies the rule along the pairs of a problem.)
"""

from __future__ import annotations

import numpy as np

from fusewise.fusion.penalties import Penalty
from fusewise.kernels.types import Real

#: Factor that a clear gap must span: a factor 2 on either side of the cut.
CLEAR_GAP = 4.0

#: Reach of a penalty that does not saturate, in units of its resolution: centres fuse to within that, or not at all.
UNSATURATED_REACH = 100.0


def fusion_reach(penalty: Penalty) -> float:
    """The distance beyond which no two centres count as fused, whatever the heights."""
    return penalty.reach or UNSATURATED_REACH * penalty.resolution


def fusion_scale(heights: Real, penalty: Penalty) -> float:
    """The distance within which centres count as fused (see the rule above), from the heights of their merges."""
    low = penalty.resolution
    high = fusion_reach(penalty)
    steps = np.maximum(np.sort(heights), low)
    below, above = steps, np.append(steps[1:], max(high, steps[-1]))
    # Clear gaps are found from the heights alone: a height beyond the reach does not narrow a gap that begins below it.
    clear = (below < high) & (above >= CLEAR_GAP * below)
    if not clear.any():
        return low
    widest = int(np.argmax(np.where(clear, np.minimum(above, high) / below, 0)))
    return float(np.sqrt(below[widest] * above[widest]))
