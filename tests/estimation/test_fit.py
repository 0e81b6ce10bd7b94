"""Fits against closed forms, published values and wrong data."""

import casadi as ca
import numpy as np
import pytest
from unit_registry import UNITS

import daedalus as dd
from daedalus.estimation.residual_tests import judged_as_noise


def decay() -> dd.Model:
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    k, u = m.parameter("k", 1.0), m.input("u")
    m.equation(m.der(x), -k * x + u)
    return m


TIMES = np.linspace(0.0, 2.0, 21)


def test_the_covariance_of_a_linear_problem_is_the_closed_form():
    m = dd.Model("line")
    x = m.state("x", start=0.0)
    a, b = m.parameter("a", 1.0), m.parameter("b", 0.0)
    m.equation(m.der(x), a + b * m.time)
    random = np.random.default_rng(1)
    data = 2.0 * TIMES - 0.5 * TIMES**2 / 2 + 0.1 * random.normal(size=len(TIMES))
    fit = dd.fit(m, {"time": TIMES, "x": data}, free=["a", "b"], noise={"x": 0.1})
    basis = np.column_stack([TIMES, TIMES**2 / 2])
    values, covariance = np.linalg.lstsq(basis, data)[0], 0.01 * np.linalg.inv(basis.T @ basis)
    np.testing.assert_allclose([fit["a"], fit["b"]], values, rtol=1e-7)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-6)
    expected = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert float(fit.correlation.sel(name="a", other="b")) == pytest.approx(expected, rel=1e-6)
    assert fit.chi_squared == pytest.approx(np.sum((basis @ values - data) ** 2) / 0.01, rel=1e-7)
    # Of a linear problem the profile is the linear interval.
    for name, (low, high) in fit.confidence(0.9, by="profile").items():
        np.testing.assert_allclose((low, high), fit.confidence(0.9)[name], rtol=1e-3)


def test_starts_inputs_missing_samples_and_experiments_of_their_own():
    m = decay()

    def measured(start, drive):
        x = dd.simulate(m, 2.0, start={"x": start}, inputs={"u": dd.signal(TIMES, drive, "linear")},
                        parameters={"k": 0.7}, rtol=1e-11, atol=1e-12, save_at=TIMES)["x"]  # fmt: skip
        x[3:6] = np.nan
        return {"time": TIMES, "x": x, "u": drive}

    data = [measured(2.0, np.sin(TIMES)), measured(-1.0, np.zeros_like(TIMES))]
    fit = dd.fit(m, data, free=["k", "x"], per_experiment=["x"])
    assert fit.labels == ["k", "x, experiment 0", "x, experiment 1"]
    np.testing.assert_allclose(list(fit.values()), [0.7, 2.0, -1.0], rtol=1e-7)
    assert np.isnan(fit.residuals[0]["x"][3:6]).all()
    assert fit.model.freeze().start["p"].tolist() == pytest.approx([0.7])


def test_bounds_and_priors():
    data = {"time": TIMES, "x": np.exp(-0.7 * TIMES)}
    assert dd.fit(decay(), data, free="k", bounds={"k": (0.8, 2.0)}, inputs={"u": 0.0})["k"] == pytest.approx(0.8)
    tight = dd.fit(decay(), data, free="k", noise=0.1, prior={"k": (0.9, 1e-4)}, inputs={"u": 0.0})
    assert tight["k"] == pytest.approx(0.9, abs=1e-3)


def test_a_robust_loss_forgives_a_wrong_sample():
    x = np.exp(-0.7 * TIMES)
    x[5] = 3.0
    data = {"time": TIMES, "x": x}
    plain, robust = (
        dd.fit(decay(), data, free="k", noise=0.01, loss=loss, inputs={"u": 0.0})["k"] for loss in ("linear", "cauchy")
    )
    assert abs(robust - 0.7) < 1e-3 < abs(plain - 0.7)


def test_what_data_cannot_tell_is_named():
    m = dd.Model("pendulum")
    a, w = m.state("angle", start=0.5), m.state("rate", start=0.0)
    mass, length, torque = m.parameter("mass", 2.0), m.parameter("length", 0.7), m.parameter("stiffness", 3.0)
    m.equation(m.der(a), w)
    m.equation(mass * length**2 * m.der(w), -torque * a)
    at = dd.simulate(m, 2.0, save_at=TIMES)
    fit = dd.fit(m, {"time": TIMES, "angle": at["angle"]}, free=["mass", "length"], noise=0.01)
    assert [str(direction) for direction in fit.unidentifiable] == ["only mass · length² is seen"]
    assert fit.std["mass"] == np.inf
    assert "only mass · length² is seen" in repr(fit)


