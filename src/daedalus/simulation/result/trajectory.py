"""The result of a run, as it is handed out: to read, to look at, and to take elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.system import System
from daedalus.simulation.between.dense import Dense
from daedalus.simulation.energy.ledger_functions import ledger_record, with_ledger
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.plant.plants import plant_for_rows
from daedalus.simulation.result.ending import Ending
from daedalus.simulation.result.held_values import HeldModes, HeldValues
from daedalus.simulation.result.labelled_samples import to_dataframe, to_dataset
from daedalus.simulation.result.outcome import Outcome
from daedalus.simulation.result.recorded_run import RecordedRun
from daedalus.simulation.result.saved_run import save
from daedalus.simulation.result.step_table import Steps, steps_of
from daedalus.simulation.result.transitions import Transition, transitions_of

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes

    from daedalus.simulation.energy.power import EnergyBalance


class Trajectory(RecordedRun):
    """The result of `dd.simulate`: values by name `tr["x"]`, at any time `tr.at(t)`, and plots `tr.plot()`.

    Attributes: `time`, `success`, `stop_reason`, `status`, `method`, `work`, `notes`, `events`, `transitions`, `end`,
    `pieces`, `system`; `stop` and `records` hold as data what `stop_reason` and `notes` hold as text.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("decay")
    >>> x = m.state("x", start=1.0)
    >>> m.equation(m.der(x), -x)
    >>> tr = dd.simulate(m, 1.0, save_at=[0.0, 0.5, 1.0])
    >>> tr["x"].shape, tr.success, tr.stop_reason
    ((3,), True, 'reached t = 1')
    >>> round(float(tr.at(0.25)["x"]), 5)
    0.7788
    """

    @property
    def pieces(self) -> tuple[Trajectory, ...]:
        """The parts of the run: itself, or several if the method or the equations changed."""
        return (self,)

    @cached_property
    def transitions(self) -> list[Transition]:
        """The times at which the equations or the state changed, in order.

        Each has `.kind`, `.guard`, `.time`, `.before`, `.after` and `.reset`: a condition in the equations that changed
        ("switch"), along which the run "slides" or on which it "rests" until it "leaves", an "event", a "clock", a
        contact that "closes" or "opens", a friction that "sticks" or "slips", and a new choice of "equations" or
        "method". Between two of them the run is smooth.

        Example
        -------
        >>> import casadi as ca, daedalus as dd
        >>> m = dd.Model("thermostat")
        >>> T = m.state("T", start=18.0, unit="K"); on = m.discrete("on", start=1.0)
        >>> m.equation(m.der(T), on - 0.1 * ca.if_else(T > 19.0, 2.0, 1.0))
        >>> m.event("warm", T - 20.0, direction=1, reset={"on": 0.0})
        >>> for transition in dd.simulate(m, 3.0).transitions:
        ...     print(transition, transition.reset)
        T > 19 changes at t = 1.11111 ()
        event warm at t = 2.36111 ('on',)
        """
        return transitions_of(self.pieces)

    # -- taking it elsewhere -----------------------------------------------------------------------------------

    def to_xarray(self) -> xarray.Dataset:
        """The samples as an xarray Dataset over `time`, with units as attributes.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", 2, start=1.0, unit="m")
        >>> m.equation(m.der(x), -x)
        >>> dd.simulate(m, 1.0).to_xarray()["x"].dims
        ('time', 'x_index')
        """
        return to_dataset(self)

    def to_dataframe(self) -> pandas.DataFrame:
        """The samples as a pandas DataFrame with one column per element and one row per time.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", 2, start=1.0)
        >>> m.equation(m.der(x), -x)
        >>> list(dd.simulate(m, 1.0).to_dataframe().columns)
        ['x[0]', 'x[1]']
        """
        return to_dataframe(self)

    def save(self, path: str | Path) -> None:
        """Write the trajectory, its dense output and its model to a NetCDF file; `dd.load` reads it back.

        Example
        -------
        >>> import daedalus as dd, tempfile, os
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0)
        >>> m.equation(m.der(x), -x)
        >>> tr = dd.simulate(m, 1.0)
        >>> file = os.path.join(tempfile.mkdtemp(), "run.nc")
        >>> tr.save(file)
        >>> bool(dd.load(file).at(0.3)["x"] == tr.at(0.3)["x"])
        True
        """
        save(self, self.pieces, Path(path))

    def plot(self, names: str | Sequence[str] | None = None, ax: Axes | None = None) -> Any:
        """Draw variables over time; by default the states and outputs, with one panel per unit.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0)
        >>> m.equation(m.der(x), -x)
        >>> figure = dd.simulate(m, 1.0).plot()
        """
        from daedalus.display.trajectory_plot import plot_trajectory

        return plot_trajectory(self, names, ax)

    def plot_path(self, name: str, ax: Axes | None = None) -> Any:
        """Draw the path of a position with two or three components, with equal scales.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("thrown ball")
        >>> m.gravity([0, 0, -9.81])
        >>> b = m.body("ball", mass=1.0, orientation=None, position=[0, 0, 1], velocity=[1, 0, 3])
        >>> figure = dd.simulate(m, 0.5).plot_path("ball.position")
        """
        from daedalus.display.path_plot import plot_path

        return plot_path(self, name, ax)

    def plot_field(self, name: str, t: float | None = None, ax: Axes | None = None) -> Any:
        """Draw an array at one time: a curve over its cells, or an image for two axes; of three axes the slice in the
        middle of the third. By default at the end of the run.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("heat"); u = m.state("u", (4, 4), start=[[1, 0, 0, 0]] * 4)
        >>> m.equation(m.der(u), dd.laplacian(u, 1.0, boundary="neumann"))
        >>> dd.simulate(m, 1.0).plot_field("u", 0.5).axes[0].get_title()
        'heat: u at t = 0.5 s'
        """
        from daedalus.display.field_plot import plot_field

        return plot_field(self, name, t, ax)

    def animate_field(self, name: str, path: str | Path | None = None, frames: int | None = None) -> Any:
        """Animate an array over the run: a page that opens offline (.html), a film (.gif, .mp4), or, without a path, an
        object.

        Example
        -------
        >>> import daedalus as dd, tempfile, os
        >>> m = dd.Model("heat"); u = m.state("u", 8, start=[1, 0, 0, 0, 0, 0, 0, 0])
        >>> m.equation(m.der(u), dd.laplacian(u, 1.0, boundary="neumann"))
        >>> file = os.path.join(tempfile.mkdtemp(), "u.html")
        >>> film = dd.simulate(m, 1.0).animate_field("u", file, frames=3)
        >>> os.path.getsize(file) > 10_000
        True
        """
        from daedalus.display.field_plot import animate_field

        return animate_field(self, name, path, frames)

    def plot_phase(
        self, horizontal: str, vertical: str, ax: Axes | None = None, *, depth: str | None = None, points: bool = False
    ) -> Any:
        """Draw one scalar over another; `dd.phase_portrait` draws the whole plane with its equilibria.

        depth: a third scalar, for an attractor in space. points: dots at the rows instead of a line, for the section
        that `dd.poincare` returns.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("oscillator")
        >>> x = m.state("x", start=1.0); v = m.state("v", start=0.0)
        >>> m.equation(m.der(x), v); m.equation(m.der(v), -x)
        >>> dd.simulate(m, 6.0).plot_phase("x", "v").axes[0].get_xlabel()
        'x'
        """
        from daedalus.display.path_plot import plot_phase

        return plot_phase(self, [horizontal, vertical, *([] if depth is None else [depth])], ax, points)

    def animate(
        self,
        path: str | Path | None = None,
        speed: float = 1.0,
        compare: Trajectory | Sequence[Trajectory] = (),
        *,
        curves: str | Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        frames: int | None = None,
        title: str | None = None,
    ) -> Any:
        """Animate the run in one HTML file that opens offline, with a time slider and curves.

        Bodies, joints, points and massless rods are drawn automatically; `m.draw(...)` adds shapes, forces and meshes.
        Without a path, a notebook shows the result. If the path ends in .gif or .mp4, it is a video.

        Parameters
        ----------
        speed: seconds of the model per second of watching.
        compare: other runs, drawn over this one. labels: a name for every run.
        curves: the names to draw below the animation; by default some states and multipliers, `curves=[]` for none.
        frames: the number of frames; by default sixty per second, at most 1201.

        Example
        -------
        >>> import daedalus as dd, tempfile, os
        >>> m = dd.Model("ball")
        >>> m.gravity([0, 0, -9.81])
        >>> b = m.body("ball", mass=1.0, orientation=None, position=[0, 0, 1], velocity=[1, 0, 3])
        >>> file = os.path.join(tempfile.mkdtemp(), "run.html")
        >>> dd.simulate(m, 0.5).animate(file)
        Animation('ball': 2 shapes, 301 frames)
        >>> os.path.getsize(file) < 400_000
        True
        """
        from daedalus.display.motion.animation import animate

        return animate(self, path, speed, compare, curves, labels, frames, title)

    def what_if(
        self,
        parameters: str | Sequence[str],
        path: str | Path,
        spread: float = 0.2,
        *,
        curves: Sequence[str] | None = None,
    ) -> Path:
        """Write a page with a slider for every parameter, which updates curves and animation at once; returns its path.

        The page holds first and second derivatives along the run, y + Σ δ y' + ½ Σ δ δ y''. A green band on each slider
        shows how far new runs confirm them to within 3 % with the other sliders where they are: corners of the ranges
        are run, too. A button copies the call that runs the chosen values. For models that switch or jump the page
        uses first derivatives alone, and says so.

        Parameters
        ----------
        parameters: names of scalar parameters, elements such as "mass[0]" too.
        spread: the range of the sliders, as a fraction of each value.
        curves: the names to draw; chosen automatically by default.

        Example
        -------
        >>> import daedalus as dd, tempfile, os
        >>> m = dd.Model("decay")
        >>> x = m.state("x", start=1.0); k = m.parameter("k", 2.0)
        >>> m.equation(m.der(x), -k * x)
        >>> file = dd.simulate(m, 1.0).what_if("k", os.path.join(tempfile.mkdtemp(), "page.html"))
        >>> file.name
        'page.html'
        """
        from daedalus.display.what_if.what_if_page import what_if

        return what_if(self, parameters, path, spread, curves)

    # -- power and energy --------------------------------------------------------------------------------------

    def power(self, depth: int | None = 1) -> xarray.Dataset:
        """The power that each component supplies, stores and loses over time, in W, and what it receives at its ports.

        Parameters
        ----------
        depth: 1 counts whole parts of the model, 2 the parts in them, None every innermost part.

        Example
        -------
        >>> import daedalus as dd
        >>> C = dd.components.electrical
        >>> m = dd.Model("lamp")
        >>> battery, lamp = m.add(C.VoltageSource("battery", voltage=12.0)), m.add(C.Resistor("lamp", resistance=6.0))
        >>> choke, ground = m.add(C.Inductor("choke", inductance=0.1)), m.add(C.Ground("ground"))
        >>> m.connect(battery.plus, lamp.plus); m.connect(lamp.minus, choke.plus)
        >>> m.connect(choke.minus, battery.minus, ground.pin)
        >>> power = dd.simulate(m, 1.0).power()
        >>> round(float(power["lost"].sel(component="lamp")[-1]), 3)
        24.0
        """
        from daedalus.simulation.energy.power import power

        return power(self, depth)

    @property
    def steps(self) -> Steps:
        """Each step of the run: `.time .size .rejected .newton .order`, arrays of one entry per step.

        Example
        -------
        >>> import daedalus as dd
        >>> tr = dd.simulate(dd.catalogue.load("van_der_pol").model, 2.0, method="radau5")
        >>> steps = tr.steps
        >>> bool(steps.size.sum() > 1.999), int(steps.newton.sum()) == tr.work.newton
        (True, True)
        """
        return steps_of(self.pieces)

    def plot_steps(self, ax: Any = None) -> Any:
        """Draw the steps of the run over time: sizes, refused attempts, Newton's iterations, and orders that change.

        With `ax` the sizes are drawn alone. `tr.steps` has the numbers.

        Example
        -------
        >>> import daedalus as dd
        >>> tr = dd.simulate(dd.catalogue.load("van_der_pol").model, 2.0, method="radau5")
        >>> figure = tr.plot_steps()
        >>> figure.axes[0].get_ylabel()
        'step size [s]'
        """
        from daedalus.display.lectures.run_plots import plot_steps

        times = [float(event.time) for event in self.events]
        return plot_steps(self.steps, self.work, self.method, times, ax)

    def plot_drift(self, ax: Any = None) -> Any:
        """Draw how far the run leaves each constraint over time; `tr.drift(series=True)` has the numbers.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.reduce(dd.catalogue.load("slider_crank").model, stabilise=None)
        >>> figure = dd.simulate(m, 0.5).plot_drift()
        >>> figure.axes[0].get_ylabel()
        'violation'
        """
        from daedalus.display.lectures.run_plots import plot_drift

        series = self.drift(series=True)
        if not series:
            raise InputError(
                "This model has no constraints that a run could leave.",
                because="every equation has a derivative, and no invariant is declared.",
                remedy='m.invariant(...), or dd.energy_over_time(m, ["euler", "gauss2"]).plot()',
            )
        return plot_drift(self.time, series, f"drift of {self.system.name} by {self.method}", ax)

    def stored_energy(self) -> np.ndarray:
        """The energy that the model stores, in J at the times of the run: kinetic, potential, and that of parts.

        Example
        -------
        >>> import daedalus as dd
        >>> m = dd.Model("ball"); h = m.coordinate("h", start=2.0, rate=0.0)
        >>> m.kinetic_energy(0.5 * m.rate(h) ** 2); m.potential_energy(9.81 * h)
        >>> dd.simulate(m, 0.5).stored_energy()[[0, -1]].round(6).tolist()
        [19.62, 19.62]
        """
        from daedalus.simulation.energy.power import stored_energy

        return stored_energy(self)

    def energy_balance(self, depth: int | None = 1, *, from_time: object = None, until: object = None) -> EnergyBalance:
        """The energies over the run in J: `.supplied .stored .lost`, and the numerical `.error`.

        In a model with energies or bodies, T + V is the stored energy; applied forces and moving constraints supply
        energy, dissipation and dry friction lose it. In a model with components, each component has its own balance.
        `.components` has them by component, `print` lists them, and `.plot()` draws them. Energies are integrated along
        the run with error control; `.error` includes the estimated integration error `.quadrature`. `save_at` does not
        affect them.

        Parameters
        ----------
        depth: 1 counts whole parts of the model, 2 the parts in them, None every innermost part.
        from_time, until: count between these times only; a jump at `from_time` is not included.

        Example
        -------
        >>> import daedalus as dd
        >>> C = dd.components.translational
        >>> m = dd.Model("braked mass")
        >>> mass, brake = m.add(C.Mass("mass", mass=2.0)), m.add(C.Damper("brake", damping=1.0))
        >>> wall = m.add(C.Ground("wall"))
        >>> m.connect(mass.flange, brake.flange_a); m.connect(brake.flange_b, wall.flange)
        >>> balance = dd.simulate(m, 100.0, start={"mass.velocity": 3.0}).energy_balance()
        >>> round(balance.lost, 5), round(balance.stored, 5), abs(balance.error) < 1e-5
        (9.0, -9.0, True)
        """
        from daedalus.simulation.energy.power import energy_balance

        return energy_balance(self, self.pieces, depth, from_time, until)

    def __array__(self, *_: object, **__: object) -> Any:
        raise InputError(
            "A trajectory is not an array.",
            because="it holds many variables, each of its own shape.",
            remedy='tr["x"] for one variable, tr.to_dataframe() for all',
        )

    def _repr_html_(self) -> str:
        from daedalus.display.cards.result_cards import trajectory_card

        return trajectory_card(self)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        dense = self.dense
        drive = self._drive.sampled(np.concatenate([dense.starts, dense.ends, self._times]))
        arrays = (self._parameters, self._times, self._x)
        ledger = ledger_record(self.system)
        held = (self._held_values, ledger, self._held_modes)
        return _restore, (self.system, drive, *arrays, self.status, self.outcome, dense, *held)


def _restore(
    system: System,
    drive: Drive,
    parameters: np.ndarray,
    times: np.ndarray,
    x: np.ndarray,
    status: Ending,
    outcome: Outcome,
    dense: Dense,
    held: HeldValues | None = None,
    ledger: dict[str, Any] | None = None,
    modes: HeldModes | None = None,
) -> Trajectory:
    """A trajectory from its plain parts, as pickles hold them."""
    system = with_ledger(system, ledger)
    return Trajectory(plant_for_rows(system, x), drive, parameters, times, x, status, outcome, dense, held, modes)
