"""Problems of the literature as their readers write them, each with a known answer, by every method that fits."""

import casadi as ca
import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import daedalus as dd

G = 9.81


def largest_error(found, wanted):
    """The largest deviation, relative where values are above 1."""
    wanted = np.asarray(wanted)
    return np.max(np.abs(found - wanted) / np.maximum(1, np.abs(wanted)))


class TestPendulum:
    """In Cartesian coordinates, from rest at the height of the pivot; the angle is an elliptic function."""

    LAST = {
        1: lambda x, y, u, v, force: u**2 + v**2 - force * (x**2 + y**2) - G * y,
        2: lambda x, y, u, v, force: x * u + y * v,
        3: lambda x, y, u, v, force: x**2 + y**2 - 1,
    }

    @staticmethod
    def exact(t):
        modulus = np.sin(np.pi / 4)
        sn, cn, _, _ = ellipj(ellipk(modulus**2) - np.sqrt(G) * t, modulus**2)
        angle, rate = 2 * np.arcsin(modulus * sn), -2 * modulus * np.sqrt(G) * cn
        x, y = np.sin(angle), -np.cos(angle)
        return [x, y, -y * rate, x * rate, rate**2 - G * y]

    # Multipliers of index 3 by three stages have an error that falls with the square root of the tolerance.
    @pytest.mark.parametrize(
        ("index", "method", "allowed"),
        [
            *((1, "Radau", 10), (1, "radau9", 10), (1, "BDF", 1000), (1, "rodas5p", 100)),
            *((2, "Radau", 100), (2, "radau9", 10), (2, "BDF", 1000), (3, "radau9", 100), (3, "Radau", 1e4)),
        ],
    )
    @pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
    def test_it_follows_the_elliptic_function(self, index, method, allowed, rtol):
        def pendulum(t, y, yp):
            x, h, u, v, force = y
            motion = [yp[0] - u, yp[1] - v, yp[2] + force * x, yp[3] + force * h + G]
            return np.array([*motion, self.LAST[index](*y)])

        result = dd.solve_dae(pendulum, (0, 5), [1.0, 0, 0, 0, 0], method=method, rtol=rtol, atol=rtol)
        assert result.success
        assert result.index == index
        assert largest_error(result.y[:, -1], self.exact(5.0)) < allowed * rtol

    @pytest.mark.parametrize("method", ["radau3", "Radau", "radau9"])
    @pytest.mark.parametrize(("rtol", "atol"), [(1e-2, 1e-5), (1e-2, 1e-6), (1e-3, 1e-6), (1e-3, 1e-8)])
    def test_it_passes_its_dead_centres_at_coarse_tolerances(self, method, rtol, atol):
        """Where velocities and the force are zero, what the last step left of the constraint looks large to them."""

        def pendulum(t, y, yp):
            x, h, u, v, force = y
            return [yp[0] - u, yp[1] - v, yp[2] + force * x, yp[3] + force * h + G, x**2 + h**2 - 1]

        result = dd.solve_dae(pendulum, (0, 20), [1.0, 0, 0, 0, 0], method=method, rtol=rtol, atol=atol)
        assert result.success, result.message
        assert np.abs(result.y[0] ** 2 + result.y[1] ** 2 - 1).max() < rtol


@pytest.mark.parametrize("method", ["Radau", "radau9", "BDF"])
@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
def test_a_stiff_hessenberg_system_of_index_2(method, rtol):
    """U. M. Ascher, L. R. Petzold, SIAM J. Numer. Anal. 28 (1991): x₁ = x₂ = eᵗ, z = -eᵗ / (2 - t)."""

    def F(t, y, yp):
        x1, x2, z = y
        stiff, e = 50.0, np.exp(t)
        return [
            yp[0] - ((stiff - 1 / (2 - t)) * x1 + (2 - t) * stiff * z + (3 - t) / (2 - t) * e),
            yp[1] - ((1 - stiff) / (t - 2) * x1 - x2 + (stiff - 1) * z + 2 * e),
            (t + 2) * x1 + (t**2 - 4) * x2 - (t**2 + t - 2) * e,
        ]

    result = dd.solve_dae(F, (0, 1), [1.0, 1.0, -0.5], method=method, rtol=rtol, atol=rtol)
    assert result.index == 2
    assert largest_error(result.y[:, -1], np.e * np.array([1, 1, -1])) < 20 * rtol


