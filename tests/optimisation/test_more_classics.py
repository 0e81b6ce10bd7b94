"""More problems of the literature, without a guess and mostly without intervals: what a reader of the source types.

Where a problem has several optima, the bound is the best known cost; where it has a closed form, that is compared.
"""

import re

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_bvp
from tests.optimisation.test_published_optima import cycloid_time
from tests.support.optima import Published, begun, check, ode

import daedalus as dd


def slide_with_friction() -> dd.OptimalControl:
    def rates(x, y, v, angle):
        return [v * ca.cos(angle), v * ca.sin(angle), 9.8 * (ca.sin(angle) - 0.2 * ca.cos(angle))]

    m, *_ = ode("x y v", "angle", rates, [0.0, 0.0, 0.0])
    ocp = begun(m, dd.unknown(1.0, 0.01, 10.0), None, x=2.0, y=2.0)
    ocp.minimise(final=ocp.duration)
    return ocp


def slide_with_friction_time() -> float:
    """v²/2 = g (y - μ x): the slide without friction under a gravity that leans by arctan μ."""
    down = np.array([-0.2, 1.0]) / np.hypot(0.2, 1.0)
    across, along = np.array([down[1], -down[0]]) @ [2.0, 2.0], down @ [2.0, 2.0]
    return cycloid_time(float(across), float(along), 9.8 * np.hypot(0.2, 1.0))


def triple_integrator() -> dd.OptimalControl:
    # Rest to rest with a bounded jerk: 1/4, 1/2 and 1/4 of the time, T³ = 32.
    m, *_ = ode("x v a", "u", lambda x, v, a, u: [v, a, u], [0.0, 0.0, 0.0])
    ocp = begun(m, dd.unknown(1.0, 0.1, 20.0), None, x=1.0, v=0.0, a=0.0)
    ocp.bound("u", -1.0, 1.0)
    ocp.minimise(final=ocp.duration)
    return ocp


def goddard_in_feet() -> dd.OptimalControl:
    # A. E. Bryson, Dynamic Optimization (1999); Betts (2010), 4.11.2: 18550.872 feet.
    def rates(h, v, mass, thrust):
        drag = 5.49153484923381010e-5 * v**2 * ca.exp(-h / 23800)
        return [v, (thrust - drag) / mass - 32.174, -thrust / 1580.9425279876559]

    m, (h, _, _), _ = ode("h v mass", "thrust", rates, [0.0, 0.0, 3.0])
    ocp = begun(m, dd.unknown(45.0, 1.0, 100.0), None, mass=1.0)
    ocp.bound("thrust", 0.0, 193.044)
    ocp.minimise(final=-h)
    return ocp


def secreted_protein() -> dd.OptimalControl:
    # S. Park, W. F. Ramirez, AIChE Journal 34 (1988); R. Luus, Iterative Dynamic Programming (2000): 32.686.
    def rates(secreted, protein, cells, food, volume, feed):
        growth = 21.87 * food / ((food + 0.4) * (food + 62.5))
        leaving, thinning = 4.75 * growth / (0.12 + growth), feed / volume
        return [
            leaving * (protein - secreted) - thinning * secreted,
            food * ca.exp(-5 * food) / (0.1 + food) * cells - thinning * protein,
            growth * cells - thinning * cells, -7.3 * growth * cells + thinning * (20 - food), feed,
        ]  # fmt: skip

    m, (secreted, *_, volume), _ = ode(
        "secreted protein cells food volume", "feed", rates, [0.0, 0.0, 1.0, 5.0, 1.0]
    )  # fmt: skip
    ocp = begun(m, 15.0, None)
    ocp.bound("feed", 0.0, 2.0)
    ocp.minimise(final=-secreted * volume)
    return ocp


def mars_landing(duration: object) -> dd.OptimalControl:
    """B. Acikmese, S. Ploen, Journal of Guidance, Control, and Dynamics 30 (2007): thrust as a vector, 30 to 80 %.

    |T| has no slope at T = 0, where a guess without bounds begins, and its size is told by conditions alone.
    """
    m, lean = dd.Model("lander"), np.cos(np.radians(27.0))
    r, v, mass = m.state("r", 3), m.state("v", 3), m.state("mass", start=1905.0)
    thrust = m.input("thrust", 3)
    m.equation(m.der(r), v)
    m.equation(m.der(v), thrust / mass - ca.vertcat(0.0, 0.0, 3.7114))
    m.equation(m.der(mass), -ca.norm_2(thrust) / (225.0 * 9.807 * lean))
    ocp = dd.OptimalControl(m, duration)
    ocp.start({"r": [2000.0, 0.0, 1500.0], "v": [100.0, 0.0, -75.0], "mass": 1905.0})
    ocp.finish({"r": [0.0, 0.0, 0.0], "v": [0.0, 0.0, 0.0]})
    full = 6 * 3100.0 * lean
    ocp.subject_to(ca.sumsqr(thrust) <= (0.8 * full) ** 2)
    ocp.subject_to(ca.sumsqr(thrust) >= (0.3 * full) ** 2)
    ocp.bound("r", [-np.inf, -np.inf, 0.0], None)
    ocp.bound(mass, 1505.0, 1905.0)
    ocp.minimise(final=-mass)
    return ocp


