"""The structure of a system, found once and read by all: groups of symbols, slopes, patterns, offsets and blocks."""

from __future__ import annotations

from contextlib import suppress

import casadi as ca

from daedalus import _core
from daedalus.analysis.structure.block_form import Block, blocks_in_order
from daedalus.analysis.structure.signature import Signature, signature_by_patterns, tight_slopes
from daedalus.compilation.foreign_calls import calls_foreign_code, jacobian_past_calls
from daedalus.compilation.instruction_slopes import InstructionSlopes, instruction_slopes
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.instruction_list import UnknownOperationError, forget_told, read_instructions
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS

# From this many instructions on a Jacobian is made from them; below, CasADi's own takes milliseconds.
LONG_EQUATIONS = 10_000
_LONG_GROUPS = (("xdot",), ("x", "z"))
_by_letters = {key: tuple(ARGUMENTS.index(letter) for letter in key) for key in _LONG_GROUPS}

# The Jacobians of the last large system as instructions, by its function.
_last_slopes: list[tuple[ca.Function, InstructionSlopes]] = []


class SystemStructure:
    """What the equations of a system contain; each part is computed when it is first asked for."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._slopes: dict[tuple[str, ...], ca.SX] = {}
        self._patterns: dict[tuple[str, ...], ca.Sparsity] = {}
        # Which symbols stand in the Jacobians of a large system, where these are made from its instructions.
        self.letters_in_slopes: frozenset[str] = frozenset(ARGUMENTS)

    # -- symbols and names -------------------------------------------------------------------------------------

    def symbols(self, *letters: str) -> ca.SX:
        """The symbols of some letters below each other: `symbols("x", "z")` are the unknowns."""
        return ca.vertcat(*self.system.symbols(letters))

    @cached_property
    def jet(self) -> tuple[ca.SX, ca.SX]:
        """The unknowns (x, z) and their rates; those of z stand in no equation."""
        return self.symbols("x", "z"), ca.vertcat(self.system.symbol("xdot"), ca.SX.sym("z_1", self.system.sizes["z"]))

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the unknowns (x, z)."""
        return (*self.system.labels["x"], *self.system.labels["z"])

    @property
    def size(self) -> int:
        """How many unknowns (x, z) there are."""
        return self.system.sizes["x"] + self.system.sizes["z"]

    # -- slopes ------------------------------------------------------------------------------------------------

    def slopes(self, *letters: str) -> ca.SX:
        """∂F by the symbols of some letters together, sparse: `slopes("xdot", "z")` is what explicit methods solve."""
        if letters not in self._slopes:
            residual, symbols = self.system.residual, self.symbols(*letters)
            if calls_foreign_code(self.system.function):
                others = self.symbols(*(letter for letter in ARGUMENTS if letter not in letters))
                self._slopes[letters] = jacobian_past_calls(residual, symbols, others)
            else:
                self._slopes[letters] = ca.jacobian(residual, symbols)
        return self._slopes[letters]

    def long_slopes(self) -> InstructionSlopes | None:
        """∂F/∂x' and ∂F/∂(x, z) of a large system as instructions, where these can be differentiated; else None.

        They are longer than the equations: the last ones that were asked for are kept, until they are compiled.
        """
        function = self.system.function
        if function.n_instructions() < LONG_EQUATIONS or calls_foreign_code(function):
            return None
        if not self.system.residual.is_dense():
            return None
        if _last_slopes and _last_slopes[0][0].__hash__() == function.__hash__():
            return _last_slopes[0][1]
        _last_slopes.clear()
        # What writing and reading the equations took.
        _core.give_back_memory()
        with suppress(UnknownOperationError):
            groups = [_by_letters[key] for key in _LONG_GROUPS]
            found = instruction_slopes(read_instructions(function, placed=False), groups)
            if found is not None:
                _last_slopes.append((function, found))
            return found
        return None

    def compiled_slopes(self) -> None:
        """Drops the instructions of Jacobians, of which there is code by now."""
        if _last_slopes:
            _last_slopes.clear()
            forget_told()
            _core.give_back_memory()

    @cached_property
    def has_long_slopes(self) -> bool:
        """Whether the Jacobians of a large system are made from its instructions; their patterns are kept."""
        found = self.long_slopes()
        if found is not None:
            self._patterns.update((key, found.sparsity(k)) for k, key in enumerate(_LONG_GROUPS))
            self.letters_in_slopes = frozenset(ARGUMENTS[k] for k in found.rows.inputs_read())
        return found is not None

    def pattern(self, *letters: str) -> ca.Sparsity:
        """Where the symbols of some letters stand in the equations."""
        if letters not in self._patterns:
            if letters in _LONG_GROUPS and self.has_long_slopes:
                return self._patterns[letters]
            self._patterns[letters] = ca.jacobian_sparsity(self.system.residual, self.symbols(*letters))
        return self._patterns[letters]

    def rows_with(self, *letters: str) -> set[int]:
        """The equations in which symbols of some letters stand."""
        return set(self.pattern(*letters).row())

    def rows_without(self, *letters: str) -> list[int]:
        """The equations in which none of them stands."""
        return sorted(set(range(len(self.system.rows))) - self.rows_with(*letters))

    # -- offsets, blocks, system Jacobian ----------------------------------------------------------------------

    @cached_property
    def signature(self) -> Signature:
        """Which derivatives stand in which equation, and the offsets that follow."""
        # The rates of z, which stand in no equation, are the last columns that x' has not.
        patterns = [self.pattern("x", "z"), self.pattern("xdot")]
        return signature_by_patterns(int(self.system.residual.numel()), self.size, patterns)

    @cached_property
    def jacobian(self) -> ca.SX:
        """The system Jacobian ∂F_i/∂w_j^(σ_ij) where d_j - c_i = σ_ij, sparse."""

        def slopes(order: int, rows: list[int], columns: list[int]) -> ca.SX:
            if order:
                return ca.jacobian(self.system.residual[rows], self.jet[1][columns])
            return self.slopes("x", "z")[rows, columns]

        return tight_slopes(slopes, self.signature)

    @cached_property
    def blocks(self) -> list[Block]:
        """The irreducible blocks of the system Jacobian."""
        return blocks_in_order(self.signature, tight=True)


def structure_of(system: System) -> SystemStructure:
    """The structure of a system, kept with it.

    Example
    -------
    >>> import daedalus as dd
    >>> m = dd.Model("filling"); level = m.state("level"); flow = m.algebraic("flow")
    >>> m.equation(m.der(level), flow); m.equation(level, m.time)
    >>> found = structure_of(m.freeze())
    >>> found.labels, found.signature.c.tolist(), found.jacobian.nnz(), found is structure_of(m.freeze())
    (('level', 'flow'), [0, 1], 3, True)
    """
    return once(system, SystemStructure)
