"""What tells the frames apart: navigator lines, or the centre that all lines cross, on the grid and off it."""

import numpy as np
import pytest
from scipy import fft

from fusewise.mri import make_phantom, radial_mask, radial_trajectory, reconstruct, sample_grid
from fusewise.mri._covariances import common_locations, filled_in_time, squared_distances
from fusewise.mri._held_out import HELD_OUT, frames_per_sample, hold_out
from fusewise.mri._local import LocalProblem
from fusewise.mri._reconstruct import cell_distances
from fusewise.mri._sampling import AXES, FourierSums, GridCells, to_plain
from fusewise.mri._tensors import fft2, gram


def test_locations_seen_in_half_of_the_frames():
    mask = np.random.default_rng(0).random((40, 16, 16)) < np.linspace(0, 1, 16)
    np.testing.assert_array_equal(common_locations(mask), mask.sum(axis=0) >= 20)


def test_where_few_are_seen_often_those_seen_most():
    mask = np.random.default_rng(0).random((40, 16, 16)) < 0.2
    counts, chosen = mask.sum(axis=0), common_locations(mask)
    assert 64 <= np.count_nonzero(chosen) < 128
    assert counts[chosen].min() > counts[~chosen].max()


def test_gaps_are_filled_as_by_interp():
    """Of several coils; before the first sample and after the last these are kept, and nothing is made of nothing."""
    rng = np.random.default_rng(0)
    mask = rng.random((20, 30)) < 0.4
    mask[:, 3], mask[:, 4], mask[5:, 6] = False, True, False
    values = (rng.standard_normal((20, 2, 30)) + 1j * rng.standard_normal((20, 2, 30))) * mask[:, None]
    expected, times = values.copy(), np.arange(20)
    for coil in (0, 1):
        for location in np.flatnonzero(mask.any(axis=0)):
            here = mask[:, location]
            expected[:, coil, location] = np.interp(times, times[here], values[here, coil, location])
    np.testing.assert_allclose(filled_in_time(values, mask), expected)
    np.testing.assert_allclose(filled_in_time(values[:, 0], mask), expected[:, 0])


def test_locations_that_every_frame_saw_are_not_held_out():
    mask = np.random.default_rng(0).random((50, 20, 20)) < 0.5
    spared = np.zeros((20, 20), dtype=bool)
    spared[:10] = True
    held = hold_out(mask, spared, np.random.default_rng(1))
    assert not (held & (spared | ~mask)).any()
    assert np.count_nonzero(held) == pytest.approx(HELD_OUT * np.count_nonzero(mask & ~spared), rel=0.1)
    # Unless that left next to nothing to choose by.
    held = hold_out(mask, np.ones((20, 20), dtype=bool), np.random.default_rng(1))
    assert np.count_nonzero(held) == pytest.approx(HELD_OUT * np.count_nonzero(mask), rel=0.1)


def test_samples_held_out_stand_for_all_frames():
    """On average over what is sampled and held out, their weighted errors are those of all frames."""
    rng = np.random.default_rng(0)
    errors = rng.random((200, 30, 30)) * np.linspace(0.1, 3, 30)  # large where little is seen
    mask = rng.random(errors.shape) < np.linspace(1, 0.1, 30)
    held = np.mean([hold_out(mask, np.zeros((30, 30), dtype=bool), rng) for _ in range(50)], axis=0)
    found = (errors * held * frames_per_sample(mask)).sum() / HELD_OUT
    assert found == pytest.approx(errors.sum(), rel=0.02)
    assert (errors * held).sum() / held.sum() < 0.8 * errors.mean()


@pytest.mark.parametrize(("golden", "navigators"), [(5, 3), (8, 0), (20, 0)])
def test_distances_follow_those_of_the_images(golden, navigators):
    """Of cells in which each frame's samples lie elsewhere, too, once the mean frame is subtracted."""
    phantom = make_phantom(60, 32, n_coils=4, frame_time=0.08)
    trajectory = radial_trajectory(60, 32, golden, navigators)
    kspace = FourierSums(trajectory, phantom.maps).forward(phantom.images - phantom.images.mean(axis=0))
    found = cell_distances(kspace, GridCells.of(trajectory, (32, 32)))
    truth = squared_distances(gram(phantom.images))
    above = np.triu_indices(60, 1)
    assert np.corrcoef(found[above], truth[above])[0, 1] > 0.9


class Caught(Exception):
    """Ends a reconstruction once everything is ready to be solved."""


def scan_of(radial):
    """A scan as keywords of ``reconstruct``, and which of its samples seed 0 holds out."""
    phantom = make_phantom(40, 24, n_coils=3 if radial else 1, frame_time=0.08)
    if not radial:
        mask = radial_mask(40, (24, 24), 6, 2)
        held = hold_out(mask, mask.all(axis=0), np.random.default_rng(0))
        return {"kspace": sample_grid(phantom.images, mask), "mask": mask}, held
    trajectory = radial_trajectory(40, 24, 6, 2)
    cells = GridCells.of(trajectory, (24, 24))
    always = cells.mask.all(axis=0).ravel()[cells.index]
    held = hold_out(np.ones(trajectory.shape[:2], dtype=bool), always, np.random.default_rng(0))
    kspace = FourierSums(trajectory, phantom.maps).forward(phantom.images)
    return {"kspace": kspace, "trajectory": trajectory, "maps": phantom.maps}, held


def ready(monkeypatch, scan):
    """What a reconstruction is about to solve: ``LocalProblem``, the mean frame, and the distances of the frames."""
    found = []

    def solve(self, mean, distances, tell):
        found.extend([self, mean, distances])
        raise Caught

    monkeypatch.setattr(LocalProblem, "solve", solve)
    with pytest.raises(Caught):
        reconstruct(**scan, random_state=0)
    return found


@pytest.mark.parametrize("radial", [False, True])
def test_samples_held_out_touch_only_the_judge(monkeypatch, radial):
    """Spoilt, they change neither the mean frame, nor the distances, nor the equations of the others."""
    scan, held = scan_of(radial)
    spoilt = np.where(held[:, None] if radial else held, 3 * scan["kspace"] + 1, scan["kspace"])
    (problem, *clean), (other, *same) = (ready(monkeypatch, scan | {"kspace": k}) for k in (scan["kspace"], spoilt))
    for array, again in zip((*clean, problem.fitted.target), (*same, other.fitted.target), strict=True):
        np.testing.assert_array_equal(array, again)
    assert other.judge.energy > 2 * problem.judge.energy


@pytest.mark.parametrize("radial", [False, True])
def test_the_judge_weighs_what_it_misses(monkeypatch, radial):
    """sum over samples held out of T / (frames that looked there) |b - A mean|²."""
    scan, held = scan_of(radial)
    problem, mean, _ = ready(monkeypatch, scan)
    if radial:
        cells = GridCells.of(scan["trajectory"], (24, 24))
        weights = held * cells.weights * frames_per_sample(cells.mask).ravel()[cells.index]
        operator = FourierSums(scan["trajectory"], scan["maps"])
        errors = np.square(np.abs(scan["kspace"] - operator.forward(np.repeat(mean[None], 40, axis=0)))).sum(axis=1)
    else:
        weights = fft.ifftshift(held * frames_per_sample(scan["mask"]), axes=AXES)
        errors = np.square(np.abs(to_plain(scan["kspace"]) - fft2(mean)))
    assert problem.judge.energy == pytest.approx((weights * errors).sum(), rel=1e-4)
