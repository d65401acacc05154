"""Entry point of ``python -m fusewise``."""

from fusewise.cli import main

main()
