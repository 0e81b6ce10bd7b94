"""Settings for all tests: rings, no windows, few searches for garbage, Control-C that counts, a cache of their own."""

import gc
import os
import signal
import tempfile
from pathlib import Path

import matplotlib as mpl
import pytest
from hypothesis import settings
from rings import examples, mark_wide_products, run_everything

mpl.use("Agg")
# Shells start what runs in the background with Control-C ignored, and every process that it starts inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["DAEDALUS_CACHE"] = str(Path(tempfile.gettempdir(), f"daedalus-tests-{os.getuid()}"))


def pytest_configure(config):
    """Give laws all their examples where `wide` tests are asked for, and few in the run that people wait for."""
    run_everything("not wide" not in config.option.markexpr)
    settings.register_profile("daedalus", deadline=None, max_examples=examples(50), derandomize=True)
    settings.load_profile("daedalus")
    # Nothing that collection makes is garbage: half a million objects that later searches for cycles need not see.
    gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark what `make test` leaves to `make test-all` before tests are chosen by their marks."""
    mark_wide_products(items, config.rootpath)


@pytest.fixture
def without_garbage_collection():
    """For tests that parse many files: searches for cycles among their nodes cost more than the parsing."""
    gc.disable()
    yield
    gc.enable()
