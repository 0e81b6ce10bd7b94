"""Models, systems and errors travel: pickled, copied deeply, and used in processes that start from nothing."""

import copy
import json
import multiprocessing
import operator
import os
import pickle
import subprocess
import sys

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daedalus as dd
from daedalus.model.model import as_system
from daedalus.model.system.once import kept, once
from daedalus.model.system.system import System

USED_ELSEWHERE = """
import json, pickle, sys
import casadi as ca
from daedalus.reduction.forms.explicit_form import explicit_form
with open(sys.argv[1], "rb") as file:
    model, system = pickle.load(file)
model.equation(model.der(model.state("extra")), model["λ.q"][0] + model.time, name="more")
form = explicit_form(model.freeze())
bigger = model.freeze()
f = ca.Function("f", [bigger.symbol(c) for c in "txup"], [form.xdot])
g = ca.Function("g", [system.symbol(c) for c in "txup"], [explicit_form(system).xdot])
print(json.dumps({
    "digest": system.digest,
    "equations": model.equations,
    "labels": system.labels,
    "bigger": f(0.5, [1, 2, 3, 4, 5], [7], [2, 3]).full().ravel().tolist(),
    "same": g(0.5, [1, 2, 4, 5], [7], [2, 3]).full().ravel().tolist(),
    "resets": ca.Function("r", [system.symbol("x")], [system.resets])([1, 2, 3, 4]).full().tolist(),
}))
"""


def rich_model():
    """Unicode, dots, second order, a matrix parameter, an algebraic variable, an output and an event with resets."""
    m = dd.Model("model with spaces · λ")
    q = m.state("λ.q", 2, start=[1, None], rate=[0, 2], unit="m", nominal=[1, 2], lower=-5)
    z, u, k = m.algebraic("z", start=3), m.input("u"), m.parameter("k", [2.0, 3.0])
    m.equation(m.der(m.der(q)), -k * q + z, name="force balance")
    m.equation(z, u * m.time)
    m.output("energy", q.T @ q + ca.sum1(m.der(q) ** 2))
    m.event("stop", q[0], direction=-1, reset={"λ.q_dot": -m.der(q), "λ.q[1]": q[0]}, terminal=True)
    return m


def again(thing):
    return pickle.loads(pickle.dumps(thing))


def test_systems_come_back_equal():
    s = rich_model().freeze()
    twin = again(s)
    assert twin == s
    assert hash(twin) == hash(s)
    assert again(twin) == s
    assert copy.deepcopy(s) == s
    for what in ("name", "variables", "orders", "equation_labels", "events", "labels", "sizes"):
        assert getattr(twin, what) == getattr(s, what)
    point = [np.arange(n) + 0.5 for n in (1, *s.sizes.values())]
    assert np.array_equal(twin.function(*point).full(), s.function(*point).full())
    assert list(twin.outputs) == ["energy"]
    assert str(twin.symbol("x")) == "[λ.q[0], λ.q[1], λ.q_dot[0], λ.q_dot[1]]"


def test_models_come_back_whole_and_writable():
    m = rich_model()
    twin = again(m)
    assert repr(twin) == repr(m)
    assert (twin.variables, twin.equations) == (m.variables, m.equations)
    assert twin.freeze() == m.freeze()
    assert not ca.is_equal(twin["λ.q"], m["λ.q"])
    twin.equation(twin.der(twin.state("extra")), twin["λ.q"][0])
    assert twin.freeze().sizes["x"] == 5
    assert m.freeze().sizes["x"] == 4
    assert copy.deepcopy(m).freeze() == m.freeze()
    assert copy.copy(m).freeze() == m.freeze()


def test_a_copied_model_shares_nothing_after_pickling():
    m = rich_model()
    one, two = again((m, m.copy("twin")))
    two.parameter("late", 1.0)
    assert "late" not in one
    assert two.name == "twin"


def test_unfinished_models_travel_too():
    m = dd.Model("draft")
    x = m.state("x", 2)
    m.der(m.der(x))
    assert again(m).variables == m.variables
    assert again(dd.Model("nothing")).variables == {}


def test_what_was_computed_does_not_travel():
    s = rich_model().freeze()
    once(s, machine_code)
    assert kept(s, machine_code)
    assert kept(again(s), machine_code) == ()


def machine_code(system):
    return object()


def test_records_are_plain_json():
    s = rich_model().freeze()
    assert System.from_record(json.loads(json.dumps(s.to_record()))) == s


def test_spawned_processes(tmp_path):
    """multiprocessing's spawn: a model goes in, the system that it freezes to comes back."""
    m = rich_model()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(as_system, (m,)) == m.freeze()
        assert pool.apply(as_system, (m.freeze(),)) == m.freeze()
        assert pool.apply(operator.attrgetter("digest"), (m.freeze(),)) == m.freeze().digest
        assert pool.apply(operator.attrgetter("equations"), (m,)) == m.equations
        with pytest.raises(dd.ModelError) as caught:
            pool.apply(as_system, (dd.Model("nothing"),))
    assert str(caught.value).startswith("The model 'nothing' is empty.\n")


