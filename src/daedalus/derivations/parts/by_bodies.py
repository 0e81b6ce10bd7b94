"""Newton and Euler, body by body: m v' = forces, J ω' + ω × J ω = moments, and the joints between them."""

from __future__ import annotations

from collections.abc import Iterator

import casadi as ca

from daedalus.derivations.compiled_residual import compiled_residual
from daedalus.derivations.derivation import DerivationStep
from daedalus.derivations.formula.agreement import largest_difference
from daedalus.derivations.formula.line import FormulaLine
from daedalus.derivations.formula.split_sides import negated, split_terms
from daedalus.derivations.reading import Reading
from daedalus.errors import ModelError
from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.mechanics.written_mechanics import Velocity, WrittenBody
from daedalus.model.model import Model

PART = "bodies"


class BodyEquations:
    """The derivation of the equations of bodies."""

    def __init__(self, model: Model) -> None:
        self.book = model.flat()
        self.written = self.book.written.mechanics
        if not self.written.bodies:
            raise ModelError(
                f"The model {model.name!r} has no bodies.",
                because="Newton-Euler equations describe bodies.",
                remedy="m.body(...), or dd.derive(m) for what the model has",
            )
        self.read = Reading(self.book)
        self.known = self.book.all_equations()
        self.system = self.book.freeze()
        rates = [self.book.written.derivative_symbol(v.velocity, 1) for v in self.written.velocities.values()]
        self.collect = [*rates, *(self.book.written.symbols[c] for c in self.written.constraints)]
        self.unit_names = [n for n in self.written.velocities if self.book.written.variables[n].size == 4]
        self.units = [self.book.written.symbols[n] for n in self.unit_names]
        self.moving = {symbol_key(s) for r in rates for s in elements(r)}

    def steps(self) -> Iterator[DerivationStep]:
        """The steps of every body, then of the joints."""
        for body in self.written.bodies.values():
            own = [v for n, v in self.written.velocities.items() if n.startswith(f"{body.name}.")]
            yield self._kinematics(body, own)
            for velocity in own:
                yield self._balance(body, velocity)
        if self.written.constraints:
            yield self._joints()

    def _kinematics(self, body: WrittenBody, own: list[Velocity]) -> DerivationStep:
        read, lines, left, right = self.read, [], [], []
        for velocity in own:
            rate = read.short(ca.densify(ca.vec(velocity.rate)))
            symbol = self.book.written.derivative_symbol(velocity.position, 1)
            lines += [read.line(s, e) for s, e in zip(elements(symbol), elements(rate))]
            left.append(ca.vec(velocity.rate))
            right.append(rate)
        text = f"{body.name}: how its position and attitude follow from its velocities."
        return read.step(PART, "kinematics", text, [], lines,
                         largest_difference(concatenate(left), concatenate(right)))  # fmt: skip

    def _balance(self, body: WrittenBody, velocity: Velocity) -> DerivationStep:
        name = f"motion of {velocity.position}"
        residual = self.known[name].residual
        short = self.read.short(residual, self.collect, self.units)
        lines = [self._sides(entry) for entry in elements(short)]
        turns = velocity.position != f"{body.name}.position"
        law = "Euler: the rate of its angular momentum equals the moments on it" if turns else (
            "Newton: its mass times its acceleration equals the forces on it")  # fmt: skip
        ends = ", those of joints included" if self.written.constraints else ""
        unit = "; the length of its quaternion is one" if self.unit_names else ""
        labels = [row.label for row in self.known[name].rows]
        derived = dict(zip(labels, (line.residual for line in lines)))
        return self.read.step(
            PART, "Euler" if turns else "Newton", f"{body.name}: {law}{ends}{unit}.", [], lines,
            compiled_residual(self.system, derived, self.unit_names),
        )  # fmt: skip

    def _sides(self, entry: ca.SX) -> FormulaLine:
        """Inertia on the left, forces on the right."""
        right, left = split_terms(entry, self.moving)
        if left.is_zero():
            return self.read.line(entry, ca.SX(0))
        return self.read.line(negated(left), negated(right))

    def _joints(self) -> DerivationStep:
        read = self.read
        lines: list[FormulaLine] = []
        derived: dict[str, ca.SX] = {}
        for constraint in self.written.constraints.values():
            short = read.short(constraint.expression, (), self.units)
            lines += [read.line(e, ca.SX(0)) for e in elements(short)]
            own = [row.label for row in self.known[constraint.name].rows]
            derived.update(zip(own, elements(short)))
        text = "Joints: what they keep at zero. Their multipliers are the forces in the balances above."
        return read.step(PART, "joints", text, [], lines, compiled_residual(self.system, derived, self.unit_names))


def body_steps(model: Model) -> list[DerivationStep]:
    """The equations of all bodies."""
    return list(BodyEquations(model).steps())
