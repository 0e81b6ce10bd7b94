"""The ozone chemistry of the EMEP model: 66 species over four and a half days, with light from 4 to 20 o'clock; stiff.

    y' = Σ (products - reactants) · k(t) · Π reactants + emission / height - deposition

Photolysis and deposition switch at sunrise and sunset, and the water vapour jumps at midnight. Concentrations are in
molecules per cm³.

Reference: the published end values, computed there by RADAU5 at 1e-14; radau9 and rodas5p come within 3e-11 of them. It
is without O and O(1D), which are nearly gone at night and whose values differ between publications.
"""

from __future__ import annotations

import re

import casadi as ca
import numpy as np

from daedalus.catalogue import KnownSystem, Reference
from daedalus.model.model import Model

TEMPERATURE, AIR, OXYGEN, HEIGHT = 298.0, 2.55e19, 5.2e18, 1.2e5
HOUR, SUNRISE, SUNSET = 3600.0, 4.0, 20.0
LATITUDE, DECLINATION = np.radians(50.0), np.radians(23.5)

# Start values other than 1e7 of the first thirteen species and 100 of the others.
START = {"NO": 1e9, "NO2": 5e9, "SO2": 5e9, "CO": 3.8e12, "CH4": 3.5e13, "O3": 5e11, "OD": 1e-3}
# Emissions in molecules per cm² and s; of hydrocarbons by their share of the mass and their weight.
TOTAL = 2.5e11
SHARES = {
    "C2H6": (0.07689, 30.0),
    "NC4H10": (0.41444, 58.0),
    "C2H4": (0.03642, 28.0),
    "C3H6": (0.03827, 42.0),
    "OXYL": (0.24537, 106.0),
    "C2H5OH": (0.13957, 46.0),
}
_MOLES = sum(share / weight for share, weight in SHARES.values())
EMISSION = {"NO": TOTAL, "SO2": TOTAL, "CO": 10 * TOTAL, "ISOPRE": 0.5 * TOTAL, "SA": 0.05 * TOTAL}
EMISSION |= {name: TOTAL * share / weight / _MOLES for name, (share, weight) in SHARES.items()}
# Velocities of deposition in cm/s by day, a quarter of that at night.
DEPOSITION = {
    0.5: "SO2 H2O2 O3 R2OOH RCO3H OXYO2H BURO2H ETRO2H PRRO2H MEKO2H MALO2H ISRO2H MVKO2H CH2CHR ISNO3H ISNIRH MARO2H",
    0.3: "HCHO CH3CHO MEK",
    0.2: "NO2 PAN MAPAN",
    0.1: "SA NITRAT",
}
# Rates a exp(-b / cos(zenith)) of photolysis, per second.
LIGHT = {
    (1.23e-3, 0.60): ["O3 > OP"],
    (2.00e-4, 1.40): ["O3 > OD"],
    (1.45e-2, 0.40): ["NO2 > NO + OP"],
    (2.20e-5, 0.75): ["H2O2 > 2 OH"],
    (3.00e-6, 1.25): ["HNO3 > NO2 + OH"],
    (5.40e-5, 0.79): ["HCHO > CO + 2 HO2"],
    (6.65e-5, 0.60): ["HCHO > CO + H2", "GLYOX > CO + HCHO", "GLYOX > CO + HCHO"],
    (1.35e-5, 0.94): ["CH3CHO > CO + HO2 + CH3O2"],
    (2.43e-5, 0.88): ["MEK > C2H5O2 + CH3COO"],
    (2.16e-4, 0.79): ["MGLYOX > CO + HO2 + CH3COO"],
    (3.53e-2, 0.081): ["NO3 > NO"],
    (8.94e-2, 0.059): ["NO3 > NO2 + OP"],
    (3.32e-5, 0.57): ["N2O5 > NO2 + NO3"],
    (2.27e-5, 0.62): [
        "CH3O2H > HCHO + HO2 + OH",
        "R2OOH > CH3CHO + HO2 + OH",
        "ETRO2H > 1.56 HCHO + 0.22 CH3CHO + HO2 + OH",
        "PRRO2H > HCHO + CH3CHO + HO2",
        "BURO2H > 0.35 CH3CHO + 0.65 MEK + 0.65 HO2 + 0.35 C2H5O2 + OH",
        "MEKO2H > CH3CHO + CH3COO + OH",
        "OXYO2H > HO2 + MGLYOX + MAL + OH",
        "MALO2H > HO2 + MGLYOX + GLYOX + OH",
        "RCO3H > CH3O2 + OH",
        "CH2CCH3 > CH2CCH3 + MEK",
    ],
}
# Rates a exp(b / T) of the other reactions, in cm³ and s; the air is part of them.
DARK = {
    (5.7e-34 * (TEMPERATURE / 300) ** -2.8 * AIR * OXYGEN, 0): ["OP > O3"],
    (9.6e-32 * (TEMPERATURE / 300) ** -1.6 * AIR, 0): ["NO + OP > NO2"],
    (2.0e-11 * AIR, 100): ["OD > OP"],
    (1.8e-12, -1370): ["NO + O3 > NO2"],
    (1.2e-13, -2450): ["NO2 + O3 > NO3"],
    (1.9e-12, -1000): ["OH + O3 > HO2"],
    (1.4e-14, -600): ["HO2 + O3 > OH"],
    (1.8e-11, 110): ["NO + NO3 > 2 NO2"],
    (3.7e-12, 240): ["NO + HO2 > NO2 + OH"],
    (7.2e-14, -1414): ["NO2 + NO3 > NO + NO2"],
    (1.4e-12, 0): ["NO2 + NO3 > N2O5"],
    (1.4e-11, 0): ["NO2 + OH > HNO3"],
    (4.1e-16, 0): ["NO3 + H2O2 > HO2 + HNO3"],
    (7.1e14, -11080): ["N2O5 > NO2 + NO3"],
    (4.8e-11, 250): ["OH + HO2 > "],
    (2.9e-12, -160): ["OH + H2O2 > HO2"],
    (7.7e-12, -2100): ["OH + H2 > HO2"],
    (1.0e-14, 785): ["OH + HNO3 > NO3"],
    (1.35e-12, 0): ["OH + SO2 > HO2 + SA"],
    (4.0e-17, 0): ["CH3O2 + SO2 > HCHO + HO2 + SA"],
    # Losses to aerosols.
    (1e-4, 0): ["H2O2 > ", "CH3O2H > ", "HNO3 > NITRAT", "N2O5 > 2 NITRAT"],
    (3.9e-12, -1885): ["OH + CH4 > CH3O2"],
    (4.2e-12, 180): [
        "NO + CH3O2 > NO2 + HCHO + HO2",
        "NO + SECC4H > NO2 + 0.65 HO2 + 0.65 MEK + 0.35 CH3CHO + 0.35 C2H5O2",
        "NO + MEKO2 > NO2 + CH3CHO + CH3COO",
        "NO + ETRO2 > NO2 + 2 HCHO + HO2",
        "NO + PRRO2 > NO2 + HCHO + CH3CHO + HO2",
        "NO + OXYO2 > NO2 + HO2 + MGLYOX + MAL",
        "NO + MALO2 > NO2 + HO2 + MGLYOX + GLYOX",
        "NO + ISRO2 > 0.86 NO2 + 0.78 HO2 + 0.74 HCHO + 0.42 MVK + 0.32 MACR + 0.14 ISNI + 0.12 ISRO2",
        "NO + MVKO2 > 0.95 NO2 + 0.95 HO2 + 0.266 HCHO + 0.684 CH3CHO + 0.684 CH3COO + 0.266 MGLYOX + 0.05 ISNI",
        "NO + CH2CCH3 > NO2 + HO2 + MEK",
        "NO + ISNIR > 1.9 NO2 + 0.05 HO2 + 0.95 CH3CHO + 0.95 MEK",
        "NO + ISONO3 > 1.1 NO2 + 0.8 HO2 + 0.15 HCHO + 0.05 MVK + 0.1 MACR + 0.85 ISNI",
    ],
    (5.5e-14, 365): ["CH3O2 + CH3O2 > 2 HCHO + 2 HO2", "CH3O2 + CH3O2 > HCHO + CH3OH"],
    (3.3e-12, -380): ["OH + CH3OH > HCHO + HO2"],
    (3.2e-12, 0): ["OH + C2H5OH > CH3CHO + HO2"],
    (3.8e-13, 780): ["HO2 + CH3O2 > CH3O2H"],
    (9.6e-12, 0): ["OH + HCHO > CO + HO2"],
    (1.0e-12, 190): ["OH + CH3O2H > HCHO + OH"],
    (1.9e-12, 190): [
        "OH + CH3O2H > CH3O2",
        "OH + R2OOH > C2H5O2",
        "OH + RCO3H > CH3COO",
        "OH + ETRO2H > ETRO2",
        "OH + PRRO2H > PRRO2",
        "OH + BURO2H > SECC4H",
    ],
    (5.8e-16, 0): ["NO3 + HCHO > CO + HO2 + HNO3"],
    (2.4e-13, 0): ["OH + CO > HO2"],
    (7.8e-12, -1020): ["OH + C2H6 > C2H5O2"],
    (8.9e-12, 0): ["NO + C2H5O2 > NO2 + CH3CHO + HO2"],
    (6.5e-13, 650): ["HO2 + C2H5O2 > R2OOH"],
    (5.6e-12, 310): ["OH + CH3CHO > CH3COO"],
    (5.8e-12, 190): [
        "OH + R2OOH > CH3CHO + OH",
        "OH + ETRO2H > CH3CHO + OH",
        "OH + BURO2H > MEK + OH",
        "OH + PRRO2H > MEK + OH",
    ],
    (1.0e-11, 0): [
        "NO2 + CH3COO > PAN",
        "NO2 + MARO2 > MAPAN",
        "HO2 + SECC4H > BURO2H",
        "HO2 + ETRO2 > ETRO2H",
        "HO2 + PRRO2 > PRRO2H",
        "HO2 + MEKO2 > MEKO2H",
        "HO2 + MARO2 > MARO2H",
        "HO2 + MVKO2 > MVKO2H",
        "HO2 + ISNIR > ISNIRH",
        "HO2 + CH2CCH3 > CH2CHR",
        "HO2 + OXYO2 > OXYO2H",
        "HO2 + MALO2 > MALO2H",
        "HO2 + ISRO2 > ISRO2H",
        "HO2 + ISONO3 > ISNO3H",
    ],
    (1.34e16, -13330): ["PAN > NO2 + CH3COO", "MAPAN > NO2 + MARO2"],
    (2.0e-11, 0): [
        "NO + CH3COO > NO2 + CH3O2",
        "NO + MARO2 > NO2 + CH2CCH3",
        "OH + ISNO3H > ISONO3",
        "OH + ISRO2H > ISRO2 + OH",
        "OH + MAL > MALO2",
    ],
    (1.1e-11, 0): ["CH3O2 + CH3COO > HCHO + 0.5 HO2 + 0.5 CH3O2", "OH + GLYOX > 2 CO + HO2"],
    (1.64e-11, -559): ["OH + NC4H10 > SECC4H"],
    (1.15e-12, 0): ["OH + MEK > MEKO2"],
    (4.8e-12, 0): ["OH + MEKO2H > MEKO2"],
    (1.3e-13, 1040): ["HO2 + CH3COO > RCO3H"],
    (3.0e-13, 1040): ["HO2 + CH3COO > O3"],
    (2.8e-12, 530): ["CH3COO + CH3COO > 2 CH3O2"],
    (1.66e-12, 474): ["OH + C2H4 > ETRO2"],
    (1.2e-14, -2630): ["O3 + C2H4 > 0.44 CO + HCHO + 0.12 HO2 + 0.13 H2"],
    (6.5e-15, -1880): [
        "O3 + C3H6 > 0.4 CO + 0.07 CH4 + 0.5 HCHO + 0.5 CH3CHO + 0.28 HO2 + 0.07 H2 + 0.31 CH3O2 + 0.15 OH"
    ],
    (2.86e-11, 0): ["OH + C3H6 > PRRO2"],
    (3.2e-11, 0): ["OH + CH2CHR > CH2CCH3"],
    (2.2e-11, 0): ["OH + MVKO2H > MVKO2"],
    (3.7e-11, 0): ["OH + ISNIRH > ISNIR", "OH + MARO2H > MARO2"],
    (12.3e-15, -2013): [
        "O3 + ISOPRE > 0.05 CO + 0.07 C3H6 + 0.8 HCHO + 0.06 HO2 + 0.3 OP + 0.55 OH + 0.26 MVK + 0.67 MACR"
    ],
    (2.54e-11, 410): ["OH + ISOPRE > ISRO2"],
    (4.13e-12, 452): ["OH + MVK > MVKO2"],
    (8.0e-18, 0): ["O3 + ISRO2H > 0.7 HCHO"],
    (1.86e-11, 175): ["OH + MACR > 0.5 MARO2"],
    (4.32e-15, -2016): ["O3 + MVK > 0.05 CO + 0.8 HCHO + 0.04 CH3CHO + 0.06 HO2 + 0.82 MGLYOX + 0.2 OP + 0.08 OH"],
    (3.35e-11, 0): ["OH + ISNI > ISNIR"],
    (7.8e-13, 0): ["NO3 + ISOPRE > ISONO3"],
    (1.7e-11, 0): ["OH + MGLYOX > CO + CH3COO", "OH + OXYO2H > OXYO2"],
    (2.4e-11, 0): ["OH + MALO2H > MALO2"],
    (1.37e-11, 0): ["OH + OXYL > OXYO2"],
}


