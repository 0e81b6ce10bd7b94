"""Systems run by solves: equal to formulas where both exist, multipliers and outputs at all points, large chains."""

import casadi as ca
import numpy as np
import pytest
from tests.support.records_of import records_of

import daedalus as dd
from daedalus import catalogue
from daedalus.compilation.array_code import array_code
from daedalus.compilation.llvm_code import Style
from daedalus.model.expressions import nonzeros
from daedalus.model.system.instruction_list import read_instructions
from daedalus.reduction.forms import explicit_form
from daedalus.reduction.forms.condensed_form import condensed_form
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.linear_model import linear_model
from daedalus.simulation.plant.linear_plant import LinearPlant
from daedalus.simulation.plant.plants import plant_of
from daedalus.simulation.plant.solvable import solvable
from daedalus.simulation.result.records_of_methods import ImplicitChosen
from daedalus.simulation.result.records_of_models import SolvedEachTime

MECHANISMS = ["four_bar", "slider_crank", "andrews", "delta_robot", "pendulum_3d"]


@pytest.fixture
def by_solves(monkeypatch):
    """No block is small enough for formulas."""
    monkeypatch.setattr(explicit_form, "SYMBOLIC_SOLVE", 1)
    monkeypatch.setattr(explicit_form, "MOST_TORN", 0)


