"""Runs of arrays inside the core: values of dd.simulate, transposed derivatives of dd.gradient and of differences."""

import gc
import weakref

import numpy as np
import pytest
from tests.support.slider_cranks import slider_crank_with_coordinates

import daedalus as dd
from daedalus import catalogue
from daedalus.exchange.array_run import GROUPS, ArrayRun

TIMES = np.linspace(0.0, 1.0, 6)
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


def arrays(run, cases=1, seed=0):
    """Starts, inputs and parameters near the model's own."""
    rng = np.random.default_rng(seed)
    x0, u, p = (np.stack([run.defaults[name]] * cases) for name in GROUPS)
    moved = 0.0 if run.system.constrains_start else 0.1
    return x0 + moved * rng.normal(size=x0.shape), u + rng.normal(size=u.shape), p * rng.uniform(0.9, 1.1, p.shape)


def driven():
    """An output that reads states, inputs, parameters, rates and an algebraic variable."""
    m = dd.Model("driven")
    x, z, u = m.state("x", 2, start=[1.0, 0.2]), m.algebraic("z"), m.input("u")
    k, c = m.parameter("k", 1.5), m.parameter("c", [0.3, 0.2])
    m.equation(m.der(x[0]), x[1] * z)
    m.equation(m.der(x[1]), -k * x[0] + u - c[0] * x[1])
    m.equation(z, 1 + c[1] * x[0] ** 2)
    m.output("power", u * x[1] + k * z)
    m.output("pair", [m.der(x[1]), x[0] * u])
    return m


SYSTEMS = {
    "driven": (driven, ["x", "z", "power", "pair"]),
    "cart_pendulum": (lambda: catalogue.load("cart_pendulum").model, None),
    "lotka_volterra": (lambda: catalogue.load("lotka_volterra").model, None),
    "quadrotor": (lambda: catalogue.load("quadrotor").model, ["position", "quaternion"]),
}


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("method", ["auto", "tsit5"])
def test_values_and_pulled_weights_are_those_of_runs_and_differences(name, method):
    make, outputs = SYSTEMS[name]
    run = ArrayRun(make(), TIMES, outputs, GROUPS, {**TIGHT, "method": method}, "a test")
    assert run.stepped is not None
    given = arrays(run)
    y = run.values(*given)[0]
    np.testing.assert_allclose(y, run._value(*(a[0] for a in given)), rtol=1e-7, atol=1e-8)
    weights = np.random.default_rng(1).normal(size=(1, *y.shape))
    pulled = run.pulled(*given, weights, wanted=GROUPS)
    direction = np.random.default_rng(2)
    for place, found in enumerate(pulled):
        if found.size == 0:
            continue
        move, h = direction.normal(size=found.shape), 1e-5
        if GROUPS[place] == "parameters":
            move *= given[place]
        if name == "quadrotor" and GROUPS[place] == "start":  # along |q| = 1
            q = given[0][:, 6:10]
            move[:, 6:10] -= q * (q * move[:, 6:10]).sum(axis=1, keepdims=True)
        ends = []
        for sign in (1, -1):
            moved = [a.copy() for a in given]
            moved[place] = moved[place] + sign * h * move
            ends.append((weights * run.values(*moved)).sum())
        assert (found * move).sum() == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=2e-6, abs=1e-7)


def constrained():
    """Index 2, whose constraint depends on a parameter and carries the start along."""
    m = dd.Model("constrained")
    x, z, k = m.state("x", 2, start=[1.0, 0.5]), m.algebraic("z"), m.parameter("k", 0.5)
    m.equation(m.der(x[0]), -x[0] + z)
    m.equation(m.der(x[1]), -k * x[1] - 2 * z)
    m.equation(x[1], k * x[0])
    return m


def test_starts_move_along_constraints():
    run = ArrayRun(constrained(), TIMES, None, GROUPS, TIGHT, "a test")
    assert run.stepped is not None
    given = [run.defaults[name][None] for name in GROUPS]
    weights = np.random.default_rng(4).normal(size=(1, *run.shape))
    of_x, _, of_p = run.pulled(*given, weights, wanted=GROUPS)
    _, slopes = run.slopes(*(a[0] for a in given), wanted=GROUPS)
    for found, name in ((of_x, "start"), (of_p, "parameters")):
        np.testing.assert_allclose(found[0], np.tensordot(weights[0], slopes[name], axes=2), rtol=1e-7)


