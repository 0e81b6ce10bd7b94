"""Formulas of SBML as CasADi expressions: the operators of MathML that SBML allows, by libSBML's numbers for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import casadi as ca

from daedalus.errors import InputError

# The value that the specification of SBML Level 3 Version 2 (section 3.4.6) gives for the csymbol avogadro.
AVOGADRO = 6.02214179e23
# Definitions of functions may call each other this deep.
DEEPEST = 100

Names = Mapping[str, Any]
Reader = Callable[[str], ca.SX]

_ONE: dict[str, Callable[[Any], Any]] = {
    "ABS": ca.fabs, "ARCCOS": ca.acos, "ARCCOSH": ca.acosh, "ARCSIN": ca.asin, "ARCSINH": ca.asinh, "ARCTAN": ca.atan,
    "ARCTANH": ca.atanh, "CEILING": ca.ceil, "COS": ca.cos, "COSH": ca.cosh, "EXP": ca.exp, "FLOOR": ca.floor,
    "LN": ca.log, "SIN": ca.sin, "SINH": ca.sinh, "TAN": ca.tan, "TANH": ca.tanh,
    "SEC": lambda x: 1 / ca.cos(x), "CSC": lambda x: 1 / ca.sin(x), "COT": lambda x: 1 / ca.tan(x),
    "SECH": lambda x: 1 / ca.cosh(x), "CSCH": lambda x: 1 / ca.sinh(x), "COTH": lambda x: 1 / ca.tanh(x),
    "ARCSEC": lambda x: ca.acos(1 / x), "ARCCSC": lambda x: ca.asin(1 / x), "ARCCOT": lambda x: ca.atan(1 / x),
    "ARCSECH": lambda x: ca.acosh(1 / x), "ARCCSCH": lambda x: ca.asinh(1 / x), "ARCCOTH": lambda x: ca.atanh(1 / x),
}  # fmt: skip
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "LT": lambda a, b: a < b, "GT": lambda a, b: a > b, "LEQ": lambda a, b: a <= b, "GEQ": lambda a, b: a >= b,
    "EQ": ca.eq, "NEQ": ca.ne,
}  # fmt: skip


class BehindName(NamedTuple):
    """The formulas that determine an identifier at every time, and whether time is in that of its start."""

    formulas: tuple[Any, ...] = ()
    starts_with_time: bool = False


class FormulaReader:
    """Reads formulas; `lookup` gives the expression of an identifier.

    rate_of and delayed give the derivative of an identifier and the past of an expression; behind: what an identifier
    follows from.
    """

    def __init__(
        self,
        library: Any,
        time: ca.SX,
        lookup: Reader,
        rate_of: Reader,
        delayed: Callable[[ca.SX, ca.SX], ca.SX],
        functions: Mapping[str, Any],
        behind: Callable[[str], BehindName],
    ) -> None:
        self._library, self._time, self._lookup = library, time, lookup
        self._rate_of, self._delayed, self._functions = rate_of, delayed, functions
        self._behind = behind
        words = {name: getattr(library, name) for name in dir(library) if name.startswith("AST_")}
        self._words = {number: name.removeprefix("AST_") for name, number in words.items()}

    def read(self, node: Any, local: Names | None = None, depth: int = 0) -> ca.SX:
        """The expression of a syntax tree; `local` names stand before those of the model."""
        local = local or {}
        if depth > DEEPEST:
            raise _refused("functions that call each other without end")
        if node.isNumber():
            return ca.SX(float(node.getValue()))
        word = self._words.get(node.getType(), "UNKNOWN")
        named = self._name(word, node, local)
        if named is not None:
            return named
        if word == "FUNCTION_DELAY":
            self._check_past(node.getChild(0), 0)
        if word == "FUNCTION_RATE_OF":
            return self._rate(node.getChild(0).getName(), local, depth)
        parts = [self.read(node.getChild(k), local, depth) for k in range(node.getNumChildren())]
        if word == "FUNCTION":
            return self._call(node.getName(), parts, depth)
        if word == "FUNCTION_DELAY":
            return self._delayed(parts[0], parts[1])
        for of in (_arithmetic, _logic, _function):
            value = of(word, parts)
            if value is not None:
                return ca.SX(value)
        raise _refused(node.getName() or word.lower())

    def _rate(self, name: str, local: Names, depth: int) -> ca.SX:
        """The rate of an identifier; a local parameter of a reaction comes before one of the model, and is constant."""
        if name not in local:
            return self._rate_of(name)
        if depth:
            raise _refused(f"rateOf({name}) in a function, whose argument {name} is")
        return ca.SX(0)

    def _check_past(self, node: Any, depth: int) -> None:
        """Refuse what a delay cannot look back at: rates are zero before the start, starts may be formulas of time."""
        word = self._words.get(node.getType(), "UNKNOWN")
        if depth > DEEPEST:
            return
        if word == "FUNCTION_RATE_OF":
            raise _no_past(f"delay(...) of rateOf({node.getChild(0).getName()})", "rates are zero before the start")
        if word == "NAME":
            behind = self._behind(node.getName())
            if behind.starts_with_time:
                raise _no_past(
                    f"delay(...) of {node.getName()}, whose initial assignment depends on time",
                    "that formula holds before the start, and no longer after it",
                )
            for tree in behind.formulas:
                self._check_past(tree, depth + 1)
        if word == "FUNCTION" and node.getName() in self._functions:
            body = self._functions[node.getName()].getBody()
            if body is not None:
                self._check_past(body, depth + 1)
        for k in range(node.getNumChildren()):
            self._check_past(node.getChild(k), depth)

    def _name(self, word: str, node: Any, local: Names) -> ca.SX | None:
        if word == "NAME":
            name = node.getName()
            return ca.SX(local[name]) if name in local else self._lookup(name)
        constants = {"CONSTANT_PI": math.pi, "CONSTANT_E": math.e, "CONSTANT_TRUE": 1.0, "CONSTANT_FALSE": 0.0}
        if word in constants:
            return ca.SX(constants[word])
        if word == "NAME_TIME":
            return self._time
        return ca.SX(AVOGADRO) if word == "NAME_AVOGADRO" else None

    def _call(self, name: str, values: list[ca.SX], depth: int) -> ca.SX:
        definition = self._functions.get(name)
        if definition is None or definition.getBody() is None:
            raise _refused(f"the function {name!r}, which has no definition")
        names = [definition.getArgument(k).getName() for k in range(definition.getNumArguments())]
        return self.read(definition.getBody(), dict(zip(names, values)), depth + 1)


def _arithmetic(word: str, parts: list[ca.SX]) -> Any:
    if word == "PLUS":
        return reduce(lambda a, b: a + b, parts, ca.SX(0))
    if word == "TIMES":
        return reduce(lambda a, b: a * b, parts, ca.SX(1))
    if word == "MINUS":
        return -parts[0] if len(parts) == 1 else parts[0] - parts[1]
    if word == "DIVIDE":
        return parts[0] / parts[1]
    if word in ("POWER", "FUNCTION_POWER"):
        return parts[0] ** parts[1]
    if word == "FUNCTION_QUOTIENT":
        # Towards zero, as in C.
        ratio = parts[0] / parts[1]
        return ca.sign(ratio) * ca.floor(ca.fabs(ratio))
    return ca.fmod(parts[0], parts[1]) if word == "FUNCTION_REM" else None


def _logic(word: str, parts: list[ca.SX]) -> Any:
    if word.startswith("RELATIONAL_"):
        compare = _COMPARED[word.removeprefix("RELATIONAL_")]
        pairs = [compare(a, b) for a, b in pairwise(parts)]
        return reduce(ca.logic_and, pairs) if pairs else ca.SX(1)
    if word == "LOGICAL_AND":
        return reduce(ca.logic_and, parts, ca.SX(1)) if len(parts) != 1 else parts[0]
    if word == "LOGICAL_OR":
        return reduce(ca.logic_or, parts, ca.SX(0)) if len(parts) != 1 else parts[0]
    if word == "LOGICAL_NOT":
        return ca.logic_not(parts[0])
    if word == "LOGICAL_XOR":
        either = [ca.logic_and(a, ca.logic_not(b)) for a, b in (parts, parts[::-1])] if len(parts) == 2 else None
        return ca.logic_or(*either) if either else ca.fmod(sum(parts, ca.SX(0)), 2)
    return ca.logic_or(ca.logic_not(parts[0]), parts[1]) if word == "LOGICAL_IMPLIES" else None


def _function(word: str, parts: list[ca.SX]) -> Any:
    name = word.removeprefix("FUNCTION_")
    if name in _ONE and len(parts) == 1:
        return _ONE[name](parts[0])
    if name == "LOG":
        return ca.log(parts[-1]) / (ca.log(parts[0]) if len(parts) == 2 else math.log(10.0))
    if name == "ROOT":
        square = len(parts) == 1 or (parts[0].is_constant() and float(parts[0]) == 2.0)
        return ca.sqrt(parts[-1]) if square else parts[-1] ** (1 / parts[0])
    if name in ("MAX", "MIN"):
        return reduce(ca.fmax if name == "MAX" else ca.fmin, parts)
    if name == "FACTORIAL" and parts[0].is_constant():
        return math.gamma(float(parts[0]) + 1)
    if name == "PIECEWISE":
        value = parts[-1] if len(parts) % 2 else ca.SX(math.nan)
        for k in range(len(parts) // 2 - 1, -1, -1):
            value = ca.if_else(parts[2 * k + 1], parts[2 * k], value)
        return value
    return None


def _no_past(what: str, because: str) -> InputError:
    return InputError(
        "The SBML file delays a quantity whose history is not stored.",
        f"it is {what}",
        because=f"{because}; the history of a delayed value is that of its formula.",
        remedy="the delay of a quantity with a rate rule, or the formula written with time - delay",
    )


def _refused(what: str) -> InputError:
    return InputError(
        "A formula of the SBML file cannot be read.",
        f"it contains {what}",
        because="it has no counterpart among the operations of a model.",
        remedy="another formula for the same value",
    )
