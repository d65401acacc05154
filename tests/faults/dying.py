"""Run ``fusewise`` and kill it (-9) before the n-th change of a folder: ``python dying.py N fit ...``.

Between two of these changes a kill leaves the same files; the moments are too short to be met by chance.
"""

from __future__ import annotations

import os
import signal
import sys

from fusewise.cli import main

left = int(sys.argv[1])


def counted(change):
    def run(*args, **options):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return change(*args, **options)

    return run


for name in ("mkdir", "rmdir", "link", "unlink", "replace", "rename", "fsync"):
    setattr(os, name, counted(getattr(os, name)))
sys.argv = ["fusewise", *sys.argv[2:]]
main()
