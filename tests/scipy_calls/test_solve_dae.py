"""`solve_dae`: published end values, the index found, starts refused and repaired, SciPy's call and result."""

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.errors import InconsistentStartError, InputError, SingularModelError
from daedalus.scipy_calls.solve_dae import solve_dae

G = 9.81
# Hides a value from tracing: nothing follows a number through this.
SEEN = []


def robertson(t, y, yp):
    slow, back, fast = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return [yp[0] + slow - back, yp[1] - slow + back + fast, y[0] + y[1] + y[2] - 1]


def robertson_right_side(t, y, k):
    slow, back, fast = k[0] * y[0], k[1] * y[1] * y[2], k[2] * y[1] ** 2
    return np.array([back - slow, slow - back - fast, y[0] + y[1] + y[2] - 1])


def akzo(t, y, yp):
    root = np.sqrt(y[1])
    r1, r2, r3 = 18.7 * y[0] ** 4 * root, 0.58 * y[2] * y[3], 0.58 / 34.4 * y[0] * y[4]
    r4, r5 = 0.09 * y[0] * y[3] ** 2, 0.42 * y[5] ** 2 * root
    feed = 3.3 * (0.9 / 737.0 - y[1])
    slopes = [-2 * r1 + r2 - r3 - r4, -0.5 * r1 - r4 - 0.5 * r5 + feed, r1 - r2 + r3, -r2 + r3 - 2 * r4, r2 - r3 + r5]
    return [*(yp[k] - slopes[k] for k in range(5)), 115.83 * y[0] * y[3] - y[5]]


AKZO_START = [0.444, 0.00123, 0.0, 0.007, 0.0, 115.83 * 0.444 * 0.007]


def rod(level):
    """The pendulum with its rod written as positions (3), velocities (2) or accelerations (1)."""

    def pendulum(t, y, yp):
        x, h, vx, vy, force = y
        if level == 3:
            last = x**2 + h**2 - 1
        elif level == 2:
            last = x * vx + h * vy
        else:
            last = vx**2 + vy**2 - force * (x**2 + h**2) - G * h
        return [yp[0] - vx, yp[1] - vy, yp[2] + force * x, yp[3] + force * h + G, last]

    return pendulum


START = [1.0, 0.0, 0.0, 0.0, 0.0]


def pendulum_angle(t):
    """The pendulum in its angle, by an explicit method: another way to the same numbers."""
    found = dd.solve_ivp(lambda t, y: [y[1], -G * np.cos(y[0])], (0, t), [0.0, 0.0], "DOP853", rtol=1e-13, atol=1e-13)
    angle, speed = found.y[:, -1]
    x, h = np.cos(angle), np.sin(angle)
    return np.array([x, h, -h * speed, x * speed, speed**2 - G * h])


def oscillator(t, y, yp):
    return [yp[0] - y[1], yp[1] + y[0], y[2] - y[0] * y[1]]


def amplifier(t, y):
    """The transistor amplifier of the Test Set for Initial Value Problem Solvers, release 2.4."""
    first, second = 1e-6 * (np.exp((y[1] - y[2]) / 0.026) - 1), 1e-6 * (np.exp((y[4] - y[5]) / 0.026) - 1)
    r = 9000.0
    return [
        (y[0] - 0.1 * np.sin(200 * np.pi * t)) / 1000,
        2 * y[1] / r - 6 / r + 0.01 * first,
        y[2] / r - first,
        (y[3] - 6) / r + 0.99 * first,
        2 * y[4] / r - 6 / r + 0.01 * second,
        y[5] / r - second,
        (y[6] - 6) / r + 0.99 * second,
        y[7] / r,
    ]


def capacitors():
    matrix = np.diag([-1.0, -1, -2, -3, -3, -4, -5, -5]) * 1e-6
    for i, c in ((0, 1), (3, 3), (6, 5)):
        matrix[i, i + 1] = matrix[i + 1, i] = c * 1e-6
    return matrix


