"""Cases on lanes: equal to dd.simulate case by case, whatever the method, the lane, the block or the thread."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.compilation.lanes.machine import lane_width
from daedalus.ensembles.lanes import lane_runs as lane_runs_file
from daedalus.integrators.methods import METHODS


def pendulum():
    m = dd.Model("pendulum")
    angle, speed = m.state("angle", start=1.0), m.state("speed", start=0.0)
    length, u = m.parameter("length", 1.0), m.input("u")
    m.equation(m.der(angle), speed)
    m.equation(m.der(speed), -9.81 / length * ca.sin(angle) - 0.1 * speed + u)
    m.output("height", -length * ca.cos(angle))
    return m


def note(en, method, left=0):
    """What a sweep says of its cases where lanes ran them."""
    told = f"{en.data.sizes.get('case', en.success.size)} cases on {lane_width()} lanes of this processor, by {method}"
    return (f"{told}; {left} of them left to the scalar core" if left else told,)


def assert_cases_are_those_of_simulate(en, m, span, over, close, cases=(0, 3, -1), inside=None, **options):
    for k in cases:
        values = {name: float(column[k]) for name, column in over.items()}
        start = {name: v for name, v in values.items() if name in ("angle", "speed")}
        parameters = {"length": values["length"]} if "length" in values else {}
        tr = dd.simulate(m, span, start=start, parameters=parameters, save_at=en.data["time"].values, **options)
        for name in ("angle", "speed", "height"):
            rows, expected = en[name].values[k], tr[name]
            np.testing.assert_allclose(rows[[0, -1]], expected[[0, -1]], rtol=close, atol=close)
            # A single run makes rows inside a step anew where its polynomial misses the tolerance; kernels do not.
            np.testing.assert_allclose(rows, expected, rtol=inside or close, atol=inside or close)


OVER = {"length": np.linspace(0.5, 2.0, 7), "angle": np.linspace(-2.5, 2.5, 7)}
EXPLICIT = [name for name, method in METHODS.items() if method.explicit]


@pytest.mark.parametrize("method", EXPLICIT)
def test_every_explicit_method_of_the_table(method):
    m, times = pendulum(), np.linspace(0.0, 2.0, 9)
    options = {"method": method, "inputs": {"u": 0.0}, "rtol": 1e-7}
    if not METHODS[method].adaptive:
        options["step"] = 0.03
    en = dd.sweep(m, 2.0, over=OVER, combine="zip", on="cpu", save_at=times, **options)
    assert en.notes == note(en, method)
    assert_cases_are_those_of_simulate(en, m, 2.0, OVER, 1e-9, inside=10 * options["rtol"], **options)


def test_adaptive_methods_at_fixed_step_and_tableaux_of_ones_own():
    m = pendulum()
    for method, name in (("dopri5", "dopri5"), (dd.tableau("rk3", alpha=0.4), "rk3(alpha=2/5)")):
        options = {"method": method, "inputs": {"u": 0.0}, "step": 0.07}
        en = dd.sweep(m, 1.0, over=OVER, combine="zip", on="cpu", save_at=[0.0, 0.11, 1.0], **options)
        assert en.notes == note(en, name)
        assert_cases_are_those_of_simulate(en, m, 1.0, OVER, 1e-12, **options)


def test_auto_takes_lanes_for_many_cases_and_says_so():
    m = pendulum()
    over = {"length": np.linspace(0.5, 2.0, 1003), "angle": np.linspace(-2.5, 2.5, 1003)}
    en = dd.sweep(m, 1.0, over=over, combine="zip", inputs={"u": 0.1}, save_at=[0.5, 1.0])
    assert en.notes == note(en, "dop853")
    assert_cases_are_those_of_simulate(en, m, 1.0, over, 1e-9, inputs={"u": 0.1})
    few = dd.sweep(m, 1.0, over=OVER, combine="zip", inputs={"u": 0.1})
    assert few.notes == ("7 cases one by one: fewer than a kernel for many is worth",)


def test_results_do_not_depend_on_threads_blocks_or_width(monkeypatch):
    m = pendulum()
    over = {"length": np.linspace(0.3, 3.0, 513), "angle": np.linspace(-3.0, 3.0, 513)}

    def run(**options):
        return dd.sweep(m, 3.0, over=over, combine="zip", inputs={"u": 0.0}, on="cpu", method="tsit5", **options)

    one = run(workers=1)
    assert one.data.equals(run(workers=4).data)
    for width in (1, 4):
        monkeypatch.setattr(lane_runs_file, "lane_width", lambda width=width: width)
        monkeypatch.setattr(lane_runs_file, "MOST", 64 + width)
        assert one.data.equals(run(workers=2).data)


def test_inputs_as_tables_and_expressions():
    m, over = pendulum(), {"length": np.linspace(0.5, 2.0, 5)}
    steps = dd.signal([0.0, 0.31, 0.9], [0.0, 3.0, -1.0])
    ramps = dd.signal([0.0, 0.5, 2.0], [0.0, 2.0, -2.0], kind="linear")
    for u in (steps, ramps, lambda t: 2 * np.sin(7 * t), -0.5 * m["speed"]):
        for method in ({"method": "tsit5"}, {"method": "rk4", "step": 0.02}):
            options = {"inputs": {"u": u}, "rtol": 1e-8, **method}
            en = dd.sweep(m, 1.5, over=over, combine="zip", on="cpu", save_at=np.linspace(0, 1.5, 16), **options)
            assert en.notes == note(en, method["method"])
            assert_cases_are_those_of_simulate(en, m, 1.5, over, 1e-9, inside=10 * options["rtol"], **options)


def test_backwards_in_time_with_limits_of_steps():
    m = pendulum()
    options = {"inputs": {"u": 0.0}, "method": "dop853", "max_step": 0.1, "first_step": 0.01}
    en = dd.sweep(m, (2.0, 0.5), over=OVER, combine="zip", on="cpu", save_at=[2.0, 1.3, 0.5], **options)
    assert en.notes == note(en, "dop853")
    assert_cases_are_those_of_simulate(en, m, (2.0, 0.5), OVER, 1e-10, **options)


def explosion():
    m = dd.Model("explosion")
    x, k = m.state("x", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), k * x**2)
    return m


@pytest.mark.wide
@pytest.mark.parametrize("options", [{"method": "tsit5"}, {"method": "rk4", "step": 0.01}])
def test_a_case_that_fails_has_the_reason_and_the_rows_of_the_scalar_core(options):
    over = {"k": [0.1, 1.0, np.nan, 0.2, 0.3]}
    given = {"save_at": np.linspace(0, 2, 5), **options}
    en = dd.sweep(explosion(), 2.0, over=over, on="cpu", **given)
    assert en.notes == note(en, options["method"], left=2)
    assert en.success.values.tolist() == [True, False, False, True, True]
    tr = dd.simulate(explosion(), 2.0, parameters={"k": 1.0}, **given)
    assert en.stop_reason.values[1] == tr.stop_reason
    np.testing.assert_allclose(en["x"].values[1, : len(tr.time)], tr["x"])
    assert en["x"].values[4, -1] == pytest.approx(1 / (1 - 0.6), rel=1e-5)


def test_stiff_cases_change_the_method():
    m = dd.Model("stiff")
    x, k = m.state("x", start=0.0), m.parameter("k", 1.0)
    m.equation(m.der(x), -k * (x - ca.cos(m.time)))
    en = dd.sweep(m, 20.0, over={"k": [1.0, 2.0, 1e6, 3.0]}, on="cpu", save_at="end")
    assert en.notes == note(en, "dop853, stiff ones by rodas5p (1)")
    assert bool(en.success.all())
    assert en["x"].values[2, 0] == pytest.approx(np.cos(20.0), abs=1e-5)


def test_summaries_of_lanes():
    m, drawn = pendulum(), dd.sample({"length": dd.uniform(0.5, 2.0)}, 2000, kind="sobol")
    options = {"over": drawn, "inputs": {"u": 0.0}, "save_at": [0.5, 1.0], "outputs": ["angle", "height"]}
    whole = dd.sweep(m, 1.0, **options)
    bands = dd.sweep(m, 1.0, summary=("mean", "std", 0.5, "max"), **options)
    assert bands.notes == whole.notes == note(whole, "dop853")
    np.testing.assert_allclose(bands["angle"].sel(summary="mean"), whole["angle"].mean("case"), rtol=1e-12)
    np.testing.assert_allclose(bands["height"].sel(summary="max"), whole["height"].max("case"))


def test_what_no_lane_can_do_is_told():
    en = dd.sweep(pendulum(), 1.0, over=OVER, combine="zip", inputs={"u": 0.0}, on="cpu", method="radau5")
    assert en.notes == ("7 cases one by one: radau5 solves equations in every step",)


def test_without_llvm_cases_run_one_by_one(monkeypatch):
    monkeypatch.setenv("DAEDALUS_COMPILER", "interpreter")
    en = dd.sweep(pendulum(), 1.0, over=OVER, combine="zip", inputs={"u": 0.0}, on="cpu")
    assert en.notes == ("7 cases one by one: there are no lanes without LLVM and fused multiply-add",)


def test_notes_are_kept_in_files(tmp_path):
    en = dd.sweep(pendulum(), 1.0, over=OVER, combine="zip", inputs={"u": 0.0}, on="cpu", method="rk4", step=0.1)
    en.save(tmp_path / "sweep.nc")
    assert dd.load(tmp_path / "sweep.nc").notes == en.notes


def test_delayed_signals_are_run_one_by_one():
    """Kernels know no history: their delayed signals stayed zero, with success."""
    m = dd.Model("late")
    x, a = m.state("x", start=1.0), m.parameter("a", 1.3)
    m.equation(m.der(x), -a * m.delay(x, 0.7))
    en = dd.sweep(m, 1.4, over={"a": [1.3, 1.0]}, on="cpu", save_at=[0.7, 1.4])
    assert en.notes == ("2 cases one by one: its delays look back at what was",)
    for k, a in enumerate((1.3, 1.0)):  # by steps: x' = -a, then x'(t) = -a (1 - a (t - 0.7))
        expected = [1 - 0.7 * a, 1 - 1.4 * a + a**2 * 0.7**2 / 2]
        np.testing.assert_allclose(en["x"].values[k], expected, rtol=1e-6)
