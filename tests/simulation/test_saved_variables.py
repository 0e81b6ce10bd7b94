"""Results that keep chosen variables are those of the whole run, hold no more, and say what they lack."""

import pickle

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.errors import InputError, SolverError
from daedalus.simulation.run import travel


def plate(n=12):
    m = dd.Model("plate")
    u = m.state("u", (n, n), start=np.outer(np.sin(np.arange(n)), np.cos(np.arange(n))), unit="K")
    v = m.state("v", 3, start=[1.0, 2.0, 3.0])
    k, push = m.parameter("k", [1.0, 2.0, 3.0]), m.input("push")
    m.equation(m.der(u), dd.laplacian(u, 0.3, "neumann"))
    m.equation(m.der(v), -k * v + push)
    m.output("sum", v[0] + v[1] + u[0, 0])
    return m


NAMES = ["u", "v_dot", "u[2,1]", "sum", "push"]
GIVEN = {"inputs": {"push": lambda t: np.sin(t)}, "rtol": 1e-7}


@pytest.mark.parametrize("method", ["bdf", "tsit5"])
@pytest.mark.parametrize("save_at", [None, np.linspace(0.1, 1.0, 7)])
def test_values_are_those_of_the_whole_run(method, save_at):
    m = plate()
    whole = dd.simulate(m, 1.0, method=method, save_at=save_at, **GIVEN)
    tr = dd.simulate(m, 1.0, method=method, save_at=save_at, save=NAMES, **GIVEN)
    np.testing.assert_array_equal(tr.time, whole.time)
    for name in [*NAMES, "u[3,4]", "v_dot[1]", "k", "k[1]"]:
        np.testing.assert_array_equal(tr[name], whole[name], err_msg=name)
    moment = tr.at(tr.time[3])
    np.testing.assert_array_equal(moment["u"], whole["u"][3])
    assert (tr.method, tr.stop_reason, tr.notes, tr.success) == (whole.method, whole.stop_reason, whole.notes, True)
    ends = [tr.end, whole.end]
    assert tr.work.steps == whole.work.steps == len(tr.steps)
    np.testing.assert_array_equal(tr.steps.size, whole.steps.size)
    assert set(tr.keys()) == {*NAMES, "k"}
    onwards = [dd.simulate(m, (1.0, 2.0), start=end, method=method, **GIVEN) for end in ends]
    np.testing.assert_array_equal(*(r["u"][-1] for r in onwards))


@pytest.mark.parametrize("method", ["bdf", "radau5", "rodas5p", "tsit5"])
def test_the_end_is_the_same_once_values_between_steps_are_read(method):
    """Rates of polynomials are 1e-8 off, and a run that goes on begins with them."""
    tr = dd.simulate(plate(), 1.0, method=method, **GIVEN)
    before = tr.end
    tr.at(0.5)
    np.testing.assert_array_equal(tr.end._x, before._x)


def test_the_result_holds_what_was_asked_for():
    """Bytes of a pickle beside the one row at the end and the model: rows of the names, whatever the steps are."""
    m, times = plate(40), np.linspace(0, 1, 11)

    def size(names, method="tsit5"):
        tr = dd.simulate(m, 1.0, method=method, save_at=times, rtol=1e-6, inputs={"push": 0.0}, save=names)
        return len(pickle.dumps(tr)), tr.work.steps

    (none, steps), (field, _) = size([]), size(["u"])
    assert steps > 50
    assert field - none == pytest.approx(8 * 11 * 1600, rel=0.01)
    whole = dd.simulate(m, 1.0, method="tsit5", save_at=times, inputs={"push": 0.0})
    assert len(pickle.dumps(whole)) > field + 8 * 1600 * steps


