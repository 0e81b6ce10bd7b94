"""SBML files: quantities as the specification of SBML Level 3 Version 2 defines them, in models with known answers."""

import math

import numpy as np
import pytest

import daedalus as dd

pytest.importorskip("libsbml", reason="reading SBML needs python-libsbml (the extra `sbml`)")

MATHML = 'xmlns="http://www.w3.org/1998/Math/MathML"'


def formula(text):
    """A formula in libSBML's infix notation as MathML."""
    import libsbml

    return libsbml.writeMathMLToString(libsbml.parseL3Formula(text)).split("?>", 1)[1]


def rule(kind, variable, text):
    return f'<{kind} variable="{variable}">{formula(text)}</{kind}>'


def rule_text(variable, text):
    return rule("assignmentRule", variable, text)


def parameters(**values):
    return "".join(f'<parameter id="{k}" value="{v}" constant="false"/>' for k, v in values.items())


def species(name, value, *, amount=False, boundary=False, only_substance=False, compartment="c"):
    words = {True: "true", False: "false"}
    return (
        f'<species id="{name}" compartment="{compartment}" initial{"Amount" if amount else "Concentration"}="{value}" '
        f'hasOnlySubstanceUnits="{words[only_substance]}" boundaryCondition="{words[boundary]}" constant="false"/>'
    )


def reaction(name, reactants, products, law, local=""):
    def listed(tag, entries):
        inner = "".join(f'<speciesReference species="{s}" stoichiometry="{n}" constant="true"/>' for s, n in entries)
        return f"<{tag}>{inner}</{tag}>" if entries else ""

    used = "".join(f'<modifierSpeciesReference species="{s}"/>' for s in ())
    return (
        f'<reaction id="{name}" reversible="false">{listed("listOfReactants", reactants)}'
        f"{listed('listOfProducts', products)}{used}<kineticLaw>{formula(law)}"
        f"{f'<listOfLocalParameters>{local}</listOfLocalParameters>' if local else ''}</kineticLaw></reaction>"
    )


def event(trigger, assignments, *, delay=None, initial=True, persistent=True, from_trigger=True, name="e"):
    words = {True: "true", False: "false"}
    later = f"<delay>{formula(delay)}</delay>" if delay else ""
    inner = "".join(f'<eventAssignment variable="{k}">{formula(v)}</eventAssignment>' for k, v in assignments.items())
    return (
        f'<event id="{name}" useValuesFromTriggerTime="{words[from_trigger]}">'
        f'<trigger initialValue="{words[initial]}" persistent="{words[persistent]}">{formula(trigger)}</trigger>'
        f"{later}<listOfEventAssignments>{inner}</listOfEventAssignments></event>"
    )


def document(volume=1.0, volume_moves=False, functions="", units="", **lists):
    """An SBML document with one compartment `c`."""
    order = ("Species", "Parameters", "InitialAssignments", "Rules", "Reactions", "Events")
    moves = "false" if volume_moves else "true"
    inner = f"{functions}{units}<listOfCompartments>"
    inner += f'<compartment id="c" spatialDimensions="3" size="{volume}" constant="{moves}"/></listOfCompartments>'
    inner += "".join(f"<listOf{tag}>{lists[tag]}</listOf{tag}>" for tag in order if tag in lists)
    core = "http://www.sbml.org/sbml/level3/version2/core"
    return f'<sbml xmlns="{core}" level="3" version="2"><model id="example">{inner}</model></sbml>'


def run(text, end, **options):
    return dd.simulate(dd.read_sbml(text), end, rtol=1e-9, atol=1e-12, **options)