@pytest.mark.parametrize("method", ["Radau", "radau9", "BDF", "rodas5p"])
def test_a_reactor_whose_hydrogen_ions_are_few(method):
    """M. Caracotsios, W. E. Stewart, Comput. Chem. Eng. 9 (1985): constants of 1e-18 beside rates of 1e9."""
    k1, back1, k2, k3, back3 = 21.893, 2.14e9, 32.318, 21.893, 1.07e9
    K1, K2, K3 = 7.65e-18, 4.03e-11, 5.32e-18

    def f(t, y):
        one, two, three = k1 * y[1] * y[5] - back1 * y[9], k2 * y[3] * y[5] - back3 * y[8], k3 * y[1] * y[7]
        charge = -0.0131 + y[5] + y[7] + y[8] + y[9] - y[6]
        ions = [K2 * y[0] / (K2 + y[6]) - y[7], K3 * y[2] / (K3 + y[6]) - y[8], K1 * y[4] / (K1 + y[6]) - y[9]]
        return np.array([-three, -one - three, three + two, -two, one, -one - two, charge, *ions])

    ions = 0.5 * (-K2 + np.sqrt(K2**2 + 4 * K2 * 1.5776))
    start = [1.5776, 8.32, 0, 0, 0, 0.0131, ions, ions, 0, 0]
    mass = np.diag([1.0] * 6 + [0.0] * 4)
    # An atol that sees the ions, of which there are 7e-9.
    result = dd.solve_dae(f, (0, 1), start, mass=mass, method=method, rtol=1e-6, atol=1e-14)
    y = result.y[:, -1]
    assert y[:6] == pytest.approx([0.481484149, 6.77567362, 0.650809400, 0.445306451, 0.448210526, 0.0101959250], 1e-5)
    assert y[6:] == pytest.approx([6.64126779e-09, 2.90408057e-03, 5.21332088e-10, 5.16288550e-10], 1e-5)
    # What is made of the first substance is in two others.
    assert y[0] + y[2] + y[3] == pytest.approx(1.5776, rel=1e-12)


class TestCrane:
    """A load on a rope below a trolley is to follow a path; the force on the trolley is asked for: index 5.

    The load decides everything (W. Blajer, K. Kołodziejczyk, Multibody Syst. Dyn. 11, 2004): the rope's pull follows
    from its acceleration, the place of the trolley from the direction of the rope, the force from its acceleration.
    """

    TROLLEY, LOAD = 2.0, 1.0

    def model(self):
        m = dd.Model("crane")
        s, v = m.state("s"), m.state("v")
        x, u = m.state("x", 2, start=[0.0, -2.25]), m.state("u", 2, start=[0.5, 0.0])
        force, pull = m.algebraic("force"), m.algebraic("pull", start=5.0)  # the pull for each metre of the rope
        m.equation([m.der(s) - v, self.TROLLEY * m.der(v) - force + pull * (s - x[0])])
        m.equation(m.der(x), u)
        m.equation(self.LOAD * m.der(u), [pull * (s - x[0]), -pull * x[1] - self.LOAD * G])
        m.equation(x, self.path(m.time), name="path")
        return m

    @staticmethod
    def path(t):
        return ca.vertcat(ca.sin(t) / 2, -2 - ca.cos(t) / 4)

    def exact(self, at):
        t = ca.SX.sym("t")
        x, y = ca.vertsplit(self.path(t))
        pull = self.LOAD * (ca.jacobian(ca.jacobian(y, t), t) + G) / -y
        s = x + self.LOAD * ca.jacobian(ca.jacobian(x, t), t) / pull
        force = self.TROLLEY * ca.jacobian(ca.jacobian(s, t), t) + pull * (s - x)
        return [float(value) for value in ca.Function("crane", [t], [s, pull, force])(at)]

    def test_its_index_is_5_and_nothing_is_free(self):
        report = dd.analyse(self.model())
        assert report.index == report.structural_index == 5
        assert report.degrees_of_freedom == 0

    @pytest.mark.parametrize("start", [None, "written", "initialised"])
    def test_it_is_reduced_and_run(self, start):
        m = self.model()
        found = dd.initialise(m)
        given = {None: None, "written": {"s": found["s"], "v": found["v"]}, "initialised": found}[start]
        tr = dd.simulate(m, 3.0, start=given)
        wanted = self.exact(3.0)
        assert [tr[name][-1] for name in ("s", "pull", "force")] == pytest.approx(wanted, rel=1e-9)

    @pytest.mark.parametrize("method", ["radau5", "radau9", "bdf"])
    def test_its_reduction_runs_by_implicit_methods(self, method):
        tr = dd.simulate(dd.reduce(self.model()), 3.0, method=method)
        assert [tr[name][-1] for name in ("s", "pull", "force")] == pytest.approx(self.exact(3.0), rel=1e-5)

    def test_methods_for_index_3_refuse_it(self):
        with pytest.raises(dd.InputError, match=r"'radau5' does not solve a model of index 5\.\n  v, force have"):
            dd.simulate(self.model(), 3.0, method="radau5")


