"""Quantities with units come in by one door: converted to the unit of what they are for, or refused by name."""

import datetime
import warnings

import numpy as np
import pandas as pd
import pytest
from unit_registry import UNITS

import daedalus as dd

KM, MM, KG, S, KN = (UNITS.Unit(u) for u in ("km", "mm", "kg", "s", "kN"))


def carrier():
    m = dd.Model("carrier")
    x, v = m.state("x", 2, start=1.0, unit="m"), m.state("v", start=0.0, unit="m/s")
    L, u, q = m.parameter("L", 7 * MM, unit="m"), m.input("u", unit="N"), m.state("q", start=0.0)
    m.equation(m.der(x), [v, L * v])
    m.equation(m.der(v), u - L * x[0])
    m.equation(m.der(q), -q)
    return m


IDLE = {"inputs": {"u": 0.0}}


def test_quantities_where_variables_are_declared():
    m = dd.Model("m")
    m.state("x", 2, start=[1 * KM, 2.0], rate=3.6 * UNITS("km/h"), unit="m", nominal=10 * MM, lower=-1 * KM)
    x = m.variables["x"]
    assert x.start == (1000.0, 2.0)
    assert x.rate == pytest.approx((1.0, 1.0))
    assert (x.nominal[0], x.lower[0]) == (0.01, -1000.0)
    m.parameter("lengths", np.array([1.0, 2.0]) * MM, unit="m")
    assert m.variables["lengths"].start == (0.001, 0.002)


def given_start(m):
    return dd.simulate(m, 0.1, start={"x": [3 * KM, 1.0]}, **IDLE)["x"][0]


# What is asked, and the numbers that must come of it.
ASKED = {
    "start": (given_start, [3000.0, 1.0]),
    "start of a rate": (lambda m: dd.simulate(m, 0.1, start={"v": 3.6 * UNITS("km/h")}, **IDLE)["v"][0], 1.0),
    "parameters": (lambda m: dd.simulate(m, 0.1, parameters={"L": 8 * MM}, **IDLE)["L"][0], 0.008),
    "parameter as declared": (lambda m: dd.simulate(m, 0.1, **IDLE)["L"][0], 0.007),
    "inputs": (lambda m: dd.simulate(m, 0.1, inputs={"u": 1 * KN})["u"][0], 1000.0),
    "initialise": (lambda m: dd.initialise(m, {"x[0]": 2 * KM}, **IDLE)["x"], [2000.0, 1.0]),
    "analyse": (lambda m: dd.analyse(m, at={"x": [1, 2] * KM}, **IDLE).point["x"], [1000.0, 2000.0]),
    "linearise": (lambda m: dd.linearise(m, parameters={"L": 30 * MM}, **IDLE).A[2, 0], -0.03),
    "prepare": (lambda m: dd.prepare(m, 0.1, start={"x": 1 * KM}, **IDLE)()[0, :2], [1000.0, 1000.0]),
    "sensitivities": (lambda m: dd.sensitivities(m, 0.1, start={"x": 1 * KM}, **IDLE).states["x"][0], [1000.0] * 2),
    "sweep": (lambda m: dd.sweep(m, 0.1, over={"L": [1, 2] * MM}, **IDLE).data["L"].values, [0.001, 0.002]),
    "span": (lambda m: dd.simulate(m, 0.1 * UNITS.minute, **IDLE).time[-1], 6.0),
    "save_at": (lambda m: dd.simulate(m, 2.0, save_at=[100, 200] * UNITS.ms, **IDLE).time, [0.1, 0.2]),
    "step": (lambda m: len(dd.simulate(m, 1.0, method="rk4", step=100 * UNITS.ms, **IDLE).time), 11),
    "at": (lambda m: dd.simulate(m, 1.0, **IDLE).at(500 * UNITS.ms).time, 0.5),
    "signal times": (lambda m: dd.signal([0, 1] * UNITS.minute, [1, 2]).times, [0.0, 60.0]),
}


