"""modelDescription.xml of an FMU: variables by the user's names, with units, start values and structure."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from daedalus.errors import InputError

KINDS = {"model_exchange": "ModelExchange", "co_simulation": "CoSimulation"}


@dataclass(frozen=True)
class FmuVariable:
    """One number of the model: how it is called, what it is, and what it depends on (indices of variables)."""

    name: str
    reference: int
    causality: str
    variability: str
    start: float | None = None
    unit: str = ""
    derivative_of: int | None = None  # the index of its state
    depends: tuple[int, ...] = ()
    is_guard: bool = False
    nominal: float | None = None
    lower: float | None = None
    upper: float | None = None
    is_open: bool = False  # its start value is where the search for one that fits begins
    aliases: tuple[str, ...] = ()  # further names of it
    same_as: int | None = None  # the reference of a variable whose value it always has

    @property
    def limits(self) -> str:
        """Its usual size and its bounds as attributes."""
        given = (("nominal", self.nominal), ("min", self.lower), ("max", self.upper))
        return "".join(f' {word}="{value!r}"' for word, value in given if value is not None)

    @property
    def is_exact(self) -> bool:
        """Whether its start value is given, not computed."""
        return (
            self.start is not None and self.causality != "input" and self.variability != "tunable" and not self.is_open
        )

    @property
    def initial(self) -> str:
        """How its start value counts, as an attribute."""
        return ' initial="exact"' if self.is_exact else ' initial="approx"' if self.is_open else ""


# What a communication step of FMI 3 can do: any length, tell of steps inside, end early, leave events to the importer.
STEPS_OF_FMI_3 = (
    ' canHandleVariableCommunicationStepSize="true" providesIntermediateUpdate="true" hasEventMode="true"'
    ' mightReturnEarlyFromDoStep="true" canReturnEarlyAfterIntermediateUpdate="true"'
)
# Guards are looked at after each step, so that a crossing is seen where the one before ended at zero.
NEEDED_OF_IMPORTERS = ' needsCompletedIntegratorStep="true"'
# What is told where a call fails.
LOG = '<LogCategories><Category name="logStatusError"/></LogCategories>'
# The folder of each platform's library in FMI 3 and FMI 2 (None: not foreseen there), and how its name ends.
PLATFORMS = {
    "x86_64-linux": ("linux64", ".so"),
    "aarch64-linux": (None, ".so"),
    "x86_64-windows": ("win64", ".dll"),
    "x86_64-darwin": ("darwin64", ".dylib"),
    "aarch64-darwin": ("darwin64", ".dylib"),
}


def own_platform() -> str:
    """The platform of this process in the words of FMI 3."""
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    system = "linux" if sys.platform.startswith("linux") else {"win32": "windows"}.get(sys.platform, sys.platform)
    return f"{machine}-{system}"


def platform_folder(version: int, name: str) -> tuple[str, str]:
    """The folder of a platform's library and the ending of its name."""
    old, ending = PLATFORMS.get(name, (None, ""))
    folder = old if version == 2 else name
    if not ending or folder is None:
        raise InputError(
            "FMUs cannot be made for this platform.",
            f"it is {name}, FMI {version}",
            because="FMI 2 has no name for it." if ending else "there is no library for it.",
            remedy="version=3" if ending else "Linux, macOS or Windows on x86-64",
        )
    return folder, ending


def description(
    name: str, identifier: str, token: str, version: int, kinds: list[str], variables: list[FmuVariable], events: int,
    rtol: float,
) -> str:  # fmt: skip
    """The XML of FMI 2.0 or 3.0."""
    whole = _description_2 if version == 2 else _description_3
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + whole(name, identifier, token, kinds, variables, events, rtol)


def _units(variables: list[FmuVariable]) -> str:
    names = dict.fromkeys(v.unit for v in variables if v.unit)
    return (
        f"<UnitDefinitions>{''.join(f'<Unit name={quoteattr(n)}/>' for n in names)}</UnitDefinitions>" if names else ""
    )


