# make demo and make test set up everything they need in .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OUT    ?= build/demo
JOBS   ?= 2
REPEAT ?= 10
ROUNDS ?= 20000
SEED   ?= 0

# Several processes share the cores, so each keeps to one numerical thread.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
# Tests start the program a hundred times: it is compiled to bytecode once, whatever the environment says.
SUITE := $(ONE_THREAD) PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

.PHONY: demo test test-fast test-lowest stress fuzz bench examples docs lint format clean

demo: $(VENV)/.core
	@$(BIN)/simonides reproduce --quick --out $(OUT)

test: lint
	$(SUITE)

test-fast: $(VENV)/.test
	$(SUITE) -m "not slow"

# For tests that depend on luck, or on how fast or busy the machine is: the whole suite REPEAT times,
# every third time with four busy loops beside it. It stops at the first round that is red.
stress: $(VENV)/.test
	@busy=; trap 'exit 130' INT TERM; trap '[ -z "$$busy" ] || kill $$busy' EXIT; \
	for round in $$(seq $(REPEAT)); do \
	  echo "round $$round of $(REPEAT)"; \
	  if [ $$((round % 3)) = 0 ]; then \
	    for loop in 1 2 3 4; do while :; do :; done & busy="$$busy $$!"; done; \
	  fi; \
	  $(SUITE) || exit 1; \
	  [ -z "$$busy" ] || kill $$busy; busy=; \
	done

# The oldest versions that pyproject.toml allows, in an environment of their own; what they deprecate is theirs.
test-lowest: $(VENV)-lowest/.test
	$(ONE_THREAD) $(VENV)-lowest/bin/python -m pytest -n $(JOBS) --dist worksteal \
	  -W default::DeprecationWarning -W default::FutureWarning

# Damaged files of every format and random problems, for longer than the suite: make fuzz ROUNDS=100000 SEED=1
fuzz: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python tests/fuzz.py --rounds $(ROUNDS) --seed $(SEED)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks $(BENCHMARKS)

examples: $(VENV)/.examples
	$(ONE_THREAD) $(BIN)/python -m examples $(EXAMPLES)

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs build/docs
	@echo build/docs/index.html

clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache

$(BIN)/python:
	@echo "Setting up $(VENV) (once)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(BIN)/python pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/.core

$(VENV)/.bench: $(BIN)/python pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@ $(VENV)/.core

$(VENV)/.examples: $(BIN)/python pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[examples]'
	@touch $@ $(VENV)/.core

$(VENV)/.docs: $(BIN)/python pyproject.toml
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@ $(VENV)/.core

$(VENV)-lowest/.test: pyproject.toml
	@$(PYTHON) -m venv $(VENV)-lowest
	@$(PYTHON) tests/lowest.py > $(VENV)-lowest/constraints.txt
	@$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint $(VENV)-lowest/constraints.txt --editable '.[test]'
	@touch $@
