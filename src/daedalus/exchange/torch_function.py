"""dd.exchange.torch: a run as a function of PyTorch tensors, with batches, gradients and forward derivatives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.exchange.array_rates import ArrayRates
from daedalus.exchange.array_run import GROUPS, LETTERS, ArrayRun
from daedalus.exchange.extras import needed
from daedalus.model.model import Model
from daedalus.model.system.system import System


class TorchFunction:
    """A run as a function of tensors, as returned by `dd.exchange.torch`.

    Call it as f(start, inputs, parameters); each may be left out or None for the model's own values. Further leading
    axes are a batch, and are broadcast against each other. `labels` has the names of the entries of x, u, p and y.
    """

    def __init__(self, library: Any, run: ArrayRun) -> None:
        self._torch, self._run = library, run
        self.labels, self.times = run.labels, run.times
        self._rule = _autograd_functions(library)

    @property
    def start(self) -> Any:
        """The model's own start (n,)."""
        return self._torch.tensor(self._run.defaults["start"])

    @property
    def inputs(self) -> Any:
        """Inputs of zero, (nt - 1, nu)."""
        return self._torch.tensor(self._run.defaults["inputs"])

    @property
    def parameters(self) -> Any:
        """The model's own parameters (np,)."""
        return self._torch.tensor(self._run.defaults["parameters"])

    def __call__(self, start: Any = None, inputs: Any = None, parameters: Any = None) -> Any:
        """y (…, nt, ny) at the times."""
        torch, count = self._torch, len(self.times) - 1
        shapes = ((len(self.labels["x"]),), (count, len(self.labels["u"])), (len(self.labels["p"]),))
        given = []
        for name, value, shape in zip(GROUPS, (start, inputs, parameters), shapes):
            tensor = torch.as_tensor(self._run.defaults[name] if value is None else value)
            tensor = tensor if tensor.is_floating_point() else tensor.double()
            if tuple(tensor.shape[tensor.ndim - len(shape) :]) != shape:
                raise InputError(
                    f"The {name} of the function {'has' if name == 'start' else 'have'} the wrong shape.",
                    f"got {tuple(tensor.shape)}, expected (…, {', '.join(map(str, shape))})",
                    because="arrays are in the order of f.labels; inputs have one row for each interval.",
                    remedy="batches on leading axes",
                )
            given.append(tensor)
        lead = torch.broadcast_shapes(*(t.shape[: t.ndim - len(s)] for t, s in zip(given, shapes)))
        start, inputs, parameters = given
        if parameters.ndim > 1:
            parameters = parameters.expand(*lead, *shapes[2])
        # Parameters without leading axes are those of the whole batch: their gradient is summed as it is computed.
        return self._rule.apply(
            start.expand(*lead, *shapes[0]), inputs.expand(*lead, *shapes[1]), parameters, self._run
        )

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(self.labels[letter])} {letter}" for letter in "xupy")
        return f"TorchFunction({self._run.system.name!r}: {sizes}, {len(self.times)} times)"


def _arrays(tensors: Sequence[Any]) -> list[np.ndarray]:
    return [t.detach().cpu().double().numpy() for t in tensors]


def _flat(arrays: Sequence[np.ndarray]) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """The leading axes, and the arrays with one axis in their place, that of the cases."""
    lead = arrays[0].shape[:-1]
    return lead, [a.reshape(math.prod(lead), *a.shape[len(lead) :]) for a in arrays]


def _run_cases(start: Any, inputs: Any, parameters: Any, *weights: Any) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """The same of a run, whose parameters may be there once for all cases."""
    lead, [x0, u, *rest] = _flat(_arrays((start, inputs, *weights)))
    [p] = _arrays((parameters,))
    return lead, [x0, u, p[None] if p.ndim == 1 else p.reshape(len(x0), -1), *rest]


def _with_lead(saved: Sequence[Any]) -> list[Any]:
    """Start, inputs and parameters, these with the leading axes of the others."""
    start, inputs, parameters = saved
    return [start, inputs, parameters.expand(*start.shape[:-1], parameters.shape[-1])]


def _inner_lead(given: Sequence[Any]) -> list[Any]:
    """The same behind a vmap, whose axis all of them have."""
    start, inputs, parameters = given
    missing = (1,) * (start.ndim - parameters.ndim)
    wide = parameters.reshape(parameters.shape[0], *missing, *parameters.shape[1:])
    return [start, inputs, wide.expand(*start.shape[:-1], parameters.shape[-1])]


