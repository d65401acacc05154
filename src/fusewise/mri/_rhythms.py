"""Breath and heartbeat of a series, separated by their rates, from the frames alone, without the frame time.

As in self-gated MRI. Frames are points z_t (their leading coordinates, in temporal order). A rhythm of f cycles in the
series is the combination of coordinates with the largest share of its power in the band from f / 1.3 to 1.3 f,

    max_w  |band(Zw)|² / (|Zw|² + ridge |w|²).

**Is it significant?** r coordinates of N independent frames, with a share q of their power in a band, have by chance a
combination with up to

    edge = (sqrt(p (1 - q)) + sqrt(q (1 - p)))²,   p = r / N,

of its power there (the edge of the Jacobi ensemble; Johnstone 2008). Frames that move smoothly are not independent: N
is twice the number of frequencies that they occupy, (sum s)² / sum s² of their spectrum s, and r the effective number
of coordinates after the ridge. A rhythm must have more than half of the rest: ``(share - edge) / (1 - edge) > 1/2``.
Shuffled frames have none, and random smooth motion hardly ever has one.

**Which one?** Breathing shifts edges, and a shifted edge contains the rate of the breath and its multiples:
combinations of coordinates find each of them. So the slowest rhythm is taken first, all that is a function of it is
removed, and the rhythm that explains most of the remainder is the second. The slower is the breath, the faster the
beat. A single one is a beat (the breath is held) if it explains most of the motion: its rate alone does not decide.

**Is the series long enough?** Of fewer than ``FEWEST_CYCLES`` breaths only the multiples of their rate can be seen as
tones. So where frames move more below the band of the slowest tone than in it, along the direction of that tone, no
rhythm is found at all: it would be one of these multiples, and the beat among the next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import dct, idct

from fusewise.mri._tensors import Array

#: A band reaches from a rate divided by this to the rate times this: lengths of cycles vary by some ten per cent.
BAND_WIDTH = 1.3

#: A breath with fewer cycles than this in the series cannot be distinguished from a drift.
FEWEST_CYCLES = 2.5

#: Smallest ratio of the rate of the heartbeat to that of the breath.
MIN_RATE_RATIO = 1.7

#: Smallest power of a slower rhythm, as a share of that of the strongest.
MIN_PEAK_SHARE = 0.1

#: Smallest phase coherence of a harmonic with its rhythm, and the number of cycles from which it is not by chance.
MIN_COHERENCE, COHERENT_CYCLES = 0.9, 6

#: Ridge, as a share of the frames' power: coordinates with less are not amplified to obtain a pure tone.
RIDGE = 0.001

#: Harmonics of the mean beat; harmonics of the breath's position that are removed.
HARMONICS, BREATH_HARMONICS = 4, 6

#: Positions in a beat, and the relative change of its rate from frame to frame.
ARCS, RATE_CHANGE = 90, 0.35

#: Share of the errors of the coordinates that counts, as errors of one image and its neighbours are correlated.
INDEPENDENT_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Rhythms:
    """Periodic motion in a series.

    Attributes
    ----------
    breath : position in each frame, from 0 (where it rests longest: lungs empty) to 1; None if no breath was found.
    beat : phase in each frame, in [0, 1), 0 where the mean beat is farthest from its average: usually the end of
        systole. None if no beat was found.
    breath_cycles, beat_cycles : number of cycles in the series, 0 if not found: the centre of the band (a factor
        ``BAND_WIDTH`` to either side) that has most of the power.
    """

    breath: Array | None = None
    beat: Array | None = None
    breath_cycles: float = 0.0
    beat_cycles: float = 0.0


@dataclass(frozen=True, eq=False)
class Tone:
    """The best combination of coordinates in one band."""

    rate: float  # centre of its power in the band, cycles in the series
    clarity: float  # (share - edge) / (1 - edge), see the module docstring
    power: float  # of the frames, explained by it and its quarter-turn
    wave: Array  # complex; its angle is the phase

    @property
    def clear(self) -> bool:
        """Whether it has more than half of the power beyond chance."""
        return self.clarity > 0.5 and self.rate >= FEWEST_CYCLES


def find_rhythms(coordinates: Array) -> Rhythms:
    """Find breath and beat of frames given by coordinates (T x r, the leading ones first), in temporal order."""
    frames = coordinates - coordinates.mean(axis=0)
    rates = np.exp(np.arange(np.log(FEWEST_CYCLES), np.log(max(len(frames) / (3 * BAND_WIDTH), 1)), 0.07))
    slow = slowest([tone_in_band(frames, rate) for rate in rates]) if frames.any() else None
    if slow is None or is_overtone(frames, slow):
        return Rhythms()
    rests = [(without(frames, slow, rate), rate) for rate in rates if rate > MIN_RATE_RATIO * slow.rate]
    tones = [(tone_in_band(rest, rate), rest) for rest, rate in rests]
    faster = [found for found in tones if found[0].clear and found[0].rate > MIN_RATE_RATIO * slow.rate]
    fast, rest = max(faster, key=lambda found: found[0].power, default=(slow, frames))
    if faster and not keeps_step(fast, slow):
        return Rhythms(breath_position(frames, slow, fast.rate), tracked(rest, fast), slow.rate, fast.rate)
    beat = tracked(frames, slow)
    remaining = np.square(frames - mean_beat(frames, beat, beat)).sum()
    return Rhythms(beat=beat, beat_cycles=slow.rate) if remaining < 0.5 * np.square(frames).sum() else Rhythms()


def tone_in_band(frames: Array, rate: float) -> Tone:
    values, directions = np.linalg.eigh(frames.T @ frames)
    kept = values > 1e-8 * values.sum()
    white = frames @ directions[:, kept] / np.sqrt(values[kept] + RIDGE * values.sum())
    inside = band(rate)
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


def band(rate: float) -> Array:
    """The frequencies, in cycles in the series, of the band around a rate."""
    return np.arange(int(np.ceil(rate / BAND_WIDTH)), int(rate * BAND_WIDTH) + 1)


def is_overtone(frames: Array, tone: Tone) -> bool:
    """Whether frames move more below the band of a tone than in it, along the direction that moves most with it."""
    powers = np.square(np.abs(np.fft.rfft(along(frames, tone))))
    inside = band(tone.rate)
    return bool(powers[1 : inside[0]].sum() > powers[inside].sum())


def along(frames: Array, tone: Tone) -> Array:
    """Position of each frame along the direction that moves most with a tone."""
    _, _, patterns = np.linalg.svd(np.stack([tone.wave.real, tone.wave.imag]) @ frames, full_matrices=False)
    return np.asarray(frames @ patterns[0])


def edge(p: float, q: float) -> float:
    """Largest share by chance (see the module docstring)."""
    return 1.0 if p + q >= 1 else float((np.sqrt(p * (1 - q)) + np.sqrt(q * (1 - p))) ** 2)


def slowest(found: list[Tone]) -> Tone | None:
    """The slowest clear tone that explains more than its neighbours, and enough compared with the strongest."""
    powers = np.array([0.0, *(tone.power if tone.clear else 0.0 for tone in found), 0.0])
    peaks = (
        (powers[1:-1] >= powers[:-2]) & (powers[1:-1] > powers[2:]) & (powers[1:-1] >= MIN_PEAK_SHARE * powers.max())
    )
    return found[int(np.argmax(peaks))] if peaks.any() else None


def keeps_step(fast: Tone, slow: Tone) -> bool:
    """Whether a tone is a harmonic of a slower one: |mean exp(i (angle - k slow angle))| near 1, not by chance."""
    steps = fast.wave * np.abs(slow.wave) * np.exp(-1j * round(fast.rate / slow.rate) * np.angle(slow.wave))
    return slow.rate > COHERENT_CYCLES and bool(np.abs(steps.sum()) > MIN_COHERENCE * np.abs(steps).sum())


def without(frames: Array, slow: Tone, rate: float) -> Array:
    """Subtract from the frames what is a function of the breath's position and direction, but for a faster rate."""
    fraction, wave = breath_position(frames, slow, rate), slow.wave / np.sqrt(np.mean(np.abs(slow.wave) ** 2))
    functions = [np.cos(np.pi * k * fraction) for k in range(1, BREATH_HARMONICS + 1)]
    functions += [wave.real, wave.imag, (wave**2).real, (wave**2).imag, np.abs(wave) ** 2]
    table = np.column_stack(functions)
    span, _, _ = np.linalg.svd(table - table.mean(axis=0), full_matrices=False)
    return np.asarray(frames - span @ (span.T @ frames))


