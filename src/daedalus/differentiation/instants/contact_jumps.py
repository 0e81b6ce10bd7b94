"""How states behind contacts follow from those before them: the same impacts, in the same modes, at places beside.

x⁺ = x + B(x) r(x) with the impulses r of the impacts that were found; frictions leave x as it is. Modes behind are
numbers. ∂x⁺/∂(t, x, u, p) is taken by central differences of the map, which is smooth while the impacts are the same.
An impact may pass through contacts that are pressed together, which stay so beside the run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daedalus.algebra.agreement import BESIDE
from daedalus.differentiation.case import Case
from daedalus.errors import SolverError
from daedalus.model.names import listed
from daedalus.simulation.contacts.contact_laws import ContactPlace
from daedalus.simulation.contacts.contact_run import Contacts
from daedalus.simulation.contacts.impacts import Impact
from daedalus.simulation.contacts.settling import Settled, acting, state_behind
from daedalus.simulation.result.event_records import SettledMoment
from daedalus.simulation.switching.agenda import order_of

# An impact through several contacts is taken again beside, in so many directions; where its slopes miss that by so
# large a share of the way it has none.
DIRECTIONS, BENDS = 6, 1e-2


def contacts_of_case(case: Case) -> CaseContacts | None:
    """The contacts of a run with derivatives; None where it has none."""
    contacts = None if case.nominal is None else case.nominal.settings.contacts
    return None if contacts is None else CaseContacts(case, contacts)


class CaseContacts:
    """The contacts of a case, whose modes are among its states."""

    def __init__(self, case: Case, contacts: Contacts) -> None:
        nominal = case.nominal
        assert nominal is not None
        self.case, self.contacts, self.laws, self.nominal = case, contacts, contacts.laws, nominal
        first = nominal.system.sizes["p"] - nominal.system.discrete_count
        self.states = nominal.states[contacts.states]
        self.modes = nominal.rests[self.laws.modes - first]
        self.order = order_of(nominal.system).events

    def events(self) -> list[int]:
        """The event of each contact."""
        return [self.order[k] for k in self.contacts.events]

    def point(self, t: float, x: np.ndarray) -> np.ndarray:
        """(t, x, u, p) at a time and a state."""
        return np.concatenate([[t], x, self.case.u_at(t), self.case.p])

    def place(self, v: np.ndarray) -> ContactPlace:
        """The place of the contacts at (t, x, u, p)."""
        n, rests = len(self.case.x0), self.nominal.rests
        x, u, p = np.split(v[1:], [n, n + self.case.system.sizes["u"]])
        return ContactPlace(float(v[0]), x[self.states], u, np.concatenate([p, x[rests]]))

    def sizes(self, v: np.ndarray) -> np.ndarray:
        """The size of each entry of (t, x, u, p), beside which a change is small."""
        nominal, span = self.case.system.nominal, abs(self.case.last_time - self.case.first_time)
        sizes = np.maximum(np.concatenate([[1.0], nominal["x"], nominal["u"], nominal["p"]]), np.abs(v))
        sizes[0] = min(sizes[0], span)
        return sizes

    def fired(self, actors: Sequence[int]) -> tuple[int, ...]:
        """The guards of the core that belong to some actors."""
        return tuple(sorted(self.order.index(actor) for actor in actors if actor in self.order))

    def settled(self, v: np.ndarray, actors: Sequence[int], waiting: Sequence[int]) -> Settled:
        """The moment beside the run at (t, x, u, p) where some events act and some contacts wait for their turn."""
        fired = np.zeros(len(self.contacts.flags))
        fired[list(self.fired(actors))] = 1.0
        held = np.array([event in waiting for event in self.events()], dtype=bool)
        return self.contacts.settled(self.place(v), fired, self.case.last_time - self.case.first_time, held)

    def moment(self, actors: Sequence[int], moments: Sequence[SettledMoment]) -> SettledMoment | None:
        """What the run settled in the round of some actors."""
        fired = self.fired(actors)
        count = len(self.order)  # behind them come the guards of a surface that the run slides along
        return next((m for m in moments if tuple(k for k in m.fired if k < count) == fired), None)

    def recorded(self, v: np.ndarray, actors: Sequence[int], moments: Sequence[SettledMoment]) -> Settled:
        """The moment of a round as the run settled it; where it settled none contacts stay as they are."""
        own = self.moment(actors, moments)
        if own is None:
            place = self.place(v)
            return Settled(place.x, self.laws.modes_of(place), ())
        found = Settled(np.zeros(0), own.modes, tuple(Impact(*impact) for impact in own.impacts))
        return found._replace(x=state_behind(self.laws, self.place(v), found))

    def acting(self, actors: Sequence[int], t: float, x: np.ndarray, moments: Sequence[SettledMoment]) -> list[int]:
        """The events of contacts that act by themselves in a moment: they fired, approach at a gap of zero, or stop.

        Of others those count that the run struck or changed then: a friction that something else holds does nothing.
        """
        place, moment = self.place(self.point(t, x)), self.moment(actors, moments)
        before = self.laws.modes_of(place)
        changed = np.zeros(len(before), dtype=bool) if moment is None else moment.modes != before
        changed[[contact for contact, _ in moment.impacts] if moment is not None else []] = True
        alone = acting(self.laws, place) & changed
        return [event for event, acts in zip(self.events(), alone) if event in actors or acts]

    def behind(self, x: np.ndarray, moment: Settled) -> np.ndarray:
        """All states behind a moment."""
        behind = x.copy()
        behind[self.states], behind[self.modes] = moment.x, moment.modes
        return behind


def behind_contacts(
    own: CaseContacts,
    actors: Sequence[int],
    t: float,
    x: np.ndarray,
    waiting: Sequence[int] = (),
    moments: Sequence[SettledMoment] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """All states behind the contacts of a round, and ∂x⁺/∂(t, x, u, p).

    moments: what the run settled at its time. None beside the run, where events `waiting` leave their contacts.
    """
    at = own.point(t, x)
    moment = own.settled(at, actors, waiting) if moments is None else own.recorded(at, actors, moments)
    behind = own.behind(x, moment)
    slopes = np.zeros((len(x), len(at)))
    slopes[:, 1 : 1 + len(x)] = np.eye(len(x))
    slopes[own.modes] = 0.0
    still, sizes = set((1 + own.nominal.rests).tolist()), own.sizes(at)
    for k in range(len(at)):
        if k in still:
            slopes[own.states, k] = 0.0
            continue
        step = BESIDE * sizes[k]
        beside = [at.copy(), at.copy()]
        beside[0][k] += step
        beside[1][k] -= step
        ends = [state_behind(own.laws, own.place(v), moment) for v in beside]
        slopes[own.states, k] = (ends[0] - ends[1]) / (beside[0][k] - beside[1][k])
    _check_impacts(own, moment, at, slopes[own.states], actors, waiting)
    return behind, slopes


def _check_impacts(
    own: CaseContacts,
    moment: Settled,
    at: np.ndarray,
    slopes: np.ndarray,
    actors: Sequence[int],
    waiting: Sequence[int],
) -> None:
    """Refuse impacts that pass on to contacts which only touch, or in an order that nothing decides."""
    hit = list(dict.fromkeys(impact.contact for impact in moment.impacts))
    if len(hit) < 2:
        return
    names, pressed = own.laws.names, own.laws.modes_of(own.place(at)) == 1
    touching = [names[k] for k in hit[1:] if not pressed[k]]
    if touching:
        raise _no_derivative(
            own,
            float(at[0]),
            f"the impact of {names[hit[0]]} passes on to what only touches: {listed(touching)}",
            "a change that opens a gap there delays what passes on, and one that closes it is not possible.",
        )
    draw, moving = np.random.default_rng(5), 1 + np.setdiff1d(np.arange(len(own.case.x0)), own.nominal.rests)
    sizes, moved_states = own.sizes(at), 1 + own.states
    scaled = np.abs(slopes) * sizes / sizes[moved_states, None]
    for _ in range(DIRECTIONS):
        moved = at.copy()
        moved[moving] += BESIDE * draw.standard_normal(len(moving)) * sizes[moving]
        change = moved - at
        off = own.settled(moved, actors, waiting).x - moment.x - slopes @ change
        off, change = off / sizes[moved_states], change / sizes
        if np.abs(off).max() > BENDS * np.abs(change).max() * max(1.0, float(scaled.max())):
            raise _no_derivative(
                own,
                float(at[0]),
                f"the impact passes through {listed([names[k] for k in hit])}",
                "contacts that approach equally fast are treated in another order beside this run.",
            )


def _no_derivative(own: CaseContacts, t: float, what: str, because: str) -> SolverError:
    name = own.contacts.plant.system.name
    return SolverError(
        f"The derivatives of {name!r} cannot be computed through an impact of several contacts.",
        f"at t = {t:.6g} {what}",
        because=because,
        remedy="a start from which they are hit one by one, or a span that ends before",
    )
