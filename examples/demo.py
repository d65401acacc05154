"""Cluster scikit-learn's Wine table with 30% of its entries hidden, as ``fusewise demo`` does.

Run ``make demo``, or ``python examples/demo.py --out DIR``. Prints a summary and writes the table, its clusters,
the completed table, the model and a report. Results of an earlier run are replaced.
"""

from __future__ import annotations

import sys

from fusewise.cli import main

if __name__ == "__main__":
    main(["demo", "--force", *sys.argv[1:]])
