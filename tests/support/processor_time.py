"""Processor time of tests by family: `PYTHONPATH=tests/support python -m pytest -p processor_time tests/analysis`.

Without workers. Times on the wall depend on what else the machine does; these hardly do. Child processes count. The
first test of a file also pays for imports and compiled code that the others share.
"""

import os
from collections import Counter

import pytest

SHOWN = 40

_seconds: Counter[str] = Counter()
_cases: Counter[str] = Counter()


def pytest_addoption(parser):
    parser.addoption("--families", type=int, default=SHOWN, help="how many families of tests to show")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    begin = os.times()
    result = yield
    end = os.times()
    family = item.nodeid.partition("[")[0]
    _seconds[family] += sum(end[:4]) - sum(begin[:4])
    _cases[family] += 1
    return result


def pytest_terminal_summary(terminalreporter, config):
    terminalreporter.section(f"processor time, {sum(_seconds.values()):.1f} s in all")
    for family, seconds in _seconds.most_common(config.option.families):
        terminalreporter.write_line(f"{seconds:8.2f} s {_cases[family]:5d} cases  {family}")
