"""Conjugate gradients, for systems that are too large to factor."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fusewise.kernels._arrays import Array, copied

#: From a residual r and its energy <C r, r> under the preconditioner C to whether it is small enough.
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
    """Iterate towards the solution of S x = b: x <- x + length * direction, with the residual b - S x.

    Large arrays are overwritten: `system` and `precondition` may return the same array every time, and the yielded
    arrays are valid until the next step.

    Parameters
    ----------
    system : S, from vectors like x to residuals. The two may have different types: a vector may carry derived
        quantities with it.
    precondition : C, from residuals to vectors; approximates S^-1.
    residual : b - S x at the start.
    inner : real inner product of a vector and a residual, in which S and C are symmetric and positive: a number, or one
        for each of many independent systems, in a shape that broadcasts with vectors and residuals.
    max_steps, enough : when to stop; checked before each step.

    Yields length, direction and residual, the latter after the step.
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
    """Stop when the square root of the energy has fallen to `factor` times its initial value in every system."""
    goal: Array | None = None

    def enough(residual: Array, energy: Array) -> bool:
        nonlocal goal
        goal = factor**2 * energy if goal is None else goal
        return bool((energy <= goal).all())

    return enough


def ratio(a: Array, b: Array) -> Array:
    """a / b, and 0 where b is not positive (the system is already solved)."""
    return (b > 0) * a / (b + (b <= 0))
