"""Available memory, so that requests that do not fit are rejected before anything is allocated."""

from __future__ import annotations

import os
import sys
from pathlib import Path

#: Where Linux keeps the limits of control groups (version 2 in its root, version 1 under ``memory``).
CGROUPS = Path("/sys/fs/cgroup")
MEMORY_INFO = Path("/proc/meminfo")


def available_memory() -> int:
    """Bytes this process may still allocate: the free memory of the machine, or of its control group if less."""
    return min([_free_memory(), *_left_in_groups()])


def _free_memory() -> int:
    """Memory available without swapping; all memory, or no limit, if the system does not report it."""
    try:
        lines = dict(line.split(":", 1) for line in MEMORY_INFO.read_text().splitlines() if ":" in line)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        if not hasattr(os, "sysconf"):
            return sys.maxsize
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def _left_in_groups() -> list[int]:
    """Limit minus use for every control group this process is in (or its ancestors are) that has a limit."""
    left = []
    for folder, limit, use in _groups():
        try:
            text = (folder / limit).read_text().strip()
            # "max" means no limit; pages of the file cache are released when memory runs short.
            if text != "max":
                cached = _statistic(folder / "memory.stat", "inactive_file")
                left.append(max(0, int(text) - int((folder / use).read_text()) + cached))
        except (OSError, ValueError):
            continue
    return left


def _groups() -> list[tuple[Path, str, str]]:
    """Folders of the control groups, with the names of the files for limit and use."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []
    found = []
    for line in ["0::/", ":memory:/", *lines]:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            root, names = CGROUPS, ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            root, names = CGROUPS / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        inner = root / path.strip("/")
        found += [(folder, *names) for folder in (inner, *inner.parents) if folder.is_relative_to(root)]
    return list(dict.fromkeys(found))


def _statistic(path: Path, name: str) -> int:
    """Read one number from a file of names and numbers; 0 if it is not there."""
    try:
        return int(dict(line.split() for line in path.read_text().splitlines())[name])
    except (OSError, KeyError, ValueError):
        return 0
