"""Every variable that a part wrote can be read in every result, whatever connections made of it."""

import pickle

import numpy as np
import pytest
from random_networks import network

import daedalus as dd
from daedalus.simulation.result.joined_trajectory import joined


def names_of(m):
    """All names of a model that have values over time, derivatives of states too."""
    for name, variable in m.variables.items():
        if variable.kind != "parameter":
            yield name
        if variable.kind == "state":
            yield f"{name}_dot"
    yield from m.written.assembly.names


def check(seed, tmp_path, forms=("auto", "radau5")):
    m = network(seed)
    names, start = list(names_of(m)), dd.initialise(m)
    runs = {method: dd.simulate(m, 1.0, method=method) for method in forms}
    runs["reduced"] = dd.simulate(dd.reduce(m), 1.0)
    runs["auto"].save(tmp_path / "run.nc")
    runs["loaded"] = dd.load(tmp_path / "run.nc")
    for word, tr in runs.items():
        table, frame, half = tr.to_xarray(), tr.to_dataframe(), tr.at(0.5)
        for name in names:
            assert np.isfinite(tr[name]).all(), (word, name)
            assert np.isfinite(half[name]), (word, name)
            assert tr.end[name] == pytest.approx(tr[name][-1]), (word, name)
        for name, variable in m.variables.items():
            if variable.kind != "parameter":
                assert table[name].values == pytest.approx(tr[name]), (word, name)
                assert name in frame, (word, name)
                assert start[name] == pytest.approx(tr[name][0], abs=1e-7), (word, name)
        assert tr.energy_balance().error == pytest.approx(0.0, abs=1e-3), word
    # What is called a derivative is one.
    tr = dd.simulate(m, 1.0, rtol=1e-9, atol=1e-12)
    for name in (n for n, v in m.variables.items() if v.kind == "state"):
        before, after = tr.at(0.5 - 1e-4)[name], tr.at(0.5 + 1e-4)[name]
        assert (after - before) / 2e-4 == pytest.approx(tr.at(0.5)[f"{name}_dot"], rel=1e-3, abs=1e-4), name


@pytest.mark.parametrize("seed", range(5))
def test_random_networks(seed, tmp_path):
    check(seed, tmp_path, forms=("auto",))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5, 85))
def test_more_random_networks(seed, tmp_path):
    check(seed, tmp_path)


def two_capacitors():
    """Two capacitors in parallel, joined the other way round, beside a resistor."""
    C, m = dd.components.electrical, dd.Model("two capacitors")
    ground, r = m.add(C.Ground("ground")), m.add(C.Resistor("r", resistance=2.0))
    c1, c2 = m.add(C.Capacitor("c1", capacitance=1.0)), m.add(C.Capacitor("c2", capacitance=3.0))
    m.connect(c1.plus, c2.minus, r.plus)
    m.connect(c1.minus, c2.plus, r.minus, ground.pin)
    return m


@pytest.mark.parametrize("method", ["auto", "radau5"])
def test_a_capacitor_joined_the_other_way_round(method):
    m = two_capacitors()
    for start in ({"c1.voltage": 5.0}, {"c2.voltage": -5.0}, dd.initialise(m, {"c2.voltage": -5.0})):
        tr = dd.simulate(m, 1.0, start=start, method=method, rtol=1e-8)
        end = 5.0 * np.exp(-1 / 8)
        assert [tr["c1.voltage"][-1], tr["c2.voltage"][-1]] == pytest.approx([end, -end], rel=1e-6)
        assert [tr["c1.voltage_dot"][-1], tr["c2.voltage_dot"][-1]] == pytest.approx([-end / 8, end / 8], rel=1e-6)


def test_a_capacitor_on_a_source_has_a_derivative():
    C = dd.components.electrical
    m = dd.Model("driven")
    source, ground = m.add(C.VoltageSource("source", voltage=2 * m.time**2)), m.add(C.Ground("ground"))
    c = m.add(C.Capacitor("c", capacitance=3.0))
    m.connect(source.plus, c.minus)
    m.connect(source.minus, c.plus, ground.pin)
    tr = dd.simulate(m, 1.0)
    assert [tr["c.voltage"][-1], tr["c.voltage_dot"][-1], tr["c.current"][-1]] == pytest.approx([-2.0, -4.0, -12.0])


