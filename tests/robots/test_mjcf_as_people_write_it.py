"""Files with what people's MJCF has: classes in classes, frames, references, springs, drives, inertias in many ways."""

import warnings

import numpy as np
import pytest

import daedalus as dd

CLASSES = """<mujoco><compiler angle="radian" eulerseq="zyx" autolimits="true"/>
<option gravity="0.3 0 -9.7"><flag contact="disable" limit="disable"/></option>
<default><joint damping="0.3" armature="0.02"/><geom density="700"/>
  <default class="leg"><joint axis="0 1 0" stiffness="3" springref="0.2"/>
    <default class="foot"><geom type="ellipsoid" size=".05 .03 .02" mass="0.3"/><joint damping="0.1"/></default>
  </default></default>
<worldbody><body name="trunk" pos="0 0 1" euler="0.2 0.3 0.4"><freejoint name="root"/>
  <geom type="capsule" fromto="0 0 0 .2 .1 .3" size=".05"/>
  <frame pos=".1 0 0" euler="0 .5 0"><body name="thigh" childclass="leg" pos="0 .1 0">
    <joint name="hip" pos="0 0 .02"/><joint name="twist" axis="1 0 0" ref="0.3"/>
    <geom type="cylinder" size=".03 .2" pos="0 0 -.2"/>
    <body name="sole" pos="0 0 -.4" quat=".9 .1 .2 .3"><joint name="knee" class="foot"/>
      <geom class="foot"/><geom class="foot" pos=".1 0 0" euler=".3 0 0"/></body></body></frame></body></worldbody>
<actuator><position joint="hip" kp="20" kv="1"/><motor joint="knee" gear="3"/><velocity joint="twist" kv="2"/>
</actuator></mujoco>"""

INERTIALS = """<mujoco><compiler inertiafromgeom="auto" balanceinertia="true"/>
<option><flag contact="disable"/></option><worldbody>
<body name="a"><joint name="slide" type="slide" axis="1 1 0"/>
  <inertial pos=".1 .2 .3" mass="2" fullinertia=".2 .3 .25 .01 -.02 .03"/>
  <body name="b" pos="0 0 .5" axisangle="0 1 0 40"><joint name="ball" type="ball" damping=".2" stiffness="1.5"/>
    <inertial pos="0 .1 0" quat=".5 .5 .5 .5" mass="1" diaginertia=".1 .2 .15"/>
    <body name="c" pos=".3 0 0" zaxis="1 0 1"><joint name="pan" axis="0 0 1"/>
      <geom type="box" size=".1 .2 .3" mass="1.5"/><geom type="sphere" size=".1" pos=".2 0 0"/>
      <body name="d" pos="0 .2 0" xyaxes="0 1 0 -1 0 0" gravcomp="0.6">
        <joint name="tilt" type="hinge" axis="1 2 3" pos=".1 .1 0"/><geom type="capsule" size=".04 .2"/>
</body></body></body></body></worldbody></mujoco>"""

TENDON = """<mujoco><option><flag contact="disable"/></option><worldbody><body name="base"><geom size=".1"/>
<body name="x" pos=".1 0 0"><joint name="lead" axis="0 1 0" damping=".1"/>
  <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/></body>
<body name="y" pos="-.1 0 0"><joint name="rise" type="slide" axis="0 0 1" stiffness="30"/>
  <geom type="box" size=".05 .05 .05"/></body></body></worldbody>
<tendon><fixed name="t"><joint joint="lead" coef=".5"/><joint joint="rise" coef="-2"/></fixed></tendon>
<actuator><general tendon="t" gainprm="3" biastype="affine" biasprm="1 -2 -.5"/></actuator></mujoco>"""

# Accelerations of MuJoCo 4.0 (mj_forward) where the k-th hinge or slide stands at 0.3 (−1)ᵏ + 0.1 k and moves by
# 0.5 − 0.2 k, in the file's order; balls at rest, controls at zero.
MUJOCO = {
    "classes": (CLASSES, {"hip.angle": 147.1146309035088, "twist.angle": -4.0334804354356955,
                          "knee.angle": 24.410930071688313}),
    "inertials": (INERTIALS, {"slide.displacement": 2.9541276517569512, "pan.angle": -10.612400118851196,
                              "tilt.angle": -18.493101608911257,
                              "ball.angular_velocity": [-3.665447899050752, 13.223141844810993, -2.255188930967172]}),
    "tendon": (TENDON, {"lead.angle": 168.09567369381614, "rise.displacement": -31.259999999999994}),
}  # fmt: skip


@pytest.mark.parametrize("name", MUJOCO)
def test_accelerations_are_mujocos(name):
    text, wanted = MUJOCO[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = dd.read_mjcf(text)
    start = {}
    for k, joint in enumerate((joint for joint in wanted if not joint.endswith("velocity")), 1):
        start |= {joint: 0.3 * (-1) ** k + 0.1 * k, f"{joint}_dot": 0.5 - 0.2 * k}
    tr = dd.simulate(m, 1e-4, start=start, inputs=dict.fromkeys(m.inputs, 0.0))
    largest = max(np.abs(value).max() for value in wanted.values())
    for joint, value in wanted.items():
        found = tr[f"{joint}_dot" if joint.endswith("velocity") else f"{joint}_ddot"][0]
        np.testing.assert_allclose(found, value, rtol=1e-10, atol=1e-10 * largest)
