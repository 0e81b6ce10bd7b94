"""Units of SBML files as labels that `dd.units` understands; without a label where there is no such word."""

from __future__ import annotations

from typing import Any

from daedalus.model.unit_labels import is_understood

_KINDS = {
    "ampere": "A", "coulomb": "C", "dimensionless": "", "farad": "F", "gram": "g", "henry": "H", "hertz": "Hz",
    "joule": "J", "kelvin": "K", "kilogram": "kg", "litre": "L", "liter": "L", "metre": "m", "meter": "m",
    "mole": "mol", "newton": "N", "ohm": "ohm", "pascal": "Pa", "radian": "rad", "second": "s", "siemens": "S",
    "volt": "V", "watt": "W", "weber": "Wb", "avogadro": None, "item": None, "katal": None, "lumen": None, "lux": None,
}  # fmt: skip
_PREFIXES = {0: "", -3: "m", -6: "u", -9: "n", -2: "c", -1: "d", 3: "k", 6: "M", 9: "G"}
_SECONDS = {60.0: "min", 3600.0: "h"}


def unit_label(definition: Any, library: Any) -> str:
    """The label of a unit definition, such as `mmol/L`; "" for what has no label or no dimension."""
    if definition is None:
        return ""
    above: list[str] = []
    below: list[str] = []
    for k in range(definition.getNumUnits()):
        unit = definition.getUnit(k)
        word = _KINDS.get(library.UnitKind_toString(unit.getKind()))
        exponent = unit.getExponentAsDouble()
        if word is None or exponent != int(exponent) or abs(exponent) > 9:
            return ""
        factor = _word(word, int(unit.getScale()), float(unit.getMultiplier()))
        if factor is None:
            return ""
        if word and exponent:
            power = abs(int(exponent))
            (above if exponent > 0 else below).append(factor if power == 1 else f"{factor}^{power}")
    label = "/".join(["*".join(above) or ("1" if below else ""), *below])
    return label if label and is_understood(label) else ""


def _word(word: str, scale: int, multiplier: float) -> str | None:
    """One unit with its prefix; None where the factor has no word."""
    if not word:
        return "" if scale == 0 and multiplier == 1 else None
    if word == "s" and scale == 0 and multiplier in _SECONDS:
        return _SECONDS[multiplier]
    if multiplier != 1 or scale not in _PREFIXES:
        return None
    return "g" if word == "kg" and scale == -3 else None if word == "kg" and scale else _PREFIXES[scale] + word
