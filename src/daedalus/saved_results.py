"""Results read back from files, whatever they are: runs, ensembles, plans. Nothing in a file is executed."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from daedalus.ensembles.ensemble import Ensemble
from daedalus.ensembles.saved_ensemble import KIND as ENSEMBLE
from daedalus.ensembles.saved_ensemble import dataset_of
from daedalus.errors import InputError
from daedalus.model.system.plain_record import PlainRecord
from daedalus.simulation.result.rebuilt_run import cannot_be_rebuilt, run_of
from daedalus.simulation.result.sealed_record import not_a_run, read_record
from daedalus.simulation.saved_variables import KIND as SAVED_VARIABLES
from daedalus.simulation.saved_variables import saved_variables


def _ensemble_of(description: PlainRecord, arrays: dict[str, np.ndarray]) -> Ensemble:
    return Ensemble(dataset_of(description, arrays))


def _plan_of(description: PlainRecord, arrays: dict[str, np.ndarray]) -> Any:
    # Imported when a plan is read: runs and ensembles need nothing of it.
    from daedalus.optimisation.result.loaded_plan import plan_of

    return plan_of(description, arrays)


def _phases_of(description: PlainRecord, arrays: dict[str, np.ndarray]) -> Any:
    from daedalus.optimisation.result.loaded_plan import phases_of

    return phases_of(description, arrays)


# How the record of each kind of result is read; a record without a kind is that of a run.
READERS: dict[str, Callable[[PlainRecord, dict[str, np.ndarray]], Any]] = {
    ENSEMBLE: _ensemble_of,
    SAVED_VARIABLES: saved_variables,
    "plan": _plan_of,
    "plan in phases": _phases_of,
}


def load(path: str | Path) -> Any:
    """Read a saved trajectory, ensemble or plan. `at`, `plot` and `drift` of a trajectory work as before.

    No code in the file is executed: it holds names, numbers and formulas as plain data, which are checked against a
    fixed list of operations and a checksum. Raises an InputError if the file was damaged or changed, or is not a saved
    result.

    Parameters
    ----------
    path: the file.

    Example
    -------
    >>> import daedalus as dd, tempfile, os
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x)
    >>> file = os.path.join(tempfile.mkdtemp(), "run.nc")
    >>> dd.simulate(m, 1.0).save(file)
    >>> dd.load(file).stop_reason
    'reached t = 1'
    """
    if not isinstance(path, (str, PathLike)):
        raise InputError("A saved result is loaded from a path.", f"got {type(path).__name__}", remedy='"run.nc"')
    place = Path(path)
    try:
        found = read_record(place)
        if found is None:
            raise not_a_run(place, "it has no record of a run")
        description, arrays = found
        if "kind" in description:
            return READERS[description.word("kind", READERS)](description, arrays)
        return run_of(description, arrays)
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        # The parts fit each other, but what they make is nothing that the package could have saved.
        raise cannot_be_rebuilt(error) from error
