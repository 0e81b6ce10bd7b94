"""A repeated run looks its way up, and other numbers, methods or inputs still get what a first call gives them."""

import numpy as np
import pytest

import daedalus as dd
from daedalus.model.system.once import MOST_KEPT, once
from daedalus.simulation.run import road


def tank():
    m = dd.Model("tank")
    h = m.state("h", start=1.0)
    q = m.algebraic("q", start=1.0)
    inflow = m.input("inflow")
    width = m.parameter("width", 2.0)
    m.equation(width * m.der(h), inflow - q, name="balance")
    m.equation(q**3 + q, h, name="outlet")
    return m


def oscillator():
    m = dd.Model("oscillator")
    y = m.state("y", start=1.0)
    k = m.parameter("k", 4.0)
    m.equation(m.der(m.der(y)), -k * y)
    return m


@pytest.fixture
def found(monkeypatch):
    """How often the way of a run was found."""
    calls = []

    def counted(request):
        calls.append(request.method)
        return found_anew(request)

    found_anew = road._system_and_method
    monkeypatch.setattr(road, "_system_and_method", counted)
    return calls


@pytest.mark.parametrize("method", ["radau5", "bdf", "rodas5p", "auto"])
def test_other_numbers_take_the_known_way(found, method):
    m = tank()
    dd.simulate(m, 2.0, inputs={"inflow": 0.5}, method=method)
    given = {"inputs": {"inflow": 0.1}, "parameters": {"width": 3.0}, "start": {"h": 2.0}}
    again = dd.simulate(m, 3.0, method=method, **given)
    assert len(found) == 1
    first = dd.simulate(tank(), 3.0, method=method, **given)
    assert len(found) == 2
    assert np.array_equal(again["h"], first["h"])
    assert np.array_equal(again["q"], first["q"])
    assert (again.method, again.notes) == (first.method, first.notes)


@pytest.mark.parametrize("method", ["dop853", "radau5"])
def test_a_start_of_initialise_and_one_by_name_give_the_same_run(method):
    m = tank()
    options = {"inputs": {"inflow": 0.5}, "method": method} if method == "radau5" else {"method": method}
    model = m if method == "radau5" else oscillator()
    name = "h" if method == "radau5" else "y"
    start = dd.initialise(model, {name: 1.5}, inputs=options.get("inputs"))
    runs = [dd.simulate(model, 1.0, start=s, **options) for s in (start, {name: 1.5}, start)]
    assert np.array_equal(runs[0][name], runs[2][name])
    assert runs[0][name] == pytest.approx(runs[1][name], rel=1e-9)


def test_another_method_tolerance_or_limit_is_another_way(found):
    m = oscillator()
    tight = dd.simulate(m, 10.0, rtol=1e-10)
    loose = dd.simulate(m, 10.0, rtol=1e-4)
    short = dd.simulate(m, 10.0, rtol=1e-4, max_step=0.01)
    assert len(found) == 3
    assert loose.work.steps < tight.work.steps < short.work.steps
    assert dd.simulate(m, 10.0, method="radau5").method == "radau5"


def test_a_change_of_the_model_is_seen(found):
    m = oscillator()
    dd.simulate(m, 1.0)
    m.output("energy", m["y"] ** 2)
    assert dd.simulate(m, 1.0)["energy"][0] == 1.0
    assert len(found) == 2


def test_inputs_that_are_not_plain_numbers_are_read_as_ever():
    m = dd.Model("carrier")
    x = m.state("x", start=0.0)
    u = m.input("u")
    m.equation(m.der(x), u)
    ends = [float(dd.simulate(m, 1.0, inputs={"u": u_})["x"][-1]) for u_ in (1.0, lambda t: 2 * t, 1 - x, 1.0)]
    table = dd.simulate(m, 1.0, inputs={"u": dd.signal([0.0, 0.5], [1.0, 3.0])})
    assert ends == pytest.approx([1.0, 1.0, 1 - np.exp(-1), 1.0], rel=1e-6)
    assert table["x"][-1] == pytest.approx(2.0)
    with pytest.raises(dd.InputError, match="u has no value"):
        dd.simulate(m, 1.0)
    with pytest.raises(dd.InputError, match="no input 'v'"):
        dd.simulate(m, 1.0, inputs={"u": 1.0, "v": 2.0})


def test_numbers_that_a_constraint_differentiates_are_put_in_each_time():
    m = dd.Model("follower")
    x = m.state("x")
    force = m.algebraic("force")
    u = m.input("u")
    m.equation(m.der(m.der(x)), force)
    m.equation(x, u)
    assert [float(dd.simulate(m, 1.0, inputs={"u": u_})["x"][-1]) for u_ in (1.0, 2.0)] == [1.0, 2.0]


def test_a_number_that_takes_an_unknown_out_of_an_equation_goes_another_way():
    m = dd.Model("valve")
    x = m.state("x", start=1.0)
    u = m.input("u")
    m.equation(u * m.der(x) + x)
    assert dd.simulate(m, 1.0, inputs={"u": 1.0})["x"][-1] == pytest.approx(np.exp(-1), rel=1e-5)
    with pytest.raises(dd.InconsistentStartError):
        dd.simulate(m, 1.0, inputs={"u": 0.0})
    assert dd.simulate(m, 1.0, inputs={"u": 0.0}, start={"x": 0.0})["x"][-1] == 0.0
    assert dd.simulate(m, 1.0, inputs={"u": 2.0})["x"][-1] == pytest.approx(np.exp(-0.5), rel=1e-5)


def test_the_memory_stays_small():
    m = oscillator()
    for k in range(MOST_KEPT + 10):
        dd.simulate(m, 0.1, rtol=1e-6 * (1 + k))
    assert len(once(m.freeze(), road._roads)) <= MOST_KEPT


def test_a_tolerance_by_name_runs_as_ever(found):
    m = oscillator()
    runs = [dd.simulate(m, 1.0, atol={"y": 1e-6})["y"] for _ in range(2)]
    assert np.array_equal(*runs)
    assert len(found) == 2