def test_pulled_weights_are_the_gradient():
    m = driven()
    run = ArrayRun(m, TIMES, ["x"], GROUPS, TIGHT, "a test")
    x0, u, p = arrays(run)
    weights = np.zeros((1, *run.shape))
    weights[0, -1, 0] = 1.0
    of_x, of_u, of_p = run.pulled(x0, u, p, weights, wanted=GROUPS)
    given = {
        "start": dict(zip(run.labels["x"], x0[0])),
        "inputs": {"u": dd.signal(TIMES[:-1], u[0, :, 0])},
        "parameters": dict(zip(run.labels["p"], p[0])),
    }
    g = dd.gradient(m, (0.0, 1.0), final=m["x"][0], wrt=GROUPS, grid=TIMES, **given, **TIGHT)
    np.testing.assert_allclose(of_x[0], g.start, rtol=1e-9)
    np.testing.assert_allclose(of_u[0], g.inputs, rtol=1e-9)
    np.testing.assert_allclose(of_p[0], g.parameters, rtol=1e-9)


def test_a_batch_on_many_threads_has_the_bits_of_its_groups(monkeypatch):
    """What comes behind a group changes nothing in it."""
    run = ArrayRun(driven(), TIMES, ["power"], GROUPS, {}, "a test")
    given = arrays(run, cases=64)
    weights = np.random.default_rng(3).normal(size=(64, *run.shape))
    together, pulled = run.values(*given), run.pulled(*given, weights, wanted=GROUPS)
    for begin in range(0, 64, 16):
        part = slice(begin, begin + 16)
        cases = [a[part] for a in given]
        assert np.array_equal(together[part], run.values(*cases))
        for whole, own in zip(pulled, run.pulled(*cases, weights[part], wanted=GROUPS)):
            assert np.array_equal(whole[part], own)


@pytest.mark.parametrize("cases", [8, 19, 37])
@pytest.mark.parametrize("shared", [False, True])
def test_every_case_of_a_batch_keeps_the_tolerance(cases, shared):
    """Cases of one group share their steps; the hardest one decides how long they are."""
    from daedalus.compilation.lanes.machine import lane_width

    if lane_width() == 0:
        pytest.skip("this processor has no lanes")
    run = ArrayRun(driven(), TIMES, ["x", "power"], GROUPS, {"rtol": 1e-7, "atol": 1e-9}, "a test")
    exact = ArrayRun(driven(), TIMES, ["x", "power"], GROUPS, TIGHT, "a test")
    x0, u, p = arrays(run, cases=cases)
    x0[3] *= 30  # one of them is harder
    p = p[:1] if shared else p
    y = run.values(x0, u, p)
    weights = np.random.default_rng(3).normal(size=y.shape)
    of_x, of_u, of_p = run.pulled(x0, u, p, weights, wanted=GROUPS)
    assert run.stepped._lanes is not None
    assert any(made is not None for made in run.stepped._lanes._runs.values())
    summed = np.zeros_like(of_p)
    for k in range(cases):
        own = [a[k : k + 1] for a in (x0, u, np.broadcast_to(p, (cases, p.shape[1])))]
        wanted = exact.values(*own)[0]
        np.testing.assert_allclose(y[k], wanted, rtol=0, atol=3e-6 * np.abs(wanted).max())
        pulled = exact.pulled(*own, weights[k : k + 1], wanted=GROUPS)
        for found, right in zip((of_x, of_u), pulled):
            np.testing.assert_allclose(found[k], right[0], rtol=0, atol=2e-5 * np.abs(right).max())
        summed[0 if shared else k] += pulled[2][0]
    np.testing.assert_allclose(of_p, summed, rtol=0, atol=2e-5 * np.abs(summed).max())


def test_a_group_that_does_not_get_through_is_taken_case_by_case():
    run = ArrayRun(escaping(), [0.0, 1.0, 3.0], None, GROUPS, {}, "a test")
    x0 = np.full((16, 1), 0.2)
    empty = np.zeros((16, 2, 0)), np.zeros((16, 0))
    np.testing.assert_allclose(run.values(x0, *empty)[:, -1, 0], 0.2 / (1 - 0.6), rtol=1e-5)
    x0[5] = 0.5
    with pytest.raises(dd.SolverError, match="at t = 2"):
        run.values(x0, *empty)


