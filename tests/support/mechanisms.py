"""Linkages and parallel robots, written once and built in body or in joint coordinates.

A mechanism is its bodies (name, centre of mass, mass) and its joints (name, kind, two bodies, place, axes), all in the
world at the start, where no body is turned: so every loop is closed as it is drawn.
"""

import numpy as np

import daedalus as dd

MOMENTS = [0.02, 0.03, 0.025]
GROUND = "ground"


def built(mechanism, coordinates, gravity=(0.3, 0.2, -9.81)):
    """The model of a mechanism at rest."""
    bodies, joints = mechanism
    m = dd.Model("mechanism")
    m.gravity(list(gravity))
    made, places = {GROUND: dd.ground}, {GROUND: np.zeros(3)}
    for name, place, mass in bodies:
        places[name] = np.asarray(place, float)
        made[name] = m.body(
            name, mass, MOMENTS, position=places[name].tolist(), velocity=[0, 0, 0], rotation=np.eye(3),
            angular_velocity=[0, 0, 0],
        )  # fmt: skip
    for name, kind, a, b, place, *axes in joints:
        at_a, at_b = ((np.asarray(place, float) - places[side]).tolist() for side in (a, b))
        directions = {f"axis_{letter}": list(map(float, axis)) for letter, axis in zip("ab", axes)}
        m.joint(name, kind, made[a], made[b], at_a=at_a, at_b=at_b, coordinates=coordinates, **directions)
    return m


def link(name, start, end, mass=1.0):
    """A body half-way between two places."""
    return name, (np.asarray(start, float) + np.asarray(end, float)) / 2, mass


def around(count):
    """Directions outwards and along the circle, evenly spread about the vertical."""
    turns = 2 * np.pi * np.arange(count) / count
    return [(np.array([np.cos(t), np.sin(t), 0.0]), np.array([-np.sin(t), np.cos(t), 0.0])) for t in turns]


def across(along):
    """Two directions at right angles to another one and to each other."""
    first = np.cross(along, [0.0, 0.0, 1.0])
    first /= np.linalg.norm(first)
    return first, np.cross(along, first)


def gimbal():
    """A rotor in two rings: axes through one point."""
    bodies = [("outer", [0, 0, 0.01], 1.0), ("inner", [0.01, 0, 0], 0.8), ("rotor", [0, 0.02, 0.05], 2.0)]
    names = [GROUND, *(name for name, _, _ in bodies)]
    axes = ([0, 0, 1], [1, 0, 0], [0, 1, 0])
    return bodies, [(f"j{k}", "revolute", names[k], names[k + 1], [0, 0, 0], axes[k]) for k in range(3)]


def hinges_in_a_ring(places, axes):
    """Bodies between hinges, the first and the last of which are on the ground."""
    bodies = [link(f"b{k}", places[k], places[k + 1]) for k in range(len(places) - 1)]
    names = [GROUND, *(name for name, _, _ in bodies), GROUND]
    return bodies, [(f"j{k}", "revolute", names[k], names[k + 1], places[k], axes[k]) for k in range(len(places))]


def spherical_four_bar():
    """Four hinges whose axes meet in one point."""
    axes = [
        np.array(axis) / np.linalg.norm(axis) for axis in ([1, 0.1, 0], [0.7, 0.7, 0.2], [0.1, 1, 0.6], [0, 0.5, -0.9])
    ]
    bodies = [(f"b{k}", 0.5 * (axes[k] + axes[k + 1]), 1.0) for k in range(3)]
    names = [GROUND, "b0", "b1", "b2", GROUND]
    return bodies, [(f"j{k}", "revolute", names[k], names[k + 1], [0, 0, 0], axes[k]) for k in range(4)]


def bennett_ratio(alpha, beta):
    """tan φ/2 tan ψ/2 of neighbouring angles of Bennett's linkage, but for the sign (Bennett 1903)."""
    return np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2)


