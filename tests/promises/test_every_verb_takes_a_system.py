"""Every verb takes a Model or the System that was frozen from it, in this process or another, with the same answer."""

import pickle
import tempfile

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


def oscillator():
    m = dd.Model("oscillator")
    x, v, z = m.state("x", start=1.0), m.state("v", start=0.0), m.algebraic("z")
    k, u = m.parameter("k", 2.0), m.input("u")
    m.equation(m.der(x), v, name="rate")
    m.equation(m.der(v), z + u, name="force")
    m.equation(z, -k * x, name="spring")
    m.output("energy", 0.5 * v**2 + 0.5 * k * x**2)
    m.event("through", x, direction=-1, reset={"v": 0.9 * v})
    return m


def higher():
    """Second and first derivatives in one vector, and a matrix."""
    m = dd.Model("higher")
    q = m.state("q", 2, start=[1.0, 0.5], rate=[0.2, None])
    R = m.state("R", (2, 2), start=[[1.0, 2.0], [3.0, 4.0]])
    m.equation(m.der(m.der(q[0])), -q[0], name="swing")
    m.equation(m.der(q[1]), -q[1] * R[0, 1], name="fall")
    m.equation(m.der(R), -R, name="decay")
    return m


def pushed():
    m = dd.Model("pushed")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), u - x)
    return m


def fast_and_slow():
    m = dd.Model("motor")
    x, z, e = m.state("x", start=1.0), m.state("z", start=0.5), m.parameter("epsilon", 0.01)
    m.equation(m.der(x), -z)
    m.equation(e * m.der(z), x - z)
    return m


def swinging():
    m = dd.Model("swinging")
    x, v, k = m.state("x", start=1.0), m.state("v", start=0.0), m.parameter("k", 2.0)
    m.equation([m.der(x), m.der(v)], [v, -k * x])
    return m


def oscillator_of_one_input():
    m = dd.Model("oscillator")
    x, v, u = m.state("x", start=1.0), m.state("v", start=0.0), m.input("u")
    m.equation([m.der(x), m.der(v)], [v, -2.0 * x - 0.1 * v + u])
    m.output("speed", v)
    return m


def slide():
    m = dd.Model("slide")
    cart = m.body("cart", mass=1.0, inertia=[0.1, 0.1, 0.1])
    m.joint("rail", "prismatic", dd.ground, cart, axis_a=[1, 0, 0], coordinates="joint")
    return m


def pendulum():
    return catalogue.load("pendulum_3d").model


def driven():
    """An input that a constraint differentiates."""
    m = dd.Model("follower")
    x, force, u = m.state("x"), m.algebraic("force"), m.input("u")
    m.equation(m.der(m.der(x)), force)
    m.equation(x, u)
    return m


