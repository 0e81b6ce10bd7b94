import numpy as np
import pytest

from daedalus.analysis.linear.descriptor import DescriptorSystem
from daedalus.errors import InputError, SingularModelError

CIRCUIT = DescriptorSystem(
    [[2.0, 0, 0], [0, 0.5, 0], [0, 0, 0]],
    [[-1.0, 0, 1], [0, -3, 1], [1, 1, -4]],
    [[0.0, 1], [0, 0], [1, 0]],
    states=["charge", "flux", "current"],
    inputs=["source", "disturbance"],
)


def test_matrices_are_read_only_and_names_complete():
    assert all(not getattr(CIRCUIT, name).flags.writeable for name in "EABCD")
    assert CIRCUIT.outputs == CIRCUIT.states
    with pytest.raises(AttributeError):
        CIRCUIT.A = np.eye(3)
    assert repr(CIRCUIT) == "DescriptorSystem(3 states, 2 inputs, 3 outputs)"


def test_poles_finite_and_infinite():
    assert CIRCUIT.index == 1
    eliminated = np.linalg.solve(np.diag([2.0, 0.5]), [[-0.75, 0.25], [0.25, -2.75]])
    assert np.allclose(CIRCUIT.poles(), np.sort(np.linalg.eigvals(eliminated)))
    assert np.isinf(CIRCUIT.poles(infinite=True)[-1])
    assert len(CIRCUIT.poles(infinite=True)) == 3


def test_transfer_function_of_document_003():
    """E nilpotent, A = I, B = (0, 0, 1): x₃ = -u, x₂ = -u', x₁ = -u''."""
    system = DescriptorSystem(np.diag([1.0, 1.0], 1), np.eye(3), [0, 0, 1])
    s = 0.3 + 2j
    assert np.allclose(system.transfer(s)[:, 0], [-(s**2), -s, -1])
    assert [p[:, 0].tolist() for p in system.improper] == [[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0]]
    assert not system.is_proper
    assert system.select(outputs="x[2]").is_proper


def test_frequency_response_by_name():
    f = CIRCUIT.frequency_response([0.5, 2.0])
    assert np.allclose(f["flux", "source"], CIRCUIT.transfer(1j * np.array([0.5, 2.0]))[:, 1, 0])
    assert f.select(outputs=["flux"], inputs="source").values.shape == (2, 1, 1)
    with pytest.raises(InputError, match="Which input drives 'flux'"):
        f["flux"]


def test_selection():
    chosen = CIRCUIT.select(inputs="source", outputs=["current"])
    assert (chosen.inputs, chosen.outputs, chosen.states) == (("source",), ("current",), CIRCUIT.states)
    assert np.allclose(chosen.transfer(2.0), CIRCUIT.transfer(2.0)[2:, :1])
    # The flux held at zero: its column and its equation go.
    held = CIRCUIT.select(states=["charge", "current"])
    assert held.E.tolist() == [[2.0, 0.0], [0.0, 0.0]]
    assert held.A.tolist() == [[-1.0, 1.0], [1.0, -4.0]]


def test_an_algebraic_state_cannot_be_held():
    with pytest.raises(InputError) as caught:
        CIRCUIT.select(states=["charge", "flux"])
    assert str(caught.value).splitlines() == [
        "The state 'current' cannot be held.",
        "  it is algebraic",
        "  Because no equation belongs to it alone, so none can be left out with it.",
        "  Try: to_state_space().select(states=...), which has one equation for each state",
    ]


def test_singular_systems_say_so():
    system = DescriptorSystem([[1, 0], [0, 0]], [[1, 0], [1, 0]], [1, 0])
    assert not system.is_regular
    assert system.index is None
    assert str(system).startswith("E x' = A x + B u, y = C x + D u; singular")
    with pytest.raises(SingularModelError) as caught:
        system.transfer(1.0)
    assert str(caught.value).splitlines() == [
        "The system has no transfer function.",
        "  2 equations, 2 unknowns; s E - A is singular",
        "  Because the equations do not determine the states.",
        "  Try: print(system.pencil), or dd.analyse(model) for the names",
    ]
    with pytest.raises(SingularModelError, match=r"The pencil s E - A is singular\."):
        system.to_state_space()


def test_labelled_matrices():
    labelled = CIRCUIT.to_xarray()
    assert float(labelled["E"].sel(equation="equation[1]", state="flux")) == 0.5
    assert float(labelled["B"].sel(equation="equation[0]", input="disturbance")) == 1.0