def test_weights_that_a_batch_shares_have_one_gradient(torch):
    """A network in a long model: its loops on lanes beside the runs of each start."""
    m = dd.Model("five")
    x = m.state("x", 5, start=np.linspace(0.1, 0.5, 5))
    m.equation(m.der(x), -x + m.network("f", inputs=[x], outputs=5, layers=[32, 32], activation="tanh"))
    f = dd.exchange.torch(m, np.linspace(0.0, 1.0, 5), rtol=1e-9, atol=1e-11)
    draw = np.random.default_rng(0)
    weights = torch.tensor(0.3 * draw.normal(size=1413), requires_grad=True)
    starts = torch.tensor(draw.normal(size=(40, 5)), requires_grad=True)
    (f(start=starts, parameters=weights) ** 2).sum().backward()
    one_by_one = torch.tensor(weights.detach().numpy(), requires_grad=True)
    alone = torch.tensor(starts.detach().numpy(), requires_grad=True)
    torch.stack([(f(start=start, parameters=one_by_one) ** 2).sum() for start in alone]).sum().backward()
    np.testing.assert_allclose(starts.grad, alone.grad, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(weights.grad, one_by_one.grad, rtol=1e-7, atol=1e-7)


def test_gradients_of_each_case_of_a_vmap_beside_shared_parameters(torch):
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", 2.0)
    m.equation(m.der(x), -k * x)
    f = dd.exchange.torch(m, [0.0, 0.5, 1.0], rtol=1e-10, atol=1e-12)
    rate = torch.tensor([2.0], dtype=torch.float64)
    starts = torch.linspace(1.0, 2.0, 12, dtype=torch.float64)[:, None]
    last = lambda start, rate: f(start=start, parameters=rate)[-1, 0]  # noqa: E731
    each = torch.func.vmap(torch.func.grad(last, argnums=1), in_dims=(0, None))(starts, rate)
    np.testing.assert_allclose(each, -np.exp(-2.0) * starts, rtol=1e-8)
    # Batches inside a vmap: each of its cases has a sum of its own.
    whole = lambda batch, rate: f(start=batch, parameters=rate)[:, -1, 0].sum()  # noqa: E731
    pairs = torch.func.vmap(torch.func.grad(whole, argnums=1), in_dims=(0, None))(starts.reshape(6, 2, 1), rate)
    np.testing.assert_allclose(pairs[:, 0], -np.exp(-2.0) * starts.reshape(6, 2).sum(1), rtol=1e-8)
    twice = torch.func.hessian(lambda rate: f(start=starts, parameters=rate)[:, -1, 0].sum())(rate)
    np.testing.assert_allclose(twice, np.exp(-2.0) * starts.sum(), rtol=1e-6)


def escaping():
    m = dd.Model("escaping")
    x = m.state("x", start=0.5)
    m.equation(m.der(x), x**2)
    return m


def test_places_where_branches_cross_are_passed_as_dd_simulate_passes_them():
    crank = slider_crank_with_coordinates()
    times = np.linspace(0.0, 1.0, 5)
    run = ArrayRun(crank, times, ["q"], GROUPS, {}, "a test")
    given = [run.defaults[name][None] for name in GROUPS]
    assert run.stepped is not None
    assert run.stepped.value(*given) is None
    right = dd.simulate(crank, 1.0, start=dict(zip(run.labels["x"], given[0][0].tolist())), save_at=times)
    assert right.success
    np.testing.assert_allclose(run.values(*given)[0], right["q"], rtol=1e-12)


def test_stops_are_told_as_dd_simulate_tells_them():
    run = ArrayRun(escaping(), [0.0, 0.5, 1.0], None, GROUPS, {}, "a test")
    with pytest.raises(dd.SolverError, match=r"t = 0\.25"):
        run.values(np.array([[0.5], [4.0], [0.2], [5.0]]), np.zeros((4, 2, 0)), np.zeros((4, 0)))
    flight = ArrayRun(catalogue.load("quadrotor").model, TIMES, None, GROUPS, {}, "a test")
    x0, u, p = (flight.defaults[name][None] for name in GROUPS)
    with pytest.raises(dd.InconsistentStartError, match="unit length"):
        flight.values(x0 + 0.1, u, p)


def test_what_happens_on_the_way_is_left_to_the_careful_way():
    def with_an_event(m, x):
        m.event("half", x - 0.5, reset={"x": 2.0 + x})

    def stiff(m, x):
        y = m.state("y", start=1.0)
        m.equation(m.der(y), -1e6 * (y - x))

    def switching(m, x):
        m.output("far", x)
        m.when(x < 0.3, {"n": 1.0})

    for add in (with_an_event, stiff, switching):
        m = dd.Model("decay")
        x = m.state("x", start=1.0)
        m.equation(m.der(x), -x)
        if add is switching:
            m.discrete("n", start=0.0)
        add(m, x)
        run = ArrayRun(m, [0.0, 1.0], ["x"], GROUPS, {}, "a test")
        assert run.stepped is None, add.__name__
        given = [run.defaults[name][None] for name in GROUPS]
        assert np.isfinite(run.values(*given)).all()
    implicit = ArrayRun(driven(), TIMES, ["x"], GROUPS, {"method": "radau5"}, "a test")
    assert implicit.stepped is None


def test_a_dropped_run_goes():
    run = ArrayRun(escaping(), [0.0, 0.5], None, GROUPS, {}, "a test")
    assert run.stepped is not None
    gone = weakref.ref(run.stepped)
    del run
    gc.collect()
    assert gone() is None


# -- through JAX -------------------------------------------------------------------------------------------------


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="needs the extra `torch`")


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax", reason="needs the extra `jax`")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", before)


