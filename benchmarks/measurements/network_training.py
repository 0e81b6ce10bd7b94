"""Seconds of a step of training: a loss of five states with a network of 2 × 32, and its gradient by 1413 weights.

Beside `dd.exchange.torch` stands torchdiffeq, where it is installed: its dopri5 differentiated through its operations,
which is its faster way here, with the whole batch in one solve. CPU seconds, one thread for PyTorch's own operations.
"""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.timing import best_cpu_time

TIMES = np.linspace(0.0, 1.0, 11)
START = np.linspace(0.1, 0.5, 5)
LAYERS = [32, 32]


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record: by tool and "one" or "batch" the seconds of a loss with its gradient, and the loss."""
    import torch

    torch.set_num_threads(1)
    draw = np.random.default_rng(0)
    weights = torch.tensor(0.3 * draw.normal(size=1413))
    starts = torch.tensor(START + 0.1 * draw.normal(size=(options["batch"], 5)))
    tools = {"daedalus": by_daedalus}
    if find_spec("torchdiffeq") is not None:
        tools["torchdiffeq"] = by_torchdiffeq
    record: dict[str, Any] = {}
    for tool, make in tools.items():
        solve = make(weights, options["rtol"])
        for name, start in (("one", starts[0]), ("batch", starts)):

            def step(solve: Any = solve, start: Any = start) -> float:
                loss = (solve(start) ** 2).sum()
                loss.backward()
                return float(loss.detach())

            record[f"{tool}_{name}_loss"] = step()
            record[f"{tool}_{name}"] = best_cpu_time(step, options["seconds"])
    yield record


def by_daedalus(weights: Any, rtol: float) -> Callable[[Any], Any]:
    import daedalus as dd

    m = dd.Model("five")
    x = m.state("x", 5, start=START)
    m.equation(m.der(x), -x + m.network("f", inputs=[x], outputs=5, layers=LAYERS, activation="tanh"))
    f = dd.exchange.torch(m, TIMES, rtol=rtol, atol=1e-2 * rtol)
    weights.requires_grad_(True)
    return lambda start: f(start=start, parameters=weights)


def by_torchdiffeq(weights: Any, rtol: float) -> Callable[[Any], Any]:
    import torch
    from torchdiffeq import odeint

    nn = torch.nn
    layers = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 5)).double()
    nn.utils.vector_to_parameters(weights.detach(), layers.parameters())
    times = torch.tensor(TIMES)

    def solve(start: Any) -> Any:
        return odeint(lambda t, x: layers(x) - x, start, times, rtol=rtol, atol=1e-2 * rtol)

    return solve