def test_a_reaction_moves_amounts_and_formulas_read_concentrations():
    text = document(
        volume=2.0,
        Species=species("A", 3.0) + species("B", 0.0) + species("N", 0.0, only_substance=True),
        Reactions=reaction("J", [("A", 1)], [("B", 2), ("N", 1)], "k * A * c", '<localParameter id="k" value="0.5"/>'),
    )
    m = dd.read_sbml(text)
    assert m.freeze().labels["p"] == ("c", "J.k")
    tr = dd.simulate(m, 2.0, rtol=1e-9, atol=1e-12)
    left = 3.0 * math.exp(-0.5 * 2.0)
    assert tr["A"][-1] == pytest.approx(left, rel=1e-7)
    assert tr["B"][-1] == pytest.approx(2 * (3.0 - left), rel=1e-7)
    assert tr["N"][-1] == pytest.approx(2.0 * (3.0 - left), rel=1e-7)
    assert tr["J"][-1] == pytest.approx(0.5 * left * 2.0, rel=1e-7)
    faster = dd.simulate(m, 2.0, parameters={"J.k": 1.0}, rtol=1e-9, atol=1e-12)
    assert faster["A"][-1] == pytest.approx(3.0 * math.exp(-2.0), rel=1e-7)


def test_amounts_stay_where_a_volume_grows():
    text = document(
        volume=1.0, volume_moves=True, Species=species("A", 4.0) + species("B", 4.0, boundary=True),
        Rules=rule("rateRule", "c", "1"), Reactions=reaction("J", [("A", 1)], [], "0.1 * A * c"),
    )  # fmt: skip
    tr = run(text, 3.0)
    assert tr["c"][-1] == pytest.approx(4.0)
    assert tr["A"][-1] == pytest.approx(4.0 * math.exp(-0.3) / 4.0, rel=1e-7)
    assert tr["B"][-1] == pytest.approx(1.0, rel=1e-9)


def test_rules_initial_assignments_and_functions():
    define = f"<listOfFunctionDefinitions><functionDefinition id='twice'><math {MATHML}><lambda><bvar><ci>a</ci></bvar>"
    define += (
        "<apply><times/><cn>2</cn><ci>a</ci></apply></lambda></math></functionDefinition></listOfFunctionDefinitions>"
    )
    text = document(
        functions=define,
        Parameters=parameters(x=1.0, k=3.0, y=0.0, s=7.0),
        InitialAssignments=f'<initialAssignment symbol="x">{formula("twice(k) + y")}</initialAssignment>',
        Rules=rule("rateRule", "x", "-k*x")
        + rule("assignmentRule", "y", "s + 1")
        + rule("assignmentRule", "s", "time"),
    )
    tr = run(text, 0.5)
    assert tr["x"][0] == pytest.approx(7.0)
    assert tr["x"][-1] == pytest.approx(7.0 * math.exp(-1.5), rel=1e-7)
    assert tr["y"][-1] == pytest.approx(1.5)


def test_an_algebraic_rule_determines_what_nothing_else_does():
    text = document(
        Parameters=parameters(x=1.0, z=0.0),
        Rules=rule("rateRule", "x", "-z") + f"<algebraicRule>{formula('z - 2*x')}</algebraicRule>",
    )
    assert run(text, 1.0)["x"][-1] == pytest.approx(math.exp(-2.0), rel=1e-7)


def test_an_algebraic_rule_leaves_a_boundary_as_it_is():
    text = document(
        Species=species("B", 3.0, boundary=True) + species("A", 2.0),
        Rules=f"<algebraicRule>{formula('B - A')}</algebraicRule>",
    )
    tr = run(text, 1.0)
    assert tr["A"][-1] == pytest.approx(3.0)


def test_rates_of_others_in_formulas():
    text = document(
        Parameters=parameters(x=1.0, y=0.0),
        Rules=rule("rateRule", "x", "-x") + rule("rateRule", "y", "rateOf(x)"),
    )
    tr = run(text, 1.0)
    assert tr["y"][-1] == pytest.approx(math.exp(-1.0) - 1.0, abs=1e-8)


