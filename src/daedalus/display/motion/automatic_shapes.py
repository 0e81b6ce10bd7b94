"""What is seen of a model that says nothing about it: bodies, joints, points, massless rods and constraint forces.

A body is the solid box that has its mass and inertia; a bar where it is planar. A coordinate, or a state that has a
velocity, of two or three components is a point where its unit is a length, or where it has no unit and its kinetic
energy is ½ m |q'|². A constraint whose second derivative by such a point is s times the identity keeps it at a distance
from the place q − (∂c/∂q)ᵀ / s, and is drawn as a rod to there. Written shapes take the place of what would be drawn
by itself.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.geometry.inertia_check import principal
from daedalus.model.doors.body import Body
from daedalus.model.doors.drawing import in_space, turned_in_space
from daedalus.model.drawing.sketch import JointMark, WrittenShape
from daedalus.model.model import Model
from daedalus.model.names import element_label
from daedalus.model.notebook import checked_symbols
from daedalus.model.system.system import System
from daedalus.model.units import convert

# The thinnest side of a body that is drawn, as a share of its longest.
THINNEST = 0.08


def shapes_of(book: Model | None, system: System) -> list[WrittenShape]:
    """All shapes of a model: those written, then those that follow from its bodies, joints and coordinates."""
    if book is None:
        return _points_of_states(system)
    written = list(book.written.sketch.shapes.values())
    covered = {shape.body for shape in written}
    found = list(written)
    for body in book.bodies.values():
        marks = [mark for mark in book.written.sketch.joints.values() if body.name in mark.bodies]
        if body.name not in covered:
            found += _body_shapes(body, marks)
        found += _frame_and_trace(body)
    for mark in book.written.sketch.joints.values():
        found += _joint_shapes(book, mark)
    points = _points(book)
    # Who drew shapes at coordinates has said what they look like; else they are points.
    if not [shape for shape in written if shape.kind not in ("arrow", "trace", "frame", "plane")]:
        found += [_shape(name, "point", at=q) for name, q in points.items()]
    found += [_shape(name, "trace", at=q) for name, q in points.items()]
    for name, constraint in book.written.mechanics.constraints.items():
        if constraint.kind == "holonomic" and name not in book.written.sketch.joints:
            found += _constraint_shapes(book, name, constraint.expression, points, rods=not written)
    if not book.written.mechanics.positions and not written:
        found += _points_of_states(system)
    return found


def _shape(name: str, kind: str, flat: bool | None = None, body: str = "", **fields: Any) -> WrittenShape:
    sizes = [f.numel() for role, f in fields.items() if role in ("at", "to", "vector")]
    lifted = {role: in_space(ca.SX(f)) if role in ("at", "to", "vector") else ca.SX(f) for role, f in fields.items()}
    settings = {"automatic": True, "solid": bool(body)}
    return WrittenShape(name, kind, lifted, settings, body, sizes == [2] * len(sizes) if flat is None else flat)


# -- bodies and joints -------------------------------------------------------------------------------------------


def _body_shapes(body: Body, marks: list[JointMark]) -> list[WrittenShape]:
    places = [mark.places[mark.bodies.index(body.name)] for mark in marks]
    wheel = next((mark for mark in marks if mark.kind == "rolling" and mark.bodies[1] == body.name), None)
    if wheel is not None and body.orientation is not None:
        return [_wheel(body, wheel)]
    if body.orientation is None:
        return [_shape(body.name, "point", body=body.name, at=body.position)]
    if body.size == 2:
        return _bar_shapes(body, places)
    inertia = _numbers(body.model, body.inertia)
    mass = _numbers(body.model, body.mass)
    if inertia is None or mass is None:
        return [_shape(body.name, "point", body=body.name, at=body.position)]
    moments, axes = principal(inertia)
    sides = np.sqrt(np.maximum(6 * (np.sum(moments) - 2 * moments) / mass.item(), 0.0))
    sides = np.maximum(sides, THINNEST * sides.max())
    turned = turned_in_space(body) @ ca.SX(ca.DM(axes))
    box = _shape(body.name, "box", body=body.name, at=body.position, rotation=turned, size=ca.DM(sides))
    found = [box]
    for k, place in enumerate(places):
        arm = _numbers(body.model, body.rotation.T @ (place - body.position))
        if arm is not None and np.any(np.abs(axes.T @ arm.ravel()) > 0.55 * sides):
            found.append(_shape(f"{body.name} to joint {k + 1}", "rod", at=body.position, to=place))
    return found


def _wheel(body: Body, mark: JointMark) -> WrittenShape:
    """What rolls: a sphere, or a disc that is round about its axis."""
    place = mark.places[1]
    if mark.spin.numel() == 3 or body.size == 2:
        axis = mark.spin if mark.spin.numel() == 3 else ca.SX(ca.DM([0.0, 0.0, 1.0]))
        size = {"radius": mark.radius, "length": 0.12 * mark.radius}
        flat = body.size == 2
        turned = turned_in_space(body)
        # The axis in the coordinates of the body, so that the disc is seen to turn.
        return _shape(body.name, "cylinder", flat, body.name, at=place, rotation=turned, axis=turned.T @ axis, **size)
    return _shape(body.name, "sphere", body=body.name, at=place, rotation=turned_in_space(body), radius=mark.radius)


def _bar_shapes(body: Body, places: list[ca.SX]) -> list[WrittenShape]:
    """A planar body: the bar between two joints, or one of its mass and inertia through the only one."""
    arms = [_numbers(body.model, body.rotation.T @ (place - body.position)) for place in places]
    if len(places) == 2 and (arms[0] is None or arms[1] is None or np.linalg.norm(arms[0] - arms[1]) < 1e-9):
        places = places[:1]
    if len(places) >= 2:
        ends = [(places[0], places[1])] if len(places) == 2 else [(body.position, place) for place in places]
        return [_shape(body.name if k == 0 else f"{body.name} {k + 1}", "rod", body=body.name, at=a, to=b)
                for k, (a, b) in enumerate(ends)]  # fmt: skip
    moment, mass = _numbers(body.model, body.inertia), _numbers(body.model, body.mass)
    length = 1.0 if moment is None or mass is None else float(np.sqrt(12 * moment.item() / mass.item()))
    arm = arms[0] if places else None
    if arm is not None and 0 < np.linalg.norm(arm) < 0.6 * length:
        return [_shape(body.name, "rod", body=body.name, at=places[0], to=2 * body.position - places[0])]
    size = ca.DM([length, THINNEST * length, THINNEST * length])
    bar = _shape(body.name, "box", body=body.name, at=body.position, rotation=turned_in_space(body), size=size)
    if arm is None or np.linalg.norm(arm) < 1e-9:
        return [bar]
    return [bar, *(_shape(f"{body.name} to joint", "rod", at=place, to=body.position) for place in places)]


def _frame_and_trace(body: Body) -> list[WrittenShape]:
    trace = _shape(body.name, "trace", at=body.position)
    if body.orientation is None:
        return [trace]
    return [trace, _shape(body.name, "frame", at=body.position, rotation=turned_in_space(body))]


def _joint_shapes(book: Model, mark: JointMark) -> list[WrittenShape]:
    one, two = mark.places
    found = []
    if mark.kind == "distance":
        found.append(_shape(mark.name, "rod", at=one, to=two))
    elif mark.kind in ("rolling", "point_on_plane") and mark.axis.numel() == 3:
        found.append(_shape(mark.name, "plane", at=one, axis=mark.axis))
    elif mark.kind == "revolute" and mark.axis.numel() == 3:
        found.append(_shape(mark.name, "hinge", at=two, axis=mark.axis))
    elif mark.kind != "rolling":
        found.append(_shape(mark.name, "joint", at=two))
    body = next(name for name in reversed(mark.bodies) if name != "ground")
    constraint = book.written.mechanics.constraints.get(mark.name)
    if constraint is None and mark.kind != "prismatic":
        # A joint in joint coordinates: its reaction begins with the force, in the world frame.
        force = ca.vec(book.written.symbols[mark.name])[: two.numel()]
        found.append(_shape(mark.name, "force", at=two, vector=force))
    elif constraint is not None and constraint.kind == "holonomic":
        # (∂c/∂p)ᵀ λ is the force on the body that the joint names last; on a single body it is the only one.
        slope = ca.jacobian(constraint.expression, book.written.symbols[f"{body}.position"])
        found.append(_shape(mark.name, "force", at=two, vector=slope.T @ ca.vec(book.written.symbols[mark.name])))
    return found


# -- coordinates and constraints ---------------------------------------------------------------------------------


def _points(book: Model) -> dict[str, ca.SX]:
    """Coordinates that are positions: of a length, or without a unit and with ½ m |q'|² as kinetic energy."""
    found = {}
    for name in book.written.mechanics.coordinates:
        variable = book.written.variables[name]
        if variable.shape not in ((2,), (3,)):
            continue
        speed = book.written.derivative_symbol(name, 1)
        alike = not variable.unit and _multiple_of_identity(book.written.mechanics.kinetic, speed) is not None
        if alike or _is_length(variable.unit):
            found[name] = book.written.symbols[name]
    return found