def drugs() -> dd.OptimalControl:
    # R. Martin, Automatica 28 (1992); drugs act above 10, so that nothing is seen to follow from the first of them.
    def rates(log_size, drug, harm, dose):
        return [-9.9e-4 * log_size + 8.4e-3 * ca.fmax(drug - 10.0, 0.0), dose - 0.27 * drug, drug]

    m, (size, *_), _ = ode("size drug harm", "dose", rates, [np.log(100.0), 0.0, 0.0])
    ocp = begun(m, 84.0, None)
    ocp.bound("dose", 0.0, None)
    ocp.bound("drug", 0.0, 50.0)
    ocp.bound("harm", 0.0, 2.1e3)
    for share, times in ((0.25, 200.0), (0.5, 400.0), (0.75, 800.0)):
        ocp.subject_to(size >= np.log(times), at=share)
    ocp.minimise(final=-size)
    return ocp


def launch() -> dd.phases:
    """Four stages of a Delta III from the pad to a transfer orbit: Betts (2010), 6.15; 7529.712 kg arrive.

    Only the start of the first phase and the orbit behind the last one are given: no phase has a guess.
    """
    mu, earth, pole = 3.986012e14, 6378145.0, ca.vertcat(0.0, 0.0, 7.29211585e-5)
    boosters, first, second = (19290.0, 17010.0, 628500.0), (104380.0, 95550.0, 1083100.0), (19300.0, 16820.0, 110094.0)
    total = 4164.0 + first[0] + second[0] + 9 * boosters[0]
    flow = boosters[1] / 75.2, first[1] / 261.0, second[1] / 700.0
    thrusts = 6 * boosters[2] + first[2], 3 * boosters[2] + first[2], first[2], second[2]
    flows = 6 * flow[0] + flow[1], 3 * flow[0] + flow[1], flow[1], flow[2]
    dropped = np.cumsum([0.0, 6 * (boosters[0] - boosters[1]), 3 * (boosters[0] - boosters[1]), first[0] - first[1]])
    parts = []
    for k, duration in enumerate((75.2, 75.2, 110.6, dd.unknown(700.0, 100.0, 700.0))):
        m = dd.Model(f"stage {k + 1}")
        r, v, burned = m.state("r", 3, nominal=earth), m.state("v", 3, nominal=7e3), m.state("burned", nominal=1e5)
        u = m.input("u", 3)
        mass, wind = total - dropped[k] - burned, v - ca.cross(pole, r)
        drag = -0.5 * 1.225 * ca.exp(-(ca.norm_2(r) - earth) / 7200.0) * 4 * np.pi * 0.5 * ca.norm_2(wind) * wind
        m.equation(m.der(r), v)
        m.equation(m.der(v), -mu * r / ca.norm_2(r) ** 3 + (thrusts[k] * u + drag) / mass)
        m.equation(m.der(burned), flows[k])
        ocp = dd.OptimalControl(m, duration)
        ocp.bound("u", -1.1, 1.1)
        ocp.subject_to(ca.sumsqr(u) == 1, at="nodes")
        if k:
            ocp.subject_to(ca.norm_2(r) >= earth)
        parts.append(ocp)
    place = earth * np.array([np.cos(np.radians(28.5)), 0.0, np.sin(np.radians(28.5))])
    speed = np.cross([0.0, 0.0, 7.29211585e-5], place)
    parts[0].start({"r": place.tolist(), "v": speed.tolist(), "burned": 0.0})
    size, eccentric, lean, node, turn = 24361140.0, 0.7308, *np.radians([28.5, 269.8, 130.5])
    normal = np.array([np.sin(lean) * np.sin(node), -np.sin(lean) * np.cos(node), np.cos(lean)])
    ascending = np.array([np.cos(node), np.sin(node), 0.0])
    towards = np.cos(turn) * ascending + np.sin(turn) * np.cross(normal, ascending)
    momentum, h = np.sqrt(mu * size * (1 - eccentric**2)), ca.cross(r, v)
    shape = (ca.cross(v, h) / mu) - r / ca.norm_2(r)
    ocp.subject_to(h / momentum == ca.SX(normal), at="end")
    ocp.subject_to(ca.dot(shape, ca.SX(towards)) == eccentric, at="end")
    ocp.subject_to(ca.dot(shape, ca.SX(np.cross(normal, towards))) == 0, at="end")
    ocp.minimise(final=-mass)
    return dd.phases(*parts)


