"""What moves the quantities of an SBML model: rules, reactions, events or nothing, and where they start.

A species stands in formulas for its concentration, or for its amount where `hasOnlySubstanceUnits` is set or its
compartment has no volume (SBML Level 3 Version 2, section 4.6). It is stored as its symbol says, but as an amount
where its compartment changes: reactions, and events that change a volume, leave amounts as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import casadi as ca

from daedalus.errors import InputError
from daedalus.exchange.sbml.formulas_of_mathml import BehindName, FormulaReader
from daedalus.model.lazy_values import cached_property


class Moved(Enum):
    """What determines a quantity after the start."""

    RULE = "an assignment rule"
    RATE = "a rate rule"
    ALGEBRAIC = "an algebraic rule"
    REACTION = "reactions"
    EVENT = "events"
    NEVER = "nothing"


@dataclass
class SbmlQuantity:
    """A compartment, species, parameter or variable stoichiometry with its identifier."""

    name: str
    kind: str
    element: Any
    constant: bool
    moved: Moved = Moved.NEVER
    stored_as_amount: bool = False
    symbol: ca.SX = field(default_factory=lambda: ca.SX(0))


def sbml_list(listed: Any) -> list[Any]:
    """The elements of one of libSBML's lists, whose own iteration is slow."""
    return [listed.get(k) for k in range(listed.size())]


