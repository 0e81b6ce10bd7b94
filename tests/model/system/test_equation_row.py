"""Where rows come from travels as data: through parts, copies, files, loops, switches and every form of a reduction."""

import json
import pickle

import casadi as ca
import pytest

import daedalus as dd
from daedalus.model.mechanics.mechanics_part import Mechanics, motion_or_none
from daedalus.model.system.closed_loop import ClosedLoop, closed_loop, opened
from daedalus.model.system.equation_row import EquationRow, Role, Source, collected, common_name, together
from daedalus.model.system.system import System
from daedalus.reduction.reduction_record import Reduction
from daedalus.reduction.selection.selected_states import without_choice
from daedalus.reduction.switches import switches_of


def two_rods():
    """A point in space on two rods, in second order, with a push."""
    m = dd.Model("two rods")
    p = m.state("p", 3, start=[0.6, 0.0, -0.8], rate=[0.0, 1.0, 0.0])
    force, push = m.algebraic("force", 2), m.input("push")
    ends = [ca.DM([0.0, 0.0, 0.0]), ca.DM([0.5, 0.0, 0.0])]
    pull = sum((force[k] * (p - ends[k]) for k in range(2)), ca.SX.zeros(3))
    m.equation(m.der(m.der(p)), ca.vertcat(0, push, -9.81) + pull, name="motion")
    m.equation(ca.vertcat(*(ca.sumsqr(p - end) for end in ends)), [1.0, 0.65], name="rods")
    return m


def told(rows):
    return [(row.source.name, row.times, row.role) for row in rows]


def test_written_equations_and_definitions_of_derivatives():
    system = two_rods().freeze()
    assert told(system.rows)[:5] == [
        *((f"motion[{k}]", 0, Role.WRITTEN) for k in range(3)), *((f"rods[{k}]", 0, Role.WRITTEN) for k in range(2))
    ]  # fmt: skip
    assert [row.role for row in system.rows[5:]] == [Role.DERIVATIVE] * 3
    assert system.equation_labels[5] == "p_dot[0] is the derivative of p[0]"
    assert system.equation_labels == tuple(row.label for row in system.rows)


@pytest.mark.parametrize(
    ("stabilise", "role", "times"),
    [("projection", Role.WRITTEN, 2), ("baumgarte", Role.DAMPED, 2), (None, Role.WRITTEN, 2)],
)
def test_differentiated_constraints(stabilise, role, times):
    system = dd.reduce(two_rods(), stabilise=stabilise).freeze()
    constraints = [row for row in system.rows if row.source.equation == "rods"]
    assert told(constraints) == [("rods[0]", times, role), ("rods[1]", times, role)]
    levels = [(f"rods[{k}]", order, Role.WRITTEN) for order in range(2) for k in range(2)]
    held, watched = told(system.invariant_rows), told(system.watched_rows)
    assert (held, watched) == ((levels, []) if stabilise == "projection" else ([], levels))


def test_constraints_on_both_levels():
    system = dd.reduce(two_rods(), stabilise="ggl").freeze()
    assert {row.level for row in system.rows if row.source.equation == "rods"} == {
        EquationRow("", Source("rods", k), order).level for order in range(2) for k in range(2)
    }
    assert [row.source.equation for row in system.rows if row.role is Role.PUSHED] == ["rate of p"] * 3
    assert system.watched_rows == ()


def test_selected_states_and_the_constraints_in_their_place():
    n = dd.reduce(two_rods(), stabilise="dummy_derivatives")
    system = n.freeze()
    assert {row.source.equation for row in system.rows if row.role is Role.SELECTED} == {"motion"}
    assert {row.source.equation for row in system.rows if row.role is Role.DERIVATIVE} == {"rate of p"}
    (choice,) = system.choices
    assert [told(level) for level in choice.constraints] == [
        [(f"rods[{k}]", order, Role.WRITTEN) for k in range(2)] for order in range(2)
    ]
    free = without_choice(system)
    assert sorted(told(free.invariant_rows)) == sorted(
        (f"rods[{k}]", o, Role.WRITTEN) for o in range(2) for k in range(2)
    )
    assert not any(row.role is Role.SELECTED for row in free.rows)


def test_invariants_belong_to_no_equation():
    m = dd.Model("box")
    m.body("b", 1.0, [1.0, 2.0, 3.0], "quaternion")
    (row,) = m.freeze().invariant_rows
    assert (row.source, row.role) == (Source("b.quaternion length"), Role.INVARIANT)


def every_system():
    m = two_rods()
    outer = dd.Model("outer")
    outer.include("left", dd.reduce(m, inputs={"push": 0.0}), inputs={})
    box = dd.Model("box")
    box.body("b", 1.0, [1.0, 2.0, 3.0], "quaternion")
    return {
        "written": m.freeze(), "part": outer.freeze(), "box": box.freeze(),
        **{str(way): dd.reduce(m, stabilise=way).freeze()
           for way in ("projection", "baumgarte", "ggl", "dummy_derivatives", None)},
    }  # fmt: skip


@pytest.mark.parametrize("name", list(every_system()))
def test_rows_travel_through_files_and_pickles(name):
    system = every_system()[name]
    for again in (System.from_record(json.loads(json.dumps(system.to_record()))), pickle.loads(pickle.dumps(system))):
        assert again.rows == system.rows
        assert again.invariant_rows == system.invariant_rows
        assert again.watched_rows == system.watched_rows
        assert again.choices == system.choices
        assert again == system
        assert again.part(Reduction) is None


