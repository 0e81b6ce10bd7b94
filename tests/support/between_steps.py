"""How far values between the steps of a run are off, by a much finer run, in tolerances."""

from functools import lru_cache

import numpy as np

import daedalus as dd
from daedalus import catalogue

# The finer run: its rows are compared, so that its own dense output does not count.
FINE_RTOL, FINE_ATOL = 1e-10, 1e-13
MOST_TIMES, MOST_STEPS = 200, 30
# Of the tolerance, for the motion within one step where the finer run ends in rounding.
FINER = 1e-2
LAYER = 1e-8
BESIDE_POLE = 20.0


@lru_cache(maxsize=2)
def fine_run(name):
    """A known system and its rows by a run that is much finer; forces at index 3 by the reduced equations."""
    known = catalogue.load(name)
    call = {"start": known.start, "inputs": known.inputs, "rtol": FINE_RTOL, "atol": FINE_ATOL}
    if known.index > 1 and not known.stiff:
        try:
            return known, dd.simulate(known.model, known.span, method="dop853", **call)
        except dd.DaedalusError:  # no form that an explicit method can run
            pass
    return known, dd.simulate(known.model, known.span, method="radau9", **call)


def worst_between(fine, tr, rtol, atol, seed=2, poles=False):
    """(excess, name): the most by which a value between steps is worse than the steps it lies between, in tolerances.

    Errors of both ends, which pile up along a run, are no matter of what lies between them, and are taken off. The size
    of a value is the largest that it has in its step, which is what steps are controlled by. poles: algebraic variables
    are not looked at where one of them is beside a pole.
    """
    inner = inner_rows(fine, seed)
    if not len(inner):
        return 0.0, ""
    times, rows = fine.time[inner], tr.time
    asked, exact_rows = tr.at(times), fine.at(rows)
    ends = np.clip(np.searchsorted(rows, times), 1, len(rows) - 1)[:, None] + np.array([-1, 0])
    worst, counts = (0.0, ""), ~beside_poles(fine)[inner] if poles else np.ones(len(inner), bool)
    for variable in tr.system.variables:
        if variable.kind not in ("state", "algebraic"):
            continue
        key = variable.name
        exact = np.asarray(fine[key]).reshape(len(fine.time), -1)[inner]
        got = np.asarray(asked[key]).reshape(len(inner), -1)
        at_rows, of_rows = (np.asarray(part[key]).reshape(len(rows), -1) for part in (tr, exact_rows))
        size = np.maximum(np.abs(exact), np.abs(of_rows)[ends].max(axis=1))
        off = np.abs(at_rows - of_rows)[ends].max(axis=1)
        beyond = (np.abs(got - exact) - off) / (rtol * size + atol * nominal_of(tr.system, key))
        beyond = beyond if variable.kind == "state" else beyond[counts]
        worst = max(worst, (float(beyond.max()), key))
    return worst


def worst_from_rows(known, fine, tr, rtol, atol, seed=2, poles=False):
    """(excess, name): the most by which a value is off the motion that begins in the row before it, in tolerances.

    What earlier steps have left is part of that motion, which a much finer run follows to the end of the step; what the
    step itself is off by there is taken off. This is what lies between two rows and nothing else, also where errors of
    rows change from one to the next. Fewer times are looked at: each is a run.
    """
    inner = np.sort(np.random.default_rng(seed).permutation(inner_rows(fine, seed))[:MOST_STEPS])
    if poles:
        inner = inner[~beside_poles(fine)[inner]]
    rows, worst = tr.time, (0.0, "")
    for t in fine.time[inner]:
        k = int(np.clip(np.searchsorted(rows, t), 1, len(rows) - 1))
        if t in rows[k - 1 : k + 1]:
            continue
        span, begin, got = (rows[k - 1], rows[k]), tr.at(rows[k - 1]), tr.at(t)
        call = {"start": begin, "inputs": known.inputs, "method": fine.method, "save_at": [t, rows[k]]}
        exact = dd.simulate(known.model, span, rtol=FINE_RTOL, atol=FINE_ATOL, **call)
        if not exact.success:  # below rounding, where equations of its size are solved
            exact = dd.simulate(known.model, span, rtol=FINER * rtol, atol=FINER * atol, **call)
        assert exact.success, exact.stop_reason
        for key in (v.name for v in tr.system.variables if v.kind in ("state", "algebraic")):
            at_t, at_end = np.asarray(exact[key]).reshape(2, -1)
            size = np.maximum(np.maximum(np.abs(at_t), np.abs(at_end)), np.abs(np.ravel(begin[key])))
            off = np.abs(np.ravel(np.asarray(tr[key])[k]) - at_end)
            beyond = (np.abs(np.ravel(got[key]) - at_t) - off) / (rtol * size + atol * nominal_of(tr.system, key))
            worst = max(worst, (float(beyond.max()), key))
    return worst


def nominal_of(system, name):
    """The nominal values of a variable, in which an absolute tolerance counts, (elements,)."""
    place = system.place(name)
    return np.array([system.nominal[letter][k] for letter, k in zip(place.letters, place.positions)])


def beside_poles(fine):
    """At which rows an algebraic variable is many times as large as usual."""
    found = np.zeros(len(fine.time), bool)
    for variable in fine.system.variables:
        if variable.kind == "algebraic":
            sizes = np.abs(np.asarray(fine[variable.name]).reshape(len(fine.time), -1))
            found |= np.any(sizes > BESIDE_POLE * np.median(sizes, axis=0), axis=1)
    return found


def inner_rows(fine, seed):
    """Random rows of a run, none at a jump, nor in a layer behind one or behind the start.

    Stiff components, whose first error is filtered twice, are led through layers that are a hundred millionth of the
    run long (4 ms in the four days of emep) without an error control of theirs.
    """
    time, span = fine.time, abs(fine.time[-1] - fine.time[0])
    jumps = np.append(time[:-1][np.diff(time) == 0], time[0])
    behind = np.array([np.min(np.where(t >= jumps, t - jumps, np.inf)) for t in time])
    smooth = np.flatnonzero(behind[1:-1] > LAYER * span) + 1
    return np.sort(np.random.default_rng(seed).permutation(smooth)[:MOST_TIMES])