CLASSICS = {
    "slide with friction": Published(slide_with_friction, slide_with_friction_time(), 1e-4),
    "triple integrator": Published(triple_integrator, 32 ** (1 / 3), 1e-6, {"mesh_tolerance": 1e-6}),
    "Goddard in feet": Published(goddard_in_feet, -18550.872, 1e-5),
    "secreted protein": Published(secreted_protein, -32.686, 1e-3, long=True),
    "launch": Published(launch, -7529.712, 1e-4, long=True),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if known.long else pytest.mark.wide)
        for name, known in CLASSICS.items()
    ],
)
def test_more_classics_are_solved_as_written(name):
    known = CLASSICS[name]
    if name == "launch":
        plan = known.build().solve()
        assert plan.success, plan
        assert plan.objective == pytest.approx(known.optimum, rel=known.error)
    else:
        check(known)


@pytest.mark.wide
def test_thrust_as_a_vector_is_scaled_by_its_conditions():
    """Lossless: the magnitude as an input of its own, which |T| may stay below, gives the same landing."""
    plan = mars_landing(72.0).solve()
    assert plan.success, plan
    ocp = mars_landing(72.0)
    sizes = ocp._description.system.labels["u"]
    assert plan.transcription.stage.inputs.nominal.tolist() == [1e4] * len(sizes)
    m, lean = dd.Model("lander by magnitude"), np.cos(np.radians(27.0))
    r, v, mass = m.state("r", 3), m.state("v", 3), m.state("mass", start=1905.0)
    thrust, size = m.input("thrust", 3), m.input("size")
    m.equation(m.der(r), v)
    m.equation(m.der(v), thrust / mass - ca.vertcat(0.0, 0.0, 3.7114))
    m.equation(m.der(mass), -size / (225.0 * 9.807 * lean))
    ocp = dd.OptimalControl(m, 72.0)
    ocp.start({"r": [2000.0, 0.0, 1500.0], "v": [100.0, 0.0, -75.0], "mass": 1905.0})
    ocp.finish({"r": [0.0, 0.0, 0.0], "v": [0.0, 0.0, 0.0]})
    full = 6 * 3100.0 * lean
    ocp.bound(size, 0.3 * full, 0.8 * full)
    ocp.bound("thrust", -full, full)
    ocp.subject_to(ca.sumsqr(thrust) <= size**2)
    ocp.bound("r", [-np.inf, -np.inf, 0.0], None)
    ocp.minimise(final=-mass)
    relaxed = ocp.solve(starts=1)
    assert relaxed.success, relaxed
    assert plan.objective == pytest.approx(relaxed.objective, rel=1e-5)


def test_a_guess_without_slopes_is_moved():
    """Fuel goes with |F|, whose slope at F = 0 is no number."""
    m = dd.Model("cart in a plane")
    x, v, used, force = m.state("x", 2), m.state("v", 2), m.state("used", start=0.0), m.input("force", 2)
    m.equation(m.der(x), v)
    m.equation(m.der(v), force)
    m.equation(m.der(used), ca.norm_2(force))
    ocp = dd.OptimalControl(m, dd.unknown(2.0, 0.1, 10.0), 10)
    ocp.start({"x": [0.0, 0.0], "v": [0.0, 0.0], "used": 0.0})
    ocp.finish({"x": [3.0, 4.0], "v": [0.0, 0.0]})
    ocp.subject_to(ca.sumsqr(force) <= 25.0)
    ocp.minimise(final=ocp.duration)
    plan = ocp.solve(starts=1)
    assert plan.success, plan
    assert plan.duration == pytest.approx(2.0, rel=1e-6)
    assert plan["used"][-1] == pytest.approx(10.0, rel=1e-6)


