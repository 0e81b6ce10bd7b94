"""modelDescription.xml of FMI 2.0 and 3.0, read as data: no document types, no entities, every reference checked."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from daedalus.errors import InputError
from daedalus.exchange.fmu_import.quantities_of_fmu import (
    CO_SIMULATION,
    MODEL_EXCHANGE,
    NUMBERS,
    FmuDescription,
    FmuKind,
    FmuQuantity,
)

# Far above descriptions that are known, far below what a file can ask for.
DEEPEST, MOST_ELEMENTS, MOST_NUMBERS = 100, 5_000_000, 1_000_000
TYPES_OF_2 = {
    "Real": "Float64",
    "Integer": "Int32",
    "Boolean": "Boolean",
    "String": "String",
    "Enumeration": "Enumeration",
}
TYPES_OF_3 = (*NUMBERS, "String", "Binary", "Clock")


class _Guarded(ElementTree.TreeBuilder):
    """A tree that neither a document type nor depth can grow."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name, self._depth, self._count = name, 0, 0

    def doctype(self, name: str, pubid: Any, system: Any) -> None:
        raise broken(
            self._name, "it declares a document type", "FMI does not use them, and they can grow without limit."
        )

    def start(self, tag: Any, attrs: Any) -> Any:
        self._depth += 1
        self._count += 1
        if self._depth > DEEPEST or self._count > MOST_ELEMENTS:
            raise broken(self._name, f"it has more than {DEEPEST} levels or {MOST_ELEMENTS} elements")
        return super().start(tag, attrs)

    def end(self, tag: Any) -> Any:
        self._depth -= 1
        return super().end(tag)


def broken(name: str, fact: str, because: str = "", remedy: str = "the file as its tool wrote it") -> InputError:
    """The error for a description that does not hold together."""
    return InputError(f"The description of the FMU {name!r} cannot be used.", fact, because, remedy)


def read_description(text: bytes, name: str) -> FmuDescription:
    """The records of a modelDescription.xml; `name` is that of the file, for errors."""
    parser = ElementTree.XMLParser(target=_Guarded(name))
    try:
        parser.feed(text)
        root = parser.close()
    except ElementTree.ParseError as error:
        raise broken(name, f"not well-formed XML: {error}") from error
    except (ValueError, LookupError) as error:
        raise broken(name, str(error)[:200]) from error
    if root.tag != "fmiModelDescription":
        raise broken(name, f"its root is <{str(root.tag)[:40]}>, not <fmiModelDescription>")
    words = str(root.get("fmiVersion", ""))
    if not re.match(r"^[23]\.", words):
        raise broken(
            name,
            f"fmiVersion={words!r}",
            "versions 2.0 and 3.0 are read.",
            "an FMU of version 2.0 or 3.0 from its tool",
        )
    return _DescriptionReader(root, int(words[0]), name).description()