def test_the_rate_of_a_local_parameter_is_zero():
    """Case 01460 of the SBML Test Suite: a local parameter stands before one of the model with its name."""
    text = document(
        Species=species("S", 1.0), Parameters=parameters(k=1.0), Rules=rule("rateRule", "k", "2"),
        Reactions=reaction("J", [], [("S", 1)], "rateOf(k) + k", '<localParameter id="k" value="3"/>'),
    )  # fmt: skip
    tr = run(text, 2.0)
    assert tr["S"][-1] == pytest.approx(1.0 + 3.0 * 2.0)
    assert tr["k"][-1] == pytest.approx(5.0)


def test_events_with_and_without_a_delay():
    rules = rule("rateRule", "x", "1")
    tr = run(
        document(Parameters=parameters(x=0.0, n=0.0), Rules=rules, Events=event("x > 0.5", {"x": "0", "n": "n + x"})),
        1.75,
    )
    assert [round(e.time, 9) for e in tr.events] == [0.5, 1.0, 1.5]
    assert tr["n"][-1] == pytest.approx(1.5)
    kept = event("x > 0.5", {"y": "x"}, delay="0.3")
    late = event("x > 0.5", {"y": "x"}, delay="0.3", from_trigger=False)
    for made, expected in ((kept, 0.5), (late, 0.8)):
        tr = run(document(Parameters=parameters(x=0.0, y=0.0), Rules=rules, Events=made), 1.0)
        assert tr["y"][-1] == pytest.approx(expected)
        assert tr.at(0.75)["y"] == 0.0


def test_a_withdrawn_event_and_one_at_the_start():
    rules = rule("rateRule", "x", "1")
    pulse = "(x > 0.5) && (x < 0.6)"
    for persistent, expected in ((True, 1.0), (False, 0.0)):
        made = event(pulse, {"y": "1"}, delay="0.3", persistent=persistent)
        assert run(document(Parameters=parameters(x=0.0, y=0.0), Rules=rules, Events=made), 1.0)["y"][-1] == expected
    for initial, expected in ((True, 0.0), (False, 1.0)):
        made = event("x < 2", {"y": "1"}, initial=initial)
        assert run(document(Parameters=parameters(x=0.0, y=0.0), Rules=rules, Events=made), 1.0)["y"][-1] == expected


def test_an_event_that_changes_a_volume_keeps_amounts():
    text = document(
        volume=1.0, volume_moves=True, Species=species("A", 4.0) + species("B", 0.0),
        Reactions=reaction("J", [("A", 1)], [("B", 1)], "0.5 * A * c"), Events=event("time >= 1", {"c": "2"}),
    )  # fmt: skip
    tr = run(text, 2.0)
    assert tr["A"][-1] == pytest.approx(4.0 * math.exp(-1.0) / 2.0, rel=1e-7)


@pytest.mark.parametrize(("delay", "from_trigger"), [(None, True), ("0.5", True), ("0.5", False)])
def test_an_event_that_assigns_concentration_and_volume_takes_the_volume_before(delay, from_trigger):
    """Cases 01506, 01507 and 01779 of the SBML Test Suite: assignments are made from the state before the event."""
    text = document(
        volume=0.5, volume_moves=True, Species=species("S", 2.0, boundary=True),
        Events=event("time >= 0.4", {"S": "0.2", "c": "0.25"}, delay=delay, from_trigger=from_trigger),
    )  # fmt: skip
    tr = run(text, 2.0)
    assert tr["S.amount"][-1] == pytest.approx(0.2 * 0.5)
    assert tr["S"][-1] == pytest.approx(0.2 * 0.5 / 0.25)


@pytest.mark.parametrize(
    ("rules", "initial"),
    [
        (rule_text("y", "delay(rateOf(x), 1)"), ""),
        (rule_text("r", "rateOf(x)") + rule_text("y", "delay(2 * r, 1)"), ""),
        (rule_text("y", "delay(k, 1)"), ("k", "sin(10 * time)")),
        (rule_text("r", "k + x") + rule_text("y", "delay(r, 1)"), ("k", "sin(10 * time)")),
    ],
)
def test_a_delay_that_looks_back_at_what_has_no_past_is_refused(rules, initial):
    first = f'<initialAssignment symbol="{initial[0]}">{formula(initial[1])}</initialAssignment>' if initial else ""
    text = document(
        Parameters=parameters(x=5.0, y=0.0, r=0.0, k=0.0), InitialAssignments=first,
        Rules=rule("rateRule", "x", "-0.1 * x") + rules,
    )  # fmt: skip
    with pytest.raises(dd.InputError, match="a quantity whose history is not stored"):
        dd.read_sbml(text)


