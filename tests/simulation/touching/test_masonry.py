"""Blocks that stand or fall by a known rule: arches, stacks, leaning planks, cylinders, columns on a slope."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import daedalus as dd
from daedalus.simulation.touching.least_norm_forces import least_norm

G = 9.81
WAYS = [{}, {"step": 1e-2}]


def weighty(slope=0.0):
    m = dd.Model("blocks")
    m.gravity([G * np.sin(slope), -G * np.cos(slope)])
    return m


def block(m, name, sides, place):
    b = m.body(name, mass=1.0, inertia=(sides[0] ** 2 + sides[1] ** 2) / 12, orientation="planar", position=place,
               velocity=[0, 0], rotation=0.0, angular_velocity=0.0)  # fmt: skip
    b.shape("box", size=sides)
    return b


class Arch:
    """A semicircle of radius 1 of equal wedges: with friction enough it stands by its thickness alone."""

    def __init__(self, count, thickness):
        self.count, self.thickness, self.half = count, thickness, np.pi / count / 2
        self.radii = np.array([1 - thickness / 2, 1 + thickness / 2])
        inner, outer = self.radii
        self.area = self.half * (outer**2 - inner**2)
        self.centroid = 2 / 3 * np.sin(self.half) / self.half * (outer**3 - inner**3) / (outer**2 - inner**2)
        middle = np.pi - self.half * (2 * np.arange(count) + 1)
        self.centres = self.centroid * np.column_stack([np.cos(middle), np.sin(middle)])

    def stands(self):
        """Whether pressing forces at the corners of all joints can carry the weights (J. Heyman, 1966)."""
        joints = np.pi - 2 * self.half * np.arange(self.count + 1)
        rows, weights = np.zeros((self.count, 3, self.count + 1, 2, 2)), np.zeros((self.count, 3))
        weights[:, 1] = 1.0
        for k in range(self.count):
            for j, sign in ((k, 1.0), (k + 1, -1.0)):
                out = np.array([np.cos(joints[j]), np.sin(joints[j])])
                for corner, radius in enumerate(self.radii):
                    arm = radius * out - self.centres[k]
                    for way, force in enumerate(([sign * out[1], -sign * out[0]], sign * out)):
                        rows[k, :, j, corner, way] += [*force, arm[0] * force[1] - arm[1] * force[0]]
        count = 4 * (self.count + 1)
        matrix = rows.reshape(3 * self.count, count)
        bounds = [(0, None), (None, None)] * (count // 2)
        return linprog(np.zeros(count), A_eq=matrix, b_eq=weights.ravel(), bounds=bounds, method="highs").status == 0

    def model(self, plate=0.01):
        """Each wedge is a body with a plate along each of its joints."""
        m, before = weighty(), dd.ground
        inertia = self.area * ((2 * self.half) ** 2 + self.thickness**2) / 12
        for k, centre in enumerate(self.centres):
            b = m.body(f"v{k}", mass=self.area, inertia=inertia, orientation="planar", position=centre,
                       velocity=[0, 0], rotation=0.0, angular_velocity=0.0)  # fmt: skip
            for joint, sign in ((np.pi - 2 * self.half * k, 1.0), (np.pi - 2 * self.half * (k + 1), -1.0)):
                inwards = sign * np.array([np.sin(joint), -np.cos(joint)])
                place = np.array([np.cos(joint), np.sin(joint)]) + 0.5 * plate * inwards
                b.shape("box", size=[self.thickness, plate], at=place - centre, rotation=joint)
            m.contact(b, before, friction=1.0)
            before = b
        m.contact(before, dd.ground, friction=1.0)
        return m


def least_thickness(count):
    low, high = 0.05, 0.2
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if Arch(count, middle).stands() else (middle, high)
    return high


def test_the_least_thickness_of_an_arch_is_that_of_milankovitch():
    # 0.1075 of the radius for thin wedges (J. A. Ochsendorf, The Structural Engineer 84, 2006): the reference below.
    assert least_thickness(40) == pytest.approx(0.1075, abs=1e-4)


@pytest.mark.parametrize("options", WAYS)
def test_an_arch_stands_down_to_its_least_thickness(options):
    count = 8
    least = least_thickness(count)
    for thickness, stands in ((1.02 * least, True), (0.98 * least, False)):
        tr = dd.simulate(Arch(count, thickness).model(), 0.3, **options)
        sinks = tr[f"v{count // 2}.position"][0, 1] - tr[f"v{count // 2}.position"][-1, 1]
        assert sinks < 1e-9 if stands else sinks > 1e-3
        (record,) = [r for r in tr.records if type(r).__name__ == "ContactsStepped"]
        assert record.unsolved == 0


@pytest.mark.wide
def test_an_arch_of_many_wedges_stands_down_to_its_least_thickness():
    least = least_thickness(24)
    for thickness, stands in ((1.02 * least, True), (0.98 * least, False)):
        tr = dd.simulate(Arch(24, thickness).model(), 0.5, step=2e-3)
        sinks = tr["v12.position"][0, 1] - tr["v12.position"][-1, 1]
        assert sinks < 1e-6 if stands else sinks > 1e-2


def test_forces_of_least_norm_are_those_that_many_projections_come_to():
    # Of R. Dykstra's projections in turn (1983), onto the forces of one motion and onto the cones.
    draw = np.random.default_rng(4)
    for _ in range(2):
        count, friction = 6, 0.4
        points = np.zeros((count, 13))
        points[:, 0], points[:, 8:11], points[:, 11] = -1, [0, 0, 1], friction
        points[:, 5:7] = draw.uniform(-1, 1, (count, 2))
        points[:, 7] = -0.3
        given = np.column_stack([draw.uniform(-0.2, 0.2, (count, 2)), np.ones(count)])
        found = least_norm(given, points, (1, 1.0))
        assert found is not None
        effect = np.zeros((6, 3 * count))
        for k, arm in enumerate(points[:, 5:8]):
            effect[:3, 3 * k : 3 * k + 3] = np.eye(3)
            effect[3:, 3 * k : 3 * k + 3] = np.cross(arm, np.eye(3)).T
        back = np.linalg.pinv(effect)
        p = fixed = back @ effect @ given.ravel()
        offset = np.zeros(3 * count)
        for _ in range(4000):
            across = (p + offset).reshape(-1, 3)
            size, normal = np.hypot(across[:, 0], across[:, 1]), across[:, 2]
            pressed = np.clip((normal + friction * size) / (1 + friction**2), 0, None)
            inside = np.where(size <= friction * normal, normal, pressed)
            share = np.where(size <= friction * normal, 1.0, friction * pressed / size)
            cone = np.column_stack([share * across[:, 0], share * across[:, 1], inside]).ravel()
            offset += p - cone
            p = fixed + cone - back @ (effect @ cone)
        assert effect @ found.ravel() == pytest.approx(effect @ given.ravel(), abs=1e-9)
        assert found.ravel() == pytest.approx(p, abs=1e-5)


@pytest.mark.parametrize("options", WAYS)
def test_bricks_overhang_by_the_harmonic_series(options):
    count, long, high = 3, 0.4, 0.1
    for share, falls in ((0.98, False), (1.02, True)):
        m = weighty()
        base = block(m, "base", [long, high], [0, high / 2])
        m.constraint("x", base.position[0])
        m.constraint("y", base.position[1] - high / 2)
        m.constraint("angle", m["base.angle"])
        place = 0.0
        for k in range(count):
            place += share * long / 2 / (count - k)
            block(m, f"b{k}", [long, high], [place, high * (k + 1.5)])
        m.contact("all", friction=0.8)
        tr = dd.simulate(m, 0.6, **options)
        sinks = tr["b2.position"][0, 1] - tr["b2.position"][-1, 1]
        assert sinks > 1e-3 if falls else sinks < 1e-8


@pytest.mark.parametrize("options", WAYS)
def test_a_cylinder_rests_on_two_others_down_to_a_known_friction(options):
    radius = 0.1
    for friction, rests in ((1.02 * np.tan(np.pi / 12), True), (0.98 * np.tan(np.pi / 12), False)):
        m = weighty()
        for name, place in (("l", [-radius, radius]), ("r", [radius, radius]), ("t", [0, (1 + 3**0.5) * radius])):
            b = m.body(name, mass=1.0, inertia=0.5 * radius**2, orientation="planar", position=place, velocity=[0, 0],
                       rotation=0.0, angular_velocity=0.0)  # fmt: skip
            b.shape("sphere", size=radius)
        m.contact("all", friction=friction)
        tr = dd.simulate(m, 0.5, **options)
        sinks = tr["t.position"][0, 1] - tr["t.position"][-1, 1]
        assert sinks < 1e-9 if rests else sinks > 1e-3


@pytest.mark.parametrize("options", WAYS)
def test_two_planks_lean_on_each_other_down_to_a_known_friction(options):
    # At an angle α from upright each pushes outwards with tan α / 2 of its weight.
    slope, long, radius = 0.6, 1.0, 0.01
    angle = np.arctan(slope)
    for friction, stands in ((1.03 * slope / 2, True), (0.96 * slope / 2, False)):
        m = weighty()
        for name, side in (("l", -1), ("r", 1)):
            place = [side * (long / 2 * np.sin(angle) + radius), long / 2 * np.cos(angle) + radius]
            b = m.body(name, mass=1.0, inertia=1 / 12, orientation="planar", position=place, velocity=[0, 0],
                       rotation=np.pi / 2 + side * angle, angular_velocity=0.0)  # fmt: skip
            b.shape("capsule", size=[radius, long])
            m.contact(b, dd.ground, friction=friction)
        m.contact("l", "r", friction=1.0)
        tr = dd.simulate(m, 0.6, **options)
        sinks = tr["l.position"][0, 1] - tr["l.position"][-1, 1]
        assert sinks < 1e-8 if stands else sinks > 1e-3


@pytest.mark.wide
@pytest.mark.parametrize("options", WAYS)
def test_a_column_topples_as_a_whole_where_its_weight_leaves_its_base(options):
    count, wide, high = 6, 0.3, 0.2
    for share, falls in ((0.97, False), (1.03, True)):
        m = weighty(np.arctan(share * wide / (count * high)))
        for k in range(count):
            block(m, f"b{k}", [wide, high], [0, high * (k + 0.5)])
        m.contact("all", friction=0.9)
        tr = dd.simulate(m, 1.0, **options)
        leans = tr["b5.position"][-1, 0]
        assert leans > 1e-2 if falls else abs(leans) < 1e-8
