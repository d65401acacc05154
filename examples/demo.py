"""Cluster scikit-learn's Wine table with 30% of its entries hidden: what ``fusewise demo`` does.

Run ``make demo``, or ``python examples/demo.py --out DIR``. Prints what was found and writes the table, its clusters,
the table filled, the model and a report. Results of an earlier run are replaced.
"""

from __future__ import annotations

import sys

from fusewise.cli import main

if __name__ == "__main__":
    main(["demo", "--force", *sys.argv[1:]])
