"""Every result can be pickled, and says in another process what it said here."""

import pickle

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue


def oscillator():
    m = dd.Model("oscillator")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    k, u = m.parameter("k", 2.0), m.input("u")
    m.equation(m.der(x), v)
    m.equation(m.der(v), u - k * x)
    m.output("energy", 0.5 * v**2 + 0.5 * k * x**2)
    m.event("through", x, direction=-1, reset={"v": 0.9 * v})
    return m


def plain(events=True):
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", 2.0)
    m.equation(m.der(x), -k * x)
    return m


def implicit():
    m = dd.Model("implicit")
    x, z, k = m.state("x", start=1.0), m.algebraic("z", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), -k * z)
    m.equation(z**3 + z, x + x**3)
    return m


def fast():
    m = dd.Model("motor")
    x, z, e = m.state("x", start=1.0), m.state("z", start=0.5), m.parameter("epsilon", 0.01)
    m.equation(m.der(x), -z)
    m.equation(e * m.der(z), x - z)
    return m


def pendulum():
    return catalogue.load("pendulum_3d").model


M, PUSHED, SIN = oscillator(), {"inputs": {"force": [0.1, 0.0, 0.0]}}, {"inputs": {"u": np.sin}}
SAVED = {"save_at": [0.5, 2.0]}
# Name -> how the result is made and what it is asked for.
RESULTS = {
    "analyse": (lambda: dd.analyse(pendulum()), str),
    "analyse: constraints": (lambda: dd.analyse(pendulum()), lambda r: [str(e) for _, e in r.hidden_constraints]),
    "initialise": (lambda: dd.initialise(pendulum(), **PUSHED), lambda s: s["cable"]),
    "simulate": (lambda: dd.simulate(M, 2.0, **SIN), lambda tr: tr["energy"]),
    "simulate by radau5": (lambda: dd.simulate(pendulum(), 0.3, method="radau5", **PUSHED), lambda tr: tr["cable"]),
    "tr.at": (lambda: dd.simulate(M, 2.0, **SIN).at(0.5), lambda s: s["u"]),
    "tr.at, many": (lambda: dd.simulate(implicit(), 2.0).at([0.5, 1.0]), lambda s: s["z"]),
    "tr.end": (lambda: dd.simulate(M, 2.0, **SIN).end, lambda s: s["x"]),
    "tr.events": (lambda: dd.simulate(M, 2.0, **SIN).events, lambda events: events[0].after["v"]),
    "tr.stop": (lambda: dd.simulate(M, 2.0, **SIN).stop, str),
    "sweep": (
        lambda: dd.sweep(plain(), 1.0, over={"k": [1.0, 2.0]}, **SAVED | {"save_at": [1.0]}),
        lambda e: e["x"].values,
    ),
    "sensitivities": (lambda: dd.sensitivities(M, 2.0, **SIN), lambda s: np.hstack([s.M, s.N, s.at(0.3).M])),
    "sensitivities by name": (lambda: dd.sensitivities(M, 2.0, **SIN), lambda s: s.d("energy", "k")),
    "sensitivities: events": (lambda: dd.sensitivities(M, 2.0, **SIN), lambda s: s.events[0].time_derivative["k"]),
    "sensitivities: states": (lambda: dd.sensitivities(M, 2.0, **SIN), lambda s: s.states["u"]),
    "sensitivities, verified": (lambda: dd.sensitivities(M, 2.0, **SIN), lambda s: s.verify().passed),
    "verification": (lambda: dd.sensitivities(plain(), 2.0).verify(), str),
    "sensitivities, discrete": (lambda: dd.sensitivities(M, 2.0, by="discrete", **SIN), lambda s: s.M),
    "sensitivities, second": (lambda: dd.sensitivities(plain(), 2.0, order=2), lambda s: s.d("x", "k", "k")),
    "sensitivities, constrained": (lambda: dd.sensitivities(pendulum(), 0.3, **PUSHED), lambda s: s.M),
    "sensitivities by radau5": (lambda: dd.sensitivities(implicit(), 0.3, method="radau5"), lambda s: s.d("z", "k")),
    "sens.at": (lambda: dd.sensitivities(M, 2.0, **SIN).at([0.1, 0.2]), lambda s: s.d("energy", "k")),
    "gradient": (
        lambda: dd.gradient(M, 2.0, final="x", running="energy", wrt=("parameters", "inputs"), **SIN),
        lambda g: [g["k"], g["u"], g.value],
    ),
    "prepare": (lambda: dd.prepare(M, 2.0, **SIN, **SAVED), lambda run: run(p=np.array([3.0]))),
    "prepare with an expression": (lambda: dd.prepare(M, 2.0, inputs={"u": -M["v"]}, **SAVED), lambda run: run()),
    "prepare with a table": (
        lambda: dd.prepare(M, 2.0, inputs={"u": dd.signal([0, 1], [0, 1])}, **SAVED),
        lambda r: r(),
    ),
    "prepare, constrained": (lambda: dd.prepare(pendulum(), 0.3, save_at=[0.3], **PUSHED), lambda run: run()),
    "prepare with a start": (
        lambda: dd.prepare(implicit(), 0.3, {"x": 2.0}, save_at=[0.3], method="radau5"),
        lambda r: r(),
    ),
    "linearise": (lambda: dd.linearise(M, inputs={"u": 0.0}), lambda lin: lin.A),
    "linearise along": (lambda: dd.linearise(M, along=dd.simulate(M, 2.0, **SIN)), lambda ltv: ltv.at(0.5).A),
    "equilibrium": (lambda: dd.equilibrium(plain()), str),
    "modes": (lambda: dd.modes(M, inputs={"u": 0.0}), str),
    "pencil": (lambda: dd.pencil(np.eye(2), np.ones((2, 2))), str),
    "LTI": (lambda: dd.LTI([[-1.0]], [[1.0]], [[1.0]], [[0.0]]), str),
    "lipschitz": (lambda: dd.lipschitz(plain(), box={"x": (0.0, 1.0)}), str),
    "convergence": (lambda: dd.convergence(plain(), "rk4", [0.1, 0.05, 0.025]), str),
    "singular_limit": (lambda: dd.singular_limit(fast(), "epsilon", 1.0), str),
    "singular_limit: limit": (lambda: dd.singular_limit(fast(), "epsilon", 1.0), lambda s: s.limit.equations),
    "same": (lambda: dd.same(plain(), plain()), str),
    "reduce": (lambda: dd.reduce(pendulum()), lambda n: n.equations),
    "reduce: record": (lambda: dd.reduce(pendulum()).reduction, str),
    "reduce: snapshot": (lambda: dd.reduce(pendulum()).freeze(), hash),
    "flow": (lambda: dd.flow(plain(), step=0.1), lambda f: f([1.0], [], 2.0).full()),
    "signal": (lambda: dd.signal([0.0, 1.0], [1.0, 2.0]), lambda s: s(0.5)),
    "tableau": (lambda: dd.tableau("radau5"), str),
    "methods": (dd.methods, str),
    "solve_ivp": (lambda: dd.solve_ivp(lambda t, y: -y, (0, 1), [1.0]), lambda r: r.y),
    "solve_dae": (lambda: dd.solve_dae(lambda t, y, yp: yp + y, (0, 1), [1.0]), lambda r: r.y),
    "mechanics": (lambda: pendulum().freeze(), lambda s: dd.simulate(s, 0.2, **PUSHED)["position"]),
    "known system": (lambda: catalogue.load("pendulum_3d"), lambda k: k.span),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_travels(name):
    make, asked = RESULTS[name]
    result = make()
    expected = asked(result)
    found = asked(pickle.loads(pickle.dumps(result)))
    if isinstance(expected, (list, float, np.ndarray)) and not (
        isinstance(expected, list) and isinstance(expected[0], str)
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    else:
        assert found == expected


def test_a_result_that_travelled_can_travel_on():
    sens = pickle.loads(pickle.dumps(dd.sensitivities(M, 2.0, **SIN)))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(sens)).M, sens.M)
    run = pickle.loads(pickle.dumps(dd.prepare(M, 2.0, **SIN, **SAVED)))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(run))(), run())


def test_expressions_of_symbols_that_a_system_does_not_have_keep_their_names():
    from daedalus.model.system.packed_expressions import packed, unpacked

    system, strange = plain().freeze(), ca.SX.sym("strange")
    (found,) = unpacked(system, packed(system, [strange * system.symbol("x")]))
    assert str(found) == "(strange*x)"
