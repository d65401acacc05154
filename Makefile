# Two commands on a fresh machine: `make demo` and `make test`. Both build .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint docs clean

# The stamp is renewed whenever the declared dependencies change.
$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Fusewise needs Python 3.11 or newer: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py --out demo

test: $(VENV)/.installed
	$(BIN)/python -m pytest

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.installed
	$(BIN)/python -m sphinx -W --keep-going -q docs docs/_build/html

clean:
	rm -rf $(VENV) demo docs/_build docs/gallery docs/api/generated .pytest_cache .mypy_cache .ruff_cache
