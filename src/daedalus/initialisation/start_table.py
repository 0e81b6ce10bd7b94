"""A start as a table: name, value, derivative and origin of states and algebraic variables, then what is special."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daedalus.initialisation.wording import listed, number

if TYPE_CHECKING:
    from daedalus.initialisation.start import Start

# Constraints that are off by less at the guess are not mentioned.
CLOSED = 1e-9


def start_table(start: Start, most: int) -> str:
    """The table, cut after `most` rows."""
    system, origin = start.system, start.origin._words
    lines = [("name", "value", "derivative", "origin")]
    for letter in ("x", "z"):
        for k, label in enumerate(system.labels[letter]):
            rate = number(start.vectors["xdot"][k]) if letter == "x" else ""
            lines.append((label, number(start.vectors[letter][k]), rate, origin[letter][k]))
    hidden = len(lines) - 1 - most
    lines = lines[: most + 1]
    widths = [max(len(line[k]) for line in lines) for k in range(3)]
    text = [start.summary()]
    for name, value, rate, word in lines:
        text.append(f"  {name:<{widths[0]}}  {value:>{widths[1]}}  {rate:>{widths[2]}}  {word}".rstrip())
    if hidden > 0:
        text.append(f"  … and {hidden} more")
    if start.residual:
        worst = max(start.residual, key=lambda name: abs(start.residual[name]))
        text.append(f"  largest residual {number(start.largest_residual, 3)} in {worst}")
    open_ = {name: gap for name, gap in start.closure.items() if gap > CLOSED}
    if open_:
        worst_first = sorted(open_, key=lambda name: -open_[name])
        gaps = [f"{name} {number(open_[name], 3)}" for name in worst_first]
        text.append(f"  the guess was off by: {listed(gaps)}")
    if start.free:
        many = len(start.free)
        names = list(dict.fromkeys(name for direction in start.free for name in _states_in(start, direction)))
        what = "one value" if many == 1 else f"{many} values"
        text.append(f"  {what} may be chosen among {listed(names)}")
    if start.undetermined:
        text.append(f"  not determined by the equations: {listed(start.undetermined)}")
    text += [f"  {note}" for note in start.notes]
    return "\n".join(text)


def _states_in(start: Start, direction: dict[str, float]) -> list[str]:
    """The states that move along a direction, or all that does where no state moves."""
    states = [name for name in direction if name in start.system.labels["x"]]
    return states or list(direction)
