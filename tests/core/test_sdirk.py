"""Pairs with one diagonal entry by a step of their own: the numbers of the general one, one matrix for many steps."""

import implicit_systems as systems
import numpy as np
import pytest
from implicit_models import implicit_model, integrate

import daedalus as dd
from daedalus import catalogue
from daedalus.integrators.tableaux.core_tableau import core_tableau

PAIR = dd.tableau("sdirk4")
# Without its estimate the same tableau is solved stage by stage, with a new matrix for every correction.
ALONE = dd.Tableau(PAIR.A, PAIR.b, PAIR.c, name="sdirk4 alone")


@pytest.mark.parametrize(
    ("name", "arguments", "span", "close", "factors"),
    [("orbit", (True,), 3.0, 1e-11, (54, 592)), ("index_two", (), 0.5, 1e-9, (60, 976))],
)
def test_fixed_steps_are_those_of_the_tableau(name, arguments, span, close, factors):
    system = getattr(systems, name)(*arguments)
    model, start = implicit_model(system.model, system.index, system.level), system.exact(0.0).ravel()
    own, general = (integrate(model, core_tableau(T), span, start, step=span / 60) for T in (PAIR, ALONE))
    assert own.status == general.status == "finished"
    assert own.x == pytest.approx(general.x, rel=close, abs=close)
    assert (own.factorisations, general.factorisations) == factors


def test_a_linear_model_keeps_its_matrices():
    """x' = z - x, z = x / 2: a Jacobian serves twenty steps at most, and factors as long as steps keep their length."""
    m = dd.Model("decay")
    x, z = m.state("x"), m.algebraic("z")
    m.equation(m.der(x), z - x)
    m.equation(z, 0.5 * x)
    model, start = implicit_model(m), [1.0, 0.5, -0.5]
    run = integrate(model, core_tableau(PAIR), 4.0, start, rtol=1e-6, atol=np.full(3, 1e-9))
    assert run.status == "finished"
    assert run.x[-1] == pytest.approx(np.exp(-2.0) * np.array(start), rel=1e-6)
    assert (run.steps, run.rejected, run.jacobians, run.factorisations, run.newton) == (27, 0, 3, 8, 52)
    # Five stages a correction, two looks inside every step, and one close to the start.
    assert run.rhs_calls == 5 * run.newton + 2 * run.steps + 1


@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
def test_fast_transients_behind_switches_are_followed(rtol):
    k = catalogue.load("buck_converter")
    shared = {"start": k.start, "inputs": k.inputs}
    exact = dd.simulate(k.model, k.span, method="radau9", rtol=1e-10, **shared).end
    found = dd.simulate(k.model, k.span, method="sdirk4", rtol=rtol, **shared).end
    for name in ("snubber.voltage", "choke.current", "smooth.voltage"):
        np.testing.assert_allclose(found[name], exact[name], atol=rtol, rtol=rtol)
