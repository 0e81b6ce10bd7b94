"""Words of MJCF actuators, which inherit from defaults of every actuator: `<motor>` is a short name of `<general>`.

What all actuators have (gear, ranges) is inherited from any of them. What makes the law of one kind (kp, kv) comes from
the nearest class that writes this kind, or from `<general>`, and `<general>` takes over the law of any kind as gains
and biases. Checked against MuJoCo 4.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

# What makes the law of each kind.
LAW_WORDS: dict[str, tuple[str, ...]] = {
    "general": ("gaintype", "gainprm", "biastype", "biasprm", "dyntype", "dynprm", "actdim"),
    "motor": (),
    "position": ("kp", "kv", "dampratio", "timeconst", "inheritrange"),
    "velocity": ("kv",),
    "damper": ("kv",),
    "intvelocity": ("kp", "kv", "dampratio", "inheritrange"),
    "cylinder": ("timeconst", "area", "diameter", "bias"),
    "muscle": ("timeconst", "tausmooth", "range", "force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax"),
    "adhesion": ("gain",),
}
_LISTS = ("gainprm", "biasprm", "dynprm")
# Of these two the one that is written counts.
_INSTEAD = {"kv": "dampratio", "dampratio": "kv"}


@dataclass(frozen=True)
class ActuatorWords:
    """What a class gives to actuators: the words that all have, the kind written last and its law.

    outer: the class around it, which gives the laws of other kinds.
    """

    common: Mapping[str, str] = field(default_factory=dict)
    kind: str = "general"
    law: Mapping[str, str] = field(default_factory=dict)
    outer: ActuatorWords | None = None

    def inside(self) -> ActuatorWords:
        """A class in this one that adds nothing yet."""
        return replace(self, outer=self)

    def with_default(self, kind: str, own: Mapping[str, str]) -> ActuatorWords:
        """The class with one more default written in it; it replaces another kind written in it before."""
        words = self.words(kind, own)
        common = {word: text for word, text in words.items() if word not in LAW_WORDS[kind]}
        law = {word: text for word, text in words.items() if word in LAW_WORDS[kind]}
        return ActuatorWords(common, kind, law, self.outer)

    def words(self, kind: str, own: Mapping[str, str]) -> dict[str, str]:
        """The words of an actuator of a kind: its own, and what the class gives it.

        Example
        -------
        >>> given = ActuatorWords().with_default("position", {"kp": "5", "kv": "2", "gear": "3"})
        >>> given.words("motor", {})
        {'gear': '3'}
        >>> given.words("position", {"kp": "7"})
        {'gear': '3', 'kp': '7', 'kv': '2'}
        >>> given.words("general", {})["biasprm"]
        '0 -5 -2'
        """
        replaced = {_INSTEAD[word] for word in own if word in _INSTEAD}
        law = {word: text for word, text in self._law_of(kind).items() if word not in replaced}
        # A shorter list of numbers replaces the first ones.
        longer = {
            word: " ".join([*own[word].split(), *law[word].split()[len(own[word].split()) :]])
            for word in own
            if word in _LISTS and word in law
        }
        return {**self.common, **law, **own, **longer}

    def _law_of(self, kind: str) -> Mapping[str, str]:
        if kind == self.kind:
            return self.law
        if kind == "general":
            return _as_general(self.kind, self.law)
        if self.kind == "general" and self.law:
            return _of_general(kind, self.law)
        return {} if self.outer is None else self.outer._law_of(kind)


def _as_general(kind: str, words: Mapping[str, str]) -> dict[str, str]:
    """A law in words of `<general>`; laws with a state name it as their dynamics."""
    if kind == "motor":
        return {}
    if kind == "position":
        # A damping ratio stands in the place of the damping, with the other sign.
        stiff, slow = words.get("kp", "1"), words.get("kv") or _less(words.get("dampratio", "0"))
        dynamics = {"dyntype": "filterexact"} if _is_positive(words.get("timeconst", "0")) else {}
        return {"gainprm": stiff, "biastype": "affine", "biasprm": f"0 {_less(stiff)} {_less(slow)}", **dynamics}
    if kind == "velocity":
        slow = words.get("kv", "1")
        return {"gainprm": slow, "biastype": "affine", "biasprm": f"0 0 {_less(slow)}"}
    if kind == "damper":
        return {"gaintype": "affine", "gainprm": f"0 0 {_less(words.get('kv', '0'))}"}
    return {"dyntype": kind}


def _of_general(kind: str, words: Mapping[str, str]) -> dict[str, str]:
    """The law of a kind in the numbers of `<general>`, where its gain is of the type that the kind has."""
    gains, biases = (words.get(name, "").split() for name in ("gainprm", "biasprm"))
    is_fixed = words.get("gaintype", "fixed") == "fixed"
    if kind == "damper":
        return {} if is_fixed or len(gains) < 3 else {"kv": _less(gains[2])}
    if not is_fixed or kind not in ("position", "velocity"):
        return {}
    found = {"kp" if kind == "position" else "kv": gains[0]} if gains else {}
    if kind == "velocity" or len(biases) < 3:
        return found
    return {**found, **({"dampratio": biases[2]} if _is_positive(biases[2]) else {"kv": _less(biases[2])})}


def _less(text: str) -> str:
    """A number with the other sign, as text."""
    text = text.strip()
    return text[1:] if text.startswith("-") else f"-{text}"


def _is_positive(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False
