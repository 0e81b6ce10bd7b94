"""SPICE model cards as keywords of parts: which parameter is which word, and what is not modelled."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daedalus.components.spice.netlist_formulas import Scope, number
from daedalus.components.spice.netlist_text import Card, SpiceWarning, cards_of
from daedalus.errors import ModelError

DIODE = {
    "is": "saturation_current", "n": "emission", "rs": "series_resistance", "cjo": "junction_capacitance",
    "vj": "junction_potential", "m": "grading", "fc": "forward_share", "tt": "transit_time",
    "bv": "breakdown_voltage", "ibv": "breakdown_current", "nbv": "breakdown_emission", "eg": "energy_gap",
    "xti": "saturation_exponent", "tnom": "nominal_temperature", "ikf": "knee_current",
    "isr": "recombination_current", "nr": "recombination_emission",
}  # fmt: skip
BIPOLAR = {
    "is": "saturation_current", "bf": "forward_gain", "br": "reverse_gain", "nf": "forward_emission",
    "nr": "reverse_emission", "vaf": "forward_early_voltage", "var": "reverse_early_voltage",
    "ikf": "forward_knee_current", "ikr": "reverse_knee_current", "ise": "emitter_leakage",
    "ne": "emitter_leakage_emission", "isc": "collector_leakage", "nc": "collector_leakage_emission",
    "rb": "base_resistance", "rbm": "least_base_resistance", "irb": "base_resistance_current",
    "re": "emitter_resistance", "rc": "collector_resistance", "cje": "emitter_capacitance",
    "vje": "emitter_potential", "mje": "emitter_grading", "cjc": "collector_capacitance",
    "vjc": "collector_potential", "mjc": "collector_grading", "xcjc": "inner_base_share",
    "cjs": "substrate_capacitance", "vjs": "substrate_potential", "mjs": "substrate_grading",
    "fc": "forward_share", "tf": "forward_transit_time", "xtf": "transit_growth", "vtf": "transit_voltage",
    "itf": "transit_current", "ptf": "excess_phase", "tr": "reverse_transit_time", "eg": "energy_gap",
    "xtb": "gain_exponent", "xti": "saturation_exponent", "tnom": "nominal_temperature",
}  # fmt: skip
MOS = {
    "vto": "threshold", "kp": "transconductance", "gamma": "body_effect", "phi": "surface_potential",
    "lambda": "modulation", "rd": "drain_resistance", "rs": "source_resistance", "is": "bulk_saturation_current",
    "js": "bulk_saturation_density", "cgso": "source_overlap", "cgdo": "drain_overlap", "cgbo": "bulk_overlap",
    "cbd": "drain_bulk_capacitance", "cbs": "source_bulk_capacitance", "cj": "bulk_capacitance_density",
    "mj": "bulk_grading", "cjsw": "side_capacitance_density", "mjsw": "side_grading", "pb": "bulk_potential",
    "fc": "forward_share", "ld": "lateral_diffusion", "tox": "oxide_thickness", "uo": "mobility", "nsub": "doping",
    "tnom": "nominal_temperature", "w": "width", "l": "length", "rsh": "sheet_resistance",
    "nss": "surface_charge", "tpg": "gate_material",
}  # fmt: skip
FIELD = {
    "vto": "threshold", "beta": "transconductance", "lambda": "modulation", "rd": "drain_resistance",
    "rs": "source_resistance", "cgs": "source_capacitance", "cgd": "drain_capacitance", "pb": "gate_potential",
    "is": "saturation_current", "n": "emission", "fc": "forward_share", "tnom": "nominal_temperature",
}  # fmt: skip
VOLTAGE_SWITCH = {"vt": "threshold", "vh": "hysteresis", "ron": "on_resistance", "roff": "off_resistance"}
CURRENT_SWITCH = {"it": "threshold", "ih": "hysteresis", "ron": "on_resistance", "roff": "off_resistance"}
KINDS: dict[str, dict[str, str]] = {
    "d": DIODE, "npn": BIPOLAR, "pnp": BIPOLAR, "nmos": MOS, "pmos": MOS, "njf": FIELD, "pjf": FIELD,
    "sw": VOLTAGE_SWITCH, "csw": CURRENT_SWITCH,
}  # fmt: skip
OTHER_NAMES = {
    "d": {"cj0": "cjo", "cj": "cjo", "vb": "bv", "pb": "vj", "mj": "m", "tref": "tnom",
          "t_measured": "tnom", "ik": "ikf"},
    "npn": {"va": "vaf", "vb": "var", "ik": "ikf", "jbf": "ikf", "jle": "ise", "jlc": "isc", "pe": "vje", "me": "mje",
            "pc": "vjc", "mc": "mjc", "ps": "vjs", "ms": "mjs", "ccs": "cjs", "csub": "cjs", "pt": "xti",
            "tref": "tnom", "cdis": "xcjc", "jtf": "itf"},
    "nmos": {"vt0": "vto", "vth0": "vto", "tref": "tnom", "u0": "uo"}, "njf": {"vt0": "vto", "tref": "tnom"},
}  # fmt: skip
OTHER_NAMES |= {"pnp": OTHER_NAMES["npn"], "pmos": OTHER_NAMES["nmos"], "pjf": OTHER_NAMES["njf"]}
# Words whose zero means something; resistances, capacitances and knees of zero are none.
KEPT_AT_ZERO = frozenset(
    {"threshold", "modulation", "grading", "emitter_grading", "collector_grading", "substrate_grading", "forward_share",
     "gain_exponent", "saturation_exponent", "bulk_grading", "side_grading", "nominal_temperature", "gate_material",
     "hysteresis"}
)  # fmt: skip
# What parameters of vendors' cards would do that the parts do not have.
NOISE = frozenset({"kf", "af"})
EFFECTS: dict[str, dict[str, str]] = {
    "d": {"ikr": "the current grows more slowly beyond this knee in reverse",
          "ibvl": "a second, softer breakdown", "nbvl": "its slope",
          "tbv1": "the breakdown voltage moves with temperature", "trs1": "the resistance moves with temperature",
          "trs2": "the resistance moves with temperature", "cjp": "capacitance of the side wall",
          "cjsw": "capacitance of the side wall", "php": "potential of the side wall",
          "mjsw": "grading of the side wall",
          "jsw": "current of the side wall", "tikf": "the knee moves with temperature"},
    "npn": {"cn": "quasi-saturation", "d": "quasi-saturation",
            "rco": "quasi-saturation", "vo": "quasi-saturation", "gamma": "quasi-saturation", "qco": "quasi-saturation",
            "nk": "exponent of the knee", "iss": "current of the substrate junction", "ns": "its slope",
            "bvcbo": "breakdown of the collector", "bvbe": "breakdown of the emitter"},
    "nmos": {"xj": "depth of the junctions", "theta": "mobility falls with the gate voltage",
             "eta": "threshold moves with the drain",
             "nfs": "current below the threshold", "vmax": "carriers saturate", "delta": "narrow channels",
             "rg": "resistance of the gate", "rb": "resistance of the bulk", "rds": "leak from drain to source"},
    "njf": {"b": "doping tail of the channel", "tcv": "the threshold moves with temperature",
            "bex": "the gain moves with temperature", "vtotc": "the threshold moves with temperature",
            "betatce": "the gain moves with temperature", "xti": "the gate current moves with temperature",
            "alpha": "impact ionisation", "vk": "impact ionisation", "isr": "recombination at the gate",
            "m": "grading"},
    "sw": {}, "csw": {},
}  # fmt: skip
EFFECTS |= {"pnp": EFFECTS["npn"], "pmos": EFFECTS["nmos"], "pjf": EFFECTS["njf"]}
# A diode made of straight lines, as LTspice has it.
STRAIGHT = frozenset({"ron", "roff", "vfwd", "vrev", "epsilon", "revepsilon", "ilimit", "revilimit"})
# What says nothing about the behaviour: ratings and makers' marks.
DECORATION = frozenset(
    {"mfg", "type", "vpk", "ipk", "iave", "irms", "diss", "vceo", "icrating", "vds", "ron", "qg", "level", "version"}
)


@dataclass(frozen=True)
class ModelCard:
    """A .model card: its name, the kind of device, the values by SPICE's names, and the card itself for errors."""

    name: str
    kind: str
    values: Mapping[str, float]
    card: Card

    @property
    def text(self) -> str:
        """The card as it was written."""
        return self.card.text.strip()


