"""Actuators of an MJCF file that have no state of their own: forces on joints and fixed tendons by their inputs.

    force = gear · ((g₀ + g₁ l + g₂ l') u + b₀ + b₁ l + b₂ l'),      l = gear · Σ_j c_j q_j

with the gains g and biases b of each kind (https://mujoco.readthedocs.io/en/stable/modeling.html#actuators).
"""

from __future__ import annotations

from collections.abc import Mapping

from daedalus.errors import InputError
from daedalus.model.model import Model
from daedalus.model.names import did_you_mean
from daedalus.robots.file_elements import Element, numbers, plain_name
from daedalus.robots.links_and_joints import FileDrive, FileTendon, Three
from daedalus.robots.mjcf_sections import MjcfReading, list_words, named_part
from daedalus.robots.mjcf_tendons import length_and_rate

_COMMON = {"name", "class", "joint", "jointinparent", "tendon", "gear", "ctrlrange", "ctrllimited", "group", "user"}
WORDS = {
    "motor": _COMMON,
    "position": {*_COMMON, "kp", "kv", "timeconst"},
    "velocity": {*_COMMON, "kv"},
    "damper": {*_COMMON, "kv"},
    "general": {*_COMMON, "gaintype", "gainprm", "biastype", "biasprm", "dyntype", "dynprm"},
}


def read_drives(root: Element, reading: MjcfReading, tendons: Mapping[str, FileTendon]) -> None:
    """All actuators on joints with one coordinate and on fixed tendons; the others are listed."""
    single = {joint.name for joint in reading.robot.joints if joint.kind in ("revolute", "prismatic")}
    for k, raw in enumerate(child for group in root.findall("actuator") for child in group):
        element = reading.defaults.applied(raw, "main")
        given = element.get("name") or f"{raw.tag}_{k}"
        where = f"{raw.tag} {given!r}"
        named = element.get("joint") or element.get("jointinparent")
        joint = named_part("joint", named, where, reading) if named else None
        tendon = _tendon(element.get("tendon"), where, root, tendons)
        pulled = ((joint, 1.0),) if joint in single else None if tendon is None else tendon.length
        law = None if raw.tag not in WORDS or pulled is None else _law(element, raw.tag, where)
        if law is None or pulled is None:
            reading.robot.unsupported.append(f"<{raw.tag}> {given!r}")
            continue
        list_words(element, WORDS[raw.tag], f"{{word}} of {where}", reading.robot)
        gears = (element.get("gear") or "1").split()
        gear = float(numbers(element, "gear", len(gears), [1.0], where)[0])
        low = high = None
        limited = element.get("ctrllimited", "auto")
        if element.get("ctrlrange") is not None and (
            limited == "true" or (limited == "auto" and reading.rules.autolimits)
        ):
            low, high = (float(v) for v in numbers(element, "ctrlrange", 2, [0, 0], where))
        reading.drives.append(FileDrive(plain_name(given, reading.taken), pulled, gear, *law, low, high))


def _tendon(given: str | None, where: str, root: Element, tendons: Mapping[str, FileTendon]) -> FileTendon | None:
    """The fixed tendon that an actuator pulls; None where it names none, or one in space."""
    known = [part.get("name", "") for group in root.findall("tendon") for part in group]
    if given and given not in known:
        raise InputError(
            f"The tendon {given!r} of {where} is not in the file.",
            because="it pulls a tendon of the file.",
            remedy=did_you_mean(given, known, listed=False),
        )
    return tendons.get(given or "")


def _law(element: Element, kind: str, where: str) -> tuple[Three, Three] | None:
    """Gains and biases; None for laws with a state, a muscle or a table."""
    none = (0.0, 0.0, 0.0)
    if kind == "motor":
        return (1.0, 0.0, 0.0), none
    if kind == "general":
        return _general(element, where)
    stiff, slow = (
        float(numbers(element, w, 1, [d], where)[0]) for w, d in (("kp", 1.0), ("kv", float(kind == "velocity")))
    )
    if kind == "damper":
        return (0.0, 0.0, -slow), none
    if kind == "velocity":
        return (slow, 0.0, 0.0), (0.0, 0.0, -slow)
    if element.get("dampratio") or numbers(element, "timeconst", 1, [0.0], where)[0] > 0:
        return None
    return (stiff, 0.0, 0.0), (0.0, -stiff, -slow)


def _general(element: Element, where: str) -> tuple[Three, Three] | None:
    kinds = element.get("gaintype", "fixed"), element.get("biastype", "none")
    if kinds[0] not in ("fixed", "affine") or kinds[1] not in ("none", "affine"):
        return None
    if element.get("dyntype", "none") != "none":
        return None
    found = []
    for word, kind, usual in (("gainprm", kinds[0], 1.0), ("biasprm", kinds[1], 0.0)):
        count = len((element.get(word) or "").split())
        values = [*numbers(element, word, count, [usual], where), 0.0, 0.0, 0.0][:3]
        kept = {"none": 0, "fixed": 1, "affine": 3}[kind]
        found.append(tuple(float(v) if i < kept else 0.0 for i, v in enumerate(values)))
    (g0, g1, g2), (b0, b1, b2) = found
    if kinds == ("fixed", "affine") and b2 > 0 and g0 == -b1:
        # A position drive whose damping is a ratio, of which the mass that it moves decides.
        return None
    return (g0, g1, g2), (b0, b1, b2)


def write_drive(model: Model, drive: FileDrive) -> None:
    """The input of an actuator and its force on the joints."""
    command = model.input(drive.name, lower=drive.lower, upper=drive.upper)
    length, rate = (drive.gear * x for x in length_and_rate(model, drive.length))
    gain, bias = (x[0] + x[1] * length + x[2] * rate for x in (drive.gain, drive.bias))
    for joint, share in drive.length:
        q = model[model.written.mechanics.tree[joint].coordinate]
        model.generalised_force(q, drive.gear * share * (gain * command + bias))