def test_a_machine_at_a_network_with_a_fault():
    """P. Kundur, Power System Stability and Control (1994): a short circuit of 150 ms, voltages as algebraic variables.

    Without damping the machine keeps an energy while the network stays as it is.
    """
    m = dd.Model("machine")
    delta, omega = m.state("delta"), m.state("omega", start=0.0)
    v = m.algebraic("v", 2, start=[1.0, 0.2])
    fault = m.input("fault")
    emf, inner, line, power, inertia = 1.1, 0.3, 0.5, 0.8, 7.0
    e = emf * ca.vertcat(ca.cos(delta), ca.sin(delta))
    m.equation((e[1] - v[1]) / inner - v[1] / line - fault * v[0], 0)
    m.equation((v[0] - e[0]) / inner - (1 - v[0]) / line - fault * v[1], 0)
    m.equation(m.der(delta), 100 * np.pi * omega)
    m.equation(inertia * m.der(omega), power - (e[0] * (e[1] - v[1]) - e[1] * (e[0] - v[0])) / inner)
    highest = emf / (inner + line)
    m.output("energy", 50 * np.pi * inertia * omega**2 - power * delta - highest * ca.cos(delta))
    rest = np.arcsin(power / highest)
    short = dd.signal([0, 0.1, 0.25], [0.0, 8.0, 0.0], kind="hold")
    ends = {}
    for method in ("auto", "radau5", "radau9", "bdf", "rodas5p"):
        tr = dd.simulate(m, 2.0, start={"delta": rest}, inputs={"fault": short}, method=method, rtol=1e-7, atol=1e-10)
        assert tr["delta"][tr.time < 0.1] == pytest.approx(rest, rel=1e-9)
        after = tr["energy"][tr.time > 0.25]
        assert np.ptp(after) < 3e-5 * (after[0] + power * rest + highest * np.cos(rest))
        ends[method] = tr["delta"][-1]
    assert list(ends.values()) == pytest.approx([ends["radau9"]] * 5, rel=1e-5)


