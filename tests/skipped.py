"""What was skipped because something is not installed, and how to get it: the last lines of a run of the tests."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

#: How to get a browser; the report's conftest skips for want of one.
BROWSERS = {"Chromium": ".ci/chromium", "Firefox": ".ci/firefox"}
#: The extra that has a library; all others are in `test`.
EXTRAS = {"torch": "gpu", "triton": "gpu"}

WANTING = re.compile(r"no (Chromium|Firefox) is installed|could not import '(\w+)|need (playwright)")


def what_to_get(skips: Iterable[tuple[str, bool]]) -> list[str]:
    """A sentence for each thing that was missing.

    Parameters
    ----------
    skips : the reason of each, and whether it left out a whole file.
    """
    tests: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for reason, whole_file in skips:
        if found := WANTING.search(reason):
            name = next(filter(None, found.groups()))
            (files if whole_file else tests)[name] += 1
    return [_sentence(name, tests[name], files[name]) for name in sorted(tests | files, key=str.lower)]


def _sentence(name: str, tests: int, files: int) -> str:
    counted = [f"{n} {word}{'s' * (n > 1)}" for n, word in ((tests, "test"), (files, "whole file")) if n]
    way = BROWSERS.get(name) or f"in .venv, pip install --editable '.[{EXTRAS.get(name, 'test')}]'"
    return f"Skipped for want of {name}: {' and '.join(counted)}. To get it: {way}"
