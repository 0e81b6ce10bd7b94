"""Equations of motion from energies, as on the board: T, V, L, ∂L/∂q', d/dt, ∂L/∂q, forces, collected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import casadi as ca

from daedalus.algebra.rank_decision import SAME_FORMULA
from daedalus.derivations.compiled_residual import compiled_residual
from daedalus.derivations.derivation import DerivationStep
from daedalus.derivations.formula.agreement import largest_difference
from daedalus.derivations.formula.line import FormulaLine
from daedalus.derivations.formula.notation import Juxtaposed, Matrix, Notation, name, rate, sign, slope
from daedalus.derivations.numbers_along import rate_residual, slope_residual
from daedalus.derivations.reading import SCRIPT, Reading
from daedalus.derivations.tree_energies import is_by_lagrange, with_tree_energies
from daedalus.errors import ModelError
from daedalus.model.expressions import concatenate, elements, symbol_key
from daedalus.model.mechanics.equations_of_motion import force_sides, gradient, inertia_sides, time_derivative
from daedalus.model.model import Model

# Larger mass matrices are not shown as matrices.
LARGEST_MATRIX = 6
PART = "lagrange"


class Lagrange:
    """One derivation by Lagrange; the terms are those of the coordinates alone, bodies have a part of their own."""

    def __init__(self, model: Model) -> None:
        self.book = model.flat()
        self.written = with_tree_energies(self.book)
        if not is_by_lagrange(self.book):
            raise ModelError(
                f"The model {model.name!r} has no coordinates.",
                because="Lagrange's equations describe coordinates with energies; bodies and joints whose "
                "velocities are states have Newton-Euler equations.",
                remedy="m.coordinate(...) and m.kinetic_energy(...), or dd.derive(m) for what the model has",
            )
        self.read = Reading(self.book)
        names = self.written.coordinates
        self.q = concatenate(self.book.written.symbols[n] for n in names)
        self.v = concatenate(self.book.written.derivative_symbol(n, 1) for n in names)
        self.a = concatenate(self.book.written.derivative_symbol(n, 2) for n in names)
        self.multipliers = concatenate(self.book.written.symbols[n] for n in self.written.constraints)
        self.collect = [self.a, self.multipliers]
        self.labels = [self.read.label(s) for s in elements(self.v)]
        self.T, self.V, self.L, self.D, self.M, self.G, self.h = map(self.read.letter, "TVLDMGh")

    def steps(self) -> Iterator[DerivationStep]:
        """The steps in their order."""
        read, written = self.read, self.written
        kinetic, potential = (read.short(e) for e in (written.kinetic, written.potential))
        own = "of all bodies" if self.book.written.mechanics.inertia_forces else "as it was written"
        yield self._energy("kinetic energy", self.T, f"The kinetic energy {own}, its terms collected.",
                           written.kinetic, kinetic)  # fmt: skip
        yield self._energy("potential energy", self.V, f"The potential energy {own}, its terms collected.",
                           written.potential, potential)  # fmt: skip
        function = read.short(written.kinetic - written.potential)
        yield read.step(
            PART, "Lagrange function", "The Lagrange function is the kinetic less the potential energy.",
            [read.line(name(self.L), Juxtaposed((name(self.T), sign("-"), name(self.V))))],
            [read.line(name(self.L), function)],
            largest_difference(function, written.kinetic - written.potential, usual=read.usual),
        )  # fmt: skip
        yield from self._slopes(function)
        yield from self._forces()
        short = read.short(self._residual(), self.collect)
        yield self._equations(short)
        if 1 < self.q.numel() <= LARGEST_MATRIX:
            yield self._matrices(short)

    def _energy(self, kind: str, letter: str, text: str, written: ca.SX, short: ca.SX) -> DerivationStep:
        read = self.read
        lines = [read.line(name(letter), written)]
        check = largest_difference(written, short, usual=read.usual)
        return read.step(PART, kind, text, lines, [read.line(name(letter), short)], check)

    def _slopes(self, function: ca.SX) -> Iterator[DerivationStep]:
        read = self.read
        momenta = read.short(gradient(function, self.v))
        rates_of = [read.line(slope(self.L, label), entry) for label, entry in zip(self.labels, elements(momenta))]
        yield read.step(
            PART, "momenta", "Differentiate the Lagrange function by every rate.", [read.line(name(self.L), function)],
            rates_of, slope_residual(function, elements(self.v), momenta, read.usual),
        )  # fmt: skip
        along = read.short(time_derivative(self.book, self.written, momenta), self.collect)
        moving, speeds = self._motion(momenta)
        yield read.step(
            PART, "rates of momenta", "Differentiate these by time; every coordinate and rate moves.", rates_of,
            [read.line(rate(slope(self.L, label)), entry) for label, entry in zip(self.labels, elements(along))],
            rate_residual(momenta, moving, speeds, along, read.usual),
        )  # fmt: skip
        pull = read.short(gradient(function, self.q))
        yield read.step(
            PART, "slopes", "Differentiate the Lagrange function by every coordinate.",
            [read.line(name(self.L), function)],
            [read.line(slope(self.L, read.label(s)), entry) for s, entry in zip(elements(self.q), elements(pull))],
            slope_residual(function, elements(self.q), pull, read.usual),
        )  # fmt: skip

    def _motion(self, expression: ca.SX) -> tuple[list[ca.SX], list[ca.SX]]:
        """What moves in an expression, and how fast."""
        moving, speeds = [self.book.written.time], [ca.SX(1)]
        for symbol in ca.symvar(expression):
            variable, k, order = self.book.written.known[symbol_key(symbol)]
            if variable != "t" and self.book.written.variables[variable].kind == "state":
                moving.append(symbol)
                speeds.append(self.book.written.derivative_scalar(variable, k, order + 1))
        return moving, speeds

    def _forces(self) -> Iterator[DerivationStep]:
        """Dissipation, applied forces and those of constraints, where there are any."""
        read, written = self.read, self.written
        if not written.dissipation.is_zero():
            loss = read.short(gradient(written.dissipation, self.v))
            yield read.step(
                PART, "dissipation", "Differentiate the dissipation by every rate.",
                [read.line(name(self.D), written.dissipation)],
                [read.line(slope(self.D, label), entry) for label, entry in zip(self.labels, elements(loss))],
                slope_residual(written.dissipation, elements(self.v), loss, read.usual),
            )  # fmt: skip
        own = {n: e for n, e in written.applied.items() if n in written.coordinates and not e.is_zero()}
        if own:
            lines = [
                read.line(self._force("Q", s), entry)
                for n, force in own.items()
                for s, entry in zip(elements(self.book.written.symbols[n]), elements(read.short(force)))
            ]
            text = "Applied forces act on the coordinates through the work that they do on them."
            check = max(largest_difference(e, read.short(e), usual=read.usual) for e in own.values())
            yield read.step(PART, "applied forces", text, [], lines, check)
        if written.constraints:
            yield self._constraint_forces()

    def _constraint_forces(self) -> DerivationStep:
        read, written = self.read, self.written
        kinds = {c.kind for c in written.constraints.values()}
        stacked = concatenate(c.expression for c in written.constraints.values())
        by = self.q if kinds == {"holonomic"} else self.v
        forces = read.short(self._push(), [self.multipliers])
        before = [read.line(entry, ca.SX(0)) for entry in elements(read.short(stacked))]
        lines = [
            read.line(self._force("F", s), entry)
            for s, entry in zip(elements(self.q), elements(forces))
            if not entry.is_zero()
        ]
        words = ", ".join(f"`{read.label(s)}`" for s in elements(self.multipliers))
        text = f"Every constraint exerts a force along its slopes, times its multiplier: {words}."
        check = largest_difference(forces, self._push(), usual=read.usual)
        if len(kinds) == 1:
            virtual = ca.dot(stacked, self.multipliers)
            check = max(check, slope_residual(virtual, elements(by), forces, read.usual))
        return read.step(PART, "constraint forces", text, before, lines, check)

    def _push(self) -> ca.SX:
        """The forces of constraints on the coordinates."""
        total = force_sides(self.book, self.written)
        return concatenate(
            total[n] - self.written.applied.get(n, ca.SX.zeros(total[n].shape)) for n in self.written.coordinates
        )

    def _equations(self, short: ca.SX) -> DerivationStep:
        """Everything put together, against the equations that the package runs."""
        read = self.read
        lines = [read.equation(entry, solve=False) for entry in elements(short)]
        lines += [
            read.line(entry, ca.SX(0))
            for c in self.written.constraints.values()
            for entry in elements(read.short(c.expression))
        ]
        text = "Put together: the rate of momentum less the slope equals the forces on every coordinate."
        names = [self.book.written.variables[n].label(k) for n in self.written.coordinates
                 for k in range(self.book.written.variables[n].size)]  # fmt: skip
        derived = {f"motion of {label}": line.residual for label, line in zip(names, lines)}
        check = self._against_the_run(derived)
        before = [self._law(label, s, push) for label, s, push in zip(self.labels, elements(self.q), self._pushed())]
        return read.step(PART, "equations of motion", text, before, lines, check)

    def _law(self, label: str, coordinate: ca.SX, push: bool) -> FormulaLine:
        """d/dt ∂L/∂q' − ∂L/∂q + ∂D/∂q' = Q + F, those that the coordinate has."""
        written, own = self.written, self.read.label(coordinate)
        left = [rate(slope(self.L, label)), sign("-"), slope(self.L, own)]
        if ca.depends_on(written.dissipation, self.v):
            left += [sign("+"), slope(self.D, label)]
        applied = concatenate(written.applied.get(n, ca.SX.zeros(self.book.written.symbols[n].shape)) for n in
                              written.coordinates)  # fmt: skip
        names = [symbol_key(s) for s in elements(self.q)]
        forces = [] if elements(applied)[names.index(symbol_key(coordinate))].is_zero() else [
            self._force("Q", coordinate)]  # fmt: skip
        forces += [self._force("F", coordinate)] if push else []
        right = ca.SX(0) if not forces else forces[0] if len(forces) == 1 else Juxtaposed(
            (forces[0], sign("+"), forces[1]))  # fmt: skip
        return self.read.line(Juxtaposed(tuple(left)), right)

    def _pushed(self) -> list[bool]:
        """Whether constraints push each coordinate."""
        push = elements(self._push()) if self.written.constraints else []
        return [not entry.is_zero() for entry in push] or [False] * self.q.numel()

    def _force(self, letter: str, coordinate: ca.SX) -> Notation:
        """Q of an applied force, F of one of constraints; the script letter where the model has that name."""
        own = f"{letter}_{self.read.label(coordinate)}"
        return name(own if own not in self.read.labels.values() else f"{SCRIPT[letter]}{own[1:]}")

    def _residual(self) -> ca.SX:
        """d/dt ∂L/∂q' − ∂L/∂q less all forces."""
        inertia, forces = inertia_sides(self.book, self.written), force_sides(self.book, self.written)
        return concatenate(inertia[n] - forces[n] for n in self.written.coordinates)

    def _against_the_run(self, derived: dict[str, ca.SX]) -> float:
        """Derived equations against those of a run; these are solved for the accelerations of joints."""
        solved = self.book.written.mechanics.accelerations
        if not solved:
            return compiled_residual(self.book.freeze(), derived)
        rows = concatenate(derived.values())
        if rows.numel() > LARGEST_MATRIX:
            own = self.book.written.mechanics
            inertia, forces = inertia_sides(self.book, own), force_sides(self.book, own)
            run = concatenate(inertia[n] - forces[n] for n in own.coordinates)
            return largest_difference(rows, run, usual=self.read.usual)
        rises = elements(ca.solve(ca.jacobian(rows, self.a), rows))
        return compiled_residual(self.book.freeze(), dict(zip(derived, rises)))

    def _matrices(self, residual: ca.SX) -> DerivationStep:
        """M(q) q'' + h = Q + Gᵀ λ, with the mass matrix of the package's own functions as the check."""
        read = self.read
        mass = self._mass(residual)
        rest = ca.densify(ca.substitute(residual, self.a, ca.SX.zeros(self.a.shape)))
        bias = read.short(ca.densify(ca.substitute(rest, self.multipliers, ca.SX.zeros(self.multipliers.shape))))
        pieces: list[Any] = []
        total = mass @ self.a + bias
        if self.multipliers.numel():
            push = read.short(-ca.densify(ca.jacobian(rest, self.multipliers)))
            pieces += [sign("+"), Matrix(push, self.G), Matrix(self.multipliers)]
            total = total - push @ self.multipliers
        line = read.line(
            Juxtaposed((Matrix(mass, self.M), Matrix(self.a))),
            Juxtaposed((Matrix(read.short(-bias), self.h), *pieces)),
        )
        text = "In matrix form: the mass matrix times the accelerations, and what moves them."
        check = largest_difference(total, self._residual(), usual=read.usual)
        if not any(ca.depends_on(force, self.a) for force in self.written.applied.values()):
            # Forces that contain accelerations, such as those of a geared motor, add to the mass matrix.
            hessian = ca.hessian(self.written.kinetic, self.v)[0]
            check = max(check, largest_difference(mass, hessian, usual=read.usual))
        return read.step(PART, "matrix form", text, [], [line], check)

    def _mass(self, residual: ca.SX) -> ca.SX:
        """What is before the accelerations; where it is symmetric, equal entries are written alike."""
        mass = self.read.short(ca.densify(ca.jacobian(residual, self.a)))
        mirrored = ca.triu2symm(ca.triu(mass))
        return mirrored if largest_difference(mass, mirrored, usual=self.read.usual) < SAME_FORMULA else mass


def lagrange_steps(model: Model) -> list[DerivationStep]:
    """The derivation of the equations of motion of a model written by energies."""
    return list(Lagrange(model).steps())
