"""Choose what a picture of a run shows: few panels by unit, flat curves as lines, copies of joined ports left out.

A curve is flat if it varies by less than FLAT of its size, or if it is NOISE beside the largest of its kind: what
remains is rounding, and is drawn as a straight line with its value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import casadi as ca
import numpy as np

from daedalus.algebra.agreement import SAME
from daedalus.algebra.rank_decision import EPSILON, NOT_ZERO
from daedalus.analysis.check_units import found_units
from daedalus.model.switching.delays import BEFORE, SIGNAL, TIME
from daedalus.model.values import unit_of
from daedalus.simulation.result.labelled_samples import element_columns
from daedalus.simulation.result.samples import Samples

FLAT, NOISE = 1e-6, 1e-15
MOST_PANELS, MOST_CURVES = 6, 8
# Whole numbers that a mode takes at most; with more of them it is drawn like any curve.
MOST_VALUES = 8
# States and outputs rank first, then inputs, then what is solved for, then what parts add.
SOLVED = 2
# Names without a unit share a panel where their sizes differ by less than this factor.
ALIKE = 30.0


@dataclass(frozen=True, eq=False)
class DrawnCurve:
    """One element of a name over time; flat: the value where it is constant but for rounding, else None."""

    name: str
    label: str
    unit: str
    values: np.ndarray
    rank: int
    flat: float | None

    @property
    def size(self) -> float:
        """The largest finite value."""
        return largest(self.values)

    @property
    def legend(self) -> str:
        """The label, with the value of what is constant."""
        return self.label if self.flat is None else f"{self.label} = {self.flat:.6g} (constant)"


@dataclass
class CurvePanel:
    """Curves of one unit, and the scalar modes that are drawn as bands."""

    unit: str
    curves: list[DrawnCurve] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The names of its curves, each once."""
        return list(dict.fromkeys(curve.name for curve in self.curves))


def largest(values: np.ndarray) -> float:
    """The largest absolute value that is finite, or zero.

    Example
    -------
    >>> largest(np.array([1.0, -3.0, np.nan, np.inf]))
    3.0
    """
    values = np.abs(np.asarray(values, dtype=float))
    return float(np.max(values, where=np.isfinite(values), initial=0.0))


def flat_value(values: np.ndarray, size: float = 0.0) -> float | None:
    """The value of a curve that is constant but for rounding, else None; size: the largest value of its kind.

    Example
    -------
    >>> flat_value(np.array([2.0, 2.0 + 1e-9, 2.0])), flat_value(np.array([1e-28, -3e-28]), size=0.1)
    (2.0, 0.0)
    >>> flat_value(np.array([0.0, 1e-12])) is None
    True
    """
    values = np.asarray(values, dtype=float)
    finite = values[np.isfinite(values)]
    if not len(finite) or len(finite) < len(values):
        return None
    own = largest(finite)
    if own <= NOISE * size:
        return 0.0
    if np.ptp(finite) > FLAT * own:
        return None
    return float(np.median(finite))


def settled(values: np.ndarray, size: float = 0.0) -> np.ndarray:
    """Columns (times, elements) of one name, those that are constant but for rounding made exactly so.

    size: the largest value of its kind, such as all currents.

    Example
    -------
    >>> settled(np.array([[1.0, 2e-28], [3.0, -1e-28]]))
    array([[1., 0.],
           [3., 0.]])
    """
    columns = np.array(values, dtype=float)
    whole, shape = max(largest(columns), size), columns.shape
    columns = columns.reshape(len(columns), -1)
    for k in range(columns.shape[1]):
        value = flat_value(columns[:, k], whole)
        if value is not None:
            columns[:, k] = value
    return columns.reshape(shape)


def curves_of(samples: Samples, names: Iterable[str], rank: int = 0) -> list[DrawnCurve]:
    """Every element of some names as a curve."""
    system, found = samples.system, []
    for name in names:
        values = np.asarray(samples[name], dtype=float)
        whole, unit = largest(values), unit_of(system, name)
        for label, column in element_columns(name, values).items():
            found.append(DrawnCurve(name, label, unit, column, rank, flat_value(column, whole)))
    return found


def named_panels(samples: Samples, names: Sequence[str]) -> list[CurvePanel]:
    """All that was asked for: names with a common unit share a panel, a name without one has its own."""
    panels: dict[str, CurvePanel] = {}
    for curve in curves_of(samples, names):
        panels.setdefault(curve.unit or f"name:{curve.name}", CurvePanel(curve.unit)).curves.append(curve)
    return list(panels.values())


