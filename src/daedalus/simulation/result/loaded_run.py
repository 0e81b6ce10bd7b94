"""A saved run read back: `dd.load` can do what the run could. Nothing in a file is executed."""

from __future__ import annotations

import warnings
from pathlib import Path

from daedalus.model.system.system import System
from daedalus.simulation.result.files_before_plain_data import is_of_before, load_trusted, not_trusted
from daedalus.simulation.result.rebuilt_run import cannot_be_rebuilt, rebuilt_run
from daedalus.simulation.result.sealed_record import not_a_run, read_record
from daedalus.simulation.result.trajectory import Trajectory


def load(path: str | Path, trusted: bool = False) -> Trajectory:
    """Read a trajectory that `tr.save` wrote; `at`, `plot` and `drift` work as before.

    Nothing in a file is executed: it holds names, numbers and formulas as plain data, checked against a closed list of
    operations and bound to a checksum. A file that was damaged or changed, or that never was a saved run, raises an
    InputError that says so.

    Parameters
    ----------
    path: the file.
    trusted: also read a file of a version before this format, whose model is held as CasADi's serialised functions.
        These can run code, so say so only of files whose origin you know; save the run again, and it is plain data.

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
    place = Path(path)
    try:
        found = read_record(place)
        if found is None:
            return _loaded_of_before(place, trusted)
        description, arrays = found
        systems = [System.from_record(record) for record in description.only(("systems", "pieces")).items("systems")]
        return rebuilt_run(description, arrays, systems)
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        # The parts fit each other, but the model they make is none that the package could have saved.
        raise cannot_be_rebuilt(error) from error


def _loaded_of_before(path: Path, trusted: bool) -> Trajectory:
    """A run of a version before plain data, if the user trusts it."""
    if not is_of_before(path):
        raise not_a_run(path, "it has no record of a run")
    if not trusted:
        raise not_trusted(path)
    warnings.warn(
        f"{path.name} holds CasADi's serialised functions, which can run code; they were read because trusted=True "
        "says that the file may. Save the run again: the new file is plain data.",
        stacklevel=3,
    )
    return load_trusted(path)
