"""What a modelDescription.xml says, as records: variables, kinds, structure."""

from __future__ import annotations

from dataclasses import dataclass, field

MODEL_EXCHANGE, CO_SIMULATION = "model_exchange", "co_simulation"
FLOATS = ("Float64", "Float32")
INTEGERS = ("Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Enumeration")
NUMBERS = (*FLOATS, *INTEGERS, "Boolean")


@dataclass(frozen=True)
class FmuQuantity:
    """One variable of an FMU.

    type: in the words of FMI 3, "Float64", "Int32", "Boolean", ... shape: () for a number, or the dimensions of FMI 3.
    start: its values by rows, None where the FMU computes them. derivative_of: the state whose rate it is.
    """

    name: str
    reference: int
    type: str
    causality: str
    variability: str
    initial: str
    start: tuple[float, ...] | None
    unit: str = ""
    description: str = ""
    shape: tuple[int, ...] = ()
    derivative_of: str | None = None
    nominal: float = 1.0
    is_clocked: bool = False

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        count = 1
        for length in self.shape:
            count *= length
        return count

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers; texts, bytes and clocks are not."""
        return self.type in NUMBERS


@dataclass(frozen=True)
class FmuKind:
    """What an FMU can do as one kind."""

    kind: str
    identifier: str
    directional: bool = False
    saves: bool = False
    needs_completed_steps: bool = False
    needs_tool: bool = False
    event_mode: bool = False
    variable_step: bool = False
    fixed_step: float | None = None


@dataclass(frozen=True)
class FmuDescription:
    """An FMU as its modelDescription.xml describes it.

    depends: for outputs, rates and indicators the names that each depends on, None where the file does not say.
    """

    name: str
    version: int
    token: str
    kinds: dict[str, FmuKind]
    quantities: dict[str, FmuQuantity]
    rates: tuple[str, ...]
    outputs: tuple[str, ...]
    indicators: int
    depends: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    step: float | None = None
    stop: float | None = None
    tolerance: float | None = None

    @property
    def states(self) -> tuple[str, ...]:
        """The names of the continuous states, in the order of the FMU."""
        return tuple(self.quantities[rate].derivative_of or "" for rate in self.rates)

    def of_causality(self, *words: str) -> list[FmuQuantity]:
        """The variables that are numbers, of some causalities."""
        return [q for q in self.quantities.values() if q.causality in words and q.is_number and not q.is_clocked]

    @property
    def has_discrete_parts(self) -> bool:
        """Whether something inside can change at instants."""
        return self.indicators > 0 or any(
            q.variability == "discrete" and q.causality not in ("input", "parameter") for q in self.quantities.values()
        )
