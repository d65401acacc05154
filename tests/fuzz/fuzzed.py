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
    fits: (15, 16), numbers: (10, 10), weights: (6, 4), hints: (6, 4), frames: (6, 4), classes: (5, 4),
    judged: (3, 2), fills: (4, 3), draws: (4, 3), filled_frames: (4, 3), fuses: (20, 20), same_partition: (1, 0.5),
    streams: (3, 3), reordered_streams: (2, 1), dask_arrays: (2, 2), dask_frames: (2, 2), forms: (4, 3),
    rare: (3, 1), many: (1, 0.5), wide: (3, 1), described: (6, 5), commands: (5, 8),
    calls: (60, 250), reads: (60, 400), scans: (30, 100), models: (10, 150),
}  # fmt: skip
BUDGET = {case: few for case, (few, _) in CASES.items()}
SHARES = {case: of_a_thousand for case, (_, of_a_thousand) in CASES.items()}
