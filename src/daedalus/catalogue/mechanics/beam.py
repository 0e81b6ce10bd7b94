"""An elastic beam without stretching or shearing, clamped at one end and pulled at the other: n rigid elements.

With angles θ, tensions a along the beam and bending moments v,

    v_i = n⁴ (θ_{i-1} - 2 θ_i + θ_{i+1}) + n² (F_y cos θ_i - F_x sin θ_i),        θ_0 = -θ_1,  θ_{n+1} = θ_n
    C a = D v + θ'²,        θ'' = C v + D a

C is tridiagonal with α_i on and -cos(θ_i - θ_{i-1}) beside the diagonal, α = (1, 2, ..., 2, 3), and D antisymmetric
with sin(θ_i - θ_{i-1}). The load F = 1.5 sin²(t) (-1, 1) ends at t = π. Eigenvalues are imaginary, up to 6400 i: hard
for BDF, quick with methods that damp them. The tensions are algebraic variables here; the published form solves for
them, which gives an ODE of 2 n states.

Reference: the published end values for n = 40, computed there by RADAU with tolerance 1.1e-18.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model


def build(elements: int = 40) -> KnownSystem:
    """The published run; `elements` is n.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("beam")
    >>> k.index, k.span, float(k.reference["angle"][-1])
    (1, (0.0, 5.0), -0.1767201761075488)
    """
    n = elements
    m = Model("beam")
    angle, rate = m.state("angle", n, start=np.zeros(n)), m.state("rate", n, start=np.zeros(n))
    tension = m.algebraic("tension", n, nominal=100.0)
    load = ca.if_else(m.time > np.pi, 0, 1.5 * ca.sin(m.time) ** 2)
    ghost = ca.vertcat(-angle[0], angle, angle[n - 1])
    moment = n**4 * (ghost[:-2] - 2 * angle + ghost[2:]) + n**2 * load * (ca.cos(angle) + ca.sin(angle))
    turn = angle[1:] - angle[:-1]
    alpha = ca.DM([1.0] + [2.0] * (n - 2) + [3.0])
    m.equation(_along(alpha, turn, tension), _across(turn, moment) + rate**2, name="tensions")
    m.equation(m.der(angle), rate, name="kinematics")
    m.equation(m.der(rate), _along(alpha, turn, moment) + _across(turn, tension), name="bending")
    reference = Reference(5.0, {"angle": ANGLES, "rate": RATES}, 14, "Test Set for Initial Value Problem Solvers, 2.4")
    return KnownSystem(
        m,
        span=(0.0, 5.0),
        index=1,
        stiff=True,
        reference=reference if n == 40 else None,
        source="E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, IV.1 (1996)",
    )


def _along(alpha: ca.DM, turn: ca.SX, v: ca.SX) -> ca.SX:
    """C v."""
    beside = ca.vertcat(0, ca.cos(turn) * v[:-1]) + ca.vertcat(ca.cos(turn) * v[1:], 0)
    return alpha * v - beside


def _across(turn: ca.SX, v: ca.SX) -> ca.SX:
    """D v."""
    return ca.vertcat(ca.sin(turn) * v[1:], 0) - ca.vertcat(0, ca.sin(turn) * v[:-1])


# fmt: off
ANGLES = [
    -0.005792366591285007, -0.01695298550721735, -0.02769103312973094, -0.03800815655879158, -0.04790616859743763,
    -0.05738710435274594, -0.06645327313454617, -0.07510730581979037, -0.08335219765414992, -0.09119134654647947,
    -0.0986285870013209, -0.1056682200378002, -0.1123150395409595, -0.1185743552727245, -0.1244520128755561,
    -0.1299544113264161, -0.1350885180610398, -0.1398618819194422, -0.1442826441015242, -0.1483595472463012,
    -0.1521019429001447, -0.1555197978061129, -0.1586236993420229, -0.1614248603702127, -0.1639351238193223,
    -0.1661669673440852, -0.1681335081778558, -0.1698485080602243, -0.1713263782440888, -0.1725821847462537,
    -0.1736316537975654, -0.1744911773840049, -0.1751778187863392, -0.1757093178712902, -0.1761040960228576,
    -0.1763812607175549, -0.1765606097564671, -0.1766626352260565, -0.176708527080746, -0.1767201761075488,
]
RATES = [
    0.03747362681329794, 0.1099117880217593, 0.1798360474312799, 0.2472427305442391, 0.3121293820596567,
    0.37449473770195, 0.4343386073492798, 0.4916620354601748, 0.5464677854586807, 0.598760970262427,
    0.648549361111074, 0.6958435169132503, 0.7406572668520808, 0.7830081747813241, 0.8229176659201515,
    0.860411030519056, 0.8955175502377805, 0.9282708263127953, 0.9587089334522034, 0.9868747821728363,
    1.012816579961883, 1.036587736679858, 1.058246826481355, 1.077857811433353, 1.095490222005369, 1.111219164294898,
    1.125125269286501, 1.137294526609229, 1.147818025153607, 1.156792132004482, 1.164318845130183, 1.170505992596124,
    1.17546742429955, 1.179323003228859, 1.182198586299667, 1.184226111223146, 1.185543909805575, 1.186297084203716,
    1.186637618908127, 1.186724615113034,
]
# fmt: on
