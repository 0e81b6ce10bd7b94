"""Columns of derivatives on the factor of the model: the steps of one large matrix, at the cost of a small one."""

import casadi as ca
import numpy as np
import pytest
from differentiable_models import diode_circuit, leaking_tank, linear, pendulum_by_position
from whole_variational import Prepared, end_of

import daedalus as dd
from daedalus import _core, catalogue
from daedalus.compilation import compile_function
from daedalus.differentiation.directions import Directions
from daedalus.differentiation.variational.column_equations import ColumnEquations
from daedalus.integrators.methods import choose_method
from daedalus.model.model import as_system
from daedalus.simulation.plant.lobatto_step import lobatto_step

ADAPTIVE = {"rtol": 1e-7, "atol": 1e-10}
METHODS = {
    "radau3": ADAPTIVE | {"rtol": 1e-5},
    "radau5": ADAPTIVE,
    "radau9": ADAPTIVE,
    "bdf": ADAPTIVE,
    "rodas5p": ADAPTIVE,
    "gauss3": {"step": 0.05},
    "trapezoidal": {"step": 0.05},
    "trbdf2": {"rtol": 1e-5, "atol": 1e-8, "method": dd.tableau("trbdf2")},
}
MODELS = {
    "diode circuit": (diode_circuit, {"inputs": {"u": 1.0}, "grid": 3}),
    "tank": (leaking_tank, {}),
    "pendulum": (pendulum_by_position, {}),
    "linear": (linear, {"inputs": {"u": [0.3, -0.2]}, "grid": 3}),
}


def counts(run):
    return run.steps, run.rejected, run.newton, run.jacobians, run.factorisations


@pytest.mark.wide
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", MODELS)
def test_the_steps_are_those_of_one_large_matrix(model, method, order):
    """The solve with blocks is exact: the same Newton iterations, and the same numbers to rounding.

    A decision at the level of rounding may fall either way, and a step more of few is a large share. The diode circuit
    takes radau9 about 17 steps: at 25 tolerances beside each other the counts of steps differ by -3 to 3, by 0 in the
    mean. Where one tolerance gives other counts, the median of those beside it decides.
    """
    if model == "pendulum" and order == 2 and method not in ("radau5", "rodas5p"):
        order = 1  # its second order takes long to compile
    build, options = MODELS[model]
    options = {"method": method, **options, **METHODS[method]}
    differ = more_than_rounding(both_ways(build(), order, options))
    if differ and "rtol" in options:
        nearby = [options | {"rtol": options["rtol"] * (1 + 0.01 * k)} for k in range(1, 9)]
        differ = more_than_rounding(*(both_ways(build(), order, each) for each in (options, *nearby)))
    assert not differ


def both_ways(model, order, options):
    """The counts by columns and by one matrix; the ends of both runs agree."""
    prepared = Prepared(model, 0.6, order, ("start", "inputs", "parameters"), **options)
    blocks, whole = prepared.by_columns(), prepared.by_one_matrix()
    assert blocks.status == whole.status == "finished"
    found, expected = end_of(prepared, blocks), end_of(prepared, whole)
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())
    return counts(blocks), counts(whole)


def more_than_rounding(*runs):
    """Which counts differ, in the median of runs at tolerances beside each other."""
    gaps = np.median([np.subtract(blocks, whole) for blocks, whole in runs], axis=0)
    return np.flatnonzero(np.abs(gaps) > 2 + 0.02 * np.array(runs[0][1])).tolist()


@pytest.mark.parametrize("name", ["robertson", "oregonator"])
def test_newton_converges_as_often_as_with_one_large_matrix_at_high_accuracy(name):
    system = catalogue.load(name)
    span = (0.0, 1e-4 * system.span[1])
    prepared = Prepared(system.model, span, start=system.start, method="radau5", rtol=1e-9, atol=1e-12)
    blocks, whole = prepared.by_columns(), prepared.by_one_matrix()
    assert abs(blocks.newton - whole.newton) <= 0.02 * whole.newton
    assert abs(blocks.steps - whole.steps) <= 0.02 * whole.steps


def masses(count):
    """A row of masses with springs that stiffen, each with its own mass, so that there are as many directions."""
    m = dd.Model("masses")
    q, v = m.state("q", count, start=np.linspace(0.1, 0.2, count)), m.state("v", count, start=np.zeros(count))
    mass = m.parameter("mass", np.linspace(1.0, 2.0, count))
    stretch = ca.vertcat(q, 0) - ca.vertcat(0, q)
    force = stretch + stretch**3
    m.equation(m.der(q), v)
    m.equation(mass * m.der(v), force[1:] - force[:-1])
    return m