def driven_circuit():
    """A resistor and an inductor behind a source, two capacitors in parallel the other way round."""
    C, m = dd.components.electrical, dd.Model("driven circuit")
    u = m.input("u")
    source, ground = m.add(C.VoltageSource("s", voltage=u)), m.add(C.Ground("g"))
    r, choke = m.add(C.Resistor("r", resistance=2.0)), m.add(C.Inductor("l", inductance=0.5))
    c1, c2 = m.add(C.Capacitor("c1", capacitance=0.3)), m.add(C.Capacitor("c2", capacitance=0.2))
    m.connect(source.plus, r.plus)
    m.connect(r.minus, choke.plus)
    m.connect(choke.minus, c1.plus, c2.minus)
    m.connect(source.minus, c1.minus, c2.plus, ground.pin)
    return m, u


@pytest.mark.parametrize("name", ["r.voltage", "s.minus.current", "c2.voltage", "c2.voltage_dot"])
def test_symbols_of_parts_stand_in_plans_and_gradients(name):
    """Conditions on them ended in an AssertionError, gradients called them foreign."""
    m, u = driven_circuit()
    ocp = dd.OptimalControl(m, 2.0, intervals=10)
    ocp.start({"c1.voltage": 0.0, "l.current": 0.0})
    ocp.finish({"c1.voltage": 1.0})
    ocp.minimise(running=u**2 + 1e-3 * m[name] ** 2)
    ocp.subject_to(m[name] >= -1.5, name="low")
    plan = ocp.solve()
    assert plan.success
    assert plan.replay()[name].min() > -1.5001
    inputs = {"u": 1.0}
    start = {"c1.voltage": 0.2, "l.current": 0.1}
    g = dd.gradient(m, 1.0, final=m[name], wrt=["r.resistance"], inputs=inputs, start=start, rtol=1e-9)
    assert g.value == pytest.approx(dd.simulate(m, 1.0, inputs=inputs, start=start, rtol=1e-9)[name][-1], rel=1e-6)


def test_what_a_source_gives_is_kept_and_measured():
    C, m = dd.components.electrical, dd.Model("divider")
    source, ground = m.add(C.VoltageSource("s", voltage=1.5)), m.add(C.Ground("g"))
    r, c = m.add(C.Resistor("r", resistance=2.0)), m.add(C.Capacitor("c", capacitance=1.0))
    m.connect(source.plus, r.plus)
    m.connect(r.minus, c.plus)
    m.connect(source.minus, c.minus, ground.pin)
    options = {"start": {"c.voltage": 0.0}, "save_at": [0.5, 1.0]}
    kept = dd.sweep(m, 1.0, over={"c.capacitance": [1.0, 2.0]}, **options)
    assert kept["r.plus.voltage"].values == pytest.approx(np.full((2, 2), 1.5))
    swept = dd.sweep(m, 1.0, over={"s.voltage": [1.0, 2.0]}, **options)
    assert swept["r.plus.voltage"].values == pytest.approx(np.array([[1.0, 1.0], [2.0, 2.0]]))
    with pytest.raises(dd.InputError, match="has not kept c"):
        kept["c.voltage_dot"]
    assert np.isfinite(
        dd.sweep(m, 1.0, over={"s.voltage": [1.0]}, outputs=["c.voltage_dot"], **options)["c.voltage_dot"]
    ).all()
    # Data that is met exactly determines the source; its noise was taken for 1e-308.
    found = dd.fit(
        m, {"time": [0.0, 0.5, 1.0], "r.plus.voltage": [2.0, 2.0, 2.0]}, ["s.voltage"], start={"c.voltage": 0.0}
    )
    assert found["s.voltage"] == pytest.approx(2.0)
    assert found.unidentifiable == []
    assert found.std["s.voltage"] < 1e-6


def test_a_sweep_has_all_names(tmp_path):
    m = two_capacitors()
    en = dd.sweep(m, 1.0, over={"r.resistance": [1.0, 2.0]}, start={"c1.voltage": 5.0})
    en.save(tmp_path / "sweep.nc")
    for result in (en, dd.load(tmp_path / "sweep.nc")):
        for name in ("c1.voltage", "c2.voltage", "r.voltage", "r.plus.voltage", "c2.minus.voltage", "c2.current"):
            assert np.isfinite(result[name].values).all()
        assert result["r.voltage"].values == pytest.approx(result["c1.voltage"].values)


