"""How a run begins, and how it goes on where a piece of it stopped before the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from daedalus.model.model import Model, as_system
from daedalus.model.system import System
from daedalus.model.values import parameter_values
from daedalus.simulation.inputs import read_inputs
from daedalus.simulation.lobatto_step import attach_momentum_form
from daedalus.simulation.methods import takes_momenta
from daedalus.simulation.pieces import Piece, Stuck
from daedalus.simulation.reselection import another_choice, with_choice
from daedalus.simulation.settings import settings_of
from daedalus.simulation.start_row import Start, start_row
from daedalus.simulation.system_to_run import implicit_choice, system_to_run
from daedalus.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    from daedalus.simulation.tableaux.tableau import Tableau

Values = Mapping[str, object] | None


class Asked(NamedTuple):
    """What `dd.simulate` was asked for: every piece of the run is made from it."""

    model: Model | System
    t1: float
    inputs: Values
    parameters: Values
    rtol: float
    atol: object
    limits: tuple[Any, ...]  # step, max_step, first_step, max_steps, time_limit
    locate_switches: bool

    def piece(
        self,
        system: System,
        left: Mapping[str, object],
        method: str | Tableau,
        why: str,
        begin: float,
        start: Start | None,
    ) -> Piece:
        """A piece that runs a system, which still takes the inputs `left`, from a start."""
        p = parameter_values(system, self.parameters)
        system, drive = read_inputs(system, left, (begin, self.t1))
        if takes_momenta(method):
            attach_momentum_form(self.model, system)
        settings = settings_of(system, method, self.rtol, self.atol, *self.limits, locate_switches=self.locate_switches)
        given = (start, self.inputs, self.parameters)
        row, settings, drive = start_row(self.model, settings, drive, begin, p, left, given)
        return with_choice(Piece(settings, drive, p, begin, row, why))


def first_piece(asked: Asked, t0: float, start: Start | None, method: str | Tableau) -> Piece:
    """The piece that a run begins with."""
    system, left, method, why = system_to_run(asked.model, asked.inputs, (t0, asked.t1), method, asked.rtol)
    return asked.piece(system, left, method, why, t0, start)


def next_piece(asked: Asked, done: Trajectory, first: Piece | None = None) -> Piece | Stuck | None:
    """What follows a piece that stopped before the end: see `daedalus.simulation.pieces`.

    `first` is the piece that the run began with, which a model with a choice of states needs.
    """
    if done.system.choices and first is not None:
        return another_choice(first, done)
    if done.status == "stiff":
        return _implicit_piece(asked, done)
    return None


def _implicit_piece(asked: Asked, done: Trajectory) -> Piece:
    """The rest of a run by an implicit method, after stability held back an explicit one."""
    run, end = done._source, done.end
    found = f"stability held {done.method} to steps of {abs(run.last_step):.2g} from t = {run.stop_time:.3g} on"
    system = as_system(asked.model)
    steps = "step" if run.steps == 1 else "steps"
    name, why = implicit_choice(system, f"{found}, seen after {run.steps} {steps}", asked.rtol)
    return asked.piece(system, asked.inputs or {}, name, why, float(end.time), end)
