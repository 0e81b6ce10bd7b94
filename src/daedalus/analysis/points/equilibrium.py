"""Find where a model stays at rest: F(t, 0, x, z, u, p) = 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

import casadi as ca
import numpy as np

from daedalus.algebra.damped_newton import Root
from daedalus.algebra.rank_decision import ROUNDING
from daedalus.analysis.points.complete_point import (
    Entry,
    fill_states_and_inputs,
    labels_of,
    linked_states,
    scatter,
)
from daedalus.analysis.points.equilibrium_sweep import EquilibriumSweep, swept
from daedalus.analysis.points.operating_point import OperatingPoint, put, read_point
from daedalus.analysis.points.steady_motion import steady_motion
from daedalus.analysis.points.steady_state_search import search
from daedalus.errors import InputError, SolverError
from daedalus.model.expressions import concatenate, elements
from daedalus.model.mechanics.mechanics_part import refuse_touching
from daedalus.model.model import Model, as_system, model_at_rest
from daedalus.model.names import counted, listed
from daedalus.model.switching.delays import refuse_delays
from daedalus.model.system.equation_row import EquationRow
from daedalus.model.system.once import once, remembered
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.model.values import check_mapping


class Equilibrium(OperatingPoint):
    """The result of `dd.equilibrium`: values by name. Pass it as `at=` to `dd.linearise` or `start=` to `dd.simulate`.

    Attributes
    ----------
    residual: (n,) the residual of every equation.
    iterations: steps of Newton's method.
    free: names of unknowns that the equations do not determine to first order, such as the position of a cart.
    directions: (unknowns, k) those changes, in nominal sizes, one column each.
    solved_for: the names of the unknowns, in the order of the rows of `directions`.
    notes: assumptions that were made.
    found_by: "Newton's method", "leaks stepped down", "sources stepped up", "steps in time" or "a trust-region method";
        the result obeys the equations as they are in every case.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("two carts, one with a spring")
    >>> x = m.state("x", start=3.0, rate=0.0); y = m.state("y", start=2.0, rate=0.0)
    >>> m.equation(m.der(m.der(x)), -4.0 * (x - 1.0) - m.der(x))
    >>> m.equation(m.der(m.der(y)), -m.der(y))
    >>> rest = dd.equilibrium(m)
    >>> list(rest), round(rest["x"], 12), rest["y"], rest.free
    (['x', 'x_dot', 'y', 'y_dot'], 1.0, 2.0, ('y',))
    """

    def __init__(
        self,
        system: System,
        vectors: Mapping[str, np.ndarray],
        root: Root,
        solved_for: Sequence[str],
        notes: Sequence[str],
        found_by: str = "Newton's method",
    ) -> None:
        super().__init__(system, vectors)
        self.residual, self.directions = root.residual, root.null
        for array in (self.residual, self.directions):
            array.setflags(write=False)
        self.iterations = root.iterations
        self.solved_for = tuple(solved_for)
        self.free = tuple(self.solved_for[k] for k in root.loose())
        self.notes = tuple(notes)
        self.found_by = found_by

    def __str__(self) -> str:
        lines = [f"Equilibrium of {self.system.name!r}, {counted(self.iterations, 'iteration')}"]
        lines += [f"  {name} = {np.array2string(self._without_rounding(name), precision=6)}" for name in self]
        if self.free:
            lines.append(f"  free to first order: {listed(self.free)}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def _without_rounding(self, name: str) -> np.ndarray:
        """The value of a name, zero where only rounding of its nominal size is left of it."""
        place, value = self.system.place(name), np.asarray(self[name])
        sizes = [self.system.nominal[letter][k] for letter, k in zip(place.letters, place.positions.ravel())]
        return np.where(np.abs(value) < ROUNDING * np.reshape(sizes, value.shape, "F"), 0.0, value)


@overload
def equilibrium(
    model: Model | System,
    inputs: Mapping[str, object] | None = None,
    guess: object = None,
    parameters: Mapping[str, object] | None = None,
    fixed: Mapping[str, object] | Sequence[str] = (),
    solve_for: Sequence[str] = (),
    over: None = None,
) -> Equilibrium: ...


@overload
def equilibrium(
    model: Model | System,
    inputs: Mapping[str, object] | None = None,
    guess: object = None,
    parameters: Mapping[str, object] | None = None,
    fixed: Mapping[str, object] | Sequence[str] = (),
    solve_for: Sequence[str] = (),
    *,
    over: Mapping[str, object],
) -> EquilibriumSweep: ...


def equilibrium(
    model: Model | System,
    inputs: Mapping[str, object] | None = None,
    guess: object = None,
    parameters: Mapping[str, object] | None = None,
    fixed: Mapping[str, object] | Sequence[str] = (),
    solve_for: Sequence[str] = (),
    over: Mapping[str, object] | None = None,
) -> Equilibrium | EquilibriumSweep:
    """Find a point near a guess where all derivatives are zero.

    It solves F(t, 0, x, z, u, p) = 0 by Newton's method with affine-invariant damping, in nominal sizes. If the
    equations do not determine everything, it takes the shortest steps and names what is free. If it fails, as for the
    operating point of a large circuit, it tries leakage stepping, source stepping and pseudo-time steps, then a
    trust-region method within the bounds of the variables. `found_by` tells you which one succeeded. Conditions that
    act at the start (`m.when(..., at_start=True)`), such as those of switches with hysteresis, act at the point too;
    if no mode is consistent with the point it leads to, as in a relaxation oscillator, `notes` says so.

    Parameters
    ----------
    model: what to search.
    inputs: values by name; zero by default. Functions of time and tables are evaluated at the time of the guess.
    guess: where to start the search: values by name, or `tr.at(t)`; by default the start values of the model. "t" sets
        the time.
    parameters: values by name over those of the model.
    fixed: unknowns to keep, by name with their value, or names only to keep them at the guess. For a steady motion, fix
        a derivative (also one that is a state, such as "q_dot") at a value other than zero.
    solve_for: inputs and parameters to solve for in addition (trim), and derivatives to leave free.
    over: arrays of values of parameters or inputs by name. The result is then an `EquilibriumSweep` with an array for
        each name. Each point starts from the previous one, as `.dc` does in SPICE.

    Raises a SolverError that names the equation with the largest scaled residual, the variable with the largest Newton
    step, and what the equations leave undetermined.

    Example
    -------
    >>> import daedalus as dd
    >>> import casadi as ca
    >>> m = dd.Model("tank")
    >>> h = m.state("h", start=1.0, lower=0.0); q = m.input("q")
    >>> m.equation(m.der(h), q - 0.5 * ca.sqrt(h))
    >>> round(dd.equilibrium(m, inputs={"q": 1.0})["h"], 12)
    4.0
    >>> dd.equilibrium(m, fixed={"h": 9.0}, solve_for=["q"]).inputs
    {'q': 1.5}
    >>> dd.equilibrium(m, over={"q": [0.5, 1.0, 1.5]})["h"].round(9).tolist()
    [1.0, 4.0, 9.0]
    """
    if over is not None:

        def at(moved: Mapping[str, float], set_to: Mapping[str, float], near: object) -> Equilibrium:
            given, known = {**(inputs or {}), **moved}, {**(parameters or {}), **set_to}
            return equilibrium(model, given, guess if near is None else near, known, fixed, solve_for)

        return swept(as_system(model), check_mapping(over, "over"), at)
    system = as_system(model)
    refuse_delays(system, "dd.equilibrium")
    refuse_touching(system, "dd.equilibrium")
    vectors = read_point(system, guess, inputs, parameters, "guess")
    sought = _sought(system, solve_for)
    for letter, k in sought:
        # What is solved for begins at its guess, or at zero.
        vectors[letter][k] = np.nan_to_num(vectors[letter][k])
    notes = fill_states_and_inputs(system, vectors)
    vectors["z"] = np.nan_to_num(np.where(np.isnan(vectors["z"]), system.start["z"], vectors["z"]))
    held = _hold(system, vectors, fixed)
    unknowns = [(letter, k) for letter in ("x", "z") for k in range(system.sizes[letter]) if (letter, k) not in held]
    unknowns += [entry for entry in sought if entry not in held]
    for k in range(system.sizes["x"]):
        if ("xdot", k) not in held and ("xdot", k) not in sought:
            vectors["xdot"][k] = 0.0
    # A source over time stands still at rest: so do the charges that it holds.
    system = _with_invariants(model_at_rest(model) if isinstance(model, Model) else system)
    labels, switched = labels_of(system, unknowns), set[tuple[float, ...]]()
    while True:
        root, outside, found_by = search(system, vectors, unknowns)
        if not root.solved or len(outside):
            raise steady_motion(system, vectors, unknowns, sought, root) or _failure(system, root, labels, outside)
        scatter(vectors, unknowns, root.values)
        if not switch(system, vectors, switched):
            break
    notes = [*notes, *disagreements(system, vectors)]
    return Equilibrium(as_system(model), vectors, root, labels, notes, found_by)


def _with_invariants(system: System) -> System:
    """The system with what it keeps as further equations, which a point at rest obeys too."""
    return once(system, _all_rows) if system.has_invariants or system.choices else system


def _all_rows(system: System) -> System:
    residual, constraints, origins = _of_every_choice(system)
    return system.changed(
        residual=concatenate([residual, *constraints, *system.invariants.values()]),
        rows=(*system.rows, *origins, *system.invariant_rows),
        invariants={}, invariant_rows=(), choices=(),
    )  # fmt: skip


def _of_every_choice(system: System) -> tuple[ca.SX, list[ca.SX], list[EquationRow]]:
    """The equations in which every state of a choice is integrated, and its constraints beside them.

    With one choice alone a state that it makes dependent need not rest where its constraint is singular.
    """
    residual, p = system.residual, elements(system.symbol("p"))
    places = [system.place(choice.parameter).positions.tolist() for choice in system.choices]
    flags = {k for own in places for k in own}
    none = [ca.SX(0) if k in flags else symbol for k, symbol in enumerate(p)]
    constraints: list[ca.SX] = []
    origins: list[EquationRow] = []
    for choice, own in zip(system.choices, places):
        chosen = {constraint: own[flag] for flag, _, constraint in reversed(choice.entries)}
        for k in chosen.values():
            one = [ca.SX(1) if k == j else symbol for j, symbol in enumerate(none)]
            rows = [row for row in range(residual.numel()) if ca.depends_on(residual[row], p[k])]
            constraints.append(ca.substitute(residual[rows], concatenate(p), concatenate(one)))
            origins += [system.rows[row] for row in rows]
    return ca.densify(ca.substitute(residual, concatenate(p), concatenate(none))), constraints, origins


# -- what is unknown -------------------------------------------------------------------------------------------


def _sought(system: System, names: Sequence[str]) -> list[Entry]:
    """What is solved for beside x and z: inputs, parameters, derivatives (also those that are states themselves)."""
    derivative_of = {state: k for k, state in linked_states(system)}
    entries: list[Entry] = []
    for name in [names] if isinstance(names, str) else names:
        place = system.place(name)
        for letter, k in zip(place.letters, place.positions.tolist()):
            if letter == "z" or (letter == "x" and k not in derivative_of):
                raise InputError(
                    f"{name} is an unknown of the equilibrium already.",
                    because="solve_for= names inputs, parameters and derivatives that are solved for as well.",
                    remedy="leave it out of solve_for",
                )
            entries.append(("xdot", derivative_of[k]) if letter == "x" else (letter, k))
    return list(dict.fromkeys(entries))


def _hold(system: System, vectors: dict[str, np.ndarray], fixed: Mapping[str, object] | Sequence[str]) -> set[Entry]:
    """The entries that stay as they are, with their values written; a held rate is a derivative other than zero."""
    derivative_of = {state: k for k, state in linked_states(system)}
    held: set[Entry] = set()
    for name in [fixed] if isinstance(fixed, str) else fixed:
        place = system.place(name)
        if set(place.letters) & {"u", "p"}:
            argument = "inputs" if "u" in place.letters else "parameters"
            raise InputError(
                f"{name} is not an unknown of the equilibrium.",
                because="fixed= accepts states, algebraic variables and derivatives.",
                remedy=f"{argument}={{{name!r}: ...}}",
            )
        if isinstance(fixed, Mapping):
            put(vectors, place, check_mapping(fixed, "fixed")[name])
        for letter, k in zip(place.letters, place.positions.tolist()):
            vectors[letter][k] = np.nan_to_num(vectors[letter][k])
            held.add((letter, k))
            if letter == "x" and k in derivative_of:
                vectors["xdot"][derivative_of[k]] = vectors["x"][k]
                held.add(("xdot", derivative_of[k]))
    return held


# -- errors ----------------------------------------------------------------------------------------------------


def _failure(system: System, root: Root, labels: list[str], outside: np.ndarray) -> SolverError:
    """What stands in the way, in the model's names."""
    finite = bool(np.all(np.isfinite(root.residual)))
    worst = int(np.argmax(np.abs(root.scaled))) if finite else int(np.flatnonzero(~np.isfinite(root.residual))[0])
    equation, off = system.equation_labels[worst], root.residual[worst]
    iterations = f"{counted(root.iterations, 'iteration')} from the guess"
    if not finite:
        facts = [f"{equation} is {off} at the guess"]
    elif root.solved:
        facts = [
            f"{listed([f'{labels[k]} = {root.values[k]:.6g}' for k in outside])} outside of the bounds",
            iterations,
        ]
    else:
        facts = [f"largest scaled residual {abs(root.scaled[worst]):.3g} in {equation}, which is off by {off:.3g}"]
        facts.append(iterations)
        if np.any(root.step):
            facts[-1] += f"; the last step changes {labels[int(np.argmax(np.abs(root.step)))]} most"
    if root.null.shape[1]:
        facts.append(f"the equations leave undetermined: {listed([labels[k] for k in root.loose()])}")
    because, remedy = _diagnosis(root, equation, worst, finite)
    return SolverError(f"No equilibrium of {system.name!r} was found.", facts, because=because, remedy=remedy)


