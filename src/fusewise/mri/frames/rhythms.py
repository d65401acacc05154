"""Breath and beat of a series, told apart by their rates, from the frames alone: nobody gives the frame time.

As in self-gated MRI. Frames are points z_t (their leading coordinates, in order of time). A rhythm of f cycles in the
series is a combination of coordinates with the largest share of its power in the band from f / 1.3 to 1.3 f,

    max_w  |band(Zw)|² / (|Zw|² + ridge |w|²).

**Is it one?** r coordinates of N independent frames, with a part q of their power in a band, have by chance a
combination with up to

    edge = (sqrt(p (1 - q)) + sqrt(q (1 - p)))²,   p = r / N,

of its power there (the edge of the Jacobi ensemble; Johnstone 2008). Frames that move smoothly are not independent: N
is twice the number of frequencies that they occupy, (sum s)² / sum s² of their spectrum s, and r what the ridge leaves
of the coordinates. A rhythm must have more than half of the rest: ``(share - edge) / (1 - edge) > 1/2``. Shuffled
frames have none, and aimless smooth motion hardly ever.

**Which one?** A breath shifts edges, and a shifted edge knows the breath's rate, its double, its triple: combinations
of coordinates find each of them. So the slowest rhythm is taken first, all that is a function of it is removed, and of
what remains the rhythm that explains most is the second. The slower is the breath, the faster the beat. A single one
is taken for a beat (the breath is held) where it explains most of what the frames do: its rate alone cannot tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import dct, idct

from fusewise.mri.tensors import Array

#: A band reaches from a rate divided by this to the rate times this: lengths of cycles scatter by some ten percent.
WIDTH = 1.3

#: A breath that comes back less often than this in the series cannot be told from a drift.
FEWEST_CYCLES = 2.5

#: Hearts beat at least this many times as fast as their owners breathe.
FASTER = 1.7

#: Of the power of the strongest: a slower rhythm with less is a ripple.
PROMINENT = 0.1

#: How well a harmonic keeps step with its rhythm, at least, and the cycles over which nothing else does.
LOCKED, LOCKED_CYCLES = 0.9, 6

#: Of the frames' power: coordinates with less are not blown up for the sake of a pure tone.
RIDGE = 0.001

#: Harmonics of a mean beat; those of the breath's position that are removed.
HARMONICS, FOLDS = 4, 6

#: Positions in a beat, and by how much its rate may change from frame to frame.
ARCS, SLACK = 90, 0.35

#: Errors of the coordinates go together, being of one image and its neighbours': a quarter of them count.
INDEPENDENT = 0.25


@dataclass(frozen=True, eq=False)
class Rhythms:
    """What repeats in a series.

    Attributes
    ----------
    breath : position in each frame, 0 (where it rests longest: lungs empty) to 1; None where no breath was found.
    beat : phase in each frame, in [0, 1), 0 where the mean beat is farthest from its average: as a rule the end of
        systole. None where no beat was found.
    breath_cycles, beat_cycles : in the series; 0 where not found.
    """

    breath: Array | None = None
    beat: Array | None = None
    breath_cycles: float = 0.0
    beat_cycles: float = 0.0


@dataclass(frozen=True, eq=False)
class Tone:
    """The best combination in one band.

    Attributes
    ----------
    rate : centre of its power in the band, cycles in the series.
    clarity : (share - edge) / (1 - edge), see the top.
    power : of the frames, explained by it and its quarter-turn.
    wave : complex; its angle is the phase.
    """

    rate: float
    clarity: float
    power: float
    wave: Array

    @property
    def clear(self) -> bool:
        """More than chance would have: it has most of the rest."""
        return self.clarity > 0.5 and self.rate >= FEWEST_CYCLES


def find_rhythms(coordinates: Array) -> Rhythms:
    """Breath and beat of frames given by coordinates (T x r, the leading ones first), in order of time."""
    frames = coordinates - coordinates.mean(axis=0)
    rates = np.exp(np.arange(np.log(FEWEST_CYCLES), np.log(max(len(frames) / (3 * WIDTH), 1)), 0.07))
    slow = slowest([tone_in_band(frames, rate) for rate in rates]) if frames.any() else None
    if slow is None:
        return Rhythms()
    rests = [(without(frames, slow, rate), rate) for rate in rates if rate > FASTER * slow.rate]
    tones = [(tone_in_band(rest, rate), rest) for rest, rate in rests]
    faster = [found for found in tones if found[0].clear and found[0].rate > FASTER * slow.rate]
    fast, rest = max(faster, key=lambda found: found[0].power, default=(slow, frames))
    if faster and not keeps_step(fast, slow):
        return Rhythms(breath_position(frames, slow, fast.rate), tracked(rest, fast), slow.rate, fast.rate)
    beat = tracked(frames, slow)
    remaining = np.square(frames - MeanBeat(frames, beat)(beat)).sum()
    return Rhythms(beat=beat, beat_cycles=slow.rate) if remaining < 0.5 * np.square(frames).sum() else Rhythms()


def tone_in_band(frames: Array, rate: float) -> Tone:
    """The best tone about a rate."""
    values, directions = np.linalg.eigh(frames.T @ frames)
    kept = values > 1e-8 * values.sum()
    white = frames @ directions[:, kept] / np.sqrt(values[kept] + RIDGE * values.sum())
    inside = np.arange(int(np.ceil(rate / WIDTH)), int(rate * WIDTH) + 1)
    spectrum = np.fft.rfft(white, axis=0)
    _, vectors = np.linalg.eigh((spectrum[inside].conj().T @ spectrum[inside]).real)
    line = spectrum @ vectors[:, -1]
    share = float(np.square(np.abs(line[inside])).sum() / np.square(np.abs(line)).sum())
    powers = np.square(np.abs(spectrum)).sum(axis=1)
    occupied = 2 * powers.sum() ** 2 / np.square(powers).sum()
    chance = edge(np.square(white).sum() / occupied, powers[inside].sum() / powers.sum())
    clarity = (share - chance) / max(1 - chance, 1e-3)
    turning = np.zeros(len(white), dtype=complex)
    turning[inside] = 2 * line[inside]
    wave = np.fft.ifft(turning)
    plane, _ = np.linalg.qr(np.column_stack([wave.real, wave.imag]))
    centre = float(np.average(inside, weights=np.abs(line[inside]) ** 2))
    return Tone(centre, clarity, float(np.square(plane.T @ frames).sum()), wave)


def edge(p: float, q: float) -> float:
    """Largest share by chance (see the top)."""
    return 1.0 if p + q >= 1 else float((np.sqrt(p * (1 - q)) + np.sqrt(q * (1 - p))) ** 2)


def slowest(found: list[Tone]) -> Tone | None:
    """The slowest clear one that explains more than its neighbours do, and a good part of what the strongest does."""
    powers = np.array([0.0, *(tone.power if tone.clear else 0.0 for tone in found), 0.0])
    peaks = (powers[1:-1] >= powers[:-2]) & (powers[1:-1] > powers[2:]) & (powers[1:-1] >= PROMINENT * powers.max())
    return found[int(np.argmax(peaks))] if peaks.any() else None


def keeps_step(fast: Tone, slow: Tone) -> bool:
    """Whether a tone is a harmonic of a slower one: |mean exp(i (angle - k slow angle))| is nearly 1, by power.

    Over few cycles that happens by chance.
    """
    steps = fast.wave * np.abs(slow.wave) * np.exp(-1j * round(fast.rate / slow.rate) * np.angle(slow.wave))
    return slow.rate > LOCKED_CYCLES and bool(np.abs(steps.sum()) > LOCKED * np.abs(steps).sum())


def without(frames: Array, slow: Tone, rate: float) -> Array:
    """Frames less what is a function of the breath: of its position, and of the way it is going.

    `rate`: the faster rhythm's that is looked for; the breath's position must not know of it.
    """
    fraction, wave = breath_position(frames, slow, rate), slow.wave / np.sqrt(np.mean(np.abs(slow.wave) ** 2))
    functions = [np.cos(np.pi * k * fraction) for k in range(1, FOLDS + 1)]
    functions += [wave.real, wave.imag, (wave**2).real, (wave**2).imag, np.abs(wave) ** 2]
    table = np.column_stack(functions)
    span, _, _ = np.linalg.svd(table - table.mean(axis=0), full_matrices=False)
    return np.asarray(frames - span @ (span.T @ frames))


def breath_position(frames: Array, slow: Tone, rate: float) -> Array:
    """Position along what moves most with the slow tone, from 0, where frames crowd (it rests there), to 1.

    Nothing in it is faster than the geometric mean of the two rates.
    """
    _, _, patterns = np.linalg.svd(np.stack([slow.wave.real, slow.wave.imag]) @ frames, full_matrices=False)
    along = frames @ patterns[0]
    position = low_pass(along if np.mean(along**3) > 0 else -along, np.sqrt(slow.rate * rate))
    return np.asarray((position - position.min()) / np.ptp(position))


def low_pass(frames: Array, rate: float) -> Array:
    """What is slower than a rate; the series is continued by its mirror image, so that its ends need not meet."""
    spectrum = dct(frames, axis=0, norm="ortho")
    spectrum[int(2 * rate) + 1 :] = 0
    return np.asarray(idct(spectrum, axis=0, norm="ortho"))


class MeanBeat:
    """The frame at each phase: a Fourier series, g(phase) = sum_k a_k cos(2 pi k phase) + b_k sin(2 pi k phase)."""

    def __init__(self, frames: Array, phase: Array) -> None:
        self.weights = np.linalg.lstsq(self.waves(phase), frames, rcond=None)[0]

    def __call__(self, phase: Array) -> Array:
        """Frames at phases."""
        return np.asarray(self.waves(phase) @ self.weights)

    @staticmethod
    def waves(phase: Array) -> Array:
        """Cosines and sines of the harmonics, phases x 2 HARMONICS."""
        turns = 2 * np.pi * np.multiply.outer(phase, np.arange(1, HARMONICS + 1))
        return np.hstack([np.cos(turns), np.sin(turns)])


def tracked(frames: Array, tone: Tone) -> Array:
    """Phase of each frame in [0, 1), from a tone's: the steadiest way through the mean beat that fits the frames.

    A tone turns evenly where a beat does not, and forgets where it is at the series' ends. Twice: the mean beat g
    over all cycles, then the phases (of ``ARCS``) with the least

        sum_t |z_t - g(phase_t)|² / (2 errors) + sum_t (phase_t+1 - phase_t - step)² / (2 (SLACK step)²),

    found by dynamic programming; time never runs backwards.
    """
    phase, grid = np.angle(tone.wave) / (2 * np.pi) % 1, np.arange(ARCS) / ARCS
    for _ in range(2):
        beat = MeanBeat(frames, phase)
        errors = np.mean(np.square(frames - beat(phase)), axis=0) + 1e-12 * np.mean(np.square(frames))
        shapes = beat(grid)
        misfit = (np.square(shapes) / errors).sum(axis=1) - 2 * (frames / errors) @ shapes.T
        phase = grid[steadiest(0.5 * INDEPENDENT * misfit, tone.rate / len(frames) * ARCS)]
    shapes = MeanBeat(frames, phase)(grid)
    return np.asarray((phase - grid[np.argmax(np.square(shapes).sum(axis=1))]) % 1)


def steadiest(misfit: Array, step: float) -> Array:
    """States (a ring of them) in order of time with the least misfit (T x states) and the steadiest steps."""
    n_frames, n_states = misfit.shape
    steps = np.arange(int(np.ceil(2.5 * step)) + 1)
    prices = np.square(steps - step) / (2 * (SLACK * step) ** 2)
    origins = (np.arange(n_states) - steps[:, None]) % n_states
    came_from = np.zeros((n_frames, n_states), dtype=np.intp)
    cost = misfit[0]
    for t in range(1, n_frames):
        offers = cost[origins] + prices[:, None]
        chosen = offers.argmin(axis=0)
        came_from[t] = origins[chosen, np.arange(n_states)]
        cost = offers[chosen, np.arange(n_states)] + misfit[t]
    states = np.empty(n_frames, dtype=np.intp)
    states[-1] = cost.argmin()
    for t in range(n_frames - 1, 0, -1):
        states[t - 1] = came_from[t, states[t]]
    return states
