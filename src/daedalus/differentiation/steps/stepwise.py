"""The case whose steps can be differentiated one by one, as the discrete derivative and the adjoint do.

Explicit and implicit Runge–Kutta methods serve as they are, on formulas where the model has them. A Rosenbrock method
linearises z as it linearises x, so its steps are those of the equations as they stand. BDF has no steps of its own.
"""

from __future__ import annotations

from dataclasses import replace

from daedalus.differentiation.case import Case
from daedalus.errors import InputError
from daedalus.integrators.methods import METHODS, is_implicit
from daedalus.simulation.result.records_of_methods import ImplicitChosen
from daedalus.simulation.run.method_choice import TIGHT


def family_of(case: Case) -> str:
    """The family of the method of a case: explicit, radau, tableau, rosenbrock or bdf."""
    if not is_implicit(case.method):
        return "explicit"
    return METHODS[case.method].family if isinstance(case.method, str) else "tableau"


def stepwise(case: Case, what: str) -> Case:
    """The case as its steps are differentiated; BDF, which is run by name only, is refused. what: who asks."""
    family = family_of(case)
    if family == "rosenbrock" and case.has_formulas:
        settings = replace(case.implicit_settings, reason=case.settings.reason)
        return replace(case, settings=settings, guess=case.row0)
    if family != "bdf":
        return case
    raise InputError(
        f"{what} cannot be used with bdf.",
        because="a step of BDF depends on those before it.",
        remedy='method="auto" or method="radau5"; by="variational" for sensitivities with this method',
    )


def by_radau(case: Case, why: str) -> Case:
    """The same case by the Radau method that fits its tolerance."""
    name = "radau9" if case.settings.call["rtol"] < TIGHT else "radau5"
    return case.with_method(name, ImplicitChosen(name, why))
