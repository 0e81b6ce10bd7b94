"""sweep(summary=...): statistics over cases as they come in, the same for any number of threads."""

import tracemalloc

import numpy as np
import pytest

import daedalus as dd
from daedalus.ensembles import collected


def decay():
    m = dd.Model("decay")
    x = m.state("x", 2, start=[1.0, 2.0])
    k = m.parameter("k", 1.0)
    u = m.input("u")
    m.equation(m.der(x), -k * x + u)
    m.output("sum", x[0] + x[1])
    return m


OVER = dd.sample({"k": dd.normal(1.0, 0.1), "x[0]": dd.uniform(0, 1)}, 300, kind="latin", seed=4)
ASKED = ("mean", "std", 0.05, 0.5, "min", "max")


def test_statistics_are_those_of_the_cases():
    whole = dd.sweep(decay(), 1.0, over=OVER, inputs={"u": 0.0}, save_at=[0.5, 1.0])
    short = dd.sweep(decay(), 1.0, over=OVER, inputs={"u": 0.0}, save_at=[0.5, 1.0], summary=ASKED)
    assert whole["x"].dims == ("case", "time", "x_index")
    assert short["x"].dims == ("summary", "time", "x_index")
    for name in ("x", "sum"):
        values = whole[name].values
        for asked, expected in (
            ("mean", values.mean(axis=0)),
            ("std", values.std(axis=0)),
            (0.05, np.quantile(values, 0.05, axis=0)),
            (0.5, np.median(values, axis=0)),
            ("min", values.min(axis=0)),
            ("max", values.max(axis=0)),
        ):
            np.testing.assert_allclose(short[name].sel(summary=asked).values, expected, rtol=1e-12)
    assert repr(short) == "Ensemble(mean, std, 0.05, 0.5, min, max over 300 cases; 0 left out)"


def test_threads_change_no_bit():
    one, three = (
        dd.sweep(decay(), 1.0, over=OVER, inputs={"u": 0.0}, save_at="end", summary=ASKED, workers=w) for w in (1, 3)
    )
    assert one.data.equals(three.data)


def test_failed_cases_are_left_out_and_listed():
    m = dd.Model("explosion")
    x, k = m.state("x", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), k * x**2)
    en = dd.sweep(m, 2.0, over={"k": [0.1, 1.0, 0.2, np.nan]}, save_at="end", summary=("mean", "max"))
    exact = [1 / (1 - 0.1 * 2), 1 / (1 - 0.2 * 2)]
    assert float(en["x"].sel(summary="mean", time=2.0)) == pytest.approx(np.mean(exact), rel=1e-4)
    assert en.failed[0][0] == {"k": 1.0}
    assert len(en.failed) == 2
    with pytest.raises(dd.InputError, match="A summary keeps no success of every case"):
        _ = en.success


def test_the_end_alone_is_kept_where_events_end_runs_too():
    m = dd.Model("fall")
    h, v = m.state("h", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -10.0)
    m.event("floor", h, direction=-1, terminal=True)
    en = dd.sweep(m, 1.0, over={"h": [0.2, 0.8, 20.0]}, save_at="end")
    assert en["v"].dims == ("h_start", "time")
    np.testing.assert_allclose(en["end_time"].values, [np.sqrt(0.04), np.sqrt(0.16), 1.0], rtol=1e-6)
    np.testing.assert_allclose(en["v"].values[:, 0], [-2.0, -4.0, -10.0], rtol=1e-6)


def test_results_equal_those_of_simulate_case_by_case():
    """Explicit, implicit and constrained models; parameters, starts and inputs."""
    m = decay()
    over = {"k": [0.5, 2.0], "x[1]": [1.0, 3.0], "u": [0.0, 0.3]}
    for method in ("auto", "radau5"):
        en = dd.sweep(
            m, 1.0, over=over, combine="zip", method=method, save_at=[0.3, 1.0], outputs=["x", "sum", "x_dot"]
        )
        for case in range(2):
            tr = dd.simulate(
                m,
                1.0,
                start={"x[1]": over["x[1]"][case]},
                parameters={"k": over["k"][case]},
                inputs={"u": over["u"][case]},
                method=method,
                save_at=[0.3, 1.0],
            )
            for name in ("x", "sum", "x_dot"):
                assert np.array_equal(en[name].values[case], tr[name])


def test_a_constrained_model_begins_on_its_constraints_in_every_case():
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0])
    L = m.parameter("L", 1.0)
    m.kinetic_energy(0.5 * (m.rate(q)[0] ** 2 + m.rate(q)[1] ** 2))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", q[0] ** 2 + q[1] ** 2 - L**2)
    en = dd.sweep(m, 0.5, over={"L": [1.0, 2.0], "q[0]": [1.0, 2.0]}, combine="zip", save_at="end")
    radius = np.hypot(en["q"].values[:, 0, 0], en["q"].values[:, 0, 1])
    np.testing.assert_allclose(radius, [1.0, 2.0], rtol=1e-8)