@pytest.mark.parametrize("method", ["radau5", "bdf", "rodas5p"])
@pytest.mark.parametrize("count", [3, 12], ids=["dense", "sparse"])
def test_the_factor_does_not_grow_with_the_directions(method, count):
    """One factorisation of the matrix of the model for each Newton matrix, however many columns are solved with it."""
    found = {}
    for wrt in ("mass[0]", "mass", ("start", "mass")):
        loose = {"rtol": 1e-4, "atol": 1e2}  # one step after the other of the greatest length: none depends on columns
        prepared = Prepared(masses(count), 1.0, 1, wrt, method=method, max_step=0.05, **loose)
        run = prepared.by_columns()
        found[len(prepared.augmented.variational.directions.sizes(prepared.case.system, prepared.case.p))] = run
    one, every = found[1], found[3 * count]
    assert one.factor_size == every.factor_size == found[count].factor_size
    assert one.factor_size <= (2 * count) ** 2
    if count == 12:
        assert one.factor_size < 8 * 2 * count
    assert one.factorisations <= (1 + (method == "radau5")) * one.jacobians + one.steps
    assert every.factorisations == one.factorisations
    assert every.jacobians == one.jacobians


def test_compiled_functions_do_not_depend_on_the_number_of_directions(monkeypatch):
    made = []
    real = ColumnEquations._compiled
    monkeypatch.setattr(
        ColumnEquations,
        "_compiled",
        lambda self, name, more, results: (
            made.append((name, ca.Function(name, [*self.arguments, *more], results).n_instructions()))
            or real(self, name, more, results)
        ),
    )
    t, rate, x, z, p = (ca.SX.sym(name, size) for name, size in (("t", 1), ("r", 3), ("x", 3), ("z", 1), ("p", 2)))
    residual = ca.vertcat(rate + p[0] * x * z, z + z**3 - ca.sum1(x) * p[1])
    for chosen in ((), (0,), (0, 1, 2)):
        u = ca.SX.sym("u", 1)
        ColumnEquations([t, rate, x, z, u, p], residual, Directions(chosen, (0,), (0, 1))).model(0)
    sizes = [made[k : k + 4] for k in range(0, len(made), 4)]
    assert sizes[0] == sizes[1] == sizes[2]


@pytest.mark.parametrize("method", ["radau5", "bdf"])
def test_an_index_2_model_has_the_scales_of_its_index_in_every_column(method):
    """x' = -x + z², 0 = x - p (2 + sin t): z = √(p (2 + sin t + cos t)), and a column by p."""
    t, rate, x, z, u, p = (ca.SX.sym(name, size) for name, size in zip("trxzup", (1, 1, 1, 1, 0, 1)))
    residual = ca.vertcat(rate + x - z**2, x - p * (2 + ca.sin(t)))
    equations = ColumnEquations([t, rate, x, z, u, p], residual, Directions((), (), (0,)))
    products = [_core.ColumnProducts(equations._slopes.core, *equations._entries()), equations._below(), None]
    patterns = ([0, 1], [0], [0, 2, 3], [0, 1, 0])
    model = _core.ImplicitModel(
        equations._slopes.core, jacobian_of(equations), 1, 2, *patterns, [1, 2], [0, 1], columns=[1], products=products
    )
    level = np.sqrt(6.0)
    row = np.array([4.0, 2.0, level, level / 4, 2.0, 1.0])  # x, S, z, S_z, x', S'
    chosen = choose_method(method, 1e-8, None).core
    run = _core.integrate(model, chosen, 0.0, 1.0, row, [], [2.0], rtol=1e-8, atol=np.full(6, 1e-10))
    assert run.status == "finished"
    length, level = 2 + np.sin(1), np.sqrt(2 * (2 + np.sin(1) + np.cos(1)))
    np.testing.assert_allclose(run.x[-1][:4], [2 * length, length, level, level / 4], atol=1e-5)


def test_a_column_goes_on_at_rest():
    """x = (1 - k t / 2)² rests at 0 from t = 2 on; √x has no slope there, and x no derivative by k but 0."""
    m = dd.Model("root")
    x, k = m.state("x", start=1.0), m.parameter("k", 1.0)
    m.equation(m.der(x), -k * ca.sqrt(ca.fmax(x, 0)))
    sens = dd.sensitivities(m, 3.0, wrt="parameters", method="bdf", rtol=1e-8)
    slopes = [float(np.ravel(sens.at(t).d("x", "k"))[0]) for t in (1.0, 3.0)]
    assert slopes == pytest.approx([-0.5, 0.0], abs=1e-5)


