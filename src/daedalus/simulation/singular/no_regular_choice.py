"""A run with a choice of states near a configuration at which no choice is regular: its end there."""

from __future__ import annotations

from daedalus.model.names import listed
from daedalus.simulation.plant.selected_plant import SelectedPlant
from daedalus.simulation.result.ending import Ending, Obstacle, Stop, time_text
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.pieces import Piece

# How near a singular configuration is where it is named as what ended a run.
NEAR = 1e-2


def no_regular_choice(first: Piece, done: Trajectory) -> Stop | None:
    """The end where a run failed near a point at which no choice is regular."""
    plant, end = first.settings.plant, done.end
    assert isinstance(plant, SelectedPlant)
    begin, now = (
        plant.selection.matrices(t, row[plant.row_parts["x"]], first.drive.at_time(t), done._parameters)
        for t, row in ((first.begin, first.row), (float(end.time), end._x[0]))
    )
    near, group = plant.selection.weakest(begin, now)
    if near > NEAR:
        return None
    names, t = tuple(row.label for row in group.choice.constraints[0]), float(end.time)
    hardly = "hardly determines any of its" if len(names) == 1 else "hardly determine any of their"
    head = f"the run comes near a singular configuration at {time_text(t)}"
    return Stop(
        Ending.STUCK, t, f"{head}: {listed(names)} {hardly} states there", done.stop.findings,
        equations=tuple(names), obstacle=Obstacle.SINGULAR_CONFIGURATION,
    )  # fmt: skip
