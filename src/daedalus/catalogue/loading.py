"""Find a known system by name and hand out a model of one's own.

A system is one file in the folder of its field, named like the system, with a function `build(**options) ->
KnownSystem`; adding one is that file and its name in the table below.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

from daedalus.catalogue.known_system import KnownSystem
from daedalus.errors import InputError
from daedalus.model.names import did_you_mean

# The systems of every field, which is the folder.
_OF_FIELD = {
    "mechanics": (
        "mass_spring", "cart_pendulum", "double_pendulum", "quadrotor", "pleiades", "pendulum_3d", "delta_robot",
        "slider_crank", "four_bar", "gyroscope", "rolling_disc", "rod_chain", "andrews", "car_axis", "beam",
        "flexible_slider_crank", "wheelset", "goddard_rocket", "simple_pendulum", "four_bar_windows", "bricard",
        "flyball_governor",
    ),
    "textbook": (
        "van_der_pol", "lotka_volterra", "nilpotent_3", "small_dae", "fekete", "water_tube", "double_integrator",
        "brachistochrone", "bryson_denham", "hanging_chain",
    ),
    "chemistry": (
        "hires", "cstr", "robertson", "chemical_akzo", "pollution", "oregonator", "medical_akzo", "e5", "emep",
    ),
    "electronics": (
        "transistor_amplifier", "ring_modulator", "nand_gate", "charge_pump", "two_bit_adder",
    ),
    "machines": (
        "motor_speed_loop", "motor_lift", "elastic_transmission", "hydraulic_servo", "emptying_tank",
        "bridge_rectifier", "buck_converter", "rlc_ladder", "quarter_car", "heated_house", "driven_arm",
        "amplifier_of_parts", "ring_modulator_of_parts",
    ),
    "fields": (
        "heat_rod", "burgers", "brusselator_2d", "transmission_line", "power_grid",
    ),
}  # fmt: skip
FIELDS = {name: field for field, names in _OF_FIELD.items() for name in names}
SYSTEMS = tuple(FIELDS)


def names() -> tuple[str, ...]:
    """The names that `load` accepts.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.names()
    ('mass_spring', 'cart_pendulum', ...)
    """
    return SYSTEMS


def describe(name: str) -> str:
    """One line about a known system: what it is, without formulas.

    Example
    -------
    >>> from daedalus import catalogue
    >>> catalogue.describe("motor_lift")
    'A geared motor winds up a rope with a load'
    """
    first = (sys.modules[_builder(name).__module__].__doc__ or "").strip().splitlines()[0]
    # A formula follows a colon; so does what a system is made of, which is kept.
    head, _, rest = first.partition(": ")
    return (head if any(sign in rest for sign in "='") else first).rstrip(".")


def load(name: str, **options: Any) -> KnownSystem:
    """A known system: its model, start, span, inputs and reference.

    Every call returns a new Model that you can change. Models with the same name and options share their symbols.

    Parameters
    ----------
    name: one of `names()`.
    options: the options of the system, such as `mu` of "van_der_pol".

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("van_der_pol", mu=5.0)
    >>> k
    KnownSystem('van_der_pol': 2 states, index 0, t = 0 to 20, no reference)
    >>> catalogue.load("van_der_pohl")
    Traceback (most recent call last):
        ...
    daedalus.errors.InputError: The catalogue has no system 'van_der_pohl'.
      known: mass_spring, cart_pendulum, ...
      Try: 'van_der_pol'
    """
    build = _builder(name)
    known = inspect.signature(build).parameters
    for option in options:
        if option not in known:
            raise InputError(
                f"The system {name!r} has no option {option!r}.",
                f"its options: {', '.join(known)}" if known else "it has none",
                because="" if known else "its parameters are changed when it runs.",
                remedy=did_you_mean(option, known) if known else "dd.simulate(k.model, k.span, parameters={...})",
            )
    key = tuple(sorted(options.items()))
    return (_original(name, key) if _is_hashable(key) else build(**options)).copy()


def _builder(name: str) -> Callable[..., KnownSystem]:
    if name not in SYSTEMS:
        raise InputError(
            f"The catalogue has no system {name!r}.",
            f"known: {', '.join(SYSTEMS)}",
            remedy=did_you_mean(str(name), SYSTEMS),
        )
    return import_module(f"daedalus.catalogue.{FIELDS[name]}.{name}").build


def _is_hashable(key: object) -> bool:
    try:
        hash(key)
    except TypeError:  # an option such as a list
        return False
    return True


@lru_cache(maxsize=64)
def _original(name: str, options: tuple[tuple[str, Any], ...]) -> KnownSystem:
    """The system that all copies come from, so that they share their symbols."""
    return _builder(name)(**dict(options))
