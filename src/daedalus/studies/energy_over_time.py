"""The energy of a model along runs of several methods: which of them keep it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedalus.errors import DaedalusError, InputError
from daedalus.integrators.multistep.multistep import Multistep
from daedalus.integrators.tableaux.tableau import Tableau
from daedalus.model.model import Model, as_system
from daedalus.model.system.system import System
from daedalus.simulation.simulate import simulate

# Rows of a run that chooses its own steps.
ROWS = 400


@dataclass(frozen=True, eq=False)
class EnergyOverTime:
    """The result of `dd.energy_over_time`: times and energies by the name of the method.

    time, energy: arrays by the name of the method, in J. failed: why a run did not begin or ended early, by the name
    of the method.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("oscillator"); x = m.coordinate("x", start=1.0, rate=0.0)
    >>> m.kinetic_energy(0.5 * m.rate(x) ** 2); m.potential_energy(0.5 * x**2)
    >>> found = dd.energy_over_time(m, ["euler", "implicit_euler", "gauss1"], 10.0, step=0.1)
    >>> [round(float(found.energy[name][-1]), 3) for name in found.energy]
    [1.352, 0.185, 0.5]
    """

    model: str
    time: Mapping[str, np.ndarray]
    energy: Mapping[str, np.ndarray]
    failed: Mapping[str, str]

    def change(self, name: str) -> float:
        """The largest change of the energy in the run of a method, relative to the largest energy of all runs."""
        size = max(float(np.abs(values).max()) for values in self.energy.values())
        return float(np.abs(self.energy[name] - self.energy[name][0]).max()) / (size or 1.0)

    def plot(self, ax: Any = None, change: bool = False) -> Any:
        """Draw the energies over time; with `change` |E − E(0)| in a logarithmic axis; returns the figure."""
        from daedalus.display.lectures.run_plots import plot_energy

        return plot_energy(self, ax, change)

    def __str__(self) -> str:
        lines = [f"energy of {self.model!r} over time"]
        for name, values in self.energy.items():
            note = f"; {self.failed[name]}" if name in self.failed else ""
            lines.append(
                f"  {name}: {values[0]:.6g} J at the start, {values[-1]:.6g} J at t = {self.time[name][-1]:g}{note}"
            )
        lines += [f"  {name}: {reason}" for name, reason in self.failed.items() if name not in self.energy]
        return "\n".join(lines)

    __repr__ = __str__


def energy_over_time(
    model: Model | System,
    methods: Iterable[str | Tableau | Multistep],
    span: float | tuple[float, float] = 10.0,
    step: float | None = None,
    **options: Any,
) -> EnergyOverTime:
    """Run a model with several methods and read the energy that it stores along each run.

    Parameters
    ----------
    model: with energies, bodies, or parts that store energy.
    methods: names of `dd.methods()`, tableaux, multistep methods.
    span: as in `dd.simulate`. step: of methods with fixed steps; without it all of them choose their own.
    options: of `dd.simulate`: start, inputs, parameters, rtol.

    Example
    -------
    >>> import daedalus as dd
    >>> found = dd.energy_over_time(dd.catalogue.load("four_bar").model, ["rk4", "radau5"], 0.5, step=0.01)
    >>> sorted(found.energy), found.change("rk4") < 1e-4
    (['radau5', 'rk4'], True)
    """
    system = as_system(model)
    time: dict[str, np.ndarray] = {}
    energy: dict[str, np.ndarray] = {}
    failed: dict[str, str] = {}
    first: DaedalusError | None = None
    for method in methods:
        name = method if isinstance(method, str) else method.name or type(method).__name__
        options = {"progress": False, **options}
        try:
            tr = simulate(model, span, method=method, step=step, **options)
        except DaedalusError as error:
            failed[name] = str(error).splitlines()[0]
            first = first or error
            continue
        if step is None and tr.success:
            rows = np.linspace(tr.time[0], tr.time[-1], ROWS)
            tr = simulate(model, span, method=method, save_at=rows, **options)
        time[name], energy[name] = tr.time, tr.stored_energy()
        if not tr.success:
            failed[name] = tr.stop_reason
    if not energy:
        if first is not None and len(set(failed.values())) == 1:
            raise first  # all methods say the same, such as an input without a value
        told = [f"{name}: {reason}" for name, reason in failed.items()]
        raise InputError(
            "No method could run this model.", "; ".join(told) or "none was given", remedy='methods=["auto"]'
        )
    return EnergyOverTime(system.name, time, energy, failed)
