"""Every kind of case: how many of it make a small budget, and how many of a thousand in a long run."""

from __future__ import annotations

from block_invariants import dask_arrays, dask_frames, forms, many, rare, reordered_streams, streams, wide
from call_invariants import calls, described
from file_invariants import commands, models, reads, scans
from invariants import (
    classes,
    draws,
    filled_frames,
    fills,
    fits,
    frames,
    fuses,
    hints,
    judged,
    numbers,
    same_partition,
    weights,
)

#: Of cases that take milliseconds (texts, scans, forged models, parameters) a long run has many; of those with several
#: fits in them, which take up to a second, few.
CASES = {
    fits: (15, 30), numbers: (10, 18), weights: (6, 8), hints: (6, 8), frames: (6, 8), classes: (5, 8),
    judged: (3, 4), fills: (4, 5), draws: (4, 5), filled_frames: (4, 5), fuses: (20, 30), same_partition: (1, 1),
    streams: (3, 4), reordered_streams: (2, 1), dask_arrays: (2, 3), dask_frames: (2, 3), forms: (4, 6),
    rare: (3, 2), many: (1, 1), wide: (3, 2), described: (6, 8), commands: (5, 10),
    calls: (60, 250), reads: (60, 350), scans: (30, 90), models: (10, 140),
}  # fmt: skip
BUDGET = {case: few for case, (few, _) in CASES.items()}
SHARES = {case: of_a_thousand for case, (_, of_a_thousand) in CASES.items()}
