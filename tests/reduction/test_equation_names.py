"""What an equation is called changes nothing but what is printed: the same numbers, bit for bit, on every road."""

from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rings import examples

import daedalus as dd
from daedalus.reduction.forms import explicit_form
from daedalus.reduction.index.constraint_rows import constraint_rows
from daedalus.simulation.plant.linear_plant import LinearPlant
from daedalus.simulation.plant.plants import plant_of
from daedalus.simulation.plant.solvable import solvable
from daedalus.simulation.singular.rank_watch import rank_watch_of

PLAIN = ("a", "b", "c", "d")
# What a reduction, a repair or a snapshot would call an equation of its own.
TELLING = (
    "rod", "rod[0]", "rod[1]", "rod, differentiated once", "rod, differentiated twice", "rod[0], differentiated twice",
    "rod, differentiated twice[0]", "rod, differentiated 3 times", "x is the derivative of y",
    "p_dot is the derivative of p", "rate of p", "definition of p", "rod combined with x", "rod (reduced)",
    "their matrix is singular there", "choice of p",
)  # fmt: skip
NAMES = st.lists(st.sampled_from(TELLING), min_size=4, max_size=4, unique=True)
# The third one is that of the constraint.
HARD = [
    ("rod, differentiated twice", "x", "rod", "rod, differentiated once"),
    ("rod, differentiated once", "rod, differentiated twice", "rod", "rod[0]"),
    ("rod", "rod, differentiated twice", "rod, differentiated once", "rod[0]"),
    ("rod, differentiated twice", "rod", "rod[1]", "rod, differentiated once"),
    ("x is the derivative of y", "p_dot is the derivative of p", "rod, differentiated twice", "rate of p"),
    ("rod[0]", "rod, differentiated twice[0]", "rod", "rod, differentiated once"),
]


def two_pendulums(names, kick=False):
    """A point on two rods in space, by equations alone; `kick` adds an event that changes a velocity."""
    m = dd.Model("two rods")
    p = m.state("p", 3, start=[0.6, 0.0, -0.8])
    v = m.state("v", 3, start=[0.0, 1.0, 0.0])
    force = m.algebraic("force", 2)
    ends = [ca.DM([0.0, 0.0, 0.0]), ca.DM([0.5, 0.0, 0.0])]
    rods = ca.vertcat(*(ca.sumsqr(p - end) for end in ends))
    pull = sum((force[k] * (p - ends[k]) for k in range(2)), ca.SX.zeros(3))
    m.equation(m.der(p), v, name=names[0])
    m.equation(m.der(v), ca.vertcat(0, 0, -9.81) + pull, name=names[1])
    m.equation(rods, [1.0, 0.65], name=names[2])
    w = m.state("w", start=0.0)
    m.equation(m.der(w), p[1] - w, name=names[3])
    if kick:
        m.event("kick", m.time - 0.05, reset={"v": v + ca.vertcat(0, 0.5, 0)})
    return m


def runs(names, **options):
    """The same run in each form, as bits."""
    m = two_pendulums(names)
    found = {"as written": dd.simulate(m, 0.1, **options), "implicit": dd.simulate(m, 0.05, method="radau5")}
    for stabilise in ("projection", "baumgarte", "ggl", None):
        found[str(stabilise)] = dd.simulate(dd.reduce(m, stabilise=stabilise), 0.1, **options)
    chosen = dd.reduce(m, stabilise="dummy_derivatives")
    found["selected"] = dd.simulate(chosen, 0.05, method="radau5")
    found["chosen, explicit"] = dd.simulate(chosen, 0.05, method="tsit5")
    found["kicked"] = dd.simulate(two_pendulums(names, kick=True), 0.1)
    return {way: (tr._times, tr._x, replace(tr.work, seconds=0.0)) for way, tr in found.items()}


@cache
def plain_runs():
    return runs(PLAIN)


def check_equal(found):
    for way, (times, rows, work) in plain_runs().items():
        assert np.array_equal(found[way][0], times), way
        assert np.array_equal(found[way][1], rows), way
        assert found[way][2] == work, way


@pytest.mark.parametrize("names", HARD)
def test_runs_are_the_same_whatever_equations_are_called(names):
    check_equal(runs(names))


