"""Docstrings of the public names, by numpydoc's validator: what they document is what the signatures say."""

import importlib
import inspect
import re
from enum import Enum
from functools import cached_property
from types import FunctionType

import pytest
from numpydoc import validate as numpydoc

MODULES = ["", ".penalties", ".fidelity", ".theory", ".exact", ".datasets", ".mri", ".plots"]

#: Every check of numpydoc is made but these.
LEFT_OUT = {
    "GL01": "a docstring opens on the line of its quotation marks",
    "SS02": "formula first: a summary may open with a symbol",
    "SS05": "formula first: a summary says what the result is, and need not open with a verb",
    "ES01": "a summary may be enough",
    "SA01": "'See Also' is for names that are easily confused",
    "EX01": "examples are in the guide, and run there",
    "PR05": "types are in the signatures, so that 'name : what it is.' is a full entry",
    "PR07": "as PR05",
    "PR08": "as PR05",
    "RT01": "the summary of a function says what it returns",
    "RT03": "as PR05",
}

METHODS = (FunctionType, property, cached_property, classmethod, staticmethod)


def public_names():
    """Names in ``__all__`` (without one: what a module defines), and the methods and properties of classes."""
    for module in (importlib.import_module(f"fusewise{name}") for name in MODULES):
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
        for name in getattr(module, "__all__", own):
            found = getattr(module, name)
            if name.startswith("_") or not callable(found) or (inspect.isclass(found) and issubclass(found, Enum)):
                continue
            yield f"{module.__name__}.{name}"
            members = vars(found).items() if inspect.isclass(found) else ()
            for member, value in members:
                if not member.startswith("_") and isinstance(value, METHODS):
                    yield f"{module.__name__}.{name}.{member}"


@pytest.mark.parametrize("name", sorted(public_names()))
def test_numpydoc_finds_nothing(name):
    """Parameters that no section lists are named by the rest of the docstring, or where it refers to or overrides."""
    home, _, own = name.rpartition(".")
    owner = numpydoc.Validator._load_obj(home)
    text = inspect.getdoc(getattr(owner, own))
    others = [getattr(base, own, None) for base in getattr(owner, "__bases__", ())]
    others += [getattr(owner, other, None) for other in re.findall(r"`(\w+)`", text)]
    said = " ".join([text, *(inspect.getdoc(other) for other in others if other is not None)])
    wrong = []
    for code, message in numpydoc.validate(name)["errors"]:
        unnamed = [one for one in re.findall(r"'\**(\w+)'", message) if not re.search(rf"\b{one}\b", said, re.ASCII)]
        if code not in LEFT_OUT and (code != "PR01" or unnamed):
            wrong.append(f"{code}: {message}")
    assert wrong == []
