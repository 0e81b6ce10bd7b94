"""Rows and piles whose contacts change often: runs go over to equal steps where these take less work, and say why."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

import daedalus as dd
from daedalus.simulation.result.records_of_methods import ContactsStepped
from daedalus.simulation.touching.chatter import CHANGES, RATTLING, WORTH, Chatter

G, THICK, HIGH, APART = 9.81, 0.01, 0.06, 0.03


def test_changes_that_take_many_steps_are_told_once_there_are_enough_bodies_and_changes():
    def told(bodies, attempts):
        chatter = Chatter(1.0, 1e-3, bodies)
        return [chatter.went_on(1e-3 * k, k, attempts * k) for k in range(1, CHANGES + 20)]

    # A change and a few attempts in each equal step are worth their tolerance, more are not.
    assert not any(told(RATTLING, int(WORTH) - 1))
    assert not any(told(RATTLING - 1, 50))
    reasons = told(RATTLING, 50)
    assert not any(reasons[:CHANGES])
    assert f"contacts changed {CHANGES} times" in reasons[CHANGES]
    assert "took 50 times as many steps" in reasons[CHANGES]


def dominoes(count):
    """A row in the plane, the first one tipping about its edge."""
    m = dd.Model("dominoes")
    m.gravity([0, -G])
    for k in range(count):
        turn = -6.0 * (k == 0)
        b = m.body(f"d{k}", mass=0.01, inertia=0.01 * (THICK**2 + HIGH**2) / 12, orientation="planar",
                   position=[APART * k, HIGH / 2], velocity=[-turn * HIGH / 2, -turn * THICK / 2], rotation=0.0,
                   angular_velocity=turn)  # fmt: skip
        b.shape("box", size=[THICK, HIGH])
    m.contact("all", friction=0.3)
    return m


def speeds_of(tr, count):
    """Of the wave: from each domino's reaching the next one to the next one's doing so."""
    reach = np.arcsin((APART - THICK) / HIGH)
    falls = []
    for k in range(count):
        angle = -tr[f"d{k}.angle"]
        at = int(np.argmax(angle > reach))
        falls.append(float(np.interp(reach, angle[at - 1 : at + 1], tr.time[at - 1 : at + 1])))
    return APART / np.diff(falls)


@pytest.mark.wide
@pytest.mark.parametrize("method", ["auto", "time_stepping"])
def test_the_wave_along_a_row_of_dominoes_settles_at_its_speed(method):
    # It comes to a speed of its own whatever the first push (J. M. J. van Leeuwen, Am. J. Phys. 78, 2010), some
    # √(g h) = 0.77 m/s; equal steps of 0.2 ms give 0.330, 0.457, 0.612, 0.728, 0.806, 0.857 m/s on the way.
    count = 10
    tr = dd.simulate(dominoes(count), 0.5, method=method)
    assert tr.success
    speeds = speeds_of(tr, count)
    assert speeds[:6] == pytest.approx([0.330, 0.457, 0.612, 0.728, 0.806, 0.857], rel=0.02)
    assert np.all(np.diff(speeds) > 0)
    assert speeds[-1] / speeds[-2] == pytest.approx(1.0, abs=0.03)
    (record,) = [record for record in tr.records if isinstance(record, ContactsStepped)]
    assert not record.located
    assert ("contacts changed" in record.reason) == (method == "auto")


class LeaningDominoes:
    """Dominoes without friction between them that turn about their edges and stay on each other once they have met.

    Each leans on the next one's back, h sin(θ - θ') = l cos θ' - d, so that the front one's angle gives those of all:
    energy is kept between impacts, and an impact leaves the part of the motion that the next one takes part in
    (D. E. Shaw, Am. J. Phys. 46, 1978; J. M. J. van Leeuwen, Am. J. Phys. 78, 2010).
    """

    inertia = (THICK**2 + HIGH**2) / 3

    def train(self, front, count):
        """Angles, and their rates by that of the front one."""
        angles, rates = [front], [1.0]
        for _ in range(count - 1):
            lean = np.arcsin((APART * np.cos(angles[-1]) - THICK) / HIGH)
            rates.append(rates[-1] * (1 - APART * np.sin(angles[-1]) / (HIGH * np.cos(lean))))
            angles.append(angles[-1] + lean)
        return np.array(angles), np.array(rates)

    def moments(self, count, rate):
        """When each domino meets the next one."""
        reach, found, moment = np.arcsin((APART - THICK) / HIGH), [], 0.0

        def height(front, taking_part):
            angles, _ = self.train(front, taking_part)
            return 0.5 * G * np.sum(HIGH * np.cos(angles) + THICK * np.sin(angles))

        for k in range(1, count):
            energy = 0.5 * self.inertia * np.sum(self.train(0.0, k)[1] ** 2) * rate**2 + height(0.0, k)

            def speed(front, k=k, energy=energy):
                moving = self.inertia * np.sum(self.train(front, k)[1] ** 2)
                return np.sqrt(2 * (energy - height(front, k)) / moving)

            moment += quad(lambda front, speed=speed: 1 / speed(front), 0.0, reach)[0]
            found.append(moment)
            moving = np.sum(self.train(reach, k)[1] ** 2)
            rate = speed(reach) * moving / (moving + 1)
        return np.array(found)


@pytest.mark.parametrize(("count", "options", "close"), [
    (4, {"step": 2e-3}, 1e-2),
    pytest.param(6, {"step": 1e-3}, 3e-3, marks=pytest.mark.wide),
    pytest.param(4, {"method": "event_driven", "rtol": 1e-5}, 1e-3, marks=pytest.mark.wide),
])  # fmt: skip
def test_dominoes_fall_as_fast_as_theory_says(count, options, close):
    m = dd.Model("dominoes")
    m.gravity([0, -G])
    for k in range(count):
        turn = -6.0 * (k == 0)
        b = m.body(f"d{k}", mass=1.0, inertia=(THICK**2 + HIGH**2) / 12, orientation="planar",
                   position=[APART * k, HIGH / 2], velocity=[-turn * HIGH / 2, -turn * THICK / 2], rotation=0.0,
                   angular_velocity=turn)  # fmt: skip
        b.shape("box", size=[THICK, HIGH])
        m.contact(b, dd.ground, friction=5.0)
    m.contact("all", friction=0.0)
    wanted = LeaningDominoes().moments(count, 6.0)
    tr = dd.simulate(m, wanted[-1] + 0.01, **options)
    # speeds_of looks at as many as have met their next one.
    assert speeds_of(tr, count - 1) == pytest.approx(APART / np.diff(wanted), rel=close)
