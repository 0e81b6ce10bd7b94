"""The formulation of index 2 with two multipliers: its index, its solutions, and models it is not made for."""

import casadi as ca
import numpy as np
import pytest
from reduced_models import chain, first_order_pendulum, pendulum, text_of

import daedalus as dd
from daedalus import catalogue


def test_a_pendulum_of_index_two():
    n = dd.reduce(pendulum(), stabilise="ggl")
    assert n.equations == {
        "motion of p": ["p_rate_dot[0] - 2*p[0]*rod = 0", "p_rate_dot[1] + 9.81 - 2*p[1]*rod = 0"],
        "rod": ["p[0]^2 + p[1]^2 - 1 = 0"],
        "rate of p": ["p_dot[0] - 2*p[0]*rod_mu - p_rate[0] = 0", "p_dot[1] - 2*p[1]*rod_mu - p_rate[1] = 0"],
        "rod, differentiated once": ["2*p[0]*p_rate[0] + 2*p[1]*p_rate[1] = 0"],
    }
    assert dd.analyse(n).index == 2
    assert dd.analyse(n).degrees_of_freedom == 2
    assert "written as equations (Gear, Gupta, Leimkuhler): rod; rod, differentiated once" in n.reduction.text
    assert not n.freeze().invariants


@pytest.mark.parametrize("model", [pendulum, first_order_pendulum, lambda: catalogue.load("delta_robot").model])
def test_the_solution_solves_it_with_the_new_multipliers_zero(model):
    m = model()
    n = dd.reduce(m, stabilise="ggl")
    assert dd.analyse(n).index == 2
    inputs = dict.fromkeys(m.inputs, 0.0)
    tr = dd.simulate(dd.reduce(m), 0.5, inputs=inputs, rtol=1e-11, atol=1e-13)
    system = n.freeze()

    def value(label, k):
        if "_mu" in label:
            return 0.0
        return tr[label.replace("_rate_dot", "_ddot").replace("_rate", "_dot")][k]

    for k in (0, len(tr.time) // 2, -1):
        vectors = [[value(label, k) for label in system.labels[letter]] for letter in ("xdot", "x", "z")]
        u = np.zeros(system.sizes["u"])
        assert np.abs(system.function(tr.time[k], *vectors, u, system.start["p"]).full()).max() < 1e-8


def test_a_model_of_index_two_stays():
    k = catalogue.load("cstr")
    n = dd.reduce(k.model, stabilise="ggl")
    assert n.reduction.text.startswith("cstr: no constraint has to be differentiated twice, the index is 2 at most")
    assert n.freeze() == k.model.freeze()


def test_higher_constraints_are_refused():
    m = dd.Model("deep")
    x = [m.state(f"x{k}") for k in range(3)]
    z = m.algebraic("z")
    m.equation([m.der(x[0]) - x[1], m.der(x[1]) - x[2], m.der(x[2]) - z, x[0] - ca.sin(m.time)], name="chain")
    text = text_of(lambda: dd.reduce(m, stabilise="ggl"), dd.ModelError)
    assert text.startswith('stabilise="ggl" does not fit this model.\n  chain[3] has to be differentiated 3 times\n')


def test_derivatives_of_inputs_are_inputs_as_elsewhere():
    assert list(dd.reduce(chain(), stabilise="ggl").inputs) == ["u", "u_dot", "u_ddot"]


def test_positions_without_rates_are_refused():
    m = dd.Model("alias")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    w = m.algebraic("w")
    pull = m.algebraic("pull")
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.generalised_force(q, ca.vertcat(pull, 0))
    m.equation(w, q[0] ** 2, name="square")
    m.equation(w, 1, name="level")
    text = text_of(lambda: dd.reduce(m, stabilise="ggl"), dd.ModelError)
    assert "contains w, whose rate no equation gives" in text


def test_multipliers_have_the_shape_of_their_constraint():
    n = dd.reduce(catalogue.load("delta_robot").model, stabilise="ggl")
    assert n.variables["arm_mu"].shape == n.variables["arm"].shape == (3,)
