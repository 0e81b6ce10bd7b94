"""Conversion to and from scipy.signal, and python-control, tried with a stand-in that keeps what it is given."""

import sys
import types

import numpy as np
import pytest
from scipy import signal

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
        "The system is in discrete time.",
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


def test_a_whole_system_is_an_argument_too(library):
    back = LTI(SYSTEM.to_control())
    assert (back.states, back.inputs, back.outputs) == (SYSTEM.states, SYSTEM.inputs, SYSTEM.outputs)
    assert all(np.array_equal(getattr(back, name), getattr(SYSTEM, name)) for name in "ABCD")
    assert LTI(SYSTEM).states == ("x", "v")
    assert LTI(SYSTEM.to_control(), states=["place", "speed"]).states == ("place", "speed")
    with pytest.raises(InputError, match=r"A whole linear system and matrices were given together\."):
        LTI(SYSTEM.to_control(), [[0.0], [1.0]])


def test_the_real_library_goes_there_and_back():
    control = pytest.importorskip("control")
    plant = LTI(control.tf([1.0, 3.0], [1.0, 2.0, 5.0]))
    s = np.array([0.3j, 2.0 + 1.0j])
    np.testing.assert_allclose(plant.transfer(s)[:, 0, 0], (s + 3) / (s**2 + 2 * s + 5), rtol=1e-13)
    space = control.ss([[0, 1], [-2, -3]], [[0], [1]], [[1, 0]], [[0]], states=["x", "v"], inputs=["f"], outputs=["y"])
    assert (LTI(space).states, LTI(space).inputs, LTI(space).outputs) == (("x", "v"), ("f",), ("y",))
    again = LTI(LTI(space).to_control())
    assert np.array_equal(again.A, space.A)
    with pytest.raises(InputError, match="discrete time"):
        LTI(control.ss([[0.5]], [[1.0]], [[1.0]], [[0.0]], 0.1))


@pytest.mark.parametrize(
    "theirs",
    [
        signal.StateSpace([[0.0, 1.0], [-5.0, -2.0]], [[0.0], [1.0]], [[3.0, 1.0]], [[0.0]]),
        signal.TransferFunction([1.0, 3.0], [1.0, 2.0, 5.0]),
        signal.ZerosPolesGain([-3.0], [-1 + 2j, -1 - 2j], 1.0),
    ],
    ids=lambda theirs: type(theirs).__name__,
)
def test_scipy_signal_there_and_back(theirs):
    ours = LTI(theirs)
    s = np.array([0.3j, 2.0 + 1.0j])
    np.testing.assert_allclose(ours.transfer(s)[:, 0, 0], (s + 3) / (s**2 + 2 * s + 5), rtol=1e-12)
    back = ours.to_scipy_signal()
    w, h = signal.freqresp(back, w=[0.3, 2.0])
    np.testing.assert_allclose(h, ours.transfer(1j * w)[:, 0, 0], rtol=1e-12)


def test_sampled_and_descriptor_systems_go_to_scipy_signal():
    sampled = SYSTEM.discretise(0.1).to_scipy_signal()
    assert sampled.dt == 0.1
    np.testing.assert_allclose(sampled.A, signal.cont2discrete((SYSTEM.A, SYSTEM.B, SYSTEM.C, SYSTEM.D), 0.1)[0])
    assert DescriptorSystem([[1, 0], [0, 0]], [[-2, 1], [1, -1]], [1, 0]).to_scipy_signal().A.tolist() == [[-1.0]]
    with pytest.raises(InputError, match="discrete time"):
        LTI(sampled)
    with pytest.raises(InputError, match=r"scipy\.signal has no systems without inputs"):
        LTI([[-1.0]]).to_scipy_signal()