def test_sums_that_data_cannot_tell_apart_are_named():
    m = dd.Model("decay")
    x, a, b = m.state("x", start=2.0), m.parameter("a", 1.0), m.parameter("b", 0.5)
    m.equation(m.der(x), -(a + b) * x)
    fit = dd.fit(m, {"time": TIMES, "x": 2 * np.exp(-1.5 * TIMES)}, free=["a", "b"], noise=0.01)
    assert [str(direction) for direction in fit.unidentifiable] == ["near these values only a + b is seen"]


def test_the_length_of_a_pendulum_with_a_constraint():
    """Index 3: the start moves along with the length."""

    def pendulum(length):
        m = dd.Model("pendulum")
        L = m.parameter("L", length)
        q = m.coordinate("q", 2, start=[length * np.sin(0.5), -length * np.cos(0.5)])
        m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
        m.potential_energy(9.81 * q[1])
        m.constraint("rod", ca.sumsqr(q) - L**2)
        return m

    at = dd.simulate(pendulum(1.2), 2.0, save_at=TIMES, rtol=1e-10)
    fit = dd.fit(pendulum(1.0), {"time": TIMES, "q": at["q"]}, free=["L"], noise=0.01)
    assert fit["L"] == pytest.approx(1.2, rel=1e-6)


@pytest.mark.wide
def test_estimates_lie_within_their_intervals_at_the_stated_rate():
    random, inside, draws = np.random.default_rng(7), 0, 200
    m, exact = decay(), np.exp(-0.7 * TIMES)
    for _ in range(draws):
        data = {"time": TIMES, "x": exact + 0.02 * random.normal(size=len(TIMES))}
        low, high = dd.fit(m, data, free="k", inputs={"u": 0.0}).confidence(0.9)["k"]
        inside += low <= 0.7 <= high
    # Three standard deviations of a count of 200 at 0.9.
    assert abs(inside - 180) < 3 * np.sqrt(200 * 0.9 * 0.1)


def test_progress_is_told():
    data, told = {"time": TIMES, "x": np.exp(-0.7 * TIMES)}, []
    fit = dd.fit(decay(), data, free="k", inputs={"u": 0.0}, progress=lambda runs, least: told.append((runs, least)))
    assert [runs for runs, _ in told] == list(range(1, len(told) + 1))
    assert told[0][1] > told[-1][1] == pytest.approx(0.0, abs=1e-12)
    assert fit.success


@pytest.mark.parametrize("starts", [1, 3])
def test_an_interrupt_returns_the_best_so_far(starts):
    data = {"time": TIMES, "x": np.exp(-0.7 * TIMES)}

    def impatient(runs, least):
        if runs == 3:
            raise KeyboardInterrupt

    fit = dd.fit(decay(), data, free="k", inputs={"u": 0.0}, noise=0.01, starts=starts, progress=impatient)
    assert (fit.success, fit.message, fit.evaluations) == (False, "interrupted by the user", 3)
    assert abs(fit["k"] - 0.7) < 0.1 < 0.3
    assert "(interrupted by the user)" in repr(fit)


def test_residuals_of_the_right_model_look_like_noise_and_those_of_a_wrong_one_do_not():
    random, times = np.random.default_rng(4), np.linspace(0, 3, 200)
    noise = 0.02 * random.normal(size=200)
    right = dd.fit(decay(), {"time": times, "x": np.exp(-0.7 * times) + noise}, free="k", inputs={"u": 0.0})
    tests = right.residual_tests["x"]
    assert min(tests.runs, tests.whiteness, tests.normality) > 0.01
    assert tests.doubts == ()
    assert "no noise" not in repr(right)
    swinging = np.exp(-0.7 * times) + 0.05 * np.sin(4 * times) + noise
    wrong = dd.fit(decay(), {"time": times, "x": swinging}, free="k", inputs={"u": 0.0})
    assert wrong.residual_tests["x"].doubts[:2] == (
        "they keep one sign too long or change it too often",
        "neighbours are correlated",
    )
    assert "the residuals of x are not noise: they keep one sign too long" in repr(wrong)
    tailed = np.exp(-0.7 * times) + 0.02 * random.standard_t(1.5, size=200)
    assert "they are not normally distributed" in (
        dd.fit(decay(), {"time": times, "x": tailed}, free="k", inputs={"u": 0.0}).residual_tests["x"].doubts
    )