def test_a_fresh_process_goes_on_writing(tmp_path):
    m = rich_model()
    path = tmp_path / "model.pickle"
    path.write_bytes(pickle.dumps((m, m.freeze())))
    run = subprocess.run([sys.executable, "-c", USED_ELSEWHERE, str(path)], capture_output=True, text=True, check=True)
    report = json.loads(run.stdout)
    assert report["digest"] == m.freeze().digest
    assert report["equations"] == {**m.equations, "more": ["extra_dot - (λ.q[0] + t) = 0"]}
    assert {letter: tuple(names) for letter, names in report["labels"].items()} == m.freeze().labels
    assert report["same"] == [4, 5, -2 * 1 + 3.5, -3 * 2 + 3.5]
    assert report["bigger"] == [4, 5, 1.5, -2 * 1 + 3.5, -3 * 2 + 3.5]
    assert report["resets"] == [[1, 1, -3, -4]]


@given(st.integers(1, 4), st.integers(0, 3), st.integers(0, 10**6))
def test_random_linear_systems_come_back(n, extra, seed):
    """E x' + A x + B z + C u = 0, written as one matrix equation."""
    draw = np.random.default_rng(seed)
    m = dd.Model()
    x, u = m.state("x", n, start=draw.normal(size=n)), m.input("u")
    z = m.algebraic("z", extra) if extra else ca.SX(0, 1)
    size = n + extra
    E, A, B, C = (draw.normal(size=(size, k)) for k in (n, n, extra, 1))
    m.equation(E @ m.der(x) + A @ x + ca.mtimes(ca.DM(B), z) + C * u)
    s = m.freeze()
    twin, other = again(s), again(m).freeze()
    assert twin == s == other
    point = [draw.normal(size=k) for k in (1, *s.sizes.values())]
    _, xdot, xv, zv, uv, _ = point
    expected = E @ xdot + A @ xv + B @ zv + C @ uv
    for system in (s, twin, other):
        assert np.allclose(system.function(*point).full().ravel(), expected, atol=1e-12)
    assert np.array_equal(twin.start["x"], s.start["x"])


@pytest.mark.parametrize(
    "kind", ["ModelError", "SingularModelError", "InconsistentStartError", "SolverError", "InputError"]
)
def test_errors_travel_with_all_their_parts(kind):
    error = getattr(dd, kind)("What.", ["fact one", "fact two"], because="of this.", remedy="that")
    twin = again(error)
    assert type(twin) is type(error)
    assert isinstance(twin, dd.DaedalusError)
    assert str(twin) == str(error) == "What.\n  fact one\n  fact two\n  Because of this.\n  Try: that"


def with_a_call(factor=2.0):
    """A model whose equation calls another function of CasADi's."""
    m = dd.Model("caller")
    x = m.state("x", start=1.0)
    a = ca.SX.sym("a")
    inner = ca.Function("inner", [a], [factor * a**2], {"never_inline": True})
    m.equation(m.der(x), -inner(x))
    return m


@pytest.mark.parametrize("thing", [with_a_call, lambda: with_a_call().freeze()], ids=["model", "system"])
def test_formulas_that_call_functions_do_not_travel(thing):
    with pytest.raises(dd.InputError, match=r"A formula cannot be saved.\n  it contains call\n"):
        pickle.dumps(thing())


def test_systems_that_cannot_be_saved_have_a_hash_all_the_same():
    one, same, other = (with_a_call(factor).freeze() for factor in (2.0, 2.0, 3.0))
    assert one == same
    assert one != other
    assert copy.deepcopy(one) is one


def test_a_changed_pickle_of_a_system_is_told():
    s = rich_model().freeze()
    rebuild, (text, digest) = s.__reduce__()
    assert digest == s.digest
    with pytest.raises(dd.InputError) as caught:
        rebuild(text.replace("force balance", "farce balance"), digest)
    assert str(caught.value) == (
        "The saved data is inconsistent.\n"
        f"  the text of a system: its checksum expected, found '{digest[:59]}…\n"
        "  Because it is damaged, or was not written by Daedalus.\n"
        "  Try: save it again from the original"
    )


def test_hashes_are_the_same_in_every_process():
    code = (
        "import daedalus as dd\n"
        "from daedalus import catalogue\n"
        "print(*(catalogue.load(n).model.freeze().digest for n in ('andrews', 'car_axis')))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert runs[0].split() == [dd.catalogue.load(name).model.freeze().digest for name in ("andrews", "car_axis")]
