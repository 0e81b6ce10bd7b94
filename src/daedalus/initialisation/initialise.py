"""Find a consistent start: values of states, derivatives, algebraic variables and multipliers that obey everything.

Multipliers of redundant constraints are the smallest that give the same forces, as a run shows them. With every row of
G divided by its length, λ̂ counted in these lengths has a part in the null space of Ĝᵀ that gives no force. It is taken
off (J. García de Jalón, M. D. Gutiérrez-López, Multibody System Dynamics 30, 2013).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from daedalus.algebra.rank_decision import STAYED
from daedalus.analysis.structure.dependence.dependent_equations import only_repeats
from daedalus.analysis.structure.jets.consistent_jet import Jet, JetStart
from daedalus.analysis.structure.jets.jet_equations import JetEquations
from daedalus.analysis.structure.jets.jet_search import MassMetric, Search, SearchOutcome
from daedalus.errors import InconsistentStartError, InputError
from daedalus.initialisation.conflicts import explain
from daedalus.initialisation.freedom import Freedom, freedom
from daedalus.initialisation.given_and_guessed import Wanted, brought_along, read_wanted
from daedalus.initialisation.input_values import input_jet, without_expressions
from daedalus.initialisation.mass_metric import search_from
from daedalus.initialisation.start import MovedOnto, Start
from daedalus.initialisation.start_equations import start_equations
from daedalus.initialisation.wording import number
from daedalus.model.mechanics.joint_sides import check_joint_sides
from daedalus.model.model import Model, as_system
from daedalus.model.system.equation_row import level_name
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping, parameter_values
from daedalus.reduction.findings import SmallestMultipliers
from daedalus.reduction.redundancy.constraint_place import MotionPlace, jacobian_at
from daedalus.reduction.redundancy.independent_constraints import redundancy_at_start
from daedalus.reduction.redundancy.redundant_rows import rank_of_rows
from daedalus.reduction.selection.selected_states import without_choice

# States taken from a run are known to its tolerance: up to this share of their size they may move onto the constraints.
OF_A_RUN = 1e-3


def initialise(
    model: Model | System,
    values: object = None,
    fixed: Sequence[str] | None = None,
    free: Sequence[str] | None = None,
    *,
    inputs: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    time: float | None = None,
) -> Start:
    """Compute consistent start values of a model of any index, including its hidden constraints.

    The `start=` of a state or coordinate is given; that of an algebraic variable or multiplier is a guess; without
    `start=` the guess is 0. Given values are never changed. If more is free than the equations determine, the guesses
    change as little as possible (states first, positions before velocities), in nominal values, or in the norm of the
    mass matrix for mechanics.

    Parameters
    ----------
    model: what to start.
    values: given values by name, which override those of the model; `None` frees a component, and `dd.guess(value)`
        frees it near a value. Derivatives are named "x_dot". You can also pass a `Start`, or `tr.at(t)` of a run: its
        states are given, the rest are guesses, and its inputs, parameters and time are used.
    fixed: names whose guesses become given values. free: names whose given values become guesses, or "bodies" for the
        poses of all bodies.
    inputs: values by name: numbers, functions of time, tables, expressions; zero by default. If hidden constraints
        contain derivatives of an input, functions are differentiated; you can also pass "u_dot" by name.
    parameters: values by name over those of the model.
    time: the time of the start, 0 otherwise.

    Raises an InconsistentStartError that names the smallest set of conflicting values, how far off they are and what to
    free, or says that no start was found.

    Example
    -------
    >>> import daedalus as dd, casadi as ca
    >>> m = dd.Model("pendulum")
    >>> p = m.state("p", 2, start=[0.6, -0.8]); v = m.state("v", 2, start=[0.8, 0.6]); force = m.algebraic("force")
    >>> L = m.parameter("L", 1.0)
    >>> m.equation(m.der(p), v); m.equation(m.der(v), ca.vertcat(0, -9.81) + force * p)
    >>> m.equation(ca.sumsqr(p), L**2, name="rod")
    >>> s = dd.initialise(m)
    >>> round(s["force"], 6), s.der("p").tolist(), s.origin["force"]
    (-8.848, [0.8, 0.6], 'computed')
    >>> dd.initialise(m, {"p": [0.9, 0.0]}, free=["v"])
    Traceback (most recent call last):
    daedalus.errors.InconsistentStartError: rod (L = 1) and the given p = (0.9, 0) disagree by 0.1.
      ...
      Try: free=["p[0]"], which becomes 1, or free=["p[1]"], which becomes 0.43589, or parameters={"L": 0.9}
    """
    system = as_system(model)
    own_inputs, own_parameters, own_time = brought_along(system, values)
    written, left = without_expressions(system, {**own_inputs, **check_mapping(inputs, "inputs")})
    # A start does not depend on which states are selected.
    system = without_choice(written)
    p = np.array(parameter_values(system, {**own_parameters, **check_mapping(parameters, "parameters")}))
    moment = _time(own_time if time is None else time)
    wanted = read_wanted(system, values, fixed, free)
    equations = start_equations(system, p)
    notes: list[str] = []
    u = input_jet(system, left, moment, equations.input_order, notes)
    search, given = _search(equations, wanted, moment, p, u)
    outcome = search.run(given)
    doubtful = equations.in_doubt and not _only_redundant(search, outcome)
    if doubtful and equations.deeper is not None and not (outcome.solved and _confirmed(search, outcome)):
        u = input_jet(system, left, moment, equations.deeper.input_order, [])
        search, given = _search(equations.deeper, wanted, moment, p, u)
        outcome = search.run(given)
    moved = None
    if not outcome.solved and wanted.moment:
        outcome, given, moved = _moved_onto_constraints(search, given, outcome)
    if not outcome.solved:
        found = explain(search, given, outcome)
        if isinstance(found, InconsistentStartError):
            raise found
        outcome = found
    return _start(search, given, outcome, [*notes, *([str(moved)] if moved else []), *outcome.notes], written, moved)


def _time(value: object) -> float:
    try:
        time = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        time = float("nan")
    if not np.isfinite(time):
        raise InputError("The time of a start is a number.", f"got {value!r}", remedy="time=0.0")
    return time


def _search(
    equations: JetEquations, wanted: Wanted, time: float, p: np.ndarray, u: np.ndarray
) -> tuple[Search, np.ndarray]:
    """The search from the guesses, and what is given, along the jet."""
    guess, given = (equations.along_jet(values) for values in (wanted.values, wanted.given))
    return search_from(equations, time, p, u, guess), given


def _only_redundant(search: Search, outcome: SearchOutcome) -> bool:
    """Whether the offsets are in doubt only because equations repeat others."""
    eq = search.equations
    assert eq.offsets is not None
    system = eq.system
    y = eq.jet_of(outcome.values)
    size = np.concatenate([system.nominal["x"], system.nominal["z"]])
    u = search.u[: system.sizes["u"]]
    start = JetStart(search.time, search.p, u, y[:2], np.zeros((2, len(size)), dtype=bool), size)
    jet = Jet(search.time, search.p, u, y, np.zeros(1)) if outcome.solved else None
    return only_repeats(eq.array, eq.offsets, start, jet)


def _confirmed(search: Search, outcome: SearchOutcome) -> bool:
    """Whether a start found with offsets in doubt also obeys the equations differentiated more often."""
    deeper = search.equations.deeper
    assert deeper is not None
    values = search.equations.by_letter(outcome.values)
    held = deeper.along_jet({letter: np.ones(len(own), dtype=bool) for letter, own in values.items()})
    u = np.zeros((deeper.input_order + 1) * deeper.system.sizes["u"])
    u[: min(len(u), len(search.u))] = search.u[: len(u)]
    check = Search(deeper, search.time, search.p, u, deeper.along_jet(values), deeper.sizes, MassMetric())
    return check.run(held, thorough=False).solved


def _moved_onto_constraints(
    search: Search, given: np.ndarray, failed: SearchOutcome
) -> tuple[SearchOutcome, np.ndarray, MovedOnto | None]:
    """States of a run lie on the constraints to its tolerance: move them there, and say so."""
    none = np.zeros_like(given)
    outcome = search.run(none)
    change = np.abs(outcome.values - search.guess) / np.maximum(search.sizes, np.abs(search.guess))
    if not outcome.solved or np.any(change[given] > OF_A_RUN):
        return failed, given, None
    names = tuple(search.equations.label(int(k)) for k in np.flatnonzero(given & (change > STAYED)))
    return outcome, none, MovedOnto(names, float(change[given].max(initial=0.0)))


def _start(
    search: Search, given: np.ndarray, outcome: SearchOutcome, notes: list[str], written: System,
    moved: MovedOnto | None,
) -> Start:  # fmt: skip
    """The result, with the origin of every value; its vectors are those of the system as written."""
    eq, values = search.equations, outcome.values
    system = eq.system
    found = freedom(search, values, given)
    words = _origins(search, given, values, found)
    vectors = {"t": np.array([search.time]), "u": search.u[: system.sizes["u"]], "p": search.p}
    vectors |= eq.by_letter(values)
    origin = {letter: [words[k] for k in places] for letter, places in eq.places.items()}
    residual, _ = search.residual(values)
    left: dict[str, float] = {}
    for row, value in zip(eq.rows, residual):
        left[row.name] = float(value) if abs(value) >= abs(left.get(row.name, 0.0)) else left[row.name]
    if found.undetermined or found.movable is None:
        vectors["z"], told = with_smallest_multipliers(search, given, vectors)
        notes = [*notes, *([told] if told else [])]
    notes = [*notes, *_outside_bounds(system, vectors)]
    states = dict(zip(system.labels["x"], vectors["x"].tolist()))
    check_joint_sides(written, search.time, states, vectors["u"], search.p)
    return Start(
        written,
        vectors,
        origin,
        left,
        found.directions,
        found.undetermined,
        outcome.iterations,
        list(dict.fromkeys(notes)),
        closure_at_guess(search),
        moved,
    )


def _origins(search: Search, given: np.ndarray, values: np.ndarray, found: Freedom) -> list[str]:
    """A guess that stayed where it could have moved is a guess; whatever else was not given is computed."""
    stayed = np.abs(values - search.guess) <= STAYED * np.maximum(search.sizes, np.abs(search.guess))
    movable = found.movable
    if movable is None:
        # Too large for a null space: stages that hold as many equations as unknowns determine them.
        eq = search.equations
        stages = {int(k) for k in eq.stage}
        open_ = {k for k in stages if np.sum((eq.stage == k) & ~given) > np.sum(eq.row_stage == k)}
        movable = np.array([int(k) in open_ for k in eq.stage])
    return ["given" if g else "guessed" if s and m else "computed" for g, s, m in zip(given, stayed, movable)]


def _outside_bounds(system: System, vectors: Mapping[str, np.ndarray]) -> list[str]:
    """Notes on values that leave the bounds they were declared with."""
    notes = []
    for letter, kind in (("x", "state"), ("z", "algebraic")):
        for variable in system.of_kind(kind):
            for k, place in enumerate(system.places[variable.name].positions):
                value, low, high = vectors[letter][place], variable.lower[k], variable.upper[k]
                if not low <= value <= high:
                    where = f"below its lower bound {low:g}" if value < low else f"above its upper bound {high:g}"
                    notes.append(f"{variable.label(k)} = {number(value)} lies {where}")
    return notes


# How far joints and constraints are from holding at the guess, before anything is moved.


def closure_at_guess(search: Search) -> dict[str, float]:
    """The length of what the guess leaves of every written row between states alone, by the name of its constraint.

    These are joints, holonomic and velocity constraints, and invariants such as the unit length of a quaternion. A
    joint counts as one: the distance of a hinge is that of its two points.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("pendulum")
    >>> bob = m.body("bob", 2.0, 0.1, "planar", position=[0.3, -0.4], rotation=0.0)
    >>> hinge = m.joint("hinge", "revolute", dd.ground, bob, at_b=[0.0, 1.0])
    >>> s = dd.initialise(m, free=["bob.position", "bob.angle"])
    >>> {name: round(gap, 6) for name, gap in s.closure.items()}, s.largest_residual < 1e-9
    ({'hinge': 0.67082}, True)
    """
    eq, n = search.equations, search.equations.system.sizes["x"]
    residual, _ = search.residual(search.guess)
    gaps: dict[str, float] = {}
    for row, value in enumerate(residual):
        own = [eq.unknowns[k] for k in eq.unknowns_in(row)]
        if eq.rows[row].times or not own or any(order or j >= n for j, order in own):
            continue
        origin = eq.rows[row].origin
        name = level_name(origin.source.equation, origin.times)
        gaps[name] = float(np.hypot(gaps.get(name, 0.0), value))
    return gaps


def with_smallest_multipliers(
    search: Search, given: np.ndarray, vectors: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, str | None]:
    """z with the smallest multipliers, and a note; z as it is where none are redundant, or one was given or guessed.

    Example
    -------
    >>> import casadi as ca, daedalus as dd
    >>> m = dd.Model("rod twice"); q = m.coordinate("q", 2, start=[1, 0], rate=[0, 2])
    >>> m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    >>> _ = m.constraint("rod", q[0]**2 + q[1]**2 - 1); _ = m.constraint("again", 2 * (q[0]**2 + q[1]**2 - 1))
    >>> s = dd.initialise(m)
    >>> round(float(s["rod"]), 6), round(float(s["again"]), 6)
    (-1.0, -0.5)
    """
    equations = search.equations
    system: System = equations.system
    redundancy = redundancy_at_start(system)
    if redundancy is None:
        return vectors["z"], None
    own = redundancy.first.involved
    places = np.array([system.labels["z"].index(redundancy.names[k]) for k in own])
    entries = np.asarray(equations.places["z"])[places]
    if np.any(given[entries]) or np.any(search.guess[entries]):
        return vectors["z"], None
    place = MotionPlace(search.time, vectors["x"], vectors["u"], vectors["p"])
    lengths = np.linalg.norm(jacobian_at(redundancy.moving, place)[own], axis=1)
    lengths = np.where(lengths > 0, lengths, 1.0)
    matrix, rank = redundancy.directions(place)[own], len(own) - len(redundancy.first.dependent)
    if rank_of_rows(matrix) != rank:  # other rows depend on each other here than at the model's own start
        return vectors["z"], None
    acting = np.linalg.svd(matrix)[0][:, :rank]
    z = np.array(vectors["z"], dtype=float)
    z[places] = acting @ (acting.T @ (lengths * z[places])) / lengths
    return z, str(SmallestMultipliers(tuple(redundancy.rows[k] for k in own)))