def test_probabilities_of_noise_are_evenly_spread():
    """Each test is conspicuous in five of a hundred draws of noise."""
    random = np.random.default_rng(11)
    found = np.array([list(vars(judged_as_noise([random.normal(size=120)])).values()) for _ in range(300)])
    assert np.all(np.abs(np.mean(found < 0.05, axis=0) - 0.05) < 3.5 * np.sqrt(0.05 * 0.95 / 300))


def test_what_is_believed_counts_where_data_is_silent():
    m = dd.Model("spring")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    k, mass = m.parameter("k", 4.0), m.parameter("mass", 1.0)
    m.equation([m.der(x), mass * m.der(v)], [v, -k * x])
    data = {"time": TIMES, "x": np.cos(2 * TIMES)}
    fit = dd.fit(m, data, free=["k", "mass"], noise=1e-8, prior={"mass": (1.0, 0.2)})
    assert fit.unidentifiable == []
    assert fit.std["mass"] == pytest.approx(0.2, rel=1e-3)


# -- published fits ----------------------------------------------------------------------------------------------------


def test_misra1a():
    """NIST StRD, https://www.itl.nist.gov/div898/strd/nls/data/misra1a.shtml, y = b1 (1 − exp(−b2 x))."""
    x = [77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0]
    y = [10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78]
    m = dd.Model("misra1a")
    volume = m.state("y", start=0.0)
    b1, b2 = m.parameter("b1", 250.0), m.parameter("b2", 5e-4)
    m.equation(m.der(volume), b2 * (b1 - volume))
    fit = dd.fit(m, {"time": [0.0, *x], "y": [np.nan, *y]}, free=["b1", "b2"], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose([fit["b1"], fit["b2"]], [2.3894212918e2, 5.5015643181e-4], rtol=1e-8)
    np.testing.assert_allclose([fit.std["b1"], fit.std["b2"]], [2.7070075241, 7.2668688436e-6], rtol=1e-6)
    assert fit.noise["y"] == pytest.approx(1.0187876330e-1, rel=1e-8)


def test_lanczos1():
    """NIST StRD, https://www.itl.nist.gov/div898/strd/nls/data/lanczos1.shtml, y = Σ bᵢ exp(−rᵢ x), start 2."""
    y = [
        2.513400000000, 2.044333373291, 1.668404436564, 1.366418021208, 1.123232487372, 9.268897180037e-1,
        7.679338563728e-1, 6.388775523106e-1, 5.337835317402e-1, 4.479363617347e-1, 3.775847884350e-1,
        3.197393199326e-1, 2.720130773746e-1, 2.324965529032e-1, 1.996589546065e-1, 1.722704126914e-1,
        1.493405660168e-1, 1.300700206922e-1, 1.138119324644e-1, 1.000415587559e-1, 8.833209084540e-2,
        7.833544019350e-2, 6.976693743449e-2, 6.239312536719e-2,
    ]  # fmt: skip
    m = dd.Model("lanczos")
    parts = m.state("parts", 3, start=[0.5, 3.6, 4.0])
    rate = [m.parameter(f"r{k}", value) for k, value in enumerate((0.7, 4.2, 6.3))]
    m.equation(m.der(parts), -ca.vertcat(*rate) * parts)
    m.output("y", ca.sum1(parts))
    data = {"time": 0.05 * np.arange(24), "y": y}
    fit = dd.fit(m, data, free=["r0", "r1", "r2", "parts"], rtol=1e-13, atol=1e-15)
    order = np.argsort([fit[f"r{k}"] for k in range(3)])
    rates, amounts = (np.array([fit[name.format(k)] for k in range(3)])[order] for name in ("r{}", "parts[{}]"))
    np.testing.assert_allclose(rates, [1.0000000001, 3.0000000002, 5.0000000001], rtol=1e-8)
    np.testing.assert_allclose(amounts, [9.5100000027e-2, 8.6070000013e-1, 1.5575999998], rtol=1e-8)


def test_alpha_pinene():
    """Box, Hunter, MacGregor, Erjavec 1973; data as in MINPACK-2 and COPS 3.1 (Dolan, Moré, Munson 2004).

    Published coefficients have four or five digits; with them the sum of squares is 19.872393.
    """
    times = [0.0, 1230.0, 3060.0, 4920.0, 7800.0, 10680.0, 15030.0, 22620.0, 36420.0]
    shares = np.array(
        [
            [100.0, 0.0, 0.0, 0.0, 0.0],
            [88.35, 7.3, 2.3, 0.4, 1.75],
            [76.4, 15.6, 4.5, 0.7, 2.8],
            [65.1, 23.1, 5.3, 1.1, 5.8],
            [50.4, 32.9, 6.0, 1.5, 9.3],
            [37.5, 42.7, 6.0, 1.9, 12.0],
            [25.9, 49.1, 5.9, 2.2, 17.0],
            [14.0, 57.4, 5.1, 2.6, 21.0],
            [4.5, 63.1, 3.8, 2.9, 25.7],
        ]
    )
    m = dd.Model("alpha_pinene")
    y = m.state("y", 5, start=[100.0, 0.0, 0.0, 0.0, 0.0])
    p = [m.parameter(f"p{k}", 3e-5) for k in range(1, 6)]
    m.equation(
        m.der(y),
        ca.vertcat(
            -(p[0] + p[1]) * y[0], p[0] * y[0], p[1] * y[0] - (p[2] + p[3]) * y[2] + p[4] * y[4], p[2] * y[2],
            p[3] * y[2] - p[4] * y[4],
        ),
    )  # fmt: skip
    fit = dd.fit(m, {"time": times, "y": shares}, free=[f"p{k}" for k in range(1, 6)], noise=1.0)
    assert 19.871 < fit.chi_squared < 19.872393
    np.testing.assert_allclose(list(fit.values()), [5.9256e-5, 2.9632e-5, 2.0450e-5, 2.7473e-4, 4.0073e-5], rtol=3e-3)


# -- wrong data --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"time": TIMES, "y": TIMES}, "No column is a variable of the model."),
        ({"t": TIMES, "x": TIMES}, "The data has no column 'time'."),
        ({"time": TIMES, "x": np.full(21, np.nan)}, "All samples are missing."),
        ({"time": TIMES[::-1], "x": TIMES}, "The times do not increase."),
        ({"time": [0.0], "x": [1.0]}, "The data has one sample."),
        ([], "There is no data to fit to."),
        (3.0, "The data has an unknown type."),
    ],
)
def test_wrong_data_is_told(data, text):
    with pytest.raises(dd.InputError) as caught:
        dd.fit(decay(), data, free=["k"], inputs={"u": 0.0})
    assert caught.value.what == text


