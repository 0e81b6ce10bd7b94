"""The notebook one writes a dynamic system in."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple, cast

import casadi as ca
import numpy as np

from daedalus.errors import ModelError
from daedalus.model.assembly.flat_model import flattened
from daedalus.model.doors.equations import EquationDoor
from daedalus.model.doors.inner_parts import PartDoor
from daedalus.model.doors.networks import NetworkDoor
from daedalus.model.drawing.drawing_part import Drawing
from daedalus.model.expressions import elements
from daedalus.model.mechanics.body_starts import declared_joint_values
from daedalus.model.mechanics.joint_coordinates import in_joint_coordinates, with_frames
from daedalus.model.mechanics.mechanics_part import Mechanics, motion_of
from daedalus.model.mechanics.motion_functions import MotionFunctions
from daedalus.model.noise import NoiseDoor
from daedalus.model.notebook import Notebook
from daedalus.model.printing import whole_text
from daedalus.model.smallest_values import completed
from daedalus.model.switching.contacts import ContactDoor
from daedalus.model.switching.locking_losses import locking
from daedalus.model.system.dropped_systems import dropped_systems, garbage_pause
from daedalus.model.system.equation_row import EquationRow, Role
from daedalus.model.system.formulas import expressions_of, formulas_of
from daedalus.model.system.freeze import freeze
from daedalus.model.system.surplus_equations import Surplus, surplus_rows
from daedalus.model.system.system import System
from daedalus.model.variables import Variable
from daedalus.model.written import Equation, WrittenEvent, new_symbol


class Model(EquationDoor, ContactDoor, NoiseDoor, NetworkDoor, PartDoor):
    """A dynamic system 0 = F(t, x', x, z, u, p) that you build step by step: declare variables, then write equations.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator")
    >>> x = m.state("x", start=1.0, unit="m")
    >>> v = m.state("v", start=0.0, unit="m/s")
    >>> k = m.parameter("k", 4.0)
    >>> m.equation(m.der(x), v)
    >>> m.equation(m.der(v), -k * x)
    >>> m
    Model('oscillator': 2 states, 1 parameter, 2 equations)
    >>> tr = dd.simulate(m, 1.0)
    """

    def __init__(self, name: str = "model") -> None:
        super().__init__(name)
        self._flattened: Model | None = None
        self._frozen_still: System | None = None  # with sources that stand still, where that makes a difference
        self._is_moved = False
        self._jointed: Model | None = None  # in the coordinates of its joints
        self.drawn_as: Model | None = None  # what to draw of a model whose bodies became formulas
        self._surplus: Surplus | None = None
        self._robot: Any = None  # its functions of robotics, until it changes

    def _changed(self) -> None:
        super()._changed()
        self._flattened = self._jointed = self._frozen_still = self._robot = None

    # -- what is written ---------------------------------------------------------------------------------------

    @property
    def variables(self) -> dict[str, Variable]:
        """All variables by name, in order of declaration."""
        return dict(self.written.variables)

    @property
    def inputs(self) -> dict[str, Variable]:
        """The inputs by name."""
        return {n: v for n, v in self.written.variables.items() if v.kind == "input"}

    @property
    def parameters(self) -> dict[str, Variable]:
        """The parameters by name."""
        return {n: v for n, v in self.written.variables.items() if v.kind == "parameter"}

    @property
    def outputs(self) -> dict[str, ca.SX]:
        """The outputs by name."""
        return {n: +v for n, v in self.written.outputs.items()}

    @property
    def equations(self) -> dict[str, list[str]]:
        """The equations as text in the model's names."""
        labels = self.written.labels()
        return {
            name: [f"{whole_text(r, labels)} = 0" for r in elements(equation.residual)]
            for name, equation in self.all_equations().items()
        }

    def __repr__(self) -> str:
        whole = jointed(self)
        counts = [
            (len([v for v in whole.written.variables.values() if v.kind == kind]), kind)
            for kind in ("state", "algebraic", "input", "parameter", "discrete")
        ]
        counts.append((sum(e.residual.numel() for e in self.all_equations().values()), "equation"))
        words = [f"{n} {word}{'' if n == 1 or word in ('algebraic', 'discrete') else 's'}" for n, word in counts if n]
        return f"Model({self.name!r}: {', '.join(words) or 'empty'})"

    @classmethod
    def from_matrices(
        cls,
        E: object,
        A: object,
        B: object = None,
        C: object = None,
        D: object = None,
        *,
        start: object = None,
        name: str = "linear",
    ) -> Model:
        """Make the linear model E x' = A x + B u, y = C x + D u.

        Its state is `x`, its input `u` (if there is a B) and its output `y` (if there is a C or D). E may be singular,
        with any index; None is the identity. `start` holds the start values of x, with None for a free one.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model.from_matrices([[1, 0], [0, 0]], [[-2, 1], [1, -1]], [1, 0], start=[0.0, None])
        >>> dd.analyse(m).index, round(float(dd.simulate(m, 1.0, inputs={"u": 1.0})["x"][-1, 0]), 6)
        (1, 0.632121)
        """
        model = cls(name)
        write_matrices(model, E, A, B, C, D, start)
        return model

    # -- snapshots and copies ----------------------------------------------------------------------------------

    def freeze(self) -> System:
        """Return an immutable snapshot of the model. It is the same object until you change the model.

        Raises a ModelError when the equations are too few or too many for the unknowns.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0)
        >>> m.equation(m.der(x), -x)
        >>> m.freeze() is m.freeze()
        True
        """
        if self._frozen is None:
            dropped_systems.collect()
            with garbage_pause():
                self._frozen = freeze(self.flat())
        return self._frozen

    def mechanics(self) -> MotionFunctions:
        """M, h, τ, G and γ of the equations of motion as functions, and the accelerations for given numbers.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("two masses")
        >>> x = m.coordinate("x", 2, start=[0.0, 1.0], rate=[0.0, 0.0])
        >>> m.kinetic_energy(0.5 * (2.0 * m.rate(x)[0] ** 2 + m.rate(x)[1] ** 2))
        >>> m.potential_energy(0.5 * 3.0 * (x[1] - x[0] - 0.5) ** 2)
        >>> m.mechanics().accelerations()["x_ddot"]
        array([ 0.75, -1.5 ])
        """
        return motion_of(self.freeze())

    def _parts(self) -> tuple[object, ...]:
        book = self._drawn_book()
        ledger = () if self.written.ledger is None else (self.written.ledger,)
        surplus = () if self._surplus is None else (self._surplus,)
        moving = book if self.drawn_as is None else self.copy()
        own = (Mechanics(moving if self.written.mechanics.positions else None), Drawing(book))
        return (*super()._parts(), *own, *ledger, *surplus)

    def _drawn_book(self) -> Model | None:
        """A copy to draw results from; None where nothing moves and no shape was written."""
        if self.drawn_as is not None:
            return self.drawn_as
        return self.copy() if self.written.mechanics.positions or self.written.sketch.shapes else None

    def copy(self, name: str | None = None) -> Model:
        """Return an independent copy of the model. Both share their symbols, so existing expressions stay valid in
        both.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("a")
        >>> x = m.state("x", start=1.0)
        >>> n = m.copy("b")
        >>> n.equation(n.der(x), -x)
        >>> len(m.equations), len(n.equations)
        (0, 1)
        """
        twin = Model(self.name if name is None else name)
        twin.written = self.written.copied()
        twin._surplus, twin.drawn_as = self._surplus, self.drawn_as
        return twin

    def _blank(self, name: str) -> Model:
        return Model(name)

    def flat(self) -> Model:
        """Return the model that results from its parts and connections, with as many equations as unknowns if possible.

        Equations that follow from others are kept apart, and undetermined unknowns that do not influence anything else
        get equations for their smallest values. A model that needs none of this is returned as it is. The result is
        kept until you change the model.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay"); x = m.state("x", start=1.0)
        >>> m.equation(m.der(x), -x)
        >>> m.flat() is m
        True
        """
        if self._flattened is None:
            whole = written = locking(jointed(self))
            if not self.written.assembly.is_empty:
                own, self._is_moved = flattened(written)
                whole = cast(Model, own)
            whole = whole._with_smallest_values()._without_surplus()
            if whole is self:
                return self
            self._flattened = whole
        return self._flattened

    def all_equations(self) -> dict[str, Equation]:
        """The written equations and the equations of motion, in the coordinates that the run has."""
        if self.written.mechanics.tree:
            return jointed(self).all_equations()
        return super().all_equations()

    def _unknown_count(self) -> int:
        return sum(v.size for v in self.written.variables.values() if v.kind in ("state", "algebraic"))

    def _with_smallest_values(self) -> Model:
        """The model with equations for unknowns that too few equations leave open and that nothing else feels."""
        unknowns = self._unknown_count()
        written = sum(e.residual.numel() for e in self.all_equations().values()) if unknowns else 0
        added = completed(self) if 0 < written < unknowns else None
        if added is None or not added.equations:
            return self
        twin = self.copy()
        twin.written.equations = {**without_rows(self.written.equations, added.repeated), **added.equations}
        if added.repeated:
            twin._surplus = Surplus((), tuple(row.label for row in added.repeated))
        return twin

    def _without_surplus(self) -> Model:
        """The model with those of too many equations that follow from the others set apart; itself elsewhere."""
        unknowns = self._unknown_count()
        written = sum(e.residual.numel() for e in self.written.equations.values())
        sorted_out = set_apart(self) if written > unknowns > 0 else None
        if sorted_out is None:
            return self
        twin = self.copy()
        twin.written.equations, twin._surplus = sorted_out.equations, sorted_out.names
        twin.written.invariants |= sorted_out.invariants
        return twin

    def _layout(self) -> dict[str, Any]:
        """Names in order plus the flat list of expressions that belongs to them."""
        events = list(self.written.events.values())
        return {
            "equations": [e.outline() for e in self.written.equations.values()],
            "outputs": list(self.written.outputs),
            "output_units": dict(self.written.output_units),
            "on_request": sorted(self.written.on_request),
            "events": [(e.name, e.direction, e.terminal, list(e.resets), e.purpose, e.manner) for e in events],
            "invariants": [kept.outline() for kept in self.written.invariants.values()],
            "choices": self.written.choices,
            "mechanics": self.written.mechanics.outline(),
            "sketch": self.written.sketch.outline(),
            "assembly": self.written.assembly.outline(),
            "expressions": [
                *(e.residual for e in self.written.equations.values()),
                *self.written.outputs.values(),
                *(x for e in events for x in (e.guard, *e.resets.values())),
                *(kept.residual for kept in self.written.invariants.values()),
                *self.written.mechanics.expressions(),
                *self.written.sketch.expressions(),
                *self.written.assembly.expressions(),
            ],
        }

    def _write_expressions(self, layout: dict[str, Any], prefix: str = "") -> None:
        """The inverse of `_layout`: put equations, outputs and events into this notebook."""
        self._changed()
        rest = iter(layout["expressions"])
        for outline in layout["equations"]:
            equation = Equation.of(outline, next(rest), prefix)
            self.written.equations[equation.name] = equation
        for name in layout["outputs"]:
            self.written.outputs[prefix + name] = next(rest)
        self.written.output_units.update({prefix + name: unit for name, unit in layout.get("output_units", {}).items()})
        self.written.on_request.update(prefix + name for name in layout.get("on_request", ()))
        for name, direction, terminal, targets, purpose, manner in layout["events"]:
            guard = next(rest)
            resets = {prefix + target: next(rest) for target in targets}
            own = WrittenEvent(prefix + name, guard, direction, resets, terminal, purpose, manner.prefixed(prefix))
            self.written.events[prefix + name] = own
        for outline in layout["invariants"]:
            kept = Equation.of(outline, next(rest), prefix)
            self.written.invariants[kept.name] = kept
        self.written.choices += tuple(choice.prefixed(prefix) for choice in layout.get("choices", ()))
        self.written.mechanics.add(layout["mechanics"], rest, prefix)
        if "sketch" in layout:
            self.written.sketch.add(layout["sketch"], rest, prefix)
        self.written.assembly.add(layout["assembly"], rest, prefix)

    # -- pickling: expressions travel as plain formulas --------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        chains = {name: len(chain) for name, chain in self.written.derivatives.items()}
        symbols = [
            self.written.time,
            *self.written.symbols.values(),
            *(s for chain in self.written.derivatives.values() for s in chain),
        ]
        layout = self._layout()
        return {
            **layout,
            "name": self.name,
            "variables": [replace(v) for v in self.written.variables.values()],
            "chains": chains,
            "expressions": formulas_of(symbols, layout["expressions"]),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["name"])  # type: ignore[misc]
        for variable in state["variables"]:
            self._adopt(variable, new_symbol(variable.name, variable.shape))
        for name, length in state["chains"].items():
            self.written.derivative_symbol(name, length)
        symbols = [
            self.written.time,
            *self.written.symbols.values(),
            *(s for chain in self.written.derivatives.values() for s in chain),
        ]
        self._write_expressions({**state, "expressions": expressions_of(state["expressions"], symbols)})


def as_system(model: Model | System) -> System:
    """The snapshot of a model; a System is its own."""
    if type(model) is Model and model._frozen is not None:
        return model._frozen
    if isinstance(model, System):
        return model
    if isinstance(model, Model):
        return model.freeze()
    raise ModelError(
        "A model is expected here.",
        f"got {type(model).__name__}",
        because="every function works on a Model or on the System that m.freeze() returns.",
        remedy="dd.simulate(m, ...) with m = dd.Model(...)",
    )


# A model out of matrices: E x' = A x + B u, y = C x + D u, with E singular where it is a DAE.


def write_matrices(model: Any, E: object, A: object, B: object, C: object, D: object, start: object) -> None:
    """Declare x, u and y in an empty model and write the equations."""
    a = _matrix(A, "A")
    rows, columns = a.shape
    e = np.eye(rows, columns) if E is None else _matrix(E, "E", (rows, columns))
    x = model.state("x", columns if columns > 1 else (), start=start)
    right, b = ca.DM(a) @ x, None
    if B is not None:
        b = _matrix(B, "B", (rows, None))
        u = model.input("u", b.shape[1] if b.shape[1] > 1 else ())
        right = right + ca.DM(b) @ u
    model.equation(ca.DM(e) @ model.der(x), right, name="dynamics")
    if C is None and D is None:
        return
    c = np.eye(columns) if C is None else _matrix(C, "C", (None, columns))
    reading = ca.DM(c) @ x
    if D is not None:
        if b is None:
            raise _misfit("D", "there is no B, and so no input")
        reading = reading + ca.DM(_matrix(D, "D", (len(c), b.shape[1]))) @ u
    model.output("y", reading)


def _matrix(given: Any, name: str, shape: tuple[int | None, int | None] = (None, None)) -> np.ndarray:
    try:
        values = np.array(given.toarray() if hasattr(given, "toarray") else given, dtype=float)
    except (TypeError, ValueError):
        raise _misfit(name, "it is not made of real numbers") from None
    if values.ndim == 0:
        values = values.reshape(1, 1)
    if values.ndim == 1:
        # A list is a column where the height is known, and a row otherwise.
        values = values.reshape(-1, 1) if shape[0] not in (None, 1) else values.reshape(1, -1)
    fits = values.ndim == 2 and all(want in (None, got) for want, got in zip(shape, values.shape))
    if not fits:
        wanted = " × ".join("any" if n is None else str(n) for n in shape)
        raise _misfit(name, f"it is {' × '.join(map(str, values.shape))}, it should be {wanted}")
    if not np.all(np.isfinite(values)):
        raise _misfit(name, "it contains NaN or infinity")
    return values


def _misfit(name: str, fact: str) -> ModelError:
    return ModelError(
        f"The matrix {name} does not fit.",
        fact,
        because="E and A have a row for each equation and a column for each state, B a row for each equation, C a "
        "column for each state.",
        remedy="dd.Model.from_matrices(E, A, B, C, D) with E, A (n, n), B (n, nu), C (ny, n), D (ny, nu)",
    )


# Of a model with more equations than unknowns, those that follow from the others, set apart.


class SetApart(NamedTuple):
    """The equations that are left, those that they keep as invariants, and the names of all that was set apart."""

    equations: dict[str, Equation]
    invariants: dict[str, Equation]
    names: Surplus


def set_apart(book: Notebook) -> SetApart | None:
    """The written equations, sorted; None where they cannot all be obeyed or that is not decided: they are too many."""
    try:
        system = freeze(book, square=False)
    except ModelError:
        return None
    found = surplus_rows(system)
    if found is None:
        return None
    kept, implied = (set(rows) for rows in found)
    left, invariants, row = {}, {}, 0
    names: dict[str, list[str]] = {"kept": [], "implied": []}
    for name, equation in book.written.equations.items():
        parts: dict[str, list[int]] = {"left": [], "kept": [], "implied": []}
        for k in range(equation.residual.numel()):
            parts["kept" if row in kept else "implied" if row in implied else "left"].append(k)
            row += 1
        if parts["left"]:
            left[name] = _only(equation, parts["left"])
        if parts["kept"]:
            invariants[name] = _only(equation, parts["kept"], Role.INVARIANT)
        for which, told in names.items():
            told += [equation.rows[k].label for k in parts[which]]
    return SetApart(left, invariants, Surplus(tuple(names["kept"]), tuple(names["implied"])))


def without_rows(equations: dict[str, Equation], rows: Collection[EquationRow]) -> dict[str, Equation]:
    """The equations without some of their components."""
    found = {}
    for name, equation in equations.items():
        which = [k for k, row in enumerate(equation.rows) if row not in rows]
        if which:
            found[name] = _only(equation, which)
    return found


def _only(equation: Equation, which: list[int], role: Role | None = None) -> Equation:
    """Some components of an equation, which keep their names."""
    if role is None and len(which) == equation.residual.numel():
        return equation
    residual, rows = elements(equation.residual), equation.rows
    origins = tuple(rows[k] if role is None else replace(rows[k], role=role) for k in which)
    return Equation(equation.name, ca.vertcat(*(residual[k] for k in which)), origins)


def model_at_rest(model: Model) -> System:
    """The snapshot for points of rest, with the same unknowns: sources, and charges that follow them, stand still."""
    model.flat()
    if not model._is_moved:
        return model.freeze()
    if model._frozen_still is None:
        own = cast(Model, flattened(locking(jointed(model)), still=True)[0])
        model._frozen_still = freeze(own._with_smallest_values()._without_surplus())
    return model._frozen_still


def jointed(model: Model) -> Model:
    """The model in the coordinates of its joints, once; itself where no joint has any, but for outputs of frames."""
    mechanics = model.written.mechanics
    if not mechanics.tree and not (mechanics.frames and mechanics.bodies):
        return model
    if model._jointed is None:
        model._jointed = in_joint_coordinates(model) if mechanics.tree else with_frames(model)
        model._jointed._take_starts(declared_joint_values(model))
    return model._jointed
