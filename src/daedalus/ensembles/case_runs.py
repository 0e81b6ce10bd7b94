"""How one case of a sweep is run: on the road of all cases, with numbers of its own.

Where a run may begin anywhere, the numbers of a case are written straight into the vectors of the road; where its start
has to be solved for, or its inputs are put into the equations, a case takes the road of `simulate` by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from daedalus.ensembles.cases import Cases
from daedalus.ensembles.seeded_noise import SEED, SeededNoise
from daedalus.errors import DaedalusError, InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.time_limit import time_limited
from daedalus.model.values import parameter_values, plain_start
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.result.ending import ENDINGS, Ending
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.begin import begin
from daedalus.simulation.run.pieces import read_piece
from daedalus.simulation.run.request import Request
from daedalus.simulation.run.road import Piece, Road, find_road
from daedalus.simulation.run.travel import travel, travelled
from daedalus.simulation.singular.rank_watch import rank_watch_of
from daedalus.simulation.switching.agenda import has_agenda
from daedalus.simulation.touching.time_stepping import run_touching

_FINISHED = Ending.FINISHED.value
_ARGUMENTS = {"p": "parameters", "x": "start", "u": "inputs"}


def of_values(request: Request, cases: Cases, values: Mapping[str, Any]) -> Request:
    """The request of one case: its values written over those given for all."""
    changed = dict[str, Any]()
    for axis in cases.axes:
        key = _ARGUMENTS[str(axis.place.letter)]
        given = changed.get(key, getattr(request, key))
        changed[key] = {**(given or {}), axis.name: values[axis.name]}
    return request._replace(**changed)


class PlainRun(NamedTuple):
    """A run that reached its end: states at the times asked for, and the numbers it was driven by."""

    x: np.ndarray  # (times, n)
    u: np.ndarray
    p: np.ndarray
    evaluations: int  # of the right-hand side


class CaseRuns:
    """All that the runs of a sweep share; called with the number of a case it gives its run, or why there is none."""

    def __init__(
        self,
        road: Road,
        request: Request,
        cases: Cases,
        cancel: Any,
        plain: bool,
        strict: bool = False,
        noise: SeededNoise | None = None,
        touches: bool = False,
    ) -> None:
        # strict: kernels do every operation as it is written. noise: each case has that of its seed. touches: bodies
        # have hard contacts, and each case is a run of its own.
        self.road, self.cases, self.cancel, self.strict, self.noise = road, cases, cancel, strict, noise
        self._request, settings, self.touches = request, road.settings, touches
        self._limit = settings.time_limit
        self._plain = plain and rank_watch_of(settings.plant) is None
        self._tables = road.drive.core_tables() if road.drive.tables else None
        self._span, self._save_at = road.request.span, road.request.save_at
        self.vectors = self._written_at_once()

    @cached_property
    def _core(self) -> Any:
        """What runs a case of numbers."""
        return self.road.settings.plan.run

    def __call__(self, case: int) -> PlainRun | Trajectory | str:
        """The run of a case, or why there is none."""
        return self.many(range(case, case + 1))[0]

    def many(self, block: range) -> list[PlainRun | Trajectory | str]:
        """The runs of a block of cases one by one, whose numbers are written all at once."""
        found: list[PlainRun | Trajectory | str] = []
        rows = None if self.vectors is None else zip(*self._numbers(block, self.vectors))
        for case, good in zip(block, self.cases.finite_in(block).tolist()):
            own = () if rows is None else next(rows)
            flaw = None if good else self.cases.flaw(case)
            if flaw is not None:
                found.append(flaw)
                continue
            try:
                found.append(self._limited(case, own) if self._limit else self._of_case(case, own))
            except InputError:  # what is wrong with all cases
                raise
            except DaedalusError as error:
                found.append(error.in_one_line)
        return found

    def _of_case(self, case: int, own: tuple[Any, ...]) -> PlainRun | Trajectory:
        if self.touches:
            return run_touching(self.request_of(case), self._stop_if_cancelled)
        return self._run(case, *own) if own else travel(self.road_of(case), cancel=self.cancel)

    def _stop_if_cancelled(self, _: float) -> None:
        if self.cancel.is_set:
            raise KeyboardInterrupt

    def _limited(self, case: int, own: tuple[Any, ...]) -> PlainRun | Trajectory:
        """The run of a case whose searches count, too."""
        with time_limited(self._limit):
            return self._of_case(case, own)

    # -- numbers written straight into the vectors of the road ----------------------------------------------------

    def _written_at_once(self) -> dict[str, np.ndarray] | None:
        """The vectors x, u and p that all cases share, where numbers of a case can be written over them."""
        road, start = self.road, self._request.start
        placed = self.cases.placed_in(road.system)
        if (
            placed is None
            or self.touches
            or not road.settings.begins_anywhere
            or road.drive.callbacks
            or has_agenda(road.system)
            or road.system.delayed
        ):
            return None
        x = plain_start(road.system, start) if start is None or type(start) is dict else None
        if x is None:
            return None
        self.cases = placed
        return {"x": x, "u": road.drive.constants, "p": parameter_values(road.system, road.request.parameters)}

    def first_vectors(self, with_agenda: bool = False) -> dict[str, np.ndarray] | None:
        """The vectors of a case, where the model constrains its start; None where a case may leave the road.

        with_agenda: what is assigned on the way is no reason to.
        """
        road = self.road
        placed, agenda = self.cases.placed_in(road.system), has_agenda(road.system) and not with_agenda
        if placed is None or road.settings.plant.is_implicit or road.drive.callbacks or agenda:
            return None
        own = self._road_with(of_values(self._request, placed, placed.typical))
        try:
            first = begin(own, own.request.t0, own.request.start)
        except DaedalusError:
            return None
        if first.settings is not road.settings:
            return None
        self.cases = placed
        return {"x": first.row, "u": first.drive.constants, "p": first.parameters}

    def _numbers(self, block: range, shared: dict[str, np.ndarray]) -> list[Any]:
        """Start, inputs and parameters of a block of cases, one row each; what all cases share again and again."""
        found: dict[str, Any] = {
            letter: np.tile(row, (len(block), 1)) if letter in self.cases.letters else repeat(row)
            for letter, row in shared.items()
        }
        for k, axis in enumerate(self.cases.axes):
            values = axis.values[self.cases.places_of(block, k)].reshape(len(block), -1)
            found[str(axis.place.letter)][:, axis.place.positions] = values
        return [found[letter] for letter in ("x", "u", "p")]

    def _run(self, case: int, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> PlainRun | Trajectory:
        """A run whose numbers are vectors; one that needs a second look becomes a trajectory."""
        drive = self._drive(p)
        tables = self._tables if drive is self.road.drive else drive.core_tables()
        core_u, core_p, tables = self.road.settings.core_numbers(u, p, tables, self.road.request.span)
        run = self._core(*self._span, x, core_u, core_p, self._save_at, tables, None, self.cancel)
        if self._plain and run.status == _FINISHED:
            return PlainRun(run.x, u, p, run.rhs_calls)
        return self._looked_at(case, run, x, u, p)

    def _looked_at(self, case: int, run: Any, x: np.ndarray, u: np.ndarray, p: np.ndarray) -> PlainRun | Trajectory:
        """A run of the core as a trajectory, which goes on where it stopped for a reason."""
        road, request, ending = self.road, self.road.request, ENDINGS[run.status]
        if ending is Ending.STIFF:
            return travel(self.road_of(case), cancel=self.cancel)  # which decides where another method begins
        own = self.road_of(case)._replace(settings=road.settings, drive=self._drive(p)._replace(constants=u))
        piece = Piece(own, p, request.t0, x)
        return travelled(piece, read_piece(piece, run, request.t1), cancel=self.cancel)

    # -- numbers by name ---------------------------------------------------------------------------------------------

    def request_of(self, case: int) -> Request:
        """The request of one case."""
        own = of_values(self._request, self.cases, self.cases.values(case))
        if self.noise is None:
            return own
        return own._replace(inputs={**(own.inputs or {}), **self.noise.paths(self.cases.values(case)[SEED])})

    def road_of(self, case: int) -> Road:
        """The road of all cases with the numbers of one."""
        return self._road_with(self.request_of(case))

    def _road_with(self, own: Request) -> Road:
        if "u" in self.cases.letters:
            return find_road(own)
        road = self.road._replace(request=own._replace(inputs=self.road.request.inputs))
        if self.noise is None:
            return road
        seed = (own.parameters or {})[SEED]
        return road._replace(drive=self.noise.driven(road.drive, road.system, float(seed)))  # type: ignore[arg-type]

    def _drive(self, p: np.ndarray) -> Drive:
        """What drives a case with some parameters."""
        if self.noise is None:
            return self.road.drive
        seed = float(p[self.road.system.place(SEED).positions[0]])
        return self.noise.driven(self.road.drive, self.road.system, seed)