@pytest.mark.parametrize("name", ASKED)
def test_quantities_are_converted(name):
    asked, expected = ASKED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a unit that is stripped warns
        np.testing.assert_allclose(np.asarray(asked(carrier()), dtype=float), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda m: dd.simulate(m, 0.1, parameters={"L": 7 * KG}, **IDLE),
            "L is in m, and is given a value in kilogram.",
        ),
        (
            lambda m: dd.simulate(m, 0.1, start={"x": [1 * S, 2.0]}, **IDLE),
            "x is in m, and is given a value in second.",
        ),
        (lambda m: dd.simulate(m, 0.1, inputs={"u": 1 * KM}), "u is in N, and is given a value in kilometer."),
        (
            lambda m: dd.simulate(m, 0.1, start={"q": 1 * KG}, **IDLE),
            "q has no unit, and is given a value in kilogram.",
        ),
        (lambda m: dd.simulate(m, 1 * KG, **IDLE), "The span is in s, and is given a value in kilogram."),
        (lambda m: dd.simulate(m, 0.1, inputs={"u": lambda t: 3 * KN}), "The function for input u gives quantities"),
        (lambda m: dd.initialise(m, inputs={"u": lambda t: 3 * KN}), "The function for input u gives quantities"),
        (
            lambda m: dd.simulate(m, 0.1, inputs={"u": dd.signal([0, 1], [1, 2] * KM)}),
            "u is in N, and is given a value in kilometer.",
        ),
        (lambda m: m.state("y", start=3 * S, unit="m"), "y is in m, and is given a value in second."),
        (lambda m: m.parameter("y", 3 * S), "y has no unit, and is given a value in second."),
    ],
)
def test_what_cannot_be_converted_is_refused(call, text):
    with pytest.raises(dd.InputError) as caught:
        call(carrier())
    assert str(caught.value).startswith(text)


NOON = datetime.datetime(2020, 1, 1, 12)


@pytest.mark.parametrize(
    "times",
    [
        np.array(["2020-01-01T00:00", "2020-01-01T00:01"], dtype="datetime64[s]"),
        np.array(["2020-01-01T00:00", "2020-01-01T00:01"], dtype="datetime64[ns]"),
        [NOON, NOON + datetime.timedelta(minutes=1)],
        pd.date_range("2020-01-01", periods=2, freq="min"),
        pd.date_range("2020-01-01", periods=2, freq="min", tz="Europe/Rome"),
        pd.Series(pd.date_range("2020-01-01", periods=2, freq="min")),
        np.array([0, 1], dtype="timedelta64[m]"),
        pd.to_timedelta([0, 60], unit="s"),
        [datetime.timedelta(0), datetime.timedelta(minutes=1)],
    ],
)
def test_dates_and_durations_are_seconds(times):
    assert dd.signal(times, [1.0, 2.0]).times.tolist() == [0.0, 60.0]


@pytest.mark.parametrize(
    ("times", "values", "text"),
    [
        ([0, 1], ["a", "b"], "The values of a signal are not numbers.\n  got 'a'"),
        ([0, 1], [1.0, "b"], "The values of a signal are not numbers.\n  got 'b'"),
        (["0", "1"], [1, 2], "The times of a signal are not numbers.\n  got '0'"),
        ([0, 1], [1j, 2], "The values of a signal are not numbers.\n  got 1j"),
        ([0, 1], np.array([1j, 2]), "The values of a signal are not numbers.\n  got 1j"),
        ([0, 1], [[1], [2, 3]], "The values of a signal are not numbers.\n  got rows of different length"),
        ([0, 1], [10**400, 1], "The values of a signal are not numbers.\n  got an integer of 401 digits"),
        ([0, 1], [NOON, NOON], "The values of a signal are not numbers.\n  got datetime"),
        (
            [0, 1],
            np.array(["2020-01-01"] * 2, dtype="datetime64[D]"),
            "The values of a signal are not numbers.\n  got dates",
        ),
        ([0, float("nan")], [1, 2], "A signal contains NaN or infinity."),
        (pd.to_datetime(["2020-01-01", None]), [1, 2], "A signal contains NaN or infinity."),
        ([0, 1], [None, 1], "A signal contains NaN or infinity."),
    ],
)
def test_what_is_no_number_in_a_signal_is_told(times, values, text):
    with pytest.raises(dd.InputError) as caught:
        dd.signal(times, values)
    assert str(caught.value).startswith(text)


