"""A saved run read back: it can do what the run could. Nothing in a file is executed."""

from __future__ import annotations

import numpy as np

from daedalus.model.system.plain_record import PlainRecord
from daedalus.model.system.system import System
from daedalus.simulation.energy.ledger_functions import with_ledger
from daedalus.simulation.result.rebuilt_run import rebuilt_run
from daedalus.simulation.result.trajectory import Trajectory


def run_of(description: PlainRecord, arrays: dict[str, np.ndarray]) -> Trajectory:
    """The run that a record describes."""
    description.only(("systems", "pieces", "ledgers"))
    systems = [System.from_record(record) for record in description.items("systems")]
    # Files of earlier versions keep no ledgers.
    if systems and "ledgers" in description.names():
        kept = description.items("ledgers", len(systems))
        systems = [
            system if ledger is None else with_ledger(system, PlainRecord(ledger, f"{description.place}.ledgers[{k}]"))
            for k, (system, ledger) in enumerate(zip(systems, kept))
        ]
    return rebuilt_run(description, arrays, systems)
