"""Configuration objects whose parameters can be read and set by name, like those of scikit-learn's estimators."""

from __future__ import annotations

from typing import Any, Self, TypeVar

from sklearn.base import BaseEstimator

from fusewise.kernels.input_errors import InputError

T = TypeVar("T")


class Parameterised(BaseEstimator):  # type: ignore[misc]
    """A small object with named parameters, checked when created and when changed.

    It inherits scikit-learn's ``get_params`` / ``set_params`` / ``clone``, so that the parameters of a penalty or
    fidelity are reachable from the estimator that holds it (``penalty__sigma``) and GridSearchCV can vary them.
    Two such objects are equal when their class and parameters are.
    """

    def check(self) -> None:
        """Raise ValueError if a parameter is out of range."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name and check them."""
        super().set_params(**params)
        self.check()
        return self

    def replace(self, **params: Any) -> Self:
        """Return a copy with some parameters changed."""
        return type(self)(**{**self.get_params(deep=False), **params})

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self.get_params() == other.get_params())

    def __hash__(self) -> int:
        return hash((type(self), tuple(sorted(self.get_params().items()))))


def by_name(kind: str, name: object, known: dict[str, type[T]], base: type[T]) -> T:
    """Return an instance of `base`: the object itself, or one made from a known name."""
    if isinstance(name, base):
        return name
    if isinstance(name, str) and name.lower() in known:
        return known[name.lower()]()
    raise InputError(f"unknown {kind} {name!r}: use one of {', '.join(map(repr, known))}, or a {base.__name__} object")
