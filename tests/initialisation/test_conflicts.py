"""Given values that contradict the equations are refused by name, with the distance and a remedy that works."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from started_models import four_bar, pendulum, reactor

import daedalus as dd
from daedalus import catalogue
from daedalus.analysis.structure.jets.jet_search import Search


def refusal(*arguments, **keywords) -> dd.InconsistentStartError:
    with pytest.raises(dd.InconsistentStartError) as caught:
        dd.initialise(*arguments, **keywords)
    return caught.value


def test_a_position_off_the_rod():
    error = refusal(pendulum(2, [0.9, 0.0], [0.0, 0.0]))
    assert str(error) == (
        "rod (L = 1) and the given p = (0.9, 0) disagree by 0.1.\n"
        "  rod: p[0]^2 + p[1]^2 - L^2 = 0 is left at -0.19\n"
        "  the nearest values that fit: p = (1, 0)\n"
        "  Because given values are not changed, and no values of the others satisfy the equations.\n"
        '  Try: free=["p[0]"], which becomes 1, or free=["p[1]"], which becomes 0.43589, or parameters={"L": 0.9}'
    )


@pytest.mark.parametrize(
    "remedy", [{"free": ["p[0]"]}, {"free": ["p[1]"]}, {"parameters": {"L": 0.9}}], ids=["p0", "p1", "L"]
)
def test_every_remedy_that_is_told_works(remedy):
    s = dd.initialise(pendulum(2, [0.9, 0.0], [0.0, 0.0]), **remedy)
    assert s.largest_residual < 1e-12


def test_values_of_the_call_are_refused_alike():
    error = refusal(pendulum(3, [0.0, 0.0, -1.0], [0.0, 0.0, 0.0]), {"p": [0.0, 1.0, 1.0]})
    assert error.what == "rod (L = 1) and the given p[1] = 1, p[2] = 1 disagree by 0.4142."


def test_a_velocity_along_the_rod():
    error = refusal(pendulum(2, [1.0, 0.0], [0.5, 1.0]))
    assert error.what == "rod differentiated once and the given p[1] = 0, v[0] = 0.5 disagree by 0.5."
    assert error.remedy == 'free=["v[0]"], which becomes 0'
    assert dd.initialise(pendulum(2, [1.0, 0.0], [0.5, 1.0]), free=["v[0]"])["v"].tolist() == [0.0, 1.0]


def test_two_conflicts_are_told_together_and_freed_together():
    m = pendulum(2, [0.9, 0.0], [0.5, 1.0])
    error = refusal(m)
    assert error.what == "rod (L = 1) and the given p = (0.9, 0) disagree by 0.1."
    assert error.facts[-1].startswith("also rod differentiated once and the given p[1] = 0, v[0] = 0.5 disagree")
    assert error.remedy == 'free=["p[0]", "v[0]"]'
    assert dd.initialise(m, free=["p[0]", "v[0]"]).largest_residual < 1e-12


def test_a_position_where_slopes_vanish_has_a_distance_too():
    error = refusal(pendulum(2, [0.0, 0.0], [0.0, 0.0]))
    assert error.what == "rod (L = 1) and the given p = (0, 0) disagree by 1."
    assert "parameters" not in error.remedy


def test_a_constraint_between_two_names():
    error = refusal(reactor(), {"cA": 0.5, "cB": 0.1, "cC": 0.2})
    assert error.what == (
        "equilibrium (K = 0.5) and the given cA = 0.5, cB = 0.1 disagree by 0.06 in cA and 0.12 in cB."
    )
    assert error.facts[0] == "equilibrium: cA - cB/K = 0 is left at 0.3"
    assert error.facts[1] == "the nearest values that fit: cA = 0.44, cB = 0.22"
    assert error.remedy == (
        'free=["cB"], which becomes 0.25, or free=["cA"], which becomes 0.2, or parameters={"K": 0.2}'
    )


def test_values_that_have_nothing_to_do_with_it_are_not_named():
    error = refusal(reactor(), {"cA": 0.5, "cB": 0.1, "cC": 0.2})
    assert "cC" not in str(error)


def test_a_given_algebraic_variable_that_follows_from_states():
    m = dd.Model("tank")
    h, q = m.state("h", start=4.0), m.algebraic("q", start=1.0)
    m.equation(m.der(h), -q, name="balance")
    m.equation(q, 2 * h, name="outlet")
    error = refusal(m, {"q": 5.0})
    assert error.what == "outlet and the given h = 4, q = 5 disagree by 3."
    error = refusal(m, fixed=["q"])
    assert error.what.startswith("outlet and the given h = 4, q = 1 disagree by")


def test_a_given_derivative_against_its_equation():
    m = dd.Model("decay")
    x = m.state("x", start=2.0)
    m.equation(m.der(x), -3 * x, name="decay")
    error = refusal(m, {"x_dot": 0.0})
    assert error.what == "decay and the given x = 2, x_dot = 0 disagree by 6."
    assert 'free=["x"], which becomes 0' in error.remedy
    assert 'free=["x_dot"], which becomes -6' in error.remedy


def test_an_impossible_pose_names_the_angle():
    # With the coupler at 0.2 rad the rocker cannot be reached: its foot is at most 0.52 away, and it is 0.8 long.
    error = refusal(four_bar([1.0, 0.2, 1.2]), free=["a[0]", "a[2]"])
    assert error.what.startswith("loop[0], loop[1] and the given a[1] = 0.2 disagree by")
    assert error.remedy.startswith('free=["a[1]"], which becomes 0.')


def test_equations_without_a_solution():
    m = dd.Model("square")
    x, z = m.state("x", start=0.0), m.algebraic("z", start=2.0)
    m.equation(m.der(x), z)
    m.equation(z**2 + 1, name="square")
    error = refusal(m)
    assert error.what == "No consistent start was found."
    assert error.facts[0].startswith("square: z^2 + 1 = 0 is left at ")
    assert error.because == "the equations have no solution, or the guess is too far from it."
    assert error.remedy == 'better guesses of z: {"z": ...} with free=["z"]'


def test_constraints_that_contradict_each_other_whatever_is_chosen():
    m = dd.Model("contradiction")
    x, force = m.state("x", 2), m.algebraic("force", 2)
    m.equation(m.der(x), force)
    m.equation(x[0] + x[1], 1.0, name="one")
    m.equation(x[0] + x[1], 2.0, name="two")
    error = refusal(m)
    assert error.what == "No consistent start was found."
    assert {fact.split(":")[0] for fact in error.facts[:2]} == {"one", "two"}


def test_a_guess_at_which_equations_have_no_value():
    m = dd.Model("root")
    x = m.state("x")
    m.equation(m.der(x), ca.sqrt(-2 - ca.sin(x)), name="growth")
    error = refusal(m)
    assert str(error) == (
        "The equations have no value at the guess.\n"
        "  growth: x_dot - sqrt(-2 - sin(x)) = 0\n"
        "  at x = 0, x_dot = 0\n"
        "  Because something like a division by zero or a root of a negative number occurs in them.\n"
        '  Try: another guess: {"x": 1.0} with free=["x"]'
    )


def test_beginning_aside_of_such_a_guess_is_told():
    m = dd.Model("logarithm")
    x = m.state("x")
    m.equation(m.der(x), ca.log(x), name="growth")
    assert dd.initialise(m).notes == ("the search from the guess did not arrive: it began aside of it",)
    assert dd.initialise(m, {"x": 1.0}, free=["x"]).der("x") == 0.0


def test_a_given_value_is_never_moved():
    start = np.array([0.6, -0.8])
    s = dd.initialise(pendulum(2, start, None))
    assert s["p"].tolist() == start.tolist()


def test_a_search_that_only_thorough_work_ends_blames_no_given_value(monkeypatch):
    """Without any value held the quick search fails too: there is no conflict to name."""
    quick = Search.run

    def run(self, given, *, upto=None, thorough=True):
        found = quick(self, given, upto=upto, thorough=thorough)
        return found if thorough else replace(found, stage=0, scaled=np.ones(len(self.equations.rows)))

    monkeypatch.setattr(Search, "run", run)
    told = str(refusal(pendulum(2, [0.9, 0.0], [0.0, 0.0])))
    assert told.startswith("No consistent start was found.\n  rod: p[0]^2 + p[1]^2 - L^2 = 0 is left at")
    assert "Because the equations have no solution, or the guess is too far from it." in told
    assert "Try: better guesses of" in told


@pytest.mark.parametrize("parameters", [{"long_arm": 0.05}, {"short_arm": 0.05}])
def test_the_first_line_is_short_and_nothing_is_told_twice(parameters):
    k = catalogue.load("delta_robot")
    with pytest.raises(dd.InconsistentStartError) as caught:
        dd.simulate(k.model, 0.1, start=k.start, inputs=k.inputs, parameters=parameters)
    error, text = caught.value, str(caught.value)
    assert error.what.startswith("arm and the given ")
    assert " disagree by " in error.what
    assert len(error.what) <= 110
    assert error.facts[0].startswith("given: ")
    for name, value in parameters.items():
        assert text.count(f"{name} = {value}") == 1
    assert text.count("distance = 0.1") == 1


def test_one_wrong_value_among_many_is_found_by_halves(monkeypatch):
    """x₀ (1 + Σ xᵢ²) = 0 with x₀ = 1 given, and thirty others: only x₀ is to blame."""
    m = dd.Model("one of many")
    x = m.state("x", 31, start=[1.0] + [0.5] * 30)
    z = m.algebraic("z")
    m.equation(m.der(x)[1:], -x[1:])
    m.equation(m.der(x)[0], z)
    m.equation(x[0] * (1 + ca.sumsqr(x[1:])), name="law")
    runs, run = [], Search.run
    monkeypatch.setattr(Search, "run", lambda *a, **k: (runs.append(1), run(*a, **k))[1])
    text = str(refusal(m))
    assert 'free=["x[0]"]' in text
    assert 'free=["x[1]"]' not in text
    assert len(runs) <= 20