def test_units_become_labels():
    units = (
        '<listOfUnitDefinitions><unitDefinition id="rate"><listOfUnits>'
        '<unit kind="mole" exponent="1" scale="-3" multiplier="1"/>'
        '<unit kind="litre" exponent="-1" scale="0" multiplier="1"/>'
        '<unit kind="second" exponent="-1" scale="0" multiplier="60"/></listOfUnits></unitDefinition>'
        "</listOfUnitDefinitions>"
    )
    text = document(
        units=units, Parameters='<parameter id="k" value="1" units="rate" constant="true"/>' + parameters(x=0.0),
        Rules=rule("rateRule", "x", "k"),
    )  # fmt: skip
    assert dd.read_sbml(text).parameters["k"].unit == "mmol/L/min"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<sbml/>", "The text is not an SBML model."),
        ("<!DOCTYPE sbml [<!ENTITY a 'b'>]><sbml>&a;</sbml>", "The SBML file defines entities."),
        (3, "SBML is read from a path or a text."),
        ("missing.xml", "The SBML file 'missing.xml' cannot be read."),
    ],
)
def test_what_is_no_model_is_refused(text, words):
    with pytest.raises(dd.InputError) as caught:
        dd.read_sbml(text)
    assert str(caught.value).splitlines()[0] == words


def test_circles_and_unknown_names_are_told():
    circle = rule("assignmentRule", "a", "b") + rule("assignmentRule", "b", "a")
    with pytest.raises(dd.InputError):
        dd.read_sbml(document(Parameters=parameters(a=0.0, b=0.0), Rules=circle))
    closed = f"<algebraicRule>{formula('k - 1')}</algebraicRule>"
    fixed = '<parameter id="k" value="1" constant="true"/>'
    with pytest.raises(dd.InputError, match=r"An algebraic rule of the SBML file determines nothing\."):
        dd.read_sbml(document(Parameters=fixed, Rules=closed))


def test_an_oscillator_of_genes():
    """The repressilator (Elowitz and Leibler, Nature 403, 2000), against a run of the same equations."""
    pairs = (("1", "3"), ("2", "1"), ("3", "2"))
    made = "".join(reaction(f"J{a}", [], [(f"M{a}", 1)], f"1 + 216/(1 + P{b}^2)") for a, b in pairs)
    made += "".join(reaction(f"K{a}", [(f"M{a}", 1)], [], f"M{a}") for a, _ in pairs)
    made += "".join(
        reaction(f"R{a}", [], [(f"P{a}", 1)], f"5*M{a}") + reaction(f"Q{a}", [(f"P{a}", 1)], [], f"5*P{a}")
        for a, _ in pairs
    )
    starts = {"M1": 0.0, "M2": 1.0, "M3": 0.0, "P1": 1.0, "P2": 2.0, "P3": 3.0}
    tr = run(document(Species="".join(species(k, v) for k, v in starts.items()), Reactions=made), 20.0)
    m = dd.Model("same")
    x = m.state("x", 6, start=list(starts.values()))
    rna, protein = [x[k] for k in range(3)], [x[k + 3] for k in range(3)]
    m.equation(
        m.der(x),
        [
            *(1 + 216 / (1 + protein[(k + 2) % 3] ** 2) - rna[k] for k in range(3)),
            *(5 * (rna[k] - protein[k]) for k in range(3)),
        ],
    )
    same = dd.simulate(m, 20.0, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose([tr[k][-1] for k in starts], same["x"][-1], rtol=1e-6)
