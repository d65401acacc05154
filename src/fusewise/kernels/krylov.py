"""Conjugate gradients: the one way in which systems too large to factor are solved."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fusewise.kernels.arrays import Array, copied

#: (residual, its energy <C r, r> under the preconditioner C) to whether it is small enough.
Enough = Callable[[Array, Array], bool]


def conjugate_gradients(
    system: Callable[[Array], Array],
    precondition: Callable[[Array], Array],
    residual: Array,
    inner: Callable[[Array, Array], Array],
    *,
    max_steps: int,
    enough: Enough,
) -> Iterator[tuple[Array, Array, Array]]:
    """Step towards the solution of S x = b: x <- x + length * direction, and the residual b - S x is known.

    Long arrays are written over: `system` and `precondition` may return the same one every time, and what is yielded
    is good until the next step.

    Parameters
    ----------
    system : S, from vectors like x to residuals. The two may be of different kinds: a vector may carry with it what is
        known of it.
    precondition : C, from residuals to vectors; near S^-1.
    residual : b - S x at the start.
    inner : real product of a vector and a residual, in which S and C are symmetric and positive: a number, or one for
        each of many independent systems, in a shape that multiplies vectors and residuals.
    max_steps, enough : when to stop; judged before each step.

    Yields
    ------
    length, direction, residual : the latter after the step.
    """
    residual = copied(residual)
    direction, before = None, None
    for _ in range(max_steps):
        scaled = precondition(residual)
        energy = inner(scaled, residual)
        if enough(residual, energy):
            return
        if direction is None:
            direction = copied(scaled)
        else:
            direction *= ratio(energy, before)
            direction += scaled
        pushed = system(direction)
        length = ratio(energy, inner(direction, pushed))
        pushed *= length
        residual -= pushed
        before = energy
        yield length, direction, residual


def shrunk_by(factor: float) -> Enough:
    """Whether the root of the energy, in each of the systems, has fallen to `factor` times what it was at first."""
    goal: Array | None = None

    def enough(residual: Array, energy: Array) -> bool:
        nonlocal goal
        goal = factor**2 * energy if goal is None else goal
        return bool((energy <= goal).all())

    return enough


def ratio(a: Array, b: Array) -> Array:
    """a / b, and 0 where b is not positive (a system already solved)."""
    return (b > 0) * a / (b + (b <= 0))
