"""`m.to_urdf()`: a tree of joints as the text of a URDF file.

Dampers, dry friction, limits, joints that follow others and shapes are written with it. A warning and a comment at the
top of the text tell what the format has no words for.
"""

from __future__ import annotations

import warnings
from xml.sax.saxutils import quoteattr

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.geometry.euler_angles import GimbalLockWarning, rpy_from_rotation
from daedalus.model.drawing.sketch import WrittenShape
from daedalus.model.expressions import column
from daedalus.model.mechanics.trees import attitude_of
from daedalus.model.model import Model
from daedalus.model.names import listed
from daedalus.robots.joint_laws import JointLaws, joint_laws
from daedalus.robots.mjcf_poses import upright
from daedalus.robots.robot_symbols import RobotSymbols, numbered, robot_symbols

GROUND = "world"


def urdf_text(model: Model) -> str:
    """The robot as URDF; refuses what the format has no words for: closed loops, ball joints, several free bodies."""
    written = model.written.mechanics
    balls = [joint.name for joint in written.tree.values() if joint.kind == "spherical"]
    symbols = robot_symbols(model)
    tree, laws = symbols.tree, joint_laws(model, symbols)
    if balls or laws.closures:
        raise ModelError(
            "URDF cannot describe this model.",
            f"{'ball joints' if balls else 'constraints'}: {listed(balls or laws.closures, 6)}",
            because="a URDF file is a tree of hinges, slides and fixed joints; a joint may be a multiple of another.",
            remedy="three revolute joints in place of a ball joint" if balls else "leave the constraints out",
        )
    grounded = any(not entry.carrier for entry in tree.entries)
    if len(tree.roots) + grounded > 1:
        raise ModelError(
            "The model has several trees.",
            f"free bodies: {listed(tree.roots, 6)}{', and one on the ground' if grounded else ''}",
            because="a URDF file has one root link.",
            remedy="a model for each",
        )
    writer = _UrdfWriter(model, symbols, laws)
    text = writer.text()
    if writer.left_out:
        told = "; ".join(writer.left_out)
        warnings.warn(f"The URDF text has no words for some of {model.name!r}: {told}.", stacklevel=3)
    return text


