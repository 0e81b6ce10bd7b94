"""time_limit and Ctrl-C hold in every search on the way to a run; work is counted in polls and calls, not seconds."""

import sys

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import deadline
from daedalus.reduction import protecting_conditions


def guarded(n):
    """Conditions that may protect what they stand before, each of which is tried."""
    m = dd.Model("guarded")
    x, R = m.state("x", n, start=np.linspace(-1, 1, n)), m.parameter("R", 2.0)
    for i in range(n):
        other = x[(i + 1) % n]
        kept = ca.if_else(x[i] > 0.5, ca.sqrt(other**2 + x[i]), 0)
        m.equation(m.der(x)[i], 1 - ca.if_else(x[i] > 0, 2 / (R + other**2), 0) - kept)
    return m


def sliding(n):
    """Masses with signs as frictions between them and on the ground, which rest at the start."""
    m = dd.Model("sliding")
    v = m.state("v", n, start=np.zeros(n))
    between = [0.5 * ca.sign(v[i + 1] - v[i]) for i in range(n - 1)]
    for i in range(n):
        push = 3 * ca.sin(2 * m.time) if i == 0 else 0
        drag = (between[i] if i < n - 1 else 0) - (between[i - 1] if i else 0)
        m.equation(m.der(v)[i], push + drag - (0.3 + 0.1 * i) * ca.sign(v[i]))
    return m


def restless(n):
    """No point of rest."""
    m = dd.Model("restless")
    x = m.state("x", n, start=np.ones(n))
    m.equation([m.der(x)[i] for i in range(n)], [ca.exp(x[i]) + 1 + ca.sin(x[(i + 1) % n]) ** 2 for i in range(n)])
    return m


def startless(n):
    """No consistent start."""
    m = dd.Model("startless")
    x, z = m.state("x", n, start=np.ones(n)), m.algebraic("z", n)
    for i in range(n):
        m.equation(m.der(x)[i], z[i])
        m.equation(ca.exp(z[i]) + z[(i + 1) % n] ** 2 + 1 + x[i] ** 2, 0)
    return m


def clocked(n):
    """Conditions on time, whose changes are all looked for beforehand."""
    m = dd.Model("clocked")
    x = m.state("x", start=0.0)
    waves = [ca.sin((40 + i) * m.time + ca.sin(m.time * i)) > 0.3 for i in range(n)]
    m.equation(m.der(x), sum(ca.if_else(wave, 1, -1) for wave in waves))
    return m


def rods(n):
    """Constraints that are differentiated, and a start to be found."""
    m = dd.Model("rods")
    last = 0
    for i in range(n):
        q = m.coordinate(f"q{i}", 2, start=dd.guess([i + 0.9, 0.1]))
        m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
        m.potential_energy(9.81 * q[1])
        m.constraint(f"rod{i}", ca.sumsqr(q - last) - 1)
        last = q
    return m


def piled(n):
    """Contacts that close together."""
    m = dd.Model("piled")
    below = 0
    for i in range(n):
        y, v = m.state(f"y{i}", start=0.5 * i + 0.1), m.state(f"v{i}", start=0.0)
        m.equation(m.der(y), v)
        push = m.unilateral(f"c{i}", y - below)
        m.equation(m.der(v), push - 9.81 - (m.unilateral(f"d{i}", 5.0 + i - y)))
        below = y
    return m


FAMILY = {
    "guarded": (lambda: guarded(2), {}),
    "sliding": (lambda: sliding(2), {}),
    "restless": (lambda: restless(1), {"start": "equilibrium"}),
    "startless": (lambda: startless(1), {}),
    "clocked": (lambda: clocked(4), {}),
    "rods": (lambda: rods(2), {}),
    "piled": (lambda: piled(2), {}),
}


class Polls:
    """A clock that counts how often it is looked at."""

    def __init__(self):
        self.count = 0

    def __call__(self):
        self.count += 1
        return float(self.count)


class Calls:
    """A clock that counts calls of Python functions."""

    def __init__(self):
        self.count = 0

    def __call__(self):
        return float(self.count)

    def __enter__(self):
        self.count, self._before = 0, sys.getprofile()
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_):
        sys.setprofile(self._before)

    def _called(self, frame, event, argument):
        self.count += event == "call"


def outcome_of(name, model=None, **options):
    """How a call of dd.simulate ends: the words of its ending, or of its error."""
    make, own = FAMILY[name]
    protecting_conditions._known.clear()  # an equal model would be known already
    try:
        tr = dd.simulate(make() if model is None else model, 1.0, progress=False, **own, **options)
    except dd.DaedalusError as error:
        return str(error)
    assert len(tr.time) >= 1
    assert np.all(np.isfinite(tr.time))
    return str(tr.status)


