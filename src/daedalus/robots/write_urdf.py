"""`m.to_urdf()`: a tree of joints as the text of a URDF file."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.geometry.euler_angles import rpy_from_rotation
from daedalus.model.model import Model
from daedalus.model.names import listed
from daedalus.robots.robot_symbols import RobotSymbols, numbered, robot_symbols

GROUND = "world"


def urdf_text(model: Model) -> str:
    """The robot as URDF; refuses what the format has no words for: closed loops, ball joints, several free bodies."""
    written = model.written.mechanics
    balls = [joint.name for joint in written.tree.values() if joint.kind == "spherical"]
    if balls or written.constraints:
        raise ModelError(
            "URDF cannot describe this model.",
            f"{'ball joints' if balls else 'closed loops'}: {listed(balls or list(written.constraints), 6)}",
            because="a URDF file is a tree of hinges, slides and fixed joints.",
            remedy="three revolute joints in place of a ball joint" if balls else "leave the constraints out",
        )
    symbols = robot_symbols(model)
    tree = symbols.tree
    grounded = any(not entry.carrier for entry in tree.entries)
    if len(tree.roots) + grounded > 1:
        raise ModelError(
            "The model has several trees.",
            f"free bodies: {listed(tree.roots, 6)}{', and one on the ground' if grounded else ''}",
            because="a URDF file has one root link.",
            remedy="a model for each",
        )
    return _UrdfWriter(model, symbols).text()


class _UrdfWriter:
    """Links and joints with every joint at zero."""

    def __init__(self, model: Model, symbols: RobotSymbols) -> None:
        self.model, self.tree = model, symbols.tree
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
        columns = {c: name for name, own in self.tree.positions.items() for c in own}
        self.coordinate = {k: columns[link.columns[0]] for k, link in enumerate(self.tree.links) if link.columns}

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
        return "\n".join([*parts, "</robot>"]) + "\n"

    def _link(self, k: int) -> str:
        *_, mass, centre, inertia = self.values[k]
        name = quoteattr(self.names[k])
        if not float(mass[0, 0]):
            return f"  <link name={name}/>"
        entries = " ".join(f'i{"xyz"[i]}{"xyz"[j]}="{float(inertia[i, j])!r}"' for i in range(3) for j in range(i, 3))
        return (
            f"  <link name={name}>\n    <inertial>\n      <origin xyz={_row(centre)}/>\n"
            f'      <mass value="{float(mass[0, 0])!r}"/>\n      <inertia {entries}/>\n    </inertial>\n  </link>'
        )

    def _joint(self, k: int) -> str:
        turn, shift, angular, linear, *_ = self.values[k]
        link = self.tree.links[k]
        kind, axis, limit = "fixed", None, ""
        name = f"{self.names[k]}_joint"
        if link.columns:
            coordinate = self.coordinate[k]
            name = coordinate.rpartition(".")[0]
            if len([c for c in link.columns if c in self.tree.positions[coordinate]]) < len(
                self.tree.positions[coordinate]
            ):
                name = f"{name}_{self.tree.positions[coordinate].index(link.columns[0])}"
            axis = angular if np.any(angular) else linear
            lower, upper = self._limits(coordinate)
            kind = "continuous" if np.any(angular) else "prismatic"
            if lower is not None and upper is not None:
                kind = "revolute" if np.any(angular) else "prismatic"
                limit = f'\n    <limit lower="{lower!r}" upper="{upper!r}" effort="0" velocity="0"/>'
        parent = GROUND if link.parent < 0 else self.names[link.parent]
        lines = [
            f"  <joint name={quoteattr(name)} type={quoteattr(kind)}>",
            f"    <parent link={quoteattr(parent)}/>",
            f"    <child link={quoteattr(self.names[k])}/>",
            f"    <origin xyz={_row(shift)} rpy={_row(rpy_from_rotation(turn))}/>",
        ]
        if axis is not None:
            lines.append(f"    <axis xyz={_row(axis)}/>{limit}")
        return "\n".join([*lines, "  </joint>"])

    def _limits(self, coordinate: str) -> tuple[float | None, float | None]:
        variable = self.model.written.variables[coordinate]
        bounds = [values[0] if values else np.inf for values in (variable.lower, variable.upper)]
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
            turn = rpy_from_rotation(np.array(frame.rotation))
            parts.append(f"  <link name={quoteattr(frame.name)}/>")
            parts.append(
                f'  <joint name={quoteattr(frame.name + "_joint")} type="fixed">\n'
                f"    <parent link={quoteattr(parent)}/>\n    <child link={quoteattr(frame.name)}/>\n"
                f"    <origin xyz={_row(at)} rpy={_row(turn)}/>\n  </joint>"
            )
        return parts


def _row(values: object) -> str:
    return '"' + " ".join(repr(float(v) + 0.0) for v in np.asarray(values).ravel()) + '"'
