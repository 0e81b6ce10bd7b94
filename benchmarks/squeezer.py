"""Andrews' squeezing mechanism with its loops closed at three levels: index 3, 2 and 1 of one motion.

x = (q, v, w, λ), 7 + 7 + 7 + 6:  q' = v,  v' = w,  0 = M(q) w - f(q, v) + G(q)ᵀ λ,  and the loops g(q) = 0 or one of
their derivatives. Every loop is a sum of sines and cosines c·sin(α(q)), which differentiate term by term.

Reference: F. Mazzia, C. Magherini, Test Set for Initial Value Problem Solvers, release 2.4 (2008), Andrews' squeezing
mechanism.
"""

from collections.abc import Callable
from typing import Any

from benchmarks.problem import Problem, Rhs

M1, M2, M3, M4, M5, M6, M7 = 0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498
I1, I2, I3, I4, I5, I6, I7 = 2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5
XA, YA, XB, YB, XC, YC = -0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072
D, DA, E, EA = 0.028, 0.0115, 0.02, 0.01421
RR, RA, L0, C0 = 0.007, 0.00092, 0.07785, 4530.0
SS, SA, SB, SC, SD = 0.035, 0.01874, 0.01043, 0.018, 0.02
TA, TB, U, UA, UB = 0.02308, 0.00916, 0.04, 0.01228, 0.00449
ZF, ZT, FA = 0.02, 0.04, 0.01421
TORQUE = 0.033


def equations_of(index: int) -> Callable[[Any], Rhs]:
    """The right-hand side with the loops of that index."""

    def equations(m: Any) -> Rhs:
        dynamics, loops = dynamics_of(m), loops_of(m, 3 - index)

        def rhs(t: Any, x: Any, u: Any, p: Any, out: Any) -> None:
            for i in range(14):
                out[i] = x[7 + i]
            dynamics(x, out)
            loops(x, out)

        return rhs

    return equations


def dynamics_of(m: Any) -> Callable[[Any, Any], None]:
    """M w - f + Gᵀ λ into out[14:21]."""
    sin, cos = m.sin, m.cos

    def dynamics(x: Any, out: Any) -> None:
        st, ct = sin(x[1]), cos(x[1])
        sg, cg = sin(x[2]), cos(x[2])
        sp, cp = sin(x[3]), cos(x[3])
        so, co = sin(x[5]), cos(x[5])
        m12 = M2 * (DA * DA - DA * RR * ct) + I2
        m11 = M1 * RA * RA + M2 * (RR * RR - 2.0 * DA * RR * ct + DA * DA) + I1 + I2
        m45 = M4 * ((E - EA) * (E - EA) + ZT * (E - EA) * sp) + I4
        m55 = M4 * (ZT * ZT + 2.0 * ZT * (E - EA) * sp + (E - EA) * (E - EA)) + M5 * (TA * TA + TB * TB) + I4 + I5
        m67 = M6 * ((ZF - FA) * (ZF - FA) - U * (ZF - FA) * so) + I6
        m77 = M6 * ((ZF - FA) * (ZF - FA) - 2.0 * U * (ZF - FA) * so + U * U) + M7 * (UA * UA + UB * UB) + I6 + I7
        # The spring from D to C.
        dx, dy = SD * cg + SC * sg + (XB - XC), SD * sg - SC * cg + (YB - YC)
        length = m.sqrt(dx * dx + dy * dy)
        pull = -C0 * (length - L0) / length
        # Gᵀ λ; the crank moves all three loops.
        a, b = x[21] + x[23] + x[25], x[22] + x[24] + x[26]
        sbt, cbt = sin(x[0] + x[1]), cos(x[0] + x[1])
        spd, cpd = sin(x[3] + x[4]), cos(x[3] + x[4])
        soe, coe = sin(x[5] + x[6]), cos(x[5] + x[6])
        along_pin = D * (sbt * a - cbt * b)
        along_4 = -E * (cpd * x[23] + spd * x[24])
        along_6 = ZF * (soe * x[25] - coe * x[26])
        out[14] = (
            m11 * x[14]
            + m12 * x[15]
            - TORQUE
            + M2 * DA * RR * x[8] * (x[8] + 2.0 * x[7]) * st
            + RR * (cos(x[0]) * b - sin(x[0]) * a)
            + along_pin
        )
        out[15] = m12 * x[14] + (M2 * DA * DA + I2) * x[15] - M2 * DA * RR * x[7] * x[7] * st + along_pin
        out[16] = (
            (M3 * (SA * SA + SB * SB) + I3) * x[16]
            - pull * (dx * (SC * cg - SD * sg) + dy * (SD * cg + SC * sg))
            - SS * (cg * x[21] + sg * x[22])
        )
        out[17] = (
            (M4 * (E - EA) * (E - EA) + I4) * x[17] + m45 * x[18] - M4 * ZT * (E - EA) * x[11] * x[11] * cp + along_4
        )
        out[18] = (
            m45 * x[17]
            + m55 * x[18]
            + M4 * ZT * (E - EA) * x[10] * (x[10] + 2.0 * x[11]) * cp
            + along_4
            + ZT * (sin(x[4]) * x[23] - cos(x[4]) * x[24])
        )
        out[19] = (
            (M6 * (ZF - FA) * (ZF - FA) + I6) * x[19] + m67 * x[20] + M6 * U * (ZF - FA) * x[13] * x[13] * co + along_6
        )
        out[20] = (
            m67 * x[19]
            + m77 * x[20]
            - M6 * U * (ZF - FA) * x[12] * (x[12] + 2.0 * x[13]) * co
            + along_6
            - U * (cos(x[6]) * x[25] + sin(x[6]) * x[26])
        )

    return dynamics