class TestPublishedValues:
    def test_transistor_amplifier(self):
        start = [0, 3, 3, 6, 3, 3, 6, 0]
        found = solve_dae(amplifier, (0, 0.2), start, mass=capacitors(), rtol=1e-8, atol=1e-8)
        assert found.success, found.message
        assert (found.index, found.traced) == (1, True)
        ends = [
            -0.5562145012262709e-2, 3.006522471903042, 2.849958788608128, 2.926422536206241,
            2.704617865010554, 2.761837778393145, 4.770927631616772, 1.236995868091548,
        ]  # fmt: skip
        np.testing.assert_allclose(found.y[:, -1], ends, rtol=1e-6, atol=1e-7)

    def test_robertson_to_the_end(self):
        found = solve_dae(robertson, (0, 1e11), [1, 0, 0], rtol=1e-8, atol=[1e-12, 1e-17, 1e-12])
        assert found.success
        assert (found.index, found.traced, found.method) == (1, True, "radau5")
        reference = catalogue.load("robertson").reference["y"]
        np.testing.assert_allclose(found.y[:, -1], reference, rtol=1e-4)

    def test_robertson_with_a_mass_matrix(self):
        options = {"rtol": 1e-9, "atol": 1e-14, "args": ((0.04, 1e4, 3e7),), "t_eval": [40.0]}
        found = solve_dae(robertson_right_side, (0, 40), [1, 0, 0], mass=np.diag([1.0, 1.0, 0.0]), **options)
        assert (found.index, found.traced) == (1, True)
        # Hairer and Wanner, Solving ODEs II, IV.10: the ROBER problem at t = 40.
        np.testing.assert_allclose(found.y[:, 0], [0.7158270688, 9.185534764e-6, 0.2841637457], rtol=1e-8)

    def test_chemical_akzo(self):
        found = solve_dae(akzo, (0, 180), AKZO_START, rtol=1e-9, atol=1e-12)
        assert found.index == 1
        assert found.y[0, -1] == pytest.approx(0.1150794920661702, rel=1e-8)
        np.testing.assert_allclose(found.y[:, -1], catalogue.load("chemical_akzo").reference["y"], rtol=1e-7)


class TestIndex:
    @pytest.mark.parametrize("level", [1, 2, 3])
    def test_pendulum(self, level):
        found = solve_dae(rod(level), (0, 2), START, rtol=1e-9, atol=1e-9)
        assert found.success, found.message
        assert found.index == level
        assert found.variable_index.tolist() == {1: [1] * 5, 2: [1, 1, 1, 1, 2], 3: [1, 1, 2, 2, 3]}[level]
        np.testing.assert_allclose(found.y[:4, -1], pendulum_angle(2.0)[:4], atol=2e-6)
        # The force has two orders less than the positions at index 3.
        assert found.y[4, -1] == pytest.approx(pendulum_angle(2.0)[4], abs=1e-3 if level == 3 else 1e-4)

    def test_an_ode_has_index_0(self):
        assert solve_dae(lambda t, y, yp: [yp[0] + y[0]], (0, 1), [1.0]).index == 0

    def test_equal_rows_of_a_mass_matrix_show_in_the_numbers_only(self):
        # y0' - y1' + y0 = 0 and its mirror image: the sum has no derivative, as in the transistor amplifier.
        def pair(t, y):
            return [-y[0], -y[1] + np.sin(t)]

        found = solve_dae(pair, (0, 1), [0.3, -0.3], mass=[[1.0, -1.0], [-1.0, 1.0]], rtol=1e-9, atol=1e-10)
        assert found.index == 1
        # 2 y0' - cos t + y0 = 0 with y1 = sin t - y0.
        exact = (0.3 - 0.2) * np.exp(-0.5) + 0.2 * np.cos(1.0) + 0.4 * np.sin(1.0)
        np.testing.assert_allclose(found.y[:, -1], [exact, np.sin(1.0) - exact], atol=1e-8)

    def test_given_for_each_component_as_radau5_has_it(self):
        found = solve_dae(rod(3), (0, 1), START, rtol=1e-8, atol=1e-8, index=[1, 1, 2, 2, 3])
        itself = solve_dae(rod(3), (0, 1), START, rtol=1e-8, atol=1e-8)
        assert found.index == 3
        assert "index as given" in found.reason
        np.testing.assert_array_equal(found.y, itself.y)

    def test_a_single_number(self):
        found = solve_dae(oscillator, (0, 1), [1.0, 0.0, 0.0], index=1)
        assert (found.index, found.variable_index.tolist()) == (1, [1, 1, 1])