class _UrdfWriter:
    """Links and joints with every joint at zero."""

    def __init__(self, model: Model, symbols: RobotSymbols, laws: JointLaws) -> None:
        self.model, self.tree, self.laws = model, symbols.tree, laws
        self.left_out = list(laws.others)
        zero = np.zeros(symbols.q.numel())
        for k, s in enumerate(ca.vertsplit(symbols.q)):
            zero[k] = 1.0 if s.name().endswith("quaternion[0]") else 0.0
        expressions = []
        for link in self.tree.links:
            expressions += [link.turn, link.shift, link.angular, link.linear, link.mass, link.centre, link.inertia]
        values = ca.Function("links", [symbols.q, symbols.v], [ca.densify(e) for e in expressions])
        found = [np.array(x) for x in values.call([ca.DM(zero), ca.DM.zeros(symbols.v.numel())])]
        self.values = [found[7 * k : 7 * k + 7] for k in range(len(self.tree.links))]
        self.names = {k: name for name, k in self.tree.at.items()}
        for k in range(len(self.tree.links)):
            self.names.setdefault(k, f"link_{k}")
        self.drawn: set[str] = set()

    def text(self) -> str:
        free = bool(self.tree.roots)
        parts = [f"<robot name={quoteattr(self.model.name)}>"]
        if not free:
            parts.append(f'  <link name="{GROUND}"/>')
        for k in range(len(self.tree.links)):
            parts.append(self._link(k))
        for k, link in enumerate(self.tree.links):
            if link.parent >= 0 or not free:
                parts.append(self._joint(k))
        parts += self._frames()
        shown = [f"shape {s.name}" for s in self.model.written.sketch.shapes.values() if s.name not in self.drawn]
        self.left_out += [listed(shown, 6)] if shown else []
        if self.left_out:
            parts.insert(1, f"  <!-- not in this file: {'; '.join(self.left_out).replace('--', '- -')} -->")
        return "\n".join([*parts, "</robot>"]) + "\n"

    def _link(self, k: int) -> str:
        *_, mass, centre, inertia = self.values[k]
        name = quoteattr(self.names[k])
        seen = "".join(self._visual(shape, k) for shape in self.model.written.sketch.shapes.values())
        if not float(mass[0, 0]):
            return f"  <link name={name}>{seen}\n  </link>" if seen else f"  <link name={name}/>"
        entries = " ".join(f'i{"xyz"[i]}{"xyz"[j]}="{float(inertia[i, j])!r}"' for i in range(3) for j in range(i, 3))
        return (
            f"  <link name={name}>\n    <inertial>\n      <origin xyz={_row(centre)}/>\n"
            f'      <mass value="{float(mass[0, 0])!r}"/>\n      <inertia {entries}/>\n    </inertial>{seen}\n  </link>'
        )

    def _visual(self, shape: WrittenShape, k: int) -> str:
        """A box, ball or cylinder on a body as a <visual> of its link; empty for anything else."""
        if shape.body != self.names[k] or shape.body not in self.tree.at or shape.kind not in _GEOMETRY:
            return ""
        body = self.model.written.mechanics.bodies[shape.body]
        symbols, values = [column(self.model.written.symbols[f"{body.name}.position"])], [ca.SX.zeros(body.size)]
        if body.orientation:
            attitude = column(self.model.written.symbols[attitude_of(body)])
            symbols.append(attitude)
            values.append(ca.SX(ca.DM([1, 0, 0, 0])) if body.orientation == "quaternion" else 0 * attitude)
        written = numbered(self.model, list(shape.fields.values()))
        local = ca.substitute(written, [ca.vertcat(*symbols)], [ca.vertcat(*values)])
        fields = dict(zip(shape.fields, local))
        if not all(value.is_constant() for value in fields.values()):
            return ""
        known = {role: np.array(ca.DM(value).full()) for role, value in fields.items()}
        turn = known.get("rotation", np.eye(3))
        if "axis" in known:
            turn = turn @ upright(known["axis"].ravel() / np.linalg.norm(known["axis"]))
        sizes = " ".join(f"{word}={_row(known[role])}" for role, word in _GEOMETRY[shape.kind])
        place = self.values[k][5] + known["at"]
        self.drawn.add(shape.name)
        return (
            f"\n    <visual>\n      <origin xyz={_row(place)} rpy={_row(_angles(turn))}/>\n"
            f"      <geometry><{shape.kind} {sizes}/></geometry>\n    </visual>"
        )

    def _joint(self, k: int) -> str:
        turn, shift, angular, linear, *_ = self.values[k]
        link = self.tree.links[k]
        kind, axis, rest = "fixed", None, ""
        name = f"{self.names[k]}_joint"
        if link.columns:
            (own,) = link.columns
            name = self._joint_name(own)
            axis = angular if np.any(angular) else linear
            lower, upper = self._limits(own)
            kind = "continuous" if np.any(angular) else "prismatic"
            if lower is not None and upper is not None:
                kind = "revolute" if np.any(angular) else "prismatic"
                rest = f'\n    <limit lower="{lower!r}" upper="{upper!r}" effort="0" velocity="0"/>'
            elif lower is not None or upper is not None:
                self.left_out.append(f"the only limit of {name}")
            rest += self._laws(own)
        parent = GROUND if link.parent < 0 else self.names[link.parent]
        lines = [
            f"  <joint name={quoteattr(name)} type={quoteattr(kind)}>",
            f"    <parent link={quoteattr(parent)}/>",
            f"    <child link={quoteattr(self.names[k])}/>",
            f"    <origin xyz={_row(shift)} rpy={_row(_angles(turn))}/>",
        ]
        if axis is not None:
            lines.append(f"    <axis xyz={_row(axis)}/>{rest}")
        return "\n".join([*lines, "  </joint>"])

    def _joint_name(self, column: int) -> str:
        """The name of the joint whose motion a velocity is; with a number where a joint has several."""
        coordinate = next(name for name, own in self.tree.positions.items() if column in own)
        name, own = coordinate.rpartition(".")[0], self.tree.positions[coordinate]
        return name if len(own) == 1 else f"{name}_{own.index(column)}"

    def _laws(self, own: int) -> str:
        """Damping and friction of a velocity, and the joint that it follows."""
        damping, friction = self.laws.damping.get(own, 0.0), self.laws.friction.get(own, 0.0)
        text = f'\n    <dynamics damping="{damping!r}" friction="{friction!r}"/>' if damping or friction else ""
        if own in self.laws.followers:
            leads, factor, offset = self.laws.followers[own]
            other = quoteattr(self._joint_name(leads))
            text += f'\n    <mimic joint={other} multiplier="{factor!r}" offset="{offset!r}"/>'
        return text

    def _limits(self, own: int) -> tuple[float | None, float | None]:
        coordinate = next(name for name, columns in self.tree.positions.items() if own in columns)
        variable, k = self.model.written.variables[coordinate], self.tree.positions[coordinate].index(own)
        bounds = [values[k] if values else np.inf for values in (variable.lower, variable.upper)]
        lower, upper = (float(value) if np.isfinite(value) else None for value in bounds)
        return lower, upper

    def _frames(self) -> list[str]:
        """Frames that are no links yet, as links without mass."""
        parts = []
        for frame in self.model.written.mechanics.frames.values():
            if frame.name in self.tree.at or frame.name == GROUND:
                continue
            at = np.array(ca.DM(numbered(self.model, [frame.at])[0]))
            parent = GROUND
            if frame.body:
                k = self.tree.at[frame.body]
                at, parent = at + self.values[k][5], self.names[k]
            turn = _angles(np.array(frame.rotation))
            parts.append(f"  <link name={quoteattr(frame.name)}/>")
            parts.append(
                f'  <joint name={quoteattr(frame.name + "_joint")} type="fixed">\n'
                f"    <parent link={quoteattr(parent)}/>\n    <child link={quoteattr(frame.name)}/>\n"
                f"    <origin xyz={_row(at)} rpy={_row(turn)}/>\n  </joint>"
            )
        return parts


# Shapes that the format has: the roles of their sizes, and the words for them.
_GEOMETRY = {
    "box": [("size", "size")],
    "sphere": [("radius", "radius")],
    "cylinder": [("radius", "radius"), ("length", "length")],
}


def _angles(turn: np.ndarray) -> np.ndarray:
    """Roll, pitch and yaw; of those that are the same rotation any will do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GimbalLockWarning)
        return np.asarray(rpy_from_rotation(turn))


def _row(values: object) -> str:
    return '"' + " ".join(repr(float(v) + 0.0) for v in np.asarray(values).ravel()) + '"'
