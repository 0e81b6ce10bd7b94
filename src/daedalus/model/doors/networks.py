"""Networks in a model: a multilayer perceptron whose weights are one parameter of the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.model.expressions import column
from daedalus.model.names import check_name, did_you_mean
from daedalus.model.notebook import Notebook

ACTIVATIONS: dict[str, Callable[[ca.SX], ca.SX]] = {
    "tanh": ca.tanh,
    "sigmoid": lambda x: 1 / (1 + ca.exp(-x)),
    "softplus": lambda x: ca.fmax(x, 0) + ca.log1p(ca.exp(-ca.fabs(x))),
    "relu": lambda x: ca.fmax(x, 0),
    "sin": ca.sin,
    "identity": lambda x: x,
}
# A network is written out as scalar operations; beyond this many weights, code takes minutes to compile.
MOST_WEIGHTS = 20_000


class NetworkDoor(Notebook):
    """Write networks."""

    def network(
        self,
        name: str,
        inputs: object,
        outputs: int = 1,
        layers: Sequence[int] = (32, 32),
        activation: str = "tanh",
        *,
        weights: object = None,
        seed: int = 0,
    ) -> ca.SX:
        """A network of dense layers as an expression; its weights are the parameter `name.weights`, one column.

        Each hidden layer is a(W h + b), the last one W h + b. The weights of a layer follow each other as W by rows,
        then b: the order of `torch.nn.utils.parameters_to_vector` for a `Sequential` of `Linear` layers. `dd.fit`,
        `dd.gradient`, `dd.exchange.jax` and `dd.exchange.torch` change them like any other parameter.

        Parameters
        ----------
        inputs: expressions of the model, a list or a column.
        outputs: how many numbers the network returns.
        layers: the widths of the hidden layers.
        activation: "tanh", "sigmoid", "softplus", "relu", "sin" or "identity".
        weights: all weights (n,); by default uniform in ±√(6 / (inputs + outputs)) of each layer with biases of zero,
            the same in every process (X. Glorot and Y. Bengio, AISTATS 2010).
        seed: which of these random weights.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("car")
        >>> v = m.state("v", start=10.0)
        >>> drag = m.network("drag", inputs=[v / 10], layers=[8], outputs=1)
        >>> m.equation(m.der(v), -drag)
        >>> m.parameters["drag.weights"].shape
        (25,)
        """
        check_name(name, "network")
        given: object = ca.vertcat(*inputs) if isinstance(inputs, (list, tuple)) else inputs
        source = column(self._expression(given, f"The inputs of network {name!r}"))
        sizes = _checked_sizes(name, source.numel(), layers, outputs)
        if activation not in ACTIVATIONS:
            raise ModelError(
                f"{activation!r} is not an activation.",
                f"known: {', '.join(ACTIVATIONS)}",
                remedy=did_you_mean(str(activation), ACTIVATIONS) or 'activation="tanh"',
            )
        count = sum((n + 1) * m for n, m in pairwise(sizes))
        if count > MOST_WEIGHTS:
            raise ModelError(
                f"The network {name!r} is too large.",
                f"it has {count} weights, at most {MOST_WEIGHTS} are written out",
                because="each weight becomes an operation of the compiled equations.",
                remedy="narrower layers",
            )
        values = first_weights(sizes, seed) if weights is None else _checked_weights(name, weights, count)
        own = self.parameter(f"{name}.weights", values)  # type: ignore[attr-defined]
        return _written_out(source, own, sizes, ACTIVATIONS[activation])


def first_weights(sizes: Sequence[int], seed: int) -> np.ndarray:
    """Random weights for layers of these sizes, biases zero."""
    rng, parts = np.random.default_rng(seed), []
    for n, m in pairwise(sizes):
        bound = math.sqrt(6.0 / (n + m))
        parts += [rng.uniform(-bound, bound, n * m), np.zeros(m)]
    return np.concatenate(parts)


def _written_out(source: ca.SX, weights: ca.SX, sizes: Sequence[int], activation: Callable[[ca.SX], ca.SX]) -> ca.SX:
    value, offset = source, 0
    for k, (n, m) in enumerate(pairwise(sizes)):
        # By rows: the transpose of a matrix by columns.
        matrix = ca.reshape(weights[offset : offset + n * m], n, m).T
        value = ca.mtimes(matrix, value) + weights[offset + n * m : offset + n * m + m]
        value = value if k == len(sizes) - 2 else activation(value)
        offset += (n + 1) * m
    return value


def _checked_sizes(name: str, inputs: int, layers: object, outputs: object) -> list[int]:
    hidden = list(layers) if isinstance(layers, (list, tuple)) else [layers]
    sizes: list[Any] = [inputs, *hidden, outputs]
    for size in sizes:
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
            raise ModelError(
                f"The layers of network {name!r} are not whole numbers of at least 1.",
                f"inputs {inputs}, layers {layers!r}, outputs {outputs!r}"[:120],
                remedy="layers=[32, 32], outputs=1",
            )
    return [int(size) for size in sizes]


def _checked_weights(name: str, weights: object, count: int) -> np.ndarray:
    values = np.array(weights, dtype=float).reshape(-1)
    if len(values) != count:
        raise ModelError(
            f"The network {name!r} has another number of weights.",
            f"it has {count}, got {len(values)}",
            because="each layer has a weight for every input and output, and a bias for every output.",
            remedy="torch.nn.utils.parameters_to_vector of a network of the same layers",
        )
    return values
