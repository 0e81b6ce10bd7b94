# The few words of this project: demo, test, check, bench (and setup, sanitize, clean).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CORE := $(wildcard src/daedalus/core/*.hpp src/daedalus/core/*.cpp)

.PHONY: setup demo test check format bench sanitize clean

setup: $(STAMP)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Build tools live in the environment, so a later change of the core rebuilds in seconds.
$(VENV)/.tools: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.11" "nanobind>=2.4" "cmake>=3.26" "ninja>=1.11"
	@touch $@

$(STAMP): pyproject.toml CMakeLists.txt $(CORE) $(VENV)/.tools
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[dev]"
	@touch $@

demo: setup
	$(BIN)/daedalus demo

test: setup
	$(BIN)/python -m pytest -n 2 --dist loadgroup

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_layout.py

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build benchmarks/.venv benchmarks/results
