"""The demonstration behind `make demo`: a flight and a swing, written down, run, checked and drawn."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np


def run_demo(folder: Path) -> None:
    """Run the demonstration and leave its results in a folder."""
    from rich.console import Console

    console = Console(highlight=False)
    folder.mkdir(parents=True, exist_ok=True)
    console.print("[bold]Daedalus[/bold]: five examples\n")
    flight = _fly(console)
    swing = _swing(console)
    circling = _circle(console)
    many = _sweep(console)
    plan = _choose(console)
    picture, data = folder / "demo.png", folder / "pendulum.nc"
    _draw(flight, swing, circling, many, picture)
    circling.save(data)
    plan.plot(["position", "angle", "torque"]).savefig(folder / "delta_robot.png", dpi=130)
    console.print(f"\nLook at [bold]{picture}[/bold]; the third run is in {data} (dd.load reads it).")
    console.print(f"The robot's plan is drawn in [bold]{folder / 'delta_robot.png'}[/bold].")


def _fly(console: Any) -> Any:
    import daedalus as dd
    from daedalus import catalogue

    console.print("1. A quadrotor, written as equations: 13 states, 4 rotors")
    k = catalogue.load("quadrotor")
    begin = time.perf_counter()
    dd.simulate(k.model, k.span, start=k.start, inputs=k.inputs)
    first = time.perf_counter() - begin
    begin = time.perf_counter()
    tr = dd.simulate(k.model, k.span, start=k.start, inputs=k.inputs, rtol=1e-8, method="dop853")
    again = time.perf_counter() - begin
    norm = float(np.abs(np.linalg.norm(tr["quaternion"], axis=1) - 1).max())
    console.print(f"   first run, including compilation: {1e3 * first:.0f} ms; again: {1e3 * again:.2f} ms")
    console.print(
        f"   {tr.work.steps} steps, {tr.work.rhs} evaluations; the norm of the quaternion is kept to {norm:.0e}"
    )
    return tr


def _swing(console: Any) -> Any:
    import daedalus as dd
    from daedalus import catalogue

    console.print("2. A double pendulum, written as second-order equations M(q) q'' = ...")
    k = catalogue.load("double_pendulum")
    tr = dd.simulate(k.model, (0.0, 20.0), start=k.start, rtol=1e-9)
    energy = tr["energy"]
    console.print(f"   {tr.work.steps} steps; energy kept to {np.ptp(energy) / np.abs(energy).max():.0e} over 20 s")
    return tr


def _circle(console: Any) -> Any:
    """A DAE of index 3, written as energies and one constraint, understood and run as it is."""
    import casadi as ca

    import daedalus as dd

    console.print("3. A mass on a cable in space, written as energies and a constraint")
    m = dd.Model("mass on a cable")
    p = m.coordinate("p", 3, start=[1.0, 0.0, 0.0], rate=[0.0, 1.5, 0.0], unit="m")
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(p)))
    m.potential_energy(9.81 * p[2])
    m.constraint("cable", (ca.sumsqr(p) - 1.0) / 2)
    report = dd.analyse(m)
    hidden = report.hidden_constraints[0][0]
    console.print(
        f"   {report.kind}, index {report.index}, {report.degrees_of_freedom} start values free; hidden: {hidden}"
    )
    tr = dd.simulate(m, 10.0, rtol=1e-9)
    console.print(f"   {tr.work.steps} steps; the length of the cable is kept to {tr.drift()['cable']:.0e}")
    return tr


def _sweep(console: Any) -> Any:
    import xarray  # noqa: F401  (imported here so that the time below excludes it)

    import daedalus as dd
    from daedalus import catalogue

    console.print("4. The van der Pol oscillator for 24 values of μ, on all cores")
    model = catalogue.load("van_der_pol").model
    name = next(iter(model.parameters))
    begin = time.perf_counter()
    en = dd.sweep(model, 20.0, over={name: np.linspace(0.1, 4.0, 24)}, save_at=np.linspace(0, 20, 600))
    console.print(f"   {en} in {1e3 * (time.perf_counter() - begin):.0f} ms")
    return en


def _choose(console: Any) -> Any:
    """Inputs that are chosen: a robot of index 3 picks and places."""
    from daedalus import catalogue

    console.print("5. A delta robot moves a part: optimal torques for a DAE of index 3")
    begin = time.perf_counter()
    problem = catalogue.load("delta_robot").problem
    assert problem is not None
    plan = problem.solve(progress=False)
    seconds = time.perf_counter() - begin
    console.print(f"   {plan.status} after {plan.iterations} iterations in {1e3 * seconds:.0f} ms; {plan.notes[-1]}")
    console.print(f"   replayed with the adaptive integrator: relative difference {plan.replay().largest:.0e}")
    return plan


def _draw(flight: Any, swing: Any, circling: Any, many: Any, picture: Path) -> None:
    """Four panels: the flight path, the mass on a cable, the pendulum's trace, the sweep."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from daedalus.display.look import COLOURS

    figure = plt.figure(figsize=(11, 8), layout="constrained")
    for place, tr, name, title in (
        (1, flight, "position", "quadrotor: flight path"),
        (2, circling, "p", "mass on a cable, index 3: path"),
    ):
        path = figure.add_subplot(2, 2, place, projection="3d")
        fine = tr.at(np.linspace(tr.time[0], tr.time[-1], 1500))
        path.plot(*fine[name].T, color=COLOURS[0], linewidth=1.4)
        path.scatter(*fine[name][0], color=COLOURS[2], label="start")
        path.scatter(*fine[name][-1], color=COLOURS[1], label="end")
        path.set(title=title, xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
        # Each axis has the range of its path, so that the path fills the box.
        path.set_box_aspect((1, 1, 0.7), zoom=0.92)
        path.locator_params(nbins=4)
        for axis in (path.xaxis, path.yaxis, path.zaxis):
            axis.labelpad = 9
        # Seen across its longest direction.
        along = np.linalg.svd(fine[name][:, :2] - fine[name][:, :2].mean(axis=0))[2][0]
        path.view_init(elev=22, azim=float(np.degrees(np.arctan2(along[1], along[0]))) - 70)
        path.legend(loc="upper left")
    trace = figure.add_subplot(2, 2, 3, title="double pendulum: path of the tip", aspect="equal")
    fine = swing.at(np.linspace(swing.time[0], swing.time[-1], 3000))
    dots = trace.scatter(*fine["tip"].T, c=fine.time, s=1.5, cmap="viridis")
    trace.set(xlabel="x [m]", ylabel="y [m]")
    trace.grid(alpha=0.3)
    figure.colorbar(dots, ax=trace, label="time [s]", shrink=0.85)
    panel = figure.add_subplot(2, 2, 4)
    many.plot(ax=panel)
    panel.set_title("van der Pol for 24 values of μ")
    figure.savefig(picture, dpi=130)
