"""Analyses of large networks do work in proportion to their size: calls of functions are counted, not seconds."""

import cProfile

import pytest

import daedalus as dd
from daedalus import catalogue


def calls(question, buses):
    """How many functions were called: of Python, and of libraries by Python."""
    model = catalogue.load("power_grid", buses=buses).model
    watch = cProfile.Profile()
    watch.runcall(question, model)
    return sum(entry.callcount for entry in watch.getstats())


@pytest.mark.parametrize("question", [dd.analyse, dd.reduce, dd.initialise])
def test_work_grows_with_the_size_of_a_grid(question):
    question(catalogue.load("power_grid", buses=60).model)  # with all imports
    small, large = calls(question, 60), calls(question, 240)
    assert large <= 4.4 * small
    report = str(question(catalogue.load("power_grid", buses=60).model)) if question is dd.analyse else ""
    assert report.count("\n") < 60