def hidden_from_tracing(function):
    def called(t, y, yp):
        SEEN.append(float(t))
        return np.array(function(t, y, yp), dtype=float)

    return called


class TestCallbacks:
    @pytest.mark.parametrize("level", [1, 2, 3])
    def test_same_answer_as_traced(self, level):
        options = {"rtol": 1e-7, "atol": 1e-8}
        traced = solve_dae(rod(level), (0, 1), START, **options)
        called = solve_dae(hidden_from_tracing(rod(level)), (0, 1), START, **options)
        assert (traced.traced, called.traced) == (True, False)
        assert called.reason.startswith("called as a Python function: ")
        assert called.success
        assert called.index == level
        assert called.variable_index.tolist() == traced.variable_index.tolist()
        np.testing.assert_allclose(called.y[:4, -1], traced.y[:4, -1], atol=3e-6)

    def test_robertson(self):
        called = solve_dae(hidden_from_tracing(robertson), (0, 40), [1, 0, 0], rtol=1e-7, atol=1e-11)
        assert (called.traced, called.index) == (False, 1)
        np.testing.assert_allclose(called.y[:, -1], [0.7158270688, 9.185534764e-6, 0.2841637457], rtol=1e-5)

    def test_mass_matrix(self):
        def right_side(t, y):
            SEEN.append(t)
            return np.array([y[1], -y[0], y[2] - y[0] * y[1]])

        called = solve_dae(right_side, (0, 1), [1.0, 0.0, 0.0], mass=np.diag([1, 1, 0]), rtol=1e-8, atol=1e-9)
        assert (called.traced, called.index) == (False, 1)
        np.testing.assert_allclose(called.y[:2, -1], [np.cos(1), -np.sin(1)], atol=1e-6)

    def test_own_jacobians_are_used(self):
        calls = []

        def jac(t, y, yp):
            calls.append(t)
            whole = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [-y[1], -y[0], 1.0]])
            return whole, np.diag([1.0, 1.0, 0.0])

        found = solve_dae(hidden_from_tracing(oscillator), (0, 1), [1.0, 0.0, 0.0], jac=jac, rtol=1e-6)
        assert found.success
        assert len(calls) >= found.njev

    def test_errors_pass_through(self):
        def breaks(t, y, yp):
            SEEN.append(t)
            if t > 0.5:
                raise RuntimeError("boom")
            return [yp[0] + y[0]]

        with pytest.raises(RuntimeError, match="boom"):
            solve_dae(breaks, (0, 1), [1.0])


