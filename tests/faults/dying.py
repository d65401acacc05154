"""Run ``fusewise`` and kill it (-9) before the n-th change of a folder.

Between two of these changes a kill leaves the same files; the moments are too short to be met by chance.
"""

from __future__ import annotations

import os
import signal
import sys

from fusewise.cli import main

CHANGES = ("mkdir", "rmdir", "link", "unlink", "replace", "rename", "fsync")
#: What the command imports while it runs: a process forked from one that has it starts at once.
IMPORTED = ("dying", "fusewise.estimators", "fusewise.views", "fusewise.cli._fit", "pandas", "numba")


def die_at(number, arguments, folder):
    """Run a command in a folder; die before change `number`."""
    left = number

    def counted(change):
        def run(*args, **options):
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return change(*args, **options)

        return run

    os.chdir(folder)
    for name in CHANGES:
        setattr(os, name, counted(getattr(os, name)))
    sys.argv = ["fusewise", *arguments]
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    main()
