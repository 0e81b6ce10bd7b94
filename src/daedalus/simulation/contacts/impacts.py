"""Impacts: approaching contacts get impulses, one after the other, until none approaches.

The contact that approaches fastest comes first, of equal ones the one written first. Its impulse r turns its rate ċ
into -e ċ: r = -(1 + e) ċ / w, where w is the change of the rate by a unit impulse. Frictions, whose forces are bounded,
give no impulse. In Newton's cradle the impulse passes from ball to ball, and the last one leaves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from daedalus.model.names import listed
from daedalus.simulation.contacts.contact_laws import ContactLaws, UnitImpulses
from daedalus.simulation.contacts.refused_contacts import RefusedContacts

# A rate of approach below this share of the largest one has ended. So many impacts for each contact are taken with
# their restitution; beyond that, where they only share what is left among each other, without a bounce.
ENDED, MOST_BOUNCES, MOST_IMPACTS = 1e-12, 200, 20_000


class Impact(NamedTuple):
    """One impact: of which contact, with which restitution."""

    contact: int
    restitution: float


def replayed(
    response: UnitImpulses, rates: np.ndarray, restitution: np.ndarray, impacts: tuple[Impact, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """The impulses and the rates behind the same impacts at another place; those without a bounce stay so."""
    total, now = np.zeros(len(rates)), rates.copy()
    for k, bounce in impacts:
        size = -(1 + (restitution[k] if bounce else 0.0)) * now[k] / response.rates[k, k]
        total[k] += size
        now = now + response.rates[:, k] * size
    return total, now


def impulses(
    laws: ContactLaws,
    response: UnitImpulses,
    rates: np.ndarray,
    closed: np.ndarray,
    restitution: np.ndarray,
    rest: float = 0.0,
) -> tuple[np.ndarray, tuple[Impact, ...]]:
    """The impulse of each contact, and the impacts they come from; none where nothing approaches faster than `rest`.

    Example
    -------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> laws = SimpleNamespace(names=["left", "right"], is_friction=np.zeros(2, bool))
    >>> cradle = UnitImpulses(np.zeros((0, 2)), np.array([[2.0, -1.0], [-1.0, 2.0]]))
    >>> total, impacts = impulses(laws, cradle, np.array([-1.0, 0.0]), np.ones(2, bool), np.ones(2))
    >>> total, [impact.contact for impact in impacts]
    (array([1., 1.]), [0, 1])
    """
    total, impacts = np.zeros(len(rates)), list[Impact]()
    weight = np.diag(response.rates)
    now, end = rates.copy(), max(rest, ENDED * float(np.max(np.abs(rates[closed]), initial=0.0)))
    for count in range(MOST_IMPACTS * max(1, int(closed.sum()))):
        approach = np.where(closed, now, np.inf)
        k = int(np.argmin(approach))
        if not approach[k] < -end:
            return total, tuple(impacts)
        if not weight[k] > 0:
            raise _weightless(laws, k)
        bounce = restitution[k] if count < MOST_BOUNCES * len(rates) else 0.0
        size = -(1 + bounce) * now[k] / weight[k]
        impacts.append(Impact(k, bounce))
        total[k] += size
        now = now + response.rates[:, k] * size
    raise RefusedContacts(
        f"The impacts of {listed([laws.names[k] for k in np.flatnonzero(closed)])} have no end.",
        [f"after {MOST_IMPACTS} impacts each some still approach"],
        because="they are pressed together by something that no impulse moves.",
        remedy="fewer constraints on the same motion",
        names=tuple(laws.names[k] for k in np.flatnonzero(closed)),
    )


def _weightless(laws: ContactLaws, k: int) -> RefusedContacts:
    name = laws.names[k]
    return RefusedContacts(
        f"An impulse at {name!r} moves nothing.",
        [f"its multiplier {name} does not enter the equations of what approaches, or pulls where it should push"],
        because="an impact changes velocities by the impulse of the multiplier.",
        remedy=f"the force of {name} in the equations of motion, +Gᵀ {name} with G = ∂c/∂q",
        names=(name,),
    )
