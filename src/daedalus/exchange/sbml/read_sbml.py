"""dd.read_sbml: a model of biochemistry from an SBML file, through libSBML."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import casadi as ca

from daedalus.errors import InputError
from daedalus.exchange.extras import needed
from daedalus.exchange.sbml.events_of_sbml import write_events
from daedalus.exchange.sbml.quantities import Moved, Quantities, SbmlQuantity
from daedalus.model.model import Model
from daedalus.model.unit_labels import is_understood

# What libSBML lists as packages, but is part of the core since Level 3 Version 2, or only drawn.
CORE = ("l3v2extendedmath", "layout", "render")
MOST_BYTES = 50_000_000
_KINDS = {
    "ampere": "A", "coulomb": "C", "dimensionless": "", "farad": "F", "gram": "g", "henry": "H", "hertz": "Hz",
    "joule": "J", "kelvin": "K", "kilogram": "kg", "litre": "L", "liter": "L", "metre": "m", "meter": "m",
    "mole": "mol", "newton": "N", "ohm": "ohm", "pascal": "Pa", "radian": "rad", "second": "s", "siemens": "S",
    "volt": "V", "watt": "W", "weber": "Wb", "avogadro": None, "item": None, "katal": None, "lumen": None, "lux": None,
}  # fmt: skip
_PREFIXES = {0: "", -3: "m", -6: "u", -9: "n", -2: "c", -1: "d", 3: "k", 6: "M", 9: "G"}
_SECONDS = {60.0: "min", 3600.0: "h"}


def read_sbml(path_or_text: str | Path) -> Model:
    """A model from an SBML file of Level 1, 2 or 3 (core): compartments, species, reactions, rules, events, units.

    Species, compartments and parameters have their identifiers as names; a species is a concentration or an amount, as
    it is in the file's formulas. Rates of reactions and assignment rules are outputs, local parameters of a reaction
    `J1` are called `J1.k`. Start values are those of the file; initial assignments are evaluated once. Reading needs
    python-libsbml: `pip install "daedalus[sbml]"`.

    Parameters
    ----------
    path_or_text: the path of a file, or its text.

    What the model does not support is listed in `m.unsupported`. Raises an InputError for what would change the
    results: fast reactions, required packages, formulas without a counterpart.

    Example
    -------
    >>> import daedalus as dd
    >>> from importlib.util import find_spec
    >>> text = '''<sbml xmlns="http://www.sbml.org/sbml/level3/version2/core" level="3" version="2"><model>
    ... <listOfParameters><parameter id="x" value="1" constant="false"/></listOfParameters>
    ... <listOfRules><rateRule variable="x"><math xmlns="http://www.w3.org/1998/Math/MathML">
    ... <apply><minus/><ci>x</ci></apply></math></rateRule></listOfRules></model></sbml>'''
    >>> m = dd.read_sbml(text) if find_spec("libsbml") else None
    """
    library = needed("libsbml", "sbml", "python-libsbml", "SBML files are read by libSBML")
    model = _model_of(library, _text(path_or_text))
    m = Model(_model_name(model))
    quantities = Quantities(library, model, m.time)
    lost = _refuse_or_list(model)
    names = _declare(m, quantities, library)
    _write_equations(m, quantities, names)
    m.unsupported += [*lost, *write_events(m, quantities, names)]
    return m


def _text(given: str | Path) -> str:
    if isinstance(given, str) and given.lstrip()[:1] == "<":
        text = given
    elif isinstance(given, (str, Path)):
        path = Path(given)
        try:
            if path.stat().st_size > MOST_BYTES:
                raise InputError("The SBML file is too large.", f"{path.stat().st_size} bytes", remedy="a smaller one")
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"The SBML file {path.name!r} cannot be read.", str(error)[:200], remedy="a path to an SBML file"
            ) from error
    else:
        raise InputError("SBML is read from a path or a text.", f"got {type(given).__name__}", remedy='"model.xml"')
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError(
            "The SBML file defines entities.",
            because="SBML does not use them, and they can grow without limit.",
            remedy="the same file without <!DOCTYPE ...>",
        )
    return text


def _model_of(library: Any, text: str) -> Any:
    document = library.readSBMLFromString(text)
    severe = [
        document.getError(k)
        for k in range(document.getNumErrors())
        if document.getError(k).getSeverity() in (library.LIBSBML_SEV_ERROR, library.LIBSBML_SEV_FATAL)
    ]
    model = document.getModel()
    if severe or model is None:
        first = [f"line {e.getLine()}: {' '.join(e.getShortMessage().split())}" for e in severe[:3]]
        raise InputError("The text is not an SBML model.", first or "it has no model", remedy="an SBML file")
    if document.getPlugin("comp") is not None and document.getPackageRequired("comp"):
        # Models inside models become one.
        flat = library.ConversionProperties()
        flat.addOption("flatten comp", True)
        if document.convert(flat) == library.LIBSBML_OPERATION_SUCCESS:
            model = document.getModel()
    for k in range(document.getNumPlugins()):
        package = document.getPlugin(k).getPackageName()
        if document.getPackageRequired(package) and package not in CORE:
            raise InputError(
                f"The SBML file needs the package {package!r}.",
                because="it changes the meaning of the model, and only SBML core is supported.",
                remedy="the same model without the package",
            )
    model._document = document  # the model lives in its document
    return model


def _model_name(model: Any) -> str:
    word = "".join(c if c.isalnum() or c == "_" else "_" for c in model.getId() or "sbml")
    return word if word[:1].isalpha() else f"sbml_{word}"


def _refuse_or_list(model: Any) -> list[str]:
    fast = [r.getId() for r in (model.getReaction(k) for k in range(model.getNumReactions())) if r.getFast()]
    if fast:
        raise InputError(
            "The SBML file has fast reactions.",
            f"fast: {', '.join(fast[:8])}",
            because="they are in equilibrium at every time, which their rates do not express.",
            remedy="algebraic rules for the equilibria; SBML Level 3 Version 2 has no fast reactions any more",
        )
    constraints = model.getNumConstraints()
    return [f"{constraints} constraints, which tell when results are not valid"] if constraints else []


def _declare(m: Model, quantities: Quantities, library: Any) -> dict[str, str]:
    """Declare what is stored; returns the names in the model by identifier."""
    for name, local in quantities.local.items():
        for key in local:
            element = _local_element(quantities.reactions[name].getKineticLaw(), key)
            quantities.all[f"{name}.{key}"] = SbmlQuantity(f"{name}.{key}", "parameter", element, True)
    names: dict[str, str] = {}
    starts = {key: quantities.start(key) for key, q in quantities.all.items() if not _is_formula(q)}
    symbols = {}
    for key, start in starts.items():
        quantity = quantities.all[key]
        name = free_name(m, f"{key}.amount" if quantity.stored_as_amount else key)
        unit = unit_label(quantity.element.getDerivedUnitDefinition(), library) if _has_unit(quantity) else ""
        names[key] = name
        given = None if math.isnan(start) else start
        if quantity.moved in (Moved.RATE, Moved.REACTION):
            symbols[key] = m.state(name, start=given, unit=unit)
        elif quantity.moved is Moved.ALGEBRAIC:
            symbols[key] = m.algebraic(name, start=given, unit=unit)
        elif quantity.moved is Moved.EVENT:
            symbols[key] = m.discrete(name, start=0.0 if given is None else given)
        else:
            symbols[key] = m.parameter(name, given, unit=unit)
    quantities.settle(symbols)
    quantities.delayed = lambda expression, delay: _past(m, quantities, expression, delay)
    return names


def _local_element(law: Any, key: str) -> Any:
    return law.getLocalParameter(key) or law.getParameter(key)


def _is_formula(quantity: SbmlQuantity) -> bool:
    written = quantity.kind == "stoichiometry" and quantity.element.isSetStoichiometryMath()
    return quantity.moved is Moved.RULE or written


def _has_unit(quantity: SbmlQuantity) -> bool:
    return quantity.kind != "stoichiometry" and not (quantity.kind == "species" and not quantity.stored_as_amount)


def free_name(m: Model, name: str) -> str:
    """A name that the model accepts: names of derivatives are reserved, `time` is the time's."""
    while name in m.variables or name in m.outputs or name in ("t", "time") or name.rstrip("_").endswith("dot"):
        name += "_"
        if name.rstrip("_").endswith("dot") and name not in m.variables:
            return name + "0"
    return name


