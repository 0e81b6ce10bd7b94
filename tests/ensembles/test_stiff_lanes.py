"""Rosenbrock methods on lanes: the steps of the scalar core, published references, and what a lane hands back to it."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.compilation.lanes.machine import lane_width
from daedalus.ensembles.lanes import lane_runs as lane_runs_file
from daedalus.ensembles.lanes import rosenbrock_kernel as rosenbrock_kernel_file
from daedalus.ensembles.lanes.rosenbrock_control import RosenbrockControl
from daedalus.ensembles.lanes.straight_elimination import find_elimination
from daedalus.integrators.methods import METHODS

ROSENBROCK = [name for name, method in METHODS.items() if method.family == "rosenbrock"]


def note(count, method, left=0):
    told = f"{count} cases on {lane_width()} lanes of this processor, by {method}"
    return (f"{told}; {left} of them left to the scalar core" if left else told,)


def steps_of_lanes(monkeypatch):
    """Steps and rejections of all blocks that follow."""
    found, block_of = [], lane_runs_file.LaneRuns.block_of

    def watched(self, *given):
        done = block_of(self, *given)
        found.extend(zip(done.steps.tolist(), done.rejected.tolist()))
        return done

    monkeypatch.setattr(lane_runs_file.LaneRuns, "block_of", watched)
    return found


@pytest.mark.parametrize("method", ROSENBROCK)
@pytest.mark.parametrize(("name", "parameter", "values"), [
    ("robertson", "rate[0]", np.linspace(0.03, 0.05, 9)),
    ("chemical_akzo", "klA", np.linspace(2.0, 5.0, 9)),
])  # fmt: skip
def test_daes_of_index_1_take_the_steps_of_the_core(method, name, parameter, values, monkeypatch):
    k, taken = catalogue.load(name), steps_of_lanes(monkeypatch)
    span = min(k.span[1], 1e4)
    options = {"start": k.start, "method": method, "rtol": 1e-6, "save_at": np.linspace(0.0, span, 6)}
    en = dd.sweep(k.model, span, over={parameter: values}, on="cpu", **options)
    assert en.notes == note(len(values), method)
    for case, value in enumerate(values):
        tr = dd.simulate(k.model, span, parameters={parameter: value}, **options)
        # Lengths of steps agree to 1e-8: at the edge of the tolerance, as in the layer of robertson, one fails alone.
        most = int((name, method) == ("robertson", "rodas5p"))
        assert np.abs(np.subtract(taken[case], (tr.work.steps, tr.work.rejected))).max() <= most
        np.testing.assert_allclose(en["y"].values[case], tr["y"], rtol=2e-5, atol=2e-8)


def test_a_step_divides_by_its_pivots_alone(monkeypatch):
    """Divisions and roots are dear on a GPU: the stages of n unknowns have n of them, the controller has none."""
    found = {}

    def counted(owner, name):
        plain = getattr(owner, name)

        def watched(self, *given):
            before = len(self.frame.w.whole_text())
            done = plain(self, *given)
            lines = self.frame.w.whole_text()[before:]
            found[name] = sum("fdiv" in line or "llvm.sqrt" in line for line in lines)
            return done

        monkeypatch.setattr(owner, name, watched)

    counted(RosenbrockControl, "judge")
    counted(rosenbrock_kernel_file._RosenbrockStep, "_stages")
    m = dd.Model("three")
    x, k = m.state("x", 3, start=[1.0, 0.0, 0.0]), m.parameter("k", 0.043)
    m.equation(m.der(x), ca.vertcat(-k * x[0] + x[1] * x[2], k * x[0] - 30 * x[1] ** 2, 30 * x[1] ** 2 - x[1] * x[2]))
    dd.sweep(m, 1.0, over={"k": [0.03, 0.05]}, method="rodas5p", save_at="end", on="cpu")
    assert found == {"_stages": 3, "judge": 0}


def test_published_references_are_reached():
    for name, close in (("robertson", 1e-4), ("chemical_akzo", 1e-5)):
        k = catalogue.load(name)
        parameter = {"robertson": "rate[0]", "chemical_akzo": "klA"}[name]
        value = {"robertson": 0.04, "chemical_akzo": 3.3}[name]
        over = {parameter: [value, 1.1 * value]}
        en = dd.sweep(k.model, k.span, over=over, start=k.start, method="rodas5p", rtol=1e-8, atol=1e-10, on="cpu")
        assert en.notes == note(2, "rodas5p")
        np.testing.assert_allclose(en["y"].values[0, -1], k.reference["y"], rtol=close)


def circuit():
    """An algebraic voltage between a driven source and a stiff branch; equations in an order of their own."""
    m = dd.Model("circuit")
    charge, slow = m.state("charge", start=0.0), m.state("slow", start=1.0)
    voltage, u = m.algebraic("voltage", start=0.5), m.input("u")
    stiffness, load = m.parameter("stiffness", 1e4), m.parameter("load", 1.0)
    m.equation(voltage + load * voltage**3, u + charge)
    m.equation(m.der(slow), voltage - slow)
    m.equation(2.0 * m.der(charge), -stiffness * (charge - ca.cos(m.time)))
    m.output("power", voltage * charge)
    return m


def test_driven_equations_with_z_by_tables_and_functions():
    m, over = circuit(), {"load": np.linspace(0.5, 2.0, 9)}
    steps = dd.signal([0.0, 0.31, 0.9], [0.0, 3.0, -1.0])
    ramps = dd.signal([0.0, 0.5, 2.0], [0.0, 2.0, -2.0], kind="linear")
    for u in (1.0, steps, ramps, lambda t: 2 * np.sin(7 * t)):
        options = {"inputs": {"u": u}, "method": "rodas5p", "rtol": 1e-7, "save_at": np.linspace(0, 1.5, 16)}
        en = dd.sweep(m, 1.5, over=over, on="cpu", **options)
        assert en.notes == note(9, "rodas5p")
        for case in (0, 4, 8):
            tr = dd.simulate(m, 1.5, parameters={"load": over["load"][case]}, **options)
            for name in ("charge", "slow", "voltage", "power"):
                np.testing.assert_allclose(en[name].values[case], tr[name], rtol=3e-6, atol=3e-6)


def test_results_do_not_depend_on_threads_blocks_or_width(monkeypatch):
    m, over = circuit(), {"load": np.linspace(0.5, 2.0, 200), "stiffness": np.geomspace(1.0, 1e6, 200)}

    def run(**more):
        given = {"inputs": {"u": 1.0}, "method": "rodas5p", "save_at": np.linspace(0, 1.0, 5)}
        return dd.sweep(m, 1.0, over=over, combine="zip", on="cpu", **given, **more)

    one = run(workers=1)
    assert one.data.equals(run(workers=4).data)
    for width in (1, 4):
        monkeypatch.setattr(lane_runs_file, "lane_width", lambda width=width: width)
        monkeypatch.setattr(lane_runs_file, "MOST", 64 + width)
        assert one.data.equals(run(workers=2).data)


def test_backwards_in_time():
    m = dd.Model("growth")
    x, k = m.state("x", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), k * x)
    en = dd.sweep(
        m, (2.0, 0.5), over={"k": [1.0, 20.0]}, method="rodas5p", on="cpu", save_at=[2.0, 1.3, 0.5], rtol=1e-9
    )
    exact = np.exp(np.outer([1.0, 20.0], np.array([0.0, -0.7, -1.5])))
    np.testing.assert_allclose(en["x"].values, exact, rtol=1e-6, atol=1e-8)


# -- faults ------------------------------------------------------------------------------------------------------------


def test_cases_that_blow_up_or_have_no_numbers_end_as_in_the_core():
    m = dd.Model("explosion")
    x, k = m.state("x", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), k * x**2)
    given = {"save_at": np.linspace(0, 2, 5), "method": "rodas5p"}
    en = dd.sweep(m, 2.0, over={"k": [0.1, 1.0, np.nan, 0.2, 0.3]}, on="cpu", **given)
    assert en.notes == note(5, "rodas5p", left=2)
    assert en.success.values.tolist() == [True, False, False, True, True]
    assert en.stop_reason.values[1] == dd.simulate(m, 2.0, parameters={"k": 1.0}, **given).stop_reason
    assert en["x"].values[4, -1] == pytest.approx(1 / (1 - 0.6), rel=1e-5)


def test_a_matrix_that_is_singular_in_one_lane_is_left_to_the_core():
    m = dd.Model("loop")
    x, z, k = m.state("x", start=1.0), m.algebraic("z", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), -z)
    m.equation(k * z, x)
    en = dd.sweep(m, 1.0, over={"k": [1.0, 2.0, 0.0, 4.0]}, method="rodas5p", on="cpu", save_at="end", rtol=1e-8)
    assert en.notes == note(4, "rodas5p", left=1)
    assert en.success.values.tolist() == [True, True, False, True]
    np.testing.assert_allclose(en["x"].values[[0, 1, 3], 0], np.exp([-1.0, -0.5, -0.25]), rtol=1e-6)
    assert np.isnan(en["x"].values[2]).all()
    assert en.stop_reason.values[2]


def test_pivots_that_turn_small_hand_their_lane_to_the_core():
    # The pivots suit the model's own k = 1; for k = 0 the coupling alone keeps the matrix regular, with other pivots.
    m = dd.Model("coupled")
    x, k = m.state("x", start=1.0), m.parameter("k", 1.0)
    a, b = m.algebraic("a", start=1.0), m.algebraic("b", start=1.0)
    m.equation(m.der(x), -x)
    m.equation(k * a + b, x)
    m.equation(a - k * b, 2 * x)
    values = np.array([1.0, 1e-17, 0.5, 2.0])
    en = dd.sweep(m, 1.0, over={"k": values}, method="rodas5p", on="cpu", save_at="end", rtol=1e-8)
    assert en.notes == note(4, "rodas5p", left=1)
    assert bool(en.success.all())
    np.testing.assert_allclose(en["a"].values[:, 0], (2 + values) / (1 + values**2) * np.exp(-1.0), rtol=1e-6)


def test_elimination_keeps_sparse_matrices_sparse_and_tells_singular_ones():
    size = 12
    arrow = [(k, k) for k in range(size)] + [(0, k) for k in range(1, size)] + [(k, 0) for k in range(1, size)]
    found = find_elimination(size, arrow, [np.where(np.arange(len(arrow)) < size, 4.0, 1.0)])
    # The arrow's head comes last, or nearly: eliminated first it would fill everything.
    assert found is not None
    assert (0, 0) in found.pivots[-2:]
    assert find_elimination(2, [(0, 0), (1, 0), (0, 1), (1, 1)], [np.ones(4)]) is None


# -- auto --------------------------------------------------------------------------------------------------------------


def test_auto_runs_stiff_cases_by_a_rosenbrock_method():
    m = dd.Model("stiff")
    x, k = m.state("x", start=0.0), m.parameter("k", 1.0)
    m.equation(m.der(x), -k * (x - ca.cos(m.time)))
    m.output("gap", x - ca.cos(m.time))
    values = np.array([1.0, 3.0, 1e5, 1e6, 2.0])
    en = dd.sweep(m, 20.0, over={"k": values}, on="cpu", save_at=[5.0, 20.0])
    assert bool(en.success.all())
    assert en.notes == note(5, "dop853, stiff ones by rodas5p (2)")
    t = np.array([5.0, 20.0])
    for case, rate in enumerate(values):
        exact = rate * (rate * np.cos(t) + np.sin(t)) / (1 + rate**2) - rate**2 / (1 + rate**2) * np.exp(-rate * t)
        np.testing.assert_allclose(en["x"].values[case], exact, atol=1e-5)


def test_auto_takes_lanes_where_equations_have_no_formulas():
    m, over = circuit(), {"load": np.linspace(0.5, 2.0, 6)}
    options = {"inputs": {"u": 1.0}, "save_at": [0.5, 1.0]}
    en = dd.sweep(m, 1.0, over=over, on="cpu", **options)
    assert en.notes == note(6, "rodas5p")
    for case in (0, 5):
        tr = dd.simulate(m, 1.0, parameters={"load": over["load"][case]}, **options)
        np.testing.assert_allclose(en["voltage"].values[case], tr["voltage"], rtol=1e-5)


def test_what_no_lane_can_do_is_told():
    m, over = circuit(), {"load": [0.5, 1.0]}
    given = {"over": over, "on": "cpu", "inputs": {"u": 1.0}, "save_at": "end"}
    for options, reason in (
        ({"method": "radau5"}, "radau5 solves equations in every step"),
        ({"method": "rodas4", "step": 0.1}, "rodas4 solves equations in every step"),
        ({"method": "rodas5p", "atol": 1e-20}, "tolerances below rounding ask for refined solves"),
        ({"method": "rodas5p", "start": {"voltage": 0.5, "charge": None}}, "each case takes a road of its own"),
    ):
        assert dd.sweep(m, 1.0, **given, **options).notes == (f"2 cases one by one: {reason}",)
