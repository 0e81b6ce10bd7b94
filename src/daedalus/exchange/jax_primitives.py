"""Three primitives of JAX for runs of arrays: the values, tangents of them, and the transpose of that.

    values    (x0, u, p)                -> y
    moved     (x0, u, p, tangents …)    -> the tangent of y, linear in the tangents
    pulled    (x0, u, p, weights of y)  -> weights of x0, u and p, linear in the weights

`moved` and `pulled` transpose into each other. Where the run is inside the core, values and pulled weights are calls by
XLA's foreign function interface, without Python on the way; else they are calls back into this process. All arguments
of a primitive have the same leading axes: those of batches.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from daedalus import _core
from daedalus.errors import InputError
from daedalus.exchange.array_run import GROUPS, LETTERS, ArrayRun
from daedalus.exchange.device_run import DeviceRun

TARGETS = {"daedalus_values": _core.xla_value, "daedalus_pulled": _core.xla_pull}
# Where runs are JAX's own operations.
DEVICES = ("cuda", "rocm", "tpu")
# How many axes one case of each argument has.
AXES = {"start": 1, "inputs": 2, "parameters": 1}


class Primitives(NamedTuple):
    """The primitives of one JAX; each is bound with `run=` and, but for the values, with `names=` of what is moved."""

    values: Any
    moved: Any
    pulled: Any


@cache
def primitives() -> Primitives:
    """The primitives with all their rules, made once."""
    import jax
    from jax.extend.core import Primitive

    for name, target in TARGETS.items():
        jax.ffi.register_ffi_target(name, target, platform="cpu")
    _keep_runs_weakly()
    made = Primitives(*(Primitive(f"daedalus_{name}") for name in Primitives._fields))
    made.pulled.multiple_results = True
    _describe(jax, made)
    _differentiate(jax, made)
    _batch(jax, made)
    return made


def _keep_runs_weakly() -> None:
    """Let JAX's caches forget a run that nobody else holds, as they forget its own programs.

    Without this set, which is no public name of JAX, they keep the last 2048 runs with all that these hold.
    """
    with contextlib.suppress(ImportError, AttributeError):
        from jax._src.util import weakref_cache_key_types

        weakref_cache_key_types.add(ArrayRun)


# -- shapes and code ---------------------------------------------------------------------------------------------


def _describe(jax: Any, made: Primitives) -> None:
    """Shapes, and how XLA computes the primitives."""
    from jax.interpreters import mlir

    def shaped(like: Any, *lengths: int) -> Any:
        return jax.core.ShapedArray((*like.shape[:-1], *lengths), like.dtype)

    def values_shape(start: Any, inputs: Any, parameters: Any, *, run: ArrayRun) -> Any:
        return shaped(start, *run.shape)

    def moved_shape(start: Any, inputs: Any, parameters: Any, *tangents: Any, run: ArrayRun, names: Any) -> Any:
        return shaped(start, *run.shape)

    def pulled_shape(start: Any, inputs: Any, parameters: Any, weights: Any, *, run: ArrayRun, names: Any) -> Any:
        given = dict(zip(GROUPS, (start, inputs, parameters)))
        return [jax.core.ShapedArray(given[name].shape, start.dtype) for name in names]

    shapes: dict[str, Callable[..., Any]] = {"values": values_shape, "moved": moved_shape, "pulled": pulled_shape}
    hosts = {"values": _host_values, "moved": _host_moved, "pulled": _host_pulled}
    for name, primitive in made._asdict().items():
        several = primitive.multiple_results
        called = partial(_called_back, jax, shapes[name], hosts[name])
        primitive.def_abstract_eval(shapes[name])
        primitive.def_impl(_jitted(jax, primitive))
        by_callback = mlir.lower_fun(called, multiple_results=several)
        mlir.register_lowering(primitive, by_callback)
        if name != "moved":
            mlir.register_lowering(primitive, _by_core(jax, f"daedalus_{name}", by_callback), platform="cpu")
        for platform in DEVICES:
            lowered = _on_device(mlir, DEVICE_CODE[name], several, by_callback)
            mlir.register_lowering(primitive, lowered, platform=platform)


def _jitted(jax: Any, primitive: Any) -> Callable[..., Any]:
    """A primitive outside of any transformation."""

    def call(*arrays: Any, **settled: Any) -> Any:
        return jax.jit(partial(primitive.bind, **settled))(*arrays)

    return call


def _called_back(jax: Any, shape: Any, host: Any, *arrays: Any, **settled: Any) -> Any:
    found = shape(*arrays, **settled)
    structs = jax.tree.map(lambda one: jax.ShapeDtypeStruct(one.shape, one.dtype), found)
    return jax.pure_callback(partial(host, **settled), structs, *arrays)


def _on_device(mlir: Any, code: Callable[..., Any], several: bool, by_callback: Any) -> Callable[..., Any]:
    """Lowering to JAX's own operations; to a callback where a run is more than explicit steps."""

    def lowered(ctx: Any, *operands: Any, run: ArrayRun, **settled: Any) -> Any:
        if run.stepped is None or run.stepped.on_devices is None:
            return by_callback(ctx, *operands, run=run, **settled)
        traced = partial(code, run.stepped.on_devices, **settled)
        return mlir.lower_fun(traced, multiple_results=several)(ctx, *operands)

    return lowered