@pytest.mark.wide
@settings(max_examples=examples(5), deadline=None)
@given(NAMES)
def test_runs_are_the_same_for_names_drawn_at_random(names):
    check_equal(runs(names))


@pytest.mark.parametrize("names", HARD)
def test_a_written_equation_is_no_differentiated_one(names):
    for model in (two_pendulums(names), dd.reduce(two_pendulums(names))):
        rows, plain = model.freeze().rows, two_pendulums(PLAIN)
        plain = plain if not isinstance(model, type(dd.reduce(plain))) else dd.reduce(plain)
        call = dict(zip(PLAIN, names))
        assert [
            (call[row.source.equation], row.source.element, row.times, row.role) for row in plain.freeze().rows
        ] == [(row.source.equation, row.source.element, row.times, row.role) for row in rows]
    assert constraint_rows(dd.reduce(two_pendulums(names)).freeze()) == constraint_rows(
        dd.reduce(two_pendulums(PLAIN)).freeze()
    )


@pytest.mark.parametrize("names", HARD)
def test_projections_by_solves_are_the_same(names, monkeypatch):
    monkeypatch.setattr(explicit_form, "SYMBOLIC_SOLVE", 1)
    monkeypatch.setattr(explicit_form, "MOST_TORN", 0)
    one, two = (dd.simulate(two_pendulums(own), 0.1, method="tsit5") for own in (PLAIN, names))
    assert isinstance(two._plant, LinearPlant)
    assert np.array_equal(one._x, two._x)
    assert replace(one.work, seconds=0.0) == replace(two.work, seconds=0.0)


@pytest.mark.parametrize("names", HARD)
def test_dead_centres_are_measured_the_same(names):
    found = []
    for own in (PLAIN, names):
        tr = dd.simulate(two_pendulums(own), 0.1)
        measure = rank_watch_of(plant_of(solvable(two_pendulums(own))))
        assert measure is not None
        found.append((measure.logarithms(tr), measure.constrains.tolist(), measure.moving.tolist()))
        assert [label for label, flag in zip(measure.labels, measure.constrains) if flag] == [
            f"{own[2]}[0]", f"{own[2]}[1]",
        ]  # fmt: skip
    assert np.array_equal(found[0][0], found[1][0])
    assert found[0][1:] == found[1][1:]


def plain_motion(names):
    """A motion without any constraint."""
    m = dd.Model("free")
    x = m.state("x", start=1.0)
    y = m.state("y", start=0.0)
    m.equation(m.der(x), y, name=names[0])
    m.equation(m.der(y), -x, name=names[1])
    return m


def test_a_motion_without_constraints_is_not_searched_for_dead_centres():
    system = plain_motion(("rod, differentiated twice", "x is the derivative of y")).freeze()
    assert rank_watch_of(plant_of(system)) is None


def repeated(names):
    """Two equations that say the same, and one of second order."""
    m = dd.Model("repeated")
    q, f = m.state("q", start=1.0, rate=0.0), m.algebraic("f", 2)
    m.equation(m.der(m.der(q)), -q + f[0] + f[1], name=names[0])
    m.equation(q, ca.cos(m.time), name=names[1])
    m.equation(2 * q, 2 * ca.cos(m.time), name=names[2])
    return m


@pytest.mark.parametrize("names", HARD)
def test_judgements_are_the_same(names):
    one, two = (dd.analyse(repeated(own)) for own in (PLAIN, names))
    call = dict(zip(PLAIN, names))
    assert [call[name] for name in one.redundant] == two.redundant
    assert (one.index, one.degrees_of_freedom, one.undetermined) == (
        two.index,
        two.degrees_of_freedom,
        two.undetermined,
    )
    assert one.non_unique_multipliers == two.non_unique_multipliers
    whole = [dd.analyse(two_pendulums(own)) for own in (PLAIN, names)]
    assert len({(r.index, r.structural_index, r.degrees_of_freedom, len(r.hidden_constraints)) for r in whole}) == 1


@pytest.mark.parametrize("names", HARD)
def test_starts_are_the_same(names):
    one, two = (dd.initialise(two_pendulums(own), {"v": [0.1, 1.0, 0.2]}, free=["v", "p"]) for own in (PLAIN, names))
    assert all(np.array_equal(one.vectors[letter], two.vectors[letter]) for letter in ("x", "z", "xdot"))
    assert len(one.closure) == len(two.closure)
