"""`.meas`: times between crossings, values where something happens, means, extremes and integrals of a result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daedalus.components.spice.analyses.analysis_cards import expression
from daedalus.components.spice.analyses.curves import Curve, Panels, Tree
from daedalus.components.spice.netlist import Netlist
from daedalus.components.spice.netlist_formulas import number
from daedalus.components.spice.netlist_text import Card

_KINDS = ("avg", "rms", "min", "max", "pp", "integ", "integral", "min_at", "max_at", "deriv", "derivative", "find",
          "when", "trig", "param")  # fmt: skip
_OPTIONS = ("val", "td", "from", "to", "at", "cross", "rise", "fall", "goal", "minval", "weight")
_TOKEN = re.compile(r"\{[^}]*\}|'[^']*'|\"[^\"]*\"|par\([^)]*\)|[a-z_][\w.#]*\([^()]*\)|=|[^\s=,]+")


@dataclass(frozen=True)
class Measure:
    """One .meas: its analysis, name and words."""

    analysis: str
    name: str
    words: tuple[str, ...]
    card: Card


def read_measure(card: Card) -> Measure:
    """A card, in its words: formulas stay whole, `name = value` is one word."""
    parts = _TOKEN.findall(card.text.lower())[1:]
    words: list[str] = []
    k = 0
    while k < len(parts):
        if k + 2 < len(parts) and parts[k + 1] == "=":
            words.append(f"{parts[k]}={parts[k + 2]}")
            k += 3
        else:
            words.append(parts[k])
            k += 1
    if len(words) < 3 or words[0] not in ("tran", "ac", "dc", "noise", "sp"):
        raise _unreadable(card)
    return Measure(words[0], words[1], tuple(words[2:]), card)


def measured(measure: Measure, curve: Curve | None, netlist: Netlist, known: dict[str, Any]) -> float:
    """The result; NaN where what is asked for does not happen."""
    return _Reading(measure, curve, netlist, known).result()


def measured_over(measure: Measure, curves: Sequence[Curve], netlist: Netlist, known: dict[str, Any]) -> float:
    """The result over all curves of a nested sweep: extremes and means of all, else of the first where it happens."""
    word = measure.words[0].partition("=")[0]
    if word == "pp":
        high, low = (replace(measure, words=(kind, *measure.words[1:])) for kind in ("max", "min"))
        return measured_over(high, curves, netlist, known) - measured_over(low, curves, netlist, known)
    if word in ("max_at", "min_at"):
        values = [measured(replace(measure, words=(word[:3], *measure.words[1:])), c, netlist, known) for c in curves]
        best = int(np.nanargmax(values) if word == "max_at" else np.nanargmin(values))
        return measured(measure, curves[best], netlist, known)
    found = np.array([measured(measure, curve, netlist, known) for curve in curves])
    happened = found[~np.isnan(found)]
    if not len(happened):
        return float("nan")
    if word == "rms":
        return float(np.sqrt(np.mean(happened**2)))
    if word in ("max", "min", "avg"):
        return float({"max": happened.max(), "min": happened.min(), "avg": happened.mean()}[word])
    return float(happened[0])


def _unreadable(card: Card) -> Exception:
    return card.refuse(
        "has a .meas that cannot be read", "it is an analysis, a name and what to measure.",
        ".meas tran rise TRIG v(out) VAL=0.1 RISE=1 TARG v(out) VAL=0.9 RISE=1",
    )  # fmt: skip


class _Reading:
    """The words of one .meas against a curve."""

    def __init__(self, measure: Measure, curve: Curve | None, netlist: Netlist, known: dict[str, Any]) -> None:
        self.card, self.words, self.curve = measure.card, list(measure.words), curve
        self.netlist, self.known = netlist, known

    def result(self) -> float:
        """What the first word asks for."""
        word, _, rest = self.words[0].partition("=")
        if word not in _KINDS:
            raise _unreadable(self.card)
        if word == "param":
            return self._parameter(rest or " ".join(self.words[1:]))
        if self.curve is None:
            raise self.card.refuse("measures an analysis that is not asked for", "it has no result.", ".tran 1u 1m")
        if word == "trig":
            return self._between()
        if word == "when":
            return self._when(self.words[0:])[0]
        if word in ("find", "deriv", "derivative"):
            return self._found(word)
        return self._over(word)

    # -- kinds -------------------------------------------------------------------------------------------------

    def _parameter(self, text: str) -> float:
        from daedalus.components.spice.analyses.named_values import evaluated

        def nothing(name: str) -> np.ndarray:
            raise self.card.refuse(f"uses {name} in PARAM", "it is of results and .param alone.", "param='a+b'")

        return float(evaluated(expression(text, self.card), nothing, self.netlist, self.card, self.known))

    def _between(self) -> float:
        places = [k for k, word in enumerate(self.words) if word == "targ"]
        if len(places) != 1:
            raise _unreadable(self.card)
        trigger, target = self.words[1 : places[0]], self.words[places[0] + 1 :]
        return self._instant(target) - self._instant(trigger)

    def _instant(self, words: list[str]) -> float:
        """The time of `v(x) val=… rise=…`, or of `at=…`."""
        options = self._options(words)
        if "at" in options:
            return self._number(options["at"])
        if not words or "val" not in options:
            raise _unreadable(self.card)
        return self._crossing(expression(words[0], self.card), expression(options["val"], self.card), options)

    def _when(self, words: list[str]) -> tuple[float, dict[str, str]]:
        """The place of `when v(x)=value …`."""
        words = words[1:] if words[0] == "when" else [words[0].removeprefix("when="), *words[1:]]
        if not words or "=" not in words[0]:
            raise _unreadable(self.card)
        left, right = words[0].split("=", 1)
        options = self._options(words[1:])
        return self._crossing(expression(left, self.card), expression(right, self.card), options), options

    def _found(self, word: str) -> float:
        if len(self.words) < 3:
            raise _unreadable(self.card)
        assert self.curve is not None
        tree, rest = expression(self.words[1], self.card), self.words[2:]
        options = self._options(rest)
        at = self._number(options["at"]) if "at" in options else self._when(rest)[0]
        if np.isnan(at) or not self.curve.first <= at <= self.curve.last:
            return float("nan")
        if word == "find":
            return self.curve.at(tree, at, self.card)
        h = 1e-6 * (self.curve.last - self.curve.first)
        low, high = max(at - h, self.curve.first), min(at + h, self.curve.last)
        return (self.curve.at(tree, high, self.card) - self.curve.at(tree, low, self.card)) / (high - low)

    def _over(self, word: str) -> float:
        assert self.curve is not None
        if len(self.words) < 2:
            raise _unreadable(self.card)
        tree, options = expression(self.words[1], self.card), self._options(self.words[2:])
        panels = self._panels(tree, options)
        if not len(panels.x):
            return float("nan")
        length = float(panels.x[-1, -1] - panels.x[0, 0])
        if word in ("avg", "rms", "integ", "integral"):
            whole = panels.integral(2 if word == "rms" else 1)
            if length == 0 and word in ("avg", "rms"):
                return abs(float(panels.y[0, 0])) if word == "rms" else float(panels.y[0, 0])
            return whole / length if word == "avg" else (whole / length) ** 0.5 if word == "rms" else whole
        low, high = self._extreme(tree, panels, -1.0), self._extreme(tree, panels, 1.0)
        return {"min": low[1], "max": high[1], "pp": high[1] - low[1], "min_at": low[0], "max_at": high[0]}[word]

    # -- curves ------------------------------------------------------------------------------------------------

    def _panels(self, tree: Tree, options: dict[str, str]) -> Panels:
        assert self.curve is not None
        low = self._number(options["from"]) if "from" in options else self.curve.first
        low = max(low, self._number(options["td"]) if "td" in options else low, self.curve.first)
        high = self._number(options["to"]) if "to" in options else self.curve.last
        return self.curve.panels(tree, low, min(high, self.curve.last), self.card)

    def _extreme(self, tree: Tree, panels: Panels, sign: float) -> tuple[float, float]:
        """Place and value of the largest (sign 1) or smallest value, by a parabola around the best point."""
        assert self.curve is not None
        x, y = panels.x.ravel(), sign * panels.y.ravel()
        k = int(np.argmax(y))
        best = (float(x[k]), float(y[k]))
        row, column = divmod(k, 5)
        middle = min(max(column, 1), 3)
        spots, heights = panels.x[row, middle - 1 : middle + 2], sign * panels.y[row, middle - 1 : middle + 2]
        h, curvature = spots[1] - spots[0], heights[0] - 2 * heights[1] + heights[2]
        if curvature < 0 and h > 0:
            top = float(spots[1] + 0.5 * h * (heights[0] - heights[2]) / curvature)
            if panels.x[row, 0] <= top <= panels.x[row, -1]:
                value = sign * self.curve.at(tree, top, self.card)
                best = max(best, (top, value), key=lambda own: own[1])
        return best[0], sign * best[1]

    def _crossing(self, left: Tree, right: Tree, options: dict[str, str]) -> float:
        """The place of the n-th (or the last) crossing of left and right."""
        assert self.curve is not None
        tree: Tree = ("-", left, right)
        panels = self._panels(tree, options)
        way = next((word for word in ("rise", "fall", "cross") if word in options), "cross")
        which = options.get(way, "1")
        wanted = 0 if which == "last" else round(self._number(which))
        found = float("nan")
        for count, place in enumerate(self._crossings(tree, panels, way), 1):
            found = place
            if count == wanted:
                return found
        return found if wanted == 0 else float("nan")

    def _crossings(self, tree: Tree, panels: Panels, way: str) -> Iterator[float]:
        assert self.curve is not None
        x, y = panels.x.ravel(), panels.y.ravel()
        side = np.sign(y)
        for k in range(1, len(side)):  # zero counts for the side that comes after it
            side[k] = side[k - 1] if side[k] == 0 else side[k]
        for k in np.flatnonzero((side[1:] != side[:-1]) & (side[:-1] != 0)).tolist():
            if (way == "rise" and side[k + 1] < 0) or (way == "fall" and side[k + 1] > 0):
                continue
            yield self._root(tree, float(x[k]), float(x[k + 1]), float(y[k]), float(y[k + 1]))

    def _root(self, tree: Tree, a: float, b: float, fa: float, fb: float) -> float:
        """Where a curve that changes its sign between a and b is zero, by regula falsi and bisection.

        No Newton's method: a curve of rows has no slopes at its corners, and the bracket keeps the first crossing.
        """
        assert self.curve is not None
        if b <= a or fb == 0:
            return b
        first, last = a, b
        for k in range(80):
            middle = 0.5 * (a + b) if k % 3 == 2 else b - fb * (b - a) / (fb - fa)
            middle = min(max(middle, a), b)
            value = self.curve.at(tree, middle, self.card)
            if value == 0 or b - a <= 4e-16 * max(abs(a), abs(b)) + 1e-15 * (last - first):
                return middle
            if (value > 0) == (fb > 0):
                b, fb = middle, value
            else:
                a, fa = middle, value
        return 0.5 * (a + b)

    # -- words -------------------------------------------------------------------------------------------------

    def _options(self, words: list[str]) -> dict[str, str]:
        found = {}
        for word in words:
            name, sign, text = word.partition("=")
            if sign and name in _OPTIONS:
                found[name] = text
        return found

    def _number(self, text: str) -> float:
        if text in self.known:
            return float(self.known[text])
        return number(text, self.card, self.netlist.scope)