def _values_on_device(device: DeviceRun, *given: Any) -> Any:
    return device.of_batch(device.value, tuple(AXES.values()), *given)


def _moved_on_device(device: DeviceRun, *given: Any, names: tuple[str, ...]) -> Any:
    def moved(*one: Any) -> Any:
        primals, moves = one[:3], dict(zip(names, one[3:]))
        return device.moved(primals, tuple(moves.get(name, 0 * own) for name, own in zip(GROUPS, primals)))

    return device.of_batch(moved, (*AXES.values(), *(AXES[name] for name in names)), *given)


def _pulled_on_device(device: DeviceRun, *given: Any, names: tuple[str, ...]) -> list[Any]:
    found = device.of_batch(device.pulled, (*AXES.values(), 2), *given)
    return [found[GROUPS.index(name)] for name in names]


DEVICE_CODE: dict[str, Callable[..., Any]] = {
    "values": _values_on_device, "moved": _moved_on_device, "pulled": _pulled_on_device,
}  # fmt: skip


def _by_core(jax: Any, target: str, by_callback: Any) -> Callable[..., Any]:
    """Lowering to a call of the core, which stays alive with the program; to a callback where it cannot run there."""

    def lowered(ctx: Any, *operands: Any, run: ArrayRun, **settled: Any) -> Any:
        stepped = run.stepped
        if stepped is None or any(a.dtype != np.float64 for a in ctx.avals_in):
            return by_callback(ctx, *operands, run=run, **settled)
        ctx.module_context.add_keepalive(stepped.core)
        call = jax.ffi.ffi_lowering(target)
        if target == "daedalus_values":
            return call(ctx, *operands, run=np.int64(stepped.core.id))
        shapes = ctx.avals_in[:3]
        found = call(ctx.replace(avals_out=shapes), *operands, run=np.int64(stepped.core.id))
        return [found[GROUPS.index(name)] for name in settled["names"]]

    return lowered


# -- numbers -----------------------------------------------------------------------------------------------------


def _cases(arrays: Sequence[Any], axes: Sequence[int]) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """The leading axes, and every array with one axis in their place."""
    given = [np.ascontiguousarray(a, dtype=float) for a in arrays]
    lead = given[0].shape[: given[0].ndim - axes[0]]
    count = math.prod(lead)
    return lead, [a.reshape(count, *a.shape[a.ndim - own :]) for a, own in zip(given, axes)]


def _host_values(*arrays: Any, run: ArrayRun) -> np.ndarray:
    lead, cases = _cases(arrays, tuple(AXES.values()))
    return run.values(*cases).reshape(*lead, *run.shape).astype(np.asarray(arrays[0]).dtype)


def _host_moved(*arrays: Any, run: ArrayRun, names: tuple[str, ...]) -> np.ndarray:
    axes = (*AXES.values(), *(AXES[name] for name in names))
    lead, cases = _cases(arrays, axes)
    rows = []
    for x0, u, p, *tangents in zip(*cases):
        _, slopes = run.slopes(x0, u, p, wanted=names)
        parts = [np.tensordot(slopes[name], move, axes=move.ndim) for name, move in zip(names, tangents)]
        rows.append(np.sum(parts, axis=0))
    return np.reshape(rows, (*lead, *run.shape)).astype(np.asarray(arrays[0]).dtype)


def _host_pulled(*arrays: Any, run: ArrayRun, names: tuple[str, ...]) -> list[np.ndarray]:
    lead, cases = _cases(arrays, (*AXES.values(), 2))
    found = run.pulled(*cases, wanted=names)
    return [part.reshape(*lead, *part.shape[1:]).astype(np.asarray(arrays[0]).dtype) for part in found]


