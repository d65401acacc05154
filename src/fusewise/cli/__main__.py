"""``python -m fusewise.cli``."""

from fusewise.cli import main

main()
