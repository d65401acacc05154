"""Entry point of ``python -m fusewise.cli``."""

from fusewise.cli import main

main()