def test_calls_by_xla_need_no_python(jax):
    f = dd.exchange.jax(driven(), TIMES, outputs=["power"], **TIGHT)
    text = jax.jit(jax.grad(lambda p: (f(parameters=p) ** 2).sum())).lower(f.parameters).as_text()
    assert "daedalus_pulled" in text
    assert "callback" not in text


def test_jax_batches_loops_and_gradients_of_batches(jax):
    f = dd.exchange.jax(driven(), TIMES, outputs=["power"], **TIGHT)
    x0, u, p = arrays(f._run, cases=12)
    each = np.stack([f(*case) for case in zip(x0, u, p)])
    assert np.array_equal(jax.vmap(f)(x0, u, p), each)
    nested = jax.jit(jax.vmap(jax.vmap(f)))(*(a.reshape(3, 4, *a.shape[1:]) for a in (x0, u, p)))
    assert np.array_equal(nested, each.reshape(3, 4, *each.shape[1:]))

    def loss(p):
        return jax.vmap(f, in_axes=(0, 0, None))(x0, u, p).sum()

    alone = sum(jax.grad(lambda q, k=k: f(x0[k], u[k], q).sum())(p[0]) for k in range(12))
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(p[0]), alone, rtol=1e-12)

    # Twelve times from where the last run ended.
    g = dd.exchange.jax(driven(), [0.0, 0.1], **TIGHT)

    def chained(start):
        return jax.lax.scan(lambda x, _: (g(start=x)[-1], None), start, None, length=12)[0].sum()

    slope, h = jax.jit(jax.grad(chained))(g.start), 1e-6
    for k in range(2):
        move = h * np.eye(2)[k]
        assert float(slope[k]) == pytest.approx(
            float(chained(g.start + move) - chained(g.start - move)) / (2 * h), rel=1e-6
        )


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_jax_second_derivatives(jax, method):
    f = dd.exchange.jax(driven(), TIMES, outputs=["power"], method=method, **TIGHT)

    def loss(start, p):
        return (f(start=start, parameters=p) ** 2).sum()

    point, h = (jax.numpy.array(f.start), jax.numpy.array(f.parameters)), 1e-5
    found = jax.jit(jax.hessian(loss, argnums=(0, 1)))(*point)
    slope = jax.jit(jax.grad(loss, argnums=(0, 1)))
    for a in range(2):
        for k in range(point[a].size):
            ends = []
            for sign in (1, -1):
                moved = list(point)
                moved[a] = moved[a].at[k].add(sign * h)
                ends.append(slope(*moved))
            for b in range(2):
                differences = (ends[0][b] - ends[1][b]) / (2 * h)
                np.testing.assert_allclose(found[b][a][:, k], differences, rtol=1e-4, atol=1e-5)
    twice = jax.jacrev(jax.jacrev(loss, argnums=1), argnums=1)(*point)
    np.testing.assert_allclose(twice, found[1][1], rtol=1e-7, atol=1e-8)
    cases = jax.numpy.stack([point[1], 1.1 * point[1]])
    many = jax.vmap(jax.hessian(loss, argnums=1), in_axes=(None, 0))(point[0], cases)
    np.testing.assert_allclose(many[0], found[1][1], rtol=1e-8, atol=1e-9)