def _description_2(
    name: str, identifier: str, token: str, kinds: list[str], variables: list[FmuVariable], events: int, rtol: float
) -> str:
    able = 'canGetAndSetFMUstate="true" canSerializeFMUstate="true" providesDirectionalDerivative="true"'
    own = ""
    for kind in kinds:
        more = ' canHandleVariableCommunicationStepSize="true"' if kind == "co_simulation" else ""
        own += f'<{KINDS[kind]} modelIdentifier="{identifier}" {able}{more}/>'
    rows = []
    # Further names stand last, so that they move no index.
    further = [
        FmuVariable(name, v.reference, "local", v.variability, unit=v.unit, nominal=v.nominal)
        for v in variables
        for name in v.aliases
    ]
    for v in [*variables, *further]:
        reference = v.reference if v.same_as is None else v.same_as
        words = f'name={quoteattr(v.name)} valueReference="{reference}" causality="{v.causality}"'
        real = f" start={quoteattr(repr(v.start))}" if v.start is not None else ""
        real += f" unit={quoteattr(v.unit)}" if v.unit else ""
        real += v.limits
        real += f' derivative="{v.derivative_of}"' if v.derivative_of is not None else ""
        rows.append(f'<ScalarVariable {words} variability="{v.variability}"{v.initial}><Real{real}/></ScalarVariable>')
    outputs = [(k, v) for k, v in enumerate(variables, 1) if v.causality == "output"]
    slopes = [(k, v) for k, v in enumerate(variables, 1) if v.derivative_of is not None]
    first = [(k, v) for k, v in enumerate(variables, 1) if _is_unknown(v)]

    def listed(tag: str, entries: list[tuple[int, FmuVariable]]) -> str:
        def depends(v: FmuVariable) -> str:
            return "" if tag == "InitialUnknowns" and v.is_open else f' dependencies="{" ".join(map(str, v.depends))}"'

        inner = "".join(f'<Unknown index="{k}"{depends(v)}/>' for k, v in entries)
        return f"<{tag}>{inner}</{tag}>" if entries else ""

    # What is known before the start are the same variables: states, inputs and parameters.
    structure = listed("Outputs", outputs) + listed("Derivatives", slopes) + listed("InitialUnknowns", first)
    return (
        f'<fmiModelDescription fmiVersion="2.0" modelName={quoteattr(name)} guid="{token}" generationTool="Daedalus" '
        f'variableNamingConvention="flat" numberOfEventIndicators="{events}">{own}{_units(variables)}'
        f'{LOG}<DefaultExperiment tolerance="{rtol!r}"/><ModelVariables>{"".join(rows)}</ModelVariables>'
        f"<ModelStructure>{structure}</ModelStructure></fmiModelDescription>"
    )


def _is_unknown(v: FmuVariable) -> bool:
    """Whether a value is computed at the start."""
    return v.is_open or v.derivative_of is not None or (v.causality == "output" and not v.is_exact)


def _description_3(
    name: str, identifier: str, token: str, kinds: list[str], variables: list[FmuVariable], events: int, rtol: float
) -> str:
    able = 'canGetAndSetFMUState="true" canSerializeFMUState="true" providesDirectionalDerivatives="true"'
    able += ' providesAdjointDerivatives="true"'
    own = ""
    for kind in kinds:
        more = STEPS_OF_FMI_3 if kind == "co_simulation" else NEEDED_OF_IMPORTERS if events else ""
        own += f'<{KINDS[kind]} modelIdentifier="{identifier}" {able}{more}/>'
    by_index = {k: v.reference for k, v in enumerate(variables, 1)}
    rows = []
    # Importers make ports of variables, and a further name has no causality: an output keeps a variable of its own.
    alike = [v for v in variables if v.same_as is not None and v.causality == "local"]
    for v in variables:
        if v in alike:
            continue
        words = f'name={quoteattr(v.name)} valueReference="{v.reference}" causality="{v.causality}"'
        words += f' variability="{v.variability}"{v.initial}'
        words += f" start={quoteattr(repr(v.start))}" if v.start is not None else ""
        words += f" unit={quoteattr(v.unit)}" if v.unit else ""
        words += v.limits
        words += f' derivative="{by_index[v.derivative_of]}"' if v.derivative_of is not None else ""
        names = [*v.aliases, *(other.name for other in alike if other.same_as == v.reference)]
        inside = "".join(f"<Alias name={quoteattr(name)}/>" for name in names)
        rows.append(f"<Float64 {words}>{inside}</Float64>" if inside else f"<Float64 {words}/>")

    def unknown(tag: str, v: FmuVariable) -> str:
        if tag == "InitialUnknown" and v.is_open:
            return f'<{tag} valueReference="{v.reference}"/>'
        depends = " ".join(str(by_index[k]) for k in v.depends)
        return f'<{tag} valueReference="{v.reference}" dependencies="{depends}"/>'

    outputs = [v for v in variables if v.causality == "output"]
    slopes = [v for v in variables if v.derivative_of is not None]
    structure = "".join(unknown("Output", v) for v in outputs)
    structure += "".join(unknown("ContinuousStateDerivative", v) for v in slopes)
    structure += "".join(unknown("InitialUnknown", v) for v in variables if _is_unknown(v))
    structure += "".join(unknown("EventIndicator", v) for v in variables if v.is_guard)
    return (
        f'<fmiModelDescription fmiVersion="3.0" modelName={quoteattr(name)} instantiationToken="{token}" '
        f'generationTool="Daedalus" variableNamingConvention="flat">{own}{_units(variables)}'
        f'{LOG}<DefaultExperiment tolerance="{rtol!r}"/><ModelVariables>{"".join(rows)}</ModelVariables>'
        f"<ModelStructure>{structure}</ModelStructure></fmiModelDescription>"
    )