def build() -> KnownSystem:
    """The published run from sunrise of the first day to 20 o'clock of the fifth.

    Example
    -------
    >>> from daedalus import catalogue
    >>> k = catalogue.load("emep")
    >>> k.span, k.reference["O3"]
    ((14400.0, 417600.0), 3150308585365.321)
    """
    m = Model("emep")
    y = {}
    for place, (name, end) in enumerate(REFERENCE.items()):
        start = START.get(name, 1e7 if place < 13 else 100.0)
        y[name] = m.state(name, start=start, nominal=10 ** np.ceil(np.log10(max(end, 1e6))))
    rate = {name: ca.SX(EMISSION.get(name, 0.0) / HEIGHT) for name in y}
    clock = ca.fmod(m.time / HOUR, 24.0)
    day = ca.logic_and(clock >= SUNRISE, clock < SUNSET)
    for velocity, names in DEPOSITION.items():
        for name in names.split():
            rate[name] -= velocity / HEIGHT * ca.if_else(day, 1.0, 0.25) * y[name]
    sun = -ca.cos(clock / 12 * np.pi) * np.cos(LATITUDE) * np.cos(DECLINATION) + np.sin(LATITUDE) * np.sin(DECLINATION)
    slant = 1 / ca.if_else(day, sun, 1.0)
    for (a, b), reactions in LIGHT.items():
        _react(rate, y, ca.if_else(day, a * ca.exp(-b * slant), 1e-40), reactions)
    for (a, b), reactions in DARK.items():
        _react(rate, y, a * np.exp(b / TEMPERATURE), reactions)
    water = _water(clock)
    _react(rate, y, 2.2e-10 * water, ["OD > 2 OH"])
    pairing = 2.3e-13 * np.exp(600 / TEMPERATURE) + AIR * 1.7e-33 * np.exp(1000 / TEMPERATURE)
    _react(rate, y, pairing * (1 + 1.4e-21 * water * np.exp(2200 / TEMPERATURE)), ["HO2 + HO2 > H2O2"])
    for name in y:
        m.equation(m.der(y[name]), rate[name], name=f"balance_{name}")
    ends = {name: value for name, value in REFERENCE.items() if name not in ("OP", "OD")}
    return KnownSystem(
        m,
        span=(SUNRISE * HOUR, 116 * HOUR),
        stiff=True,
        reference=Reference(116 * HOUR, ends, 10, "Test Set for Initial Value Problem Solvers, release 2.4"),
        source="D. Simpson, Y. Andersson-Sköld, M. E. Jenkin, Updating the chemical scheme for the EMEP model (1993)",
    )


