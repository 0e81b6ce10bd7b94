"""Conversion to and from python-control, tried with a stand-in that keeps what it is given."""

import sys
import types

import numpy as np
import pytest

from daedalus.analysis.linear.descriptor import DescriptorSystem
from daedalus.analysis.linear.lti import LTI
from daedalus.errors import InputError


class StateSpace:
    """The part of control.StateSpace that the conversion uses: matrices, time step and labels."""

    def __init__(self, A, B, C, D, dt=0, *, states=None, inputs=None, outputs=None):
        self.A, self.B, self.C, self.D, self.dt = (*(np.asarray(m, dtype=float) for m in (A, B, C, D)), dt)
        self.state_labels = list(states or [f"x[{k}]" for k in range(len(self.A))])
        self.input_labels = list(inputs or [f"u[{k}]" for k in range(self.B.shape[1])])
        self.output_labels = list(outputs or [f"y[{k}]" for k in range(len(self.C))])


class TransferFunction:
    """1 / (s + pole)."""

    def __init__(self, pole):
        self.pole = pole


@pytest.fixture
def library(monkeypatch):
    module = types.ModuleType("control")
    module.StateSpace = StateSpace
    module.ss = lambda system: StateSpace([[-system.pole]], [[1.0]], [[1.0]], [[0.0]])
    monkeypatch.setitem(sys.modules, "control", module)
    return module


SYSTEM = LTI([[0, 1], [-2, -3]], [0, 1], [1, 0], states=["x", "v"], inputs=["force"], outputs=["place"])


def test_there_and_back(library):
    space = SYSTEM.to_control()
    assert isinstance(space, library.StateSpace)
    assert (space.dt, space.state_labels, space.input_labels) == (0, ["x", "v"], ["force"])
    back = LTI.from_control(space)
    assert (back.states, back.inputs, back.outputs) == (SYSTEM.states, SYSTEM.inputs, SYSTEM.outputs)
    assert all(np.array_equal(getattr(back, name), getattr(SYSTEM, name)) for name in "ABCD")


def test_the_copy_may_be_changed(library):
    SYSTEM.to_control().A[0, 0] = 99.0
    assert SYSTEM.A[0, 0] == 0.0


def test_a_descriptor_system_goes_through_its_state_space(library):
    system = DescriptorSystem([[1, 0], [0, 0]], [[-2, 1], [1, -1]], [1, 0], states=["x", "z"])
    space = system.to_control()
    assert space.A.tolist() == [[-1.0]]
    assert space.output_labels == ["x", "z"]


def test_transfer_functions_are_converted_first(library):
    assert LTI.from_control(TransferFunction(4.0)).poles().tolist() == [-4.0]


def test_discrete_time_is_refused(library):
    with pytest.raises(InputError) as caught:
        LTI.from_control(StateSpace([[0.5]], [[1.0]], [[1.0]], [[0.0]], 0.1))
    assert str(caught.value).splitlines() == [
        "The system is one of discrete time.",
        "  its time step is 0.1",
        "  Because dd.LTI is x' = A x + B u in continuous time.",
        "  Try: the continuous-time system it was made from",
    ]


def test_without_the_library_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(InputError) as caught:
        SYSTEM.to_control()
    assert str(caught.value).splitlines() == [
        "python-control is not installed.",
        "  Because the conversion makes or reads its StateSpace objects.",
        "  Try: pip install control, or use the matrices .A .B .C .D and the names directly",
    ]
