"""Impacts and edges against closed forms: random balls that spin, steps climbed and rolled off, ridges, rollers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import daedalus as dd

G = 9.81
# Steps that follow the tolerance, and equal ones, which are of first order where bodies strike.
WAYS = [({}, 1e-6), ({"step": 1e-3}, 3e-2)]


def flat(m, name, place, velocity=(0.0, 0.0), mass=1.0, spin=0.0, *, disk=None, box=None):
    inertia = 0.5 * mass * disk**2 if disk else mass * (box[0] ** 2 + box[1] ** 2) / 12
    b = m.body(name, mass=mass, inertia=inertia, orientation="planar", position=list(place), velocity=list(velocity),
               rotation=0.0, angular_velocity=spin)  # fmt: skip
    b.shape("sphere" if disk else "box", size=disk or list(box))
    return b


def weighty(*gravity):
    m = dd.Model("m")
    m.gravity(list(gravity))
    return m


@pytest.mark.parametrize(("options", "close"), [({}, 1e-8), ({"step": 2e-4}, 5e-3)])
@pytest.mark.parametrize("seed", [1, 2, pytest.param(3, marks=pytest.mark.wide)])
def test_spinning_balls_of_any_size_meet_as_newton_and_coulomb_say(seed, options, close):
    # P = -(1 + e) u_n μ_n n along the normal; across, what stops the slip, 2/7 of the reduced mass, or μ P at most.
    draw = np.random.default_rng(seed)
    radii, masses = draw.uniform(0.05, 0.2, 2), draw.uniform(0.3, 3, 2)
    friction, restitution = draw.uniform(0.05, 0.5), draw.uniform(0, 1)
    normal = draw.normal(size=3)
    normal /= np.linalg.norm(normal)
    across = np.cross(normal, draw.normal(size=3))
    places = np.array([np.zeros(3), (sum(radii) + 0.01) * normal + 0.3 * min(radii) * across / np.linalg.norm(across)])
    velocities = np.array([draw.normal(size=3), np.zeros(3)])
    velocities[1] = velocities[0] - 1.5 * normal
    spins = 8 * draw.normal(size=(2, 3))
    m = weighty(0, 0, 0)
    balls = []
    for k in range(2):
        inertia = dd.inertia.sphere(masses[k], radii[k])
        b = m.body(f"b{k}", mass=masses[k], inertia=inertia, position=places[k], velocity=velocities[k],
                   rotation=np.eye(3), angular_velocity=spins[k])  # fmt: skip
        b.shape("sphere", size=radii[k])
        balls.append(b)
    m.contact(*balls, friction=friction, restitution=restitution)
    apart, approach = places[1] - places[0], velocities[1] - velocities[0]
    half, square = apart @ approach, approach @ approach
    when = (-half - np.sqrt(half**2 - square * (apart @ apart - sum(radii) ** 2))) / square
    along = (apart + when * approach) / sum(radii)
    slip = approach - np.cross(radii @ spins, along)
    reduced = 1 / sum(1 / masses)
    press = -(1 + restitution) * (slip @ along) * reduced
    slip -= (slip @ along) * along
    stops = 2 / 7 * reduced * np.linalg.norm(slip)
    impulse = press * along - min(stops, friction * press) * slip / np.linalg.norm(slip)
    tr = dd.simulate(m, when + 0.02, **options)
    for k, sign in ((0, -1), (1, 1)):
        assert tr[f"b{k}.velocity"][-1] == pytest.approx(velocities[k] + sign * impulse / masses[k], abs=close)
        # Both are pushed below the line of centres in the same sense: -r n × (-P), and (-r n) × P.
        turn = -radii[k] * np.cross(along, impulse) / (0.4 * masses[k] * radii[k] ** 2)
        world = Rotation.from_quat(tr[f"b{k}.quaternion"][-1], scalar_first=True).apply(
            tr[f"b{k}.angular_velocity"][-1]
        )
        assert world == pytest.approx(spins[k] + turn, abs=close / radii[k])


@pytest.mark.parametrize(("height", "options", "close"), [
    (0.03, {"rtol": 1e-3}, 1e-5), pytest.param(0.03, *WAYS[1], marks=pytest.mark.wide),
    pytest.param(0.01, *WAYS[0], marks=pytest.mark.wide),
])  # fmt: skip
def test_a_disk_that_meets_a_step_keeps_its_moment_about_the_edge(height, options, close):
    # ω' = ω (1 - 2 h / 3 R), and it climbs where this is enough for the height.
    radius, start = 0.1, -0.2
    need = np.sqrt(2 * G * height / (1.5 * radius**2)) / (1 - 2 * height / (3 * radius))
    for share, climbs in ((0.97, False), (1.03, True)):
        m = weighty(0, -G)
        m.ground.shape("plane")
        m.ground.shape("box", size=[2.0, height], at=[1.0, height / 2])
        spin = share * need
        m.contact(flat(m, "b", (start, radius), (spin * radius, 0), spin=-spin, disk=radius), dd.ground, friction=20.0)
        way = -start - np.sqrt(radius**2 - (radius - height) ** 2)
        tr = dd.simulate(m, way / (spin * radius) + 0.4, **options)
        rates = -tr["b.angular_velocity"]
        behind = rates[np.argmax(rates < spin * (1 - height / (3 * radius)))]
        assert behind == pytest.approx(spin * (1 - 2 * height / (3 * radius)), rel=close)
        assert (np.max(tr["b.position"][:, 1]) > radius + 0.999 * height) == climbs


def test_a_ball_that_rolls_over_an_edge_leaves_it_where_its_load_is_gone():
    # cos θ = (10 + 7 v² / g R) / 17, by 7/10 v² + g R cos θ and v² = g R cos θ; faster than √(g R) it leaves at once.
    radius = 0.1
    for speed in (0.6, 1.5):
        m = weighty(0, -G)
        m.ground.shape("box", size=[2.0, 1.0], at=[-1.0, -0.5])
        b = m.body("b", mass=1.0, inertia=0.4 * radius**2, orientation="planar", position=[-0.1, radius],
                   velocity=[speed, 0], rotation=0.0, angular_velocity=-speed / radius)  # fmt: skip
        b.shape("sphere", size=radius)
        m.contact(b, dd.ground, friction=50.0)
        tr = dd.simulate(m, 0.1 / speed + 0.45, rtol=1e-5)
        left = next(event for event in tr.events if event.name == "b_ground.opens")
        assert left.before["b.position"][1] / radius == pytest.approx(
            min((10 + 7 * speed**2 / (G * radius)) / 17, 1.0), abs=1e-3
        )
        if speed > np.sqrt(G * radius):
            falls = tr.time[-1] - 0.1 / speed
            assert tr["b.position"][-1] == pytest.approx([speed * falls, radius - 0.5 * G * falls**2], abs=1e-5)


@pytest.mark.parametrize(("options", "close"), WAYS)
def test_a_box_that_slides_against_a_ridge_turns_about_it(options, close):
    # Its face stays at the ridge at height y, its corner on the floor: ω = v d / (J / m + d² + a² / 4), d = a / 2 - y.
    side, ridge, speed = 0.2, 0.03, 1.2
    m = weighty(0, -G)
    m.ground.shape("plane")
    m.ground.shape("box", size=[0.1, ridge], at=[0.3, ridge / 2])
    m.contact(flat(m, "b", (0.1, side / 2), (speed, 0), box=(side, side)), dd.ground, friction=0.0)
    tr = dd.simulate(m, 0.05 / speed + 0.002, **options)
    above = side / 2 - ridge
    wanted = speed * above / (side**2 / 6 + above**2 + side**2 / 4)
    assert np.abs(tr["b.angular_velocity"]).max() == pytest.approx(wanted, rel=close)


@pytest.mark.parametrize(("options", "close"), WAYS)
@pytest.mark.parametrize("restitution", [1.0, 0.7])
def test_a_small_ball_on_a_large_one_is_thrown_high(restitution, options, close):
    # Dropped together, with a gap, they strike in turn: the large one the floor, then both each other.
    masses, radii, high, gap, span = (2.0, 0.3), (0.1, 0.05), 1.0, 1e-3, 0.48
    m = weighty(0, -G)
    large = flat(m, "large", (0, radii[0] + high), mass=masses[0], disk=radii[0])
    small = flat(m, "small", (0, 2 * radii[0] + radii[1] + high + gap), mass=masses[1], disk=radii[1])
    m.contact(large, dd.ground, friction=0.3, restitution=restitution)
    m.contact(small, large, friction=0.3, restitution=restitution)
    speed = np.sqrt(2 * G * high)
    meet = gap / ((1 + restitution) * speed)
    one, two = restitution * speed - G * meet, -speed - G * meet
    together = (masses[0] * one + masses[1] * two) / sum(masses)
    wanted = together + masses[0] / sum(masses) * restitution * (one - two) - G * (span - speed / G - meet)
    assert dd.simulate(m, span, **options)["small.velocity"][-1, 1] == pytest.approx(wanted, rel=close)


@pytest.mark.parametrize("options", [{}, {"step": 5e-3}])
def test_a_plank_on_rollers_goes_twice_as_fast_as_they_do(options):
    # Each roller takes part with (m + J / R²) / 4 of mass.
    radius, mass, pull = 0.1, 0.5, 3.0
    m = weighty(0, -G)
    rollers = [flat(m, name, (x, radius), mass=mass, disk=radius) for name, x in (("a", -0.3), ("b", 0.3))]
    plank = flat(m, "plank", (0, 2 * radius + 0.05), mass=2.0, box=(2.0, 0.1))
    plank.apply_force([pull, 0], frame="world")
    for roller in rollers:
        m.contact(roller, dd.ground, friction=0.8)
        m.contact(plank, roller, friction=0.8)
    tr = dd.simulate(m, 0.4, **options)
    speed = 0.4 * pull / (2.0 + 2 * 1.5 * mass / 4)
    assert (tr["plank.velocity"][-1, 0], tr["a.velocity"][-1, 0]) == pytest.approx((speed, speed / 2), rel=1e-6)


def test_power_counts_friction_and_forces_are_arrows():
    friction, speed = 0.3, 2.0
    m = weighty(0, -G)
    m.contact(flat(m, "b", (0, 0.05), (speed, 0), mass=2.0, box=(0.4, 0.1)), dd.ground, friction=friction)
    tr = dd.simulate(m, 0.5)
    power = tr.power()
    assert np.asarray(power["lost"]).ravel()[:-1] == pytest.approx(
        friction * 2 * G * tr["b.velocity"][:-1, 0], rel=1e-3
    )
    assert "b_ground.force" in {name for name, shape in m.written.sketch.shapes.items() if shape.kind == "arrow"}
