"""Which start values are given and which are guesses, from the model, the caller's values, and fixed= and free=."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.errors import InputError
from daedalus.initialisation.start_in_form import standing_for, states_in, without_signs
from daedalus.initialisation.written_states import given_elsewhere
from daedalus.model.guesses import GuessedStart, value_of
from daedalus.model.mechanics.mechanics_part import Mechanics
from daedalus.model.names import read_names
from daedalus.model.system.named_vectors import Place
from daedalus.model.system.system import System
from daedalus.model.values import check_mapping, flat_values, wrong_kind

# What a start has: derivatives, states, algebraic variables.
LETTERS = ("xdot", "x", "z")
# What stands for the poses of all bodies in free= and fixed=.
BODIES = "bodies"


@dataclass(frozen=True, eq=False)
class Wanted:
    """Values of xdot, x and z by letter, and which of them are given; the others are guesses.

    moment: whether the values come from a result; these are known to its tolerance only.
    """

    values: dict[str, np.ndarray]
    given: dict[str, np.ndarray]
    moment: bool = False


def read_wanted(system: System, values: object, fixed: object, free: object) -> Wanted:
    """The model's start values, with the caller's written over them, then `fixed` and `free` applied.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay"); x = m.state("x", 2, start=[1.0, 2.0]); z = m.algebraic("z", start=3.0)
    >>> m.equation(m.der(x), -x); m.equation(z, x[0])
    >>> wanted = read_wanted(m.freeze(), {"x": [None, 5.0]}, ["z"], None)
    >>> wanted.values["x"].tolist(), wanted.given["x"].tolist(), wanted.given["z"].tolist()
    ([1.0, 5.0], [False, True], [True])
    """
    wanted = _written(system)
    moment = _is_moment(values)
    if moment:
        _read_moment(system, wanted, values)
    else:
        known = without_signs(system, system.translated("start", check_mapping(values, "values")))
        passed = {name: _start_place(system, name) for name in known}
        for name, place in passed.items():
            _put(wanted, place, known[name])
        _pass_on(system, wanted, list(passed.values()))
    held, loose = _places(system, fixed, "fixed"), _places(system, free, "free")
    both = sorted(_elements(held) & _elements(loose))
    if both:
        letter, k = both[0]
        raise InputError(
            f"{system.labels[letter][k]} is in fixed= and in free=.",
            because="a value is either fixed or free.",
            remedy="name it in one of the two",
        )
    for places, flag in ((held, True), (loose, False)):
        for letter, k in _elements(places):
            wanted.given[letter][k] = flag
    return Wanted(wanted.values, wanted.given, moment)


def _written(system: System) -> Wanted:
    """What the model says: starts of states are given, those of algebraic variables are guesses, as is the rest."""
    x, z = system.start["x"], system.start["z"]
    values = {
        "xdot": np.zeros(system.sizes["x"]),
        "x": np.array(system.default_start),
        "z": np.nan_to_num(z),
    }
    given = {letter: np.zeros(len(entries), dtype=bool) for letter, entries in values.items()}
    given["x"] = ~np.isnan(x)
    wanted = Wanted(values, given)
    for name, value in given_elsewhere(system).items():
        _put(wanted, system.place(name), value)
    return wanted


def _put(wanted: Wanted, place: Place, value: object) -> None:
    """A passed value is given, unless it is a `dd.guess`; None makes a guess of what is there."""
    numbers = flat_values(place, value_of(value), "start value", allow_none=True)
    for letter, k, number in zip(place.letters, place.positions, numbers):
        wanted.given[letter][k] = number is not None and not isinstance(value, GuessedStart)
        if number is not None:
            wanted.values[letter][k] = number


def _pass_on(system: System, wanted: Wanted, passed: list[Place]) -> None:
    """A derivative that a state made in a reduction stands for, q_dot for q_rate, gives that state its value."""
    own = _elements(passed)
    for _, k in sorted(entry for entry in own if entry[0] == "xdot" and wanted.given["xdot"][entry[1]]):
        other = standing_for(system, k)
        if other is not None and ("x", other) not in own:
            wanted.values["x"][other], wanted.given["x"][other] = wanted.values["xdot"][k], True


def _is_moment(values: object) -> bool:
    """Whether values are a start or a moment of a run: they have a time and find values by name."""
    if not (hasattr(values, "time") and hasattr(values, "__getitem__")):
        return False
    if np.ndim(values.time):
        raise InputError("A start is a single time of a run.", f"got {np.size(values.time)} times", remedy="tr.at(t)")
    return True


def _read_moment(system: System, wanted: Wanted, moment: Any) -> None:
    """States of a result are given; its derivatives and algebraic variables are good guesses."""
    known = 0
    for name, place in system.places.items():
        if place.letters[0] in ("u", "p") or name not in moment:
            continue
        numbers = flat_values(place, moment[name], "start value")
        for letter, k, number in zip(place.letters, place.positions, numbers):
            wanted.values[letter][k] = number
            wanted.given[letter][k] = letter == "x"
            known += letter == "x"
    for label, number in states_in(system, moment).items():
        k = system.labels["x"].index(label)
        known += not wanted.given["x"][k]
        wanted.values["x"][k], wanted.given["x"][k] = number, True
    if not known and system.sizes["x"]:
        names = [name for name, place in system.places.items() if place.letter == "x"]
        raise InputError("The start has no state of this model.", f"the model has {', '.join(names[:8])}")


def brought_along(system: System, values: object) -> tuple[dict[str, object], dict[str, object], float]:
    """Inputs, parameters and time that a start or a moment of a run brings along."""
    if not _is_moment(values):
        return {}, {}, 0.0
    moment: Any = values
    inputs = {v.name: moment[v.name] for v in system.of_kind("input") if v.name in moment}
    parameters = {v.name: moment[v.name] for v in system.of_kind("parameter") if v.name in moment}
    return inputs, parameters, float(moment.time)


def _start_place(system: System, name: object) -> Place:
    if not isinstance(name, str):
        raise InputError("Start values are given by name.", f"got {name!r}", remedy='{"x": 1.0}')
    place = system.place(name)
    if place.letters[0] in ("p", "u"):
        raise wrong_kind(system, name, place, "a variable with a start value")
    return place


def _places(system: System, names: object, argument: str) -> list[Place]:
    """The places of a list of names; a single name counts as a list of one."""
    if names is None:
        return []
    if isinstance(names, str):
        names = body_poses(system) if names == BODIES and names not in system.places else [names]
    return [_start_place(system, name) for name in read_names(names, argument)]


def body_poses(system: System) -> list[str]:
    """The positions and orientations of all bodies, by name: what `free="bodies"` means."""
    mechanics = system.part(Mechanics)
    if mechanics is None or mechanics.book is None:
        return []
    return [name for name in mechanics.book.written.mechanics.velocities if name in system.places]


def _elements(places: list[Place]) -> set[tuple[str, int]]:
    return {(letter, int(k)) for place in places for letter, k in zip(place.letters, place.positions)}