def test_jax_third_derivatives_and_stops_are_told(jax):
    f = dd.exchange.jax(driven(), TIMES, outputs=["power"])
    with pytest.raises(dd.InputError, match=r"A run as a function of JAX has no third derivatives\."):
        jax.jacfwd(jax.hessian(lambda p: f(parameters=p).sum()))(f.parameters)
    flight = dd.exchange.jax(catalogue.load("quadrotor").model, TIMES)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"unit length.*disagree"):
        jax.jit(flight)(flight.start + 0.1).block_until_ready()
    g = dd.exchange.jax(escaping(), [0.0, 1.0])
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"t = 0\.25"):
        jax.jit(g)(np.array([4.0])).block_until_ready()


def test_a_compiled_program_keeps_its_run_alive(jax):
    def last(k):
        return dd.exchange.jax(driven(), TIMES, outputs=["x"])(parameters=k)[-1, 0]

    compiled = jax.jit(last)
    k = np.array([1.5, 0.3, 0.2])
    first = float(compiled(k))
    gc.collect()
    assert float(compiled(k)) == first


def test_single_precision_is_rounded(jax):
    jax.config.update("jax_enable_x64", False)
    f = dd.exchange.jax(driven(), TIMES, outputs=["x"])
    y = jax.jit(f)()
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, f._run.values(*(f._run.defaults[name][None] for name in GROUPS))[0], rtol=1e-6)


def test_jax_through_constraints_without_python(jax):
    known = catalogue.load("pendulum_3d")
    f = dd.exchange.jax(known.model, TIMES, outputs=["position"], **TIGHT)
    assert "callback" not in jax.jit(f).lower().as_text()
    weights = np.random.default_rng(5).normal(size=f._run.shape)
    found = jax.jit(jax.grad(lambda u: (weights * f(inputs=u)).sum()))(f.inputs)
    _, slopes = f._run.slopes(f.start, f.inputs, f.parameters, wanted=["inputs"])
    np.testing.assert_allclose(found, np.tensordot(weights, slopes["inputs"], axes=2), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("method", ["auto", "tsit5"])
def test_runs_for_devices_in_operations_of_jax(jax, method):
    """What GPUs compute, on this processor: values, tangents and pulled weights of the core; lowered without Python."""
    f = dd.exchange.jax(driven(), TIMES, ["x", "power", "pair"], rtol=1e-9, atol=1e-11, method=method)
    device = f._run.stepped.on_devices
    draw = np.random.default_rng(0)
    given = f.start, draw.normal(size=f.inputs.shape), f.parameters
    moves = tuple(draw.normal(size=a.shape) for a in given)
    weights = draw.normal(size=f(*given).shape)
    np.testing.assert_allclose(device.value(*given), f(*given), rtol=0, atol=1e-8)
    np.testing.assert_allclose(device.moved(given, moves), jax.jvp(f, given, moves)[1], rtol=0, atol=1e-7)
    wanted = jax.grad(lambda *a: (weights * f(*a)).sum(), argnums=(0, 1, 2))(*given)
    for found, right in zip(device.pulled(*given, weights), wanted):
        np.testing.assert_allclose(found, right, rtol=0, atol=1e-7)
    loss = jax.jit(jax.grad(lambda x: (jax.vmap(lambda s: f(s, *given[1:]))(x) ** 2).sum()))
    lowered = loss.trace(np.zeros((3, *given[0].shape))).lower(lowering_platforms=("cuda",)).as_text()
    assert "callback" not in lowered
    assert "while" in lowered


def test_a_run_for_devices_that_does_not_get_to_its_end_gives_nan(jax):
    f = dd.exchange.jax(escaping(), [0.0, 1.0, 3.0])
    rows = np.asarray(f._run.stepped.on_devices.value(np.array([0.5]), np.zeros((2, 0)), np.zeros(0)))
    assert np.isfinite(rows[:2]).all()
    assert np.isnan(rows[2]).all()
