"""Hidden constraints: their texts, their zeros on known solutions, and that they are as many as ranks say."""

import re

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.model.expressions import symbol_key


def pendulum_3d():
    m = dd.Model("pendulum_3d")
    p, v = m.state("p", 3, start=[0.6, 0.0, -0.8]), m.state("v", 3, start=[0.0, 1.0, 0.0])
    z, u = m.algebraic("z"), m.input("u", 3)
    mass, gravity, length = m.parameter("m", 2.0), m.parameter("g", 9.81), m.parameter("L", 1.0)
    m.equation(m.der(p), v)
    m.equation(m.der(v), u / mass - gravity * ca.vertcat(0, 0, 1) - z / mass * p)
    m.equation(ca.dot(p, p) - length**2, name="rod")
    return m


def test_the_pendulum_keeps_its_length_and_moves_perpendicular_to_the_rod():
    report = dd.analyse(pendulum_3d())
    assert (report.kind, report.index, report.degrees_of_freedom) == ("semi-explicit DAE", 3, 4)
    assert [text for text, _ in report.written_constraints] == ["rod: p[0]^2 + p[1]^2 + p[2]^2 - L^2 = 0"]
    first, second = report.hidden_constraints
    assert first[0] == "rod, differentiated once: 2*(p[0]*v[0] + p[1]*v[1] + p[2]*v[2]) = 0"
    assert second[0].startswith("rod, differentiated twice: ")
    # Nothing but the model's own symbols is left in the expressions.
    system = report.system
    names = {s.name() for letter in ("x", "z", "u", "p") for s in system.symbol(letter).elements()}
    assert {s.name() for s in ca.symvar(ca.vertcat(first[1], second[1]))} <= names


def test_the_second_one_gives_the_force_in_the_rod():
    """z = m (v·v - g p3 + p·u/m) / L², from c'' = 0."""
    report = dd.analyse(pendulum_3d())
    system = report.system
    letters = [system.symbol(letter) for letter in ("x", "z", "u", "p")]
    second = ca.Function("c", letters, [report.hidden_constraints[1][1]])
    p, v, u = np.array([0.6, 0.0, -0.8]), np.array([0.8, 0.3, 0.6]), np.array([1.0, -2.0, 0.5])
    force = 2.0 * (v @ v - 9.81 * p[2] + p @ u / 2.0)
    assert float(second([*p, *v], force, u, [2.0, 9.81, 1.0])) == pytest.approx(0, abs=1e-13)
    assert abs(float(second([*p, *v], force + 1, u, [2.0, 9.81, 1.0]))) > 0.1


def test_they_hold_along_a_solution_written_in_angles():
    angle = dd.Model("angle")
    a = angle.state("a", start=0.7, rate=0.4)
    angle.equation(angle.der(angle.der(a)), -9.81 * ca.sin(a))
    tr = dd.simulate(angle, 2.0, rtol=1e-11, atol=1e-12)
    m = dd.Model("plane")
    q = m.coordinate("q", 2, start=[np.sin(0.7), -np.cos(0.7)], rate=[0.4 * np.cos(0.7), 0.4 * np.sin(0.7)])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", 0.5 * (ca.sumsqr(q) - 1))
    report = dd.analyse(m)
    system = report.system
    constraints = ca.Function(
        "c", [system.symbol("x"), system.symbol("z")], [ca.vertcat(*(c for _, c in report.hidden_constraints))]
    )
    a, rate = tr["a"], tr["a_dot"]
    force = -(rate**2) - 9.81 * np.cos(a)
    for k in range(0, len(a), 7):
        s, c = np.sin(a[k]), np.cos(a[k])
        values = constraints([s, -c, c * rate[k], s * rate[k]], force[k]).full()
        assert np.abs(values).max() < 1e-9


def test_combined_equations_are_hidden_constraints():
    """Example (14): neither equation is a constraint, their difference is."""
    report = dd.analyse(catalogue.load("small_dae", example="savin_14").model)
    assert [text for text, _ in report.hidden_constraints] == [
        "equation_2 combined with equation_1: x1 + cos(x2) + 7 = 0"
    ]
    assert report.written_constraints == []


