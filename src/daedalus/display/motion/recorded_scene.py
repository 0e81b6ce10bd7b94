"""The shapes of a model along a run: every expression evaluated at the times of the frames."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import NOT_ZERO
from daedalus.display.motion.automatic_shapes import shapes_of
from daedalus.display.motion.mesh_files import read_mesh
from daedalus.display.motion.scene import MovingShape, Scene
from daedalus.errors import InputError
from daedalus.model.drawing.drawing_part import Drawing
from daedalus.model.drawing.sketch import WrittenShape
from daedalus.model.expressions import symbol_key
from daedalus.model.model import Model
from daedalus.model.names import derivative_name
from daedalus.model.system.closed_loop import ClosedLoop
from daedalus.model.system.system import System
from daedalus.reduction.reduction_record import Reduction
from daedalus.simulation.result.labelled_samples import element_columns
from daedalus.simulation.result.samples import Samples

_SIZES = ("size", "radius", "length", "scale", "axis")


def recorded_scene(samples: Samples, label: str) -> Scene:
    """What is seen of a run at the times of samples; InputError where there is nothing to be seen."""
    system, times = samples.system, samples.time
    book = drawn_book(system)
    shapes = shapes_of(book, system)
    if not shapes:
        raise InputError(
            f"{system.name!r} has no geometry to draw.",
            "it has no body, no position coordinate and no shape",
            because="an animation shows bodies, points and the shapes of m.draw.",
            remedy='m.draw("point", at=[x, y]) before the run, or tr.plot()',
        )
    moving = moving_shapes(book, system, Columns(system, samples, times, book))
    if not moving:
        raise InputError(
            f"{system.name!r} has no geometry to draw.",
            "the run does not hold the variables that its shapes depend on",
            remedy="tr.plot()",
        )
    flat = all(shape.flat for shape in shapes)
    return Scene(label, times, tuple(moving), _upwards(book, flat), flat)


def moving_shapes(book: Model | None, system: System, columns: Columns, still: bool = True) -> list[MovingShape]:
    """The shapes of a model for values along a run; `still` keeps a single row of what stands still."""
    return [found for shape in shapes_of(book, system) if (found := _moving(shape, columns, still)) is not None]


def drawn_book(system: System) -> Model | None:
    """The model that a system was made from, with its sketch; through reductions and closed loops."""
    seen: System | None = system
    while seen is not None:
        drawing = seen.part(Drawing)
        if drawing is not None and drawing.book is not None:
            return drawing.book
        loop, reduction = seen.part(ClosedLoop), seen.part(Reduction)
        seen = loop.opened if loop is not None else reduction.original if reduction is not None else None
    return None


class Columns:
    """Values of scalar symbols along the run, looked up by the names they have in the model."""

    def __init__(self, system: System, samples: Any, times: np.ndarray, book: Model | None) -> None:
        self._samples = samples
        self._known = book.written.known if book is not None else _known_states(system)
        self._values = {"t": [times]}  # by name, an array an element

    def of(self, expression: ca.SX) -> np.ndarray | None:
        """(frames, entries) of an expression; None where the run does not hold what it depends on."""
        symbols = ca.symvar(expression)
        if not symbols:
            return np.tile(ca.DM(expression).full().ravel(order="F"), (1, 1))
        try:
            columns = np.stack([self._column(symbol) for symbol in symbols])
        except (InputError, KeyError):
            return None
        function = ca.Function("shape", [ca.vertcat(*symbols)], [ca.vec(ca.densify(expression))])
        with np.errstate(invalid="ignore"):
            values: np.ndarray = function(ca.DM(columns)).full().T
        return _without_gaps(values)

    def _column(self, symbol: ca.SX) -> np.ndarray:
        name, k, order = self._known[symbol_key(symbol)]
        whole = derivative_name(name, order)
        if whole not in self._values:
            self._values[whole] = list(element_columns(whole, np.asarray(self._samples[whole])).values())
        return self._values[whole][k]


def _known_states(system: System) -> dict[int, tuple[str, int, int]]:
    """Who the entries of x are: (name, element, order), by symbol."""
    symbols = ca.vertsplit(system.symbol("x"))
    return {symbol_key(symbol): entry for symbol, entry in zip(symbols, system.entries)}


def _without_gaps(values: np.ndarray) -> np.ndarray:
    """Rows that are no numbers repeat the last row that is."""
    good = np.all(np.isfinite(values), axis=1)
    if np.all(good) or not np.any(good):
        return np.nan_to_num(values)
    last = np.maximum.accumulate(np.where(good, np.arange(len(values)), -1))
    return values[np.where(last < 0, np.argmax(good), last)]


def _moving(shape: WrittenShape, samples: Columns, still: bool = True) -> MovingShape | None:
    fields: dict[str, np.ndarray] = {}
    for role, expression in shape.fields.items():
        values = samples.of(expression)
        if values is None:
            return None
        fields[role] = values
    count = max(len(values) for values in fields.values()) if fields else 1
    rows = {role: np.broadcast_to(values, (count, values.shape[1])) for role, values in fields.items()}
    sizes = {role: fields[role][0].tolist() for role in _SIZES if role in fields and role != "axis"}
    settings = {name: value for name, value in shape.settings.items() if value is not None}
    if "points" in rows:
        track = rows["points"]
    elif "to" in rows or "vector" in rows:
        track = np.hstack([rows["at"], rows.get("to", rows.get("vector"))])  # type: ignore[list-item]
    else:
        at = rows.get("at", np.zeros((count, 3)))
        turned = _quaternions(shape, rows)
        track = at if turned is None else np.hstack([at, turned])
    if shape.kind == "trace" and len(track) == 1:
        return None
    rests = len(track) > 1 and np.ptp(track, axis=0).max() <= 1e-7 * max(1e-9, np.abs(track).max())
    if still and rests and shape.kind != "trace":  # a trace has a point for every time
        track = track[:1]
    mesh = read_mesh(settings.pop("file")) if shape.kind == "mesh" else None
    return MovingShape(shape.name, shape.kind, np.ascontiguousarray(track, dtype=float), sizes, settings, mesh)


def _quaternions(shape: WrittenShape, rows: dict[str, np.ndarray]) -> np.ndarray | None:
    """The orientation of every row, scalar first and without jumps of sign; None where there is none."""
    from scipy.spatial.transform import Rotation

    if "rotation" in rows:
        matrices = rows["rotation"].reshape(-1, 3, 3).transpose(0, 2, 1)
        turned = Rotation.from_matrix(matrices)
        if "axis" in rows:
            turned = turned * _to_axis(rows["axis"])
    elif "axis" in rows:
        turned = _to_axis(rows["axis"])
    else:
        return None
    q = turned.as_quat()[:, [3, 0, 1, 2]]
    flips = np.where(np.sum(q[1:] * q[:-1], axis=1) < 0, -1.0, 1.0)
    return q * np.concatenate([[1.0], np.cumprod(flips)])[:, None]


def _to_axis(axes: np.ndarray) -> Any:
    """The smallest rotations that take z to each axis."""
    from scipy.spatial.transform import Rotation

    unit = axes / np.maximum(np.linalg.norm(axes, axis=1, keepdims=True), NOT_ZERO)
    quaternions = np.stack([-unit[:, 1], unit[:, 0], np.zeros(len(unit)), 1 + unit[:, 2]], axis=1)
    opposite = np.linalg.norm(quaternions, axis=1) < 1e-9
    quaternions[opposite] = [1.0, 0.0, 0.0, 0.0]
    return Rotation.from_quat(quaternions)


def _upwards(book: Model | None, flat: bool) -> tuple[float, float, float]:
    """Against gravity where it is a number, else along z, in the plane along y."""
    if flat:
        return (0.0, 1.0, 0.0)
    gravity = None if book is None else book.written.mechanics.gravity
    if gravity is not None and gravity.numel() == 3:
        pull = book._number(gravity)  # type: ignore[union-attr]
        if pull is not None and np.linalg.norm(pull) > 0:
            up = -pull.ravel() / np.linalg.norm(pull)
            return (float(up[0]), float(up[1]), float(up[2]))
    return (0.0, 0.0, 1.0)
