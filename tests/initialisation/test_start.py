"""The result: values, derivatives, origins, the printed columns, and where it can be used."""

import pickle

import numpy as np
import pytest
from started_models import energy_pendulum, pendulum

import daedalus as dd


@pytest.fixture
def start() -> dd.Start:
    return dd.initialise(energy_pendulum([0.6, -0.8], [0.8, 0.6]))


def test_values_and_derivatives_by_name(start):
    assert start["q"].tolist() == [0.6, -0.8]
    assert start["q[1]"] == -0.8
    assert start.der("q").tolist() == start["q_dot"].tolist() == [0.8, 0.6]
    assert start.der("q_dot[0]") == start["q_ddot[0]"] == start.der("q_dot")[0]
    assert isinstance(start["rod"], float)
    assert "rod" in start
    assert "nothing" not in start
    with pytest.raises(dd.InputError, match="no variable 'r'"):
        start["r"]
    with pytest.raises(dd.InputError, match="rod has no derivative in this start"):
        start.der("rod")


def test_origins_by_name_and_element(start):
    assert start.origin["q"].tolist() == ["given", "given"]
    assert start.origin["q_dot[0]"] == "given"
    assert start.origin["rod"] == "computed"
    assert start.origin["q_ddot"].tolist() == ["computed", "computed"]
    assert set(start.origin) == {"q", "q_dot", "q_ddot", "rod"}


def test_matrices_keep_their_shape():
    m = dd.Model("matrix")
    x = m.state("X", (2, 2), start=[[1.0, 2.0], [3.0, None]])
    m.equation(m.der(x), -x)
    s = dd.initialise(m)
    assert s["X"].tolist() == [[1.0, 2.0], [3.0, 0.0]]
    assert s.der("X").tolist() == [[-1.0, -2.0], [-3.0, 0.0]]
    assert s.origin["X"].tolist() == [["given", "given"], ["given", "guessed"]]
    assert len(s.free) == 1
    assert s.free[0] == pytest.approx({"X[1,1]": 1.0, "X_dot[1,1]": -1.0})


def test_a_start_is_frozen(start):
    with pytest.raises(AttributeError, match="frozen"):
        start.iterations = 3
    with pytest.raises(ValueError, match="read-only"):
        start.vectors["x"][0] = 1.0


def test_the_printed_columns():
    s = dd.initialise(pendulum(2, [0.6, -0.8], [0.8, 0.6]))
    assert repr(s).splitlines()[:-1] == [
        "Start of 'pendulum' at t = 0: 4 values given, 5 computed",
        "  name    value  derivative  origin",
        "  p[0]      0.6         0.8  given",
        "  p[1]     -0.8         0.6  given",
        "  v[0]      0.8     -5.3088  given",
        "  v[1]      0.6     -2.7316  given",
        "  force  -8.848              computed",
    ]
    assert repr(s).splitlines()[-1].startswith("  largest residual ")
    loose = repr(dd.initialise(pendulum(2, [0.6, -0.8])))
    assert "  one value may be chosen among v[0], v[1]" in loose


def test_free_directions_are_those_along_the_constraints():
    s = dd.initialise(pendulum(2, [0.6, -0.8]))
    (direction,) = s.free
    # The velocity may be chosen along the tangent (0.8, 0.6).
    assert direction["v[1]"] / direction["v[0]"] == pytest.approx(0.75)


def test_a_start_is_a_start_of_runs_and_starts():
    m = dd.Model("tank")
    h, q = m.state("h", start=4.0), m.algebraic("q")
    m.equation(m.der(h), -q)
    m.equation(q, 0.5 * h)
    s = dd.initialise(m, {"h": 2.0})
    assert dict(s) == {"h": 2.0}
    run = dd.simulate(m, 1.0, start=s, rtol=1e-9)
    assert run["h"][-1] == pytest.approx(2 * np.exp(-0.5), rel=1e-7)
    assert dd.initialise(m, s)["h"] == 2.0


def test_a_start_is_a_point_to_linearise_at():
    from daedalus.analysis.linear.linearise import linearise

    m = pendulum(2, [0.0, -1.0], [0.0, 0.0])
    s = dd.initialise(m)
    lin = linearise(m, at=s)
    assert lin.point["force"] == pytest.approx(-9.81)
    assert np.abs(lin.residual if hasattr(lin, "residual") else 0.0).max() < 1e-12


def test_a_start_travels(start):
    again = pickle.loads(pickle.dumps(start))
    assert again["rod"] == start["rod"]
    assert again.residual == start.residual
    assert again.origin["q"].tolist() == ["given", "given"]
    assert repr(again) == repr(start)


def test_values_outside_their_bounds_are_told():
    m = dd.Model("bounded")
    x, z = m.state("x", start=-1.0), m.algebraic("z", lower=0.0)
    m.equation(m.der(x), z)
    m.equation(z, x)
    assert dd.initialise(m).notes == ("z = -1 lies below its lower bound 0",)