def test_data_frames_and_vectors_are_cases():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"k": [1.0, 2.0, 3.0], "u": [0.0, 0.1, 0.2]})
    en = dd.sweep(decay(), 1.0, over=frame, save_at="end")
    assert en["x"].dims == ("case", "time", "x_index")
    again = dd.sweep(decay(), 1.0, over=frame.to_xarray(), save_at="end")
    assert np.array_equal(en["x"], again["x"])
    columns = {"k": frame["k"], "u": frame.to_xarray()["u"]}
    assert np.array_equal(dd.sweep(decay(), 1.0, over=columns, combine="zip", save_at="end")["x"], en["x"])
    starts = np.array([[1.0, 2.0], [3.0, 4.0]])
    vectors = dd.sweep(decay(), 1.0, over={"x": starts}, combine="zip", inputs={"u": 0.0}, save_at=[0.0])
    assert np.array_equal(vectors["x"].values[:, 0], starts)


def test_a_result_beyond_memory_is_refused_at_once(monkeypatch):
    many = np.linspace(1, 2, 100_000)
    with pytest.raises(dd.InputError) as caught:
        dd.sweep(decay(), 1.0, over={"k": many, "x[0]": many, "x[1]": many}, inputs={"u": 0.0})
    assert "does not fit into memory" in str(caught.value)
    assert 'summary=("mean", "std", 0.05, 0.95), save_at="end", outputs=[...], or fewer combinations' in str(
        caught.value
    )
    monkeypatch.setattr(collected, "available_bytes", lambda: 1000)
    with pytest.raises(dd.InputError, match=r"numbers with \d+ places each"):
        dd.sweep(decay(), 1.0, over={"k": many}, inputs={"u": 0.0}, summary=("mean", 0.5))


def test_saved_ensembles_are_read_back_bit_for_bit(tmp_path):
    whole = dd.sweep(decay(), 1.0, over={"k": [1.0, 2.0], "x[0]": [0.0, 1.0]}, inputs={"u": 0.0}, save_at=[0.5, 1.0])
    short = dd.sweep(decay(), 1.0, over=OVER, inputs={"u": 0.0}, save_at=[0.5, 1.0], summary=ASKED)
    for k, en in enumerate((whole, short)):
        file = tmp_path / f"{k}.nc"
        en.save(file)
        again = dd.load(file)
        assert isinstance(again, dd.Ensemble)
        assert again.data.identical(en.data)
        assert repr(again) == repr(en)
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
        with pytest.raises(dd.InputError, match=r"The file is damaged\."):
            dd.load(file)


@pytest.mark.parametrize(
    ("options", "headline"),
    [
        ({"summary": ("median",)}, "'median' is not a statistic."),
        ({"summary": (1.5,)}, "1.5 is not a statistic."),
        ({"summary": ("mean", "mean")}, "summary= names a statistic twice."),
        ({"outputs": ["y"]}, "The model has no variable 'y' to keep."),
        ({"workers": 0}, "workers= is not a number of threads."),
        ({"on": "moon"}, "on='moon' is not valid."),
    ],
)
def test_wrong_arguments_are_named(options, headline):
    with pytest.raises(dd.InputError) as caught:
        dd.sweep(decay(), 1.0, over={"k": [1.0]}, inputs={"u": 0.0}, **options)
    assert str(caught.value).splitlines()[0] == headline


@pytest.mark.long
def test_memory_does_not_grow_with_the_number_of_cases():
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), -k * x)
    peaks = []
    for count in (10_000, 10_000_000):
        over = {"k": np.linspace(0.5, 2.0, count // 100), "x": np.linspace(0.5, 1.5, 100)}
        options = {"save_at": "end", "method": "rk4", "step": 0.1, "workers": 1, "on": "cpu"}
        tracemalloc.start()
        en = dd.sweep(m, 1.0, over=over, summary=("mean", "std", 0.05, 0.95, "min", "max"), **options)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert int(en.data["cases"]) == count
    # The mean of exp(-k) over k, times that of x, which is one.
    assert float(en["x"].sel(summary="mean")[0]) == pytest.approx((np.exp(-0.5) - np.exp(-2.0)) / 1.5, rel=1e-4)
    # A thousand times the cases: the values on their axes, a few more levels of the sketch, and blocks of full size.
    assert peaks[1] < peaks[0] + 2**23