def test_phases_begin_between_their_joints():
    """Only the ends of three phases are given; at a distance of zero, where nothing is known, the pull has no value."""
    parts = []
    for _ in range(3):
        m, _, (u,) = ode("r v", "u", lambda r, v, u: [v, u - 1 / r**2], [None, None])
        part = dd.OptimalControl(m, 1.0, 5)
        part.minimise(running=u**2)
        parts.append(part)
    parts[0].start({"r": 1.0, "v": 0.0})
    parts[2].finish({"r": 2.5, "v": 0.0})
    plan = dd.phases(*parts).solve()
    assert plan.success, plan
    m, _, (u,) = ode("r v", "u", lambda r, v, u: [v, u - 1 / r**2], [1.0, 0.0])
    whole = begun(m, 3.0, 15, r=2.5, v=0.0)
    whole.minimise(running=u**2)
    assert plan.objective == pytest.approx(whole.solve().objective, rel=1e-6)


@pytest.mark.wide
def test_a_guess_that_rests_where_nothing_is_seen_is_left():
    plan = drugs().solve()
    assert plan.success, plan
    assert plan.objective < -17.0


@pytest.mark.parametrize(("order", "limit", "size"), [(2, 81.0, 1.0), (2, 4e8, 1e4), (1, 350.0, 100.0), (4, 1e20, 1e5)])
def test_conditions_tell_the_sizes_of_inputs(order, limit, size):
    m, _, (u, _) = ode("x", "u w", lambda x, u, w: [u + w], [0.0])
    ocp = begun(m, 1.0, 5, x=1.0)
    ocp.subject_to(ca.fabs(u) ** order <= limit)
    ocp.minimise(running=u**2 + m["w"] ** 2)
    assert ocp.solve(starts=1).transcription.stage.inputs.nominal.tolist() == [size, 1.0]


def acrobot(duration: float) -> dd.OptimalControl:
    # M. Spong, IEEE Control Systems Magazine 15 (1995): two links, a torque between them.
    def rates(a, b, v, w, torque):
        c, s = ca.cos(b), ca.sin(b)
        one, both, two = 1.0 + 0.5 + 0.083 + 0.33 + c, 0.25 + 0.33 + 0.5 * c, 0.25 + 0.33
        left = 0.5 * s * w**2 + s * v * w - 9.8 * (1.5 * ca.sin(a) + 0.5 * ca.sin(a + b))
        right = torque - 0.5 * s * v**2 - 9.8 * 0.5 * ca.sin(a + b)
        size = one * two - both**2
        return [v, w, (two * left - both * right) / size, (one * right - both * left) / size]

    m, _, (torque,) = ode("a b v w", "torque", rates, [0.0] * 4)
    ocp = begun(m, duration, None, a=np.pi, b=0.0, v=0.0, w=0.0)
    ocp.bound("torque", -20.0, 20.0)
    ocp.minimise(running=torque**2)
    return ocp


def test_a_fixed_duration_has_other_starts_too():
    """In three seconds the guess between the ends leads to six times the effort of another way."""
    plan = acrobot(3.0).solve()
    assert plan.success, plan
    assert plan.objective < 52
    first = re.search(r"other starts led to a cost of .*, the first guess to ([\d.]+)", " ".join(plan.notes))
    assert first is not None
    assert float(first[1]) > 300


@pytest.mark.wide
@pytest.mark.parametrize("reynolds", [10.0, 100.0, 1000.0, pytest.param(1e4, marks=pytest.mark.long)])
def test_a_channel_with_injection(reynolds):
    """COPS 3, problem 12: u'''' = R (u' u'' - u u'''), a boundary value problem without inputs or costs."""
    m, *_ = ode(
        "u v w z", "", lambda u, v, w, z: [v, w, z, reynolds * (v * w - u * z)], [None, None, None, None]
    )  # fmt: skip
    ocp = dd.OptimalControl(m, 1.0)
    ocp.start({"u": 0.0, "v": 0.0})
    ocp.finish({"u": 1.0, "v": 0.0})
    plan = ocp.solve(mesh_tolerance=1e-5)
    assert plan.success, plan
    x = np.linspace(0.0, 1.0, 51)
    straight = np.stack([3 * x**2 - 2 * x**3, 6 * x - 6 * x**2, 6 - 12 * x, np.full(51, -12.0)])
    known = None
    for r in np.geomspace(10.0, reynolds, max(2, int(4 * np.log10(reynolds)))):
        known = solve_bvp(
            lambda _, y, r=r: np.stack([y[1], y[2], y[3], r * (y[1] * y[2] - y[0] * y[3])]),
            lambda a, b: np.array([a[0], a[1], b[0] - 1, b[1]]),
            x if known is None else known.x, straight if known is None else known.y, tol=1e-8, max_nodes=50_000,
        )  # fmt: skip
    assert known.success
    assert np.abs(plan["u"] - known.sol(plan.time)[0]).max() < 1e-5
