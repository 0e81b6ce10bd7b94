"""Algebraic variables solved for: against the model that keeps them, and where the rank condition fails."""

import casadi as ca
import numpy as np
import pytest
from reduced_models import first_order_pendulum, text_of

import daedalus as dd


def product(start):
    """x' = z - x, x z = 1 of document 003 (u = 0)."""
    m = dd.Model("product")
    x, z = m.state("x", start=start), m.algebraic("z")
    m.equation(m.der(x), z - x, name="balance")
    m.equation(x * z, 1, name="product")
    return m


@pytest.mark.document("003", "elimination z = ξ(x, u) where ∂g/∂z has full rank", "`dd.eliminate`")
def test_the_variable_becomes_an_output():
    n = dd.eliminate(product(2.0), "z")
    assert list(n.variables) == ["x"]
    assert list(n.outputs) == ["z"]
    tr = dd.simulate(n, 1.0, rtol=1e-10, atol=1e-12)
    assert np.abs(tr["x"] - np.sqrt(1 + 3 * np.exp(-2 * tr.time))).max() < 1e-9
    assert np.abs(tr["z"] * tr["x"] - 1).max() < 1e-14


def test_the_rank_condition_fails_at_the_start():
    text = text_of(lambda: dd.eliminate(product(0.0), "z"), dd.SingularModelError)
    assert text == (
        "z cannot be eliminated at the start.\n"
        "  the matrix of product is singular at x = 0\n"
        "  Because the equations can be solved for them elsewhere, but not there.\n"
        "  Try: another start, or keep them as unknowns"
    )


def test_the_rank_condition_fails_everywhere():
    text = text_of(lambda: dd.eliminate(first_order_pendulum(), "pull"), dd.SingularModelError)
    assert text.startswith(
        "pull cannot be eliminated.\n"
        "  the slopes of the equations without derivatives by them have rank 0 of 1\n"
        "  no such equation contains them\n"
    )
    assert "Try: dd.reduce(m) first" in text


def test_several_at_once_and_blocks():
    m = dd.Model("circuit")
    v = m.state("v", start=1.0)
    i, w = m.algebraic("i", 2), m.algebraic("w")
    m.equation(m.der(v), -i[0] - i[1], name="charge")
    m.equation([i[0] + i[1] - w, i[0] - 2 * i[1]], name="split")
    m.equation(w, 3 * v, name="law")
    m.output("power", v * w)
    n = dd.eliminate(m, ["i", "w"])
    assert list(n.variables) == ["v"]
    assert n.equations == {"charge": n.equations["charge"]}
    one, two = (dd.simulate(model, 1.0, rtol=1e-10, atol=1e-12) for model in (m, n))
    for name in ("v", "i", "w", "power"):
        assert np.abs(one[name][-1] - two[name][-1]).max() < 1e-10


def test_the_best_conditioned_equation_is_taken():
    """At the start x = 1e-9 the first equation is nearly useless for z; y then follows from it."""
    m = dd.Model("choice")
    x, y, z = m.state("x", start=1e-9), m.algebraic("y"), m.algebraic("z")
    m.equation(m.der(x), y, name="balance")
    m.equation(x * z + y, 1, name="weak")
    m.equation(z + y, 2, name="strong")
    n = dd.eliminate(m, "z")
    assert "strong" not in n.equations
    assert "weak" in n.equations


def test_aliases():
    m = dd.Model("aliases")
    x = m.state("x", start=1.0)
    a, b, c = (m.algebraic(name) for name in "abc")
    m.equation(m.der(x), -a, name="balance")
    m.equation(a, -b, name="first")
    m.equation(2 * b, 2 * c, name="second")
    m.equation(c, -3 * x, name="law")
    n = dd.eliminate(m)
    assert sorted(n.outputs) == ["a", "b", "c"]
    assert list(n.equations) == ["balance"]
    assert n.notes == ("eliminated: a, b, c",)
    tr = dd.simulate(n, 1.0, rtol=1e-10, atol=1e-12)
    assert tr["b"][-1] == pytest.approx(-3 * np.exp(-3.0), abs=1e-9)
    assert np.array_equal(tr["b"], tr["c"])


def test_nothing_to_eliminate():
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    assert dd.eliminate(m).freeze() == m.freeze()


def test_what_has_no_formula_stays_and_is_told():
    m = dd.Model("two laws")
    x = m.state("x", start=2.0)
    y, z = m.algebraic("y", start=1.0), m.algebraic("z")
    m.equation(m.der(x), y - z, name="balance")
    m.equation(y**3 + y, x, name="implicit")
    m.equation(2 * z, x, name="explicit")
    n = dd.eliminate(m)
    assert n.notes == ("eliminated: z; without a formula: y",)
    assert float(dd.simulate(n, 1.0)["z"][0]) == pytest.approx(1.0)


