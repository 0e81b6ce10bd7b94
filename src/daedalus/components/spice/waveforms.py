"""Sources over time as formulas: SIN, PULSE, PWL, EXP, SFFM, AM. Corners are conditions that a run locates.

Numbers that are left out, or zero where zero has no meaning, stand for what ngspice takes for them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import casadi as ca

from daedalus.components.spice.netlist_text import Card, is_pair, plain_number

Wave = ca.SX | float
NUMBERS = {
    "sin": (2, 6),
    "sine": (2, 6),
    "pulse": (2, 8),
    "pwl": (2, None),
    "exp": (2, 6),
    "sffm": (2, 7),
    "am": (3, 5),
}  # how many each takes, at least and at most
DISTORTION = ("distof1", "distof2")
NOT_MODELLED = ("trnoise", "trrandom", "external", "wavefile", "noise")


class SourceWords(NamedTuple):
    """The words of a source: its steady value, its small signal (AC magnitude phase), and what it gives over time."""

    steady: list[str]
    small: list[str] | None
    over_time: list[str]


def source_words(card: Card) -> SourceWords:
    """The words of a V or I element by what they say.

    Example
    -------
    >>> from daedalus.components.spice.netlist_text import cards_of
    >>> source_words(cards_of("V1 a 0 DC 2 AC 1 90 SIN(0 1 1k)")[0])
    SourceWords(steady=['2'], small=['1', '90'], over_time=['sin', '0', '1', '1k'])
    """
    steady, over_time = list[str](), list[str]()
    small: list[str] | None = None
    words = list[str]()
    for word in card.words[3:]:
        name, sign, value = word.partition("=")
        if not sign or not is_pair(word):
            words.append(word)
        elif name in ("dc", "ac"):
            words += [name, value]
    while words:
        word = words.pop(0)
        if word in DISTORTION:  # a magnitude and a phase, for .disto alone
            while words and plain_number(words[0]) is not None:
                words.pop(0)
        elif word in NUMBERS:
            over_time, words = [word, *words], []
            # A small signal or a steady value may stand behind the wave.
            place = next((k for k, own in enumerate(over_time) if own in ("ac", "dc", *DISTORTION)), None)
            if place is not None:
                over_time, words = over_time[:place], over_time[place:]
        elif word == "ac":
            small = []
            while words and len(small) < 2 and words[0] not in (*NUMBERS, *DISTORTION, "dc"):
                small.append(words.pop(0))
        elif word != "dc":
            steady.append(word)
    return SourceWords(steady, small, over_time)


def wave_of(
    card: Card, words: list[str], number: Callable[[str], float], t: ca.SX, step: float, stop: float
) -> Wave:  # fmt: skip
    """What a source gives over time; `step` and `stop` are those of .tran, which stand for numbers left out."""
    kind = next((word for word in words if word in NUMBERS), None)
    if kind is None:
        if len(words) > 1:
            word = next((own for own in words if own in NOT_MODELLED), words[1])
            raise card.refuse(
                f"says {word!r} of {card.words[0]!r}", "that is not modelled.", "SIN PULSE PWL EXP SFFM AM"
            )
        return number(words[0]) if words else 0.0
    values = [number(word) for word in words[words.index(kind) + 1 :]]
    least, most = NUMBERS[kind]
    if not least <= len(values) <= (most or len(values)) or (kind == "pwl" and len(values) % 2):
        raise card.refuse(f"has {len(values)} numbers in {kind.upper()}", "it takes others.", f"{kind.upper()}(0 1)")
    if kind == "pwl":
        if any(later < earlier for earlier, later in itertools.pairwise(values[::2])):
            because = "each point stands behind the one before; two at one time are a jump."
            raise card.refuse("has a PWL whose times go back", because, "PWL(0 0 1m 1)")
        late = {
            word: number(own.split("=", 1)[1])
            for own in card.words
            for word in ("r", "td")
            if own.startswith(f"{word}=")
        }
        return repeated(t, values, late.get("td", 0.0), late.get("r"))
    if kind in ("sin", "sine"):
        return sine(t, values, stop)
    if kind == "sffm":
        return modulated(t, values, stop)
    if kind == "am":
        return amplitude_modulated(t, values)
    return pulse(t, values, step, stop) if kind == "pulse" else exponential(t, values, step)


def sine(t: ca.SX, v: list[float], stop: float) -> Wave:
    """SIN(offset amplitude frequency delay damping phase); a frequency of zero is one turn until the end of .tran."""
    v = [*v[:2], 1.0 / stop, *v[3:]] if len(v) < 3 or v[2] == 0 else v
    offset, amplitude, frequency, delay, damping, phase = (*v, *[0.0] * (6 - len(v)))
    late = t - delay
    swing = amplitude * ca.sin(2 * ca.pi * frequency * late + phase * ca.pi / 180)
    value = offset + swing * (ca.exp(-late * damping) if damping else 1)
    before = offset + amplitude * float(ca.sin(phase * ca.pi / 180))
    return value if delay == 0 else ca.if_else(t < delay, before, value)


def modulated(t: ca.SX, v: list[float], stop: float) -> Wave:
    """SFFM(offset amplitude carrier index signal phases): a carrier whose frequency a signal moves."""
    offset, amplitude, carrier, index, signal, own, inner = (*v, *[1.0 / stop, 0.0, 1.0 / stop, 0.0, 0.0][len(v) - 2 :])
    moved = index * ca.sin(2 * ca.pi * signal * t + inner * ca.pi / 180)
    return offset + amplitude * ca.sin(2 * ca.pi * carrier * t + own * ca.pi / 180 + moved)


def amplitude_modulated(t: ca.SX, v: list[float]) -> Wave:
    """AM(amplitude offset modulation carrier delay): amplitude (offset + sin(modulation)) sin(carrier)."""
    amplitude, offset, modulation, carrier, delay = (*v, *[0.0] * (5 - len(v)))
    late = t - delay
    value = amplitude * (offset + ca.sin(2 * ca.pi * modulation * late)) * ca.sin(2 * ca.pi * carrier * late)
    return value if delay == 0 else ca.if_else(t < delay, 0, value)


def repeated(t: ca.SX, v: list[float], delay: float, again: float | None) -> Wave:
    """PWL behind a delay; `again` is the time that it goes back to at its end, as r= says."""
    late = t - delay if delay else t
    if again is not None and again >= 0 and v[-2] > again:
        period = v[-2] - again
        late = ca.if_else(late > v[-2], again + (late - again) - period * ca.floor((late - again) / period), late)
    return ca.if_else(t < delay + v[0], v[1], piecewise(late, v)) if delay else piecewise(late, v)


def pulse(t: ca.SX, v: list[float], step: float, stop: float) -> Wave:
    """PULSE(low high delay rise fall width period count); a rise or fall of zero takes one step of .tran.

    Without a width or a period the source stays high until the end; without a count there are pulses until then.
    """
    low, high, delay, rise, fall, width, period, count = (*v, *[0.0] * (8 - len(v)))
    rise, fall = rise or step, fall or step
    since = t - delay
    late = since - period * ca.floor(since / period) if period else since
    width = width or (period or 1e30)
    falling = ca.if_else(late < rise + width + fall, high + (low - high) * (late - rise - width) / fall, low)
    value = ca.if_else(
        late < rise, low + (high - low) * late / rise, ca.if_else(late < rise + width, high, falling)
    )  # fmt: skip
    if period and 0 < count * period < stop:
        value = ca.if_else(since < count * period, value, low)
    return ca.if_else(t < delay, low, value)


def piecewise(t: ca.SX, v: list[float]) -> Wave:
    """PWL(t1 v1 t2 v2 ...), constant before and behind; two values at one time are a jump to the second."""
    times, values = v[::2], v[1::2]
    found: Wave = values[-1]
    for k in range(len(values) - 2, -1, -1):
        if times[k + 1] == times[k]:
            continue
        slope = (values[k + 1] - values[k]) / (times[k + 1] - times[k])
        found = ca.if_else(t < times[k + 1], values[k] + slope * (t - times[k]), found)
    return ca.if_else(t < times[0], values[0], found) if times[0] > 0 else found


def exponential(t: ca.SX, v: list[float], step: float) -> Wave:
    """EXP(low high rise-delay rise-constant fall-delay fall-constant).

    Each of the four times that is left out or zero is one step of .tran, the fall's delay one step behind the rise's.
    """
    low, high, begin, rise, end, fall = (*v, *[0.0] * (6 - len(v)))
    begin, rise, fall = begin or step, rise or step, fall or step
    end = end or begin + step
    up = (high - low) * (1 - ca.exp(-(t - begin) / rise))
    down = (low - high) * (1 - ca.exp(-(t - end) / fall))
    return low + ca.if_else(t < begin, 0, up) + ca.if_else(t < end, 0, down)