# -- derivatives -------------------------------------------------------------------------------------------------


def _differentiate(jax: Any, made: Primitives) -> None:
    from jax.interpreters import ad

    def is_zero(tangent: Any) -> bool:
        return type(tangent) is ad.Zero

    def values_jvp(primals: Any, tangents: Any, *, run: ArrayRun) -> Any:
        y = made.values.bind(*primals, run=run)
        names = tuple(
            name
            for name, tangent in zip(GROUPS, tangents)
            if not is_zero(tangent) and name in run.wrt and run.labels[LETTERS[name]]
        )
        if not names:
            return y, jax.numpy.zeros_like(y)
        moving = [tangent for name, tangent in zip(GROUPS, tangents) if name in names]
        return y, made.moved.bind(*primals, *moving, run=run, names=names)

    def linear_jvp(primitive: Any, primals: Any, tangents: Any, *, run: ArrayRun, names: Any) -> Any:
        """Of a function that is linear in all but x0, u and p, by second derivatives where those move."""
        value = primitive.bind(*primals, run=run, names=names)
        rest = [ad.instantiate_zeros(tangent) for tangent in tangents[3:]]
        change = primitive.bind(*primals[:3], *rest, run=run, names=names)
        shifts = {name: tangent for name, tangent in zip(GROUPS, tangents) if not is_zero(tangent) and name in run.wrt}
        if not any(run.labels[LETTERS[name]] for name in shifts):
            return value, change
        turned = _turned(jax, primitive is made.moved, primals, shifts, run, names)
        return value, jax.tree.map(lambda one, other: one + other, change, turned)

    def moved_transposed(weights: Any, *arguments: Any, run: ArrayRun, names: Any) -> Any:
        if is_zero(weights):
            return [None] * len(arguments)
        return [None] * 3 + made.pulled.bind(*arguments[:3], weights, run=run, names=names)

    def pulled_transposed(tangents: Any, *arguments: Any, run: ArrayRun, names: Any) -> Any:
        moving = {name: tangent for name, tangent in zip(names, tangents) if not is_zero(tangent)}
        if not moving:
            return [None] * len(arguments)
        return [None] * 3 + [made.moved.bind(*arguments[:3], *moving.values(), run=run, names=tuple(moving))]

    ad.primitive_jvps[made.values] = values_jvp
    for primitive, transposed in ((made.moved, moved_transposed), (made.pulled, pulled_transposed)):
        ad.primitive_jvps[primitive] = partial(linear_jvp, primitive)
        ad.primitive_transposes[primitive] = transposed


def _turned(
    jax: Any, forward: bool, primals: Any, shifts: dict[str, Any], run: ArrayRun, names: tuple[str, ...]
) -> Any:
    """How moved tangents, or pulled weights, change where x0, u and p shift."""
    jnp, given = jax.numpy, dict(zip(GROUPS, primals))
    wanted = tuple(name for name in GROUPS if (name in names or name in shifts) and run.labels[LETTERS[name]])
    lead = primals[0].shape[:-1]
    second = _second(jax, run, wanted, primals[:3], lead)

    def flat(moves: dict[str, Any]) -> Any:
        parts = [moves.get(name, jnp.zeros_like(given[name])) for name in wanted]
        return jnp.concatenate([part.reshape(*lead, -1) for part in parts], axis=-1)

    along = flat(shifts)
    if forward:
        return jnp.einsum("...tyab,...a,...b->...ty", second, flat(dict(zip(names, primals[3:]))), along)
    whole = jnp.einsum("...tyab,...ty,...b->...a", second, primals[3], along)
    ends = np.cumsum([run.size(name) for name in wanted])[:-1].tolist()
    parts = dict(zip(wanted, jnp.split(whole, ends, axis=-1)))
    return [parts[name].reshape(given[name].shape) for name in names]


def _second(jax: Any, run: ArrayRun, wanted: tuple[str, ...], primals: Sequence[Any], lead: tuple[int, ...]) -> Any:
    """All second derivatives of a run, as an array of JAX."""
    count, dtype = sum(run.size(name) for name in wanted), primals[0].dtype
    struct = jax.ShapeDtypeStruct((*lead, *run.shape, count, count), dtype)

    def host(*arrays: Any) -> np.ndarray:
        lead, cases = _cases(arrays, tuple(AXES.values()))
        found = np.stack([run.second(*case, wanted=wanted) for case in zip(*cases)])
        return found.reshape(*lead, *found.shape[1:]).astype(dtype)

    computed = jax.custom_jvp(lambda *arrays: jax.pure_callback(host, struct, *arrays, vmap_method="sequential"))
    computed.defjvp(_no_third)
    return computed(*primals)


