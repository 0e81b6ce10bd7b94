"""What is no list of names is refused alike wherever names are asked for; so are values that come without names."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd


def decay() -> dd.Model:
    m = dd.Model("decay")
    x, k, z = m.state("x", start=1.0), m.parameter("k", 2.0), m.algebraic("z")
    m.equation(m.der(x), -k * x)
    m.equation(z, x)
    return m


DATA = {"time": [0.0, 1.0], "x": [1.0, 0.1]}
DOORS = {
    "wrt": lambda names: dd.sensitivities(decay(), 1.0, wrt=names),
    "outputs": lambda names: dd.sweep(decay(), 1.0, over={"k": [1.0, 2.0]}, outputs=names),
    "free": lambda names: dd.fit(decay(), DATA, free=names),
    "fixed": lambda names: dd.initialise(decay(), fixed=names),
    "names": lambda names: dd.eliminate(decay(), names),
}


@pytest.mark.parametrize("argument", DOORS)
@pytest.mark.parametrize("wrong", [3, ["x", 3], ca.SX.sym("x"), {"x": 1.0}, b"x", np.zeros(2)], ids=repr)
def test_what_is_no_list_of_names_is_refused(argument: str, wrong: object) -> None:
    with pytest.raises(dd.InputError) as caught:
        DOORS[argument](wrong)
    assert str(caught.value).startswith(f"{argument}= is a list of names.\n  got ")


@pytest.mark.parametrize("wrong", [np.array([1.0, 2.0]), ca.SX.sym("u"), np.zeros((2, 2))], ids=repr)
def test_values_without_names_are_refused(wrong: object) -> None:
    m = decay()
    for argument in ("inputs", "parameters"):
        with pytest.raises(dd.InputError, match=f"{argument}= takes values by name"):
            dd.simulate(m, 1.0, **{argument: wrong})
    for door in (dd.simulate(m, 1.0), m):
        with pytest.raises(dd.DaedalusError, match="is asked for one name"):
            door[["x", "z"]]


def test_numbers_of_a_search_are_refused() -> None:
    m = dd.Model("cart")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation(m.der(x), u)
    ocp = dd.OptimalControl(m, 1.0, intervals=3)
    for degree in (None, "3", 2.5, (1, 2)):
        with pytest.raises(dd.InputError, match=r"degree must be a whole number of at least 1\."):
            ocp.solve(degree=degree)
    with pytest.raises(dd.InputError, match="A bound is a number, or None for none"):
        ocp.bound("u", "low", 1.0)
    with pytest.raises(dd.InputError):
        ocp.finish({1: 2.0})
