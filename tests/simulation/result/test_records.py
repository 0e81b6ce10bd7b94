"""Records of runs: each prints a whole sentence, travels as plain data, and is merged by what it says."""

import json

import casadi as ca
import pytest
from tests.support.records_of import records_of

import daedalus as dd
from daedalus.model.system.equation_row import EquationRow, Source
from daedalus.reduction.findings import (
    DifferentiatedInput,
    LoweredIndex,
    RedundantConstraints,
    SingularAtStart,
    SmallestMultipliers,
)
from daedalus.simulation.result.records import Told
from daedalus.simulation.result.records_as_data import KINDS, as_data, from_data
from daedalus.simulation.result.records_of_derivatives import (
    EquationsJump,
    EventsTogether,
    JumpNotDifferentiated,
    NearlyGrazes,
    NearlyHappens,
)
from daedalus.simulation.result.records_of_methods import (
    BelowTolerance,
    ContactsStepped,
    ExplicitChosen,
    FewDigits,
    FirstStepsWrong,
    FullNewton,
    GrowingModeMet,
    ImplicitChosen,
    LinearSystems,
    LongOscillation,
    MethodAsked,
    NoiseDrawn,
    NotSymplectic,
    OverlapAtStart,
    PainleveParadox,
    SizesOfParts,
    StartedUp,
    Stiffness,
    ToleranceTightened,
    WentFar,
)
from daedalus.simulation.result.records_of_models import (
    InputCalled,
    InvariantsNotKept,
    Reduced,
    SmallestTaken,
    SolvedEachTime,
    StartCompleted,
    StartMoved,
)
from daedalus.simulation.result.records_on_the_way import (
    BrokenBetweenSteps,
    ConstraintsRechosen,
    DeadCentresPassed,
    DivisorVanishes,
    JumpNotLocated,
    LoadShared,
    NotDetermined,
    PastAtStart,
    SlidesAlong,
    StatesSelected,
    SwitchedTogether,
    SwitchesCrossed,
    SwitchesLocated,
    SwitchesNotLocated,
    Touched,
)

EXAMPLES = [
    MethodAsked("rk4", True),
    LinearSystems("sparse", 68560, 2605152, 2, 40, True),
    ExplicitChosen("dop853", 1e-6),
    BrokenBetweenSteps(1.25, 3),
    LoadShared(("front", "rear")),
    NoiseDrawn(("w",), (), 3, 0.01),
    ContactsStepped(3, True, 1e-6, 0.1, 2, 1e-12),
    PainleveParadox("rod_ground", 0.1, 2.0, -0.4),
    Stiffness("dop853", 1e-3, 0.25, 40),
    ImplicitChosen("bdf", Stiffness("dop853", 1e-3, 0.25, 40), 600, 1e-4),
    FullNewton(0.5, 0.1),
    ToleranceTightened(),
    PastAtStart("full", True),
    PastAtStart("floor"),
    Touched("full", 1.5),
    SlidesAlong(0.5, "x > 0"),
    SlidesAlong(0.5, "h > 0", True),
    StartedUp("bdf3", 2, "radau9", 1e-12),
    NotSymplectic(),
    FirstStepsWrong(("force", "torque")),
    BelowTolerance(("x", "v"), 1e-9),
    FewDigits(("x",), 1e-9),
    LongOscillation(("x", "v"), 150, 1069, 1e-6),
    GrowingModeMet("rest", "x", 0.25, 0.5, 0.866),
    GrowingModeMet("followed", "x", 0.0, 3.3e11, 0.0),
    GrowingModeMet("passed", "x", 0.0, 1e4, 0.0),
    SizesOfParts(("c.voltage", "l.current")),
    NoiseDrawn(("w",), ("e",), 3, 0.01, True, 4e-4, 1e-3),
    BrokenBetweenSteps(1.25, 3),
    LoadShared(("front", "rear")),
    SwitchedTogether(0.5, ("diode.voltage > 0",)),
    InputCalled("u", "it prints"),
    StartCompleted((("q[1]", 0.1), ("q[2]", -1 / 3))),
    StartMoved(("q", "v"), 1e-8),
    Reduced(LoweredIndex(3, (EquationRow("rod, differentiated twice", Source("rod", 1), 2),))),
    Reduced(DifferentiatedInput("u", 2)),
    Reduced(SingularAtStart(("rod",), ("force",))),
    Reduced(RedundantConstraints((EquationRow("rod", Source("rod")),), 2, 3)),
    Reduced(SmallestMultipliers((EquationRow("rod", Source("rod")),))),
    SmallestTaken(("f[0]", "f[1]")),
    SolvedEachTime(40),
    InvariantsNotKept(("30 of them depend on each other",)),
    SwitchesLocated(3, ("x > 0", "y > 0")),
    SwitchesNotLocated("their equations cannot be solved"),
    JumpNotLocated("floor"),
    SwitchesCrossed(0.5, "v > 0", True),
    SwitchesCrossed(0.5, None, False),
    StatesSelected(None, ("x",), ("y",)),
    StatesSelected(0.25, ("y",), ("x",)),
    ConstraintsRechosen(1 / 3),
    DivisorVanishes("u - x", "x_dot", "valve", 0.5, 0.6),
    NotDetermined(("valve", "pipe"), ("x_dot", "z"), 0.5, 0.75),
    DeadCentresPassed((0.5, 1.5)),
    EquationsJump(1.0, "x > k", ("x > 1",)),
    JumpNotDifferentiated("floor"),
    NearlyGrazes("touch", 3.1),
    NearlyHappens("touch", 3.1, 1e-10, True),
    EventsTogether(),
    OverlapAtStart("a", "the ground", 0.02, 1),
    WentFar(0.3, 0.01, 3e-5),
    Told("what a later version found"),
]


def test_every_kind_is_among_the_examples():
    assert {type(record).__name__ for record in EXAMPLES} == set(KINDS)


@pytest.mark.parametrize("record", EXAMPLES, ids=lambda record: type(record).__name__)
def test_plain_data_and_back(record):
    stored = json.loads(json.dumps(as_data(record)))
    assert from_data(stored) == record
    assert str(from_data(stored)) == stored["text"] == str(record) != ""
    # A later version may know more of it than this one.
    assert from_data({**stored, "kind": "Foretold"}) == Told(str(record))
    assert from_data({**stored, "fields": {**stored["fields"], "colour": "red"}}) == Told(str(record))


def stiff():
    m = dd.Model("stiff")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), -1e6 * (x - ca.cos(m.time)) + u)
    return m


def test_a_run_in_pieces_says_things_once_also_from_a_file(tmp_path):
    seen = []

    def call(t):
        seen.append(t)
        return 0.0

    tr = dd.simulate(stiff(), 1.0, inputs={"u": call})
    assert len(tr.pieces) == 2
    explicit, implicit = tr.pieces
    (called,) = records_of(tr, InputCalled)
    assert tr.records == (explicit.records[0], called, implicit.records[0])
    assert isinstance(implicit.records[0].because, Stiffness)
    assert tr.notes == tuple(map(str, tr.records))
    tr.save(tmp_path / "run.nc")
    again = dd.load(tmp_path / "run.nc")
    assert (again.records, again.stop, again.status) == (tr.records, tr.stop, tr.status)
    assert [piece.stop for piece in again.pieces] == [piece.stop for piece in tr.pieces]
