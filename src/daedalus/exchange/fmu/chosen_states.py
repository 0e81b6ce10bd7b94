"""Models with a choice of states as FMUs: continuous states are the independent ones, constraints give the others.

With s for the chosen states in their usual sizes, W for the matrix that takes them out of all states x, and f for the
rates, s' = W f, and h(t, x) = 0 with W x = s determine x. Which states of a level are chosen stands in a discrete
variable S of zeros and ones, one row a chosen state. T with A T = 0 and S T = 1, A = ∂h/∂x in usual sizes, says how
fast all states change with the chosen ones. Where an entry exceeds the bound of `selection/dominant_columns.py`, a
state event exchanges states, the largest entry first: the state of its row takes the place of that of its column, and
T turns by a pivot (D. E. Knuth, Linear and Multilinear Algebra 17, 1985).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedalus.errors import DaedalusError, InputError
from daedalus.exchange.fmu.resets_on_constraints import consistent_resets
from daedalus.initialisation.initialise import initialise
from daedalus.model.expressions import concatenate, elements
from daedalus.model.model import Model, as_system
from daedalus.model.names import listed
from daedalus.model.system.equation_row import EquationRow, Source
from daedalus.model.system.system import System
from daedalus.model.variables import Event, Manner, Variable, make_variable
from daedalus.reduction.forms.explicit_form import ExplicitForm, find_explicit_form
from daedalus.reduction.forms.no_form import NoForm
from daedalus.reduction.forms.orthogonal_solve import solve_orthogonal
from daedalus.reduction.selection.dominant_columns import BOUND, GAIN
from daedalus.reduction.selection.selected_states import SelectedStates, selected_states

STATE, CHOICE, EVENT = "selected", "selection", "another_selection"


@dataclass(frozen=True, eq=False)
class Choice:
    """States that are chosen from, by levels; A in usual sizes; S as symbols and at the start; names in the FMU."""

    levels: np.ndarray
    A: ca.SX
    S: ca.SX
    first: np.ndarray
    states: tuple[str, ...]
    discrete: str
    event: str

    @property
    def tangent(self) -> ca.SX:
        """T: how fast all states of a level change with the chosen ones."""
        free = self.S.shape[0]
        right = ca.vertcat(ca.SX.zeros(self.A.shape[0], free), ca.SX.eye(free))
        return solve_orthogonal(ca.densify(ca.vertcat(self.A, self.S)), right)

    @property
    def guard(self) -> ca.SX:
        """Negative where a state moves too fast with a chosen one."""
        largest = _largest(self.tangent)
        return (BOUND - largest) / (BOUND + largest)

    def exchanged(self) -> ca.SX:
        """S with states exchanged while that makes the choice better, as often as it has independent states at most."""
        S, T = ca.SX(self.S), self.tangent
        free, size = S.shape
        for _ in range(min(free, size - free)):
            largest = _largest(T)
            found, column, row = ca.SX(0), ca.SX.zeros(free), ca.SX.zeros(size)
            for k in range(free):
                for a in range(size):
                    # The first of the largest entries, where there is something to gain.
                    here = ca.logic_and(ca.logic_and(ca.fabs(T[a, k]) >= largest, largest > GAIN), found == 0)
                    found, column[k], row[a] = found + here, column[k] + here, row[a] + here
            S = S + ca.mtimes(column, row.T - ca.mtimes(column.T, S))
            # T Sᵀ of the new choice is one again: its pivot column is divided, and taken off the others.
            pivot = ca.mtimes(T, column)
            entries = ca.mtimes(row.T, T)
            by = ca.if_else(found > 0, ca.mtimes(entries, column), 1)
            T = T - ca.mtimes(pivot / by, entries - column.T)
        return S


def _largest(T: ca.SX) -> ca.SX:
    largest = ca.SX(0)
    for entry in elements(ca.vec(T)):
        largest = ca.fmax(largest, ca.fabs(entry))
    return largest


def with_chosen_states(model: Model | System, base: System) -> System | None:
    """The model in its independent states; None where it has no choice of states.

    base: the same with all states, and its constraints as invariants.
    """
    written = as_system(model)
    if not written.choices:
        return None
    form = find_explicit_form(base)
    if isinstance(form, NoForm) or any(base.labels[k] != written.labels[k] for k in ("x", "p")):
        raise _refused(base, "x' and z have no formulas")
    modes = [event.name for event in base.events if event.manner.contact is not None]
    if modes:
        raise _refused(base, f"modes of friction are formulas of all states: {listed(modes)}")
    own = selected_states(written)
    return _rewritten(base, form, own, _choices(base, own))


def notes_of_choice(base: System, system: System) -> list[str]:
    """What is to be known of a model in its chosen states: their names, and what nothing keeps any more."""
    count, names = base.sizes["x"], [v.name for v in system.of_kind("state")]
    exchanges = any(event.name.startswith(EVENT) for event in system.events)
    notes = [f"{system.sizes['x']} of {count} states are continuous states of the FMU: {listed(names)}"]
    if exchanges:
        notes.append("a state event exchanges chosen states where others are better; their values change there")
    return notes


def _choices(base: System, own: SelectedStates) -> list[Choice]:
    """The choices, with the states chosen that are best at the start."""
    p = own.chosen(0.0, _at_start(base), np.zeros(base.sizes["u"]), base.start["p"])
    taken = {*base.places, *base.outputs} - {choice.parameter for choice in own.system.choices}
    taken |= {event.name for event in base.events}
    choices = []
    for k, (group, kept) in enumerate(zip(own.groups, own.constraints)):
        places = group.states[0].tolist()
        A = ca.jacobian(kept[0], base.symbol("x")[places]) @ ca.diag(ca.DM(base.nominal["x"][places]))
        first = np.delete(np.eye(len(places)), group.dependent(p), axis=0)
        tail = f"_{k + 1}" if len(own.groups) > 1 else ""
        states = [_free(STATE + "_rate" * level + tail, taken) for level in range(len(group.states))]
        S = ca.SX.sym("S", *first.shape)
        choices.append(Choice(group.states, A, S, first, tuple(states), _free(CHOICE + tail, taken), EVENT + tail))
    return choices


def _at_start(base: System) -> np.ndarray:
    """All states at a consistent start; as they are written where there is none without other values."""
    try:
        found = initialise(base, inputs={v.name: np.zeros(v.shape) for v in base.of_kind("input")})
    except (DaedalusError, TypeError, ValueError):
        return np.array(base.default_start)
    return np.array([float(found[label]) for label in base.labels["x"]])


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_of_fmu"
    taken.add(name)
    return name


def _rewritten(base: System, form: ExplicitForm, own: SelectedStates, choices: Sequence[Choice]) -> System:
    x, n = base.symbol("x"), base.sizes["x"]
    chosen = {int(k) for choice in choices for k in choice.levels.ravel()}
    # Elements of one variable stay together: they are algebraic where one of them is chosen from.
    tied = [v for v in base.of_kind("state") if chosen & set(base.places[v.name].positions.tolist())]
    plain = [v for v in base.of_kind("state") if v not in tied]
    at_tied, at_plain = (np.array([k for v in part for k in base.places[v.name].positions], dtype=int).tolist()
                         for part in (tied, plain))  # fmt: skip
    left = [k for k in at_tied if k not in chosen]
    moving = [choice for choice in choices if choice.S.numel()]

    S, staying = [choice.S for choice in moving], [*at_plain, *left]
    W = _taken_out(base, staying, moving, S)
    dropped = {choice.parameter for choice in own.system.choices}
    parameters = [v for v in base.of_kind("parameter") if v.name not in dropped]
    discretes = base.of_kind("discrete")
    kept = [int(k) for v in (*parameters, *discretes) for k in base.places[v.name].positions]
    begin = _at_start(base)
    states = [*plain, *_new_states(base, begin, left, moving)]
    modes = [make_variable(c.discrete, "discrete", c.S.shape, start=c.first) for c in moving]

    count, size = W.shape[0], len(at_tied)
    s, z, p = ca.SX.sym("x", count), ca.SX.sym("z", size + base.sizes["z"]), ca.SX.sym("p", len(kept))
    whole_x, whole_p = ca.SX.zeros(n), ca.SX(ca.DM(base.start["p"]))
    whole_x[at_plain], whole_x[at_tied], whole_p[kept] = s[: len(at_plain)], z[:size], p
    old = [base.symbol("x"), base.symbol("z"), base.symbol("p")]
    new = [whole_x, z[size:], whole_p]

    def put(expression: ca.SX) -> ca.SX:
        return ca.densify(ca.substitute([form.applied(base, expression)], old, new)[0])

    xdot = ca.SX.sym("xdot", count)
    follows = put(W @ x)[len(at_plain) :]
    kept_zero = put(concatenate(row for levels in own.constraints for row in levels))
    algebraic = put(base.symbol("z"))
    residual = ca.vertcat(xdot - put(W @ form.xdot), kept_zero, follows - s[len(at_plain) :], z[size:] - algebraic)
    rows = [EquationRow(f"equation {k + 1}", Source(f"equation {k + 1}")) for k in range(residual.numel())]

    happened = consistent_resets(base, form)
    resets = [(s + put(W @ (happened[k, :].T - x))).T for k in range(len(base.events))]
    exchanged = [[c.exchanged() if j == k else each for j, each in enumerate(S)] for k, c in enumerate(moving)]
    resets += [put(_taken_out(base, staying, moving, after) @ x).T for after in exchanged]
    assigned = _assigned(base, S, exchanged)
    exchanges = [Event(c.event, -1, False, (*c.states, c.discrete), manner=Manner(at_start=True)) for c in moving]

    return base.changed(
        variables=[
            *states, *(_algebraic(base, v, begin) for v in tied), *base.of_kind("algebraic"),
            *base.of_kind("input"), *parameters, *discretes, *modes,
        ],
        orders={v.name: (1,) * v.size for v in states},
        symbols={"t": base.symbol("t"), "xdot": xdot, "x": s, "z": z, "u": base.symbol("u"),
                 "p": ca.vertcat(p, *map(ca.vec, S))},
        residual=ca.densify(residual), rows=rows, events=[*base.events, *exchanges],
        guards=put(concatenate([base.guards[k] for k in range(len(base.events))] + [c.guard for c in moving])),
        resets=ca.vertcat(ca.SX(0, count), *resets), assigned=put(ca.vertcat(*assigned)) if assigned else None,
        outputs={name: put(value) for name, value in base.outputs.items()},
        aliases={name: own for name, own in base.aliases.items() if "xdot" not in base.place(own).letters},
        choices=(), invariants={}, invariant_rows=(), watched={}, watched_rows=(),
    )  # fmt: skip


def _taken_out(base: System, staying: Sequence[int], moving: Sequence[Choice], by: Sequence[ca.SX]) -> ca.SX:
    """W with these S; staying: the states that are not chosen from."""
    n = base.sizes["x"]
    rows = [ca.SX.eye(n)[list(staying), :]]
    for choice, S in zip(moving, by):
        for level in choice.levels:
            part = ca.SX.zeros(S.shape[0], n)
            part[:, level.tolist()] = S @ ca.diag(ca.DM(1 / base.nominal["x"][level]))
            rows.append(part)
    return ca.vertcat(*rows)


def _new_states(base: System, begin: np.ndarray, left: Sequence[int], moving: Sequence[Choice]) -> list[Variable]:
    """The states in the place of those that are chosen from, with their start."""
    found = [make_variable(f"{STATE}({base.labels['x'][k]})", "state", (), start=begin[k]) for k in left]
    for choice in moving:
        for name, level in zip(choice.states, choice.levels):
            values = choice.first @ (begin[level] / base.nominal["x"][level])
            found.append(make_variable(name, "state", values.shape, start=values))
    return found


def _assigned(base: System, S: Sequence[ca.SX], exchanged: Sequence[Sequence[ca.SX]]) -> list[ca.SX]:
    """What discrete variables become at each event, the S among them, and at each exchange."""
    assigned = [ca.horzcat(base.assigned[k, :], *(ca.vec(each).T for each in S)) for k in range(len(base.events))]
    own = base.symbol("p")[base.sizes["p"] - base.discrete_count :]
    return assigned + [ca.horzcat(own.T, *(ca.vec(each).T for each in after)) for after in exchanged]


def _algebraic(base: System, variable: Variable, begin: np.ndarray) -> Variable:
    """A state as an unknown of the constraints, which begins where it does."""
    values = tuple(begin[base.places[variable.name].positions].tolist())
    return replace(variable, kind="algebraic", start=values, rate=(), guess=())


def _refused(base: System, fact: str) -> InputError:
    return InputError(
        f"The model {base.name!r} cannot be an FMU with a choice of states.",
        fact,
        because="the states that are not chosen are solved from the constraints inside, and rates are formulas of all.",
        remedy='dd.reduce(m), or dd.reduce(m, stabilise="baumgarte")',
    )