def test_columns_of_pandas_give_values_by_name():
    m = carrier()
    by_series = dd.simulate(
        m, 0.1, start=pd.Series({"v": 2.0}), parameters=pd.Series({"L": 1.0}), inputs=pd.Series({"u": 3})
    )
    by_dict = dd.simulate(m, 0.1, start={"v": 2.0}, parameters={"L": 1.0}, inputs={"u": 3.0})
    np.testing.assert_array_equal(by_series["v"], by_dict["v"])
    assert dd.initialise(m, pd.Series({"v": 2.0}), inputs=pd.Series({"u": 0.0}))["v"] == 2.0
    assert dd.analyse(m, at=pd.Series({"v": 2.0})).point["v"] == 2.0
    assert dd.prepare(m, 0.1, pd.Series({"v": 2.0}), pd.Series({"u": 0.0}))()[0, 2] == 2.0
    assert dd.sensitivities(m, 0.1, start=pd.Series({"v": 2.0}), **IDLE).states["v"][0] == 2.0


HUGE = 10**400


@pytest.mark.parametrize(
    "options",
    [
        {"span": HUGE}, {"span": (0, HUGE)}, {"rtol": HUGE}, {"step": HUGE, "method": "rk4"}, {"save_at": [HUGE]},
        {"save_at": HUGE}, {"start": {"v": HUGE}}, {"parameters": {"L": HUGE}}, {"inputs": {"u": HUGE}},
        {"start": {"v": "two"}}, {"save_at": ["a"]}, {"span": "long"}, {"span": 1j}, {"start": {"v": 1j}},
    ],
)  # fmt: skip
def test_numbers_that_no_double_holds_and_texts_are_refused(options):
    with pytest.raises(dd.InputError):
        dd.simulate(carrier(), **{"span": 0.1, **IDLE, **options})


@pytest.mark.parametrize("name", ["max_steps", "time_limit", "max_step", "first_step"])
def test_a_limit_that_no_double_holds_is_none(name):
    assert dd.simulate(carrier(), 0.1, **IDLE, **{name: HUGE}).success


@pytest.mark.parametrize("workers", [-1, 0, 1.5, "two", True])
def test_a_number_of_threads_is_a_whole_number(workers):
    with pytest.raises(dd.InputError, match="workers"):
        dd.sweep(carrier(), 0.1, over={"L": [1.0]}, workers=workers, **IDLE)
    with pytest.raises(dd.InputError):
        dd.sweep(carrier(), 0.1, over={"L": [HUGE]}, **IDLE)


def test_units_of_outputs_and_of_driven_inputs():
    m = carrier()
    m.output("power", m["u"] * m["v"], unit="W")
    with pytest.warns(dd.UnitWarning, match="odd: 'blorp' is not a unit"):
        m.output("odd", m["v"], unit="blorp")
    tr = dd.simulate(m, 0.1, inputs={"u": np.sin})
    data = tr.to_xarray()
    assert [data[name].attrs["units"] for name in ("power", "u", "v", "odd")] == ["W", "N", "m/s", "blorp"]
    assert "u [N]" in {axis.get_ylabel() for axis in tr.plot("u").axes}
    assert dd.simulate(m, 0.1, inputs={"u": -m["v"]}).to_xarray()["u"].attrs["units"] == "N"
    n = dd.reduce(m, inputs={"u": 0.5 * m.time})
    assert n.freeze().output_units["u"] == "N"


def test_units_of_outputs_travel(tmp_path):
    import pickle

    m = carrier()
    m.output("power", m["u"] * m["v"], unit="W")
    whole = dd.Model("whole")
    whole.include("part", m, inputs={"u": 0.0})
    copies = [m.copy(), pickle.loads(pickle.dumps(m)), dd.reduce(m), dd.reduce(m.freeze())]
    assert all(copy.freeze().output_units == {"power": "W"} for copy in copies)
    assert whole.freeze().output_units == {"part.power": "W"}
    assert pickle.loads(pickle.dumps(m.freeze())).output_units == {"power": "W"}
    dd.simulate(m, 0.1, **IDLE).save(tmp_path / "run.nc")
    assert dd.load(tmp_path / "run.nc").to_xarray()["power"].attrs["units"] == "W"