def breath_position(frames: Array, slow: Tone, rate: float) -> Array:
    """Position along the slow tone's direction, 0 (at rest) to 1, without what is faster than the mean of the rates."""
    moved = along(frames, slow)
    position = low_pass(moved if np.mean(moved**3) > 0 else -moved, np.sqrt(slow.rate * rate))
    return np.asarray((position - position.min()) / np.ptp(position))


def low_pass(frames: Array, rate: float) -> Array:
    """Remove everything faster than a rate; the series is mirrored at its ends, which may differ."""
    spectrum = dct(frames, axis=0, norm="ortho")
    spectrum[int(2 * rate) + 1 :] = 0
    return np.asarray(idct(spectrum, axis=0, norm="ortho"))


def mean_beat(frames: Array, phase: Array, at: Array) -> Array:
    """Frames at phases by a Fourier series, g(phase) = sum_k a_k cos(2 pi k phase) + b_k sin(2 pi k phase)."""

    def waves(phase: Array) -> Array:
        turns = 2 * np.pi * np.multiply.outer(phase, np.arange(1, HARMONICS + 1))
        return np.hstack([np.cos(turns), np.sin(turns)])

    return np.asarray(waves(at) @ np.linalg.lstsq(waves(phase), frames, rcond=None)[0])


def tracked(frames: Array, tone: Tone) -> Array:
    """Phase of each frame in [0, 1), refined from a tone's: the steadiest path through the mean beat that fits.

    A tone turns evenly where a beat does not, and is inaccurate at the ends of the series. Two rounds of: the mean beat
    g over all cycles, then the phases (of ``ARCS``) that minimise

        sum_t |z_t - g(phase_t)|² / (2 errors) + sum_t (phase_t+1 - phase_t - step)² / (2 (RATE_CHANGE step)²),

    found by dynamic programming; time never runs backwards.
    """
    phase, grid = np.angle(tone.wave) / (2 * np.pi) % 1, np.arange(ARCS) / ARCS
    for _ in range(2):
        errors = np.mean(np.square(frames - mean_beat(frames, phase, phase)), axis=0) + 1e-12 * np.mean(
            np.square(frames)
        )
        shapes = mean_beat(frames, phase, grid)
        misfit = (np.square(shapes) / errors).sum(axis=1) - 2 * (frames / errors) @ shapes.T
        phase = grid[steadiest(0.5 * INDEPENDENT_SHARE * misfit, tone.rate / len(frames) * ARCS)]
    shapes = mean_beat(frames, phase, grid)
    return np.asarray((phase - grid[np.argmax(np.square(shapes).sum(axis=1))]) % 1)


def steadiest(misfit: Array, step: float) -> Array:
    """Cyclic states in temporal order with the smallest misfit (T x states) and the steadiest steps."""
    n_frames, n_states = misfit.shape
    steps = np.arange(int(np.ceil(2.5 * step)) + 1)
    prices = np.square(steps - step) / (2 * (RATE_CHANGE * step) ** 2)
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