def test_columns_agree_with_the_discrete_derivative():
    options = {"inputs": {"u": 1.0}, "method": "radau5", "step": 0.05}
    variational = dd.sensitivities(diode_circuit(), 1.0, order=1, **options)
    discrete = dd.sensitivities(diode_circuit(), 1.0, order=1, by="discrete", **options)
    np.testing.assert_allclose(variational._slopes, discrete._slopes, rtol=1e-10, atol=1e-12)


def test_products_that_do_not_fit_are_refused():
    arguments = [ca.SX.sym(name, size) for name, size in zip("trxzup", (1, 1, 1, 0, 0, 1))]
    equations = ColumnEquations(arguments, arguments[1] + arguments[5] * arguments[2], Directions((0,), (), (0,)))
    slopes, jacobian = equations._slopes.core, jacobian_of(equations)
    other = compile_function(ca.Function("other", arguments[:2], [arguments[1]])).core

    def made(columns, products, **more):
        return _core.ImplicitModel(
            slopes, jacobian, 1, 1, [0, 1], [0], [0, 1], [0], columns=columns, products=products, **more
        )

    good = _core.ColumnProducts(slopes, *equations._entries())
    assert made([2], [good, None, None])
    for columns, first, words in (
        ([2], None, "columns need products of the residual, below the diagonal and of the drift"),
        ([2, 3], good, "columns need products of the residual"),
        ([0], good, "columns must be positive numbers"),
        ([2], _core.ColumnProducts(slopes, [(9, 0, 0, 0)], []), "a term of products is out of range"),
        ([2], _core.ColumnProducts(slopes, [], [(0, 0, 5, -1)]), "a seed of products is out of range"),
        ([2], _core.ColumnProducts(other, [], []), "does not have the sizes of the model"),
    ):
        with pytest.raises(ValueError, match=words):
            made(columns, [first, None, None])
    with pytest.raises(TypeError, match="products need a Function"):
        made([2], [_core.ColumnProducts("no function", [], []), None, None])
    with pytest.raises(ValueError, match="zeros is out of range"):
        made([2], [good, None, None], zeros=4)


def test_functions_of_all_columns_that_do_not_fit_are_refused():
    sizes = {"t": 1, "rate": 3, "x": 3, "z": 0, "u": 1, "p": 0, "drate": 3, "dx": 3, "dz": 0}
    symbols = {name: ca.SX.sym(name, size) for name, size in sizes.items()}
    six, rate = list(symbols.values())[:6], symbols["rate"]

    def code(inputs, *results):
        return compile_function(ca.Function("f", inputs, list(results))).core

    residual, below = code(six, rate + symbols["x"]), code(list(symbols.values()), symbols["drate"])
    one = [symbols["t"], *(ca.SX.sym("one") for _ in range(2)), *six[3:]]
    jacobian = code(one, ca.SX.ones(1, 1), ca.SX.ones(1, 1))

    def made(residual, below, drift=None):
        patterns = ([0, 1], [0], [0, 1], [0])
        return _core.ImplicitModel(residual, jacobian, 1, 1, *patterns, columns=[2], below=below, drift=drift)

    assert made(residual, below, code([*six, ca.SX.sym("udot")], rate))
    with pytest.raises(TypeError, match="below must be a Function"):
        made(residual, None)
    with pytest.raises(ValueError, match=r"residual must map .* of all columns"):
        made(jacobian, below)
    with pytest.raises(ValueError, match=r"below must map .* of all columns"):
        made(residual, residual)
    with pytest.raises(ValueError, match=r"drift must map .* of all columns"):
        made(residual, below, residual)


def test_a_method_of_momenta_takes_no_columns():
    m = pendulum_by_position()
    system = as_system(m)
    method, prepared = lobatto_step(system, 2), Prepared(m, 0.1, method="radau5")
    with pytest.raises(ValueError, match="a method of momenta takes no columns of derivatives"):
        _core.integrate(prepared.rows.model, method, 0.0, 0.1, prepared.row, [], prepared.case.p, step=0.01)


def jacobian_of(equations):
    return equations._compiled("jacobian", [], list(equations._matrices[:2])).core
