"""A run in pieces reads as one: values, dense output, events, work, files; whatever rows its pieces have."""

import pickle

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.result.joined_trajectory import JoinedTrajectory


def circuit():
    """A charged capacitor: x is known, and so is its current z and the output."""
    m = dd.Model("circuit")
    q, i = m.state("q", 2, start=[1.0, 2.0], unit="C"), m.algebraic("i", 2, unit="A")
    k = m.parameter("k", 1.0)
    m.equation(m.der(q), -i, name="charge")
    m.equation(i, k * q, name="Ohm")
    m.output("power", i[0] * q[0])
    m.event("half", q[0] - 0.5, direction=-1)
    m.event("quarter", q[0] - 0.25, direction=-1, reset={"q": [1.0, 2.0]})
    return m


def in_two(m, middle, span=(0.0, 2.0), save_at=None, **more):
    """An explicit piece, then an implicit one."""
    times = None if save_at is None else np.asarray(save_at)
    parts = [None, None] if times is None else [times[times <= middle], times[times > middle]]
    one = dd.simulate(m, (span[0], middle), method="dop853", save_at=parts[0], **more)
    more["start"] = one.end
    return JoinedTrajectory([one, dd.simulate(m, (middle, span[1]), method="radau9", save_at=parts[1], **more)])


@pytest.fixture
def pair():
    tight = {"rtol": 1e-10, "atol": 1e-12}
    return in_two(circuit(), 1.0, **tight), dd.simulate(circuit(), 2.0, method="dop853", **tight)


def test_values_of_every_kind_agree_with_the_run_in_one_piece(pair):
    tr, whole = pair
    assert isinstance(tr, dd.Trajectory)
    assert tr.keys() == whole.keys()
    # The jump itself is located a rounding error apart.
    away = np.abs(tr.time - tr.events[1].time) > 1e-6
    assert np.sum(~away) == 2
    for name in ("q", "q[1]", "q_dot", "i", "power", "k", "i[0]"):
        assert tr[name][away] == pytest.approx(whole.at(tr.time[away])[name], rel=1e-8), name
        assert tr[name].shape == (len(tr.time), *whole[name].shape[1:])
    assert tr["time"] is tr.time or np.array_equal(tr["time"], tr.time)


def test_the_common_moment_is_one_sample(pair):
    tr, _ = pair
    assert np.sum(tr.time == 1.0) == 1
    assert len(tr.time) == sum(len(piece.time) for piece in tr.pieces) - 1
    # Events double a time, the joint does not.
    assert tr.time[1:][np.diff(tr.time) == 0].tolist() == [e.time for e in tr.events]


def test_dense_output_goes_across_the_joint(pair):
    tr, whole = pair
    times = np.array([1.9, 0.3, 1.0, 0.999, 1.2])
    assert tr.at(times).time.tolist() == times.tolist()
    for name in ("q", "q_dot", "i", "power"):
        assert tr.at(times)[name] == pytest.approx(whole.at(times)[name], rel=1e-7), name
    assert tr.at(1.5)["q"].shape == (2,)
    assert tr.at(0.5)["power"] == pytest.approx(float(whole.at(0.5)["power"]), rel=1e-8)
    with pytest.raises(dd.InputError, match=r"it covers t = 0 to 2; asked for 3 to 3"):
        tr.at(3.0)


def test_events_of_all_pieces_are_in_order(pair):
    tr, whole = pair
    assert [e.name for e in tr.events] == [e.name for e in whole.events] == ["half", "quarter"]
    for ours, theirs in zip(tr.events, whole.events):
        assert ours.time == pytest.approx(theirs.time, rel=1e-8)
        assert ours.after["q"] == pytest.approx(theirs.after["q"], rel=1e-7)


def test_work_method_notes_and_drift_are_those_of_the_whole(pair):
    tr, _ = pair
    one, two = tr.pieces
    assert tr.method == "dop853, then radau9"
    assert tr.work.steps == one.work.steps + two.work.steps
    assert tr.work.rhs == one.work.rhs + two.work.rhs
    assert tr.work.jacobians == two.work.jacobians > 0
    assert tr.stop_reason == "reached t = 2"
    assert tr.drift()["Ohm[0]"] < 1e-9
    assert tr.drift(between=True)["Ohm[0]"] < 1e-7
    assert "dop853, then radau9" in repr(tr)


