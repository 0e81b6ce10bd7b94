"""Seconds of a quadrotor's flight inside JAX: a loss of its end by 20 × 4 held thrusts, and the gradient of that.

Tools: "daedalus" is `dd.exchange.jax`, "diffrax" its Dopri8 from one change of the thrusts to the next by
`jax.lax.scan`, differentiated as it does unless told otherwise (one solve with `jump_ts` takes longer). Both are
compiled before they are timed; CPU seconds, also of a batch.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

TIMES = np.linspace(0.0, 2.0, 21)
HOVER = 0.468 * 9.81 / 4
START = np.array([0.0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0.2, -0.1, 0.1])
MASS, ARM, TORQUE, GRAVITY = 0.468, 0.225, 0.0245, 9.81
INERTIA = np.array([4.856e-3, 4.856e-3, 8.801e-3])
# Wide enough that every flight of the batch is another one.
SPREAD = 0.02


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record: seconds of a value, of value and gradient, of both for a batch, and of first calls; the gradient."""
    import jax

    jax.config.update("jax_enable_x64", True)
    end = {"daedalus": by_daedalus, "diffrax": by_diffrax}[options["tool"]](options["rtol"])

    def loss(u: Any) -> Any:
        return (end(u) ** 2).sum()

    thrusts = HOVER * (1 + SPREAD * np.random.default_rng(0).normal(size=(options["batch"], 20, 4)))
    calls = {
        "value": (jax.jit(loss), thrusts[0]),
        "gradient": (jax.jit(jax.value_and_grad(loss)), thrusts[0]),
        "batch": (jax.jit(jax.vmap(jax.value_and_grad(loss))), thrusts),
    }
    record: dict[str, Any] = {}
    for name, (call, argument) in calls.items():
        began = time.perf_counter()
        jax.block_until_ready(call(argument))
        record[f"{name}_first"] = time.perf_counter() - began
        record[name] = best(lambda call=call, given=argument: jax.block_until_ready(call(given)), options["seconds"])
    value, slope = calls["gradient"][0](thrusts[0])
    yield {**record, "loss": float(value), "slope": np.asarray(slope).ravel().tolist()}


def best(call: Callable[[], object], seconds: float) -> float:
    from benchmarks.timing import best_cpu_time

    return best_cpu_time(call, seconds)


def by_daedalus(rtol: float) -> Callable[[Any], Any]:
    import daedalus as dd
    from daedalus import catalogue

    f = dd.exchange.jax(catalogue.load("quadrotor").model, TIMES, outputs=["position"], rtol=rtol, atol=1e-2 * rtol)
    return lambda u: f(inputs=u)[-1]


def by_diffrax(rtol: float) -> Callable[[Any], Any]:
    import diffrax
    import jax
    import jax.numpy as jnp

    def rates(t: Any, x: Any, u: Any) -> Any:
        q, w = x[6:10], x[10:]
        up = jnp.stack([
            2 * (q[1] * q[3] + q[0] * q[2]), 2 * (q[2] * q[3] - q[0] * q[1]), q[0]**2 - q[1]**2 - q[2]**2 + q[3]**2
        ])  # fmt: skip
        torque = jnp.stack([ARM * (u[1] - u[3]), ARM * (u[2] - u[0]), TORQUE * (u[0] - u[1] + u[2] - u[3])])
        turn = 0.5 * jnp.stack([
            -q[1] * w[0] - q[2] * w[1] - q[3] * w[2], q[0] * w[0] + q[2] * w[2] - q[3] * w[1],
            q[0] * w[1] - q[1] * w[2] + q[3] * w[0], q[0] * w[2] + q[1] * w[1] - q[2] * w[0],
        ])  # fmt: skip
        push = up * u.sum() / MASS - jnp.array([0, 0, GRAVITY])
        return jnp.concatenate([x[3:6], push, turn, (torque - jnp.cross(w, INERTIA * w)) / INERTIA])

    control = diffrax.PIDController(rtol=rtol, atol=1e-2 * rtol)
    term, method = diffrax.ODETerm(rates), diffrax.Dopri8()

    def interval(x: Any, u: Any) -> tuple[Any, None]:
        found = diffrax.diffeqsolve(
            term, method, 0.0, 0.1, 0.05, x, args=u, stepsize_controller=control, saveat=diffrax.SaveAt(t1=True)
        )
        return found.ys[-1], None

    return lambda u: jax.lax.scan(interval, jnp.asarray(START), u)[0][:3]
