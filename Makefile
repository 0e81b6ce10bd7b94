# The few words of this project: demo, test, check, docs, bench (and setup, test-all, soak, wheel, runtimes, sanitize, clean).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CORE := $(sort $(shell find src/daedalus/core -name '*.hpp' -o -name '*.cpp'))
RUNTIME := $(addprefix src/daedalus/exchange/fmu/,runtime.c prebuilt.h iteration.h friction.h bdf.h)
ROOMS := $(sort $(shell find src/daedalus -name __init__.py))
KERNELS := $(filter %kernels.cpp,$(CORE))
# Without kept bytecode every process of a test compiles the package and what it needs again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: runtimes setup demo test test-all check soak format docs bench wheel sanitize sanitize-core sanitize-python clean

setup: $(VENV)/.dev $(STAMP)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Build tools live in the environment, so a later change of the core rebuilds in seconds.
$(VENV)/.tools: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile "scikit-build-core>=0.11" "nanobind>=2.4" "cmake>=3.26" "ninja>=1.11"
	@touch $@

# What the package needs is fetched while its core is compiled; modules become bytecode when they are first imported. A
# new folder of the package has to be known to the editable installation too.
$(STAMP): pyproject.toml CMakeLists.txt $(CORE) $(RUNTIME) $(ROOMS) $(VENV)/.tools
	@$(BIN)/python -c "import tomllib; \
	  print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" > $(VENV)/needs.txt
	$(BIN)/python -m pip install --quiet --no-compile --requirement $(VENV)/needs.txt & needs=$$!; \
	  $(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --editable . && wait $$needs
	@touch $@

# What tests and checks need beside it.
$(VENV)/.dev: pyproject.toml | $(STAMP)
	$(BIN)/python -m pip install --quiet --no-compile --no-build-isolation --editable ".[dev]"
	@touch $@

demo: $(STAMP)
	$(BIN)/daedalus demo

# Two workers, one BLAS thread each. The run that people wait for, with its slowest tests; `test-all` adds the other
# methods, tolerances and examples (marker `wide`).
# A worker that dies ends the run: with another one in its place the rest would wait for it without end.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --max-worker-restart 0
# A file's tests run in one worker, which makes their fixtures and systems once; doctests of small files come last, so
# that both workers end together.
BY_FILE := --dist loadfile --no-loadscope-reorder
# Plain assertions: rewriting those of a thousand files takes each worker of a fresh clone ten seconds. Tests that fail
# run once more, to show the values in them; the run has failed all the same.
test: setup
	$(PYTEST) $(BY_FILE) --durations 20 --assert=plain || { \
	  $(BIN)/python -m pytest --last-failed --last-failed-no-failures none; exit 1; }

test-all: setup
	$(PYTEST) $(BY_FILE) --durations 20 -m "not long"

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/codespell
	$(BIN)/python -m pytest tests/test_layout.py tests/test_core_layout.py tests/test_words.py

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The site in site/, searchable offline; its gallery runs while it is built.
docs: setup
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[docs]"
	NO_MKDOCS_2_WARNING=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "open site/index.html"

bench: setup
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.parts
	$(BIN)/python -m benchmarks.circuits

# Tests of tens of seconds, then random models with known solutions for ten minutes, from any seed; what fails is told
# with how to see it again.
soak: setup
	$(PYTEST) -m long tests
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/promises/soak.py $(SOAK)

# The runtimes of FMUs for the other platforms, by PyPI's zig; its own libraries take minutes the first time. Wheels take them along.
RUNTIMES := src/daedalus/exchange/fmu/runtimes
runtimes: $(VENV)/.tools
	$(BIN)/python -m pip install --quiet ziglang
	for of in x86_64-linux=x86_64-linux-gnu.2.17=so aarch64-linux=aarch64-linux-gnu.2.17=so \
	    x86_64-windows=x86_64-windows-gnu=dll x86_64-darwin=x86_64-macos=dylib aarch64-darwin=aarch64-macos=dylib; do \
	  IFS==; set -- $$of; mkdir -p $(RUNTIMES)/$$1; \
	  $(BIN)/python -m ziglang cc -target $$2 -std=gnu99 -O2 -g0 -s -shared -fPIC -fvisibility=hidden \
	    -ffp-contract=off -DDD_PREBUILT $(word 1,$(RUNTIME)) -o $(RUNTIMES)/$$1/fmu_runtime.$$3 || exit 1; \
	done
	rm -f $(RUNTIMES)/*/*.lib

# A wheel in dist/, tried where there is nothing but it: an empty environment outside this folder runs the demo and the
# tests of the public contract.
wheel: $(VENV)/.tools runtimes
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir dist .
	set -e; place=$$(mktemp -d); trap 'rm -rf "$$place"' EXIT; \
	  $(PYTHON) -m venv "$$place/env"; \
	  "$$place/env/bin/python" -m pip install --quiet dist/daedalus-*.whl "pytest>=8"; \
	  cp tests/test_public_names.py "$$place"; cd "$$place"; \
	  env/bin/daedalus demo; env/bin/python -m pytest -q test_public_names.py

# The core under the address and undefined-behaviour sanitizers: its own tests without Python, then the extension, built
# with them, in the place of the usual one under the whole test suite, room by room: a fault ends the process, so that
# only the rest of a room goes unseen. Reports stay with the name of the test that ran: nothing is captured, and what
# each room said is in $(WATCHED)/logs. Its runtime comes before all others.
WATCHED := build/sanitize/python
WATCHED_TESTS ?= $(sort $(wildcard tests/core $(filter-out %/__pycache__/,$(wildcard tests/simulation/*/ \
  tests/differentiation/*/)))) $(sort $(filter-out \
  tests/core/ tests/simulation/ tests/differentiation/ tests/support/ tests/benchmarks/ tests/__pycache__/, $(wildcard tests/*/))) \
  $(sort $(wildcard tests/simulation/*.py tests/differentiation/*.py))
sanitize: sanitize-core sanitize-python

sanitize-python: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B $(WATCHED) -G Ninja -DCMAKE_BUILD_TYPE=None -DDAEDALUS_SANITIZE=ON \
	  -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python"
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build $(WATCHED)
	$(CXX) -x c -shared -fPIC tests/core/watched/shallow_dlopen.c -o $(WATCHED)/shallow_dlopen.so -ldl
	$(BIN)/python tests/core/watched/watch.py $(WATCHED) $(CXX) $(WATCHED_TESTS)

sanitize-core:
	@mkdir -p build/sanitize
	$(CXX) -std=c++20 -O1 -g -fopenmp-simd -fno-omit-frame-pointer -fsanitize=address,undefined \
	  -fno-sanitize-recover=all -Wall -Wextra -Wpedantic -Werror -pthread -Isrc/daedalus/core \
	  tests/core/core_test.cpp $(KERNELS) src/daedalus/core/methods/implicit_tableau/stage_pattern.cpp \
	  -o build/sanitize/core_test
	build/sanitize/core_test
	$(CXX) -std=c++20 -O1 -g -fopenmp-simd -fno-omit-frame-pointer -fsanitize=address,undefined \
	  -fno-sanitize-recover=all -Wall -Wextra -Wpedantic -Werror -pthread -Isrc/daedalus/core \
	  tests/core/flow_test.cpp src/daedalus/core/flow/flow_kernels.cpp src/daedalus/core/linear/linear_kernels.cpp \
	  -o build/sanitize/flow_test
	build/sanitize/flow_test
	@# Code for AVX2 must not leak through shared inline functions into the code for any processor.
	if [ "$$(uname -m)" = x86_64 ]; then \
	  for part in $(KERNELS); do \
	    $(CXX) -std=c++20 -O3 -fopenmp-simd -mavx2 -mfma -DDAEDALUS_ISA=avx2 -Isrc/daedalus/core -c $$part \
	      -o build/sanitize/avx2.o && ! nm -C build/sanitize/avx2.o | grep " [WV] " | grep -v -e avx2 -e DW.ref \
	      || exit 1; done; fi

clean:
	rm -rf $(VENV) build dist benchmarks/.venv benchmarks/results