def _water(clock: ca.SX) -> ca.SX:
    """Water vapour from the relative humidity, which follows the time of day."""
    humidity = 23.0 * ca.sin(-7.93e-5 * clock * HOUR + 2.43) + 66.5
    boiling = (597.3 - 0.57 * (TEMPERATURE - 273.16)) * 18 / 1.986 * (1 / TEMPERATURE - 1 / 273.16)
    return 6.1078 * np.exp(-boiling) * 10 / (1.38e-16 * TEMPERATURE) * humidity


def _react(rate: dict[str, ca.SX], y: dict[str, ca.SX], k: ca.SX | float, reactions: list[str]) -> None:
    """Adds what each reaction takes and gives, by the law of mass action."""
    for reaction in reactions:
        before, after = (_species(side) for side in reaction.split(">"))
        flow = k
        for _, name in before:
            flow = flow * y[name]
        for sign, side in ((-1, before), (1, after)):
            for count, name in side:
                rate[name] += sign * count * flow


def _species(side: str) -> list[tuple[float, str]]:
    return [(float(count or 1), name) for count, name in re.findall(r"(?:([\d.]+) )?([A-Z]\w*)", side)]


# All species in the published order.
REFERENCE = {
    "NO": 0.2564580511140732e08,
    "NO2": 0.5146134770952715e11,
    "SO2": 0.2315679957701715e12,
    "CO": 0.1130936599472892e14,
    "CH4": 0.3459285326034955e14,
    "C2H6": 0.1027236550974901e12,
    "NC4H10": 0.8508735586836855e11,
    "C2H4": 0.4131285674624012e10,
    "C3H6": 0.1270937854717943e10,
    "OXYL": 0.5632880890404914e10,
    "HCHO": 0.8263821552730888e11,
    "CH3CHO": 0.3293552658908353e11,
    "MEK": 0.1054058186206315e12,
    "O3": 0.3150308585365321e13,
    "HO2": 0.2488383936633755e08,
    "HNO3": 0.1097565615411556e11,
    "H2O2": 0.1365196557629180e11,
    "H2": 0.3852048230503094e12,
    "CH3O2": 0.1137462721600089e09,
    "C2H5OH": 0.2850982205905218e11,
    "SA": 0.3786933619791445e12,
    "CH3O2H": 0.3832384333863027e10,
    "C2H5O2": 0.4804939902203071e07,
    "CH3COO": 0.3390546081092960e08,
    "PAN": 0.3494452929972591e11,
    "SECC4H": 0.1490576370801779e08,
    "MEKO2": 0.1000567871868853e08,
    "R2OOH": 0.1856753061984312e10,
    "ETRO2": 0.2272206156875160e07,
    "MGLYOX": 0.5168375883757783e10,
    "PRRO2": 0.2317595952406701e07,
    "GLYOX": 0.3035139656996921e10,
    "OXYO2": 0.5928979479102226e07,
    "MAL": 0.2515297290687841e10,
    "MALO2": 0.4569678276203798e07,
    "OP": 0.3727926507368739e01,
    "OH": 0.4063589349848112e05,
    "OD": 0.8159151146269279e-37,
    "NO3": 0.5577590724412284e09,
    "N2O5": 0.7684596616753747e09,
    "ISOPRE": 0.5338491777959816e10,
    "NITRAT": 0.6048604025328409e12,
    "ISRO2": 0.4222237216819787e08,
    "MVK": 0.3681852767009784e10,
    "MVKO2": 0.5835731567978018e07,
    "CH3OH": 0.1456507159081862e10,
    "RCO3H": 0.8862868684014137e10,
    "OXYO2H": 0.9338753312528582e09,
    "BURO2H": 0.3595753586682656e10,
    "ETRO2H": 0.4622427584057254e09,
    "PRRO2H": 0.2395910064875511e09,
    "MEKO2H": 0.6080936586253302e10,
    "MALO2H": 0.7704108297342240e09,
    "MACR": 0.3386220860753221e10,
    "ISNI": 0.1838264387030593e10,
    "ISRO2H": 0.1973252346091884e10,
    "MARO2": 0.1313403940892729e07,
    "MAPAN": 0.1344471764571674e10,
    "CH2CCH3": 0.2568483117244701e07,
    "ISONO3": 0.1131854591900057e10,
    "ISNIR": 0.4591537937818946e07,
    "MVKO2H": 0.8609382282952802e09,
    "CH2CHR": 0.3509560971283513e09,
    "ISNO3H": 0.6682350971104786e09,
    "ISNIRH": 0.3207356403011160e09,
    "MARO2H": 0.1144987634882048e09,
}
