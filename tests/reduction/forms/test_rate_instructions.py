"""Right-hand sides of long explicit systems come from the instructions of their equations, to the last bit."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.compilation import compile_function
from daedalus.model.system import instruction_list
from daedalus.reduction.forms.explicit_form import explicit_form
from daedalus.reduction.forms.rate_instructions import rate_instructions

N = 3000


def transport(turned=False):
    m = dd.Model("transport")
    u, k, wind = m.state("u", N, start=np.sin(np.arange(N))), m.parameter("k", [0.3, 0.2]), m.input("wind")
    v = m.state("v", N, start=np.cos(np.arange(N)))
    rates = wind * (np.roll(u, 1) - u) - k[0] * u**3 + ca.sin(m.time), k[1] * (u - v)
    first = (rates[0][::-1], m.der(u)[::-1]) if turned else (m.der(u)[::-1], rates[0][::-1])
    m.equation(*first)
    m.equation(m.der(v), rates[1])
    return m


def test_the_bits_are_those_of_the_explicit_form(monkeypatch):
    reads, read = [], instruction_list.instruction_columns
    monkeypatch.setattr(instruction_list, "_last", None)
    monkeypatch.setattr(instruction_list, "instruction_columns", lambda f: reads.append(f.name()) or read(f))
    system = transport().freeze()
    assert rate_instructions(system) is not None
    form = explicit_form(system)
    monkeypatch.undo()
    assert reads.count("F") == 1
    plain = ca.Function("plain", system.symbols(("t", "x", "u", "p")), [form.xdot])
    numbers = np.random.default_rng(3)
    point = [0.3, numbers.normal(size=2 * N), [0.7], numbers.normal(size=2)]
    instruction_list.tell_instructions(plain, rate_instructions(system))
    told = compile_function(plain)(*point)[0]
    instruction_list.forget_told()
    np.testing.assert_array_equal(told, np.ravel(plain(*point)))


@pytest.mark.parametrize("written", ["turned", "scaled", "used twice", "algebraic"])
def test_equations_of_another_form_are_solved_as_before(written):
    m = transport(written == "turned")
    if written != "turned":
        m = dd.Model("other")
        u = m.state("u", N, start=np.ones(N))
        z = m.algebraic("z", N) if written == "algebraic" else -u
        if written == "algebraic":
            m.equation(z, -u)
        m.equation(m.der(u) * (2 if written == "scaled" else 1), z + (m.der(u) ** 2 if written == "used twice" else 0))
    assert rate_instructions(m.freeze()) is None


def test_a_run_takes_them():
    m = transport()
    tr = dd.simulate(m, 0.1, inputs={"wind": 2.0}, method="rk4", step=0.01)
    exact = dd.simulate(m, 0.1, inputs={"wind": 2.0}, method="radau5", rtol=1e-10, atol=1e-12, save_at=[0.1])
    np.testing.assert_allclose(tr["u"][-1], exact["u"][-1], atol=1e-6)
