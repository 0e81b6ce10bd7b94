"""Actuators of MJCF files inherit from defaults of every actuator, as in MuJoCo 4.0, whose numbers these are."""

from __future__ import annotations

import numpy as np
import pytest

import daedalus as dd
from daedalus.robots.file_elements import read_robot_file
from daedalus.robots.read_mjcf import _read

ARM = '<body name="a"><joint name="j"/><geom size=".1"/></body>'
OUTER = '<default>{}<default class="x">{}</default></default>'
# Defaults of all and of class x, the actuator, and what MuJoCo makes of it: gains, biases, gear, range.
CASES = [
    ('<general gear="7" ctrlrange="-2 2"/>', "", '<motor/>', (1, 0, 0), (0, 0, 0), 7, (-2, 2)),
    ('<motor gear="5" ctrlrange="-1 3"/>', "", '<position kp="20"/>', (20, 0, 0), (0, -20, 0), 5, (-1, 3)),
    ('<position kp="50" kv="2"/>', "", "<general/>", (50, 0, 0), (0, -50, -2), 1, None),
    ('<general gainprm="33" biasprm="0 -1 -2" biastype="affine"/>', "", "<position/>",
     (33, 0, 0), (0, -33, -2), 1, None),
    ('<general gaintype="affine" gainprm="3 2 1" biastype="affine" biasprm="1 2 3"/>', "", '<position kp="5"/>',
     (5, 0, 0), (0, -5, 0), 1, None),
    ('<general gaintype="affine" gainprm="3 2 1"/>', "", "<motor/>", (1, 0, 0), (0, 0, 0), 1, None),
    ('<velocity kv="9"/>', "", "<general/>", (9, 0, 0), (0, 0, -9), 1, None),
    ('<position kp="5" kv="2"/>', "", '<position kp="7"/>', (7, 0, 0), (0, -7, -2), 1, None),
    ('<position kp="5" kv="2"/>', "", "<velocity/>", (1, 0, 0), (0, 0, -1), 1, None),
    ('<position kp="5"/><motor gear="3"/>', "", '<position kv="2"/>', (1, 0, 0), (0, -1, -2), 3, None),
    ('<position kp="10"/>', '<position kp="90" kv="4"/><motor gear="6"/>', '<position class="x"/>',
     (10, 0, 0), (0, -10, 0), 6, None),
    ('<position kp="10"/>', '<position kv="6"/>', '<position class="x"/>', (10, 0, 0), (0, -10, -6), 1, None),
    ('<damper kv="5" ctrlrange="0 2"/>', "", '<general gainprm="5"/>', (5, 0, -5), (0, 0, 0), 1, (0, 2)),
    ("<motor/>", "", '<damper ctrlrange="0 2"/>', (0, 0, 0), (0, 0, 0), 1, (0, 2)),
]  # fmt: skip


def drive_of(outer: str, inner: str, actuator: str, compiler: str = ""):
    placed = actuator.replace("/>", ' joint="j"/>')
    text = (
        f"<mujoco><compiler {compiler}/>{OUTER.format(outer, inner)}<worldbody>{ARM}</worldbody>"
        f"<actuator>{placed}</actuator></mujoco>"
    )
    return text, _read(read_robot_file(text, "MJCF"))[1]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}{case[1]}{case[2]}"[:60])
def test_drives_have_mujocos_gains(case):
    outer, inner, actuator, gain, bias, gear, limits = case
    text, reading = drive_of(outer, inner, actuator)
    (drive,) = reading.drives
    assert (drive.gain, drive.bias, drive.gear) == (gain, bias, gear)
    assert (None if drive.lower is None else (drive.lower, drive.upper)) == limits
    try:
        import mujoco
    except ImportError:
        return
    model = mujoco.MjModel.from_xml_string(text)
    affine = model.actuator_gaintype[0] == mujoco.mjtGain.mjGAIN_AFFINE
    np.testing.assert_allclose(gain, np.where([True, affine, affine], model.actuator_gainprm[0][:3], 0.0))
    biased = model.actuator_biastype[0] == mujoco.mjtBias.mjBIAS_AFFINE
    np.testing.assert_allclose(bias, biased * model.actuator_biasprm[0][:3])