def read_card(text: str) -> ModelCard:
    """A .model card from its text; lines may go on with +."""
    if not isinstance(text, str) or not text.strip():
        raise ModelError(
            "from_card needs the text of a .model card.",
            f"got {text!r}"[:80],
            because="a part reads its parameters from it.",
            remedy='from_card=".model d1n4148 D(is=2.5n rs=0.57 n=1.75)"',
        )
    cards = [card for card in cards_of(text) if card.words[0] == ".model"]
    if len(cards) != 1:
        raise ModelError(
            f"from_card has {len(cards)} .model cards.",
            text.strip().splitlines()[0][:80],
            because="a part is made from one.",
            remedy='from_card=".model d1n4148 D(is=2.5n rs=0.57 n=1.75)"',
        )
    return card_values(cards[0], Scope())


def card_values(card: Card, scope: Scope, known: Mapping[str, ModelCard] | None = None) -> ModelCard:
    """The values of a .model card, with parameters of the netlist known, and models that it may continue by ako:."""
    card.needs(3, ".model name D(is=1e-14)")
    kind, values = card.words[2], dict[str, float]()
    if kind.startswith("ako:"):
        first = (known or {}).get(kind[4:])
        if first is None:
            raise card.refuse(
                f"continues the model {kind[4:]!r}", "no such model stands before it.", "that .model first"
            )
        kind, values = first.kind, dict(first.values)
    if kind == "vdmos":
        raise card.refuse("has a model of kind VDMOS", "power MOSFETs of that kind are not modelled.", "NMOS level 1")
    kind = {"vswitch": "sw", "iswitch": "csw"}.get(kind, kind)
    if kind not in KINDS and kind not in ("r", "c", "l", "res", "cap", "ind"):
        raise card.refuse(
            "has a model of an unknown kind", f"there are {', '.join(KINDS)}.", ".model name D(...), NPN, NMOS, NJF, SW"
        )
    for word in card.words[3:]:
        name, sign, value = word.partition("=")
        if not sign:
            continue
        name = OTHER_NAMES.get(kind, {}).get(name, name)
        if name in DECORATION and name not in KINDS.get(kind, {}) and name != "level":
            continue
        values[name] = number(value, card, scope)
    if card.words[2] in ("vswitch", "iswitch"):
        _between_levels(values, "v" if kind == "sw" else "i")
    if kind == "d" and (lines := STRAIGHT & {word.partition("=")[0] for word in card.words[3:]}):
        because = f"{', '.join(sorted(lines))} describe it, and diodes of a netlist are exponential."
        remedy = "D(is=1e-14 rs=0.1), or electrical.Diode(on_resistance=)"
        raise card.refuse("has a diode of straight lines", because, remedy)
    level = values.pop("level", 1.0)
    if kind in ("nmos", "pmos", "npn", "pnp", "d", "njf", "pjf") and level != 1.0:
        raise card.refuse(f"asks for level {level:g}", "level 1 is modelled.", "LEVEL=1")
    return ModelCard(card.words[1], kind, values, card)