def bennett(alpha=5 * np.pi / 18, beta=11 * np.pi / 18, first=0.9, length=1.0):
    """Bennett's linkage: four skew hinges, a / sin α = b / sin β; it moves, though a count of equations says no.

    alpha, beta: twists of the links; first: the first angle, 0 where the linkage is folded; length: a.
    """
    lengths = (length, length * np.sin(beta) / np.sin(alpha)) * 2
    second = 2 * np.arctan(bennett_ratio(alpha, beta) / np.tan(first / 2))

    def turned(angle, length, twist):
        (c, s), (d, e) = (np.cos(angle), np.sin(angle)), (np.cos(twist), np.sin(twist))
        about = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
        return about, about @ np.array([[1, 0, 0, length], [0, d, -e, 0], [0, e, d, 0], [0, 0, 0, 1]])

    def frames(other):
        pose, found = np.eye(4), []
        for angle, length, twist in zip((first, other, -first, -other), lengths, (alpha, beta) * 2):
            hinge, onwards = turned(angle, length, twist)
            found.append(pose @ hinge)
            pose = pose @ onwards
        return found, np.abs(pose - np.eye(4)).max()

    found, gap = min((frames(other) for other in (second, -second, np.pi - second)), key=lambda one: one[1])
    assert gap < 1e-12
    return hinges_in_a_ring([pose[:3, 3] for pose in found], [pose[:3, 2] for pose in found])


def sarrus():
    """Two folding legs at right angles to each other carry a plate straight up."""
    bodies, joints = [("top", [0, 0, 1.0], 2.0)], []
    for leg, (outwards, axis) in {"a": ([0, 1, 0], [1, 0, 0]), "b": ([1, 0, 0], [0, 1, 0])}.items():
        out, up = np.array(outwards, float), np.array([0, 0, 1.0])
        places = [out, 1.4 * out + 0.5 * up, out + up]
        bodies += [link(f"{leg}0", *places[:2]), link(f"{leg}1", *places[1:])]
        names = [GROUND, f"{leg}0", f"{leg}1", "top"]
        joints += [(f"j{leg}{k}", "revolute", names[k], names[k + 1], places[k], axis) for k in range(3)]
    return bodies, joints


def rssr():
    """Crank and rocker about skew axes, and a rod between them."""
    p, q, r, s = map(np.array, ([0, 0, 0.0], [0, 0.3, 0.1], [1.0, 0.5, 0.4], [1.0, 0.5, 0.0]))
    bodies = [link("crank", p, q), link("rod", q, r, 0.5), link("rocker", r, s)]
    return bodies, [
        ("drive", "revolute", GROUND, "crank", p, [1, 0, 0]), ("near", "universal", "crank", "rod", q, *across(r - q)),
        ("far", "spherical", "rod", "rocker", r), ("rest", "revolute", "rocker", GROUND, s, [0, 1, 0]),
    ]  # fmt: skip


def three_rpr():
    """A plate that moves in a vertical plane on three legs that change their length."""
    bodies, joints = [("top", [0.5, 0, 0.4], 1.5)], []
    ends = (([0, 0, 0], [0.35, 0, 0.35]), ([1, 0, 0], [0.65, 0, 0.35]), ([0.5, 0, 1.0], [0.5, 0, 0.6]))
    for k, (start, end) in enumerate(np.array(ends, float)):
        along = (end - start) / np.linalg.norm(end - start)
        bodies += [(f"tube{k}", start + 0.1 * along, 0.4), (f"rod{k}", end - 0.1 * along, 0.4)]
        joints += [
            (f"foot{k}", "revolute", GROUND, f"tube{k}", start, [0, 1, 0]),
            (f"slide{k}", "prismatic", f"tube{k}", f"rod{k}", (start + end) / 2, along),
            (f"pin{k}", "revolute", f"rod{k}", "top", end, [0, 1, 0]),
        ]
    return bodies, joints


def three_rrs():
    """A plate on three folding legs with balls at their ends."""
    bodies, joints = [("top", [0, 0, 0.8], 2.0)], []
    for k, (out, along) in enumerate(around(3)):
        places = [0.5 * out, 0.7 * out + [0, 0, 0.4], 0.3 * out + [0, 0, 0.8]]
        bodies += [link(f"lower{k}", *places[:2]), link(f"upper{k}", *places[1:])]
        joints += [
            (f"foot{k}", "revolute", GROUND, f"lower{k}", places[0], along),
            (f"knee{k}", "revolute", f"lower{k}", f"upper{k}", places[1], along),
            (f"ball{k}", "spherical", f"upper{k}", "top", places[2]),
        ]
    return bodies, joints