class _DescriptionReader:
    """One description on its way to records."""

    def __init__(self, root: Any, version: int, file: str) -> None:
        self.root, self.version, self.file = root, version, file

    def description(self) -> FmuDescription:
        token = self.root.get("guid" if self.version == 2 else "instantiationToken")
        if not token:
            raise broken(self.file, "it has no guid or instantiationToken")
        quantities, by_index, by_reference = self._quantities()
        rates, outputs, depends = self._structure(quantities, by_index, by_reference)
        experiment = self.root.find("DefaultExperiment")
        given = {} if experiment is None else experiment.attrib
        return FmuDescription(
            str(self.root.get("modelName") or "fmu"), self.version, token, self._kinds(), quantities, rates, outputs,
            self._indicators(), depends, self._positive(given, "stepSize"), self._positive(given, "stopTime"),
            self._positive(given, "tolerance"),
        )  # fmt: skip

    # -- kinds ------------------------------------------------------------------------------------------------

    def _kinds(self) -> dict[str, FmuKind]:
        found = {}
        more = "" if self.version == 2 else "s"
        for kind, tag in ((MODEL_EXCHANGE, "ModelExchange"), (CO_SIMULATION, "CoSimulation")):
            node = self.root.find(tag)
            if node is None:
                continue
            identifier = node.get("modelIdentifier", "")
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,200}", identifier):
                raise broken(self.file, f"modelIdentifier={identifier[:60]!r}", "it is the name of a C library.")

            def yes(word: str, node: Any = node) -> bool:
                return str(node.get(word, "false")).strip() in ("true", "1")

            completed = (
                yes("needsCompletedIntegratorStep")
                if self.version == 3
                else not yes("completedIntegratorStepNotNeeded")
            )
            found[kind] = FmuKind(
                kind, identifier, yes(f"providesDirectionalDerivative{more}"),
                yes("canGetAndSetFMUstate" if self.version == 2 else "canGetAndSetFMUState"),
                completed, yes("needsExecutionTool"), yes("hasEventMode"),
                yes("canHandleVariableCommunicationStepSize"), self._positive(node.attrib, "fixedInternalStepSize"),
            )  # fmt: skip
        if not found:
            scheduled = self.root.find("ScheduledExecution") is not None
            raise InputError(
                f"The FMU {self.file!r} cannot be simulated here.",
                "it is for scheduled execution only" if scheduled else "it names no kind",
                because="model exchange and co-simulation are read.",
                remedy="an export for model exchange or co-simulation",
            )
        return found

    def _positive(self, given: Any, word: str) -> float | None:
        text = given.get(word)
        if text is None:
            return None
        number = self._number(text, f"{word}={text[:30]!r}")
        return number if math.isfinite(number) and number > 0 else None

    def _number(self, text: str, where: str) -> float:
        if text.strip() in ("true", "false"):
            return float(text.strip() == "true")
        try:
            return float(text)
        except ValueError as error:
            raise broken(self.file, f"{where} is not a number") from error

    def _whole(self, text: str | None, where: str, most: int = 2**32 - 1) -> int:
        if text is None or not re.fullmatch(r"\s*\d{1,19}\s*", text) or int(text) > most:
            raise broken(self.file, f"{where} is {str(text)[:30]!r}, not a whole number")
        return int(text)

    # -- variables --------------------------------------------------------------------------------------------

    def _quantities(self) -> tuple[dict[str, FmuQuantity], list[str], dict[int, str]]:
        listed = self.root.find("ModelVariables")
        nodes = [] if listed is None else list(listed)
        raw: list[tuple[str, str, Any, Any]] = []
        seen: set[str] = set()
        for node in nodes:
            inner = next((child for child in node if child.tag in TYPES_OF_2), None) if self.version == 2 else node
            kind = TYPES_OF_2.get(getattr(inner, "tag", "")) if self.version == 2 else node.tag
            name = node.get("name")
            if not name or kind is None or (self.version == 3 and kind not in TYPES_OF_3):
                raise broken(self.file, f"a variable {str(name)[:40]!r} of the unknown type {str(node.tag)[:30]!r}")
            if name in seen:
                raise broken(self.file, f"the variable {name[:60]!r} is there twice")
            seen.add(name)
            raw.append((name, kind, node, inner))
        by_index = [name for name, *_ in raw]
        references = [self._whole(node.get("valueReference"), f"the reference of {n[:40]!r}") for n, _, node, _ in raw]
        # Several names may share a reference of FMI 2 (aliases); the first one stands for it.
        by_reference: dict[int, str] = {}
        for (name, kind, *_), reference in zip(raw, references):
            if kind == "Float64" or self.version == 3:
                by_reference.setdefault(reference, name)
        further = self._further_names(nodes, seen) if self.version == 3 else {}
        found = {}
        units = self._declared_units()
        lengths = self._lengths(raw, references)
        for (name, kind, node, inner), reference in zip(raw, references):
            found[name] = self._quantity(name, kind, node, inner, reference, by_index, by_reference, units, lengths)
        for name, own in further.items():
            # A further name is no state, rate or port: those are what it stands for.
            found[name] = replace(found[own], name=name, causality="local", initial="", start=None, derivative_of=None)
        if sum(q.size for q in found.values()) > MOST_NUMBERS:
            raise broken(self.file, f"its variables hold more than {MOST_NUMBERS} numbers")
        return found, by_index, by_reference

    def _further_names(self, nodes: list[Any], seen: set[str]) -> dict[str, str]:
        """Further names of FMI 3, with the variable that each belongs to."""
        found: dict[str, str] = {}
        for node in nodes:
            for alias in node.findall("Alias"):
                name = alias.get("name")
                if not name or name in seen:
                    raise broken(self.file, f"a further name {str(name)[:40]!r} of {str(node.get('name'))[:40]!r}")
                seen.add(name)
                found[name] = str(node.get("name"))
        return found

    def _declared_units(self) -> dict[str, str]:
        listed = self.root.find("TypeDefinitions")
        units = {}
        for node in [] if listed is None else listed:
            own = node if self.version == 3 else next(iter(node), node)
            units[str(node.get("name"))] = str(own.get("unit") or "")
        return units

    def _lengths(self, raw: list[tuple[str, str, Any, Any]], references: list[int]) -> dict[int, int]:
        """The values of structural parameters, which dimensions refer to."""
        return {
            reference: self._whole(node.get("start"), f"the start of {name[:40]!r}", MOST_NUMBERS)
            for (name, kind, node, _), reference in zip(raw, references)
            if self.version == 3 and node.get("causality") == "structuralParameter" and kind.startswith("UInt")
        }

    def _quantity(
        self, name: str, kind: str, node: Any, inner: Any, reference: int, by_index: list[str],
        by_reference: dict[int, str], units: dict[str, str], lengths: dict[int, int],
    ) -> FmuQuantity:  # fmt: skip
        causality = node.get("causality", "local")
        default = "continuous" if kind in ("Float64", "Float32") else "discrete"
        if causality in ("parameter", "calculatedParameter", "structuralParameter"):
            default = "fixed"
        shape = self._shape(name, node, lengths)
        start = self._start(name, kind, inner, shape)
        derivative = inner.get("derivative")
        of = None
        if derivative is not None:
            index = self._whole(derivative, f"derivative= of {name[:40]!r}")
            of = (
                (by_index[index - 1] if 0 < index <= len(by_index) else None)
                if self.version == 2
                else by_reference.get(index)
            )
            if of is None:
                raise broken(self.file, f"{name[:40]!r} is the derivative of variable {index}, which there is not")
        nominal = abs(self._number(inner.get("nominal", "1"), f"nominal of {name[:40]!r}")) or 1.0
        return FmuQuantity(
            name, reference, kind, causality, node.get("variability", default), node.get("initial", ""), start,
            inner.get("unit") or units.get(inner.get("declaredType", ""), ""), node.get("description", ""), shape, of,
            nominal if math.isfinite(nominal) else 1.0, bool(node.get("clocks")),
        )  # fmt: skip

    def _shape(self, name: str, node: Any, lengths: dict[int, int]) -> tuple[int, ...]:
        if self.version == 2:
            return ()
        shape = []
        for dimension in node.findall("Dimension"):
            if dimension.get("start") is not None:
                shape.append(self._whole(dimension.get("start"), f"a dimension of {name[:40]!r}", MOST_NUMBERS))
                continue
            reference = self._whole(dimension.get("valueReference"), f"a dimension of {name[:40]!r}")
            if reference not in lengths:
                raise broken(self.file, f"a dimension of {name[:40]!r} refers to {reference}, which is no length")
            shape.append(lengths[reference])
        return tuple(shape)

    def _start(self, name: str, kind: str, inner: Any, shape: tuple[int, ...]) -> tuple[float, ...] | None:
        text = inner.get("start")
        if text is None or kind not in NUMBERS:
            return None
        values = tuple(self._number(word, f"the start of {name[:40]!r}") for word in text.split()[: MOST_NUMBERS + 1])
        size = math.prod(shape)
        if shape and len(values) == 1:
            values *= size
        if len(values) != size:
            raise broken(self.file, f"{name[:40]!r} has {len(values)} start values and holds {size} numbers")
        return values

    # -- structure --------------------------------------------------------------------------------------------

    def _indicators(self) -> int:
        if self.version == 2:
            return self._whole(self.root.get("numberOfEventIndicators", "0") or "0", "numberOfEventIndicators", 10**6)
        structure = self.root.find("ModelStructure")
        return 0 if structure is None else len(structure.findall("EventIndicator"))

    def _structure(
        self, quantities: dict[str, FmuQuantity], by_index: list[str], by_reference: dict[int, str]
    ) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, tuple[str, ...] | None]]:
        structure = self.root.find("ModelStructure")
        if structure is None:
            raise broken(self.file, "it has no ModelStructure")

        def named(number: int) -> str:
            name = (
                (by_index[number - 1] if 0 < number <= len(by_index) else None)
                if self.version == 2
                else by_reference.get(number)
            )
            if name is None:
                raise broken(self.file, f"its structure refers to variable {number}, which there is not")
            return name

        def unknowns(nodes: Iterable[Any], depends: dict[str, tuple[str, ...] | None]) -> tuple[str, ...]:
            names = []
            for node in nodes:
                own = named(self._whole(node.get("index" if self.version == 2 else "valueReference"), "an unknown"))
                words = node.get("dependencies")
                numbers = None if words is None else [self._whole(word, "a dependency") for word in words.split()]
                depends[own] = None if numbers is None else tuple(named(number) for number in numbers)
                names.append(own)
            return tuple(names)

        depends: dict[str, tuple[str, ...] | None] = {}
        if self.version == 2:
            groups = {tag: structure.find(tag) for tag in ("Derivatives", "Outputs")}
            rates = unknowns(groups["Derivatives"] if groups["Derivatives"] is not None else (), depends)
            outputs = unknowns(groups["Outputs"] if groups["Outputs"] is not None else (), depends)
        else:
            rates = unknowns(structure.findall("ContinuousStateDerivative"), depends)
            outputs = unknowns(structure.findall("Output"), depends)
        for rate in rates:
            if quantities[rate].derivative_of is None:
                raise broken(self.file, f"{rate[:40]!r} is listed as the rate of a state and does not say of which")
        return rates, outputs, depends