def _past(m: Model, quantities: Quantities, expression: ca.SX, delay: ca.SX) -> ca.SX:
    """The value that an expression had; before the start, rules hold and everything else has its start value."""
    if delay.is_constant() and float(delay) == 0:
        return expression
    moving = [q for q in quantities.all.values() if q.moved not in (Moved.NEVER, Moved.RULE)]
    inside = {s.element_hash() for s in ca.symvar(expression)}
    found = [q for q in moving if q.symbol.element_hash() in inside]
    if not found:
        return ca.substitute(expression, m.time, m.time - delay)
    old, new = ca.vertcat(*(q.symbol for q in found)), ca.vertcat(*(quantities.start(q.name) for q in found))
    history = ca.substitute(expression, old, new)
    return m.delay(expression, float(delay) if delay.is_constant() else delay, history=history)


def _write_equations(m: Model, quantities: Quantities, names: dict[str, str]) -> None:
    for quantity in quantities.moving:
        m.equation(m.der(quantity.symbol), quantities.stored_rate(quantity.name), name=f"rate of {quantity.name}")
    for k, rule in enumerate(quantities.algebraic_rules):
        m.equation(quantities.read(rule), name=f"algebraic rule {k + 1}")
    if not quantities.moving:
        # A model without derivatives still goes through time.
        m.equation(m.der(m.state(free_name(m, "elapsed_time"), start=0.0)), 1.0)
    for key, quantity in quantities.all.items():
        if _is_formula(quantity) or quantity.stored_as_amount:
            m.output(free_name(m, key), quantities.value(key))
    for key in quantities.reactions:
        if key and key not in quantities.all:
            m.output(free_name(m, key), quantities.value(key))