def delta_robot():
    """Clavel's robot: three cranks, each with two parallel rods to the plate."""
    bodies, joints = [("top", [0, 0, -1.0], 1.0)], []
    for k, (out, along) in enumerate(around(3)):
        hip, elbow, wrist = 0.3 * out, 0.7 * out + [0, 0, -0.1], 0.15 * out + [0, 0, -1.0]
        bodies.append(link(f"crank{k}", hip, elbow))
        joints.append((f"hip{k}", "revolute", GROUND, f"crank{k}", hip, along))
        for side, shift in {"left": 0.05 * along, "right": -0.05 * along}.items():
            name = f"rod{k}{side}"
            bodies.append(link(name, elbow + shift, wrist + shift, 0.2))
            joints += [
                (f"elbow{k}{side}", "universal", f"crank{k}", name, elbow + shift, *across(wrist - elbow)),
                (f"wrist{k}{side}", "spherical", name, "top", wrist + shift),
            ]
    return bodies, joints


def stewart_platform():
    """A plate on six legs that change their length."""
    bodies, joints = [("top", [0.02, -0.01, 1.0], 3.0)], []
    for k in range(6):
        middle, side = 2 * np.pi * (k // 2) / 3, 1 if k % 2 == 0 else -1
        foot, head = (np.array([np.cos(t), np.sin(t), 0]) for t in (middle + 0.21 * side, middle + 0.7 * side))
        head = 0.5 * head + [0.02, -0.01, 1.0]
        along = (head - foot) / np.linalg.norm(head - foot)
        bodies += [(f"tube{k}", foot + 0.3 * along, 0.5), (f"rod{k}", head - 0.3 * along, 0.4)]
        joints += [
            (f"foot{k}", "universal", GROUND, f"tube{k}", foot, *across(along)),
            (f"slide{k}", "prismatic", f"tube{k}", f"rod{k}", foot + 0.5 * along, along),
            (f"ball{k}", "spherical", f"rod{k}", "top", head),
        ]
    return bodies, joints


def cable():
    """Eight rods on universal joints, held out straight."""
    places = [np.array([0.2 * k, 0, 0]) for k in range(9)]
    names = [GROUND, *(f"rod{k}" for k in range(8))]
    bodies = [link(f"rod{k}", places[k], places[k + 1], 0.3) for k in range(8)]
    return bodies, [(f"j{k}", "universal", names[k], names[k + 1], places[k], [0, 1, 0], [0, 0, 1]) for k in range(8)]


def satellite():
    """A free body with two arms of three hinges."""
    bodies, joints = [("bus", [0, 0, 0], 10.0)], []
    for name, side in (("left", 1), ("right", -1)):
        before = "bus"
        for k, axis in enumerate(([1, 0, 0], [0, 0, 1], [0.6, 0, 0.8])):
            start = np.array([0.1 * k, side * (0.5 + 0.4 * k), 0.05 * k])
            end = start + np.array([0.1, 0.4 * side, 0.05])
            bodies.append(link(f"{name}{k}", start, end, 0.7))
            joints.append((f"{name}_hinge{k}", "revolute", before, f"{name}{k}", start, axis))
            before = f"{name}{k}"
    return bodies, joints


def hexapod():
    """A free body with six legs of three hinges."""
    bodies, joints = [("bus", [0, 0, 0.5], 5.0)], []
    for k in range(6):
        side = 1 if k % 2 else -1
        hip = np.array([0.3 * (k // 2 - 1), 0.15 * side, 0.5])
        steps = ([0, 0.08 * side, 0], [0, 0.2 * side, 0.1], [0, 0.05 * side, -0.5])
        places = [hip, *(hip + np.sum(steps[: n + 1], axis=0) for n in range(3))]
        names = ["bus", *(f"{part}{k}" for part in ("coxa", "femur", "tibia"))]
        axes = ([0, 0, 1], [1, 0, 0], [1, 0, 0])
        for n in range(3):
            bodies.append(link(names[n + 1], places[n], places[n + 1], 0.3))
            joints.append((f"j{k}{n}", "revolute", names[n], names[n + 1], places[n], axes[n]))
    return bodies, joints


MECHANISMS = {
    made.__name__: made
    for made in (
        gimbal, spherical_four_bar, bennett, sarrus, rssr, three_rpr, three_rrs, delta_robot, stewart_platform, cable,
        satellite, hexapod,
    )
}  # fmt: skip
