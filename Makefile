# One environment, .venv, serves every target; it is installed again only when pyproject.toml changes.
# `uv` is used when it is on PATH; otherwise the standard venv and pip.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)

ifneq ($(UV),)
  create := $(UV) venv --quiet --seed --python $(PYTHON) $(VENV)
  install := $(UV) pip install --quiet --python $(BIN)/python
else
  create := $(PYTHON) -m venv $(VENV)
  install := $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif

.PHONY: help demo test test-numba clients docs bench papers clean

help:
	@echo "make demo        train on a built-in data set and show the certificate"
	@echo "make test        lint, type check, tests"
	@echo "make test-numba  the kernels' tests on the oldest and newest numba allowed"
	@echo "make clients     the own tests of python-crfsuite, sklearn-crfsuite, usaddress, probablepeople"
	@echo "make docs        build the documentation into docs/_build/html"
	@echo "make bench       install the peers and list the benchmark scripts"
	@echo "make paper-NAME  reproduce a paper: $(PAPERS) (make papers: all of them)"
	@echo "make clean       remove the environment, caches and built files"

demo: $(VENV)/.installed-plot
	$(BIN)/python -m taut.demo

test: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist loadfile

# They are downloaded; CLIENTS="usaddress" and the like choose.
clients: $(VENV)/.installed-dev
	$(BIN)/python tests/clients/run_clients.py $(CLIENTS)

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# The kernels' tests on the oldest and the newest numba that pyproject.toml allows.
NUMBA_VERSIONS := 0.62.0 0.68.1
test-numba: $(NUMBA_VERSIONS:%=test-numba-%)

test-numba-%:
	$(PYTHON) -m venv .venv-numba-$*
	.venv-numba-$*/bin/python -m pip install --quiet --disable-pip-version-check "numba==$*" --editable ".[dev]"
	.venv-numba-$*/bin/python -m pytest -n 2 --dist loadfile tests/compile tests/inference tests/structures tests/test_own_problem.py
	TAUT_PLAIN_NUMBA=1 .venv-numba-$*/bin/python -m pytest -n 2 --dist loadfile tests/compile tests/structures tests/test_own_problem.py

bench: $(VENV)/.installed-bench
	@echo "Run a benchmark with $(BIN)/python and one of:"
	@ls benchmarks/*.py

# TAUT_DATA names the folder of data sets; ARGS="--quick" and the like go to the command.
PAPERS := osokin solagna meshi hu yu
papers: $(PAPERS:%=paper-%)

paper-%: $(VENV)/.installed-papers
	$(BIN)/python -m papers.$*.run $(ARGS)

clean:
	rm -rf $(VENV) .venv-numba-* build dist docs/_build docs/auto_examples docs/generated
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(create)

# One stamp per extra: plot, dev, docs, bench, papers.
$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(install) --editable ".[$*]"
	@touch $@
