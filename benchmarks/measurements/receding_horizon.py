"""A controller in its loop, twenty intervals ahead: seconds a call, ours and those of peers on the same problem."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.receding import HORIZON, SAMPLES, STEP, Loop, loop_of


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record: median and 99th percentile of a call after the first; options problem and tool."""
    loop = loop_of(options["problem"])
    samples = min(SAMPLES, int(options.get("samples", SAMPLES)))
    begin = time.perf_counter()
    call = MAKERS[options["tool"]](loop)
    x, seconds, cost = loop.start, [], 0.0
    for k in range(samples):
        began = time.perf_counter()
        u = np.asarray(call(x, k * STEP), dtype=float).ravel()
        seconds.append(time.perf_counter() - began)
        off = x - loop.aim
        cost += STEP * float(loop.of_states @ off**2 + loop.of_inputs @ (u - loop.rest) ** 2)
        x = loop.next_state(x, u)
    yield {
        "median": float(np.median(seconds[1:])),
        "p99": float(np.percentile(seconds[1:], 99)),
        "least": float(np.min(seconds[1:])),
        "ready": time.perf_counter() - begin,
        "first": seconds[0],
        "cost": cost,
        "off": float(np.abs(x - loop.aim).max()),
    }


Call = Callable[[np.ndarray, float], Any]


def with_daedalus(loop: Loop) -> Call:
    """Real-time iterations."""
    import casadi as ca

    import daedalus as dd

    m = dd.Model("loop")
    x, u = m.state("x", len(loop.start), start=loop.start.tolist()), m.input("u", len(loop.rest))
    m.equation(m.der(x), ca.vertcat(*loop.rates(x, u)))
    ocp = dd.OptimalControl(m, duration=HORIZON * STEP, intervals=HORIZON)
    ocp.bound(u, loop.lower, loop.upper)
    off, more = x - loop.aim, u - loop.rest
    ocp.minimise(
        running=ca.dot(loop.of_states, off**2) + ca.dot(loop.of_inputs, more**2), final=ca.dot(loop.of_end, off**2)
    )
    return dd.Controller(ocp, every=STEP)


def with_casadi(loop: Loop) -> Call:
    """Multiple shooting by hand with RK4, two steps an interval; IPOPT from the plan before, moved on."""
    import casadi as ca

    n, m = len(loop.start), len(loop.rest)
    x, u = ca.SX.sym("x", n), ca.SX.sym("u", m)
    f = ca.Function("f", [x, u], [ca.vertcat(*loop.rates(x, u))])
    at, h = x, STEP / 2
    for _ in range(2):
        one = f(at, u)
        two = f(at + h / 2 * one, u)
        three = f(at + h / 2 * two, u)
        at = at + h / 6 * (one + 2 * two + 2 * three + f(at + h * three, u))
    step = ca.Function("step", [x, u], [at])
    X, U, start = ca.MX.sym("X", n, HORIZON + 1), ca.MX.sym("U", m, HORIZON), ca.MX.sym("start", n)
    rows, cost = [X[:, 0] - start], 0
    for k in range(HORIZON):
        rows.append(X[:, k + 1] - step(X[:, k], U[:, k]))
        cost += STEP * (ca.dot(loop.of_states, (X[:, k] - loop.aim) ** 2))
        cost += STEP * ca.dot(loop.of_inputs, (U[:, k] - loop.rest) ** 2)
    cost += ca.dot(loop.of_end, (X[:, -1] - loop.aim) ** 2)
    quiet = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes", "ipopt.warm_start_init_point": "yes"}
    nlp = {"x": ca.vertcat(ca.vec(X), ca.vec(U)), "p": start, "f": cost, "g": ca.vertcat(*rows)}
    solver = ca.nlpsol("by_hand", "ipopt", nlp, quiet)
    size = n * (HORIZON + 1)
    low = np.concatenate([np.full(size, -np.inf), np.tile(loop.lower, HORIZON)])
    high = np.concatenate([np.full(size, np.inf), np.tile(loop.upper, HORIZON)])
    plan = {"w": np.concatenate([np.tile(loop.start, HORIZON + 1), np.tile(loop.rest, HORIZON)])}

    def call(measured: np.ndarray, t: float) -> np.ndarray:
        found = solver(x0=plan["w"], p=measured, lbx=low, ubx=high, lbg=0, ubg=0)
        w = found["x"].full().ravel()
        moved = [w[n:size], w[size - n : size], w[size + m :], w[-m:]]
        plan["w"] = np.concatenate(moved)
        return np.array(w[size : size + m])

    return call


def with_do_mpc(loop: Loop) -> Call:
    """do-mpc with its own defaults: collocation and IPOPT."""
    import casadi as ca
    import do_mpc

    model = do_mpc.model.Model("continuous", "SX")
    x, u = model.set_variable("_x", "x", (len(loop.start), 1)), model.set_variable("_u", "u", (len(loop.rest), 1))
    model.set_rhs("x", ca.vertcat(*loop.rates(x, u)))
    model.setup()
    mpc = do_mpc.controller.MPC(model)
    mpc.set_param(n_horizon=HORIZON, t_step=STEP, store_full_solution=False)
    mpc.settings.supress_ipopt_output()
    off, more = model.x["x"] - loop.aim, model.u["u"] - loop.rest
    running = STEP * (ca.dot(loop.of_states, off**2) + ca.dot(loop.of_inputs, more**2))
    mpc.set_objective(mterm=ca.dot(loop.of_end, off**2), lterm=running)
    mpc.bounds["lower", "_u", "u"], mpc.bounds["upper", "_u", "u"] = loop.lower, loop.upper
    mpc.setup()
    mpc.x0 = loop.start
    mpc.set_initial_guess()
    return lambda measured, t: mpc.make_step(measured.reshape(-1, 1))


MAKERS: dict[str, Callable[[Loop], Call]] = {
    "daedalus": with_daedalus,
    "casadi": with_casadi,
    "do-mpc": with_do_mpc,
}
