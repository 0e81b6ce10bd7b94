"""Rosenbrock methods in the core: orders, published end values, work, events, and how they fail."""

import casadi as ca
import numpy as np
import pytest
import rosenbrock_problems as problems
from implicit_models import implicit_model
from known_orbit import orbit_exact, orbit_start

import daedalus as dd
from daedalus import _core, catalogue
from daedalus.compilation import compile_function
from daedalus.integrators.tableaux.collocation_transform import core_collocation
from daedalus.integrators.tableaux.rosenbrock_coefficients import core_rosenbrock

ORDERS = {"rodas4": 4, "rodas5p": 5}
COUNTS_ON_ORBIT = {"rodas4": [640, 1280, 2560], "rodas5p": [160, 320, 640]}
NONE = np.zeros(0)


def integrate(model, name, t1, y0, t0=0.0, **settings):
    settings.setdefault("atol", np.ones(len(y0)))
    u = settings.pop("u", NONE)
    return _core.integrate(model, core_rosenbrock(name), t0, t1, y0, u, settings.pop("p", NONE), **settings)


def slopes(counts, errors):
    return -np.polyfit(np.log(counts), np.log(np.array(errors)), 1)[0]


def between(run, exact, width):
    times = np.linspace(run.t[0], run.t[-1], 7 * run.steps + 3)
    return np.abs(_core.evaluate_dense(*run.dense(), times)[:, :width] - exact(times)[:, :width]).max(axis=0)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", ORDERS)
def test_order_on_ordinary_systems_with_time(name, sign):
    """Kepler's orbit and exp(sin t), with x', and the dense output one order below."""
    model = implicit_model(problems.orbit())
    x0 = orbit_start()
    slope0 = np.array([x0[2], x0[3], -(x0[0] ** -2), 0, 1])
    # The leading error of rodas4 shows late on this orbit.
    counts, ends, rates, inside = COUNTS_ON_ORBIT[name], [], [], []
    for count in counts:
        run = integrate(model, name, sign * 4.0, np.concatenate([x0, slope0]), step=4 / count)
        assert run.status == "finished"
        assert run.steps == count
        exact = orbit_exact(run.t)
        away = np.hypot(exact[:, 0], exact[:, 1])[:, None] ** -3
        dot = np.hstack([exact[:, 2:4], -away * exact[:, :2], (exact[:, 4] * np.cos(run.t))[:, None]])
        ends.append(np.abs(run.x[:, :5] - exact).max(axis=0))
        rates.append(np.abs(run.x[:, 5:] - dot).max(axis=0))
        inside.append(between(run, orbit_exact, 5))
    assert (slopes(counts, ends) > ORDERS[name] - 0.2).all()
    assert (slopes(counts, rates) > ORDERS[name] - 0.2).all()
    assert (slopes(counts, inside) > ORDERS[name] - 1.2).all()


@pytest.mark.parametrize("drift", ["exact", None])
@pytest.mark.parametrize("name", ORDERS)
def test_order_of_x_and_z_at_index_1(name, drift):
    """With dF/dt as a function of the model, and by the core's own difference quotient."""
    model = implicit_model(problems.index_1(), drift=drift)
    counts, ends, inside = [40, 80, 160], [], []
    for count in counts:
        run = integrate(model, name, 4.0, np.ones(3), step=4 / count)
        ends.append(np.abs(run.x - problems.index_1_exact(run.t)).max(axis=0))
        inside.append(between(run, problems.index_1_exact, 2))
    assert (slopes(counts, ends) > ORDERS[name] - 0.2).all()
    assert (slopes(counts, inside) > ORDERS[name] - 1.2).all()


def driven_errors(name, drift, count):
    table = _core.Table(problems.TABLE_TIMES, problems.TABLE_VALUES[:, None], [0], linear=True)
    model = implicit_model(problems.driven(), drift=drift)
    run = integrate(model, name, 2.5, np.array([1, 0.5, 0.5]), u=np.zeros(1), tables=[table], step=0.1 / count)
    assert run.status == "finished"
    assert run.steps == 25 * count
    return np.abs(run.x[:, :2] - problems.driven_exact(run.t)).max(axis=0)


@pytest.mark.parametrize("name", ORDERS)
def test_slopes_of_tabulated_inputs_keep_the_order(name):
    counts = [1, 2, 4]
    exact = [driven_errors(name, "exact", count) for count in counts]
    assert (slopes(counts, exact) > ORDERS[name] - 0.2).all()
    quotient = [driven_errors(name, None, count) for count in counts]
    np.testing.assert_allclose(quotient, exact, rtol=0.05)
    # Without dF/du u' little of the order is left.
    counts = [4, 8, 16]
    forgotten = [driven_errors(name, "no inputs", count)[0] for count in counts]
    assert slopes(counts, forgotten) < 2.3