def test_laws_with_a_state_and_ratios_of_damping_are_listed():
    for outer, actuator in (
        ('<general dyntype="integrator"/>', "<general/>"),
        ('<position timeconst="0.1"/>', "<position/>"),
        ('<position timeconst="0.1"/>', "<general/>"),
        ('<position kp="5" dampratio="1"/>', "<position/>"),
        ('<position kp="5" dampratio="1"/>', "<general/>"),
        ('<general biasprm="6 3 3"/>', '<position kp="3"/>'),
    ):
        _, reading = drive_of(outer, "", actuator)
        assert not reading.drives
        assert f"{actuator.strip('/>').split()[0]}> " in reading.robot.unsupported[-1]
    _, reading = drive_of('<position kp="5" dampratio="1"/>', "", '<position kv="2"/>')
    assert reading.drives[0].bias == (0, -5, -2)
    _, reading = drive_of('<position timeconst="0.1"/>', "", '<position timeconst="0"/>')
    assert reading.drives[0].bias == (0, -1, 0)


def test_ranges_count_as_autolimits_says():
    """Without autolimits a range counts only where it is said to."""
    for words, limits in (("", None), ('ctrllimited="true"', (-1, 1)), ('ctrllimited="false"', None)):
        _, reading = drive_of("", "", f'<motor ctrlrange="-1 1" {words}/>', 'autolimits="false"')
        (drive,) = reading.drives
        assert (None if drive.lower is None else (drive.lower, drive.upper)) == limits


@pytest.mark.wide
def test_random_defaults_as_mujoco():
    """Defaults of all kinds in three nested classes, most of them with a replaced law."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
    draw, compared = np.random.default_rng(5), 0

    def number() -> str:
        return str(draw.integers(1, 10))

    def written(tag: str) -> str:
        words = {"gear": number()} if draw.random() < 0.3 else {}
        if tag in ("position", "velocity") and draw.random() < 0.6:
            words["kv"] = number()
        if tag == "position" and draw.random() < 0.6:
            words["kp"] = number()
        if tag == "general":
            words["gainprm"] = " ".join(number() for _ in range(draw.choice([1, 3])))
            words["biastype"], words["biasprm"] = draw.choice(["none", "affine"]), f"0 -{number()} -{number()}"
        own = " ".join(f'{word}="{value}"' for word, value in words.items())
        return f"<{tag} {own}/>"

    tags = ("general", "motor", "position", "velocity")
    for _ in range(300):
        outer, inner = ("".join(map(written, draw.choice(tags, draw.integers(0, 3), False))) for _ in "12")
        actuator = written(draw.choice(tags)).replace("/>", draw.choice(["", ' class="x"']) + "/>")
        text, reading = drive_of(outer, inner, actuator)
        model, (drive,) = mujoco.MjModel.from_xml_string(text), reading.drives
        kept = [True, False, False]  # these gains are fixed
        np.testing.assert_allclose(drive.gain, np.where(kept, model.actuator_gainprm[0][:3], 0.0), err_msg=text)
        biased = model.actuator_biastype[0] == mujoco.mjtBias.mjBIAS_AFFINE
        np.testing.assert_allclose(drive.bias, biased * model.actuator_biasprm[0][:3], err_msg=text)
        assert drive.gear == model.actuator_gear[0][0], text
        compared += 1
    assert compared == 300


@pytest.mark.parametrize(("pulls", "words"), [
    ('joint="k"', "The joint 'k' of motor 'push' is not in the file."),
    ('jointinparent="k"', "The joint 'k' of motor 'push' is not in the file."),
    ('tendon="rope"', "The tendon 'rope' of motor 'push' is not in the file."),
])  # fmt: skip
def test_an_actuator_of_what_is_not_there_is_refused_by_name(pulls, words):
    text = f'<mujoco><worldbody>{ARM}</worldbody><actuator><motor name="push" {pulls}/></actuator></mujoco>'
    with pytest.raises(dd.InputError) as told:
        dd.read_mjcf(text)
    assert str(told.value).splitlines()[0] == words