def chosen_panels(
    samples: Samples, modes: Sequence[str] = (), most: int = MOST_PANELS
) -> tuple[list[CurvePanel], list[str]]:
    """The panels of a picture that nobody specified, and the names that are not in it.

    First come states and outputs, then inputs and algebraic variables, then what parts add; `modes` are drawn
    elsewhere. Of parts, what is constant and what repeats another curve is left out.
    """
    ranked = _ranked(samples, set(modes))
    curves = _without_noise([c for rank, names in ranked.items() for c in curves_of(samples, names, rank)])
    curves = _without_cancelled(samples, curves)
    curves = _without_copies(curves)
    panels = _grouped(curves, most, found_units(samples.system))
    # What was asked for by nobody and does not move needs no panel.
    panels = [p for p in panels if _weight(p) < (SOLVED, False) or not _weight(p)[1]] or panels
    # The best rank decides which panels stay; constant ones go first. They keep their order.
    ordered = sorted(range(len(panels)), key=lambda k: _weight(panels[k]))
    panels = [panels[k] for k in sorted(ordered[:most])]
    for panel in panels:
        panel.curves = _some(panel.curves)
    shown = {curve.label for panel in panels for curve in panel.curves}
    left: dict[str, list[str]] = {}
    for rank, names in ranked.items():
        for curve in curves_of(samples, names, rank):
            left.setdefault(curve.name, [])
            if curve.label not in shown:
                left[curve.name].append(curve.label)
    counts = {name: len(missing) for name, missing in left.items() if missing}
    whole = {c.name for panel in panels for c in panel.curves}
    return panels, [name if name not in whole else f"{n} more of {name}" for name, n in counts.items()]


def _ranked(samples: Samples, modes: set[str]) -> dict[int, list[str]]:
    """The names that may be drawn, by how much a reader wants to see them."""
    system, known = samples.system, set(samples.keys())
    aside = {v.name + more for v in system.delayed for more in (SIGNAL, TIME, BEFORE)} | set(system.on_request)
    states = [name for name, place in system.places.items() if place.letter == "x"]
    outputs = list(samples.run_data.plant.output_slices)
    inputs = [v.name for v in system.of_kind("input")]
    others = [v.name for kind in ("discrete", "algebraic") for v in system.of_kind(kind)]
    ranked: dict[int, list[str]] = {}
    for basis, names in ((0, states), (0, outputs), (1, inputs), (SOLVED, others)):
        for name in names:
            if name in known and name not in modes and name not in aside:
                # Variables of parts come after those of the model itself, those of ports last.
                depth = 0 if names is states else min(name.count("."), 2)
                ranked.setdefault(max(basis, SOLVED + depth if depth else 0), []).append(name)
    return dict(sorted(ranked.items()))


def _without_noise(curves: list[DrawnCurve]) -> list[DrawnCurve]:
    """Curves that are rounding beside the largest of their unit become flat."""
    sizes: dict[str, float] = {}
    for curve in curves:
        sizes[curve.unit] = max(sizes.get(curve.unit, 0.0), curve.size)
    return [
        DrawnCurve(c.name, c.label, c.unit, c.values, c.rank, flat_value(c.values, sizes[c.unit] if c.unit else 0.0))
        if c.flat is None
        else c
        for c in curves
    ]


def _without_cancelled(samples: Samples, curves: list[DrawnCurve]) -> list[DrawnCurve]:
    """Outputs in which large terms cancel become flat: a total momentum of 1e-14 is rounding, whatever its unit."""
    places, outputs = samples.system.places, samples.system.outputs
    states = max((c.size for c in curves if c.name in places and places[c.name].letter == "x"), default=0.0)
    small = {c.name for c in curves if c.flat is None and c.name in outputs and c.size < SAME * states}
    gone = {name for name in small if is_cancelled(samples, name)}
    return [replace(c, flat=0.0) if c.name in gone else c for c in curves]


def _without_copies(curves: list[DrawnCurve]) -> list[DrawnCurve]:
    """Without what parts repeat: constants, and curves equal or opposite to one that comes before them."""
    kept: list[DrawnCurve] = []
    sums: dict[tuple[str, float], list[DrawnCurve]] = {}
    for curve in curves:
        key = (curve.unit, float(f"{curve.size:.3g}"))
        if curve.rank > SOLVED and (
            curve.flat is not None or any(_is_copy(curve, other) for other in sums.get(key, ()))
        ):
            continue
        kept.append(curve)
        sums.setdefault(key, []).append(curve)
    return kept


def _is_copy(curve: DrawnCurve, other: DrawnCurve) -> bool:
    near = SAME * max(curve.size, NOT_ZERO)
    if not np.isfinite(curve.values).all():
        return False
    return bool(
        np.all(np.abs(curve.values - other.values) <= near) or np.all(np.abs(curve.values + other.values) <= near)
    )