def _between_levels(values: dict[str, float], letter: str) -> None:
    """Threshold and hysteresis of a switch that is given by the levels where it is on and off."""
    on, off = values.pop(f"{letter}on", 1.0 if letter == "v" else 1e-3), values.pop(f"{letter}off", 0.0)
    values[f"{letter}t"], values[f"{letter}h"] = (on + off) / 2, (on - off) / 2
    values.setdefault("ron", 1.0)
    values.setdefault("roff", 1e6)


def keywords_of(model: ModelCard, strict: bool = False) -> dict[str, Any]:
    """The keywords of a part by the words of its card; what is not modelled is told in a warning, or refused."""
    known, effects = KINDS[model.kind], EFFECTS[model.kind]
    # Flicker noise belongs to .noise, not to the part.
    further = {
        name: value for name, value in model.values.items() if not (name in known or name in NOISE or value == 0)
    }
    if further:
        told = [f"{name} ({effects.get(name, 'unknown')})" for name in further]
        if strict:
            raise model.card.refuse(
                f"asks for {', '.join(further)}, which {'is' if len(further) == 1 else 'are'} not modelled",
                f"they would do this: {'; '.join(told)}.", "strict=False, which uses the rest of the card",
            )  # fmt: skip
        warnings.warn(
            f"{model.card.where}: model {model.name!r} leaves out {'; '.join(told)}. The rest of the card is used.",
            SpiceWarning, stacklevel=2,
        )  # fmt: skip
    named = {known[name]: value for name, value in model.values.items() if name in known}
    found: dict[str, Any] = {word: value for word, value in named.items() if value != 0 or word in KEPT_AT_ZERO}
    if model.kind in ("npn", "pnp"):
        found["polarity"] = model.kind
    elif model.kind in ("nmos", "pmos", "njf", "pjf"):
        found["polarity"] = model.kind[0]
    return found