def pendulum(rod=1.0):
    m = dd.Model("pendulum")
    p = m.coordinate("p", 2, start=[rod, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(9.81 * p[1])
    m.constraint("rod", ca.sumsqr(p) - rod**2)
    m.output("height", p[1] + rod)
    return m


def near_start(system, count=5):
    """States scattered around the start."""
    draw = np.random.default_rng(5)
    return system.default_start + 0.05 * draw.normal(size=(count, system.sizes["x"]))


@pytest.mark.parametrize("name", MECHANISMS)
def test_derivatives_multipliers_and_outputs_are_those_of_the_formulas(name):
    system = solvable(dd.catalogue.load(name).model)
    formulas, solves = ExplicitPlant(system), LinearPlant(system)
    x = near_start(system)
    u = np.full(system.sizes["u"], 0.1)
    arguments = (np.zeros((len(x), 1)), x, u, np.nan_to_num(system.start["p"], nan=1.0))
    for kind in ("rhs", "readout", "invariants"):
        if kind == "invariants" and not system.invariants:
            continue
        one, other = (getattr(plant, kind).core.evaluate_many(*arguments)[0] for plant in (formulas, solves))
        size = np.abs(one).max(axis=0) + 1e-6 * np.abs(one).max()
        assert np.abs((one - other) / size).max() < 1e-9, kind


@pytest.mark.parametrize(("name", "span"), [("four_bar", 0.5), ("slider_crank", 0.5), ("andrews", 0.01)])
def test_runs_agree_with_those_of_the_formulas(name, span, monkeypatch):
    known = dd.catalogue.load(name)
    options = {"start": known.start, "inputs": known.inputs, "rtol": 1e-9, "atol": 1e-12}
    symbolic = dd.simulate(known.model, span, **options)
    monkeypatch.setattr(explicit_form, "SYMBOLIC_SOLVE", 1)
    monkeypatch.setattr(explicit_form, "MOST_TORN", 0)
    numeric = dd.simulate(known.copy().model, span, **options)
    assert isinstance(numeric._plant, LinearPlant)
    assert numeric.success
    one, other = symbolic._x[-1], numeric._x[-1]
    assert np.abs(one - other).max() < 1e-5 * np.abs(one).max()


def test_multipliers_at_the_steps_and_between_them(by_solves):
    tr = dd.simulate(pendulum(), 2.0, rtol=1e-10)
    assert isinstance(tr._plant, LinearPlant)
    for samples in (tr, tr.at(np.linspace(0, 2, 41), project=True)):
        x, y = samples["p"].T
        speed = np.sum(samples["p_dot"] ** 2, axis=1)
        # d²/dt² of the constraint: the multiplier carries the weight along the rod and the centripetal force.
        expected = (speed - 9.81 * y) / 2
        np.testing.assert_allclose(np.abs(samples["rod"]), np.abs(expected), atol=1e-8)
        np.testing.assert_allclose(samples["height"], y + 1.0, atol=1e-15)
        np.testing.assert_allclose(samples["p_ddot"][:, 0] * x + samples["p_ddot"][:, 1] * y, -speed, atol=1e-7)


def test_a_large_mass_matrix_of_an_ordinary_model():
    """Thirty masses coupled through their inertia: no constraint, index 0."""
    n = 30
    m = dd.Model("coupled")
    q = m.coordinate("q", n, start=np.linspace(0, 1, n), rate=0.0)
    v = m.rate(q)
    m.kinetic_energy(0.5 * ca.sumsqr(v) + 0.1 * ca.sumsqr(v[1:] - v[:-1]) + 0.05 * (ca.sum1(ca.cos(q) * v)) ** 2)
    m.potential_energy(2.0 * ca.sumsqr(q))
    tr = dd.simulate(m, 1.0, rtol=1e-9)
    assert isinstance(tr._plant, LinearPlant)
    assert tr.success
    assert records_of(tr, SolvedEachTime)
    reverse = dd.simulate(m, (1.0, 0.0), start=tr.at(1.0), rtol=1e-9)
    np.testing.assert_allclose(reverse["q"][-1], np.linspace(0, 1, n), atol=1e-6)


def test_python_functions_as_inputs(by_solves):
    def driven(inputs):
        m = pendulum()
        push = m.input("push")
        m.force([push, 0.0], at=m.written.symbols["p"])
        return dd.simulate(m, 1.0, inputs={"push": inputs(m)}, rtol=1e-8)

    by_callable = driven(lambda m: lambda t: np.sin(t))
    by_expression = driven(lambda m: ca.sin(m.time))
    assert isinstance(by_callable._plant, LinearPlant)
    np.testing.assert_allclose(by_callable["p"][-1], by_expression["p"][-1], atol=1e-12)


@pytest.mark.wide
def test_work_grows_like_the_number_of_rods():
    """Fill and multiplications of one factorisation: exact, the same on every machine."""
    counts = {}
    for rods in (20, 40):
        system = solvable(dd.catalogue.load("rod_chain", rods=rods).model)
        model = plant_of(system).model
        counts[rods] = model.work(np.zeros((1, 1)), near_start(system, 1), np.zeros(0), np.array([9.81]))
        # Three accelerations and two forces of a hinge are solved for, rates of positions are not.
        assert model.unknowns == 5 * rods
        # Masses first, then the forces along the chain, would be 31 entries and 50 multiplications a rod.
        assert counts[rods]["fill"] <= 38 * rods
        assert counts[rods]["operations"] <= 75 * rods
    for kind in ("fill", "operations"):
        growth = np.log2(counts[40][kind] / counts[20][kind])
        assert growth < 1.2, (kind, counts)


def test_ten_rods_as_written():
    known = dd.catalogue.load("rod_chain")
    tr = dd.simulate(known.model, 0.5, rtol=1e-10, atol=1e-12)
    assert isinstance(tr._plant, LinearPlant)
    assert known.reference is not None
    for name, value in known.reference.items():
        np.testing.assert_allclose(tr[name][-1], value, rtol=0, atol=2e-7)


def test_a_run_that_meets_a_singular_matrix_says_so():
    """A mass that vanishes at t = 1 takes the solution with it."""
    n = 30
    m = dd.Model("evaporating")
    x = m.state("x", n, start=1.0)
    left = ca.fmax(1 - m.time, 0)
    for k in range(n):
        m.equation(left * m.der(x[k]) + 0.1 * left * m.der(x[(k + 1) % n]), left * ca.sin(x[k]), name=f"e{k}")
    assert dd.simulate(m, 2.0).status == "singular"
    tr = dd.simulate(m, 2.0, locate_switches=False)
    assert tr.status == "singular"
    singular = "the matrix that gives the derivatives and algebraic variables is singular at t = 1"
    assert tr.stop.what == singular
    assert tr.stop.remedy == "dd.analyse(m, at=tr.at(tr.time[-1])), which names what is not determined"
    with pytest.raises(dd.SolverError, match=r"Try: dd\.analyse"):
        dd.simulate(m, 2.0, on_stop="raise")


def test_a_large_block_that_is_not_linear_is_left_to_implicit_methods():
    n = 30
    m = dd.Model("steep")
    x = m.state("x", n, start=1.0)
    rate = m.der(x)
    for k in range(n):
        m.equation(rate[k] + rate[(k + 1) % n] ** 3, -x[k], name=f"e{k}")
    with pytest.raises(dd.SolverError, match="nonlinear in"):
        dd.simulate(m, 1.0, method="tsit5")
    tr = dd.simulate(m, 1.0)
    assert tr.success
    assert tr.method == "radau5"
    assert isinstance(tr.records[0], ImplicitChosen)


def test_pivots_of_a_chain_are_kept_where_new_ones_are_no_better():
    """At rest the forces along a chain fall to 1e-30: the residuals of such rows are rounding, whatever the pivots."""
    tr = dd.simulate(catalogue.load("rod_chain", rods=30).model, 0.2, rtol=1e-7, atol=1e-7)
    model, p = linear_model(tr.system), tr.system.start["p"]
    work = model.work(tr.time, tr._x, np.zeros(0), p)
    assert work["factorisations"] == len(tr.time) > 40
    assert work["orderings"] <= 2


def chain_of_hinges(count: int) -> dd.Model:
    m, before = dd.Model("chain"), dd.ground
    m.gravity([0, 0, -9.81])
    for k in range(count):
        link = m.body(f"b{k}", mass=1.0, inertia=[0.02, 0.03, 0.01], position=[0.1 + 0.2 * k, 0, 0])
        m.joint(f"j{k}", "revolute", before, link, at_a=[0.1 if k else 0, 0, 0], at_b=[-0.1, 0, 0], axis_a=[0, 1, 0])
        before = link
    return m


@pytest.mark.wide
def test_the_code_of_a_longer_chain_is_no_longer():
    """Equal bodies are turns of the same loops: as many operations are written for twice the bodies.

    From 48 bodies on: the rows of 24 are few enough for some patterns to be written out (1166 operations for 1207).
    """
    written = []
    for count in (48, 96):
        form = condensed_form(system := solvable(chain_of_hinges(count).freeze()))
        results = [nonzeros(form.matrix), form.right, form.values]
        rows = read_instructions(ca.Function("matrix", system.symbols(("t", "x", "u", "p")), results))
        code = array_code(rows, Style(strict=True, fuse=False, chunk=2000))
        assert code is not None
        written.append(code.written)
    assert written[0] == written[1] < len(rows) / 20
