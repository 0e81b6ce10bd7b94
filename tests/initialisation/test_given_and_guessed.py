"""What is given and what is a guess: the rules of "Start values", and what is refused."""

import numpy as np
import pytest
from started_models import pendulum

import daedalus as dd
from daedalus.initialisation.given_and_guessed import read_wanted


@pytest.fixture
def model() -> dd.Model:
    m = dd.Model("mixed")
    x, y = m.state("x", 2, start=[1.0, None]), m.state("y")
    z, w = m.algebraic("z", start=3.0), m.algebraic("w")
    u, k = m.input("u"), m.parameter("k", 2.0)
    m.equation(m.der(x), k * x)
    m.equation(m.der(y), u)
    m.equation(z, y)
    m.equation(w, x[0])
    return m


def test_written_starts_of_states_are_given_and_the_rest_are_guesses(model):
    wanted = read_wanted(model.freeze(), None, None, None)
    assert wanted.given["x"].tolist() == [True, False, False]
    assert wanted.values["x"].tolist() == [1.0, 0.0, 0.0]
    assert wanted.given["z"].tolist() == [False, False]
    assert wanted.values["z"].tolist() == [3.0, 0.0]
    assert not wanted.given["xdot"].any()


def test_passed_values_are_given_and_none_frees(model):
    wanted = read_wanted(model.freeze(), {"x": [None, 5.0], "z": 7.0, "y_dot": 1.5, "w": None}, None, None)
    assert wanted.given["x"].tolist() == [False, True, False]
    assert wanted.values["x"].tolist() == [1.0, 5.0, 0.0]
    assert wanted.given["z"].tolist() == [True, False]
    assert wanted.given["xdot"].tolist() == [False, False, True]


def test_fixed_and_free_name_elements_and_derivatives(model):
    wanted = read_wanted(model.freeze(), {"x[1]": 4.0}, ["z", "x_dot[0]"], ["x[1]"])
    assert wanted.given["z"].tolist() == [True, False]
    assert wanted.given["x"].tolist() == [True, False, False]
    assert wanted.values["x"][1] == 4.0
    assert wanted.given["xdot"].tolist() == [True, False, False]
    assert read_wanted(model.freeze(), None, "z", None).given["z"].tolist() == [True, False]


@pytest.mark.parametrize(
    ("values", "fixed", "free", "text"),
    [
        ({"q": 1.0}, None, None, "The model 'mixed' has no variable 'q'."),
        ({"k": 1.0}, None, None, "k is a parameter, not a variable with a start value."),
        ({"u": 1.0}, None, None, "u is an input, not a variable with a start value."),
        ({"x": [1.0, 2.0, 3.0]}, None, None, "The start value of x has the wrong shape."),
        ({"x": float("nan")}, None, None, "The start value of x[0] is nan."),
        ({"y": "high"}, None, None, "The start value of y is not a number."),
        ({"z_dot": 1.0}, None, None, "The model 'mixed' has no variable 'z_dot'."),
        ([1.0, 2.0], None, None, "values= takes values by name."),
        ({1: 2.0}, None, None, "Start values are given by name."),
        (None, ["x[2]"], None, "x[2] does not exist."),
        (None, ["u"], None, "u is an input, not a variable with a start value."),
        (None, {"x": 1}, None, "fixed= is a list of names."),
        (None, 3, None, "fixed= is a list of names."),
        (None, ["x"], ["x[0]"], "x[0] is in fixed= and in free=."),
    ],
)
def test_refusals(model, values, fixed, free, text):
    with pytest.raises(dd.InputError) as caught:
        dd.initialise(model, values, fixed=fixed, free=free)
    assert caught.value.what == text


def test_time_inputs_and_parameters_are_checked(model):
    with pytest.raises(dd.InputError, match="time of a start is a number"):
        dd.initialise(model, time="now")
    with pytest.raises(dd.InputError, match="k is a parameter, not an input"):
        dd.initialise(model, inputs={"k": 1.0})
    with pytest.raises(dd.InputError, match="u is an input, not a parameter"):
        dd.initialise(model, parameters={"u": 1.0})


def test_a_moment_of_a_run_brings_inputs_parameters_and_time_along():
    m = dd.Model("driven")
    x, z, u, k = m.state("x", start=1.0), m.algebraic("z"), m.input("u"), m.parameter("k", 2.0)
    m.equation(m.der(x), u - k * x)
    m.equation(z, u + x)
    run = dd.simulate(m, 1.0, inputs={"u": lambda t: np.sin(t)}, parameters={"k": 3.0})
    s = dd.initialise(m, run.at(0.5))
    assert s.time == 0.5
    assert s["u"] == pytest.approx(np.sin(0.5))
    assert s["k"] == 3.0
    assert s["z"] == pytest.approx(np.sin(0.5) + float(run.at(0.5)["x"]))
    assert s.origin["x"] == "given"
    other = dd.initialise(m, s, inputs={"u": 0.0}, time=0.0)
    assert other["z"] == s["x"]
    with pytest.raises(dd.InputError, match="a single time"):
        dd.initialise(m, run.at([0.1, 0.2]))


class Moment(dict):
    """A moment of a run of another tool: values by name and a time."""

    time = 2.0


def test_states_of_a_run_move_onto_the_constraints_within_tolerance_and_are_told():
    near = Moment(p=np.array([0.6 + 1e-7, -0.8]), v=np.array([0.8, 0.6]))
    s = dd.initialise(pendulum(), near)
    assert np.linalg.norm(s["p"]) == pytest.approx(1.0, abs=1e-12)
    assert any("onto the constraints" in note for note in s.notes)
    far = Moment(p=np.array([0.7, -0.8]), v=np.array([0.8, 0.6]))
    with pytest.raises(dd.InconsistentStartError, match="rod"):
        dd.initialise(pendulum(), far)
    with pytest.raises(dd.InputError, match="no state of this model"):
        dd.initialise(pendulum(), Moment(other=1.0))
