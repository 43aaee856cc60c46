# A fresh machine needs make and Python >= 3.11, nothing else. Everything is installed into .venv, once.
#
#   make quickstart    install, run a small comparison on real data, show its leaderboard
#   make test          install the development tools as well, run all tests
#   make test-fast     run the tests that need no process, no browser and no minute
#   make check         style, types, layers, documentation, words
#   make docs          the manual, a web site in site/; make docs-serve shows it while you write
#   make leaderboard   the published leaderboard's page, README board and table of gaps, from its record
#   make benchmark     speed and memory measurements, ten thousand damaged files of each kind
#   make clean         remove .venv
#
# The first of these interpreters that is new enough makes .venv; name another with `make PYTHON=... quickstart`.
PYTHON ?= python3.13 python3.12 python3.11 python3 python
# Processes that run tests.
WORKERS ?= 2

VENV = .venv
BIN = $(VENV)/bin
INSTALLED = $(VENV)/.installed
DEVELOPMENT = $(VENV)/.development

.PHONY: quickstart test test-fast check docs docs-serve leaderboard benchmark clean
.DELETE_ON_ERROR:

quickstart: $(INSTALLED)
	$(BIN)/cfbench run --preset quick

test: $(DEVELOPMENT)
	$(BIN)/python -m pytest -n $(WORKERS)

test-fast: $(DEVELOPMENT)
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow and not browser"

check: $(DEVELOPMENT)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/packaging/test_documentation.py tests/packaging/test_words.py
	$(MAKE) --no-print-directory docs

# The variable switches an advertisement of the theme's authors off.
docs: $(DEVELOPMENT)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

docs-serve: $(DEVELOPMENT)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve --strict

leaderboard: $(INSTALLED)
	$(BIN)/cfbench leaderboard --results leaderboard/record --format html --output leaderboard/index.html
	$(BIN)/python docs/pictures/published.py leaderboard/record

benchmark: $(DEVELOPMENT)
	@set -e; for script in benchmarks/*.py; do echo "$$script"; $(BIN)/python "$$script"; done

clean:
	rm -rf $(VENV)

# An interpreter counts only if it runs: version managers put commands on the path that do not.
$(BIN)/python:
	@for candidate in $(PYTHON); do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "Making $(VENV) with $$candidate, $$("$$candidate" --version)"; \
	    "$$candidate" -m venv --clear $(VENV) && exit 0; \
	    echo "$$candidate cannot make a virtual environment (on Debian and Ubuntu: apt install python3-venv)." >&2; \
	    exit 1; \
	  fi; \
	done; \
	echo "cfbench needs Python 3.11 or newer, and none of these is: $(PYTHON)." >&2; \
	echo "Install one, or name it: make PYTHON=/path/to/python quickstart" >&2; \
	exit 1

# pip 25.1 is the first that reads dependency groups. The extra dice is apart: it brings 720 MB. The
# libraries of boosted trees come with the development tools.
$(INSTALLED): pyproject.toml | $(BIN)/python
	@echo "Installing cfbench and what it needs: a few minutes the first time"
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[cma,dask,fast]"
	@touch $@

$(DEVELOPMENT): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@