def _no_third(primals: Any, tangents: Any) -> Any:
    raise InputError(
        "A run as a function of JAX has no third derivatives.",
        because="its second derivatives are computed without recording the operations.",
        remedy="dd.exchange.jax(m) without times, whose operations are JAX's own",
    )


# -- batches -----------------------------------------------------------------------------------------------------


def _batch(jax: Any, made: Primitives) -> None:
    from jax.interpreters import batching

    jnp = jax.numpy

    def at_front(arrays: Any, places: Any) -> list[Any]:
        """All arrays with the axis of the batch in front."""
        size = next(a.shape[place] for a, place in zip(arrays, places) if place is not None)
        return [
            jnp.broadcast_to(a, (size, *a.shape)) if place is None else jnp.moveaxis(a, place, 0)
            for a, place in zip(arrays, places)
        ]

    def batched(primitive: Any, arrays: Any, places: Any, **settled: Any) -> Any:
        found = primitive.bind(*at_front(arrays, places), **settled)
        return (found, [0] * len(found)) if primitive.multiple_results else (found, 0)

    def with_slopes(linear: Any, arrays: Any, places: Any, *, run: ArrayRun, names: Any) -> Any:
        """Many tangents or weights of one run, whose slopes are computed once; (primitive, contraction) in `linear`."""
        primitive, contracted = linear
        alone = all(place is None for place in places[:3]) and arrays[0].ndim == 1
        if not alone or (primitive is made.pulled and run.stepped is not None):
            return batched(primitive, arrays, places, run=run, names=names)
        slopes = _slopes(jax, run, names, arrays[:3])
        found = contracted(slopes, at_front(arrays[3:], places[3:]))
        return (found, [0] * len(found)) if primitive.multiple_results else (found, 0)

    def tangents_through(slopes: Any, tangents: Any) -> Any:
        parts = [
            jnp.tensordot(d, s, axes=(tuple(range(1, d.ndim)), tuple(range(2, s.ndim))))
            for s, d in zip(slopes, tangents)
        ]
        return sum(parts[1:], parts[0])

    def weights_through(slopes: Any, weights: Any) -> Any:
        return [jnp.tensordot(weights[0], slope, axes=2) for slope in slopes]

    batching.primitive_batchers[made.values] = partial(batched, made.values)
    batching.primitive_batchers[made.moved] = partial(with_slopes, (made.moved, tangents_through))
    batching.primitive_batchers[made.pulled] = partial(with_slopes, (made.pulled, weights_through))


def _slopes(jax: Any, run: ArrayRun, names: tuple[str, ...], primals: Sequence[Any]) -> Any:
    """The derivatives of one run by what is moved, as arrays of JAX."""
    lengths = dict(zip(GROUPS, (a.shape for a in primals)))
    dtype = primals[0].dtype
    structs = [jax.ShapeDtypeStruct((*run.shape, *lengths[name]), dtype) for name in names]

    def host(*arrays: Any) -> list[np.ndarray]:
        _, found = run.slopes(*(np.asarray(a, dtype=float) for a in arrays), wanted=names)
        return [found[name].astype(dtype) for name in names]

    computed = jax.custom_jvp(lambda *given: jax.pure_callback(host, structs, *given, vmap_method="sequential"))

    def moved(given: Any, tangents: Any) -> Any:
        zero = jax.custom_derivatives.SymbolicZero
        moves = {name: t for name, t in zip(GROUPS, tangents) if not isinstance(t, zero) and name in run.wrt}
        wanted = tuple(name for name in GROUPS if (name in names or name in moves) and run.labels[LETTERS[name]])
        second = _second(jax, run, wanted, given, ())
        shift = [moves.get(name, jax.numpy.zeros(lengths[name], dtype)) for name in wanted]
        along = jax.numpy.concatenate([part.reshape(-1) for part in shift])
        ends = np.cumsum([run.size(name) for name in wanted])[:-1].tolist()
        parts = dict(zip(wanted, jax.numpy.split(second @ along, ends, axis=-1)))
        return computed(*given), [parts[name].reshape(*run.shape, *lengths[name]) for name in names]

    computed.defjvp(moved, symbolic_zeros=True)
    return computed(*primals)
