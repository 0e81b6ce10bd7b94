"""What a branch of equilibria is when it has been followed: its points in their order, and the special ones by kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from daedalus.algebra.agreement import SAME
from daedalus.analysis.points.operating_point import OperatingPoint
from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import counted
from daedalus.model.system.system import System
from daedalus.studies.branches.numbered_points import checked_number
from daedalus.studies.branches.rest_equations import RestEquations

if TYPE_CHECKING:
    import xarray

    from daedalus.studies.branches.followed_points import FollowedPoints


@dataclass(frozen=True, eq=False, repr=False)
class SpecialPoint:
    """A special point of a branch, such as a fold or a Hopf point. `print` shows it in words.

    kind: "fold", "hopf" or "branch point". parameter: its value. state: all values by name, ready for `start=`.
    eigenvalues: those of the linearisation. coefficient: of the normal form: of a Hopf point the first Lyapunov
    coefficient (negative: a stable orbit is born), of a fold the quadratic coefficient, of a branch point that of the
    square (transcritical) or of the cube (pitchfork, negative: the new branches are stable). sentence: all of it in
    words.
    """

    kind: str
    name: str
    parameter: float
    state: OperatingPoint
    coefficient: float
    sentence: str
    frequency: float | None
    _walk: Any
    _directions: tuple[np.ndarray, ...] = ()

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Those of the linearisation at this point."""
        found: np.ndarray = self._walk.eigenvalues_at(self)
        return found

    def __repr__(self) -> str:
        return f"SpecialPoint({self.kind} at {self.name} = {self.parameter:.10g})"

    def __str__(self) -> str:
        return self.sentence

    def switch(self) -> Branch:
        """The other branch through a branch point, followed both ways over the same range.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("pitchfork"); x = m.state("x"); mu = m.parameter("mu", 0.0)
        >>> m.equation(m.der(x), mu * x - x**3)
        >>> other = dd.branch(m, "mu", (-1.0, 1.0)).points[0].switch()
        >>> bool(abs(max(other["x"]) - 1.0) < 1e-9), bool(abs(min(other["x"]) + 1.0) < 1e-9)
        (True, True)
        """
        if self.kind != "branch point":
            raise InputError(
                f"No branch of equilibria crosses at a {self.kind} point.",
                f"{self.name} = {self.parameter:.6g}",
                because="only at a branch point do two branches of equilibria meet.",
                remedy="p.switch() for p in br.points if p.kind == 'branch point'",
            )
        other: Branch = self._walk.switched(self)
        return other

    def follow(self, name: str, span: tuple[float, float] | None = None) -> FollowedPoints:
        """The curve of such points in two parameters: the branch's own and another one.

        name: the second parameter. span: its range; by default ten times its value to both sides, or -1 to 1.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("cusp"); x = m.state("x", start=-2.0)
        >>> a = m.parameter("a", -2.0); b = m.parameter("b", 1.0)
        >>> m.equation(m.der(x), a + b * x - x**3)
        >>> curve = dd.branch(m, "a", (-2.0, 2.0)).points[0].follow("b", (-1.0, 1.0))
        >>> [(p.kind, abs(round(p.parameters["b"], 6))) for p in curve.points]
        [('cusp', 0.0)]
        """
        curve: FollowedPoints = self._walk.followed(self, name, span)
        return curve


class Spectra(Sequence[np.ndarray]):
    """The eigenvalues at the points of a branch; those that nobody needed on the way are found when they are read."""

    def __init__(self, rest: RestEquations, rows: np.ndarray, known: list[np.ndarray | None]) -> None:
        self._rest, self._rows, self.known = rest, rows, known

    def __len__(self) -> int:
        return len(self.known)

    @overload
    def __getitem__(self, k: int) -> np.ndarray: ...

    @overload
    def __getitem__(self, k: slice) -> Spectra: ...

    def __getitem__(self, k: int | slice) -> np.ndarray | Spectra:
        if isinstance(k, slice):
            return Spectra(self._rest, self._rows[k], self.known[k])
        found = self.known[k]
        if found is None:
            found = self.known[k] = self._rest.eigenvalues(self._rows[k, :-1], self._rows[k, -1:])
        return found

    def unstable_counts(self, neutral: int) -> np.ndarray:
        """How many eigenvalues are unstable at each point; where they are not known, as many as at the last one."""
        counts, last = [], 0
        for values in self.known:
            last = last if values is None else unstable_count(values, neutral)
            counts.append(last)
        return np.array(counts, dtype=int)


