# Every target sets up .venv by itself; all it needs is Python 3.11 or newer.
#   make PYTHON=python3.12 test             use another interpreter (when .venv is first made)
#   make test PYTEST_ARGS="-k denoising"    pass options on to pytest
#   make test WORKERS=8                     run the tests in more processes
#   make fuzz N=1000 SEED=7                 more random problems, from this seed on (fresh ones without)
#   make kills N=200                        kill running sweeps, so often
#   make soak N=2000                        ask the page so many things
#   make repeat N=50                        run the tests that wait so often, beside busy processes
#   WIDTHWISE_PATIENCE=5 make test          have the tests that wait do so five times as long
PYTHON ?= python3
WORKERS ?= 2
PYTEST_ARGS ?=
N ?= 200
SEED ?=
BENCH_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp-dev
CORE := $(VENV)/.stamp-core

# One thread for each test process: without this every process starts as many threads as there are
# cores, and the linear algebra of two processes fights over the same ones.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 \
	VECLIB_MAXIMUM_THREADS=1 NUMBA_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: browser help demo test test-fast test-lowest fuzz kills soak repeat coverage lint bench docs hooks newest clean

help: ## list the targets
	@echo "make <target>, where <target> is one of"
	@sed -n 's/^\([a-z][a-z-]*\):[^#]*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) \
		| awk -F'|' '{ printf "  %-12s %s\n", $$1, $$2 }'

demo: $(CORE) ## predict a learning curve: print a table, write demo/learning_curve.png
	$(BIN)/python examples/demo.py

test: $(STAMP) browser ## run all the tests
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(PYTEST_ARGS)

test-fast: $(STAMP) browser ## run the tests that are not marked slow
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "not slow" $(PYTEST_ARGS)

fuzz: $(STAMP) ## check the theory on N random problems with fresh seeds, print what shows a violation again
	$(ONE_THREAD) $(BIN)/python tests/fuzz.py -n $(N) --workers $(WORKERS) $(if $(SEED),--seed $(SEED))

kills: $(STAMP) ## kill parts of running sweeps N times; results must not differ by a bit
	$(ONE_THREAD) $(BIN)/python tools/kill_sweeps.py -n $(N) $(if $(SEED),--seed $(SEED))

soak: $(STAMP) ## ask the page N things, some of them hostile, and check every answer
	$(ONE_THREAD) $(BIN)/python tools/soak_page.py -n $(N) $(if $(SEED),--seed $(SEED))

# The lowest versions that pyproject.toml promises, in an environment of their own.
test-lowest: ## run the quick tests with the lowest versions of all dependencies
	$(PYTHON) -m venv --clear build/lowest
	build/lowest/bin/python -m pip install --quiet --upgrade pip
	$(PYTHON) tools/lowest.py > build/lowest/requirements.txt
	build/lowest/bin/python -m pip install --quiet --requirement build/lowest/requirements.txt
	build/lowest/bin/python -m pip install --quiet --no-deps --editable .
	$(ONE_THREAD) build/lowest/bin/python -m pytest -n $(WORKERS) --dist loadgroup -m "not slow" \
		-p no:cacheprovider $(PYTEST_ARGS)

repeat: $(STAMP) browser ## run the tests that wait, kill or measure N times beside four busy processes, and count
	$(ONE_THREAD) $(BIN)/python tools/repeat_tests.py -n $(N) -- $(PYTEST_ARGS)

coverage: $(STAMP) browser ## run all the tests and say which lines they never reach
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --cov --cov-report=term:skip-covered \
		--cov-report=html:build/coverage $(PYTEST_ARGS)
	@echo "open build/coverage/index.html"

# The tests of the page need a browser: one that is there, else Debian's, else Playwright's own.
browser: $(STAMP)
	@$(BIN)/python tests/explorer/browser.py

lint: $(STAMP) ## check style, import order, undefined names, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP) ## compare speed and accuracy with a plain reference
	$(BIN)/python benchmarks/run.py $(BENCH_ARGS)

docs: $(STAMP) ## build the documentation in docs/_build/html, with warnings as errors
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

hooks: $(STAMP) ## have git run the quick checks before each commit
	$(BIN)/python -m pip install --quiet pre-commit
	$(BIN)/pre-commit install

newest: $(STAMP) ## upgrade every dependency in .venv to its newest version
	$(BIN)/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable ".[dev]"

clean: ## remove everything that was generated, except .venv
	rm -rf build dist demo docs/_build docs/gallery docs/api/generated docs/studies.rst docs/sg_execution_times.rst
	rm -rf .pytest_cache .hypothesis .mypy_cache .ruff_cache .benchmarks .coverage .coverage.*
	find . \( -path ./$(VENV) -o -path ./.git \) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is as new as the last installation, so nothing is installed again until the dependencies
# change. The demo needs only the core; everything else the extras for development.
$(CORE): pyproject.toml
	@echo "Setting up $(VENV) (only the first time, and when pyproject.toml changes) ..."
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
			echo "widthwise needs Python 3.11 or newer and '$(PYTHON)' is not: set PYTHON=/path/to/python." >&2; \
			exit 1; }; \
		$(PYTHON) -m venv --clear $(VENV); }
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(STAMP): $(CORE)
	@echo "Installing what the tests need ..."
	@$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@
