"""Trajectories as xarray, pandas and NetCDF, there and back."""

import casadi as ca
import numpy as np
import pytest
import xarray

import daedalus as dd


@pytest.fixture
def run():
    m = dd.Model("mixed bag")
    x = m.state("x", 2, start=[1.0, 2.0], unit="m")
    a = m.state("A", (2, 2), start=[[1, 2], [3, 4]])
    z = m.algebraic("part.z")
    u = m.input("u")
    k = m.parameter("k", 0.5)
    m.equation(m.der(x), -k * x + u)
    m.equation(m.der(a), -a)
    m.equation(z, x[0] * 2)
    m.output("sum", x[0] + x[1])
    m.event("low", x[0] - 0.9, direction=-1, reset={"x[0]": 1.2})
    return dd.simulate(m, 2.0, inputs={"u": dd.signal([0.0, 1.0], [0.0, 0.1])})


def test_xarray_has_names_dimensions_and_units(run):
    data = run.to_xarray()
    assert data["x"].dims == ("time", "x_index")
    assert data["A"].dims == ("time", "A_row", "A_column")
    assert data["x"].attrs["units"] == "m"
    assert set(data.data_vars) == {"x", "A", "part.z", "u", "sum"}
    np.testing.assert_array_equal(data["A"].values, run["A"])


def test_dataframe_has_a_column_an_element(run):
    frame = run.to_dataframe()
    assert list(frame.columns) == ["x[0]", "x[1]", "A[0,0]", "A[1,0]", "A[0,1]", "A[1,1]", "part.z", "u", "sum"]
    np.testing.assert_array_equal(frame["A[1,0]"], run["A"][:, 1, 0])


def test_a_saved_run_does_what_the_run_did(run, tmp_path):
    file = tmp_path / "run.nc"
    run.save(file)
    again = dd.load(file)
    times = np.linspace(0, 2, 17)
    for name in ("x", "A", "part.z", "u", "sum", "x_dot", "k"):
        np.testing.assert_array_equal(again[name], run[name])
        np.testing.assert_array_equal(again.at(times)[name], run.at(times)[name])
    assert again.stop_reason == run.stop_reason
    assert again.work == run.work
    assert again.drift() == run.drift()
    assert [e.time for e in again.events] == [e.time for e in run.events]
    assert again.events[0].after["x[0]"] == 1.2
    assert again.plot() is not None
    with xarray.open_dataset(file, engine="h5netcdf") as data:
        np.testing.assert_array_equal(data["x"].values, run["x"])


def test_feedback_and_python_functions_survive_a_file(tmp_path):
    m = dd.Model("loop")
    x, u, w = m.state("x", start=1.0), m.input("u"), m.input("w")
    m.equation(m.der(x), u + w)
    tr = dd.simulate(m, 1.0, inputs={"u": -x, "w": lambda t: float(t > 0.5)})
    tr.save(tmp_path / "run.nc")
    again = dd.load(tmp_path / "run.nc")
    np.testing.assert_array_equal(again["u"], tr["u"])
    np.testing.assert_array_equal(again["w"], tr["w"])
    assert again.at(0.3)["x"] == tr.at(0.3)["x"]


def test_wrong_files_are_refused(run, tmp_path):
    with pytest.raises(dd.InputError, match="There is no such file"):
        dd.load(tmp_path / "nothing.nc")
    (tmp_path / "text.nc").write_text("hello")
    with pytest.raises(dd.InputError, match="The file is not a saved run"):
        dd.load(tmp_path / "text.nc")
    xarray.Dataset({"a": ("b", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(dd.InputError, match="The file is not a saved run"):
        dd.load(tmp_path / "other.nc")
    with pytest.raises(dd.InputError, match="A run is saved as NetCDF"):
        run.save(tmp_path / "run.csv")
    with pytest.raises(dd.InputError, match="The folder does not exist"):
        run.save(tmp_path / "no" / "run.nc")


def test_a_model_that_calls_functions_is_not_saved(tmp_path):
    m = dd.Model("caller")
    x, a = m.state("x", start=1.0), ca.SX.sym("a")
    m.equation(m.der(x), -ca.Function("inner", [a], [a**2], {"never_inline": True})(x))
    tr = dd.simulate(m, 1.0)
    with pytest.raises(dd.InputError, match=r"A formula cannot be saved.\n  it contains call"):
        tr.save(tmp_path / "run.nc")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(run, tmp_path, monkeypatch):
    file = tmp_path / "run.nc"
    run.save(file)
    before = file.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("daedalus.simulation.result.sealed_record.append_record", fail)
    with pytest.raises(OSError, match="disk full"):
        run.save(file)
    assert file.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]


def test_a_file_keeps_what_the_run_decided_at_its_events_and_contacts(tmp_path):
    """Which guards and conditions the motion led to zero, and what it found at a stop and a friction."""
    m = dd.Model("a block behind a stop")
    h, v = m.state("h", start=0.1), m.state("v", start=0.0)
    w = m.state("w", start=0.2)
    m.equation(m.der(h), v)
    stop = m.unilateral("stop", h, restitution=0.5)
    brake = m.friction("brake", w, kinetic=0.3)
    m.equation(m.der(v), stop - ca.if_else(v < -1, 9.0, 10.0))
    m.equation(m.der(w), brake)
    tr = dd.simulate(m, 0.5)
    tr.save(tmp_path / "run.nc")
    loaded = dd.load(tmp_path / "run.nc")
    for one, other in zip(tr.pieces, loaded.pieces, strict=True):
        assert [e.led for e in one.outcome.events] == [e.led for e in other.outcome.events]
        modes, again = one.run_data.held_modes, other.run_data.held_modes
        assert np.array_equal(modes.located, again.located)
        for told, read in zip(one.outcome.settled, other.outcome.settled, strict=True):
            assert (told.time, told.fired, told.impacts) == (read.time, read.fired, read.impacts)
            assert np.array_equal(told.modes, read.modes)
    assert any(piece.outcome.settled for piece in loaded.pieces)
    assert any(event.led for piece in loaded.pieces for event in piece.outcome.events)
