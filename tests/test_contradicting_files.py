"""Saved files whose contents contradict each other: loading or using them ends in words, whatever was altered.

A record is read, one entry or array of it is dropped, cut, doubled, exchanged or given a wrong kind, shape or value,
and it is sealed again as if it had been written so.
"""

import copy
import random
from contextlib import suppress

import casadi as ca
import numpy as np
import pytest
from tests.support.rings import examples

import daedalus as dd
from daedalus.simulation.result.sealed_record import append_record, read_record

MARK = b"\ndaedalus record "
ODD_VALUES = (None, -1, 0, 1, 2, 5, 10**6, 1.5, "x", "", [], {}, True, float("nan"), "h", [0], ["x"])
ODD_NUMBERS = (np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 3.0, 7.0, 1e9, 1e300)


def ball(file):
    m = dd.Model("ball")
    h, v, u = m.state("h", start=1.0), m.state("v", start=0.0), m.input("u")
    z, n, k = m.algebraic("z"), m.discrete("n", start=0.0), m.parameter("k", [0.8, 1.0])
    m.equation([m.der(h), m.der(v)], [v, -9.81 + u])
    m.equation(z, h * v * k[1])
    m.output("both", ca.vertcat(h, v))
    m.event("bounce", h, direction=-1, reset={"v": -k[0] * v})
    m.every(0.2, {"n": n + 1})
    dd.simulate(m, 1.0, inputs={"u": dd.signal([0, 0.5, 2], [0, 0.1, 0.2], "linear")}).save(file)


def pendulum(file):
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0])
    m.kinetic_energy(0.5 * ca.sumsqr(m.rate(q)))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", ca.sumsqr(q) - 1)
    dd.simulate(m, 0.5).save(file)


def cases(file):
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    dd.sweep(m, 1.0, {"x": np.linspace(0, 1, 5)}).save(file)


def cart(file):
    m = dd.Model("cart")
    x, v, u = m.state("x", start=1.0), m.state("v", start=0.0), m.input("u")
    m.equation([m.der(x), m.der(v)], [v, u])
    ocp = dd.OptimalControl(m, duration=1.0, intervals=4)
    ocp.bound(u, -5, 5)
    ocp.minimise(running=x**2 + u**2)
    ocp.finish({"v": 0.0})
    ocp.solve().save(file)


def use_run(tr, folder):
    for name in (*tr.system.places, *tr.system.outputs):
        _ = tr[name]
    tr.at(0.3), tr.at([0.1, 0.4]), tr.at(tr.time[-1]), tr.to_xarray(), tr.drift(), repr(tr)
    _ = tr.events, tr.notes, tr.stop_reason
    with suppress(dd.DaedalusError):
        tr.energy_balance()
    tr.save(folder / "again.nc")
    end = float(tr.time[-1])
    dd.simulate(tr.system, (end, end + 0.1), start=tr.at(end), inputs={"u": 0.0} if tr.system.sizes["u"] else None)


def use_cases(en, folder):
    for name in en.data.variables:
        _ = en.data[name].values
    _ = repr(en), en["x"]
    en.save(folder / "again.nc")


def use_plan(plan, folder):
    plan.at(0.3), plan.replay(), repr(plan.explain()), repr(plan)
    _ = plan["x"], plan["u"], plan.inputs, dict(plan.multipliers), plan.defects, plan.success
    plan.save(folder / "again.nc")


def entries(data, before=()):
    """The ways to all entries of plain data."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for name, value in pairs:
        yield (*before, name)
        yield from entries(value, (*before, name))


def inside(data, way):
    for name in way:
        data = data[name]
    return data


def alter_array(arrays, chance):
    name = chance.choice(sorted(arrays))
    old, kind = arrays[name], chance.randrange(9)
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        other = chance.choice(sorted(arrays))
        arrays[name], arrays[other] = arrays[other], arrays[name]
    elif kind == 2 and old.size:
        changed = old.ravel().copy()
        changed[chance.randrange(old.size)] = chance.choice(ODD_NUMBERS)
        arrays[name] = changed.reshape(old.shape)
    else:
        ways = (old[:-1], old.ravel(), np.concatenate([old, old[-1:]]), np.full(old.shape, chance.choice(ODD_NUMBERS)),
                old.T.copy() if old.ndim > 1 else old[::-1].copy(), old[:0])  # fmt: skip
        arrays[name] = chance.choice(ways)


def alter_entry(description, chance):
    ways = list(entries(description))
    *way, last = chance.choice(ways)
    place, kind = inside(description, way), chance.randrange(6)
    old = place[last]
    if kind == 0:
        del place[last]
    elif kind == 1:
        place[last] = copy.deepcopy(inside(description, chance.choice(ways)))
    elif kind == 2 and isinstance(old, list):
        place[last] = chance.choice([old[:-1], old + old[-1:], old[::-1]])
    elif kind == 3 and isinstance(old, int | float) and not isinstance(old, bool):
        place[last] = old + chance.choice([-3, -1, 1, 2])
    else:
        place[last] = chance.choice(ODD_VALUES)


@pytest.mark.parametrize(
    ("write", "use"), [(ball, use_run), (pendulum, use_run), (cases, use_cases), (cart, use_plan)]
)  # fmt: skip
def test_files_that_contradict_themselves_end_in_words(write, use, tmp_path):
    write(tmp_path / "good.nc")
    use(dd.load(tmp_path / "good.nc"), tmp_path)
    record, arrays = read_record(tmp_path / "good.nc")
    bare = (tmp_path / "good.nc").read_bytes().partition(MARK)[0]
    for seed in range(examples(300)):
        chance, description, own = random.Random(seed), copy.deepcopy(record._data), dict(arrays)
        alter_array(own, chance) if chance.random() < 0.5 else alter_entry(description, chance)
        (tmp_path / "odd.nc").write_bytes(bare)
        append_record(tmp_path / "odd.nc", description, own)
        with suppress(dd.DaedalusError):
            use(dd.load(tmp_path / "odd.nc"), tmp_path)


@pytest.mark.parametrize(
    ("write", "name", "values"),
    [
        (ball, "0/ends", [np.nan]),
        (ball, "0/starts", "reversed"),
        (ball, "0/times", [np.inf]),
        (cart, "outcome/multipliers", []),
        (cart, "program/lower", []),
        (cart, "layout/inputs", [99.0]),
        (cart, "layout/shares", "reversed"),
    ],
)
def test_arrays_that_contradict_others_are_refused(write, name, values, tmp_path):
    write(tmp_path / "good.nc")
    record, arrays = read_record(tmp_path / "good.nc")
    old = arrays[name]
    arrays[name] = old[::-1].copy() if values == "reversed" else np.full_like(old, values[0]) if values else old[:0]
    bare = (tmp_path / "good.nc").read_bytes().partition(MARK)[0]
    (tmp_path / "odd.nc").write_bytes(bare)
    append_record(tmp_path / "odd.nc", record._data, arrays)
    with pytest.raises(dd.InputError, match="The saved data is inconsistent") as caught:
        dd.load(tmp_path / "odd.nc")
    assert name.split("/")[1] in caught.value.facts[0] or "times" in caught.value.facts[0]
    assert caught.value.because
    assert caught.value.remedy


@pytest.mark.parametrize("given", [None, 3, [], b"run.nc"])
def test_what_is_no_path_is_refused(given):
    with pytest.raises(dd.InputError, match="A saved result is loaded from a path"):
        dd.load(given)