def check_eliminated(seed, tmp_path):
    """All names of a network in what elimination leaves of it: in runs, files, pickles, pieces and sweeps."""
    m = network(seed)
    n = dd.eliminate(m)
    expected, tr = dd.simulate(m, 0.5), dd.simulate(n, 0.5)
    tr.save(tmp_path / "run.nc")
    runs = {"run": tr, "loaded": dd.load(tmp_path / "run.nc"), "pickled": pickle.loads(pickle.dumps(tr))}
    first = dd.simulate(n, 0.25)
    runs["joined"] = joined([first, dd.simulate(n, (0.25, 0.5), start=first.end, method="radau5")])
    for word, run in runs.items():
        for name in names_of(m):
            size = np.abs(expected[name]).max()
            assert run[name][-1] == pytest.approx(expected[name][-1], rel=1e-3, abs=1e-5 + 1e-4 * size), (word, name)
        assert run.energy_balance().lost == pytest.approx(expected.energy_balance().lost, rel=1e-3, abs=1e-6), word
    value = next(iter(n.parameters))
    en = dd.sweep(n, 0.5, over={value: [float(tr[value][-1])]}, save_at="end")
    for name, variable in m.variables.items():
        if variable.kind not in ("parameter", "input") and not name.endswith(("charge", "flux", "momentum")):
            found = en[name].values.ravel()[-1]
            assert found == pytest.approx(expected[name][-1], rel=1e-3, abs=1e-5 + 1e-4 * np.abs(expected[name]).max())


@pytest.mark.parametrize("seed", [0, 3])
def test_networks_without_their_unknowns(seed, tmp_path):
    check_eliminated(seed, tmp_path)


@pytest.mark.wide
@pytest.mark.parametrize("seed", range(5, 25))
def test_more_networks_without_their_unknowns(seed, tmp_path):
    check_eliminated(seed, tmp_path)


def test_inductors_in_a_row_without_their_unknowns(tmp_path):
    """The voltage between them has two names; elimination made an output of one, and the other had no value."""
    C, m = dd.components.electrical, dd.Model("inductors")
    v, ground, r = (
        m.add(C.VoltageSource("v", voltage=1.0)),
        m.add(C.Ground("ground")),
        m.add(C.Resistor("r", resistance=1.0)),
    )
    first, second = m.add(C.Inductor("first", inductance=1.0)), m.add(C.Inductor("second", inductance=2.0))
    m.connect(v.plus, first.plus)
    m.connect(first.minus, second.plus)
    m.connect(second.minus, r.plus)
    m.connect(r.minus, v.minus, ground.pin)
    tr = dd.simulate(dd.eliminate(m), 0.5)
    tr.save(tmp_path / "run.nc")
    loaded = dd.load(tmp_path / "run.nc")
    # i' = (1 - i) / 3: two thirds of 1 - i are left for the second one and the resistor takes i.
    expected = 1 - np.exp(-0.5 / 3) / 3
    for run in (tr, loaded):
        assert run["second.plus.voltage"][-1] == pytest.approx(expected, rel=1e-5)
        assert run["first.minus.voltage"][-1] == pytest.approx(expected, rel=1e-5)
    assert loaded.energy_balance().lost == pytest.approx(tr.energy_balance().lost)


def test_a_sweep_says_how_charges_are_kept():
    m = two_capacitors()
    options = {"over": {"r.resistance": [1.0, 2.0]}, "start": {"c1.voltage": 5.0}, "save_at": [0.0, 1.0]}
    with pytest.raises(dd.InputError, match=r"The sweep has not kept c1\.charge\."):
        dd.sweep(m, 1.0, **options)["c1.charge"]
    kept = dd.sweep(m, 1.0, outputs=["c1.charge", "c1.voltage"], **options)
    assert kept["c1.charge"].values == pytest.approx(kept["c1.voltage"].values)


def test_a_start_of_what_a_source_gives():
    """The voltage of a capacitor straight on a source is a parameter: it may be given if it is right, or guessed."""
    C, m = dd.components.electrical, dd.Model("filter")
    source, ground = m.add(C.VoltageSource("source", voltage=2.0)), m.add(C.Ground("ground"))
    first, last = m.add(C.Capacitor("first", capacitance=1.0)), m.add(C.Capacitor("last", capacitance=0.5))
    r = m.add(C.Resistor("r", resistance=2.0))
    m.connect(source.plus, r.plus, first.plus)
    m.connect(r.minus, last.plus)
    m.connect(last.minus, source.minus, ground.pin, first.minus)
    expected = 2 * (1 - np.exp(-1.0))
    for value in (2.0, dd.guess(0.3), None):
        start = {"first.voltage": value, "last.voltage": 0.0}
        for given in (start, dd.initialise(m, start)):
            tr = dd.simulate(m, 1.0, start=given, rtol=1e-8)
            assert (tr["first.voltage"][-1], tr["last.voltage"][-1]) == pytest.approx((2.0, expected))
    for verb in (dd.initialise, lambda m, start: dd.simulate(m, 1.0, start=start)):
        with pytest.raises(dd.InputError, match=r"first.voltage has no start value of its own") as caught:
            verb(m, {"first.voltage": 1.0, "last.voltage": 0.0})
        assert caught.value.facts == ["it is source.voltage, a parameter: 2 in the model; given 1.0"]
