"""The process that does the studio's work: it loads the model, describes it, runs it, and can be stopped."""

from __future__ import annotations

import html
import signal as signals
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from daedalus.analysis.analyse import analyse
from daedalus.display.cards.model_card import model_card
from daedalus.display.cards.result_cards import report_card
from daedalus.display.look import ending_text
from daedalus.display.motion.page import json_text
from daedalus.display.studio.job import RunValues, error_parts
from daedalus.display.studio.model_form import model_form
from daedalus.display.studio.run_view import LiveView, runs_view
from daedalus.display.studio.typed_values import typed_group, typed_number
from daedalus.errors import DaedalusError, InputError
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.simulate import simulate

# Runs that stay in memory, so that they are compared without being made again.
MOST_RUNS = 8


def work(load: Callable[[], Any], connection: Any, unwanted: Any, memory: int) -> None:
    """Serve the studio over a connection until it closes; `load` gives the model's source.

    unwanted: holds the number of the job that is to end, whenever this process gets a SIGINT.
    """
    worker = StudioWorker(connection, unwanted)
    signals.signal(signals.SIGINT, worker.interrupted)
    limit_memory(memory)
    with suppress(EOFError, OSError):
        worker.begin(load)
        while True:
            worker.serve(connection.recv())


def limit_memory(most: int) -> None:
    """Let this process have no more than so many bytes, where the system can hold it to that."""
    try:
        import resource
    except ImportError:
        return
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


class StudioWorker:
    """One model, its runs, and whoever asks for them."""

    def __init__(self, connection: Any, unwanted: Any) -> None:
        self._connection, self._unwanted = connection, unwanted
        # The job being done, and whether it may be ended just now.
        self._number, self._busy = 0, False
        self._source: Any = None
        self._runs: OrderedDict[int, Trajectory] = OrderedDict()

    def interrupted(self, *_: Any) -> None:
        """A request to stop: it ends the job that it is for, and nothing else."""
        if self._busy and self._unwanted.value == self._number:
            raise KeyboardInterrupt

    def _tell(self, *message: Any) -> None:
        """Send a message whole: a request to stop that comes meanwhile, or was lost before, counts behind it."""
        busy, self._busy = self._busy, False
        self._connection.send(message)
        self._busy = busy
        self.interrupted()

    def begin(self, load: Callable[[], Any]) -> None:
        """Load the model and tell what it has."""
        try:
            self._source = load()
            told = model_form(self._source)
            told["equations"] = _card(lambda: model_card(self._source.model))
            self._tell("described", told)
        except Exception as error:
            self._tell("unusable", error_parts(error))

    def serve(self, message: tuple[Any, ...]) -> None:
        """Do one job: ("run", number, values) or ("compare", number, [(number, values, label), ...])."""
        kind, self._number, asked = message
        do = self._run if kind == "run" else self._compare
        try:
            self._busy = True
            try:
                self.interrupted()
                do(self._number, asked)
            finally:
                self._busy = False
        except KeyboardInterrupt:
            self._tell("stopped", self._number)
        except Exception as error:
            self._tell("failed", self._number, error_parts(error))

    def _run(self, number: int, values: RunValues) -> None:
        options, span = self._settled(values)
        model = self._source.model
        at = {**_by_name(options["start"]), **(options["parameters"] or {})}
        self._tell("verdict", number, *_verdict(model, at, options["inputs"]))
        live = LiveView(
            span, f"run {number}", partial(self._tell, "progress", number), partial(self._tell, "seen", number)
        )
        rtol = typed_number("rtol", values.rtol)
        tr = simulate(model, span, **options, method=values.method, rtol=rtol, progress=live)
        self._busy = False  # what is there is drawn, whoever asks to stop
        self._tell("computed", number)
        self._keep(number, tr)
        told = {
            "success": bool(tr.success), "stop_reason": ending_text(tr), "method": tr.method, "steps": tr.work.steps,
            "rejected": tr.work.rejected, "seconds": tr.work.seconds, "notes": list(tr.notes)[:12],
            "drift": {name: float(value) for name, value in list(tr.drift().items())[:12]},
        }  # fmt: skip
        self._tell("done", number, told, json_text(runs_view([tr], [f"run {number}"])))

    def _compare(self, number: int, asked: list[tuple[int, RunValues, str]]) -> None:
        runs = [self._runs[n] if n in self._runs else self._made_again(n, values) for n, values, _ in asked]
        shown = json_text(runs_view(runs, [label for *_, label in asked]))
        self._tell("done", number, {"success": True}, shown)

    def _made_again(self, number: int, values: RunValues) -> Trajectory:
        options, span = self._settled(values)
        rtol = typed_number("rtol", values.rtol)
        tr = simulate(self._source.model, span, **options, method=values.method, rtol=rtol)
        self._keep(number, tr)
        return tr

    def _keep(self, number: int, tr: Trajectory) -> None:
        self._runs[number] = tr
        while len(self._runs) > MOST_RUNS:
            self._runs.popitem(last=False)

    def _settled(self, values: RunValues) -> tuple[dict[str, Any], tuple[float, float]]:
        """The options of a run and its span: what was typed before what the source has."""
        source = self._source
        typed = {group: typed_group(source.model, group, getattr(values, group)) for group in
                 ("parameters", "start", "inputs")}  # fmt: skip
        start = {**_by_name(source.start), **typed["start"]} if typed["start"] else source.start
        options = {
            "start": start or None,
            "inputs": {**source.inputs, **typed["inputs"]} or None,
            "parameters": {**source.parameters, **typed["parameters"]} or None,
        }
        own = source.until(None)
        written = (0.0, float(own)) if np.ndim(own) == 0 else tuple(own)
        begin = typed_number("the begin", values.begin) if values.begin.strip() else float(written[0])
        end = typed_number("the end", values.end) if values.end.strip() else float(written[1])
        if begin == end:
            raise InputError("The run has zero length.", f"it would go from {begin:g} to {end:g}", remedy="a later end")
        return options, (begin, end)


def _verdict(model: Any, at: dict[str, Any], inputs: Any) -> tuple[str, str]:
    """What the system is, in a sentence and as a card."""
    try:
        report = analyse(model, at=at or None, inputs=inputs)
        return str(report.verdict), report_card(report)
    except DaedalusError as error:
        return error.what, _why(error)


def _why(error: DaedalusError) -> str:
    return f'<pre class="why">{html.escape(str(error))}</pre>'


def _by_name(start: Any) -> dict[str, Any]:
    return {str(name): start[name] for name in start} if start else {}


def _card(make: Callable[[], str]) -> str:
    """A card, or why there is none."""
    try:
        return make()
    except DaedalusError as error:
        return _why(error)