def _without_lead(value: Any, like: Any) -> Any:
    """Summed over the leading axes that a shared argument does not have."""
    return value if value is None or value.ndim == like.ndim else value.sum(tuple(range(value.ndim - like.ndim)))


def _to_front(info: Any, in_dims: Any, tensors: Sequence[Any]) -> list[Any]:
    """The axis of a vmap before all others."""
    return [t.movedim(d, 0) if d is not None else t.expand(info.batch_size, *t.shape) for t, d in zip(tensors, in_dims)]


def _autograd_functions(torch: Any) -> Any:
    """The rules of PyTorch for a run, made where PyTorch is there.

    Jacobians are a function of their own, so that weights and tangents meet them in PyTorch's own operations and every
    transformation of these holds.
    """
    second = _second_of_tensors(torch)
    jacobians = _jacobians_of_tensors(torch, second)
    return _run_of_tensors(torch, jacobians, _pulled_of_tensors(torch, second, jacobians))


def _second_of_tensors(torch: Any) -> Any:
    class SecondOfTensors(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """All second derivatives of y by some of (start, inputs, parameters), flat: (…, nt, ny, size, size)."""

        @staticmethod
        def forward(start: Any, inputs: Any, parameters: Any, run: ArrayRun, names: tuple[str, ...]) -> Any:
            lead, cases = _flat(_arrays((start, inputs, parameters)))
            found = np.stack([run.second(x0, u, p, wanted=names) for x0, u, p in zip(*cases)])
            return torch.as_tensor(found.reshape(*lead, *found.shape[1:])).to(start)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            """Nothing is kept: whoever differentiates once more is told that there is no way."""

        @staticmethod
        def backward(ctx: Any, *weights: Any) -> Any:
            raise _no_third()

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            raise _no_third()

        @staticmethod
        def vmap(info: Any, in_dims: Any, start: Any, inputs: Any, parameters: Any, run: Any, names: Any) -> Any:
            return SecondOfTensors.apply(*_to_front(info, in_dims, (start, inputs, parameters)), run, names), 0

    return SecondOfTensors


def _jacobians_of_tensors(torch: Any, second: Any) -> Any:
    class JacobiansOfTensors(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """The Jacobians of y by some of (start, inputs, parameters), flat: (…, nt, ny, size)."""

        @staticmethod
        def forward(start: Any, inputs: Any, parameters: Any, run: ArrayRun, names: tuple[str, ...]) -> Any:
            lead, cases = _flat(_arrays((start, inputs, parameters)))
            found = [run.slopes(x0, u, p, wanted=names)[1] for x0, u, p in zip(*cases)]
            rows = (len(run.times), len(run.labels["y"]))
            return tuple(
                torch.as_tensor(np.stack([f[n] for f in found]).reshape(*lead, *rows, -1)).to(start) for n in names
            )

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            *given, ctx.run, ctx.names = inputs
            ctx.save_for_backward(*given)
            ctx.save_for_forward(*given)

        @staticmethod
        def backward(ctx: Any, *weights: Any) -> Any:
            saved, run, names = ctx.saved_tensors, ctx.run, ctx.names
            bends = second.apply(*saved, run, names)
            whole = torch.einsum("...tyab,...tyb->...a", bends, torch.cat(weights, -1))
            return (*_as_given(torch, whole, saved, names, run), None, None)

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            saved, run, names = ctx.saved_tensors, ctx.run, ctx.names
            moved = _given_tangents(tangents, saved, names, torch)
            bends = second.apply(*saved, run, names)
            whole = torch.einsum(
                "...tyab,...b->...tya", bends, _one_behind_the_other(torch, moved, saved[0].shape[:-1])
            )
            return tuple(torch.split(whole, [run.size(name) for name in names], -1))

        @staticmethod
        def vmap(info: Any, in_dims: Any, start: Any, inputs: Any, parameters: Any, run: Any, names: Any) -> Any:
            return JacobiansOfTensors.apply(*_to_front(info, in_dims, (start, inputs, parameters)), run, names), (
                0,
            ) * len(names)

    return JacobiansOfTensors


def _pulled_of_tensors(torch: Any, second: Any, jacobians: Any) -> Any:
    class PulledOfTensors(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """Weights of y (…, nt, ny) as those of some of (start, inputs, parameters), inside the core."""

        @staticmethod
        def forward(
            start: Any, inputs: Any, parameters: Any, weights: Any, run: ArrayRun, names: tuple[str, ...]
        ) -> Any:
            _, cases = _run_cases(start, inputs, parameters, weights)
            found = run.pulled(*cases, wanted=names)
            given = dict(zip(GROUPS, (start, inputs, parameters)))
            return tuple(torch.as_tensor(part.reshape(given[n].shape)).to(start) for n, part in zip(names, found))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            *given, ctx.run, ctx.names = inputs
            ctx.save_for_backward(*given)
            ctx.save_for_forward(*given)

        @staticmethod
        def backward(ctx: Any, *moved: Any) -> Any:
            *saved, weights = ctx.saved_tensors
            run, names, full = ctx.run, ctx.names, _with_lead(ctx.saved_tensors[:3])
            own = dict(zip(GROUPS, full))
            along = _one_behind_the_other(
                torch, [m.expand_as(own[n]) for n, m in zip(names, moved)], full[0].shape[:-1]
            )
            slopes = torch.cat(jacobians.apply(*full, run, names), -1)
            of_weights = torch.einsum("...tya,...a->...ty", slopes, along)
            if not any(ctx.needs_input_grad[:3]):
                return None, None, None, of_weights, None, None
            bends = second.apply(*full, run, names)
            whole = torch.einsum("...tyab,...ty,...b->...a", bends, weights, along)
            parts = [_without_lead(part, like) for part, like in zip(_as_given(torch, whole, full, names, run), saved)]
            return (*parts, of_weights, None, None)

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            *saved, weights = ctx.saved_tensors
            run, names, full = ctx.run, ctx.names, _with_lead(ctx.saved_tensors[:3])
            moved = [m.expand_as(f) if m is not None else None for m, f in zip(tangents, full)]
            bends = second.apply(*full, run, names)
            along = _one_behind_the_other(torch, _given_tangents(moved, full, names, torch), full[0].shape[:-1])
            whole = torch.einsum("...tyab,...ty,...b->...a", bends, weights, along)
            if tangents[3] is not None:
                slopes = torch.cat(jacobians.apply(*full, run, names), -1)
                whole = whole + torch.einsum("...tya,...ty->...a", slopes, tangents[3])
            found = zip(_as_given(torch, whole, full, names, run), saved)
            return tuple(_without_lead(part, like) for part, like in found if part is not None)

        @staticmethod
        def vmap(
            info: Any, in_dims: Any, start: Any, inputs: Any, parameters: Any, weights: Any, run: Any, names: Any
        ) -> Any:
            # Each case of the vmap has a sum of its own.
            *given, weights = _to_front(info, in_dims, (start, inputs, parameters, weights))
            found = PulledOfTensors.apply(*_inner_lead(given), weights, run, names)
            own = dict(zip(GROUPS, given))
            summed = [
                part if part.ndim == own[n].ndim else part.sum(tuple(range(1, 1 + part.ndim - own[n].ndim)))
                for n, part in zip(names, found)
            ]
            return tuple(summed), (0,) * len(names)

    return PulledOfTensors


def _run_of_tensors(torch: Any, jacobians: Any, pulled: Any) -> Any:
    class RunOfTensors(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """y of (start, inputs, parameters, run), batches in front; parameters may be there once for all."""

        @staticmethod
        def forward(start: Any, inputs: Any, parameters: Any, run: ArrayRun) -> Any:
            lead, cases = _run_cases(start, inputs, parameters)
            found = run.values(*cases)
            return torch.as_tensor(found.reshape(*lead, *found.shape[1:])).to(start)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            *given, ctx.run = inputs
            ctx.save_for_backward(*given)
            ctx.save_for_forward(*given)

        @staticmethod
        def backward(ctx: Any, weights: Any) -> Any:
            run, saved = ctx.run, ctx.saved_tensors
            names = _varied(run, ctx.needs_input_grad)
            if names and run.stepped is not None:
                moved = dict(zip(names, pulled.apply(*saved, weights, run, names)))
                return (*(moved.get(name) for name in GROUPS), None)
            full = _with_lead(saved)
            found = dict(zip(names, jacobians.apply(*full, run, names))) if names else {}
            by_given = [
                torch.einsum("...ty,...tyk->...k", weights, found[name]).reshape(own.shape) if name in found else None
                for name, own in zip(GROUPS, full)
            ]
            return (*(_without_lead(part, like) for part, like in zip(by_given, saved)), None)

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            run, saved = ctx.run, _with_lead(ctx.saved_tensors)
            names = _varied(run, [t is not None for t in tangents[:3]])
            found = dict(zip(names, jacobians.apply(*saved, run, names))) if names else {}
            total = torch.zeros((*saved[0].shape[:-1], len(run.times), len(run.labels["y"]))).to(saved[0])
            for name, tangent, own in zip(GROUPS, tangents, saved):
                if name in found:
                    flat = tangent.expand_as(own).reshape(*saved[0].shape[:-1], -1).to(own)
                    total = total + torch.einsum("...tyk,...k->...ty", found[name], flat)
            return total

        @staticmethod
        def vmap(info: Any, in_dims: Any, start: Any, inputs: Any, parameters: Any, run: ArrayRun) -> Any:
            if in_dims[2] is None and parameters.ndim == 1:
                front = _to_front(info, in_dims[:2], (start, inputs))
                return RunOfTensors.apply(*front, parameters, run), 0
            return RunOfTensors.apply(*_inner_lead(_to_front(info, in_dims, (start, inputs, parameters))), run), 0

    return RunOfTensors


def _as_given(torch: Any, flat: Any, saved: Any, names: tuple[str, ...], run: ArrayRun) -> list[Any]:
    """A flat (…, size) as what was given, in the order of all arguments; None for what is not there."""
    parts = dict(zip(names, torch.split(flat, [run.size(name) for name in names], -1)))
    return [parts[n].reshape(own.shape) if n in parts else None for n, own in zip(GROUPS, saved)]


def _one_behind_the_other(torch: Any, values: Any, lead: tuple[int, ...]) -> Any:
    return torch.cat([value.reshape(*lead, -1) for value in values], -1)


def _varied(run: ArrayRun, asked: Sequence[bool]) -> tuple[str, ...]:
    """The arguments that derivatives are asked for, without those that are empty or constant."""
    return tuple(n for n, wanted in zip(GROUPS, asked) if wanted and n in run.wrt and run.labels[LETTERS[n]])


def _given_tangents(tangents: Sequence[Any], saved: Sequence[Any], names: tuple[str, ...], torch: Any) -> list[Any]:
    """The tangents of what is varied, zero for what stays."""
    return [
        torch.zeros_like(own) if tangent is None else tangent
        for name, tangent, own in zip(GROUPS, tangents, saved)
        if name in names
    ]


def _no_third() -> InputError:
    return InputError(
        "Third derivatives of a run are not available in PyTorch.",
        because="its second derivatives are computed without recording the operations.",
        remedy="dd.exchange.torch(m) without times, whose operations are PyTorch's own",
    )


def torch_function(
    model: Model | System,
    times: object = None,
    outputs: str | Sequence[str] | None = None,
    wrt: str | Sequence[str] = GROUPS,
    **simulate_options: Any,
) -> TorchFunction | ArrayRates:
    """A run of the model as a function of PyTorch tensors: y = f(start, inputs, parameters), with batches.

    Gradients (`backward`, `torch.func.grad`) and forward derivatives (`torch.func.jvp`) are those of
    `dd.sensitivities`: through constraints of any index, events and switches. `torch.func.vmap` and leading axes run a
    batch. Computed on the processor in double precision; the result has the type of `start`. Second derivatives (double
    backward, `torch.func.hessian`) are those of `dd.sensitivities(..., order=2)`, by at most 200 numbers and not
    through events with resets. Needs the optional extra `torch`.

    Parameters
    ----------
    times, outputs, wrt, simulate_options: as for `dd.exchange.jax`.

    Example
    -------
    >>> import daedalus as dd
    >>> from importlib.util import find_spec
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0); k = m.parameter("k", 2.0)
    >>> m.equation(m.der(x), -k * x)
    >>> f = dd.exchange.torch(m, [0.0, 0.5, 1.0], rtol=1e-9) if find_spec("torch") else None
    >>> f is None or tuple(f(start=[[1.0], [2.0]]).shape) == (2, 3, 1)
    True
    """
    library = needed("torch", "torch", "torch", "dd.exchange.torch makes a function of PyTorch")
    if times is None:
        return ArrayRates(model, "PyTorch", library, outputs, simulate_options)
    return TorchFunction(library, ArrayRun(model, times, outputs, wrt, simulate_options, "PyTorch"))
