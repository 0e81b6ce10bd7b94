"""Responses to a sine over frequencies: transfer functions, harmonic balance, and jumps at folds."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus.errors import InputError, SolverError


def driven(stiffening=0.0, damping=0.1):
    m = dd.Model("oscillator")
    x, u = m.state("x", start=0.0, rate=0.0), m.input("u")
    m.equation(m.der(m.der(x)), u - damping * m.der(x) - x - stiffening * x**3)
    m.output("place", x)
    return m


def test_linear_models_have_their_transfer_function():
    m = driven()
    frequencies = np.array([0.05, 0.12, 0.2])
    found = dd.frequency_sweep(m, "u", frequencies, amplitude=2.0, harmonics=3)
    gain = 1 / (1 - (2 * np.pi * frequencies) ** 2 + 0.1j * 2 * np.pi * frequencies)
    first = found.sel(harmonic=1, variable="place")
    assert first["amplitude"].values == pytest.approx(2 * np.abs(gain), rel=1e-6)
    assert first["phase"].values == pytest.approx(np.angle(gain), abs=1e-6)
    assert np.abs(found["amplitude"].sel(harmonic=[0, 2, 3])).max() < 1e-6
    assert found["amplitude"].dims == ("frequency", "harmonic", "variable")
    assert bool(found["stable"].all())
    assert found.attrs["folds"] == []


def test_a_hard_spring_falls_from_its_upper_branch():
    found = dd.frequency_sweep(
        driven(0.2), "u", np.array([1.56, 1.6]) / (2 * np.pi), amplitude=0.5, start={"x": -3.0, "x_dot": 0.0}
    )
    size = found["amplitude"].sel(harmonic=1, variable="place").values
    assert size == pytest.approx([3.09, 0.322], rel=0.01)
    assert 1.56 < 2 * np.pi * found.attrs["folds"][0] < 1.6


def test_the_whole_resonance_curve_of_a_hard_spring():
    """Points obey the balance of the first harmonic but for others, and folds are where multipliers pass one."""
    found = dd.frequency_sweep(driven(0.2, 0.2), "u", np.array([0.9, 1.6]) / (2 * np.pi), amplitude=0.5, whole=True)
    turns, size = 2 * np.pi * found["frequency"].values, found["amplitude"].sel(harmonic=1, variable="place").values
    left = ((1 - turns**2) + 0.15 * size**2) ** 2 * size**2 + (0.2 * turns * size) ** 2
    assert left == pytest.approx(np.full(len(turns), 0.25), rel=0.1)
    assert found["amplitude"].dims == ("point", "harmonic", "variable")
    high, low = 2 * np.pi * np.array(found.attrs["folds"])
    assert np.sum(np.diff(np.sign(np.diff(turns))) != 0) == 2
    assert high == pytest.approx(turns[np.argmax(np.diff(turns) < 0)], abs=0.01)
    # Between the folds the response is unstable, before and behind stable.
    changes = np.flatnonzero(np.diff(found["stable"].values.astype(int)))
    assert len(changes) == 2
    assert turns[changes].tolist() == pytest.approx([high, low], abs=0.01)
    assert 1.0 < low < high < 1.6


@pytest.mark.wide
def test_a_hard_spring_jumps_at_its_folds():
    """Amplitudes obey the balance of the first harmonic, ((1 − ω²) + ¾ β A²)² A² + (δ ω A)² = F², but for others."""
    stiffening, force = 0.2, 0.5
    turns = np.array([0.9, 1.2, 1.35, 1.5, 1.7])
    found = dd.frequency_sweep(driven(stiffening), "u", turns / (2 * np.pi), amplitude=force, both_ways=True)
    A = found["amplitude"].sel(harmonic=1, variable="place")
    for way in ("up", "down"):
        size = A.sel(sweep=way).values
        left = ((1 - turns**2) + 0.75 * stiffening * size**2) ** 2 * size**2 + (0.1 * turns * size) ** 2
        assert left == pytest.approx(np.full(5, force**2), rel=0.25)
    up, down = A.sel(sweep="up").values, A.sel(sweep="down").values
    assert up[[0, 1, 4]] == pytest.approx(down[[0, 1, 4]], rel=1e-4)
    assert np.all(up[[2, 3]] > 3 * down[[2, 3]])
    low, high = 2 * np.pi * np.array(found.attrs["folds"])
    assert 1.2 < low < 1.35
    assert 1.5 < high < 1.7
    # At a fold a multiplier passes one: followed from below.
    book, state = driven(stiffening), {"x": -2.6, "x_dot": 0.0}
    for turn in np.linspace(1.4, high, 8):
        drive = {"u": force * ca.sin(turn * book.time)}
        orbit = dd.periodic(book, start=state, period=2 * np.pi / turn, inputs=drive)
        state = {name: float(orbit.start[name]) for name in ("x", "x_dot")}
    assert float(np.ptp(orbit["x"])) / 2 > 3.0
    assert abs(np.abs(orbit.multipliers).max() - 1) < 0.02


def test_constrained_models():
    """A pendulum in two coordinates, pushed weakly, is a linear oscillator of √g."""
    m = dd.Model("pendulum")
    q, u = m.coordinate("q", 2, start=[0, -1], rate=[0, 0]), m.input("u")
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    m.generalised_force(q, ca.vertcat(u - 0.5 * m.rate(q)[0], 0))
    found = dd.frequency_sweep(m, "u", [0.3], amplitude=0.01, outputs=["q[0]"])
    turn = 2 * np.pi * 0.3
    exact = 0.01 / abs(9.81 - turn**2 + 0.5j * turn)
    assert float(found["amplitude"].sel(harmonic=1, variable="q[0]", frequency=0.3)) == pytest.approx(exact, rel=1e-4)


def test_dry_friction_has_den_hartogs_amplitude():
    """J. P. Den Hartog, Transactions of ASME 53 (1931): X = F √(V² − (f U / F)²) with V = 1 / (1 − r²) and
    U = sin(π / r) / (r (1 + cos(π / r))). A model with a part's outputs has its states in a sweep."""
    m = dd.Model("dry friction")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    m.equation([m.der(x), m.der(v)], [v, u - x + m.friction("floor", v, 0.3)])
    r = 0.7
    found = dd.frequency_sweep(m, "u", [r / (2 * np.pi)], amplitude=1.0, harmonics=9)
    assert found["variable"].values.tolist() == ["x", "v"]
    orbit = dd.periodic(m, period=2 * np.pi / r, inputs={"u": ca.cos(r * m.time)})
    V, U = 1 / (1 - r**2), np.sin(np.pi / r) / (r * (1 + np.cos(np.pi / r)))
    exact = np.sqrt(V**2 - (0.3 * U) ** 2)
    assert float(np.ptp(orbit["x"])) / 2 == pytest.approx(exact, rel=2e-4)
    first, times = found["amplitude"].sel(harmonic=1, variable="x"), np.linspace(0, 2 * np.pi / r, 2001)
    harmonic = 2 * np.abs(np.mean((orbit.trajectory.at(times)["x"] * np.exp(-1j * r * times))[:-1]))
    assert float(first[0]) == pytest.approx(harmonic, rel=1e-3)