def test_another_origin_is_another_system():
    system = two_rods().freeze()
    other = system.changed(rows=[EquationRow(row.label, Source("x")) for row in system.rows])
    assert other.equation_labels == system.equation_labels
    assert other != system


def test_rows_travel_into_parts_and_copies():
    n = dd.reduce(two_rods())
    outer = dd.Model("outer")
    outer.include("left", n)
    for rows, inner in (
        (outer.freeze().rows, n.freeze().rows), (outer.freeze().invariant_rows, n.freeze().invariant_rows)
    ):  # fmt: skip
        written = [k for k, row in enumerate(inner) if row.role is Role.WRITTEN]
        assert [rows[k].source for k in written] == [inner[k].source.prefixed("left.") for k in written]
        assert [(row.times, row.role) for row in rows] == [(row.times, row.role) for row in inner]
    assert n.copy().freeze().rows == n.freeze().rows
    again = pickle.loads(pickle.dumps(n))
    assert (again.freeze().rows, again.freeze().watched_rows) == (n.freeze().rows, n.freeze().watched_rows)
    assert again.reduction.levels == n.reduction.levels


def test_rows_travel_through_loops_and_switches():
    m = two_rods()
    system = dd.reduce(m).freeze()
    closed = closed_loop(system, {"push": ca.fabs(m["p[0]"])})
    switched = switches_of(closed).system
    for other in (closed, switched):
        assert (other.rows, other.invariant_rows) == (system.rows, system.invariant_rows)
    assert closed.part(ClosedLoop).opened is system
    assert opened(closed_loop(closed, {})) is system
    assert opened(system) is system


def test_combined_equations_name_all_that_they_are_made_of():
    m = dd.Model("combined")
    x, y = m.state("x", start=-7.0), m.state("y", start=0.5 * ca.pi)
    m.equation(m.der(x) + m.der(y) - 7, name="one")
    m.equation(m.der(x) + m.der(y) + x + ca.cos(y), name="two")
    (row,) = [row for row in dd.reduce(m).freeze().rows if row.combined]
    assert {row.source, *row.combined} == {Source("one"), Source("two")}
    assert row.times == 1


def test_names_of_rows_that_belong_together():
    rows = [EquationRow(f"hinge[{k}]", Source("hinge", k)).differentiated(2) for k in range(3)]
    assert rows[1].label == "hinge[1], differentiated twice"
    assert (together(rows, 0), together(rows, 1), common_name(rows)) == (3, 1, "hinge, differentiated twice")
    assert collected(rows) == ["hinge"]
    assert collected(rows[1:]) == ["hinge[1]", "hinge[2]"]
    # An equation that is called like a component is none.
    assert together([EquationRow("hinge[0]", Source("hinge[0]")), rows[1]], 0) == 1


def test_equations_that_are_called_like_derivatives_of_others_are_kept():
    m = dd.Model("called so")
    x, y, f = m.state("x", start=0.0), m.state("y", start=1.0), m.algebraic("f")
    m.equation(m.der(x), y, name="rod, differentiated once")
    m.equation(m.der(y), f, name="rod, differentiated twice")
    m.equation(x, ca.sin(m.time), name="rod")
    n = dd.reduce(m)
    assert list(n.equations) == [
        "rod, differentiated once", "rod, differentiated twice", "rod, differentiated twice (reduced)",
    ]  # fmt: skip
    assert [(row.source.equation, row.times) for row in n.freeze().rows] == [
        ("rod, differentiated once", 0), ("rod, differentiated twice", 0), ("rod", 2),
    ]  # fmt: skip
    assert list(n.constraints) == ["rod", "rod, differentiated once"]


# -- parts -----------------------------------------------------------------------------------------------------


def test_a_system_keeps_one_part_of_a_type():
    system = two_rods().freeze()
    with pytest.raises(ValueError, match="one part of a type"):
        system.changed(parts=("one", "two"))
    assert system.changed(parts=("one", 2)).part(str) == "one"
    assert system.changed(parts=("one", 2)).changed().part(str) is None
    assert system.changed(parts=("one", 2)).parts(int) == (2,)


def test_a_reduction_is_a_part_of_its_system():
    n = dd.reduce(two_rods())
    assert n.freeze().part(Reduction) is n.reduction
    assert n.reduction.differentiated == {"rods[0]": 2, "rods[1]": 2}
    assert [str(finding) for finding in n.reduction.told] == ["reduced from index 3: rods differentiated twice"]
    # A run tells of what it reduced itself, and not of what was asked for before.
    assert dd.simulate(two_rods(), 0.01, inputs={"push": 0.0}).notes[1] == str(n.reduction.told[0])
    assert str(n.reduction.told[0]) not in dd.simulate(n, 0.01, inputs={"push": 0.0}).notes


def test_mechanics_stay_those_of_the_moment_of_the_snapshot():
    m = dd.Model("mass")
    q = m.coordinate("q", start=0.0, rate=1.0)
    m.kinetic_energy(0.5 * m.rate(q) ** 2)
    system = m.freeze()
    m.kinetic_energy(2.0 * m.rate(q) ** 2)
    assert float(motion_or_none(system).M(0, 0, 0, [], [], [])) == 1.0
    assert float(m.mechanics().M(0, 0, 0, [], [], [])) == 5.0
    assert system.part(Mechanics).book is not m
    assert motion_or_none(pickle.loads(pickle.dumps(system))) is None
    assert motion_or_none(two_rods().freeze()) is None