def _is_length(unit: str) -> bool:
    if unit in ("", "m"):
        return unit == "m"
    try:
        convert(1.0, unit, "m")
    except InputError:
        return False
    return True


def _multiple_of_identity(expression: ca.SX, by: ca.SX) -> ca.SX | None:
    """The factor s where the second derivative of an expression is s times the identity and free of `by`, else None."""
    hessian = ca.densify(ca.hessian(expression, by)[0])
    factor = hessian[0, 0]
    same = ca.simplify(hessian - factor * ca.SX.eye(by.numel()))
    if factor.is_zero() or ca.depends_on(factor, by):
        return None
    # Parts that only cancel numerically are told by numbers.
    symbols = ca.symvar(ca.vertcat(ca.vec(same), factor))
    probe = ca.Function("probe", symbols, [same, factor])
    values = np.random.default_rng(1).uniform(0.5, 1.5, len(symbols))
    gap, size = probe.call([ca.DM(v) for v in values])
    return factor if np.abs(gap.full()).max(initial=0.0) <= 1e-9 * abs(float(size)) else None


def _constraint_shapes(
    book: Model, name: str, expression: ca.SX, points: dict[str, ca.SX], rods: bool
) -> list[WrittenShape]:
    """The rods that a constraint stands for, and the force it exerts on every point."""
    found = []
    rows, multiplier = ca.vertsplit(ca.vec(expression)), ca.vertsplit(ca.vec(book.written.symbols[name]))
    for k, (row, force) in enumerate(zip(rows, multiplier)):
        label = element_label(name, () if len(rows) == 1 else (len(rows),), k)
        drawn = not rods
        for q in points.values():
            if not ca.depends_on(row, q):
                continue
            slope = ca.gradient(row, q)
            factor = None if drawn else _multiple_of_identity(row, q)
            if factor is not None:
                found.append(_shape(label, "rod", at=q - slope / factor, to=q))
                drawn = True
            found.append(_shape(label, "force", at=q, vector=slope * force))
    return found