def _diagnosis(root: Root, equation: str, worst: int, finite: bool) -> tuple[str, str]:
    if not finite:
        return "the equations have no value there.", "guess={...} where every equation can be evaluated"
    if root.solved:
        return "the point found near the guess does not respect the bounds.", "another guess=, or other bounds"
    if worst in root.insensitive:
        return (
            f"no unknown changes {equation} there, so nothing balances it.",
            "other inputs=, or solve_for=[...] with an input or parameter that does",
        )
    if root.converged:
        return (
            "the equations contradict each other near the point reached.",
            "other inputs=, another guess=, or solve_for=[...] with an input or parameter",
        )
    return "the guess is too far, or there is no equilibrium.", "another guess=, for instance tr.at(t) late in a run"


# Switches with a memory at a point of rest: conditions that act at the start act there too.
#
# A switch with hysteresis is open or closed by what it was. At rest it is what its conditions say where they say
# something, and what it was between them. The point is sought again with what they assign until nothing changes.


@remembered
def _acting(system: System) -> tuple[list[int], ca.Function | None]:
    """The events that act at the start, and a function of their guards and of what they assign."""
    acting = [k for k, event in enumerate(system.events) if event.manner.at_start and event.direction]
    if not acting or not system.discrete_count:
        return [], None
    guards, assigned = system.guards[acting], system.assigned[acting, :]
    return acting, ca.Function("switches", system.symbols(), [guards, assigned])