def test_inputs_appear_with_their_derivatives():
    report = dd.analyse(catalogue.load("nilpotent_3").model, inputs={"u": 2.0})
    assert [text for text, _ in report.hidden_constraints] == [
        "chain[2], differentiated once: x[1] + u_dot = 0",
        "chain[2], differentiated twice: x[0] + u_ddot = 0",
    ]


def test_chains_of_algebraic_equations_are_followed():
    """w = x' with x = z and z = u: w = u' is hidden, and only the derivative of an algebraic variable leads there."""
    m = dd.Model("follow")
    x, w, z, u = m.state("x"), m.algebraic("w"), m.algebraic("z"), m.input("u")
    m.equation(m.der(x), w)
    m.equation(x, z)
    m.equation(z, u)
    report = dd.analyse(m, inputs={"u": 1.0})
    assert (report.index, report.degrees_of_freedom) == (2, 0)
    ((text, _),) = report.hidden_constraints
    assert "u_dot" in text
    assert "w" in text


def test_as_many_constraints_as_start_values_are_lost():
    for known, model in [
        (None, pendulum_3d()),
        ("cstr", catalogue.load("cstr").model),
        ("line", catalogue.load("small_dae").model),
    ]:
        report = dd.analyse(model)
        unknowns = DerivativeArray(report.system).size
        count = len(report.hidden_constraints) + len(report.written_constraints)
        assert unknowns - count == report.degrees_of_freedom, known


def test_texts_are_whole_and_print_counts_the_terms_of_those_it_cuts():
    report = dd.analyse(catalogue.load("pendulum_3d").model)
    texts = [text for text, _ in report.hidden_constraints]
    assert texts[0] == (
        "cable, differentiated once: position[0]*position_dot[0] + position[1]*position_dot[1] "
        "+ position[2]*position_dot[2] = 0"
    )
    assert texts[1].startswith("cable, differentiated twice: (cable*(position[0]^2 + position[1]^2 + position[2]^2)")
    shown = " ".join(str(report).split())
    assert all(text in shown for text in texts)
    assert all(len(line) <= 80 for line in str(report).splitlines())


def test_what_needs_more_than_four_rows_is_cut_to_one_with_the_count_of_its_terms():
    text = str(dd.analyse(catalogue.load("delta_robot").model))
    assert "    arm[0], differentiated twice: (position_dot[0] + short_arm*si… (6 terms) = 0\n" in text
    assert "0.5*(distance + short_arm*cos(angle[1])))^2" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_what_is_differentiated_most_is_named_first_and_known_derivatives_are_not():
    """Of a slider-crank only "rate of crank.position[0] once, rate of …" was told."""
    answers = dd.analyse(catalogue.load("slider_crank").model).answers
    named = "main_bearing twice, crank_pin twice, gudgeon_pin twice, guide twice"
    assert answers["solution"].startswith(f"dd.reduce(m) differentiates {named}")
    assert answers["index"].endswith(f"differentiate {named}")


@pytest.mark.parametrize("name", ["pendulum_3d", "delta_robot", "four_bar", "car_axis"])
def test_texts_mean_what_the_expressions_mean(name):
    """The texts are evaluated as they stand, at random values of all that they name."""
    report = dd.analyse(catalogue.load(name).model)
    rng = np.random.default_rng(1)
    for own in report.constraints:
        symbols = ca.symvar(own.expression)
        values = rng.uniform(0.4, 1.4, len(symbols))
        formula = own.formula.replace("^", "**")
        # Names with indices and dots become plain ones, the longest first.
        known = sorted(((own.labels[symbol_key(s)], k) for k, s in enumerate(symbols)), key=lambda one: -len(one[0]))
        for label, k in known:
            formula = re.sub(rf"(?<![\w.]){re.escape(label)}(?![\w\[.])", f"v_{k}_", formula)
        scope = {"sin": np.sin, "cos": np.cos, "sqrt": np.sqrt, **{f"v_{k}_": v for k, v in enumerate(values)}}
        exact = float(ca.Function("f", symbols, [own.expression])(*values))
        assert eval(formula, scope) == pytest.approx(exact, rel=1e-8, abs=1e-8)