@pytest.mark.parametrize(
    ("method", "save_at", "save", "keeps"),
    [
        ("bdf", [0.5, 1.0], ["v"], [False]),
        ("radau5", [0.5, 1.0], [], [False]),
        ("bdf", [0.5, 1.0], None, [True]),
        ("bdf", None, ["v"], [True]),
        ("tsit5", [0.5], ["v"], [True]),
    ],
)
def test_runs_whose_rows_alone_are_read_keep_no_more(monkeypatch, method, save_at, save, keeps):
    """Steps and their polynomials, several rows each, are not even there while the run is computed."""
    kept = []

    def seen(*args, keep_between=True, **options):
        kept.append(keep_between)
        return run_piece(*args, keep_between=keep_between, **options)

    run_piece = travel.run_piece
    monkeypatch.setattr(travel, "run_piece", seen)
    tr = dd.simulate(plate(), 1.0, method=method, save_at=save_at, save=save, **GIVEN)
    assert tr.success
    assert kept == keeps


def test_outputs_of_runs_that_keep_rows_alone_are_those_of_whole_ones():
    m, way = plate(4), {"method": "bdf", "save_at": [0.25, 1.0], "inputs": {"push": 0.5}, "rtol": 1e-7}
    m.output("far", m["u"][3, 3] + m["push"] * m.time)
    whole, rows = dd.simulate(m, 1.0, **way), dd.simulate(m, 1.0, save=["far", "sum", "u"], **way)
    for name in ("far", "sum", "u"):
        np.testing.assert_array_equal(rows[name], whole[name])


@pytest.mark.parametrize(
    ("condition", "save_at", "keeps"),
    [
        (lambda u, t: u[0] > 0.5, [0.3, 1.0], [False]),
        (lambda u, t: t > 0.25, [0.3, 1.0], [False]),
        # What a row at a switch has beside its states is read next to it, in the steps.
        (lambda u, t: t > 0.25, [0.25, 1.0], [False, True]),
    ],
)
def test_runs_of_rows_alone_with_switches(monkeypatch, condition, save_at, keeps):
    kept = []

    def seen(*args, keep_between=True, **options):
        kept.append(keep_between)
        return run_piece(*args, keep_between=keep_between, **options)

    run_piece = travel.run_piece
    m = dd.Model("heated rod")
    u = m.state("u", 500, start=np.ones(500))
    heat = ca.if_else(condition(u, m.time), 1.0, 0.0)
    m.equation(m.der(u), 0.1 * dd.laplacian(u, 1.0, "neumann") + heat - 4 * u)
    m.output("heat", heat + m.time)
    way = {"method": "bdf", "save_at": save_at, "rtol": 1e-6}
    whole = dd.simulate(m, 1.0, **way)
    monkeypatch.setattr(travel, "run_piece", seen)
    rows = dd.simulate(m, 1.0, save=["heat", "u"], **way)
    assert kept == keeps
    assert rows.work.steps == whole.work.steps
    for name in ("heat", "u"):
        np.testing.assert_array_equal(rows[name], whole[name])


@pytest.mark.parametrize("limits", [{"max_steps": 5}, {"time_limit": 1e-4}, {}])
def test_runs_of_rows_alone_end_as_whole_ones_do(limits):
    """Also where a limit ends them, or a solution that ceases to exist."""
    m = dd.Model("blows up")
    u = m.state("u", 600, start=np.full(600, 1.0))
    m.equation(m.der(u), u**2 + 0.1 * dd.laplacian(u, 1.0, "neumann"))
    way = {"method": "bdf", "save_at": [0.5, 2.0], **limits}
    whole, rows = dd.simulate(m, 2.0, **way), dd.simulate(m, 2.0, save=["u"], **way)
    assert not rows.success
    if "time_limit" not in limits:
        assert (rows.status, rows.stop_reason) == (whole.status, whole.stop_reason)
        np.testing.assert_array_equal(rows["u"], whole["u"])
        np.testing.assert_array_equal(rows.end["u"], whole.end["u"])