@pytest.mark.parametrize(("name", "order"), [("rodas4", 2), ("rodas5p", 4)])
def test_order_where_stiffness_grows_with_the_number_of_steps(name, order):
    """Prothero and Robinson's problem with h λ = 20: Rodas5P was made to lose little there (Steinebach 2023)."""
    model = implicit_model(problems.stiff_tracking())
    counts, errors = [16, 32, 64], []
    for count in counts:
        run = integrate(model, name, 2.0, np.array([0, 1.0]), p=np.array([10.0 * count]), step=2 / count)
        errors.append(np.abs(run.x[:, 0] - np.sin(run.t)).max())
    assert slopes(counts, errors) > order - 0.2


def start_of(system):
    """(x, z, x') of a system whose states have their start values; derivatives that F does not fix are zero."""
    x, p = system.default_start, system.start["p"]
    arguments = [system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")]
    both = ca.Function("both", arguments, [system.residual, ca.jacobian(system.residual, arguments[1])])
    value, matrix = (np.array(part) for part in both(0, np.zeros(len(x)), x, [], [], p))
    return np.concatenate([x, -np.linalg.lstsq(matrix, value[:, 0], rcond=None)[0]]), p


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize(("problem", "atol"), [("robertson", 1e-6), ("chemical_akzo", 1e-3)])
def test_published_end_values(name, problem, atol):
    known = catalogue.load(problem)
    system = known.model.freeze()
    y0, p = start_of(system)
    model, reference = implicit_model(system), np.array(known.reference["y"])
    before = np.inf
    for rtol in (1e-5, 1e-7):
        run = integrate(model, name, known.span[1], y0, p=p, rtol=rtol, atol=np.full(len(y0), atol * rtol))
        error = np.abs(run.x[-1, : len(reference)] / reference - 1).max()
        assert run.status == "finished"
        assert error < 20 * rtol
        assert error < 0.1 * before
        before = error
    if problem == "chemical_akzo":
        assert run.x[-1, 0] == pytest.approx(0.1150794920661702, rel=1e-7)


@pytest.mark.parametrize("name", ORDERS)
def test_transistor_amplifier(name):
    system = problems.transistor_amplifier()
    y0, _ = start_of(system)
    run = integrate(implicit_model(system), name, 0.2, y0, rtol=1e-7, atol=np.full(16, 1e-9))
    assert run.status == "finished"
    np.testing.assert_allclose(run.x[-1, :8], problems.AMPLIFIER_END, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ORDERS)
def test_the_derivative_at_the_steps_satisfies_the_equations(name):
    """x' comes from the last stage without an evaluation: F stays far below the size of its terms."""
    known = catalogue.load("robertson")
    system = known.model.freeze()
    y0, p = start_of(system)
    model = implicit_model(system)
    run = integrate(model, name, 1e6, y0, p=p, rtol=1e-6, atol=np.full(6, 1e-12))
    arguments = [system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")]
    F = ca.Function("F", arguments, [system.residual])
    left = np.array([np.array(F(t, y[3:], y[:3], [], [], p)).ravel() for t, y in zip(run.t[1:], run.x[1:])])
    terms = 0.04 * run.x[1:, 0]
    assert (np.abs(left) / terms[:, None]).max() < 2e-4


@pytest.mark.parametrize(("name", "stages"), [("rodas4", 6), ("rodas5p", 8)])
def test_work_is_counted_exactly(name, stages):
    model = implicit_model(problems.index_1())
    run = integrate(model, name, 4.0, np.ones(3), step=0.1)
    assert (run.steps, run.rhs_calls, run.jacobians, run.factorisations) == (40, 40 * stages, 40, 40)
    without = integrate(implicit_model(problems.index_1(), drift=None), name, 4.0, np.ones(3), step=0.1)
    assert without.rhs_calls == 40 * (stages + 1)
    system = catalogue.load("robertson").model.freeze()
    y0, p = start_of(system)
    run = integrate(implicit_model(system), name, 1e6, y0, p=p, rtol=1e-6, atol=np.full(6, 1e-12), first_step=0.01)
    # A rejected step keeps F and the Jacobian at its beginning; the end of a step is the beginning of the next.
    assert run.rejected > 0
    assert run.jacobians == run.steps
    assert run.factorisations == run.steps + run.rejected
    # And one look between the ends of a step that is accepted, but where it is much shorter than the one before; four
    # or five where its polynomial is mended.
    looks = run.rhs_calls - (1 + run.steps * stages + run.rejected * (stages - 1))
    assert run.steps - 2 <= looks <= 5 * (run.steps + run.rejected)
    assert run.newton == 0


WORK = {"rodas4": (123, 0), "rodas5p": (79, 2)}


@pytest.mark.parametrize("name", ORDERS)
def test_steps_of_chemical_akzo(name):
    system = catalogue.load("chemical_akzo").model.freeze()
    y0, p = start_of(system)
    run = integrate(implicit_model(system), name, 180.0, y0, p=p, rtol=1e-6, atol=np.full(12, 1e-9))
    assert (run.steps, run.rejected) == WORK[name]


@pytest.mark.parametrize("name", ORDERS)
def test_events_cut_and_reset(name):
    sizes = [ca.SX.sym("t"), ca.SX.sym("y", 5), ca.SX.sym("u", 0), ca.SX.sym("p", 0)]
    y = sizes[1]
    guards = compile_function(ca.Function("guards", sizes, [y[0]]), wait=True).core
    after = ca.vertcat(y[0], -0.8 * y[1], 0, y[3], y[4])
    resets = compile_function(ca.Function("resets", sizes, [after]), wait=True).core
    model = implicit_model(problems.bouncing())
    start = np.array([1, 0, -9.81, 0, -9.81])
    run = integrate(
        model, name, 2.0, start, rtol=1e-8, atol=np.full(5, 1e-10), guards=guards, resets=resets,
        directions=[-1], actions=[1],
    )  # fmt: skip
    first = np.sqrt(2 / 9.81)
    times = first * (1 + 2 * np.cumsum(0.8 ** np.arange(1, 5)))
    expected = [first, *times[times < 2]]
    assert run.status == "finished"
    np.testing.assert_allclose([event[1] for event in run.events], expected, rtol=1e-11)
    # z and x' are solved anew behind a reset that spoils them.
    for _, _, before, behind in run.events:
        assert behind[1] == pytest.approx(-0.8 * before[1])
        np.testing.assert_allclose(behind[2:], [-9.81, behind[1], -9.81], rtol=1e-12)


@pytest.mark.parametrize("name", ORDERS)
def test_samples_and_backward_runs(name):
    model = implicit_model(problems.index_1())
    times = np.linspace(4, 0, 23)
    start = problems.index_1_exact(np.array(4.0))
    run = integrate(model, name, 0.0, start, t0=4.0, save_at=times, rtol=1e-9, atol=np.full(3, 1e-10))
    np.testing.assert_allclose(run.x[:, :2], problems.index_1_exact(run.t)[:, :2], atol=2e-7)


@pytest.mark.parametrize("name", ORDERS)
def test_leaving_the_domain_of_the_model_is_told(name):
    m = dd.Model("emptying")
    a, h, b = m.state("a", start=1.0), m.state("h", start=1.0), m.state("b", start=1.0)
    m.equation(m.der(b), 0)
    m.equation(m.der(a), 1)
    m.equation(m.der(h), -1 - ca.sqrt(h))
    model = implicit_model(m.freeze())
    run = integrate(model, name, 5.0, np.array([1, 1, 1, 1, -2, 0.0]), rtol=1e-6, atol=np.full(6, 1e-8))
    assert (run.status, run.culprit, run.culprit_stage) == ("not_finite", 1, "derivative")
    assert run.stop_time == pytest.approx(2 - 2 * np.log(2), rel=1e-6)
    assert (run.x[:, 1] >= 0).all()
    bad = integrate(model, name, 5.0, np.array([1, -1, 1, 1, -2, 0.0]), rtol=1e-6)
    assert (bad.status, bad.culprit, bad.steps, bad.rejected) == ("not_finite", 1, 0, 0)


@pytest.mark.parametrize("name", ORDERS)
def test_a_singular_matrix_is_told(name):
    m = dd.Model("loose")
    x, y, z = m.state("x", start=1.0), m.algebraic("y"), m.algebraic("z")
    m.equation(m.der(x), y + z - x)
    m.equation(y + z, x)
    m.equation(2 * (y + z), 2 * x)
    model = implicit_model(m.freeze())
    start = np.array([1, 0.5, 0.5, 0])
    assert integrate(model, name, 1.0, start).status == "singular"
    assert integrate(model, name, 1.0, start, step=0.1).status == "newton_failed"


def test_a_drift_of_the_wrong_size_is_refused():
    system = problems.driven()
    arguments = [system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u", "p")]
    wrong = compile_function(ca.Function("wrong", arguments, [ca.densify(system.residual)]), wait=True).core
    dot = ca.jacobian(system.residual, arguments[1])
    all_ = ca.jacobian(system.residual, ca.vertcat(arguments[2], arguments[3]))
    jacobian = compile_function(ca.Function("jacobian", arguments, [dot, all_]), wait=True).core
    patterns = [list(part) for s in (dot.sparsity(), all_.sparsity()) for part in (s.colind(), s.row())]
    with pytest.raises(ValueError, match=r"drift must map \(t, xdot, x, z, u, p, udot\)"):
        _core.ImplicitModel(wrong, jacobian, 1, 2, *patterns, drift=wrong)


@pytest.mark.parametrize("linear", [True, False])
def test_agrees_with_collocation(linear):
    """An independent method where an input bends, or jumps and z with it."""
    model = implicit_model(problems.driven())
    table = _core.Table(problems.TABLE_TIMES, problems.TABLE_VALUES[:, None], [0], linear=linear)
    settings = {"rtol": 1e-9, "atol": np.full(3, 1e-11), "tables": [table]}
    start = np.array([1, 0.5, 0.5])
    rodas = integrate(model, "rodas5p", 3.0, start, u=np.zeros(1), **settings)
    radau = _core.integrate(model, core_collocation(3), 0.0, 3.0, start, np.zeros(1), NONE, **settings)
    np.testing.assert_allclose(rodas.x[-1], radau.x[-1], rtol=1e-7)