class TestStart:
    def test_rates_are_computed(self):
        found = solve_dae(rod(3), (0, 0.1), START)
        np.testing.assert_allclose(found.yp[:4, 0], [0, 0, 0, -G], atol=1e-9)

    def test_given_rates_are_checked(self):
        assert solve_dae(oscillator, (0, 1), [1.0, 0.0, 0.0], [0.0, -1.0, -1.0]).success
        with pytest.raises(InconsistentStartError) as error:
            solve_dae(oscillator, (0, 1), [1.0, 0.0, 0.0], [0.0, 3.0, 0.0])
        text = str(error.value)
        assert "yp0 contradicts the equations." in text
        assert "F[1](t0, y0, yp0) = 4, not 0" in text
        assert "yp0[1] = 3 is off by 4: y0 asks for -1" in text
        assert "Try: yp0=None, which computes it, or repair=True" in text

    def test_wrong_rates_are_guesses_where_repair_is_allowed(self):
        found = solve_dae(oscillator, (0, 1), [1.0, 0.0, 0.0], [0.0, 3.0, 0.0], repair=True)
        assert found.yp[1, 0] == pytest.approx(-1.0)

    @pytest.mark.parametrize("hidden", [False, True])
    def test_y0_off_an_equation(self, hidden):
        F = hidden_from_tracing(oscillator) if hidden else oscillator
        with pytest.raises(InconsistentStartError) as error:
            solve_dae(F, (0, 1), [1.0, 0.5, 0.2])
        text = str(error.value)
        assert "y0 contradicts the equations." in text
        assert "is off by" in text
        assert "Try: repair=True" in text
        found = solve_dae(F, (0, 1), [1.0, 0.5, 0.2], repair=True)
        assert "y0 moved onto the constraints" in found.reason
        assert found.y[2, 0] == pytest.approx(found.y[0, 0] * found.y[1, 0], abs=1e-6)

    def test_hidden_constraints_of_index_3(self):
        with pytest.raises(InconsistentStartError) as error:
            solve_dae(rod(3), (0, 1), [1.0, 0.0, 0.3, 0.0, 0.0])
        assert "y0[2] = 0.3 is off by 0.3: " in str(error.value)
        found = solve_dae(rod(3), (0, 1), [1.0, 0.0, 0.3, 0.0, 0.0], repair=True)
        np.testing.assert_allclose(found.y[:, 0], [1, 0, 0, 0, 0], atol=1e-8)

    def test_hidden_constraint_of_index_2_without_a_formula(self):
        with pytest.raises(InconsistentStartError, match="y0 contradicts the equations"):
            solve_dae(hidden_from_tracing(rod(2)), (0, 1), [1.0, 0.0, 0.0, 0.0, 3.0])


