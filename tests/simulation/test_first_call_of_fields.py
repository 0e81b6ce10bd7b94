"""What a first call of a field costs, in counts: nothing is done once a cell in Python, and nothing long twice."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.model import expressions
from daedalus.model.system import instruction_list, symbol_places


def reaction(side, moved=True):
    m = dd.Model("reaction")
    x = (np.arange(side) + 0.5) / side
    u, v = m.state("u", (side, side)), m.state("v", (side, side))
    lamp = ca.if_else(m.time >= 0.05, 1.0, 0.0) if moved else 0.0
    m.equation(m.der(u) == 1 + u**2 * v - 4.4 * u + 0.02 * dd.laplacian(u, 1 / side) + lamp * ca.DM(np.eye(side)))
    m.equation(m.der(v), 3.4 * u - u**2 * v + 0.02 * dd.laplacian(v, 1 / side))
    return m, {"u": 1 + np.outer(np.sin(2 * np.pi * x), np.cos(2 * np.pi * x)), "v": np.full((side, side), 3.0)}


def counted(monkeypatch, room, name):
    calls, own = [], getattr(room, name)

    def count(*arguments, **options):
        calls.append(name)
        return own(*arguments, **options)

    monkeypatch.setattr(room, name, count)
    return calls


def test_long_functions_are_read_and_differentiated_once(monkeypatch):
    m, start = reaction(26)
    monkeypatch.setattr(instruction_list, "_last", None)  # whatever ran before
    reads, read = [], instruction_list.instruction_columns
    monkeypatch.setattr(instruction_list, "instruction_columns", lambda f: reads.append(f.n_instructions()) or read(f))
    searched = counted(monkeypatch, expressions, "instruction_columns")
    sizes, jacobian = [], ca.jacobian
    monkeypatch.setattr(ca, "jacobian", lambda *of: sizes.append(of[0].numel()) or jacobian(*of))
    keys = counted(monkeypatch, symbol_places, "symbol_key")
    others = counted(monkeypatch, expressions, "symbol_key")
    tr = dd.simulate(m, 0.1, start=start, method="bdf", save_at=[0.1])
    assert tr.success
    # As written; then the equations with conditions alone, as they are and with modes.
    assert sum(length > 0.2 * max(reads) for length in reads) == 1
    assert not searched
    # No second graph: of the condition on time and of single operations; entries come from the instructions.
    assert max(sizes) == 1
    assert not keys
    assert len(others) < 676  # of 1352 unknowns: those that the condition touches


def test_a_field_without_conditions_is_searched_for_roots_once(monkeypatch):
    m = dd.Model("rod")
    u = m.state("u", 1300, start=np.sin(np.linspace(0, 3, 1300)))
    m.equation(m.der(u), dd.laplacian(u, 0.1, boundary=("dirichlet", 0.0)) - ca.sin(u))
    searched = counted(monkeypatch, expressions, "instruction_columns")
    assert dd.simulate(m, 0.1, method="bdf", save_at=[0.1]).success
    assert not searched


def test_a_short_function_does_not_take_the_place_of_a_long_one(monkeypatch):
    """The equations with conditions of a field are read between two looks at all of them."""
    x = ca.SX.sym("x", 20000)
    long, short = ca.Function("long", [x], [ca.sin(x) * x]), ca.Function("short", [x], [x[:800] ** 3 + 1])
    reads = counted(monkeypatch, instruction_list, "instruction_columns")
    for function in (long, short, long):
        instruction_list.read_instructions(function)
    assert len(reads) == 2


def test_elements_of_large_arrays_are_looked_up_when_asked_for():
    m, _ = reaction(26, moved=False)
    assert m["u[3,5]"].is_symbolic()
    assert str(m.equations["equation_1"][0]).startswith("u_dot[0,0]")
    u = m["u"]
    assert ca.is_equal(m.der(u), ca.reshape(ca.vertcat(*(m.der(u[k]) for k in range(u.numel()))), 26, 26))
    part = m.der(u[:, 3])
    assert ca.is_equal(part, m["u_dot"][:, 3])


def test_other_models_and_unknown_symbols_are_refused_in_large_equations():
    (one, _), (other, _) = reaction(26), reaction(26)
    with pytest.raises(dd.ModelError, match="symbol of another model"):
        one.equation(one.der(one["u"]), one["u"] + other["v"])
    with pytest.raises(dd.ModelError, match="symbol that no model declared"):
        one.equation(one.der(one["u"]), one["u"] + ca.SX.sym("w", 26, 26))


def test_components_without_unknowns_are_named_in_large_equations():
    m = dd.Model("table")
    x, p = m.state("x", 600, start=np.ones(600)), m.parameter("p", np.ones(600))
    right = -x
    right[17] = p[17]
    with pytest.raises(dd.ModelError, match="Component 17 of equation 'law' contains no unknown"):
        m.equation(0 * x, right, name="law")


@pytest.mark.parametrize("hidden", [False, True])
def test_nan_inside_large_equations_is_found(hidden):
    m = dd.Model("table")
    x = m.state("x", 1200, start=np.ones(1200))
    right = -ca.sin(x)
    right[700] = ca.if_else(x[3] > 1e6, ca.SX(np.nan) * x[4], x[5]) if hidden else x[4] + np.nan

    def run():
        m.equation(m.der(x), right)
        dd.simulate(m, 1.0)

    with pytest.raises(dd.ModelError, match="contains the constant NaN"):
        run()


@pytest.mark.parametrize("method", ["bdf", "radau5"])
def test_numbers_between_steps_are_counted(method):
    """BDF keeps the powers that its order has, of x alone: x' follows. Others keep the whole polynomial of a row."""
    n = 300
    m = dd.Model("rod")
    u, heat = m.state("u", n, start=np.sin(np.pi * (np.arange(n) + 0.5) / n)), m.algebraic("heat")
    m.equation(m.der(u), dd.laplacian(u, 1 / n, ("dirichlet", 0.0)))
    m.equation(heat, u[0] - u[n - 1] + m.time)
    tr = dd.simulate(m, 0.1, method=method, save_at=[0.05, 0.1])
    kept, orders = tr._source.kept_between, tr.steps.order
    steps = tr.work.steps
    if method == "bdf":
        assert kept == (orders[:steps] + 1).sum() * (n + 1)
    else:
        assert kept % (2 * n + 1) == 0
    rows = tr.at(np.linspace(0, 0.1, 40))
    exact = np.exp(-4 * n**2 * np.sin(np.pi / (2 * n)) ** 2 * rows.time)[:, None] * rows["u"][0]
    np.testing.assert_allclose(rows["u"], exact, atol=1e-4)
    np.testing.assert_allclose(rows["u_dot"][5:], -4 * n**2 * np.sin(np.pi / (2 * n)) ** 2 * exact[5:], atol=2e-2)