@pytest.mark.wide
def test_backlash_is_followed_where_one_shot_does_not_close():
    """The orbit is searched for again from where the motion has settled."""
    m, gap = dd.Model("backlash"), 0.2
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    spring = ca.if_else(x > gap, 10 * (x - gap), ca.if_else(x < -gap, 10 * (x + gap), 0))
    m.equation([m.der(x), m.der(v)], [v, u - 0.3 * v - spring])
    turns = np.array([1.1, 1.2, 1.5])
    found = dd.frequency_sweep(m, "u", turns / (2 * np.pi), amplitude=1.0)
    assert bool(found["stable"][2])
    times = 40 * 2 * np.pi / 1.5 + np.linspace(0, 2 * np.pi / 1.5, 401)
    run = dd.simulate(m, times[-1], inputs={"u": ca.cos(1.5 * m.time)}, save_at=times, rtol=1e-8)
    harmonic = 2 * np.abs(np.mean((run["x"] * np.exp(-1.5j * run.time))[:-1]))
    assert float(found["amplitude"].sel(harmonic=1, variable="x")[2]) == pytest.approx(harmonic, rel=1e-4)


def test_harmonics_and_bias_of_a_square():
    m = dd.Model("square")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), 100 * (u - x))
    m.output("y", u**2)
    found = dd.frequency_sweep(m, "u", [1.0], amplitude=2.0, bias=1.0)  # 1 + 4 s + 4 s², s² = ½ − ½ cos 2ωt
    assert found["amplitude"].sel(frequency=1.0, variable="y").values[:4] == pytest.approx(
        [3.0, 4.0, 2.0, 0.0], abs=1e-9
    )
    assert float(found["phase"].sel(frequency=1.0, variable="y", harmonic=2)) == pytest.approx(-np.pi / 2)


def unsettled():
    m = dd.Model("growing")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), 1 + u)
    return m


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: dd.frequency_sweep(driven(), "v", [1.0]), InputError, "no scalar input 'v' to drive"),
        (lambda: dd.frequency_sweep(driven(), "u", [-1.0]), InputError, "not positive numbers"),
        (lambda: dd.frequency_sweep(driven(), "u", "x"), InputError, "not positive numbers"),
        (
            lambda: dd.frequency_sweep(driven(), "u", [1.0], amplitude=np.nan),
            InputError,
            "amplitude=nan is not a number",
        ),
        (lambda: dd.frequency_sweep(driven(), "u", [1.0], bias="x"), InputError, "bias"),
        (lambda: dd.frequency_sweep(driven(), "u", [1.0], harmonics=0), InputError, "not a number of harmonics"),
        (lambda: dd.frequency_sweep(driven(), "u", [1.0], inputs={"u": 0.0}), InputError, "driven by the sweep"),
        (lambda: dd.frequency_sweep(unsettled(), "u", [1.0]), SolverError, "No periodic response"),
    ],
)
def test_wrong_uses_are_told(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
