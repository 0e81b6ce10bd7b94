"""sens.verify(): passes what is right and catches what is wrong."""

import dataclasses

import numpy as np
import pytest
from differentiable_models import ball, pendulum_by_position

import daedalus as dd
from daedalus import catalogue
from daedalus.differentiation.forward_run import WAYS
from daedalus.differentiation.result.verification import Verification


@pytest.mark.parametrize("by", ["variational", "discrete"])
def test_a_right_result_passes_every_check(by):
    report = dd.sensitivities(pendulum_by_position(), 1.0, order=2, by=by, rtol=1e-8).verify()
    assert report.passed
    names = ["differences", "the adjoint", "the steps differentiated", "symmetry", "second derivatives"]
    assert [check.name for check in report.checks] == names
    assert report["differences"].slope == pytest.approx(2, abs=0.1)
    text = repr(report).splitlines()
    assert text[0] == "Verification: passed"
    assert text[1].startswith("  differences               agrees: ")


def test_a_grid_and_events_pass():
    known = catalogue.load("cart_pendulum")
    options = {"start": known.start, "inputs": known.inputs, "rtol": 1e-8}
    assert dd.sensitivities(known.model, 1.0, grid=4, order=2, **options).verify().passed
    report = dd.sensitivities(ball(), 1.5).verify()
    assert report.passed
    assert "through events" in report["differences"].detail


def test_a_wrong_start_of_the_sensitivities_is_caught():
    sens = dd.sensitivities(pendulum_by_position(), 1.0, rtol=1e-8)
    wrong = sens._start.S.copy()
    wrong[3, -1] += 1e-3
    sens._start = dataclasses.replace(sens._start, S=wrong)
    report = sens.verify()
    assert not report.passed
    assert "NOT passed" in repr(report)
    assert "DIFFERS" in repr(report)


def test_a_wrong_second_derivative_is_caught():
    sens = dd.sensitivities(pendulum_by_position(), 1.0, order=2, rtol=1e-9)
    sens.__dict__["_curvatures"] = sens._curvatures + 1e-2 * np.abs(sens._curvatures).max()
    report = sens.verify()
    assert not report["second derivatives"].passed
    assert report["symmetry"].passed


def test_checks_that_cannot_be_made_are_said_to_be_missing(monkeypatch):
    m = dd.Model("fill")
    x, k = m.state("x", start=0.0), m.parameter("k", 2.0)
    m.equation(m.der(x), k)
    m.event("full", x - 1, terminal=True)
    report = dd.sensitivities(m, 5.0).verify()
    assert report.passed
    assert not report["the adjoint"].ran
    assert "  the adjoint               not made: the run ends at an event" in str(report).splitlines()

    def stuck(*_):
        raise dd.SolverError("The stages of a step cannot be solved again.", "they end at t = 0.1")

    monkeypatch.setitem(WAYS, "discrete", stuck)
    report = dd.sensitivities(m, 0.3).verify()
    assert report.passed
    assert report["differences"].error < 1e-9
    assert [check.ran for check in report.checks] == [True, False, False]
    assert report["the steps differentiated"].verdict == (
        "not made: the steps cannot be differentiated: they end at t = 0.1"
    )
    # Nothing that was compared is nothing that was confirmed.
    assert not Verification(report.checks[1:]).passed