class TestRobotOnItsPath:
    """An arm of two links whose end point runs along a circle; the torques are asked for: index 3."""

    LINKS, MASSES, T = (1.0, 0.8), (2.0, 1.5), 6.0

    @staticmethod
    def circle(t):
        return ca.vertcat(0.9 + 0.3 * ca.cos(t), 0.5 + 0.3 * ca.sin(t))

    def angles(self, t):
        x, y = ca.vertsplit(self.circle(t))
        a, b = self.LINKS
        elbow = ca.acos((x**2 + y**2 - a**2 - b**2) / (2 * a * b))
        return ca.vertcat(ca.atan2(y, x) - ca.atan2(b * ca.sin(elbow), a + b * ca.cos(elbow)), elbow)

    def points(self, q):
        first = self.LINKS[0] * ca.vertcat(ca.cos(q[0]), ca.sin(q[0]))
        return first, first + self.LINKS[1] * ca.vertcat(ca.cos(q[0] + q[1]), ca.sin(q[0] + q[1]))

    def exact(self):
        """Angles and their rates by inverse kinematics, torques by virtual work."""
        t, q = ca.SX.sym("t"), ca.SX.sym("q", 2)
        angles = self.angles(t)
        torque = ca.SX(2, 1)
        for mass, place in zip(self.MASSES, self.points(q)):
            path = ca.substitute(place, q, angles)
            acceleration = ca.jacobian(ca.jacobian(path, t), t)
            lever = ca.substitute(ca.jacobian(place, q), q, angles)
            torque += lever.T @ (mass * (acceleration + ca.vertcat(0, G)))
        return ca.Function("exact", [t], [angles, ca.jacobian(angles, t), torque])

    @pytest.mark.parametrize(("method", "allowed"), [("auto", 1), ("radau5", 100), ("radau9", 10)])
    @pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
    def test_torques_are_those_of_virtual_work(self, method, allowed, rtol):
        exact = self.exact()
        angles, rates, _ = (np.ravel(value) for value in exact(0.0))
        m = dd.Model("robot")
        q = m.coordinate("q", 2, start=angles, rate=rates)
        for mass, place in zip(self.MASSES, self.points(q)):
            m.kinetic_energy(mass / 2 * ca.sumsqr(m.der(place)))
            m.potential_energy(mass * G * place[1])
        torque = m.algebraic("torque", 2)
        m.generalised_force(q, torque)
        m.equation(self.points(q)[1], self.circle(m.time), name="path")
        tr = dd.simulate(m, self.T, method=method, rtol=rtol, atol=1e-3 * rtol)
        found = np.concatenate([tr["q"][-1], tr["q_dot"][-1], tr["torque"][-1]])
        wanted = np.concatenate([np.ravel(value) for value in exact(self.T)])
        assert largest_error(found, wanted) < allowed * rtol


@pytest.mark.parametrize("method", ["auto", "radau5", "radau9", "bdf", "rodas5p"])
def test_a_thermostat_switches_at_its_exact_times(method):
    m = dd.Model("thermostat")
    temperature, heats = m.state("temperature", start=20.0), m.state("heats", start=1.0)
    m.equation(m.der(temperature), 0.1 * (10 - temperature) + 2 * heats)
    m.equation(m.der(heats), 0)
    m.event("hot", temperature - 21, direction=1, reset={"heats": 0.0})
    m.event("cold", temperature - 19, direction=-1, reset={"heats": 1.0})
    tr = dd.simulate(m, 50.0, method=method, rtol=1e-8, atol=1e-10)
    rising, falling = 10 * np.log(11 / 9), 10 * np.log(11 / 9)
    first = 10 * np.log(10 / 9)
    wanted = [first + (k // 2) * (rising + falling) + (k % 2) * falling for k in range(len(tr.events))]
    assert len(tr.events) == 25
    assert [event.time for event in tr.events] == pytest.approx(wanted, rel=3e-7)
    assert [event.name for event in tr.events[:3]] == ["hot", "cold", "hot"]


@pytest.mark.parametrize("traced", [True, False])
def test_a_rosenbrock_method_refuses_equations_that_are_not_linear_in_the_derivative(traced):
    calls = []

    def F(t, y, yp):
        if not traced:
            calls.append(t)  # what changes something outside itself is not followed
        return np.array([yp[0] ** 3 + yp[0] - y[1], y[1] - np.cos(t) ** 3 - np.cos(t)])

    with pytest.raises(ValueError) as error:
        dd.solve_dae(F, (0, 1.2), [0.0, 2.0], method="rodas5p")
    assert str(error.value).splitlines() == [
        "The method 'rodas5p' cannot solve this F.",
        f"  dF/dyp depends on {'yp[0]' if traced else 't, y or yp'}",
        "  Because a Rosenbrock method needs M y' = f(t, y) with a constant M.",
        '  Try: method="Radau", or components of y for the derivatives',
    ]
    result = dd.solve_dae(F, (0, 1.2), [0.0, 2.0], rtol=1e-6, atol=1e-9)
    assert result.traced == traced
    assert result.y[0, -1] == pytest.approx(np.sin(1.2), rel=1e-4)