class TestCall:
    def test_t_eval_and_dense_output(self):
        times = np.linspace(0, 3, 7)
        found = solve_dae(oscillator, (0, 3), [1.0, 0.0, 0.0], t_eval=times, dense_output=True, rtol=1e-8, atol=1e-9)
        np.testing.assert_array_equal(found.t, times)
        assert found.y.shape == found.yp.shape == (3, 7)
        np.testing.assert_allclose(found.y[0], np.cos(times), atol=1e-7)
        np.testing.assert_allclose(found.yp[0], -np.sin(times), atol=1e-5)
        between = np.linspace(0, 3, 50)
        assert found.sol(0.4).shape == (3,)
        np.testing.assert_allclose(found.sol(between)[0], np.cos(between), atol=1e-6)

    def test_backwards(self):
        found = solve_dae(oscillator, (2, -1), [np.cos(2), -np.sin(2), -np.cos(2) * np.sin(2)], rtol=1e-8, atol=1e-9)
        assert np.all(np.diff(found.t) < 0)
        np.testing.assert_allclose(found.y[:2, -1], [np.cos(1), np.sin(1)], atol=1e-6)

    def test_vector_tolerances(self):
        loose = solve_dae(oscillator, (0, 10), [1, 0, 0], rtol=1e-12, atol=1e-2)
        tight = solve_dae(oscillator, (0, 10), [1, 0, 0], rtol=1e-12, atol=[1e-2, 1e-9, 1e-2])
        assert tight.nfev > 2 * loose.nfev

    def test_args(self):
        def decay(t, y, yp, k, c):
            return [yp[0] + k * y[0], y[1] - c * y[0]]

        def half(t, y, yp, k, c):
            return y[0] - 0.5

        for k in (1.0, 2.0):
            found = solve_dae(decay, (0, 1), [1.0, 3.0], args=(k, 3.0), events=half, rtol=1e-8, atol=1e-10)
            assert found.y[1, -1] == pytest.approx(3 * np.exp(-k), rel=1e-6)
            assert found.t_events[0][0] == pytest.approx(np.log(2) / k, rel=1e-6)

    def test_events(self):
        def lowest(t, y):
            return y[0]

        def slow(t, y, yp):
            return yp[0] + 2.0

        lowest.terminal, lowest.direction = 2, 0
        found = solve_dae(rod(3), (0, 20), START, events=(lowest, slow), rtol=1e-9, atol=1e-9)
        assert (found.status, found.message) == (1, "A termination event occurred.")
        assert len(found.t_events[0]) == 2
        # A quarter of the period from the horizontal: √(l/g) K(1/2), K the elliptic integral with modulus² 1/2.
        quarter = 1.8540746773013719 / np.sqrt(G)
        np.testing.assert_allclose(found.t_events[0], [quarter, 3 * quarter], rtol=1e-6)
        assert found.y_events[0].shape == (2, 5)
        assert len(found.t_events[1]) >= 1
        assert found.t[-1] == found.t_events[0][-1]

    def test_event_functions_that_cannot_be_traced(self):
        def down(t, y):
            SEEN.append(t)
            return y[0] - 0.5

        found = solve_dae(oscillator, (0, 2), [1, 0, 0], events=down, rtol=1e-8, atol=1e-9)
        assert found.t_events[0] == pytest.approx([np.pi / 3], abs=1e-6)
        assert "events[0] is called as a Python function" in found.reason

    def test_own_names(self):
        names = [m.name for m in dd.methods() if not m.explicit and m.adaptive]
        assert {"radau3", "radau5", "radau9"} <= set(names)
        for name in names:
            assert solve_dae(oscillator, (0, 1), [1, 0, 0], method=name).method == name

    def test_bdf(self):
        found = solve_dae(robertson, (0, 40), [1, 0, 0], method="BDF", rtol=1e-7, atol=1e-12)
        assert found.method == "bdf"
        np.testing.assert_allclose(found.y[:, -1], [0.7158270688, 9.185534764e-6, 0.2841637457], rtol=1e-4)
        with pytest.raises(ValueError, match="The method 'bdf' does not solve a DAE of index 3") as error:
            solve_dae(rod(3), (0, 1), START, method="BDF")
        assert 'Try: method="Radau"' in str(error.value)

    def test_step_limits(self):
        found = solve_dae(oscillator, (0, 1), [1, 0, 0], max_step=0.03)
        assert np.max(np.diff(found.t)) <= 0.03 * (1 + 1e-12)
        assert solve_dae(oscillator, (0, 1), [1, 0, 0], first_step=1e-3).t[1] == pytest.approx(1e-3)

    def test_failure_names_time_and_component(self):
        found = solve_dae(lambda t, y, yp: [yp[0] - y[0] ** 2, y[1] - y[0]], (0, 2), [1.0, 1.0])
        assert (found.status, found.success) == (-1, False)
        assert found.stop.variables[0] in ("y[0]", "y[1]")
        assert found.stop.time == pytest.approx(1.0, abs=0.01)

    def test_a_span_of_no_length(self):
        found = solve_dae(oscillator, (1, 1), [1, 0, 0])
        assert found.success
        np.testing.assert_array_equal(found.y, [[1, 1], [0, 0], [0, 0]])

    def test_a_repeated_call_makes_nothing_new(self):
        from daedalus.scipy_calls import ivp_function

        solve_dae(oscillator, (0, 1), [1, 0, 0])
        before = ivp_function.traces_made
        solve_dae(oscillator, (0, 1), [0.5, 0, 0])
        assert ivp_function.traces_made == before


