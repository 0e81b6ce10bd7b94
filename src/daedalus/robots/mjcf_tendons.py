"""Fixed tendons of an MJCF file: lengths that are sums of joint coordinates, with springs and dampers along them.

    l = Σ_j c_j q_j,      force on joint j:  c_j (−k s − d l'),      s = l − l₀, or how far l is outside of [l₀, l₁]

Tendons along a path in space are listed (https://mujoco.readthedocs.io/en/stable/XMLreference.html#tendon-fixed).
"""

from __future__ import annotations

import casadi as ca

from daedalus.errors import InputError
from daedalus.model.model import Model
from daedalus.robots.file_elements import Element, numbers, required
from daedalus.robots.links_and_joints import FileTendon, JointSum
from daedalus.robots.mjcf_sections import MjcfReading, list_words, named_part

WORDS = {
    "name", "class", "group", "width", "rgba", "material", "user", "stiffness", "damping", "springlength", "limited",
    "solreflimit", "solimplimit", "solreffriction", "solimpfriction", "margin",
}  # fmt: skip


def read_tendons(root: Element, reading: MjcfReading) -> dict[str, FileTendon]:
    """The tendons by the names that the file gives them; what they have and the model has not is listed."""
    found: dict[str, FileTendon] = {}
    for k, raw in enumerate(child for group in root.findall("tendon") for child in group):
        name = raw.get("name") or f"tendon_{k}"
        if raw.tag != "fixed":
            reading.robot.unsupported.append(f"<tendon>: <{raw.tag}> {name!r}")
            continue
        element = reading.defaults.applied(raw, "main", "tendon")
        if name in found:
            raise InputError(
                f"Two tendons are called {name!r}.", because="drives find them by name.", remedy="another name for one"
            )
        found[name] = _fixed(raw, element, name, reading)
    return found


def _fixed(raw: Element, element: Element, name: str, reading: MjcfReading) -> FileTendon:
    where = f"tendon {name!r}"
    list_words(element, WORDS, f"{{word}} of {where}", reading.robot)
    joints = {joint.name: joint for joint in reading.robot.joints}
    terms = []
    for part in raw.findall("joint"):
        joint = named_part("joint", part.get("joint") or "", where, reading)
        if joints[joint].kind not in ("revolute", "prismatic"):
            raise InputError(
                f"{where[0].upper()}{where[1:]} pulls at {part.get('joint')!r}, which has no single coordinate.",
                because="its length is a sum of angles and displacements.",
                remedy="hinges and slides",
            )
        required(part, "coef", f"The joint {part.get('joint')!r} of {where}")
        terms.append((joint, float(numbers(part, "coef", 1, [1.0], f"{where} at {joint!r}")[0])))
    if not terms:
        raise InputError(
            f"{where[0].upper()}{where[1:]} has no joints.",
            because="its length is a sum of their coordinates.",
            remedy='<joint joint="finger" coef="1"/>',
        )
    given = numbers(element, "springlength", len((element.get("springlength") or "-1").split()), [-1.0], where)
    # −1: the length where the springs of the joints rest.
    own = sum(share * joints[joint].rest for joint, share in terms)
    rest = (own, own) if given[0] == -1 else (float(given[0]), float(given[-1]))
    stiffness, damping = (float(numbers(element, word, 1, [0.0], where)[0]) for word in ("stiffness", "damping"))
    return FileTendon(name, tuple(terms), stiffness, damping, rest)


def write_tendon(model: Model, tendon: FileTendon) -> None:
    """The spring and the damper of a tendon."""
    length, rate = length_and_rate(model, tendon.length)
    low, high = tendon.rest
    if tendon.stiffness:
        beyond = length - low if low == high else ca.fmax(length - high, 0) + ca.fmin(length - low, 0)
        model.potential_energy(0.5 * tendon.stiffness * beyond**2)
    if tendon.damping:
        model.dissipation(0.5 * tendon.damping * rate**2)


def length_and_rate(model: Model, terms: JointSum) -> tuple[ca.SX, ca.SX]:
    """A sum of joint coordinates, and its rate."""
    coordinates = [(model[model.written.mechanics.tree[joint].coordinate], share) for joint, share in terms]
    length, rate = ca.SX(0), ca.SX(0)
    for q, share in coordinates:
        length, rate = length + share * q, rate + share * model.rate(q)
    return length, rate
