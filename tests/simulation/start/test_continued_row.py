"""A run that goes on begins with the values the piece before it ended with, where they are consistent."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.start import implicit_start
from daedalus.simulation.start.continued_row import continued_row


def pendulum() -> dd.Model:
    m = dd.Model("pendulum")
    p, v, force = m.state("p", 2, start=[1.0, 0.0]), m.state("v", 2, start=[0.0, 0.0]), m.algebraic("force")
    m.equation(m.der(p), v)
    m.equation(m.der(v), ca.vertcat(-force * p[0], -force * p[1] - 9.81))
    m.equation(ca.sumsqr(p), 1, name="rod")
    return m


def row_of(m: dd.Model, samples: object) -> np.ndarray | None:
    return continued_row(m.freeze(), samples, Drive(np.zeros(0)), float(samples.time), np.zeros(0))


def test_the_end_of_a_reduced_run_is_what_initialise_would_find():
    m = pendulum()
    end = dd.simulate(m, 1.0, method="tsit5", rtol=1e-8).end
    row = row_of(m, end)
    found = dd.initialise(m, {"p": end["p"], "v": end["v"]})
    assert row is not None
    assert row == pytest.approx(np.concatenate([found.vectors[k] for k in ("x", "z", "xdot")]), abs=1e-9)


def test_values_off_the_constraints_are_not_taken():
    m = pendulum()
    tr = dd.simulate(m, 1.0, method="tsit5", rtol=1e-4)
    between = 0.5 * (tr.time[-3] + tr.time[-2])
    assert abs(np.sum(tr.at(between)["p"] ** 2) - 1) > 1e-8
    assert row_of(m, tr.at(between)) is None
    assert row_of(m, tr.at(between, project=True)) is not None


def test_stiffness_costs_no_search_for_a_start(monkeypatch):
    """An explicit run lies on the manifold: the implicit one begins with all its values."""
    m = dd.Model("stiff pendulum")
    p, v, force = m.state("p", 2, start=[1.0, 0.0]), m.state("v", 2, start=[0.0, 0.0]), m.algebraic("force")
    heat = m.state("heat", start=0.0)
    m.equation(m.der(p), v)
    m.equation(m.der(v), ca.vertcat(-force * p[0], -force * p[1] - 9.81))
    m.equation(ca.sumsqr(p), 1, name="rod")
    m.equation(m.der(heat), 1e6 * (p[0] - heat))

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a search for a start")

    monkeypatch.setattr(implicit_start, "initialise", refused)
    tr = dd.simulate(m, 2.0)
    assert tr.success
    assert tr.method == "radau5"
    assert max(tr.drift().values(), default=0.0) < 1e-6
