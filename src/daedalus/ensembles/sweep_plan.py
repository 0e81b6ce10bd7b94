"""A sweep but for its cases: what is run, how, and what is kept; the same here and on every machine that helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.ensembles.case_runs import CaseRuns, of_values
from daedalus.ensembles.cases import Cases
from daedalus.ensembles.columns import columns_of
from daedalus.ensembles.reader import Reader
from daedalus.ensembles.seeded_noise import SeededNoise
from daedalus.model.mechanics.mechanics_part import touching_book
from daedalus.model.system.packed_expressions import PackedExpressions, packed, unpacked
from daedalus.model.system.system import System
from daedalus.simulation.run.request import Request, check_step, read_request
from daedalus.simulation.run.road import Road, find_road
from daedalus.simulation.touching.touching_requests import way_between_contacts


class OpenSweep(NamedTuple):
    """A plan with cases to run: their road, what reads them, and a way to stop them."""

    road: Road
    reader: Reader
    runs: CaseRuns
    cancel: Any
    times: np.ndarray


@dataclass(frozen=True, eq=False)
class SweepPlan:
    """What all cases of a sweep share; it can be sent to other processes."""

    system: System
    span: tuple[float, float]
    values: tuple[Any, Any, Any]  # start, inputs, parameters that are given for all
    save_at: Any  # times
    options: Mapping[str, Any] = field(default_factory=dict)
    outputs: Sequence[str] | None = None
    end_only: bool = False
    keep_stopped: bool = True
    wrt: Sequence[str] = ()
    strict: bool = False  # kernels do every operation as it is written
    noise: SeededNoise | None = None  # of the seed that each case has

    def request(self) -> Request:
        """The request without the values of a case."""
        return read_request(self.system, self.span, *self.values, self.save_at, self.options, "dd.sweep")

    def opened(self, cases: Cases) -> OpenSweep:
        """The plan with some cases."""
        request, cancel = self.request(), _core.Cancel()
        touches = touching_book(self.system) is not None
        typical = of_values(request, cases, cases.typical)
        road = find_road(way_between_contacts(typical) if touches else typical)
        check_step(request)
        columns = columns_of(road, self.outputs, cases.names)
        reader = Reader(road, columns, self.wrt, self.end_only, self.keep_stopped)
        runs = CaseRuns(
            road, request, cases, cancel, plain=reader.reads_plain_runs and not touches, strict=self.strict,
            noise=self.noise, touches=touches,
        )  # fmt: skip
        assert road.request.save_at is not None
        return OpenSweep(road, reader, runs, cancel, road.request.save_at)

    def __reduce__(self) -> tuple[Any, ...]:
        start, inputs, parameters = self.values
        drawn = {name: value for name, value in (inputs or {}).items() if isinstance(value, ca.SX)}
        plain = {name: value for name, value in (inputs or {}).items() if name not in drawn}
        expressions = packed(self.system, list(drawn.values()))
        rest = (self.save_at, dict(self.options), self.outputs, self.end_only, self.keep_stopped, self.wrt, self.strict,
                self.noise)  # fmt: skip
        return _plan_again, (self.system, self.span, start, plain, parameters, list(drawn), expressions, rest)


def _plan_again(
    system: System,
    span: tuple[float, float],
    start: Any,
    plain: dict[str, Any],
    parameters: Any,
    names: list[str],
    expressions: PackedExpressions,
    rest: tuple[Any, ...],
) -> SweepPlan:
    """A plan as it was sent, with expressions in the symbols of its own system."""
    inputs = {**plain, **dict(zip(names, unpacked(system, expressions)))}
    return SweepPlan(system, span, (start, inputs or None, parameters), *rest)
