"""Noise as an input of a model: `m.noise` is white, `m.sampled_noise` is drawn anew at equal times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.model.names import check_name
from daedalus.model.plain_numbers import without_unit
from daedalus.model.switching.delays import DelayDoor
from daedalus.model.variables import CALCULI, NoiseLaw, check_shape, flatten_values, make_variable


@dataclass(frozen=True)
class _WrittenNoise:
    """What is written of a noise, read and checked."""

    shape: tuple[int, ...]
    spread: tuple[float, ...]


class NoiseDoor(DelayDoor):
    """Write noise."""

    def noise(
        self,
        name: str,
        intensity: object = 1.0,
        shape: int | tuple[int, ...] = (),
        *,
        calculus: str = "ito",
        unit: str = "",
    ) -> ca.SX:
        """Declare white noise; returns its symbol, which may enter equations of derivatives linearly.

        `m.der(x) == -x + w` is the stochastic differential equation dx = −x dt + dW. `dd.simulate(m, span, seed=0)`
        computes one path of it, and `dd.sweep(m, span, seeds=1000)` computes many. Studies of the mean motion, such as
        `dd.linearise` and `dd.equilibrium`, use the value zero.

        Parameters
        ----------
        intensity: the spectral density q. The increment of the noise over a time dt has the variance q dt. Pass one
            number, or one per element. For an intensity that depends on states or parameters, multiply the symbol by
            an expression: `sigma * x * m.noise("w")`.
        shape: `()` scalar, `n` column, `(rows, columns)` matrix; elements are independent. By default one element for
            each number of the intensity.
        calculus: "ito" or "stratonovich": what a product such as x w means, if x depends on w.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("Ornstein–Uhlenbeck")
        >>> x = m.state("x", start=0.0); w = m.noise("w", intensity=0.5)
        >>> m.equation(m.der(x), -x + w)
        >>> one, again = dd.simulate(m, 1.0, step=0.01, seed=3), dd.simulate(m, 1.0, step=0.01, seed=3)
        >>> float(one["x"][-1]) == float(again["x"][-1])
        True
        """
        if calculus not in CALCULI:
            raise ModelError(f"{calculus!r} is not a calculus of noise.", remedy=" or ".join(map(repr, CALCULI)))
        own = _written(name, intensity, shape, "intensity", "white noise")
        return self._declare_noise(name, own, NoiseLaw(own.spread, 0.0, calculus), unit)

    def sampled_noise(
        self, name: str, variance: object = 1.0, shape: int | tuple[int, ...] = (), *, every: object, unit: str = ""
    ) -> ca.SX:
        """Declare a signal that takes a new normally distributed value at the times 0, every, 2 every, … and holds it.

        It models the noise of a sensor that is read by a clock. The variance is that of one value. `dd.simulate` and
        `dd.sweep` take the seed as for `m.noise`.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("sensor"); x = m.state("x", start=1.0); e = m.sampled_noise("e", 0.01, every=0.1)
        >>> m.equation(m.der(x), -x); y = m.output("y", x + e)
        >>> tr = dd.simulate(m, 1.0, seed=1)
        >>> len(set(tr["e"].tolist()))
        10
        """
        period = without_unit(every, "s", f"every= of {name}")
        if not isinstance(period, (int, float)) or isinstance(period, bool) or not 0 < period < float("inf"):
            raise ModelError(
                f"every={every!r} is not a time between two values of {name!r}."[:120],
                because="values are drawn at equal times.",
                remedy="every=0.01, in seconds",
            )
        own = _written(name, variance, shape, "variance", "noise")
        return self._declare_noise(name, own, NoiseLaw(own.spread, float(period)), unit)

    def _declare_noise(self, name: str, own: _WrittenNoise, law: NoiseLaw, unit: str) -> ca.SX:
        symbol = self._declare(make_variable(name, "input", own.shape, unit=unit))
        self.written.variables[name] = replace(self.written.variables[name], noise=law)
        return symbol


def _written(name: str, spread: object, shape: Any, what: str, kind: str) -> _WrittenNoise:
    check_name(name, "noise")
    if isinstance(spread, ca.SX):
        raise ModelError(
            f"The {what} of {name} is an expression.",
            because="it has to be a number before anything is computed.",
            remedy=f'the square root of the expression times m.noise("{name}"), whose intensity is 1',
        )
    dims = check_shape(shape, name)
    if dims == () and isinstance(spread, (list, tuple, np.ndarray)) and np.ndim(spread) == 1:
        dims = (len(spread),)
    values = flatten_values(spread, dims, name, what)
    if any(value is None or value < 0 for value in values):
        raise ModelError(
            f"The {what} of {name} is negative.",
            f"got {spread!r}"[:80],
            because=f"it is the variance of {kind}.",
            remedy=f"{what}=0.1",
        )
    return _WrittenNoise(dims, tuple(float(value) for value in values if value is not None))
