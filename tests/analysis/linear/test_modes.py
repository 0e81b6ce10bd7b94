import casadi as ca
import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.analysis.linear.linearise import linearise
from daedalus.analysis.linear.lti import LTI
from daedalus.analysis.linear.modes import modes

# The benchmark bicycle: J. P. Meijaard, J. M. Papadopoulos, A. Ruina, A. L. Schwab, Linearized dynamics equations for
# the balance and steer of a bicycle: a benchmark and review, Proc. R. Soc. A 463 (2007):
# M q'' + v C1 q' + (g K0 + v² K2) q = f with q = (roll, steer).
MASS = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
DAMPING = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
STIFFNESS_0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
STIFFNESS_2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])
# Table 2 there: speed, weave (real and imaginary part), capsize, caster.
EIGENVALUES = [
    (1, 3.52696170990070, 0.80774027519930, -3.13423125066578, -7.11008014637442),
    (2, 2.68234517512745, 1.68066296590675, -3.07158645641514, -8.67387984831735),
    (3, 1.70675605663975, 2.31582447384325, -2.63366137253667, -10.35101467245920),
    (4, 0.41325331521125, 3.07910818603206, -1.42944427361326, -12.15861426576447),
    (5, -0.77534188219585, 4.46486771378823, -0.32286642900409, -14.07838969279822),
    (6, -1.52644486584142, 5.87673060598709, -0.00406690076970, -16.08537123098026),
    (7, -2.13875644258362, 7.19525913329805, 0.10268170574766, -18.15788466125262),
    (8, -2.69348683581097, 8.46037971396931, 0.14327879765713, -20.27940894394569),
    (9, -3.21675402252485, 9.69377351531791, 0.15790184030917, -22.43788559040858),
    (10, -3.72016840437287, 10.90681139476287, 0.16105338653172, -24.62459635017404),
]


def bicycle() -> dd.Model:
    m = dd.Model("bicycle")
    roll = m.state("roll", start=0.0, rate=0.0, unit="rad")
    steer = m.state("steer", start=0.0, rate=0.0, unit="rad")
    speed = m.parameter("speed", 5.0, unit="m/s")
    torque = m.input("torque", 2, unit="N*m")
    q = ca.vertcat(roll, steer)
    rate = m.der(q)
    stiffness = 9.81 * ca.DM(STIFFNESS_0) + speed**2 * ca.DM(STIFFNESS_2)
    m.equation(ca.DM(MASS) @ m.der(rate) + speed * ca.DM(DAMPING) @ rate + stiffness @ q, torque)
    return m


@pytest.mark.parametrize(("speed", "real", "imaginary", "capsize", "caster"), EIGENVALUES)
def test_published_eigenvalues_of_the_bicycle(speed, real, imaginary, capsize, caster):
    found = modes(bicycle(), parameters={"speed": speed})
    assert found.names == ("roll", "steer")
    assert len(found) == 3
    # The published matrices have 14 digits, and so have the eigenvalues.
    by_kind = sorted(found.poles, key=lambda pole: (pole.imag, pole.real))
    np.testing.assert_allclose([by_kind[0], by_kind[1]], [caster, capsize], rtol=1e-12, atol=2e-13)
    np.testing.assert_allclose(by_kind[2], real + 1j * imaginary, rtol=1e-12)
    weave = int(np.argmax(found.poles.imag))
    assert found.frequencies[weave] == pytest.approx(np.hypot(real, imaginary), rel=1e-12)
    assert found.damping[weave] == pytest.approx(-real / np.hypot(real, imaginary), rel=1e-11)
    assert found.periods[weave] == pytest.approx(2 * np.pi / imaginary, rel=1e-12)


def test_bicycle_at_the_weave_and_capsize_speeds():
    # Published: self-stable between 4.29238253634111 m/s, where the weave has ±3.4350338 i, and 6.02426201538837 m/s.
    weave = modes(bicycle(), parameters={"speed": 4.29238253634111})
    k = int(np.argmax(weave.poles.imag))
    assert weave.poles[k] == pytest.approx(3.43503384866144j, rel=1e-12, abs=1e-12)
    assert abs(weave.damping[k]) < 1e-12
    capsize = modes(bicycle(), parameters={"speed": 6.02426201538837})
    assert capsize.frequencies[0] < 1e-12
    for speed, stable in ((4.2, False), (4.4, True), (5.9, True), (6.1, False)):
        poles = modes(bicycle(), parameters={"speed": speed}).poles
        assert bool(np.all(poles.real < 0)) is stable