def test_a_column_that_is_no_variable_is_told_with_the_names_to_take():
    with pytest.raises(dd.InputError) as caught:
        dd.fit(decay(), {"time": TIMES, "measured": TIMES}, free=["k"], inputs={"u": 0.0})
    assert caught.value.facts[0] == "columns: measured"
    assert caught.value.facts[1].startswith("the model has x")
    assert caught.value.remedy == "data.rename(columns={'measured': 'x'})"


def test_frames_datasets_and_files_are_read(tmp_path):
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    x = np.exp(-0.7 * TIMES)
    frame = pandas.DataFrame({"time": TIMES, "x": x})
    frame.to_csv(tmp_path / "run.csv", index=False)
    dataset = xarray.Dataset({"x": ("time", x)}, coords={"time": TIMES})
    for data in (frame, frame.set_index("time"), dataset, tmp_path / "run.csv"):
        assert dd.fit(decay(), data, free="k", inputs={"u": 0.0})["k"] == pytest.approx(0.7, rel=1e-7)


def test_unknowns_that_cannot_be_found_are_refused():
    data = {"time": TIMES, "x": TIMES}
    with pytest.raises(dd.InputError, match="u cannot be fitted"):
        dd.fit(decay(), data, free=["u"])
    with pytest.raises(dd.InputError, match=r"bounds= has L, which is not free"):
        dd.fit(decay(), data, free=["k"], bounds={"L": (0, 1)}, inputs={"u": 0.0})


def test_a_plot_shows_data_and_model():
    pytest.importorskip("matplotlib")
    figure = dd.fit(decay(), {"time": TIMES, "x": np.exp(-0.7 * TIMES)}, free="k", inputs={"u": 0.0}).plot()
    assert len(figure.axes[0].lines) == 2