def switch(system: System, vectors: dict[str, np.ndarray], known: set[tuple[float, ...]]) -> bool:
    """Assign what conditions that hold at a point assign; whether the point has to be sought again.

    known: the values that points were sought with; where one comes back, no value agrees with its own point, and the
    search ends with the one at hand, whose values stay.
    """
    if not system.discrete_count:
        return False
    own, said = vectors["p"][-system.discrete_count :], _said(system, vectors)
    known.add(tuple(own.tolist()))
    if tuple(said.tolist()) in known:
        return False
    own[:] = said
    return True


def disagreements(system: System, vectors: dict[str, np.ndarray]) -> list[str]:
    """A sentence for each discrete variable that is not what its conditions say at the point."""
    if not system.discrete_count:
        return []
    own, said = vectors["p"][-system.discrete_count :], _said(system, vectors)
    labels = system.labels["p"][-system.discrete_count :]
    return [
        f"{labels[k]} is {own[k]:g} at this point, where its conditions say {said[k]:g}: none of the values that were "
        "tried agrees with its own point at rest, as in an oscillator that switches for ever."
        for k in np.flatnonzero(own != said)
    ]


def _said(system: System, vectors: dict[str, np.ndarray]) -> np.ndarray:
    """The discrete variables at a point with what the conditions that hold there assign."""
    acting, function = _acting(system)
    before = vectors["p"][-system.discrete_count :]
    said = np.array(before)
    if function is None:
        return said
    guards, assigned = (np.array(found) for found in function(*(vectors[letter] for letter in ARGUMENTS)))
    for row, k in enumerate(acting):
        if guards[row, 0] * system.events[k].direction > 0:
            changed = assigned[row] != before
            said[changed] = assigned[row][changed]
    return said