def test_a_run_in_pieces_travels(pair, tmp_path):
    tr, _ = pair
    tr.save(tmp_path / "run.nc")
    for twin in (dd.load(tmp_path / "run.nc"), pickle.loads(pickle.dumps(tr))):
        assert len(twin.pieces) == 2
        assert twin.method == tr.method
        assert twin.work == tr.work
        assert np.array_equal(twin.time, tr.time)
        for name in ("q", "i", "power", "q_dot"):
            assert twin[name] == pytest.approx(tr[name], rel=1e-14)
        assert twin.at([0.2, 1.7])["q"] == pytest.approx(tr.at([0.2, 1.7])["q"], rel=1e-14)
        assert [e.name for e in twin.events] == [e.name for e in tr.events]
        assert twin.drift() == pytest.approx(tr.drift(), abs=1e-15)
        assert twin.end["q"] == pytest.approx(tr.end["q"], rel=1e-12)


def test_a_run_in_pieces_is_a_data_frame_and_a_picture(pair):
    tr, _ = pair
    data = tr.to_xarray()
    assert data["q"].dims == ("time", "q_index")
    assert data["q"].attrs["units"] == "C"
    assert list(tr.to_dataframe().columns) == ["q[0]", "q[1]", "i[0]", "i[1]", "power"]
    assert len(tr.plot().axes) == 3


def test_a_moment_of_it_is_a_start(pair):
    tr, _ = pair
    for t in (0.4, 1.6):
        again = dd.simulate(circuit(), (t, 2.0), start=tr.at(t), rtol=1e-10, atol=1e-12)
        assert again["q"][-1] == pytest.approx(tr["q"][-1], rel=1e-8)


def test_times_of_save_at_belong_to_one_piece():
    times = [0.0, 0.5, 1.0, 1.5, 2.0]
    tr = in_two(circuit(), 1.0, save_at=times, rtol=1e-10, atol=1e-12)
    assert tr.time.tolist() == times
    assert tr["q"][:, 1] == pytest.approx(2 * tr["q"][:, 0])


def test_backward_runs():
    tr = in_two(circuit(), 0.2, span=(0.6, -1.0), rtol=1e-10, atol=1e-12)
    assert tr.at([0.5, 0.2, -0.7])["q"][:, 0] == pytest.approx(np.exp([0.1, 0.4, 1.3]), rel=1e-8)
    assert tr.time[0] == 0.6
    assert tr.time[-1] == -1.0
    assert np.all(np.diff(tr.time) < 0)
    assert len(tr.plot().axes) == 3


@pytest.mark.parametrize("asked", [[1.5, 1.8], []])
def test_a_run_that_stops_before_its_first_time_has_empty_values_in_their_shapes(asked):
    m = dd.Model("relay with a halt")
    x, y = m.state("x", start=0.5), m.state("y", 2, start=1.0)
    m.equation(m.der(x), -ca.sign(x))
    m.equation(m.der(y), -y)
    m.output("product", x * y)
    m.event("halt", m.time - 0.8, terminal=True)
    tr = dd.simulate(m, 2.0, save_at=asked)
    assert (len(tr.pieces), tr.status, tr.time.shape) == (2, "event", (0,))
    assert [tr[name].shape for name in ("t", "x", "y", "x_dot", "product")] == [(0,), (0,), (0, 2), (0,), (0, 2)]
    assert tr.to_dataframe().columns.tolist() == ["x", "y[0]", "y[1]", "product[0]", "product[1]"]
    assert "halt" in tr._repr_html_()
    assert tr.drift() == dd.simulate(m, 0.3, save_at=[]).drift()


def test_discrete_variables_of_earlier_pieces_are_what_they_were():
    m = dd.Model("van der Pol")
    x, v, ticks = m.state("x", start=2.0), m.state("v", start=0.0), m.discrete("ticks", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), 1000.0 * (1 - x**2) * v - x)
    m.every(0.01, {"ticks": ticks + 1})
    tr = dd.simulate(m, 3.0, rtol=1e-4)
    assert len(tr.pieces) > 1
    inside = np.abs(tr.time / 0.01 - np.round(tr.time / 0.01)) > 1e-9
    np.testing.assert_array_equal(tr["ticks"][inside], np.floor(tr.time[inside] / 0.01) + 1)
