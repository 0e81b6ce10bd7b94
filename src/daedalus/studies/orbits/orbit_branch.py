"""What a branch of periodic orbits is when it has been followed, and the special orbits on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.analysis.points.partial_derivatives import partial_derivatives
from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import counted
from daedalus.model.system.system import System
from daedalus.studies.branches.numbered_points import checked_number

if TYPE_CHECKING:
    import xarray

    from daedalus.studies.orbits.periodic_orbit import PeriodicOrbit

# Shares of a period at which the smallest and the largest values are looked for.
LOOKED = 257


@dataclass(frozen=True, eq=False, repr=False)
class SpecialOrbit:
    """A special orbit of a branch, such as a period doubling. `print` shows it in words.

    kind: "fold of cycles", "period doubling", "torus" or "branch point". parameter: its value. period: that of the
    orbit. multipliers: Floquet's. sentence: all of it in words. coefficient: of the normal form, found when it is read:
    of a period doubling and of a torus that of the cube (negative: what is born is stable, supercritical), of a fold of
    cycles that of the square; NaN of models with constraints or events, and of branch points.
    """

    kind: str
    name: str
    parameter: float
    period: float
    multipliers: np.ndarray
    sentence: str
    _walk: Any
    _step: Any

    def __repr__(self) -> str:
        return f"SpecialOrbit({self.kind} at {self.name} = {self.parameter:.10g})"

    def __str__(self) -> str:
        return self.sentence

    @cached_property
    def coefficient(self) -> float:
        """The coefficient of the normal form, for a critical motion beside the orbit of mean square one."""
        from daedalus.studies.orbits.cycle_forms import cycle_coefficient

        return cycle_coefficient(self.kind, self._step.equations, self._step.orbit, self.multipliers)

    @property
    def eigenvalues(self) -> np.ndarray:
        """The Floquet multipliers, under the name that equilibria have for them."""
        return self.multipliers

    @property
    def state(self) -> dict[str, float]:
        """The states at the beginning of the orbit by name, ready for `start=`."""
        labels = getattr(self._walk, "labels", self._walk.problem.system.labels["x"])
        return dict(zip(labels, self._step.orbit.values.x[0].tolist()))

    @property
    def orbit(self) -> PeriodicOrbit:
        """The orbit itself, as `dd.periodic` returns it."""
        found: PeriodicOrbit = self._walk.again(self._step.orbit)
        return found

    def switch(self) -> OrbitBranch:
        """The branch of orbits that crosses here; at a period doubling that of orbits of twice the period.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("Roessler"); a = m.parameter("a", 0.2); c = m.parameter("c", 2.5)
        >>> x, y, z = m.state("x", start=3.0), m.state("y", start=0.0), m.state("z", start=0.1)
        >>> m.equation([m.der(x), m.der(y), m.der(z)], [-y - z, x + a * y, a + z * (x - c)])
        >>> br = dd.branch(dd.periodic(m, start=dd.simulate(m, 200.0).end), "c", (2.5, 3.0))
        >>> [point.kind for point in br.points]
        ['period doubling']
        >>> twice = br.points[0].switch()
        >>> bool(abs(twice.period[0] / br.points[0].period - 2) < 1e-2), bool(twice.stable[0])
        (True, True)
        """
        if self.kind not in ("period doubling", "branch point"):
            raise InputError(
                f"No branch of orbits crosses at a {self.kind}.".replace("a torus", "a torus point"),
                f"{self.name} = {self.parameter:.6g}",
                because="orbits of twice the period begin at a period doubling, others at a branch point.",
                remedy="p.switch() for p in br.points if p.kind == 'period doubling'",
            )
        other: OrbitBranch = self._walk.switched(self)
        return other


def sampled_orbit(problem: Any, orbit: Any, names: Sequence[str], count: int) -> np.ndarray:
    """Values of states, algebraic variables and outputs at equal shares of one period, (count, names)."""
    times = problem.begin + orbit.period * orbit.mesh
    at = problem.begin + orbit.period * np.arange(count) / count
    x, rates, z = orbit.values.between(times, at)
    system = problem.system
    columns = dict(zip((*system.labels["x"], *system.labels["z"]), np.hstack([x, z]).T))
    if any(name not in columns for name in names):
        derivatives = partial_derivatives(system)
        p, held = problem.numbers(orbit.parameter)
        outputs = derivatives.outputs_many(problem.collocation.vectors(at, rates, x, z, p, held))
        columns |= dict(zip(derivatives.output_labels, outputs.T))
    unknown = [name for name in names if name not in columns]
    if unknown:
        raise InputError(
            f"{unknown[0]} is not a variable of an orbit of {system.name!r}.",
            f"there are {', '.join(columns)}"[:200],
            remedy="elements of states, algebraic variables and outputs by name",
        )
    return np.array([columns[name] for name in names]).T


class OrbitBranch(Mapping[str, np.ndarray]):
    """The result of `dd.branch` of an orbit or a Hopf point: periodic orbits over a parameter.

    `br["x"]` holds the largest value of a variable on each orbit, `br.least("x")` the smallest.

    Attributes
    ----------
    parameter: its name. period: (k,). multipliers: a list of arrays, one for each orbit. stable: whether each orbit is
    stable. points: the special orbits in order, each a `SpecialOrbit`. ended: why the branch ends where it does.
    notes: how it began.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("van der Pol"); mu = m.parameter("mu", 1.0)
    >>> x = m.state("x", start=2.0); y = m.state("y", start=0.0)
    >>> m.equation([m.der(x), m.der(y)], [y, mu * (1 - x**2) * y - x])
    >>> br = dd.branch(dd.periodic(m), "mu", (1.0, 3.0))
    >>> round(float(br.period[0]), 8), round(float(br.period[-1]), 6), br.stable.all()
    (6.66328686, 8.859095, np.True_)
    """

    def __init__(
        self, walk: Any, name: str, steps: Sequence[Any], points: tuple[SpecialOrbit, ...], ended: str,
        notes: tuple[str, ...],
    ) -> None:  # fmt: skip
        self._walk, self.parameter, self.points, self.ended, self.notes = walk, name, points, ended, notes
        self._orbits = tuple(step.orbit for step in steps)
        self.period = np.array([orbit.period for orbit in self._orbits])
        self.multipliers = [step.multipliers for step in steps]
        self.stable = np.array([walk.unstable(values) == 0 for values in self.multipliers], dtype=bool)
        letters = ("x", "z")
        self._names = (name, *(n for n, place in self.system.places.items() if place.letter in letters))

    @property
    def system(self) -> System:
        """The system that was followed."""
        system: System = self._walk.problem.system
        return system

    @property
    def eigenvalues(self) -> list[np.ndarray]:
        """The Floquet multipliers, under the name that branches of equilibria have for them."""
        return self.multipliers

    def __getitem__(self, name: str) -> np.ndarray:
        if name == self.parameter:
            return np.array([orbit.parameter for orbit in self._orbits])
        return self._extent(name, np.max)

    def least(self, name: str) -> np.ndarray:
        """The smallest value of a variable on each orbit."""
        return self._extent(name, np.min)

    def _extent(self, name: str, chosen: Any) -> np.ndarray:
        place = self.system.place(name)
        if not set(place.letters) <= {"x", "z"}:
            raise InputError(
                f"{name} is neither a state nor an algebraic variable.",
                remedy="br.at(k), the orbit itself, which knows all names",
            )
        rows = []
        for orbit in self._orbits:
            x, _, z = self._looked(orbit)
            flat = np.array([(x if letter == "x" else z)[:, k] for letter, k in zip(place.letters, place.positions)])
            rows.append(chosen(flat, axis=1))
        flat = np.array(rows)
        return flat[:, 0] if place.shape == () else flat.reshape(len(flat), *place.shape, order="F")

    def _looked(self, orbit: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        times = self._walk.problem.begin + orbit.period * orbit.mesh
        at = times[0] + orbit.period * np.linspace(0, 1, LOOKED)
        found: tuple[np.ndarray, np.ndarray, np.ndarray] = orbit.values.between(times, at)
        return found

    def samples(self, k: int, names: Sequence[str], count: int) -> np.ndarray:
        """Values of states, algebraic variables and outputs at equal shares of one period of an orbit, (count, names).

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("circle"); x = m.state("x", 2, start=[1.0, 0.0]); r = m.parameter("r", 1.0)
        >>> pull = r - x[0] ** 2 - x[1] ** 2
        >>> m.equation([m.der(x)[0], m.der(x)[1]], [pull * x[0] - x[1], pull * x[1] + x[0]])
        >>> orbits = dd.branch(dd.periodic(m, period=6.2), "r", (1.0, 2.0))
        >>> orbits.samples(0, ["x[0]"], 4).shape
        (4, 1)
        """
        orbit = self._orbits[checked_number(k, len(self._orbits), "orbit")]
        return sampled_orbit(self._walk.problem, orbit, names, count)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def at(self, k: int) -> PeriodicOrbit:
        """One orbit of the branch, as `dd.periodic` returns it."""
        found: PeriodicOrbit = self._walk.again(self._orbits[checked_number(k, len(self._orbits), "orbit")])
        return found

    def _repr_html_(self) -> str:
        from daedalus.display.cards.study_cards import branch_card

        return branch_card(self)

    def __repr__(self) -> str:
        return f"OrbitBranch({self.system.name!r} over {self.parameter}: {counted(len(self._orbits), 'orbit')})"

    def __str__(self) -> str:
        values = self[self.parameter]
        lines = [
            f"Branch of periodic orbits of {self.system.name!r} over {self.parameter}, {counted(len(values), 'orbit')} "
            f"from {values[0]:.6g} to {values[-1]:.6g}, {int(self.stable.sum())} of them stable"
        ]
        lines += [f"  {point.sentence}" for point in self.points]
        return "\n".join([*lines, f"  {self.ended}", *(f"  {note}" for note in self.notes)])

    def plot(self, name: str | None = None, ax: Any = None) -> Any:
        """Draw the smallest and the largest value of a variable over the parameter: stable orbits solid, unstable
        ones dashed; returns the figure."""
        from daedalus.display.branches.branch_plot import plot_orbits

        return plot_orbits(self, name, ax)

    def to_xarray(self) -> xarray.Dataset:
        """Smallest and largest values over the orbits, with parameter, period and stability as coordinates."""
        import xarray

        coordinates: dict[str, Any] = {
            self.parameter: ("orbit", self[self.parameter]),
            "period": ("orbit", self.period),
            "stable": ("orbit", self.stable),
            "extent": ["least", "largest"],
        }
        variables: dict[str, Any] = {}
        for name in self._names[1:]:
            values = np.stack([self.least(name), self[name]], axis=1)
            dimensions = ["orbit", "extent", *(f"{name}_{k}" for k in range(values.ndim - 2))]
            variables[name] = (dimensions, values, {"unit": self.system.places[name].unit})
        return xarray.Dataset(variables, coordinates, {"model": self.system.name, "ended": self.ended})
