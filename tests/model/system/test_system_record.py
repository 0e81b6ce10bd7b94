"""The record of a system: read back whole, or told what does not fit."""

import json

import pytest

import daedalus as dd
from daedalus.model.system.system import System
from daedalus.model.system.system_record import FIELDS


def record():
    """The record of a small system with everything in it, as a file would give it."""
    m = dd.Model("small")
    x, k, u = m.state("x", 2, start=1.0), m.parameter("k", 2.0), m.input("u")
    z = m.algebraic("z")
    m.equation(m.der(m.der(x[0])), -k * x[0] + u)
    m.equation(m.der(x[1]), -x[1])
    m.equation(z, x[0] + m.time)
    m.output("twice", 2 * x)
    m.event("low", x[0], direction=-1, reset={"x[1]": 0.0})
    return json.loads(json.dumps(m.freeze().to_record()))


def test_every_field_is_listed():
    added = {"event_purposes", "event_manners", "choices", "aliases", "output_units", "on_request", "written_starts"}
    assert set(record()) | added == set(FIELDS)


def test_models_with_choices_of_states_come_back():
    system = dd.catalogue.load("pendulum_3d").model
    reduced = dd.reduce(system).freeze()
    assert System.from_record(json.loads(json.dumps(reduced.to_record()))) == reduced


def put(*path_and_value):
    *path, last, value = path_and_value

    def change(record):
        for step in path:
            record = record[step]
        record[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (put("version", 2), "system.version: 1, which this version of Daedalus reads, expected, found 2"),
        (put("further", 1), "system: entries that this version knows expected, found 'further'"),
        (put("name", 5), "system.name: a text expected, found 5"),
        (put("name", "a\0b"), "system.name: a text expected"),
        (put("name", "\ud800"), "system.name: a text expected"),
        (
            put("variables", 0, "kind", "code"),
            "system.variables[0].kind: state or algebraic or input or parameter or discrete expected",
        ),
        (put("variables", 0, "shape", [2, 2, 2, 2]), "system.variables[0].shape: at most three axes expected"),
        (put("variables", 0, "shape", [2**31]), "system.variables[0].shape[0]: a whole number of 1 to 2147483647"),
        (put("variables", 0, "shape", [0]), "system.variables[0].shape[0]: a whole number of 1 to 2147483647"),
        (put("variables", 0, "shape", [2**30, 2**30]), "0 or 1152921504606846976 numbers expected"),
        (put("variables", 0, "nominal", [1.0]), "system.variables[0].nominal: 0 or 2 numbers expected"),
        (put("variables", 0, "nominal", [1.0, None]), "system.variables[0].nominal[1]: a number expected, found None"),
        (put("variables", 0, "start", [1.0, "1"]), "system.variables[0].start[1]: a number expected, found '1'"),
        (put("variables", 0, "start", [10**400, 1]), "system.variables[0].start: a number expected"),
        (put("variables", 0, "code", 1), "system.variables[0]: entries that this version knows expected"),
        (put("variables", 1, "name", "x"), "system.variables: distinct names expected, found 'x'"),
        (put("orders", {}), "system.orders: one entry for each state expected"),
        (put("orders", "x", [2]), "system.orders.x: a list of 2 expected"),
        (put("orders", "x", [2, 2**30]), "system.symbols.xdot: a list of 1073741826 expected"),
        (put("symbols", "u", []), "system.symbols.u: a list of 1 expected"),
        (put("symbols", "w", []), "system.symbols: entries that this version knows expected"),
        (put("equations", ["one"]), "system.equations[0]: a list expected, found 'one'"),
        (put("equations", [["a", "a", None, 0, "written", []]]), "system.formulas of the equations: 1 × 1 expected"),
        (put("equations", [["a", "a", -1, 0, "written", []]]), "system.equations[0]: a whole number"),
        (put("equations", [["a", "a", None, 0, "spoken", []]]), "system.equations[0]: a role of an equation expected"),
        (put("invariant_rows", [["a", "a", None, 0, "written", []]]), "system.invariant_rows: 0 rows expected"),
        (put("outputs", ["twice", "twice"]), "system.outputs: distinct names expected, found 'twice'"),
        (put("outputs", []), "system.formulas.outputs: one for each name expected, found a list of 4"),
        (put("events", []), "system.formulas of the events: 0 × 1 expected"),
        (put("events", 0, ["low", -1, True]), "system.events[0]: a list of 4 expected, found a list of 3"),
        (put("events", 0, 1, 7), "system.events[0].direction: a whole number of -1 to 1 expected, found 7"),
        (put("events", 0, 2, "yes"), "system.events[0].terminal: true or false expected, found 'yes'"),
        (put("formulas", "inputs", [1]), "system.formulas.inputs: a list of 6 expected"),
        (put("formulas", "code"), "system.formulas: named entries expected, found 'code'"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(change, told):
    own = record()
    change(own)
    with pytest.raises(dd.InputError, match="The saved data is inconsistent") as caught:
        System.from_record(own)
    assert told in str(caught.value)


def test_a_record_of_before_is_told():
    own = record()
    own["expressions"] = "jhpnnagiieahaaaa"
    for name in ("formulas", "version", "symbols"):
        del own[name]
    with pytest.raises(dd.InputError, match="saved by an earlier version, and reading it could run code"):
        System.from_record(own)


CHOICE = {
    "parameter": "k",
    "states": [[["x", 0], ["x", 1]]],
    "constraints": [[["c", "c", None, 0, "written", []]]],
    "entries": [[0, 1, 0]],
    "event": "",
}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (put("parameter", "x"), "choices[0].parameter: k expected, found 'x'"),
        (put("states", [[["x", 2]]]), "choices[0].states: a whole number of 0 to 1 expected, found 2"),
        (put("states", [[["y", 0]]]), "choices[0].states: an element of a state expected, found 'y'"),
        (put("states", [5]), "choices[0].states: a list expected, found 5"),
        (put("constraints", []), "choices[0].constraints: a list of 1 expected"),
        (put("entries", [[0, 2, 0]]), "choices[0].entries: a whole number of 0 to 1 expected, found 2"),
        (put("entries", [[0, 1]]), "choices[0].entries: a list of 3 expected"),
        (put("event", None), "choices[0].event: a text expected, found None"),
    ],
)
def test_choices_of_states_fit_the_variables(change, told):
    own = {**record(), "choices": [json.loads(json.dumps(CHOICE))]}
    System.from_record(own)
    change(own["choices"][0])
    with pytest.raises(dd.InputError) as caught:
        System.from_record(own)
    assert told in str(caught.value)
