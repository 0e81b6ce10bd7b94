"""An explicit run in JAX's own operations, for GPUs and other devices: values, tangents and pulled weights.

Each case takes its own adaptive steps by the tableau of the run, from one time to the next. Derivatives are those of
the steps that were taken: tangents go along with them, weights go back over them (the discrete adjoint), one step at a
time from the states that were kept. A case that needs more than `MOST_STEPS` between two times, or has values that are
not finite, gives NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from daedalus.differentiation.case import Case
from daedalus.differentiation.steps.adjoint import tableau_of
from daedalus.exchange.array_rates import translated
from daedalus.simulation.plant.explicit_plant import ExplicitPlant

# Between two times; all of them are kept for weights that go back.
MOST_STEPS = 512
SAFETY, SHRINK, GROW = 0.9, 0.2, 5.0
# The first step between two times, as a share of what lies between them.
FIRST_SHARE = 1e-2


class DeviceRun:
    """y (nt, ny) of x0 (n,), u (nt - 1, nu) and p (np,) as functions that JAX traces."""

    def __init__(self, case: Case, times: np.ndarray, outputs: ca.Function | None) -> None:
        import jax

        plant = case.plant
        assert isinstance(plant, ExplicitPlant)
        self._jax, self._times = jax, times
        point = case.system.symbols(("t", "x", "u", "p"))
        rates = ca.Function("rates", point, [ca.densify(plant.form.xdot)], {"cse": True})
        self._rates = translated(rates, "JAX", jax.numpy)
        self._outputs = None if outputs is None else translated(outputs, "JAX", jax.numpy)
        own, self._table = case.settings, tableau_of(case)
        self._rtol = float(own.call.get("rtol", own.rtol))
        self._atol = np.broadcast_to(np.asarray(own.call.get("atol", 1e-9), dtype=float), case.x0.shape)

    @property
    def is_adaptive(self) -> bool:
        """Whether the tableau tells the error of its steps."""
        return self._table.b_hat is not None

    # -- one step --------------------------------------------------------------------------------------------------

    def _step(self, t: Any, h: Any, x: Any, u: Any, p: Any) -> tuple[Any, Any]:
        """The state behind a step, and its error in tolerances."""
        jnp, table = self._jax.numpy, self._table
        slopes: list[Any] = []
        for i in range(table.stages):
            moved = x
            for j in range(i):
                if table.A[i, j]:
                    moved = moved + h * table.A[i, j] * slopes[j]
            slopes.append(self._rates(t + table.c[i] * h, moved, u, p))
        assert table.b_hat is not None
        zero = jnp.zeros_like(x)
        after = x + h * sum((b * k for b, k in zip(table.b, slopes) if b), zero)
        off = h * sum((d * k for d, k in zip(table.b - table.b_hat, slopes) if d), zero)
        scale = jnp.asarray(self._atol, x.dtype) + self._rtol * jnp.maximum(jnp.abs(x), jnp.abs(after))
        return after, jnp.sqrt(jnp.mean((off / scale) ** 2))

    def _interval(self, begin: Any, end: Any, x: Any, u: Any, p: Any) -> tuple[Any, Any, Any, Any]:
        """The state at the end; the beginnings, the lengths and the first states of the steps."""
        jnp, lax = self._jax.numpy, self._jax.lax
        power = -1.0 / (min(self._table.order, self._table.embedded_order or self._table.order) + 1)
        kept = (
            jnp.zeros((MOST_STEPS,), x.dtype),
            jnp.zeros((MOST_STEPS,), x.dtype),
            jnp.zeros((MOST_STEPS, x.size), x.dtype),
        )

        def goes_on(carried: Any) -> Any:
            t, _, state, count, tries, _ = carried
            return (t < end) & (count < MOST_STEPS) & (tries < 4 * MOST_STEPS) & jnp.all(jnp.isfinite(state))

        def advance(carried: Any) -> Any:
            t, h, state, count, tries, (ts, hs, xs) = carried
            last = t + h >= end - 1e-3 * h
            h = lax.stop_gradient(jnp.where(last, end - t, h))
            after, error = self._step(t, h, state, u, p)
            error = lax.stop_gradient(jnp.where(jnp.isfinite(error), error, jnp.inf))
            good = error <= 1.0
            place = jnp.where(good, count, MOST_STEPS - 1)
            ts, hs = ts.at[place].set(jnp.where(good, t, ts[place])), hs.at[place].set(jnp.where(good, h, hs[place]))
            xs = xs.at[place].set(jnp.where(good, state, xs[place]))
            factor = jnp.clip(SAFETY * jnp.maximum(error, 1e-10) ** power, SHRINK, jnp.where(good, GROW, 1.0))
            t = jnp.where(good, jnp.where(last, end, t + h), t)
            return t, h * factor, jnp.where(good, after, state), count + good, tries + 1, (ts, hs, xs)

        h = jnp.asarray(FIRST_SHARE, x.dtype) * (end - begin)
        t, _, x, _, _, (ts, hs, xs) = lax.while_loop(goes_on, advance, (begin, h, x, 0, 0, kept))
        return jnp.where(t >= end, x, jnp.nan), ts, hs, xs

    # -- a run -----------------------------------------------------------------------------------------------------

    def _run(self, x0: Any, u: Any, p: Any) -> tuple[Any, Any]:
        """States at all times, and the steps between them."""
        jnp = self._jax.numpy
        times = jnp.asarray(self._times, x0.dtype)

        def one(x: Any, given: Any) -> Any:
            begin, end, held = given
            after, *steps = self._interval(begin, end, x, held, p)
            return after, (after, steps)

        _, (rows, steps) = self._jax.lax.scan(one, x0, (times[:-1], times[1:], u))
        return jnp.concatenate([x0[None], rows]), steps

    def _read(self, rows: Any, u: Any, p: Any) -> Any:
        """y of the states at all times; inputs at a time where they change are the later ones."""
        if self._outputs is None:
            return rows
        jnp = self._jax.numpy
        held = jnp.concatenate([u, u[-1:]])
        times = jnp.asarray(self._times, rows.dtype)
        return self._jax.vmap(lambda t, x, v: self._outputs(t, x, v, p))(times, rows, held)

    def value(self, x0: Any, u: Any, p: Any) -> Any:
        """y (nt, ny)."""
        return self._read(self._run(x0, u, p)[0], u, p)

    def moved(self, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        """The tangent of y."""
        return self._jax.jvp(self.value, primals, tangents)[1]

    def pulled(self, x0: Any, u: Any, p: Any, weights: Any) -> tuple[Any, Any, Any]:
        """Weights of y as those of x0, u and p."""
        jax, jnp = self._jax, self._jax.numpy
        rows, steps = self._run(x0, u, p)
        _, back = jax.vjp(self._read, rows, u, p)
        of_rows, of_u, of_p = back(weights)

        def over_step(k: Any, carried: Any, own: Any, held: Any) -> Any:
            ts, hs, xs = own
            j = MOST_STEPS - 1 - k
            bar, of_held, of_given = carried
            _, back = jax.vjp(lambda x, v, q: self._step(ts[j], hs[j], x, v, q)[0], xs[j], held, p)
            new, more, given = back(bar)
            taken = hs[j] > 0
            return (
                jnp.where(taken, new, bar),
                of_held + jnp.where(taken, more, 0),
                of_given + jnp.where(taken, given, 0),
            )

        def over_interval(carried: Any, given: Any) -> Any:
            bar, of_given = carried
            own, held, of_row = given
            first = MOST_STEPS - jnp.sum(own[1] > 0)
            start = bar + of_row, jnp.zeros_like(held), of_given
            bar, of_held, of_given = jax.lax.fori_loop(
                first, MOST_STEPS, lambda k, c: over_step(k, c, own, held), start
            )
            return (bar, of_given), of_held

        begin = jnp.zeros_like(x0), of_p
        (bar, of_p), of_held = jax.lax.scan(over_interval, begin, (steps, u, of_rows[1:]), reverse=True)
        return bar + of_rows[0], of_u + of_held, of_p

    # -- batches -----------------------------------------------------------------------------------------------------

    def of_batch(self, function: Callable[..., Any], axes: tuple[int, ...], *arrays: Any) -> Any:
        """A function of one case for arrays whose leading axes are those of a batch."""
        for _ in range(arrays[0].ndim - axes[0]):
            function = self._jax.vmap(function)
        return function(*arrays)
