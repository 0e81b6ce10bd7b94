"""Name the given values that contradict the equations: as few as possible, how far off they are, and what helps.

A set of given values is in conflict when the equations cannot be solved with it, and minimal when freeing any one of
them makes them solvable: found by leaving out one after the other (the deletion filter of J. W. Chinneck and E. W.
Dravnieks, ORSA Journal on Computing 3, 1991). Every remedy that is told was tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from daedalus.algebra.damped_newton import SOLVED
from daedalus.analysis.structure.jets.jet_search import Search, SearchOutcome
from daedalus.deadline import poll
from daedalus.errors import InconsistentStartError, Way
from daedalus.initialisation.given_and_guessed import BODIES, body_poses
from daedalus.initialisation.wording import distances_in_words, number, values_in_words
from daedalus.model.names import counted, listed, split_index

# With more candidates than this the filter would take too long: all of them are named.
MOST_CANDIDATES = 40
# A row or a value counts in a conflict when it has more than this share of the largest residual or change.
COUNTED_FROM_SHARE = 1e-3
MOST_CONFLICTS = 6
MOST_REMEDIES = 3
# Letters of a first line; how the values begin that are told behind a shorter one; conflicts that are told one by one.
LONGEST_HEADLINE, GIVEN, MOST_ALSO = 110, "given: ", 4
# Given values that would have to move by less than this share of their size fit.
FITS = 1e-11
# A remedy that moves given values by less than this share, and others by more than its inverse, is none.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True, eq=False)
class Conflict:
    """Given values (places in the jet) that no solution has, the rows that say so, and the nearest values that fit."""

    given: list[int]
    rows: list[int]
    nearest: dict[int, float]


def explain(search: Search, given: np.ndarray, failed: SearchOutcome) -> InconsistentStartError | SearchOutcome:
    """The error for a search that failed: a conflict of given values, or no solution near the guess at all.

    Given values that would have to move by rounding only are no conflict: then the outcome with them moved is returned.
    """
    if failed.stage is None:
        raise ValueError("nothing to explain: the search arrived")
    none = np.zeros_like(given)
    if not np.any(given):
        return _nothing_found(search, given, failed)
    free = search.run(none, upto=failed.stage)
    if not free.solved or _runs_away(search, given, free):
        return _nothing_found(search, given, failed)
    conflicts: list[Conflict] = []
    freed: list[int] = []
    held, outcome = given.copy(), failed
    while not outcome.solved and len(conflicts) < MOST_CONFLICTS and np.any(held):
        conflict = _conflict(search, held, outcome)
        if not conflict.given:
            break
        conflicts.append(conflict)
        freed.append(_choice(search, held, outcome, conflict))
        held[freed[-1]] = False
        outcome = search.run(held, thorough=False)
    if outcome.solved and freed:
        moved = np.abs(outcome.values - search.guess) / np.maximum(search.sizes, np.abs(search.guess))
        if np.all(moved[freed] <= FITS):
            return outcome
    if not conflicts:  # without all that is given the search arrives, but not at once: no value of it is to blame
        return _nothing_found(search, none, failed)
    return _contradiction(search, given, conflicts, freed if outcome.solved else [])


def _runs_away(search: Search, given: np.ndarray, free: SearchOutcome) -> bool:
    """Whether given values hardly move and others grow beyond all bounds: x = 1e-10 for x z = 1 is not advice."""
    change = np.abs(free.values - search.guess) / np.maximum(search.sizes, np.abs(search.guess))
    return bool(change[given].max() < NEGLIGIBLE and change[~given].max(initial=0.0) > 1 / NEGLIGIBLE)


# -- finding ---------------------------------------------------------------------------------------------------


def _conflict(search: Search, given: np.ndarray, failed: SearchOutcome) -> Conflict:
    """The minimal conflict behind a failure."""
    upto = failed.stage

    def impossible(chosen: list[int]) -> SearchOutcome | None:
        mask = np.zeros_like(given)
        mask[chosen] = True
        outcome = search.run(mask, upto=upto, thorough=False)
        return None if outcome.solved else outcome

    left = np.nan_to_num(np.abs(failed.scaled), nan=1.0)
    rows = np.flatnonzero(left > COUNTED_FROM_SHARE * left.max())
    inside = sorted({int(k) for row in rows for k in search.equations.unknowns_in(int(row)) if given[k]})
    candidates, proof = inside, impossible(inside) if inside else None
    if proof is None:
        candidates, proof = [int(k) for k in np.flatnonzero(given & (search.equations.stage <= (upto or 0)))], failed
    if len(candidates) <= MOST_CANDIDATES:
        relaxed = search.run(np.zeros_like(given), upto=upto, thorough=False).values
        change = np.abs(relaxed - search.guess) / search.sizes
        # Values that need not move anyway are left out first, several at once where the rest is impossible, too.
        waiting = [sorted(candidates, key=lambda k: float(change[k]))]
        while waiting:
            poll("a consistent start")
            group = waiting.pop()
            smaller = [c for c in candidates if c not in group]
            found = impossible(smaller) if smaller or len(group) == 1 else None
            if found is not None:
                candidates, proof = smaller, found
            elif len(group) > 1:
                half = len(group) // 2
                waiting += [group[half:], group[:half]]
    left = np.nan_to_num(np.abs(proof.scaled), nan=1.0)
    telling = _telling(search, given, [int(r) for r in np.flatnonzero(left > COUNTED_FROM_SHARE * left.max())])
    return Conflict(candidates, telling, _nearest(search, given, candidates, upto))


def _telling(search: Search, given: np.ndarray, rows: list[int]) -> list[int]:
    """Rows without those that only say what a derivative is, unless nothing else is left."""
    eq = search.equations

    def defines(row: int) -> bool:
        return eq.rows[row].times == 0 and any(eq.unknowns[k][1] and not given[k] for k in eq.unknowns_in(row))

    return [row for row in rows if not defines(row)] or rows


def _nearest(search: Search, given: np.ndarray, conflict: list[int], upto: int | None) -> dict[int, float]:
    """The nearest values that fit: of those in conflict if that suffices, of all given ones otherwise."""
    mask = given.copy()
    mask[conflict] = False
    for held in (mask, np.zeros_like(given)):
        outcome = search.run(held, upto=upto, thorough=False)
        if outcome.solved:
            freed = np.flatnonzero(given & ~held)
            moved = np.abs(outcome.values - search.guess) > 1e-9 * search.sizes
            return {int(k): float(outcome.values[k]) for k in freed if moved[k] or k in conflict}
    return {}


def _choice(search: Search, given: np.ndarray, failed: SearchOutcome, conflict: Conflict) -> int:
    """Which value of a conflict to free: the one that then changes least among those that help."""
    helps = _without_one(search, given, conflict, failed.stage)
    if helps:
        return min(helps)[1]
    moved = {k: abs(conflict.nearest.get(k, search.guess[k]) - search.guess[k]) for k in conflict.given}
    return max(moved, key=lambda k: moved[k])


def _remedies(search: Search, given: np.ndarray, conflict: Conflict) -> list[tuple[str, float]]:
    """Single values that the whole start is possible without, with what they become, the least change first."""
    helps = sorted((first, search.equations.label(k), v) for first, k, v in _without_one(search, given, conflict))
    return [(label, value) for _, label, value in helps[:MOST_REMEDIES]]


def _without_one(
    search: Search, given: np.ndarray, conflict: Conflict, upto: int | None = None
) -> list[tuple[tuple[int, float], int, float]]:
    """The values of a conflict that help when they are freed alone: their preference, which, and what they become."""
    found = []
    for k in conflict.given[:MOST_CANDIDATES]:
        poll("a consistent start")
        held = given.copy()
        held[k] = False
        outcome = search.run(held, upto=upto, thorough=False)
        if outcome.solved:
            found.append((_preference(search, outcome, k), k, float(outcome.values[k])))
    return found


def _preference(search: Search, outcome: SearchOutcome, k: int) -> tuple[int, float]:
    """What to free first: velocities before positions, then what changes least."""
    return -int(search.equations.stage[k]), float(abs(outcome.values[k] - search.guess[k]) / search.sizes[k])


def _fitting_parameters(search: Search, given: np.ndarray, conflict: Conflict) -> dict[str, float]:
    """Single parameters in the rows with the value that makes the whole start possible; zero is not advice."""
    eq = search.equations
    fits = {}
    for k in sorted({k for row in conflict.rows for k in eq.parameters_in(row)})[:MOST_REMEDIES]:
        value = _fitted(search, conflict.rows, k)
        if value is None or abs(value) <= 1e-5 * abs(search.p[k]):
            continue
        p = search.p.copy()
        p[k] = value
        if replace(search, p=p).run(given, thorough=False).solved:
            fits[eq.system.labels["p"][k]] = value
    return fits


def _fitted(search: Search, rows: list[int], k: int) -> float | None:
    """The value of one parameter at which rows vanish at the given values, by the secant method."""
    size = max(abs(search.p[k]), 1e-3)

    def left(value: float) -> np.ndarray:
        p = search.p.copy()
        p[k] = value
        return replace(search, p=p).residual(search.guess)[1][rows]

    old, new = float(search.p[k]), float(search.p[k]) + 0.01 * size
    before = left(old)
    for _ in range(50):
        poll("a consistent start")
        now = left(new)
        if not np.all(np.isfinite(now)):
            return None
        if np.abs(now).max() < 1e-14:
            return new
        slope = (now - before) / (new - old) if new != old else np.zeros_like(now)
        if slope @ slope == 0:
            return None
        old, before, new = new, now, new - float(slope @ now) / float(slope @ slope)
    return None


# -- telling ---------------------------------------------------------------------------------------------------


def _contradiction(
    search: Search, given: np.ndarray, conflicts: list[Conflict], together: list[int]
) -> InconsistentStartError:
    first = conflicts[0]
    eq = search.equations
    moved = _moving_bodies(search, given, conflicts)
    headline, facts = _headline(search, first)
    for row in first.rows[:3]:
        known = all(given[k] for k in eq.unknowns_in(row))
        left = search.residual(search.guess)
        if known and abs(left[1][row]) <= SOLVED:
            continue
        told = f" is left at {number(left[0][row], 4)}" if known else ""
        facts.append(f"{eq.rows[row].name}: {eq.text(row)}{told}")
    if first.nearest:
        facts.append(f"the nearest values that fit: {_values(search, first.nearest)}")
    if moved is not None:
        return InconsistentStartError(
            "The bodies do not fit together at the given poses.",
            facts,
            because="given values are not changed, and they cannot all satisfy the joints.",
            ways=(Way(f'free="{BODIES}"', f", which moves them by up to {number(moved, 3)}", frees=True),),
        )
    # Further conflicts of a long one are told by their names.
    tell = _short if facts and facts[0].startswith(GIVEN) else _sentence
    facts += [f"also {tell(search, other)}" for other in conflicts[1:MOST_ALSO]]
    facts += [f"… and {counted(len(conflicts) - MOST_ALSO, 'conflict')} more"] if len(conflicts) > MOST_ALSO else []
    return InconsistentStartError(
        headline,
        facts,
        because="given values are not changed, and no values of the others satisfy the equations.",
        ways=_ways(search, given, conflicts, together),
    )


def _moving_bodies(search: Search, given: np.ndarray, conflicts: list[Conflict]) -> float | None:
    """How far bodies move if their poses are guesses, where several of them conflict and that helps; else None."""
    eq = search.equations
    poses = set(body_poses(eq.system))
    own = [int(k) for k in np.flatnonzero(given) if split_index(eq.label(int(k)))[0] in poses]
    involved = {k for conflict in conflicts for k in conflict.given} & set(own)
    if len(conflicts) < 2 or not involved:
        return None
    held = given.copy()
    held[own] = False
    outcome = search.run(held, thorough=False)
    return float(np.abs(outcome.values - search.guess)[own].max()) if outcome.solved else None


def _headline(search: Search, conflict: Conflict) -> tuple[str, list[str]]:
    """What is wrong in one short line; where values and parameters make it long, they are the first facts."""
    whole = _sentence(search, conflict)
    if len(whole) <= LONGEST_HEADLINE:
        return whole + ".", []
    eq = search.equations
    values = {eq.label(k): float(search.guess[k]) for k in conflict.given[:12]}
    facts = [f"{GIVEN}{values_in_words(eq.system, values)}"]
    parameters = {eq.system.labels["p"][k]: float(search.p[k]) for row in conflict.rows for k in eq.parameters_in(row)}
    if 0 < len(parameters) <= 8:
        facts.append(f"parameters in the equations: {values_in_words(eq.system, parameters)}")
    return _short(search, conflict) + ".", facts


def _short(search: Search, conflict: Conflict) -> str:
    """`arm and the given angle[0] disagree by 0.1`."""
    eq = search.equations
    rows = [" ".join(w for w in (eq.rows[r].label, eq.rows[r].times_in_words) if w) for r in conflict.rows]
    given = [eq.label(k) for k in conflict.given]
    return f"{_by_stem(rows)} and the given {_by_stem(given)} disagree{_off(search, conflict)}"


def _by_stem(labels: list[str]) -> str:
    """Labels in a sentence; several elements of one name are told by the name."""
    stems = [split_index(label)[0] for label in labels]
    return listed(dict.fromkeys(stem if stems.count(stem) > 1 else label for stem, label in zip(stems, labels)), 4)


def _off(search: Search, conflict: Conflict) -> str:
    """By how much the given values are off the nearest that fit."""
    off = {k: abs(v - search.guess[k]) for k, v in conflict.nearest.items()}
    off = {k: v for k, v in off.items() if v > COUNTED_FROM_SHARE * max(off.values())}
    label = search.equations.label
    return f" by {distances_in_words({label(k): v for k, v in off.items()})}" if off else ""


def _sentence(search: Search, conflict: Conflict) -> str:
    """`rod (L = 1) and the given p = (0.9, 0) disagree by 0.1`."""
    eq = search.equations
    names: list[str] = []
    for row in conflict.rows[:4]:
        words = [eq.rows[row].label, eq.rows[row].times_in_words]
        own = {eq.system.labels["p"][k]: float(search.p[k]) for k in eq.parameters_in(row)}
        told = f"({values_in_words(eq.system, own)})" if 0 < len(own) <= 4 else ""
        name = " ".join(word for word in words if word)
        # Equations with the same parameters tell them once, behind the last of them.
        if names and told and names[-1].endswith(f" {told}"):
            names[-1] = names[-1].removesuffix(f" {told}")
        names.append(f"{name} {told}".strip())
    values = {eq.label(k): float(search.guess[k]) for k in conflict.given[:12]}
    given = values_in_words(eq.system, values)
    return f"{', '.join(names)} and the given {given} disagree{_off(search, conflict)}"


def _ways(search: Search, given: np.ndarray, conflicts: list[Conflict], together: list[int]) -> tuple[Way, ...]:
    eq = search.equations
    ways = []
    if len(conflicts) == 1:
        ways = [
            Way(f'free=["{label}"]', f", which becomes {number(value)}", frees=True)
            for label, value in _remedies(search, given, conflicts[0])
        ]
    if not ways and together:
        names = ", ".join(f'"{eq.label(k)}"' for k in together)
        ways = [Way(f"free=[{names}]", frees=True)]
    if len(conflicts) == 1:
        fits = _fitting_parameters(search, given, conflicts[0])
        ways += [Way(f'parameters={{"{name}": {number(value)}}}') for name, value in fits.items()]
    if not ways:
        ways = [Way(f"other values of {listed([eq.label(k) for k in conflicts[0].given])}")]
    return tuple(ways)


def _values(search: Search, values: Mapping[int, float]) -> str:
    return values_in_words(search.equations.system, {search.equations.label(k): v for k, v in values.items()})


def _nothing_found(search: Search, given: np.ndarray, failed: SearchOutcome) -> InconsistentStartError:
    """Even without any given value the search did not arrive."""
    eq = search.equations
    left = np.abs(failed.scaled)
    if not failed.finite or not np.all(np.isfinite(left)):
        bad = np.flatnonzero(~np.isfinite(search.residual(search.guess)[0]))
        inside = sorted({int(k) for row in bad for k in eq.unknowns_in(int(row))})
        example = next((k for k in inside if not given[k]), inside[0] if inside else 0)
        return InconsistentStartError(
            "The equations have no value at the guess.",
            [
                *(f"{eq.rows[int(r)].name}: {eq.text(int(r))}" for r in bad[:3]),
                f"at {_values(search, {k: float(search.guess[k]) for k in inside[:8]})}",
            ],
            because="something like a division by zero or a root of a negative number occurs in them.",
            remedy=f'another guess: {{"{eq.label(example)}": 1.0}} with free=["{eq.label(example)}"]',
        )
    worst = np.argsort(-left, kind="stable")[:3]
    rows = [int(r) for r in worst if left[r] > COUNTED_FROM_SHARE * left[worst[0]]]
    facts = [
        f"{eq.rows[r].name}: {eq.text(r)} is left at {number(search.residual(failed.values)[0][r], 4)}" for r in rows
    ]
    loose = sorted({int(k) for r in rows for k in eq.unknowns_in(r) if not given[k]})
    if failed.insensitive:
        dead = [eq.rows[r].label for r in failed.insensitive if r in rows]
        if dead:
            facts.append(f"no unknown changes {listed(dead)} there: the slopes vanish")
    facts.append(f"{failed.iterations} iterations of Newton's method, a homotopy, and guesses around the first")
    if not loose:
        return InconsistentStartError(
            "The equations contradict each other.",
            facts,
            because="they contain nothing that can be chosen.",
            remedy="dd.analyse(m), or other parameters and inputs",
        )
    name = eq.label(loose[0])
    return InconsistentStartError(
        "No consistent start was found.",
        facts,
        because="the equations have no solution, or the guess is too far from it.",
        remedy=f'better guesses of {listed([eq.label(k) for k in loose])}: {{"{name}": ...}} with free=["{name}"]',
    )
