"""Seconds of one interval of a flow with its derivatives, from loops in C: ours, and CasADi's in the same process.

CasADi's explicit map is the unrolled SX function on its virtual machine, its implicit one the collocation integrator
with as many stages; both are called from the same loop in the core.
"""

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

STEP = 0.0417
# Many short batches: the best of them is one that nothing interrupted.
BATCHES = 200
PARTS = ("first", "tensors", "second")


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record a part and tool: "explicit first", "explicit tensors", "explicit second", "implicit first", …"""
    import daedalus as dd
    from daedalus import catalogue
    from daedalus.differentiation.flow.flow_core import FlowCore

    system = catalogue.load("quadrotor").model.freeze()
    x = system.default_start + 0.1 * np.sin(np.arange(system.sizes["x"]))
    point = (x, np.array([1.20, 1.15, 1.205, 1.155]), system.start["p"])
    for kind, method in (("explicit", "rk4"), ("implicit", "radau5")):
        begin = time.perf_counter()
        flow = FlowCore(system, dd.tableau(method), STEP, 1, 0.0)
        parts = PARTS if kind == "explicit" else ("first", "second")
        once = {part: flow.time_per_call(part, *point, repetitions=1) for part in parts}
        # Everything is compiled and has been called.
        ready = time.perf_counter() - begin
        for part in parts:
            repetitions = max(1, int(options["seconds"] / BATCHES / once[part]))
            best = min(flow.time_per_call(part, *point, repetitions=repetitions) for _ in range(BATCHES))
            yield {"name": f"{kind} {part}", "tool": "daedalus", "seconds": best, "compile": ready}
    for name, function in peers(system):
        yield {"name": name, "tool": "casadi", "seconds": time_of(function, point, options["seconds"])}


def peers(system: Any) -> Iterator[tuple[str, Any]]:
    """CasADi's own functions (x, u, p) -> value and derivatives by (x, u), and the second ones contracted with λ."""
    import casadi as ca

    from daedalus.reduction.forms.explicit_form import explicit_form

    x, u, p = (system.symbol(letter) for letter in "xup")
    f = explicit_form(system).xdot
    weights = ca.DM(np.linspace(1.0, 2.0, x.numel()))
    rhs = ca.Function("f", [x, u, p], [f])
    k1 = rhs(x, u, p)
    k2 = rhs(x + STEP / 2 * k1, u, p)
    k3 = rhs(x + STEP / 2 * k2, u, p)
    k4 = rhs(x + STEP * k3, u, p)
    end = x + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    w = ca.vertcat(x, u)
    jacobian = ca.jacobian(end, w)
    yield "explicit first", ca.Function("first", [x, u, p], [end, jacobian])
    tensors = ca.jacobian(ca.vertcat(*jacobian.nonzeros()), w)
    yield "explicit tensors", ca.Function("tensors", [x, u, p], [end, jacobian, tensors])
    contracted = ca.hessian(ca.dot(weights, end), w)[0]
    yield "explicit second", ca.Function("second", [x, u, p], [jacobian, contracted])

    scheme = {"collocation_scheme": "radau", "interpolation_order": 3, "number_of_finite_elements": 1}
    dae = {"x": x, "p": ca.vertcat(u, p), "ode": f}
    integrator = ca.integrator("F", "collocation", dae, 0.0, STEP, scheme)
    X, U, P = ca.MX.sym("x", x.numel()), ca.MX.sym("u", u.numel()), ca.MX.sym("p", p.numel())
    W = ca.MX.sym("w", x.numel() + u.numel())
    last = integrator(x0=W[: x.numel()], p=ca.vertcat(W[x.numel() :], P))["xf"]
    first = ca.Function("first", [W, P], [last, ca.jacobian(last, W)])
    yield "implicit first", ca.Function("first", [X, U, P], first(ca.vertcat(X, U), P))
    second = ca.Function("second", [W, P], [ca.hessian(ca.dot(weights, last), W)[0]])
    yield "implicit second", ca.Function("second", [X, U, P], [second(ca.vertcat(X, U), P)])


def time_of(function: Any, point: tuple[np.ndarray, ...], seconds: float) -> float:
    """Seconds of one call of a CasADi function on its virtual machine, from the loop in the core."""
    from daedalus.compilation import compile_function

    chosen = os.environ.get("DAEDALUS_COMPILER")
    os.environ["DAEDALUS_COMPILER"] = "interpreter"
    core = compile_function(function, wait=True).core
    os.environ["DAEDALUS_COMPILER"] = chosen or "auto"
    once = core.time_per_call(*point, repetitions=2)
    repetitions = max(1, int(seconds / BATCHES / once))
    return min(core.time_per_call(*point, repetitions=repetitions) for _ in range(BATCHES))