def test_what_is_not_kept_is_told():
    tr = dd.simulate(plate(), 1.0, save_at=[0.5, 1.0], save=["sum", "u"], **GIVEN)
    with pytest.raises(InputError) as told:
        tr["v"]
    assert str(told.value) == (
        "This result does not have 'v'.\n"
        "  it has sum, u\n"
        "  Because save= chose what to keep of the run.\n"
        "  Try: dd.simulate(..., save=['v'])"
    )
    with pytest.raises(InputError, match="no values between its rows") as told:
        tr.at([0.5, 0.7])
    assert "asked for t = 0.7; the nearest row is at 0.5" in str(told.value)
    all_states = (tr.drift, lambda: tr.transitions, lambda: tr.run_data.rows, tr.plot_drift)
    for read, lack in (*((read, "all states") for read in all_states), (lambda: tr.dense, "values between its rows")):
        with pytest.raises(InputError, match=f"This result does not have {lack}"):
            read()
    with pytest.raises(InputError, match="There is nothing to plot"):
        dd.simulate(plate(), 1.0, save=[], **GIVEN).plot()
    with pytest.raises(InputError, match=r"u\[20,1\] does not exist"):
        tr["u[20,1]"]
    with pytest.raises(InputError, match="nothing"):
        tr["nothing"]
    assert [name in tr for name in ("sum", "v", "no")] == [True, False, False]


@pytest.mark.parametrize(
    ("names", "told"), [("u", "save is a list of names"), (["u", "w"], "w"), ([3], "list of names")]
)
def test_names_are_read_before_the_run(names, told):
    with pytest.raises(InputError, match=told):
        dd.simulate(plate(), 1.0, save=names, inputs={"push": 0.0})
    with pytest.raises(InputError, match=r"dd\.stream takes no save"):
        dd.stream(plate(), 1.0, "x.nc", [1.0], save=["u"])


def test_sweeps_keep_chosen_variables_and_prepared_runs_say_why_not():
    m = ball()
    kept = dd.sweep(m, 0.3, over={"y": [1.0, 2.0]}, save=["v"], save_at="end")
    assert list(kept.data) == list(dd.sweep(m, 0.3, over={"y": [1.0, 2.0]}, outputs=["v"], save_at="end").data)
    with pytest.raises(InputError, match="outputs= and save= are both given"):
        dd.sweep(m, 0.3, over={"y": [1.0]}, save=["v"], outputs=["y"])
    with pytest.raises(InputError, match="a call returns all states, one column for each name"):
        dd.prepare(m, 0.3, save=["v"])
    with pytest.raises(InputError, match=r"dd\.prepare takes no seed\.\n  its options are method, rtol"):
        dd.prepare(m, 0.3, seed=3)


def ball(terminal=False):
    m = dd.Model("ball")
    y, v = m.state("y", start=1.0), m.state("v", start=0.0)
    hits = m.discrete("hits", start=0.0)
    m.equation([m.der(y), m.der(v)], [v, -9.81])
    m.event("ground", y, direction=-1, reset=None if terminal else {"v": -0.8 * v, "hits": hits + 1}, terminal=terminal)
    return m


@pytest.mark.parametrize("save_at", [None, np.linspace(0, 1.5, 16)])
@pytest.mark.parametrize("names", [["v"], ["hits", "v", "y"]])
def test_events_have_the_chosen_variables(tmp_path, save_at, names):
    m = ball()
    whole = dd.simulate(m, 1.5, save_at=save_at)
    tr = dd.simulate(m, 1.5, save_at=save_at, save=names)
    tr.save(tmp_path / "ball.nc")
    for other in (tr, pickle.loads(pickle.dumps(tr)), dd.load(tmp_path / "ball.nc")):
        assert [(e.name, e.time) for e in other.events] == [(e.name, e.time) for e in whole.events]
        assert other.notes == whole.notes
        for name in names:
            np.testing.assert_array_equal(other[name], whole[name])
            for own, there in zip(other.events, whole.events):
                assert (own.before[name], own.after[name]) == (there.before[name], there.after[name])
        again = dd.simulate(m, (1.5, 3.0), start=other.end)
        assert again["hits"][-1] == dd.simulate(m, (1.5, 3.0), start=whole.end)["hits"][-1] > 2
    assert len(whole.events) == 2