def _grouped(curves: list[DrawnCurve], most: int, kinds: Mapping[str, str]) -> list[CurvePanel]:
    """Panels by unit; names without one alone while there is room, else with others of their size and kind.

    kinds: what units of variables say about outputs without one. It is not shown: a mass that is a number has no unit.
    """
    units = {curve.unit for curve in curves if curve.unit}
    bare = list(dict.fromkeys(curve.name for curve in curves if not curve.unit))
    alone = len(units) + len(bare) <= most
    panels: dict[str, CurvePanel] = {}
    sizes: dict[str, tuple[float, int, str | None]] = {}
    names: dict[str, float] = {}
    ranks = {curve.name: curve.rank for curve in curves}
    for curve in curves:
        if not curve.unit:
            names[curve.name] = max(names.get(curve.name, 0.0), curve.size)
    keys: dict[str, str] = {}
    for name, size in names.items():
        like = [
            k for k, (other, rank, kind) in sizes.items()
            if size <= ALIKE * other and other <= ALIKE * size and (rank, kind) == (ranks[name], kinds.get(name))
        ]  # fmt: skip
        keys[name] = f"name:{name}" if alone or not like else like[0]
        sizes.setdefault(keys[name], (size, ranks[name], kinds.get(name)))
    for curve in curves:
        panels.setdefault(curve.unit or keys[curve.name], CurvePanel(curve.unit)).curves.append(curve)
    return _split(list(panels.values()), most)


def _split(panels: list[CurvePanel], most: int) -> list[CurvePanel]:
    """States, outputs and inputs apart from what parts add in the same unit, while there is room for both panels.

    Temperatures of rooms are then not flattened by the differences of temperature across their walls.
    """
    found: list[CurvePanel] = []
    room = most - len(panels)
    for panel in panels:
        own = [curve for curve in panel.curves if curve.rank < SOLVED]
        added = [curve for curve in panel.curves if curve.rank >= SOLVED]
        if own and added and room > 0 and any(curve.flat is None for curve in own):
            found += [CurvePanel(panel.unit, own), CurvePanel(panel.unit, added)]
            room -= 1
        else:
            found.append(panel)
    return found


def _weight(panel: CurvePanel) -> tuple[int, bool]:
    return min(curve.rank for curve in panel.curves), all(curve.flat is not None for curve in panel.curves)


def _some(curves: list[DrawnCurve]) -> list[DrawnCurve]:
    """As many curves as one can tell apart: by rank, moving ones first, evenly chosen among equals."""
    if len(curves) <= MOST_CURVES:
        return curves
    chosen: list[int] = []
    for rank in sorted({curve.rank for curve in curves}):
        for still in (False, True):
            own = [k for k, c in enumerate(curves) if c.rank == rank and (c.flat is not None) == still]
            room = MOST_CURVES - len(chosen)
            if own and room:
                places = np.linspace(0, len(own) - 1, min(room, len(own))).round().astype(int)
                chosen += [own[k] for k in dict.fromkeys(places.tolist())]
    return [curves[k] for k in sorted(chosen)]


# Outputs that are what rounding leaves of large terms: the total momentum of stars is zero, not 1e-14.
#
# An output y(x) is zero but for rounding where |y| <= k eps sum_j |dy/dx_j x_j|, the sum of the terms that cancel in
# it.


# How many roundings may add up, and at how many moments the terms are looked at.
ROUNDINGS, MOMENTS = 64, 5
# Formulas up to this length are looked at.
LONGEST = 20_000


def is_cancelled(samples: Samples, name: str) -> bool:
    """Whether an output is zero but for rounding in all of its elements, along a run.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("two"); a = m.state("a", start=0.1); b = m.state("b", start=0.2)
    >>> m.equation([m.der(a), m.der(b)], [-a, -b]); m.output("none", 3 * (b - a) - 3 * b + 3 * a)
    >>> m.output("gap", b - a)
    >>> tr = dd.simulate(m, 1.0)
    >>> is_cancelled(tr, "none"), is_cancelled(tr, "gap")
    (True, False)
    """
    system = samples.system
    expression = ca.vec(system.output(name))
    letters = ("t", "x", "z", "u", "p")
    columns = system.symbols(letters)
    if ca.depends_on(expression, system.symbols(("xdot",))[0]):
        return False
    if ca.Function("value", columns, [expression]).n_instructions() > LONGEST:
        return False
    terms = ca.mtimes(ca.fabs(ca.jacobian(expression, columns[1])), ca.fabs(columns[1]))
    sizes = ca.Function("sizes", columns, [expression, terms])
    parameters = np.asarray(samples.run_data.parameters, dtype=float)
    for k in np.linspace(0, len(samples.time) - 1, MOMENTS).round().astype(int):
        values = [[float(np.asarray(samples[label])[k]) for label in system.labels[letter]] for letter in "xzu"]
        found, whole = sizes(float(samples.time[k]), *values, parameters)
        if not np.all(np.abs(found.full()) <= ROUNDINGS * EPSILON * whole.full()):
            return False
    return True
