"""sweep: one compiled model, many values, one labelled result."""

import numpy as np
import pytest

import daedalus as dd
from daedalus.compilation import counts


def decay():
    m = dd.Model("decay")
    x = m.state("x", 2, start=[1.0, 2.0])
    k = m.parameter("k", 1.0)
    u = m.input("u")
    m.equation(m.der(x), -k * x + u)
    m.output("sum", x[0] + x[1])
    return m


def test_product_is_labelled_by_name_and_time():
    en = dd.sweep(
        decay(), 1.0, over={"k": [1.0, 2.0, 3.0], "x[0]": [1.0, 5.0]}, inputs={"u": 0.0}, save_at=[0.0, 1.0], rtol=1e-10
    )
    assert en["x"].dims == ("k", "x[0]", "time", "x_index")
    value = en["x"].sel(k=2.0, time=1.0, x_index=0).sel({"x[0]": 5.0})
    assert float(value) == pytest.approx(5 * np.exp(-2.0), rel=1e-8)
    assert bool(en.success.all())
    assert en["sum"].shape == (3, 2, 2)


def test_zip_runs_side_by_side():
    en = dd.sweep(decay(), 1.0, over={"k": [1.0, 2.0], "u": [0.0, 1.0]}, combine="zip")
    assert en["x"].dims == ("case", "time", "x_index")
    assert en.data["k"].values.tolist() == [1.0, 2.0]
    assert len(en.data["time"]) == 201


def test_the_result_does_not_depend_on_the_number_of_threads():
    over = {"k": np.linspace(0.1, 2, 23)}
    one = dd.sweep(decay(), 1.0, over=over, inputs={"u": 0.0}, workers=1)
    four = dd.sweep(decay(), 1.0, over=over, inputs={"u": 0.0}, workers=4)
    assert one.data.equals(four.data)


def test_one_compiled_model_serves_all_cases():
    m = decay()
    dd.sweep(m, 1.0, over={"k": [1.0]}, inputs={"u": 0.0})
    before = counts()
    dd.sweep(m, 1.0, over={"k": np.linspace(1, 2, 20)}, inputs={"u": 0.0})
    assert counts() == before


def test_failed_cases_are_nan_with_their_reason():
    m = dd.Model("explosion")
    x, k = m.state("x", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), k * x**2)
    en = dd.sweep(m, 2.0, over={"k": [0.1, 1.0, 0.2]}, save_at=np.linspace(0, 2, 5))
    assert en.success.values.tolist() == [True, False, True]
    assert np.isnan(en["x"].sel(k=1.0).values[-1])
    assert en["x"].sel(k=1.0).values[1] == pytest.approx(2.0, rel=1e-4)
    ((values, reason),) = en.failed
    assert values == {"k": 1.0}
    assert reason == (
        "step size fell below 2.2e-15 at t = 1; largest scaled error in x; "
        "try a shorter span if the solution diverges there, or an event where the equations jump"
    )
    assert repr(en) == "Ensemble(3 k: 2 of 3 cases reached the end)"


@pytest.mark.parametrize("on", ["auto", "cpu"])
def test_a_value_that_is_no_number_belongs_to_its_case_wherever_it_stands(on):
    reason = "{} is nan: nothing can be computed from a value that is not finite"
    for over, name in (({"k": [np.nan, 1.0]}, "k"), ({"x[0]": [np.nan, 1.0]}, "x[0]"), ({"u": [np.nan, 1.0]}, "u")):
        given = {} if "u" in over else {"inputs": {"u": 0.0}}
        en = dd.sweep(decay(), 1.0, over=over, save_at=[1.0], on=on, **given)
        assert en.stop_reason.values.tolist() == [reason.format(name), "reached t = 1"]
        assert np.isnan(en[next(iter(en.data.data_vars))].values[0]).all()
    with pytest.raises(dd.InputError, match="The value of k is nan"):
        dd.sweep(decay(), 1.0, over={"k": [np.nan, np.nan]}, inputs={"u": 0.0})


def test_result_saves_and_draws(tmp_path):
    en = dd.sweep(decay(), 1.0, over={"k": [1.0, 2.0]}, inputs={"u": 0.0})
    en.save(tmp_path / "sweep.nc")
    assert (tmp_path / "sweep.nc").stat().st_size > 0
    assert en.plot("sum") is not None
    with pytest.raises(dd.InputError, match="x is not a scalar of the sweep"):
        en.plot("x")
    with pytest.raises(dd.InputError, match="no variable 'y'"):
        en["y"]


@pytest.mark.parametrize(
    ("options", "headline"),
    [
        ({"over": {}}, "over= takes lists of values by name."),
        ({"over": {"q": [1.0]}}, "The model 'decay' has no variable 'q'."),
        ({"over": {"x": [1.0]}}, "The values of x are not a list of numbers."),
        ({"over": {"k": 1.0}}, "The values of k are not a list of numbers."),
        ({"over": {"x_dot[0]": [1.0]}}, "x_dot[0] cannot be swept."),
        ({"over": {"k": [1.0]}, "combine": "sum"}, "combine='sum' is not valid."),
        ({"over": {"k": [1.0], "u": [1.0, 2.0]}, "combine": "zip"}, 'combine="zip" needs lists of equal length.'),
        ({"over": {"k": [1.0]}, "method": "rk4"}, "The method 'rk4' needs a step."),
    ],
)
def test_wrong_arguments_are_named(options, headline):
    with pytest.raises(dd.InputError) as caught:
        dd.sweep(decay(), 1.0, inputs={"u": 0.0}, **options)
    assert str(caught.value).splitlines()[0] == headline