@pytest.mark.parametrize(
    ("change", "kind", "lines"),
    [
        ({"F": 3}, TypeError, ["is not a function.", "got int"]),
        ({"y0": [[1.0]]}, ValueError, ["`y0` must be 1-dimensional."]),
        ({"y0": []}, ValueError, ["There are no unknowns."]),
        ({"y0": [1j, 0, 0]}, ValueError, ["`y0` must be real."]),
        ({"yp0": [1.0]}, ValueError, ["`yp0` does not fit y0.", "for 3 components", "Try: yp0=None"]),
        ({"method": "RK45"}, ValueError, ["The method 'RK45' is explicit.", "Because F(t, y, y') = 0 is not"]),
        ({"method": "rattle"}, ValueError, ["The method 'rattle' does not take a function y' = f(t, y)."]),
        ({"method": "radau7"}, ValueError, ["The method 'radau7' is not known.", "one of Radau"]),
        ({"method": 3}, TypeError, ["`method` must be a name.", "got int"]),
        ({"mass": np.eye(2)}, ValueError, ["`mass` does not fit y0.", "got shape (2, 2) for 3 components"]),
        ({"mass": lambda t, y: 1}, TypeError, ["`mass` must be a constant matrix.", "M(t, y) @ yp - f(t, y), without"]),
        ({"index": 1.5}, ValueError, ["`index` must be a whole number", "got 1.5", "Try: index=None"]),
        ({"index": [1, 2]}, ValueError, ["`index` must be a whole number", "for 3 components"]),
        ({"rtol": [1e-3] * 3}, ValueError, ["`rtol` must be one number.", "Try: atol=[...]"]),
        ({"atol": [1e-3] * 2}, ValueError, ["`atol` has wrong shape."]),
        ({"F": lambda t, y, yp: [1.0]}, ValueError, ["`F` returns the wrong number of values.", "has shape (1,)"]),
        ({"t_eval": [3.0]}, ValueError, ["Values in `t_eval` are not within `t_span`."]),
        ({"events": [3]}, TypeError, ["events[0] is not a function."]),
    ],
)  # fmt: skip
def test_refusals(change, kind, lines):
    call = {"F": oscillator, "t_span": (0, 1), "y0": [1.0, 0.0, 0.0], **change}
    with pytest.raises(kind) as error:
        solve_dae(**call)
    assert isinstance(error.value, InputError)
    for line in lines:
        assert line in str(error.value)


def test_equations_that_say_the_same():
    for F in (lambda t, y, yp: [y[0] - 1, y[0] - 1], hidden_from_tracing(lambda t, y, yp: [y[0] - 1, y[0] - 1])):
        with pytest.raises(SingularModelError) as error:
            solve_dae(F, (0, 1), [1.0, 0.0])
        assert "no equation is left for y[1]" in str(error.value)


def test_an_index_that_is_too_high():
    def chain(t, y, yp):
        return [yp[1] - y[0], yp[2] - y[1], yp[3] - y[2], y[3] - np.sin(t)]

    with pytest.raises(ValueError, match="'radau5' does not solve a DAE of index 4") as error:
        solve_dae(chain, (0, 1), [-1, 0, 1, 0])
    assert "Try: a dd.Model and dd.reduce(m)" in str(error.value)


def test_equations_not_linear_in_the_derivative():
    # Weissinger's equation; y = √(t² + ½).
    def weissinger(t, y, yp):
        return [t * y[0] ** 2 * yp[0] ** 3 - y[0] ** 3 * yp[0] ** 2 + t * (t**2 + 1) * yp[0] - t**2 * y[0]]

    found = solve_dae(weissinger, (1, 10), [np.sqrt(1.5)], [1 / np.sqrt(1.5)], rtol=1e-8, atol=1e-8)
    assert found.y[0, -1] == pytest.approx(np.sqrt(100.5), abs=1e-6)


def test_it_is_public():
    assert dd.solve_dae is solve_dae


def test_the_choice_of_a_method_may_be_left_open():
    def decay(t, y, yp):
        return [yp[0] + y[0], y[1] - y[0] ** 2]

    for method in ("auto", "LSODA"):
        loose = dd.solve_dae(decay, (0, 1), [1.0, 1.0], method=method)
        tight = dd.solve_dae(decay, (0, 1), [1.0, 1.0], method=method, rtol=1e-9, atol=1e-12)
        assert (loose.method, tight.method) == ("radau5", "radau9")
        assert tight.y[1, -1] == pytest.approx(np.exp(-2), rel=1e-8)


def test_a_function_without_a_value_at_the_start_is_named():
    with pytest.raises(ValueError, match=r"F\(t0, y0, yp0 = 0\) is not finite") as caught:
        dd.solve_dae(lambda t, y, yp: [yp[0] + y[0] * np.inf], (0, 1), [1.0])
    assert "component 0 is inf" in str(caught.value)


def test_a_mass_that_is_not_finite_is_named():
    with pytest.raises(ValueError, match="All entries of `mass` must be finite") as caught:
        dd.solve_dae(lambda t, y: [-y[0]], (0, 1), [1.0], mass=[[np.nan]])
    assert "mass[0, 0] = nan" in str(caught.value)