class Branch(Mapping[str, np.ndarray]):
    """The result of `dd.branch`: equilibria over a parameter. `br["x"]` is an array over the points.

    Attributes
    ----------
    parameter: its name. stable: whether each point is stable. eigenvalues: a sequence of arrays, one for each point.
    points: the special points in order, each a `SpecialPoint`.
    ended: why the branch ends where it does. notes: what was assumed.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("saddle and node"); x = m.state("x", start=-1.0); a = m.parameter("a", -1.0)
    >>> m.equation(m.der(x), -a - x**2)
    >>> br = dd.branch(m, "a", (-1.0, 0.5), start={"x": 1.0})
    >>> print(br.points[0])
    Fold at a = 0: the branch turns back, and an eigenvalue passes through zero.
    >>> float(br["a"][-1]), br["x"].round(6)[[0, -1]].tolist(), br.stable[[0, -1]].tolist()
    (-1.0, [1.0, -1.0], [True, False])
    """

    def __init__(
        self, rest: RestEquations, name: str, rows: np.ndarray, eigenvalues: Spectra, ended: str,
        notes: tuple[str, ...], neutral: int,
    ) -> None:  # fmt: skip
        self._rest, self.parameter, self._rows = rest, name, rows
        self.eigenvalues, self.ended, self.notes = eigenvalues, ended, notes
        self.stable = eigenvalues.unstable_counts(neutral) == 0
        self.points: tuple[SpecialPoint, ...] = ()
        system = rest.system
        self._letters = {"x": rows[:, : rest.nx], "z": rows[:, rest.nx : rest.n]}
        self._names = (name, *(n for n, place in system.places.items() if place.letter in ("x", "z")))

    @property
    def system(self) -> System:
        """The system that was followed."""
        return self._rest.system

    def __getitem__(self, name: str) -> np.ndarray:
        if name == self.parameter:
            return np.array(self._rows[:, self._rest.n])
        place = self.system.places.get(name)
        if place is not None and set(place.letters) <= {"x", "z"}:
            columns = [self._letters[letter][:, k] for letter, k in zip(place.letters, place.positions)]
            flat = np.array(columns).T
            return flat[:, 0] if place.shape == () else flat.reshape(len(flat), *place.shape, order="F")
        return np.array([self._rest.point(row[: self._rest.n], row[self._rest.n :])[name] for row in self._rows])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def at(self, k: int) -> OperatingPoint:
        """All values at one point of the branch, ready for `start=` of `dd.simulate` and `at=` of `dd.linearise`."""
        row = self._rows[checked_number(k, len(self._rows), "point")]
        return self._rest.point(row[: self._rest.n], row[self._rest.n :])

    def _repr_html_(self) -> str:
        from daedalus.display.cards.study_cards import branch_card

        return branch_card(self)

    def __repr__(self) -> str:
        return f"Branch({self.system.name!r} over {self.parameter}: {counted(len(self._rows), 'point')})"

    def __str__(self) -> str:
        values = self[self.parameter]
        lines = [
            f"Branch of {self.system.name!r} over {self.parameter}, {counted(len(values), 'point')} "
            f"from {values[0]:.6g} to {values[-1]:.6g}, {int(self.stable.sum())} of them stable"
        ]
        lines += [f"  {point.sentence}" for point in self.points]
        return "\n".join([*lines, f"  {self.ended}", *(f"  {note}" for note in self.notes)])

    def plot(self, name: str | None = None, ax: Any = None) -> Any:
        """Draw one variable over the parameter: stable parts solid, unstable parts dashed; returns the figure."""
        from daedalus.display.branches.branch_plot import plot_branch

        return plot_branch(self, name, ax)

    def to_xarray(self) -> xarray.Dataset:
        """All variables over the points, with the parameter and stability as coordinates."""
        import xarray

        coordinates = {
            self.parameter: ("point", self[self.parameter]),
            "stable": ("point", self.stable),
        }
        variables: dict[str, Any] = {}
        for name in self._names[1:]:
            values = self[name]
            dimensions = ["point", *(f"{name}_{k}" for k in range(values.ndim - 1))]
            variables[name] = (dimensions, values, {"unit": self.system.places[name].unit})
        return xarray.Dataset(variables, coordinates, {"model": self.system.name, "ended": self.ended})


def unstable_count(eigenvalues: np.ndarray, neutral: int = 0) -> int:
    """How many eigenvalues have a positive real part, without so many that are always zero."""
    scale = np.abs(eigenvalues).max(initial=0.0)
    kept = eigenvalues[np.argsort(np.abs(eigenvalues))[neutral:]]
    return int(np.sum(kept.real > SAME * scale))
