# Two commands on a fresh machine: `make demo` and `make test`. Both build .venv first, with what they need.
PYTHON ?= python3
# Some of the tests: make test TESTS=tests/theory
TESTS ?= tests
# Processes that run them: as many as there are cores, up to four (tests/conftest.py); one without pytest-xdist: JOBS=0
JOBS ?= auto
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable

.PHONY: demo test lint docs coverage clean

# The stamps are renewed whenever the declared dependencies change.
$(VENV)/.demo: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Fusewise needs Python 3.11 or newer: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) '.[demo]'
	touch $@

$(VENV)/.installed: $(VENV)/.demo
	$(INSTALL) '.[dev]'
	touch $@

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py --out demo

# Each process begins with a part of the tests in their order, so that most fixtures of a file are made once, and when it
# is done takes over half of what is left to another.
test: $(VENV)/.installed
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(TESTS)

coverage: $(VENV)/.installed
	$(BIN)/python -m pytest --cov

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.installed
	$(BIN)/python -m sphinx -W --keep-going -q docs docs/_build/html

clean:
	rm -rf $(VENV) demo dist docs/_build docs/gallery docs/api/generated .coverage* .pytest_cache .mypy_cache .ruff_cache
