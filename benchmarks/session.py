"""One run of the benchmarks: its settings, what has been measured so far, and how to measure more."""

import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks import launch, tools
from benchmarks.cases import Case
from benchmarks.figure import Row
from benchmarks.launch import Outcome
from benchmarks.peers import Peers
from benchmarks.precision import Curve, Reading, curve_of

# Seconds after which a measuring process is ended.
PATIENCE = 180.0


@dataclass(frozen=True)
class Settings:
    """How much is measured: tolerances, CPU seconds a point, wall seconds a case, rounds of whole processes."""

    tolerances: tuple[float, ...] = tuple(10.0**-k for k in range(2, 13))
    seconds: float = 0.1
    limit: float = 12.0
    repeats: int = 6


QUICK = Settings(tolerances=tuple(10.0**-k for k in range(3, 12, 2)), seconds=0.03, limit=4.0, repeats=2)


@dataclass
class Session:
    """Everything measured so far."""

    peers: Peers
    settings: Settings
    curves: dict[str, Curve] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    by_figure: dict[str, list[Row]] = field(default_factory=dict)  # the same by the titles of the figures

    def python_of(self, tool: str) -> str:
        """The interpreter a tool runs in: the project's own for Daedalus, else the peers'."""
        return self.peers.python if tools.load(tool).requirements else sys.executable

    def measure(self, case: Case) -> Curve:
        """Measure a curve and keep it; whatever goes wrong is part of the curve."""
        lacking = self.peers.lacks(tools.load(case.tool).requirements)
        if lacking is not None:
            curve = Curve(case.problem, case.tool, case.method, failure=lacking)
        else:
            s = self.settings
            options: dict[str, Any] = {"problem": case.problem, "tool": case.tool, "method": case.method}
            options |= {"tolerances": s.tolerances, "seconds": s.seconds, "limit": s.limit}
            outcome = launch.measure(self.python_of(case.tool), "work_precision", options, limit=PATIENCE)
            curve = curve_of(case.problem, case.tool, case.method, outcome.records, outcome.failure)
        self.curves[case.name] = curve
        return curve

    def curve(self, name: str) -> Curve:
        """A measured curve, or an empty one that says that it was not measured."""
        problem, rest = name.split("/")
        tool, method = rest.split(":")
        return self.curves.get(name) or Curve(problem, tool, method, failure="not measured in this run")

    def compare(self, figure: str, ours: str, peer: str, error: float, target: float | None, note: str = "") -> Row:
        """Time at an equal achieved error of two curves, as a row of the figures."""
        readings = [self.curve(name).time_at(error) for name in (ours, peer)]
        notes = [note, *(f"{name.split('/')[1]}: {r.note}" for name, r in zip((ours, peer), readings) if r.note)]
        peer_name = peer.split("/")[1].replace(":", " ")
        text = "; ".join(n for n in notes if n)
        return Row(figure, peer_name, readings[0].seconds, readings[1].seconds, target, note=text)

    def fastest(self, names: Iterable[str], error: float) -> tuple[str, Reading]:
        """Which of several curves is the first to be within an error; without one, why each of them is not."""
        readings = {name: self.curve(name).time_within(error) for name in names}
        times = {name: reading.seconds for name, reading in readings.items() if reading.seconds is not None}
        if times:
            best = min(times, key=times.__getitem__)
            return best, readings[best]
        return "", Reading(None, "; ".join(f"{short(name)}: {reading.note}" for name, reading in readings.items()))

    def race(self, figure: str, ours: Iterable[str], peers: Iterable[str], error: float, target: float | None) -> Row:
        """The fastest of ours beside the fastest peer, both within an error, as a row of the figures."""
        mine, my_reading = self.fastest(ours, error)
        other, their_reading = self.fastest(peers, error)
        notes = [f"ours: {short(mine).split()[-1]}" if mine else my_reading.note, their_reading.note]
        text = "; ".join(note for note in notes if note)
        return Row(figure, short(other) if other else "no peer", my_reading.seconds, their_reading.seconds, target,
                   note=text)  # fmt: skip

    def reaches(self, figure: str, names: Iterable[str], error: float) -> Row:
        """Whether one of several curves comes within an error, as a row of the figures."""
        curves = [self.curve(name) for name in names]
        found = {curve.front()[-1][0]: curve for curve in curves if curve.front()}
        if not found:
            why = "; ".join(f"{short(curve.name)}: {curve.reason()}" for curve in curves)
            return Row(figure, "error", None, error, 1.0, "at most", why, unit="")
        best = min(found)
        return Row(figure, "error", best, error, 1.0, "at most", short(found[best].name), unit="")

    def probe(
        self,
        measurement: str,
        options: Mapping[str, Any],
        tool: str = "daedalus",
        extra: Mapping[str, str] | None = None,
    ) -> Outcome:
        """One measurement of benchmarks/measurements in the environment of a tool."""
        lacking = self.peers.lacks(tools.load(tool).requirements)
        if lacking is not None:
            return Outcome([], lacking)
        return launch.measure(self.python_of(tool), measurement, options, extra, PATIENCE)

    def first_solution(self, problem: str, tool: str, method: str, rtol: float) -> tuple[float, str | None]:
        """Wall-clock seconds of a whole process that solves a problem once, and why it failed if it did."""
        lacking = self.peers.lacks(tools.load(tool).requirements)
        if lacking is not None:
            return 0.0, lacking
        command = [self.python_of(tool), "-m", "benchmarks.first_solution", problem, tool, method, repr(rtol)]
        with tempfile.TemporaryDirectory(prefix="benchmark_") as folder:
            return launch.run(command, folder, None, PATIENCE)


def short(name: str) -> str:
    """The tool and method of a case, as a person says them."""
    return name.partition("/")[2].replace(":", " ")
