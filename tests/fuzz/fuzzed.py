"""Every kind of case, and how many of it make a small budget."""

from __future__ import annotations

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

CASES = {
    fits: 15, numbers: 10, weights: 6, hints: 6, frames: 6, classes: 5, judged: 3, fills: 4, draws: 4,
    filled_frames: 4, fuses: 20, same_partition: 1, reads: 60, scans: 30, models: 10, commands: 5,
}  # fmt: skip