def _points_of_states(system: System) -> list[WrittenShape]:
    """States of a length with two or three components and a velocity, of a model without mechanics."""
    found = []
    for variable in system.of_kind("state"):
        if variable.shape in ((2,), (3,)) and _is_length(variable.unit) and _has_velocity(system, variable.name):
            q = system.symbol("x")[system.places[variable.name].positions.tolist()]
            found += [_shape(variable.name, "point", at=q), _shape(variable.name, "trace", at=q)]
    return found


def _has_velocity(system: System, name: str) -> bool:
    """Whether the rate of a state is a state, or follows from one of its shape: levels of two tanks are no position."""
    place, rate = system.places[name], system.places.get(f"{name}_dot")
    if rate is not None and rate.letter == "x":
        return True
    rate_symbols = system.symbol("xdot")[place.positions.tolist()]
    rows = ca.vertcat(*(row for row in ca.vertsplit(system.residual) if ca.depends_on(row, rate_symbols)))
    alike = [v.name for v in system.of_kind("state") if v.name != name and v.shape == place.shape]
    return any(ca.depends_on(rows, system.symbol("x")[system.places[other].positions.tolist()]) for other in alike)


def _numbers(book: Any, expression: ca.SX) -> np.ndarray | None:
    """The value of an expression that depends on parameters alone, whatever symbols it is written with; else None."""
    symbols = ca.symvar(ca.SX(expression))
    values = []
    for name, k, _ in checked_symbols(book, ca.SX(expression), "The value"):
        variable = book.written.variables.get(name)
        if variable is not None and variable.kind == "parameter":
            values.append(variable.start[k])
        else:
            values.append(1.0 if name.endswith(".quaternion") and k == 0 else 0.0)
    if any(value is None for value in values):
        return None
    result: np.ndarray = ca.Function("value", symbols, [expression]).call([ca.DM(v) for v in values])[0].full()
    return result if np.all(np.isfinite(result)) else None