@pytest.mark.parametrize("name", FAMILY)
def test_the_first_poll_behind_the_limit_ends_a_search(monkeypatch, name):
    monkeypatch.setattr(deadline, "GRACE", 0.0)
    monkeypatch.setattr(deadline, "clock", polls := Polls())
    usual, whole = outcome_of(name, time_limit=1e9), polls.count
    assert whole > 10, usual
    for share in (0.1, 0.5):
        monkeypatch.setattr(deadline, "clock", polls := Polls())
        found = outcome_of(name, time_limit=share * whole)
        assert found == "time_limit" or found.startswith("The time limit passed before"), (found, usual)
        # The steps of a run get a tenth of its time at least; making a deadline and beginning a piece look too.
        assert polls.count <= (1.1 * share) * whole + 10


@pytest.mark.wide
@pytest.mark.parametrize("name", FAMILY)
def test_little_is_done_between_two_polls(monkeypatch, name):
    outcome_of(name)  # what is imported on the way is no search
    model = FAMILY[name][0]()
    with Calls() as calls:
        usual = outcome_of(name, model)
    whole = calls.count
    monkeypatch.setattr(deadline, "clock", calls)
    monkeypatch.setattr(deadline, "GRACE", 0.0)
    for share in (0.25, 0.6):
        model = FAMILY[name][0]()
        with calls:
            found = outcome_of(name, model, time_limit=share * whole)
        assert found == "time_limit" or found.startswith("The time limit passed before"), (found, usual)
        assert calls.count <= (share + 0.35) * whole, (share, calls.count, whole)


class Interrupting(deadline.Deadline):
    """Raises KeyboardInterrupt at one of its polls, or counts them."""

    def __init__(self, at=None):
        super().__init__(1e9)
        self.polls, self.at = 0, at

    def check(self, search):
        self.polls += 1
        if self.polls == self.at:
            raise KeyboardInterrupt


def within(limit, call):
    token = deadline._current.set(limit)
    try:
        return call()
    finally:
        deadline._current.reset(token)


LONG = ("restless", "startless")
SHORT_AND_LONG = [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in FAMILY]


@pytest.mark.parametrize("name", SHORT_AND_LONG)
def test_an_interrupt_in_a_search_leaves_nothing_behind(name):
    make, own = FAMILY[name]

    def run(model):
        protecting_conditions._known.clear()
        try:
            tr = dd.simulate(model, 1.0, progress=False, **own)
        except dd.DaedalusError as error:
            return str(error)
        return str(tr.status), tr.time.tobytes(), {key: np.asarray(tr[key]).tobytes() for key in model.freeze().places}

    counting = Interrupting()
    usual = within(counting, lambda: run(make()))
    assert counting.polls >= 10
    for share in (0.3, 0.9):
        model = make()
        try:
            found = within(Interrupting(max(1, int(share * counting.polls))), lambda: run(model))  # noqa: B023
            assert found[0] == "interrupted"
        except KeyboardInterrupt:
            pass
        assert run(model) == usual


def test_other_verbs_end_in_their_searches_too(monkeypatch):
    monkeypatch.setattr(deadline, "GRACE", 0.0)
    for verb in (dd.sensitivities, dd.prepare):
        with pytest.raises(dd.SolverError, match="The time limit passed before there was a result"):
            verb(startless(1), 1.0, time_limit=1e-6)
    with pytest.raises(dd.SolverError, match=r"time_limit = 1e-06 s; the search was at: .*\n.*\n  Try: a larger"):
        dd.gradient(startless(1), 1.0, final=ca.SX(1.0), time_limit=1e-6)
    en = dd.sweep(guarded(2), 1.0, over={"R": [1.0, 2.0]}, time_limit=60.0)
    assert en.success.values.all()


def test_looking_for_surfaces_grows_with_the_number_of_conditions_alone():
    """Not with the number of pairs of them."""
    from daedalus.simulation.sliding.surface import condition_like, conditions_at_zero

    counts = []
    for n in (10, 20, 40):
        m = dd.Model("relays")
        v = m.state("v", n, start=np.zeros(n))
        m.equation(m.der(v), [ca.sin((1 + i) * m.time) - ca.sign(v[i]) for i in range(n)])
        system = m.freeze()
        with Calls() as calls:
            met = conditions_at_zero(system, 0.0, np.zeros(n), np.zeros(0), np.zeros(0))
            assert condition_like(system, -2 * system.symbol("x")[n - 1]) == met[-1]
        assert len(met) == n
        counts.append(calls.count)
    assert counts[2] - counts[1] < 3 * (counts[1] - counts[0])
