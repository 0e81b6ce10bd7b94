"""How states behind contacts follow from those before them: the same impacts, in the same modes, at places beside.

x⁺ = x + B(x) r(x) with the impulses r of the impacts that were found; frictions leave x as it is. Modes behind are
numbers. ∂x⁺/∂(t, x, u, p) is taken by central differences of the map, which is smooth while the impacts are the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daedalus.differentiation.case import Case
from daedalus.errors import SolverError
from daedalus.model.names import listed
from daedalus.simulation.contacts.contact_laws import ContactPlace
from daedalus.simulation.contacts.contact_run import Contacts
from daedalus.simulation.contacts.settling import Settled, state_behind
from daedalus.simulation.switching.agenda import order_of

# Of central differences, in nominal values: errors of 1e-12 by curvature, 1e-10 by rounding.
STEP = 1e-6


def contacts_of_case(case: Case) -> Contacts | None:
    """The contacts of a run with derivatives; None where it has none."""
    return None if case.nominal is None else case.nominal.settings.contacts


def behind_contacts(
    case: Case, contacts: Contacts, actors: Sequence[int], t: float, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """All states behind the contacts of a round, and ∂x⁺/∂(t, x, u, p)."""
    nominal = case.nominal
    assert nominal is not None
    laws, u, p = contacts.laws, case.u_at(t), case.p
    first = nominal.system.sizes["p"] - nominal.system.discrete_count
    own, modes = nominal.states[contacts.states], nominal.rests[laws.modes - first]
    order = order_of(nominal.system).events
    fired = np.zeros(len(contacts.flags))
    for actor in actors:
        if actor in order:
            fired[order.index(actor)] = 1.0

    def place(v: np.ndarray) -> ContactPlace:
        parts = np.split(v, np.cumsum([1, len(x), len(u)]))
        held = np.concatenate([parts[3], parts[1][nominal.rests]])
        return ContactPlace(float(parts[0][0]), parts[1][own], parts[2], held)

    at = np.concatenate([[t], x, u, p])
    moment = contacts.settled(place(at), fired, case.last_time - case.first_time)
    _check_single(contacts, moment, t)
    behind = x.copy()
    behind[own], behind[modes] = moment.x, moment.modes
    slopes = np.zeros((len(x), len(at)))
    slopes[:, 1 : 1 + len(x)] = np.eye(len(x))
    slopes[modes] = 0.0
    still = set((1 + nominal.rests).tolist())
    for k in range(len(at)):
        if k in still:
            slopes[own, k] = 0.0
            continue
        step = STEP * max(1.0, abs(at[k]))
        beside = [at.copy(), at.copy()]
        beside[0][k] += step
        beside[1][k] -= step
        ends = [state_behind(laws, place(v), moment) for v in beside]
        slopes[own, k] = (ends[0] - ends[1]) / (beside[0][k] - beside[1][k])
    return behind, slopes


def _check_single(contacts: Contacts, moment: Settled, t: float) -> None:
    """Refuse impacts of several contacts at once: which of them comes first beside this run is not said."""
    hit = sorted({contacts.laws.names[impact.contact] for impact in moment.impacts})
    if len(hit) > 1:
        raise SolverError(
            f"The derivatives of {contacts.plant.system.name!r} do not go through an impact of several contacts.",
            f"at t = {t:.6g} {listed(hit)} are hit together",
            because="beside this run they are hit one after the other, in an order that depends on the direction.",
            remedy="a start from which they are hit one by one, or a span that ends before",
        )