def test_shapes_are_eigenvectors_of_the_second_order_form():
    v = 5.0
    found = modes(bicycle())
    for k, pole in enumerate(found.poles):
        matrix = MASS * pole**2 + v * DAMPING * pole + 9.81 * STIFFNESS_0 + v**2 * STIFFNESS_2
        assert np.abs(matrix @ found.shapes[:, k]).max() < 1e-9 * np.abs(matrix).max()
        assert np.abs(found.shapes[:, k]).max() == pytest.approx(1.0)
        assert found["roll_dot"][k] == pytest.approx(pole * found["roll"][k], abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_chain_of_springs(n):
    m = dd.Model("chain")
    q = m.state("q", n, start=0.1, rate=0.0)
    stiffness, mass = m.parameter("stiffness", 3.0), m.parameter("mass", 0.7)
    ends = ca.vertcat(0, q, 0)
    m.equation(mass * m.der(m.der(q)), stiffness * (ends[2:] - 2 * q + ends[:-2]))
    found = modes(m)
    k = np.arange(1, n + 1)
    np.testing.assert_allclose(found.frequencies, 2 * np.sqrt(3 / 0.7) * np.sin(k * np.pi / (2 * (n + 1))), rtol=1e-11)
    assert np.abs(found.damping).max() < 1e-11
    # Shape k is sin(j k π/(n + 1)) over the masses j.
    exact = np.sin(np.outer(k, k) * np.pi / (n + 1))
    for column, shape in zip(exact.T, found.shapes.T):
        scale = column[int(np.argmax(np.abs(shape)))]
        np.testing.assert_allclose(shape / shape[int(np.argmax(np.abs(shape)))], column / scale, atol=1e-9)


def double_pendulum(constrained: bool) -> dd.Model:
    """Two equal masses on two equal rods, in angles or in Cartesian coordinates with the rods as constraints."""
    m = dd.Model("double pendulum")
    g, l = 9.81, 0.4
    if not constrained:
        a = m.state("a", 2, start=[0.1, 0.2], rate=0.0)
        rate, gap = m.der(a), a[0] - a[1]
        one = 2 * m.der(rate)[0] + m.der(rate)[1] * ca.cos(gap) + rate[1] ** 2 * ca.sin(gap) + 2 * g / l * ca.sin(a[0])
        two = m.der(rate)[1] + m.der(rate)[0] * ca.cos(gap) - rate[0] ** 2 * ca.sin(gap) + g / l * ca.sin(a[1])
        m.equation(ca.vertcat(one, two))
        return m
    r = m.state("r", 2, start=[0.05, -0.4], rate=0.0)
    s = m.state("s", 2, start=[0.1, -0.8], rate=0.0)
    pull = m.algebraic("pull", 2)
    weight = ca.vertcat(0, -g)
    m.equation(m.der(m.der(r)), weight - pull[0] * r + pull[1] * (s - r))
    m.equation(m.der(m.der(s)), weight - pull[1] * (s - r))
    m.equation(ca.vertcat(ca.sumsqr(r), ca.sumsqr(s - r)), [l**2, l**2])
    return m


@pytest.mark.parametrize("constrained", [False, True])
def test_double_pendulum(constrained):
    found = modes(double_pendulum(constrained))
    # ω² = (2 ± √2) g/l, with angles in the ratio 1 : ±√2 (Landau and Lifshitz, Mechanics, § 23, problem 2).
    np.testing.assert_allclose(
        found.frequencies, np.sqrt((2 + np.array([-1, 1]) * np.sqrt(2)) * 9.81 / 0.4), rtol=1e-10
    )
    if constrained:
        # Small angles: r = l a, s = l (a + b).
        ratio = (found["s"][0] - found["r"][0]) / found["r"][0]
        assert found.names == ("r[0]", "r[1]", "s[0]", "s[1]")
        assert np.abs(found["r"][1]).max() < 1e-9
        assert found["pull"].shape == (2, 2)
    else:
        ratio = found.shapes[1] / found.shapes[0]
    np.testing.assert_allclose(ratio, [np.sqrt(2), -np.sqrt(2)], rtol=1e-8, atol=1e-8)


def test_free_motion_has_frequency_zero():
    found = modes(catalogue.load("cart_pendulum").model, at={"angle": np.pi})
    np.testing.assert_allclose(found.frequencies, [0, 0, np.sqrt(1.2 * 9.81 / 0.5)], rtol=1e-12)
    np.testing.assert_allclose(np.abs(found["position"][:2]), 1.0)
    # The centre of mass stays: 1.2 x = 0.1 θ in the hanging position.
    np.testing.assert_allclose(found["position"][2] / found["angle"][2], 0.1 / 1.2, rtol=1e-9)
    assert found.damping[:2].tolist() == [0.0, 0.0]
    assert np.isinf(found.periods[:2]).all()


def test_slow_real_poles_are_not_mistaken_for_free_motion():
    m = dd.Model("slow")
    x = m.state("x", 2, start=0.0)
    m.equation(m.der(x), [-1e-7 * x[0], -1e3 * x[1]])
    np.testing.assert_allclose(modes(m).frequencies, [1e-7, 1e3], rtol=1e-9)


@pytest.mark.parametrize("ratio", [0.0, 0.05, 0.7, 1.5, -0.1])
def test_damping_ratio(ratio):
    m = dd.Model("damped")
    x = m.state("x", start=0.1, rate=0.0)
    m.equation(m.der(m.der(x)), -4.0 * x - 2 * ratio * 2.0 * m.der(x))
    found = modes(m)
    if ratio < 1:
        np.testing.assert_allclose(found.frequencies, [2.0], rtol=1e-12)
        np.testing.assert_allclose(found.damping, [ratio], atol=1e-12)
    else:
        np.testing.assert_allclose(found.damping, [1.0, 1.0])
        assert np.prod(found.frequencies) == pytest.approx(4.0)


def test_linear_systems_have_modes_too():
    spring = LTI.from_second_order([[2.0]], [[0.4]], [[8.0]])
    found = modes(spring)
    assert found.names == ("q",)
    np.testing.assert_allclose(found.frequencies, [2.0])
    np.testing.assert_allclose(found.damping, [0.05])
    lin = linearise(catalogue.load("mass_spring").model, at={"position": 0.0})
    np.testing.assert_allclose(modes(lin).frequencies, [4.0])
    assert modes(lin).point is lin.point


def test_searches_the_equilibrium_and_warns_elsewhere():
    model = catalogue.load("double_pendulum").model
    found = modes(model)
    np.testing.assert_allclose(found.point["angle"], [0, 0], atol=1e-12)
    assert found.warnings == ()
    moving = modes(model, at={"angle": [0.5, 0.5]})
    assert moving.warnings[0].startswith("the point is not an equilibrium (angle_ddot[0] = ")
    assert moving.warnings[0] in str(moving)


def test_printed_columns():
    text = str(modes(bicycle()))
    assert text.split("\n") == [
        "3 modes",
        "  frequency  damping  pole               shape",
        "  0.3229     1        -0.3229            roll 1, steer 0.428",
        "  4.532      0.1711   -0.7753 + 4.465j   roll 0.771 ∠ 10°, steer 1",
        "  14.08      1        -14.08             roll 0.00228, steer 1",
    ]
    assert repr(modes(bicycle())) == "Modes(3: 0.3229, 4.532, 14.08)"


def test_undetermined_model_is_refused():
    m = dd.Model("loose")
    x, y = m.state("x", start=0.0), m.state("y", start=0.0)
    m.equation(m.der(x) + m.der(y), -x - y)
    m.equation(2 * m.der(x) + 2 * m.der(y), -3 * x - 3 * y)
    with pytest.raises(dd.SingularModelError, match="The pencil s E - A is singular"):
        modes(m, at={})


def test_unknown_name():
    with pytest.raises(dd.InputError, match="The system has no state 'rol'"):
        modes(bicycle())["rol"]
