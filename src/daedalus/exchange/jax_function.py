"""dd.exchange.jax: a run as a function of JAX, with its transformations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.exchange.array_rates import ArrayRates
from daedalus.exchange.array_run import GROUPS, ArrayRun
from daedalus.exchange.extras import needed
from daedalus.model.model import Model
from daedalus.model.system.system import System


class JaxFunction:
    """A run as a pure function of JAX arrays, as returned by `dd.exchange.jax`.

    Call it as f(start, inputs, parameters); each may be left out or None for the model's own values, which stand in
    `f.start`, `f.inputs` and `f.parameters`. `labels` has the names of the entries of x, u, p and y.
    """

    def __init__(self, library: Any, run: ArrayRun) -> None:
        self._jax, self._run = library, run
        self.labels, self.times = run.labels, run.times

    @property
    def start(self) -> np.ndarray:
        """The model's own start (n,)."""
        return self._run.defaults["start"].copy()

    @property
    def inputs(self) -> np.ndarray:
        """Inputs of zero, (nt - 1, nu)."""
        return self._run.defaults["inputs"].copy()

    @property
    def parameters(self) -> np.ndarray:
        """The model's own parameters (np,)."""
        return self._run.defaults["parameters"].copy()

    def __call__(self, start: Any = None, inputs: Any = None, parameters: Any = None) -> Any:
        """y (nt, ny) at the times."""
        given = [
            self._jax.numpy.asarray(self._run.defaults[name] if value is None else value, dtype=float)
            for name, value in zip(GROUPS, (start, inputs, parameters))
        ]
        count = len(self.times) - 1
        shapes = ((len(self.labels["x"]),), (count, len(self.labels["u"])), (len(self.labels["p"]),))
        for name, value, shape in zip(GROUPS, given, shapes):
            if value.shape != shape:
                raise _wrong_shape(name, value.shape, shape)
        from daedalus.exchange.jax_primitives import primitives

        return primitives().values.bind(*given, run=self._run)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(self.labels[letter])} {letter}" for letter in "xupy")
        return f"JaxFunction({self._run.system.name!r}: {sizes}, {len(self.times)} times)"


def _wrong_shape(name: str, got: tuple[int, ...], wanted: tuple[int, ...]) -> Exception:
    from daedalus.errors import InputError

    return InputError(
        f"The {name} of the function have the wrong shape." if name != "start" else "The start has the wrong shape.",
        f"got {got}, expected {wanted}",
        because="arrays are in the order of f.labels; inputs have one row for each interval between the times.",
        remedy="jax.vmap(f) for a batch",
    )


def jax_function(
    model: Model | System,
    times: object = None,
    outputs: str | Sequence[str] | None = None,
    wrt: str | Sequence[str] = GROUPS,
    **simulate_options: Any,
) -> JaxFunction | ArrayRates:
    """A run of the model as a pure function of JAX: y = f(start, inputs, parameters), with jit, vmap, grad and jvp.

    It works through constraints of any index, events and switches. Explicit steps of models without events are taken
    and pulled back by compiled code that XLA calls (the adjoint of the steps); all else is a call back into Python,
    with the derivatives of `dd.sensitivities`, whose cost grows with the number of entries that are differentiated by.
    Computed on the processor, in double precision; JAX rounds to single precision unless `jax_enable_x64` is set, and
    then every call goes through Python. On a GPU explicit steps are operations of JAX, without Python. Needs the
    optional extra `jax`.

    Parameters
    ----------
    times: (nt,) increasing; the run goes from the first to the last. Without times you get the right-hand side alone,
        x' = f(t, x, u, p), in operations of JAX, with derivatives of any order (`ArrayRates`).
    outputs: names of states, algebraic variables or outputs; by default all states, in the order of `f.labels["y"]`.
    wrt: "start", "inputs", "parameters": everything else counts as constant. Fewer cost less.
    simulate_options: method, rtol, atol, step and the limits of `dd.simulate`.

    Arrays are in the order of `f.labels`: start (n,), inputs (nt - 1, nu) held between the times, parameters (np,);
    the result is (nt, ny). A run that stops early raises a JaxRuntimeError with the text of ours.

    Example
    -------
    >>> import daedalus as dd
    >>> from importlib.util import find_spec
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0); k = m.parameter("k", 2.0)
    >>> m.equation(m.der(x), -k * x)
    >>> f = dd.exchange.jax(m, [0.0, 0.5, 1.0], rtol=1e-9) if find_spec("jax") else None
    >>> f is None or f(start=[2.0]).shape == (3, 1)
    True
    """
    library = needed("jax", "jax", "jax", "dd.exchange.jax makes a function of JAX")
    if times is None:
        return ArrayRates(model, "JAX", library.numpy, outputs, simulate_options)
    return JaxFunction(library, ArrayRun(model, times, outputs, wrt, simulate_options, "JAX"))