class Quantities:
    """All quantities of a model by their identifiers, with their expressions, rates and start values."""

    def __init__(self, library: Any, model: Any, time: ca.SX) -> None:
        self.model, self.time = model, time
        self.reactions = {r.getId(): r for r in sbml_list(model.getListOfReactions())}
        # From Level 3 Version 2 on a rule without a formula determines nothing.
        rules = [r for r in sbml_list(model.getListOfRules()) if r.getMath() is not None]
        self._rules = {r.getVariable(): r.getMath() for r in rules if r.isAssignment()}
        self._rates = {r.getVariable(): r.getMath() for r in rules if r.isRate()}
        self.algebraic_rules = [r.getMath() for r in rules if r.isAlgebraic()]
        self._initial = {
            a.getSymbol(): a.getMath() for a in sbml_list(model.getListOfInitialAssignments()) if a.getMath()
        }
        self.delayed = lambda expression, delay: ca.substitute(expression, time, time - delay)
        functions = {f.getId(): f for f in sbml_list(model.getListOfFunctionDefinitions())}
        past = lambda expression, delay: self.delayed(expression, delay)  # noqa: E731
        self.reader = FormulaReader(library, time, self.value, self.rate, past, functions, self._behind)
        self.all = {quantity.name: quantity for quantity in self._found()}
        self._decide()
        self.local = {name: self._local_values(name) for name in self.reactions}
        self._values: dict[str, ca.SX] = {}
        self._starts: dict[str, float] = {}
        self._under_way: list[str] = []

    # -- what there is -----------------------------------------------------------------------------------------

    def _found(self) -> list[SbmlQuantity]:
        found = []
        for kind, listed in (
            ("compartment", self.model.getListOfCompartments()),
            ("species", self.model.getListOfSpecies()),
            ("parameter", self.model.getListOfParameters()),
        ):
            for element in sbml_list(listed):
                found.append(SbmlQuantity(element.getId(), kind, element, bool(element.getConstant())))
        for reaction in self.reactions.values():
            for reference in _references(reaction):
                if reference.getId():
                    found.append(
                        SbmlQuantity(reference.getId(), "stoichiometry", reference, bool(reference.getConstant()))
                    )
        for quantity in found:
            quantity.symbol = ca.SX.sym(quantity.name)
        return found

    def _decide(self) -> None:
        """What moves each quantity."""
        assigned = {
            a.getVariable()
            for event in sbml_list(self.model.getListOfEvents())
            for a in sbml_list(event.getListOfEventAssignments())
        }
        moved = {reference.getSpecies() for r in self.reactions.values() for reference in _references(r)}
        for name, quantity in self.all.items():
            element = quantity.element
            if name in self._rules:
                quantity.moved = Moved.RULE
            elif name in self._rates:
                quantity.moved = Moved.RATE
            elif quantity.kind == "species" and name in moved and not (
                element.getBoundaryCondition() or quantity.constant
            ):  # fmt: skip
                quantity.moved = Moved.REACTION
            elif name in assigned:
                quantity.moved = Moved.EVENT
        for name in self._unknowns_of_algebraic_rules():
            self.all[name].moved = Moved.ALGEBRAIC
        for quantity in self.all.values():
            if quantity.kind == "species" and self._has_concentration(quantity):
                volume = self.all[quantity.element.getCompartment()]
                own = quantity.moved in (Moved.REACTION, Moved.EVENT, Moved.NEVER)
                own = own or (quantity.moved is Moved.RATE and volume.moved in (Moved.RATE, Moved.EVENT))
                quantity.stored_as_amount = own and volume.moved is not Moved.NEVER

    def _unknowns_of_algebraic_rules(self) -> list[str]:
        """One quantity for each algebraic rule that nothing else determines, by augmenting paths.

        Species with a boundary condition come last: they are given from outside (case 01787 of the SBML Test Suite).
        """
        free = (Moved.NEVER, Moved.EVENT)
        named = [_names_in(rule) for rule in self.algebraic_rules]
        candidates = [
            [n for n in names if n in self.all and not self.all[n].constant and self.all[n].moved in free]
            for names in named
        ]
        for names in candidates:
            names.sort(key=lambda name: self._is_boundary(self.all[name]))
        owner: dict[str, int] = {}

        def placed(rule: int, seen: set[str]) -> bool:
            for name in candidates[rule]:
                if name not in seen:
                    seen.add(name)
                    if name not in owner or placed(owner[name], seen):
                        owner[name] = rule
                        return True
            return False

        for rule in range(len(candidates)):
            if not placed(rule, set()):
                raise InputError(
                    "An algebraic rule of the SBML file determines nothing.",
                    f"it names {', '.join(named[rule]) or 'no quantity'}",
                    because="everything in it is constant or determined by other rules or reactions.",
                    remedy="constant='false' for the quantity that it should determine",
                )
        return list(owner)

    def _is_boundary(self, quantity: SbmlQuantity) -> bool:
        return quantity.kind == "species" and bool(quantity.element.getBoundaryCondition())

    def _has_concentration(self, quantity: SbmlQuantity) -> bool:
        """Whether the symbol of a species is its concentration."""
        if quantity.element.getHasOnlySubstanceUnits():
            return False
        volume = self.all[quantity.element.getCompartment()].element
        return bool(volume.getSpatialDimensionsAsDouble() != 0)

    # -- expressions -------------------------------------------------------------------------------------------

    def settle(self, symbols: dict[str, ca.SX]) -> None:
        """From here on, the quantities are these symbols of a model."""
        for name, symbol in symbols.items():
            self.all[name].symbol = symbol
        self._values = {}

    def read(self, math_tree: Any, local: dict[str, ca.SX] | None = None) -> ca.SX:
        """The expression of a formula."""
        if math_tree is None:
            raise InputError(
                "A rule, reaction or event of the SBML file has no formula.",
                because="SBML allows that from Level 3 Version 2 on, but it determines nothing.",
                remedy="remove it, or write its formula",
            )
        return self.reader.read(math_tree, local)

    def value(self, name: str) -> ca.SX:
        """The expression that an identifier stands for in formulas."""
        if name not in self._values:
            if name in self._under_way:
                raise InputError(
                    "The assignment rules of the SBML file depend on each other in a circle.",
                    " -> ".join([*self._under_way[self._under_way.index(name) :], name]),
                    because="each needs the value of the next.",
                    remedy="an algebraic rule in place of one of them",
                )
            self._under_way.append(name)
            try:
                self._values[name] = self._expression(name)
            finally:
                self._under_way.pop()
        return self._values[name]

    def _expression(self, name: str) -> ca.SX:
        if name in self._rules:
            return self.read(self._rules[name])
        if name in self.reactions:
            return self.reaction_rate(name)
        quantity = self.all.get(name)
        if quantity is None:
            raise InputError(
                "A formula of the SBML file contains an unknown name.", f"it contains {name!r}", remedy="define it"
            )
        if quantity.kind == "stoichiometry" and _written_stoichiometry(quantity.element) is not None:
            return self.read(_written_stoichiometry(quantity.element))
        if quantity.stored_as_amount:
            return quantity.symbol / self.value(quantity.element.getCompartment())
        return quantity.symbol

    def _behind(self, name: str) -> BehindName:
        """What an identifier follows from, for those who look back at it."""
        if name in self._rules:
            return BehindName((self._rules[name],))
        if name in self.reactions:
            law = self.reactions[name].getKineticLaw()
            return BehindName((law.getMath(),) if law is not None and law.getMath() is not None else ())
        initial = self._initial.get(name)
        return BehindName((), initial is not None and ca.depends_on(self.read(initial), self.time))

    def _local_values(self, name: str) -> dict[str, float]:
        law = self.reactions[name].getKineticLaw()
        if law is None:
            return {}
        found = [*sbml_list(law.getListOfLocalParameters()), *sbml_list(law.getListOfParameters())]
        return {p.getId(): float(p.getValue()) for p in found}

    def reaction_rate(self, name: str) -> ca.SX:
        """The rate of a reaction, in extent per time."""
        law = self.reactions[name].getKineticLaw()
        local = {key: self.all[f"{name}.{key}"].symbol for key in self.local[name] if f"{name}.{key}" in self.all}
        return ca.SX(0) if law is None or law.getMath() is None else self.read(law.getMath(), local)

    def flow(self, name: str) -> ca.SX:
        """The rate of the amount of a species by all reactions."""
        species, total = self.all[name].element, ca.SX(0)
        for key, reaction in self.reactions.items():
            for sign, listed in ((-1.0, reaction.getListOfReactants()), (1.0, reaction.getListOfProducts())):
                for reference in sbml_list(listed):
                    if reference.getSpecies() == name:
                        total = total + sign * self._stoichiometry(reference) * self.value(key)
        factor = species.getConversionFactor() or self.model.getConversionFactor()
        return total * self.value(factor) if factor else total

    def _stoichiometry(self, reference: Any) -> ca.SX:
        if reference.getId():
            return self.value(reference.getId())
        written = _written_stoichiometry(reference)
        return self.read(written) if written is not None else ca.SX(_declared_stoichiometry(reference))

    def stored_rate(self, name: str) -> ca.SX:
        """The derivative of what is stored of a quantity that rules or reactions move."""
        quantity = self.all[name]
        if quantity.moved is Moved.RATE:
            given = self.read(self._rates[name])
            if not quantity.stored_as_amount:
                return given
            volume = quantity.element.getCompartment()
            return given * self.value(volume) + self.value(name) * self.rate(volume)
        if quantity.moved is not Moved.REACTION:
            return ca.SX(0)
        if quantity.stored_as_amount or not self._has_concentration(quantity):
            return self.flow(name)
        return self.flow(name) / self.value(quantity.element.getCompartment())

    def rate(self, name: str) -> ca.SX:
        """The derivative of what an identifier stands for, the csymbol rateOf."""
        quantity = self.all.get(name)
        if quantity is None or quantity.moved in (Moved.RULE, Moved.ALGEBRAIC):
            raise InputError(
                "A rateOf of the SBML file cannot be read.",
                f"{name!r} is determined by {quantity.moved.value if quantity else 'nothing'}",
                because="only quantities with a rate of their own have one in formulas.",
                remedy="the formula of its derivative",
            )
        if not quantity.stored_as_amount or quantity.moved is Moved.RATE:
            return self.read(self._rates[name]) if quantity.moved is Moved.RATE else self.stored_rate(name)
        volume = quantity.element.getCompartment()
        return (self.stored_rate(name) - self.value(name) * self.rate(volume)) / self.value(volume)

    # -- start values ------------------------------------------------------------------------------------------

    def start(self, name: str) -> float:
        """The number that is stored of a quantity at the start; NaN where the file says nothing."""
        if name not in self._starts:
            quantity = self.all[name]
            if name in self._under_way:
                raise InputError(
                    "The initial assignments of the SBML file depend on each other in a circle.",
                    " -> ".join([*self._under_way, name]),
                    because="each needs the value of the next.",
                    remedy="a number in place of one of them",
                )
            self._under_way.append(name)
            try:
                self._starts[name] = self._first_number(quantity)
            finally:
                self._under_way.pop()
        return self._starts[name]

    def _first_number(self, quantity: SbmlQuantity) -> float:
        if quantity.name in self._initial:
            return self._stored(quantity, self.number(self.read(self._initial[quantity.name])))
        if quantity.moved is Moved.RULE:
            return self.number(self.read(self._rules[quantity.name]))
        element = quantity.element
        if quantity.kind == "compartment":
            return float(element.getSize()) if element.isSetSize() else 1.0
        if quantity.kind == "stoichiometry":
            return _declared_stoichiometry(element)
        if quantity.kind == "parameter":
            return float(element.getValue()) if element.isSetValue() else math.nan
        return self._first_of_species(quantity)

    def _first_of_species(self, quantity: SbmlQuantity) -> float:
        element, concentration = quantity.element, self._has_concentration(quantity)
        amount = quantity.stored_as_amount or not concentration
        if element.isSetInitialAmount():
            given = float(element.getInitialAmount())
            return given if amount else given / self._volume(quantity)
        if element.isSetInitialConcentration():
            given = float(element.getInitialConcentration())
            return given * self._volume(quantity) if amount else given
        return math.nan

    def _stored(self, quantity: SbmlQuantity, value: float) -> float:
        return value * self._volume(quantity) if quantity.stored_as_amount else value

    def _volume(self, quantity: SbmlQuantity) -> float:
        return self.start(quantity.element.getCompartment())

    def number(self, expression: ca.SX) -> float:
        """An expression at the start."""
        by_symbol = {q.symbol.element_hash(): name for name, q in self.all.items() if q.symbol.is_symbolic()}
        symbols = ca.symvar(expression)
        values = [
            0.0 if s.element_hash() == self.time.element_hash() else self.start(by_symbol[s.element_hash()])
            for s in symbols
        ]
        return float(ca.Function("start", symbols, [expression])(*values)) if symbols else float(expression)

    @cached_property
    def moving(self) -> list[SbmlQuantity]:
        """The quantities with a derivative."""
        return [q for q in self.all.values() if q.moved in (Moved.RATE, Moved.REACTION)]


def _references(reaction: Any) -> list[Any]:
    return [*sbml_list(reaction.getListOfReactants()), *sbml_list(reaction.getListOfProducts())]


def _written_stoichiometry(reference: Any) -> Any:
    return reference.getStoichiometryMath().getMath() if reference.isSetStoichiometryMath() else None


def _declared_stoichiometry(reference: Any) -> float:
    if reference.getLevel() > 2:
        return float(reference.getStoichiometry()) if reference.isSetStoichiometry() else math.nan
    return float(reference.getStoichiometry()) / float(reference.getDenominator() or 1)


def _names_in(tree: Any) -> list[str]:
    found = [tree.getName()] if tree.isName() and tree.getName() else []
    return list(
        dict.fromkeys([*found, *(n for k in range(tree.getNumChildren()) for n in _names_in(tree.getChild(k)))])
    )
