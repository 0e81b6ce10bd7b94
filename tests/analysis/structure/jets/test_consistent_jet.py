"""Jets level by level: each level is a small problem, and a first run needs no whole derivative array."""

import numpy as np
import pytest
from tests.support.redundant_models import chain

import daedalus as dd
from daedalus.analysis.points.operating_point import read_point
from daedalus.analysis.structure.jets import consistent_jet, jet_search
from daedalus.analysis.structure.jets.consistent_jet import Stages, jet_start, solved_jet
from daedalus.analysis.structure.jets.derivative_array import DerivativeArray
from daedalus.analysis.structure.system_structure import structure_of

CRANK, ROD, ANGLE, SPEED = 0.5, 1.2, 0.6, 3.0


def slider_crank_in_space(start=lambda value: value, rod_joint="revolute"):
    """Three bodies by quaternions and four joints, three or more of their twenty rows redundant."""
    m = dd.Model("slider crank in space")
    m.gravity([0, -9.81, 0])
    lean = -np.arcsin(CRANK * np.sin(ANGLE) / ROD)
    turn = -SPEED * CRANK * np.cos(ANGLE) / (ROD * np.cos(lean))
    arm, reach = (r * np.array([np.cos(a), np.sin(a), 0]) for r, a in ((CRANK, ANGLE), (ROD, lean)))
    swing, sweep = (w * np.array([-r[1], r[0], 0]) for w, r in ((SPEED, arm), (turn, reach)))
    pin, end, pin_speed = arm, arm + reach, swing

    def body(name, position, velocity, angle, rate):
        return m.body(
            name, 1.0, [0.01, 0.05, 0.06], position=start(position), velocity=start(velocity),
            rotation=start([np.cos(angle / 2), 0, 0, np.sin(angle / 2)]), angular_velocity=start([0, 0, rate]),
        )  # fmt: skip

    crank = body("crank", arm / 2, swing / 2, ANGLE, SPEED)
    rod = body("rod", pin + reach / 2, pin_speed + sweep / 2, lean, turn)
    slider = body("slider", end, pin_speed + sweep, 0.0, 0.0)
    z = [0, 0, 1]
    m.joint("bearing", "revolute", dd.ground, crank, at_b=[-CRANK / 2, 0, 0], axis_a=z)
    m.joint("pin", "revolute", crank, rod, at_a=[CRANK / 2, 0, 0], at_b=[-ROD / 2, 0, 0], axis_a=z)
    axis = {"axis_a": z} if rod_joint == "revolute" else {}
    m.joint("wrist", rod_joint, rod, slider, at_a=[ROD / 2, 0, 0], **axis)
    m.joint("guide", "prismatic", dd.ground, slider, axis_a=[1, 0, 0])
    return m


def counted(monkeypatch, module, name):
    """How often a function of a module is called."""
    calls, function = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *a, **k: (calls.append(a), function(*a, **k))[1])
    return calls


@pytest.mark.parametrize(
    ("start", "rod_joint"), [(lambda value: value, "revolute"), (dd.guess, "spherical")], ids=["given", "guessed"]
)
def test_a_redundant_mechanism_in_space_runs_without_the_whole_derivative_array(monkeypatch, start, rod_joint):
    arrays = counted(monkeypatch, consistent_jet, "level_pieces")
    tr = dd.simulate(slider_crank_in_space(start, rod_joint), (0.0, 0.2))
    assert len(arrays) == 0
    # The slider stays on its line, and the pins together.
    assert np.abs(np.asarray(tr["slider.position"])[:, 1:]).max() < 1e-9


def test_levels_are_solved_one_after_the_other(monkeypatch):
    """Positions, rates and accelerations with forces: three problems, none with more unknowns than its level."""
    system = chain(12).freeze()
    array, start = DerivativeArray(system), jet_start(system, read_point(system, None, None, None))
    stages = Stages(array, structure_of(system).signature, start)
    problems = counted(monkeypatch, jet_search, "shortest_steps")
    jet = solved_jet(stages, start)
    assert jet.consistent
    free = [len(guess) for _, guess, *_ in problems]
    # Twelve positions and as many rates are given; 24 accelerations and 12 forces are left, with their definitions.
    assert 0 < len(free) <= 4
    assert max(free) <= 24 + 24 + 12
    assert jet.moved == ()


def test_where_two_motions_pass_the_nearer_one_is_the_jet():
    """x1' = u - x1, (x1 - x2)(x2' + 1) = 0 on x1 = x2: x2' is x1' or -1; level by level one would come to the other."""
    system = dd.catalogue.load("small_dae", example="start_switched").model.freeze()
    start = jet_start(system, read_point(system, {"x1": 2.0, "x2": 2.0, "u": 0.5}, None, None))
    for order in (1, 3):
        jet = consistent_jet.consistent_jet(DerivativeArray(system), start, order)
        assert jet.consistent
        assert jet.y[1] == pytest.approx([-1.5, -1.5], abs=1e-9)