def test_quantities_are_taken_wherever_numbers_are():
    """Bounds, beliefs, noise, data, starts and parameters in any unit of the same quantity; others are refused."""
    unit = UNITS.Quantity
    m = dd.Model("spring")
    x, v = m.state("x", start=1.0, unit="m"), m.state("v", start=0.0, unit="m/s")
    k = m.parameter("k", 3.0, unit="N/m")
    m.equation([m.der(x), m.der(v)], [v, -k * x])
    times = np.linspace(0, 3, 31)
    plain = {"time": times, "x": np.cos(2 * times)}
    mine = {"time": unit(1e3 * times, "ms"), "x": unit(1e2 * np.cos(2 * times), "cm")}
    random = np.random.default_rng(1)
    for _ in range(5):
        low, high = np.sort(random.uniform(1.0, 9.0, 2))
        belief, noise = (
            (float(random.uniform(2, 5)), float(random.uniform(0.1, 2.0))),
            float(random.uniform(0.001, 0.1)),
        )
        expected = dd.fit(m, plain, "k", bounds={"k": (low, high)}, prior={"k": belief}, noise=noise)
        bounds = [(unit(low, "N/m"), unit(high * 1e-3, "N/mm")), unit([low, high], "N/m"), (low, unit(high, "N/m"))]
        prior = (unit(belief[0] * 1e-3, "N/mm"), unit(belief[1] * 1e3, "mN/m"))
        found = dd.fit(
            m, mine, "k", bounds={"k": bounds[int(random.integers(3))]}, prior={"k": prior},
            noise={"x": unit(noise * 1e3, "mm")}, start={"x": unit(100.0, "cm")}, parameters={"k": unit(3e-3, "N/mm")},
        )  # fmt: skip
        assert found["k"] == pytest.approx(expected["k"], rel=1e-7)
        assert found.std["k"] == pytest.approx(expected.std["k"], rel=1e-6)
    assert dd.fit(m, plain, "k", bounds={"k": (None, unit(9, "N/m"))})["k"] == pytest.approx(4.0)
    assert dd.fit(m, plain, "k", bounds={"k": (None, None)})["k"] == pytest.approx(4.0)
    second, wrong = unit(1.0, "s"), dd.InputError
    for options in ({"bounds": {"k": (second, second)}}, {"prior": {"k": (second, second)}}, {"noise": second},
                    {"bounds": {"k": 3}}, {"bounds": {"k": ("low", 2)}}, {"bounds": {"k": (1, 2, 3)}}, {"bounds": 3},
                    {"prior": {"k": (None, 1.0)}}, {"bounds": {"k": (np.nan, 2.0)}}, {"start": {"x": second}},
                    {"parameters": {"k": second}}):  # fmt: skip
        with pytest.raises(wrong) as caught:
            dd.fit(m, plain, ["k", "x"], **options)
        assert caught.value.what
    with pytest.raises(wrong, match="The column x is in m"):
        dd.fit(m, {"time": times, "x": unit(times, "s")}, "k")


def test_quantities_in_estimators():
    unit = UNITS.Quantity
    m = dd.Model("cart")
    x, v, u = m.state("x", start=1.0, unit="m"), m.state("v", start=0.0, unit="m/s"), m.input("u", unit="N")
    m.equation([m.der(x), m.der(v)], [v, u])
    plain = dd.Estimator(
        m, ["x"], every=0.1, start_covariance={"x": 1e-4}, process_noise={"v": 0.2}, measurement_noise={"x": 1e-4}
    )
    mine = dd.Estimator(
        m, ["x"], every=unit(100, "ms"), start_covariance={"x": unit(1.0, "cm**2")},
        process_noise={"v": unit(0.2, "m**2/s**3")}, measurement_noise={"x": unit(100.0, "mm**2")},
    )  # fmt: skip
    for y, inputs in ((unit([110.0], "cm"), [unit(1.0, "N")]), ([unit(1.1, "m")], {"u": unit(1e-3, "kN")})):
        np.testing.assert_allclose(mine(y, inputs), plain([1.1], [1.0]), rtol=1e-9)
    with pytest.raises(dd.InputError, match="x is in m"):
        mine([unit(1.0, "s")], [0.0])