def test_events_and_guards_follow():
    m = product(2.0)
    m.event("half", m["z"] - 0.6, terminal=True)
    tr = dd.simulate(dd.eliminate(m, "z"), 5.0, rtol=1e-10)
    assert tr["x"][-1] == pytest.approx(1 / 0.6, abs=1e-7)


def test_nonlinear_equations_are_refused():
    m = dd.Model("cube")
    x, z = m.state("x", start=1.0), m.algebraic("z")
    m.equation(m.der(x), -z)
    m.equation(z**3 + z, x, name="law")
    text = text_of(lambda: dd.eliminate(m, "z"), dd.SolverError)
    assert text.startswith("z cannot be written as an expression.\n  law is nonlinear in z\n")


@pytest.mark.parametrize(("name", "fact"), [("x", "x is a state"), ("w", "the model 'product' has no such variable")])
def test_what_cannot_be_eliminated(name, fact):
    text = text_of(lambda: dd.eliminate(product(1.0), name), dd.InputError)
    assert text.startswith(f"{name} cannot be eliminated.\n  {fact}\n")
    assert "Try: 'z'" in text


def test_old_expressions_without_it_stay_valid():
    m = product(2.0)
    n = dd.eliminate(m, "z")
    n.output("double", 2 * m["x"])
    assert float(ca.evalf(ca.substitute(n["z"], m["x"], 4.0))) == 0.25


def rod(equations=False):
    """A pendulum by energies, or by equations with one more algebraic variable."""
    m = dd.Model("pendulum")
    if not equations:
        q = m.coordinate("q", 2, start=[0.8, -0.6], rate=[0.6, 0.8])
        m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
        m.potential_energy(9.81 * q[1])
        m.constraint("rod", ca.sumsqr(q) - 1)
        return m
    x, v = m.state("x", 2, start=[0.8, -0.6]), m.state("v", 2, start=[0.6, 0.8])
    force, wind = m.algebraic("rod"), m.algebraic("wind")
    m.equation(m.der(x), v)
    m.equation(m.der(v), [force * x[0] - 0.1 * v[0] + wind, force * x[1] - 9.81])
    m.equation(ca.sumsqr(x), 1)
    m.equation(wind, 0.1 * force + v[0])
    return m


@pytest.mark.parametrize("stabilise", ["projection", "baumgarte", None])
@pytest.mark.parametrize(("equations", "names"), [(False, ["rod"]), (True, ["rod"]), (True, ["rod", "wind"])])
def test_the_force_of_a_differentiated_constraint(stabilise, equations, names):
    m = rod(equations)
    n = dd.eliminate(dd.reduce(m, stabilise=stabilise), names)
    tr, reference = dd.simulate(n, 1.0, rtol=1e-8), dd.simulate(m, 1.0, rtol=1e-8)
    assert not set(names) & set(n.freeze().labels["z"])
    for name in (*names, *m.freeze().labels["x"]):
        assert tr[name][-1] == pytest.approx(reference[name][-1], abs=1e-6)


def test_the_remedy_of_what_cannot_be_eliminated_helps():
    m = rod()
    with pytest.raises(dd.SingularModelError, match=r"Try: dd\.reduce\(m\) first"):
        dd.eliminate(m, "rod")
    # Index 2 has to be reduced in another way.
    with pytest.raises(dd.SingularModelError, match='with stabilise="projection" or "baumgarte"'):
        dd.eliminate(dd.reduce(m, stabilise="ggl"), "rod")


def test_a_note_tells_the_index_that_was_lowered():
    """The pattern says 0; the equations combined have no derivative left."""
    m = dd.Model("sum")
    x, y = m.state("x", start=1.0), m.state("y")
    m.equation(m.der(x) + m.der(y), 0.3 - x - y)
    m.equation(2 * m.der(x) + 2 * m.der(y), -3 * x - y)
    assert dd.analyse(m).index == 1
    lowered = dd.reduce(m).reduction
    assert lowered.structural_index == 0
    assert str(lowered.told[0]).startswith("reduced from index 1: ")


@pytest.mark.parametrize("kind", ["friction", "unilateral"])
def test_forces_of_contacts_stay_and_the_run_is_the_same(kind):
    m = dd.Model("block")
    x, v, z = m.state("x", start=0.3), m.state("v", start=1.0), m.algebraic("z")
    force = m.friction("own", v, kinetic=0.5) if kind == "friction" else m.unilateral("own", x)
    m.equation(m.der(x), v)
    m.equation(z, 2 * v)
    m.equation(m.der(v), force + 2 * ca.sin(2 * m.time) - 0.1 * z)
    n, right = dd.eliminate(m), dd.simulate(m, 3.0)
    assert [v.name for v in n.variables.values() if v.kind == "algebraic"] == ["own"]
    found = dd.simulate(n, 3.0)
    for name in ("x", "own", "z"):
        assert found[name][-1] == pytest.approx(right[name][-1], rel=1e-9, abs=1e-12)
    with pytest.raises(dd.InputError, match="own cannot be eliminated"):
        dd.eliminate(m, "own")