def loops_of(m: Any, level: int) -> Callable[[Any, Any], None]:
    """The six loops, differentiated `level` times, into out[21:27]."""
    sin, cos = m.sin, m.cos
    fixed = 1.0 if level == 0 else 0.0

    def cosine(angle: Any, rate: Any, acceleration: Any) -> Any:
        if level == 0:
            return cos(angle)
        if level == 1:
            return -sin(angle) * rate
        return -cos(angle) * rate * rate - sin(angle) * acceleration

    def sine(angle: Any, rate: Any, acceleration: Any) -> Any:
        if level == 0:
            return sin(angle)
        if level == 1:
            return cos(angle) * rate
        return cos(angle) * acceleration - sin(angle) * rate * rate

    def loops(x: Any, out: Any) -> None:
        bt, vbt, wbt = x[0] + x[1], x[7] + x[8], x[14] + x[15]
        pd, vpd, wpd = x[3] + x[4], x[10] + x[11], x[17] + x[18]
        oe, voe, woe = x[5] + x[6], x[12] + x[13], x[19] + x[20]
        px = RR * cosine(x[0], x[7], x[14]) - D * cosine(bt, vbt, wbt)
        py = RR * sine(x[0], x[7], x[14]) - D * sine(bt, vbt, wbt)
        out[21] = px - SS * sine(x[2], x[9], x[16]) - XB * fixed
        out[22] = py + SS * cosine(x[2], x[9], x[16]) - YB * fixed
        out[23] = px - E * sine(pd, vpd, wpd) - ZT * cosine(x[4], x[11], x[18]) - XA * fixed
        out[24] = py + E * cosine(pd, vpd, wpd) - ZT * sine(x[4], x[11], x[18]) - YA * fixed
        out[25] = px - ZF * cosine(oe, voe, woe) - U * sine(x[6], x[13], x[20]) - XA * fixed
        out[26] = py - ZF * sine(oe, voe, woe) + U * cosine(x[6], x[13], x[20]) - YA * fixed

    return loops


def in_coordinates() -> tuple[Any, dict[str, Any], str]:
    """The catalogue's model in coordinates and energies."""
    import daedalus as dd

    known = dd.catalogue.load("andrews")
    return known.model, dict(known.inputs), "angle"


def squeezer(index: int) -> Problem:
    """The problem of the test set, judged by angles and their rates."""
    mass = tuple(tuple(1.0 if i == j < 14 else 0.0 for j in range(27)) for i in range(27))
    return Problem(
        name=f"andrews_index_{index}",
        title=f"Andrews' squeezer, index {index}, t = 0.03",
        equations=equations_of(index),
        start=(*ANGLES, *[0.0] * 7, 14222.4439199541138705911625887, -10666.8329399655854029433719415, *[0.0] * 5,
               98.5668703962410896057654982170, -6.12268834425566265503114393122, *[0.0] * 4),
        end=0.03,
        mass=mass,
        index=index,
        mechanics=in_coordinates if index == 3 else None,
        judged=tuple(range(14)),
        reference=REFERENCE,
        tolerances=(1e-3, 1e-10),
        source="Mazzia, Magherini: Test Set for IVP Solvers, release 2.4, Andrews' squeezing mechanism",
    )  # fmt: skip


ANGLES = (
    -0.0617138900142764496358948458001,
    0.0,
    0.455279819163070380255912382449,
    0.222668390165885884674473185609,
    0.487364979543842550225598953530,
    -0.222668390165885884674473185609,
    1.23054744454982119249735015568,
)
# python -m benchmarks.collocation_reference andrews_index_1 150; the test set gives the angles to nine digits.
REFERENCE = (
    15.810771195153713,
    -15.756371058411846,
    0.04082224011964587,
    -0.5347301163420796,
    0.524409965879954,
    0.5347301163420796,
    1.048080741041938,
    1139.9203022591062,
    -1424.3792951775401,
    11.032911910620088,
    19.293374105034655,
    0.5735699148295799,
    -19.293374105034655,
    0.3231791492491755,
    -24631.763122879845,
    51850.31963647228,
    324102.6007075784,
    566749.422000995,
    16743.635418345395,
    -566749.422000995,
    9826.507801544274,
    199.17534810453856,
    -29.755309974972167,
    23.066543611622134,
    31.452725275771044,
    22.642494786394362,
    11.617392352611375,
)
