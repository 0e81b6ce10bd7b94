"""The mechanisms of the catalogue once more in as few coordinates as they have degrees of freedom, without constraints.

The references of the catalogue were computed from these. Every form is a model by energies and a map from its
coordinates to the states of the catalogue's model.
"""

import casadi as ca
import numpy as np

import daedalus as dd
from daedalus.catalogue.mechanics import delta_robot as delta
from daedalus.catalogue.mechanics import four_bar as bars
from daedalus.catalogue.mechanics import slider_crank as engine

G = 9.81


def unit(angle):
    return ca.vertcat(ca.cos(angle), ca.sin(angle))


def rod(m, mass, length, centre, angle):
    """The energies of a thin rod in the plane."""
    m.kinetic_energy(0.5 * mass * ca.sumsqr(m.der(centre)) + 0.5 * mass * length**2 / 12 * m.der(angle) ** 2)
    m.potential_energy(mass * G * centre[1])


def pendulum_3d():
    """Polar angle from the hanging vertical and azimuth."""
    m = dd.Model("spherical pendulum")
    lean = float(np.arctan2(0.6, 0.8))
    a, b = m.coordinate("a", start=lean, rate=0.0), m.coordinate("b", start=0.0, rate=1 / 0.6)
    place = ca.vertcat(ca.sin(a) * ca.cos(b), ca.sin(a) * ca.sin(b), -ca.cos(a))
    m.kinetic_energy(0.5 * (m.rate(a) ** 2 + (ca.sin(a) * m.rate(b)) ** 2))
    m.potential_energy(-G * ca.cos(a))
    return m, {"position": place}


def delta_robot():
    """The nacelle alone; each arm is at l (X cos α − z sin α) = (X² + y² + z² + l² − L²)/2 in its own plane."""
    m = dd.Model("nacelle")
    p = m.coordinate("p", 3, start=delta.nacelle(np.array([0.3, 0.5, 0.4])), rate=[0.0, 0.0, 0.0])
    long, short = delta.LONG, delta.SHORT
    angles = []
    for k in range(3):
        c, s = np.cos(2 * np.pi * k / 3), np.sin(2 * np.pi * k / 3)
        x, y, z = c * p[0] + s * p[1] - delta.DISTANCE, -s * p[0] + c * p[1], p[2]
        right = (x**2 + y**2 + z**2 + short**2 - long**2) / (2 * short)
        # X cos α − z sin α = R cos(α + φ) with φ = atan2(z, X); the arm lies outside.
        angles.append(-ca.acos(right / ca.sqrt(x**2 + z**2)) - ca.atan2(z, x))
    angle = ca.vertcat(*angles)
    torque = ca.DM([-1.4, -1.3, -1.2])
    m.kinetic_energy(0.5 * 0.5 * ca.sumsqr(m.rate(p)) + 0.5 * 0.012 * ca.sumsqr(m.der(angle)))
    m.potential_energy(0.5 * G * p[2] - 0.5 * 0.4 * G * short * ca.sum1(ca.sin(angle)) - torque.T @ angle)
    return m, {"position": p, "angle": angle}


def slider_crank():
    """The angle of the crank."""
    m = dd.Model("crank")
    a = m.coordinate("a", start=engine.ANGLE, rate=engine.RATE)
    lean = -ca.asin(engine.CRANK / engine.ROD * ca.sin(a))
    pin = engine.CRANK * unit(a)
    places = pin / 2, pin + engine.ROD / 2 * unit(lean), ca.vertcat((pin + engine.ROD * unit(lean))[0], 0)
    rod(m, 0.8, engine.CRANK, places[0], a)
    rod(m, 1.2, engine.ROD, places[1], lean)
    m.kinetic_energy(0.5 * 0.5 * ca.sumsqr(m.der(places[2])))
    angles = {"crank.angle": a, "rod.angle": lean, "slider.angle": 0.0}
    return m, {**dict(zip(("crank.position", "rod.position", "slider.position"), places)), **angles}


def four_bar():
    """The angle of the crank; coupler and rocker from the triangle with the diagonal."""
    m = dd.Model("crank")
    a = m.coordinate("a", start=bars.ANGLE, rate=bars.RATE)
    post = ca.DM([bars.GROUND, 0.0])
    pin = bars.CRANK * unit(a)
    gap = post - pin
    span = ca.sqrt(ca.sumsqr(gap))
    inside = ca.acos((bars.COUPLER**2 + span**2 - bars.ROCKER**2) / (2 * bars.COUPLER * span))
    coupler = ca.atan2(gap[1], gap[0]) + inside
    back = bars.COUPLER * unit(coupler) - gap
    rocker = ca.atan2(back[1], back[0])
    places = pin / 2, pin + bars.COUPLER / 2 * unit(coupler), post + bars.ROCKER / 2 * unit(rocker)
    names, lengths = ("crank", "coupler", "rocker"), (bars.CRANK, bars.COUPLER, bars.ROCKER)
    carried = {}
    for name, mass, length, place, angle in zip(names, bars.MASSES, lengths, places, (a, coupler, rocker)):
        rod(m, mass, length, place, angle)
        carried |= {f"{name}.position": place, f"{name}.angle": angle}
    return m, carried


def rod_chain(count=10):
    """The angles of the rods from the horizontal."""
    m = dd.Model("angles")
    a = m.coordinate("a", count, start=np.zeros(count), rate=np.zeros(count))
    end, carried = ca.SX.zeros(2), {}
    for k in range(count):
        centre = end + unit(a[k]) / (2 * count)
        rod(m, 1 / count, 1 / count, centre, a[k])
        carried |= {f"rod{k}.position": centre, f"rod{k}.angle": a[k]}
        end = end + unit(a[k]) / count
    return m, carried


FORMS = {form.__name__: form for form in (pendulum_3d, delta_robot, slider_crank, four_bar, rod_chain)}