def unit_label(definition: Any, library: Any) -> str:
    """The label of a unit definition, such as `mmol/L`; "" for what has no label or no dimension."""
    if definition is None:
        return ""
    above: list[str] = []
    below: list[str] = []
    for k in range(definition.getNumUnits()):
        unit = definition.getUnit(k)
        word = _KINDS.get(library.UnitKind_toString(unit.getKind()))
        exponent = unit.getExponentAsDouble()
        if word is None or exponent != int(exponent) or abs(exponent) > 9:
            return ""
        factor = _word(word, int(unit.getScale()), float(unit.getMultiplier()))
        if factor is None:
            return ""
        if word and exponent:
            power = abs(int(exponent))
            (above if exponent > 0 else below).append(factor if power == 1 else f"{factor}^{power}")
    label = "/".join(["*".join(above) or ("1" if below else ""), *below])
    return label if label and is_understood(label) else ""


def _word(word: str, scale: int, multiplier: float) -> str | None:
    """One unit with its prefix; None where the factor has no word."""
    if not word:
        return "" if scale == 0 and multiplier == 1 else None
    if word == "s" and scale == 0 and multiplier in _SECONDS:
        return _SECONDS[multiplier]
    if multiplier != 1 or scale not in _PREFIXES:
        return None
    return "g" if word == "kg" and scale == -3 else None if word == "kg" and scale else _PREFIXES[scale] + word