PULL = {"inputs": {"force": 0.0}}
SPAN = 0.4
STILL = {"inputs": {"u": 0.1}}
DATA = {"time": [0.0, 0.1, 0.2, 0.3, 0.4], "x": [1.0, 0.99, 0.96, 0.91, 0.85]}
BOX = {"x": (0.0, 1.0), "v": (0.0, 1.0), "u": (0.0, 0.0)}
PUSHED = {"inputs": {"force": [0.1, 0.0, 0.0]}}
CASES = {
    "analyse": (oscillator, lambda m: str(dd.analyse(m))),
    "reduce": (oscillator, lambda m: dd.reduce(m).equations),
    "reduce a pendulum": (pendulum, lambda m: dd.reduce(m).equations),
    "reduce with an input": (driven, lambda m: sorted(dd.reduce(m).inputs)),
    "initialise": (oscillator, lambda m: dd.initialise(m, **STILL)["z"]),
    "simulate": (oscillator, lambda m: dd.simulate(m, SPAN, **STILL)["x"]),
    "simulate higher derivatives": (higher, lambda m: dd.simulate(m, SPAN)["R"]),
    "simulate a pendulum": (pendulum, lambda m: dd.simulate(m, SPAN, **PUSHED)["position"]),
    "simulate a pendulum by radau5": (pendulum, lambda m: dd.simulate(m, SPAN, method="radau5", **PUSHED)["position"]),
    "simulate by rattle": (pendulum, lambda m: dd.simulate(m, SPAN, method="rattle", step=0.1, **PUSHED)["position"]),
    "simulate with a differentiated input": (driven, lambda m: dd.simulate(m, 1.0, inputs={"u": np.sin})["force"]),
    "stream": (oscillator, lambda m: _streamed(m)),
    "prepare": (oscillator, lambda m: dd.prepare(m, SPAN, save_at=[SPAN], **STILL)()),
    "sweep": (oscillator, lambda m: dd.sweep(m, SPAN, over={"k": [1.0, 2.0]}, save_at=[SPAN], **STILL)["x"].values),
    "importance": (
        oscillator,
        lambda m: dd.importance(m, SPAN, {"k": dd.uniform(1.0, 2.0)}, 4, **STILL).total["x"].values,
    ),
    "sensitivities": (oscillator, lambda m: dd.sensitivities(m, SPAN, **STILL).M),
    "sensitivities of a pendulum": (pendulum, lambda m: dd.sensitivities(m, SPAN, **PUSHED).M),
    "gradient": (oscillator, lambda m: dd.gradient(m, SPAN, final="x", running="energy", **STILL)["k"]),
    "flow": (fast_and_slow, lambda m: dd.flow(m, step=0.001)([1.0, 0.5], [], 0.01).full()),
    "linearise": (oscillator, lambda m: dd.linearise(m, **STILL).A),
    "modes": (oscillator, lambda m: str(dd.modes(m))),
    "equilibrium": (oscillator, lambda m: dd.equilibrium(m, **STILL)["z"]),
    "lipschitz": (oscillator, lambda m: str(dd.lipschitz(m, box=BOX))),
    "convergence": (higher, lambda m: dd.convergence(m, "rk4", [0.1, 0.05]).order),
    "step_error": (higher, lambda m: dd.step_error(m, "rk4", 0.1).order),
    "same": (pendulum, lambda m: bool(dd.same(m, m))),
    "to_first_order": (higher, lambda m: dd.to_first_order(m).equations),
    "to_semi_explicit": (higher, lambda m: dd.to_semi_explicit(m).equations),
    "eliminate": (oscillator, lambda m: dd.eliminate(m, "z").equations),
    "check_units": (oscillator, lambda m: str(dd.check_units(m))),
    "fit": (oscillator, lambda m: dd.fit(m, DATA, free=["k"], noise={"x": 0.01}, **STILL)["k"]),
    "design": (oscillator, lambda m: str(dd.design(m, SPAN, free=["k"], **STILL))),
    "singular_limit": (fast_and_slow, lambda m: str(dd.singular_limit(m, "epsilon", 1.0))),
    "branch": (oscillator, lambda m: dd.branch(m, "u", (0.1, 0.5))["x"]),
    "periodic": (swinging, lambda m: dd.periodic(m, period=4.0).period),
    "boundary_value": (swinging, lambda m: dd.boundary_value(m, 1.0, lambda at: [at(0)["x"], at(1)["x"] - 1])["v"]),
    "inverse_kinematics": (slide, lambda m: dd.inverse_kinematics(m, {"cart.position": [0.5, 0.0, 0.0]}).q),
    "poincare": (swinging, lambda m: dd.poincare(m, "x", 2).time),
    "frequency_sweep": (pushed, lambda m: dd.frequency_sweep(m, "u", [0.5])["amplitude"].values),
    "lyapunov": (fast_and_slow, lambda m: dd.lyapunov(m, 2.0)),
    "propagate": (fast_and_slow, lambda m: dd.propagate(m, 0.1, start_covariance=0.01, save_at="end")["x"].values),
    "derive": (swinging, lambda m: str(dd.derive(m, "first_order"))),
    "solve_for": (oscillator, lambda m: str(dd.solve_for(m, "z"))),
    "passivity": (oscillator_of_one_input, lambda m: dd.passivity(m, ["u"], ["v"]).sentence),
    "step": (swinging, lambda m: dd.step(m, "radau5", [1.0, 0.0], 0.1).x),
    "energy_over_time": (pendulum, lambda m: dd.energy_over_time(m, ["radau5"], 0.1, **PULL).energy["radau5"]),
    "plot_reduction": (pendulum, lambda m: dd.plot_reduction(m).axes[0].get_title(loc="left")),
    "work_precision": (swinging, lambda m: str(dd.work_precision(m, ["dopri5"], [1e-4], span=1.0).failed)),
}


def frozen(model):
    return model.freeze()


def travelled(model):
    return pickle.loads(pickle.dumps(model.freeze()))


# Mass matrices and momenta are made from energies, which stay in the process that they were written in.
BY_ENERGIES = (
    "simulate by rattle", "same", "sensitivities of a pendulum", "energy_over_time", "inverse_kinematics",
)  # fmt: skip


@pytest.mark.parametrize("snapshot", [frozen, travelled])
@pytest.mark.parametrize("case", CASES)
def test_a_snapshot_gives_what_its_model_gives(case, snapshot):
    if snapshot is travelled and case in BY_ENERGIES:
        pytest.skip("needs the energies")
    make, asked = CASES[case]
    expected, found = asked(make()), asked(snapshot(make()))
    if isinstance(expected, (float, np.ndarray)):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    else:
        assert found == expected


def _streamed(model):
    with tempfile.TemporaryDirectory() as folder:
        run = dd.stream(model, SPAN, f"{folder}/run.nc", [0.5 * SPAN, SPAN], ["x"], **STILL)
        with run.open() as data:
            return data["x"].values


def test_every_verb_that_takes_a_model_is_asked():
    """A verb is a public function whose first argument is a model."""
    import inspect

    first = {n: next(iter(inspect.signature(getattr(dd, n)).parameters), "") for n in dd.__all__ if _is_verb(n)}
    verbs = {name for name, argument in first.items() if argument in ("model", "model_a")}
    assert verbs == {case.split()[0] for case in CASES} | {"phase_portrait", "report", "same"}


def _is_verb(name):
    value = getattr(dd, name)
    return callable(value) and not isinstance(value, type)


def test_a_phase_portrait_takes_a_snapshot():
    m = dd.Model("oscillator")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x)
    dd.phase_portrait(m.freeze(), "x", "v", ((-1.0, 1.0), (-1.0, 1.0)), trajectories=1)


@pytest.mark.parametrize("make", [oscillator, higher, pendulum, driven])
@pytest.mark.parametrize("snapshot", [frozen, travelled])
def test_a_snapshot_is_written_again_as_it_was(make, snapshot):
    from daedalus.model.reopened import as_model
    from daedalus.model.system.freeze import freeze

    system = snapshot(make())
    assert freeze(as_model(system)) == system
    assert as_model(system).freeze() is system


def test_what_is_no_model_is_refused_by_every_verb():
    for verb in (dd.reduce, dd.to_first_order, dd.to_semi_explicit, dd.eliminate, dd.simulate):
        with pytest.raises(dd.ModelError, match=r"A model is expected here\.\n  got int"):
            verb(3) if verb is not dd.simulate else verb(3, 1.0)
