"""Every kind of case: how many of it make a small budget, and how many of a thousand in a long run."""

from __future__ import annotations

from block_invariants import dask_arrays, dask_frames, streams
from call_invariants import calls, described
from file_invariants import commands, models, reads, scans
from invariants import classes, draws, filled_frames, fills, fits, frames, hints, judged, numbers, weights
from shape_invariants import graphs, shapes

#: Of cases that take milliseconds (texts, scans, forged models, parameters) a long run has many; of those with several
#: fits in them, which take up to a second, few.
CASES = {
    fits: (15, 8), numbers: (10, 5), weights: (6, 2), hints: (6, 2), frames: (6, 2), classes: (5, 2),
    judged: (3, 1), fills: (4, 1.5), draws: (4, 1.5), filled_frames: (4, 1.5),
    streams: (3, 1.5), dask_arrays: (2, 1), dask_frames: (2, 1), described: (6, 2.5),
    commands: (5, 4), shapes: (4, 2), graphs: (35, 18),
    calls: (60, 260), reads: (60, 430), scans: (30, 100), models: (60, 160),
}  # fmt: skip
BUDGET = {case: few for case, (few, _) in CASES.items()}
SHARES = {case: of_a_thousand for case, (_, of_a_thousand) in CASES.items()}
