"""Settings for all tests: rings, no windows, few searches for garbage, Control-C that counts, a cache of their own."""

import contextlib
import gc
import importlib
import os
import signal
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import pytest
import rings
from _pytest.doctest import DoctestModule
from hypothesis import settings
from rings import examples, mark_wide_products, run_everything

mpl.use("Agg")
# Under the two names that tests import it by it is one module, with one ring.
sys.modules["tests.support.rings"] = rings
# Shells start what runs in the background with Control-C ignored, and every process that it starts inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["DAEDALUS_CACHE"] = str(Path(tempfile.gettempdir(), f"daedalus-tests-{os.getuid()}"))


def pytest_configure(config):
    """Give laws all their examples where `wide` tests are asked for, and few in the run that people wait for."""
    run_everything("not wide" not in config.option.markexpr)
    config.pluginmanager.register(ExamplesWhereWritten())
    settings.register_profile("daedalus", deadline=None, max_examples=examples(50), derandomize=True)
    settings.load_profile("daedalus")
    if "not wide" in config.option.markexpr:
        _draw_from_the_seed_alone()
    # Nothing that collection makes is garbage: half a million objects that later searches for cycles need not see.
    gc.disable()


def _draw_from_the_seed_alone():
    """Keep Hypothesis from drawing the numbers that stand in the modules loaded so far: those depend on the tests that
    ran before, and reading them from a thousand files takes each worker of a fresh clone five seconds."""
    with contextlib.suppress(ImportError, AttributeError):
        from hypothesis.internal.conjecture import providers

        nothing = providers._local_constants
        providers._get_local_constants = lambda: nothing


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    """Import the second half of the test files before the first half, in the second of two workers.

    In a fresh clone every module is compiled when it is first imported. Two workers that go the same way side by side
    compile everything twice; one that comes from the other end finds half of it done.
    """
    if getattr(session.config, "workerinput", {}).get("workerid") != "gw1" or session.config.args_source.name == "ARGS":
        return
    files = sorted(Path(__file__).parent.rglob("test_*.py"))
    for file in reversed(files[len(files) // 2 :]):
        if str(file.parent) not in sys.path:
            sys.path.insert(0, str(file.parent))
        # What cannot be imported, or is skipped as a whole, is told when it is collected.
        with contextlib.suppress(Exception, pytest.fail.Exception, pytest.skip.Exception):
            importlib.import_module(file.stem)


class ExamplesWhereWritten:
    """Look for examples in docstrings in the files that have some: not in tests, nor in half of the package.

    A plugin, since the hooks of this file see its own folder alone.
    """

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path):
        collectors = yield
        return [each for each in collectors if not isinstance(each, DoctestModule) or has_examples(file_path)]


def has_examples(path):
    return not path.is_relative_to(Path(__file__).parent) and ">>> " in path.read_text(encoding="utf-8")


def pytest_collection_finish():
    gc.freeze()
    # Thousands of models a process: memory may grow, time may not be spent on looking for what was dropped.
    gc.set_threshold(10_000, 20, 20)
    if (judge := sys.modules.get("daedalus.model.system.dropped_systems")) is not None:
        judge.dropped_systems.share_of_time = 0.01
    gc.enable()
    # One level for all code, that of least effort: it has the same bits (`test_random_graphs.py`), and a fresh clone
    # compiles thousands of functions in half the time. Tests of the compilation, and `make test-all`, take all of it.
    if not rings.everything() and "daedalus" in sys.modules:
        importlib.import_module("daedalus.compilation.machine_code").MOST_EFFORT = 0


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