def test_runs_that_end_at_an_event_go_on_behind_it():
    whole, tr = dd.simulate(ball(True), 2.0), dd.simulate(ball(True), 2.0, save=["y"])
    assert tr.status == whole.status
    onwards = [dd.simulate(ball(True), (r.end.time, 2.0), start=r.end) for r in (tr, whole)]
    np.testing.assert_array_equal(onwards[0].time, onwards[1].time)


def test_runs_of_several_pieces_and_backwards():
    m = dd.Model("slides")
    x, y = m.state("x", start=1.0), m.state("y", start=0.0)
    m.equation([m.der(x), m.der(y)], [0.5 * ca.sin(m.time) - ca.sign(x), x - y])
    for save_at in (None, np.linspace(0, 3, 7)):
        whole, tr = (dd.simulate(m, 3.0, save_at=save_at, **more) for more in ({}, {"save": ["y", "x_dot"]}))
        assert len(whole.pieces) > 1
        for name in ("time", "y", "x_dot"):
            np.testing.assert_array_equal(tr[name], whole[name])
        assert (tr.method, tr.notes, len(tr.steps)) == (whole.method, whole.notes, len(whole.steps))
        onwards = [dd.simulate(m, (3.0, 4.0), start=run.end) for run in (tr, whole)]
        np.testing.assert_allclose(*(run["y"][-1] for run in onwards), rtol=1e-12)
    m = dd.Model("growth")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), x)
    tr = dd.simulate(m, (1.0, 0.0), save_at=[0.9, 0.5, 0.1], save=["x"], rtol=1e-9)
    assert tr.at([0.5, 0.9])["x"] == pytest.approx(np.exp([-0.5, -0.1]), rel=1e-7)


def test_tables_and_files(tmp_path):
    tr = dd.simulate(plate(), 1.0, save_at=np.linspace(0, 1, 5), save=["u", "v[1]", "sum"], **GIVEN)
    data, frame = tr.to_xarray(), tr.to_dataframe()
    assert set(data) == {"u", "v[1]", "sum"}
    assert (data["u"].shape, data["u"].attrs["units"], frame.shape) == ((5, 12, 12), "K", (5, 146))
    np.testing.assert_array_equal(frame["u[2,1]"], tr["u"][:, 2, 1])
    tr.save(tmp_path / "plate.nc")
    back = dd.load(tmp_path / "plate.nc")
    for other in (back, pickle.loads(pickle.dumps(tr))):
        np.testing.assert_array_equal(other["u"], tr["u"])
        np.testing.assert_array_equal(other.end["v"], tr.end["v"])
        assert (other.keys(), other.stop_reason, len(other.steps)) == (tr.keys(), tr.stop_reason, len(tr.steps))
        with pytest.raises(InputError, match="does not have 'v'"):
            other["v"]
    repr(back), back._repr_html_()


def test_pictures_show_the_rows(tmp_path):
    tr = dd.simulate(plate(), 1.0, save_at=np.linspace(0, 1, 5), save=["u", "v[1]", "sum"], **GIVEN)
    labels = {line.get_label() for axis in tr.plot().axes for line in axis.lines}
    assert {"v[1]", "sum"} <= labels
    lines = tr.plot(["v[1]"]).axes[0].lines
    np.testing.assert_array_equal(lines[0].get_xdata(), tr.time)
    assert tr.plot_field("u", 0.5).axes[0].get_title() == "plate: u at t = 0.5 s"
    tr.plot_field("u"), tr.plot_phase("v[1]", "sum"), tr.plot_steps()
    tr.animate_field("u", tmp_path / "u.html", frames=4)
    with pytest.raises(InputError, match="no values between its rows"):
        tr.plot_field("u", 0.3)


def test_the_error_of_a_stopped_run_carries_what_was_kept():
    m = dd.Model("explosion")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), x**2)
    with pytest.raises(SolverError) as error:
        dd.simulate(m, 2.0, save=["x"], on_stop="raise")
    assert error.value.trajectory.saved == ("x",)
    empty = dd.simulate(m, 2.0, save_at=[1.5], save=["x"])
    assert (empty["x"].shape, empty.success) == ((0,), False)
    repr(empty), empty._repr_html_(), empty.end["x"]
