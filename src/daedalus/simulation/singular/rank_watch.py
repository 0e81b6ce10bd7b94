"""How independent the constraints of a system are along a run: the determinant of what they and their forces act on.

The system Jacobian, ∂F_i/∂w_j^(σ_ij) where d_j - c_i = σ_ij with the offsets c and d of the structure (J. D. Pryce,
BIT 41, 2001), is regular where the equations and their derivatives determine a motion. Of its irreducible blocks those
count that hold constraints; with masses M and directions G of constraints that is M G' over G 0, whose determinant
vanishes where the rows of G become dependent.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import FULL_RANK, Weakest, weakest
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.compilation import Compiled
from daedalus.model.expressions import contains
from daedalus.model.lazy_values import cached_property
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.simulation.plant.explicit_plant import ExplicitPlant
from daedalus.simulation.plant.implicit_plant import ImplicitPlant
from daedalus.simulation.plant.plant import Plant
from daedalus.simulation.plant.plants import implicit_plant_of, plant_of
from daedalus.simulation.result.samples import Samples
from daedalus.simulation.singular.log_determinant import log_determinant

# Larger systems, larger blocks and longer formulas are not followed along a run.
LARGEST, LONGEST = 100, 3000


class RankWatch:
    """The blocks of the system Jacobian that hold constraints, along the runs of a plant.

    labels: the equations of the blocks. constrains: which of them are constraints.
    moving: the columns of a row of a run with what moves by derivatives, without forces among the states.
    """

    def __init__(
        self, plant: Plant, block: ca.SX, logarithm: ca.SX, labels: Sequence[str], constrains: np.ndarray,
        moving: np.ndarray,
    ) -> None:  # fmt: skip
        self.labels, self.constrains, self.moving = tuple(labels), constrains, moving
        self._plant, self._block = plant, block
        self.logarithm = plant.compiled_values("logarithm", logarithm)

    @cached_property
    def _matrix(self) -> Compiled:
        return self._plant.compiled_values("matrix", ca.vec(ca.densify(self._block)))

    @cached_property
    def by_parameters(self) -> ca.Function:
        """(t, x, u, p) -> log |det| up to a constant of a run, by pivots without states where there are some.

        It is shorter, and has a value where a coordinate is zero, but none where such a parameter is.
        """
        system = self._plant.system
        arguments = system.symbols(("t", "x", "u", "p"))
        logarithm = self._plant._in_rows(log_determinant(self._block, system.symbol("p")))
        found = ca.Function("by_parameters", arguments, [logarithm], {"cse": True})
        values = [np.linspace(0.6, 1.4, argument.numel()) for argument in arguments]
        return found if np.isfinite(float(found(*values))) else self.logarithm.function

    def logarithms(self, samples: Samples) -> np.ndarray:
        """log |det| at the times of samples, up to a constant; not a number where it cannot be computed."""
        return np.asarray(self.logarithm.core.evaluate_many(*_arguments(samples))[0][:, 0])

    def extremes(self, samples: Samples) -> tuple[float, float]:
        """The lowest and the highest of these logarithms, of those that are numbers."""
        return self.logarithm.core.extremes(*_arguments(samples))

    def weakest(self, samples: Samples, usual: Samples) -> Weakest:
        """How near the matrix is to a singular one at the times of samples, by what it is at a usual moment."""
        return weakest(self.matrices(samples), self.matrices(usual)[0])

    def matrices(self, samples: Samples) -> np.ndarray:
        """The matrix at the times of samples, (nt, n, n)."""
        n = len(self.labels)
        flat = self._matrix.core.evaluate_many(*samples._arguments())[0]
        return np.asarray(flat).reshape(len(flat), n, n).transpose(0, 2, 1)


def _arguments(samples: Samples) -> tuple[np.ndarray, ...]:
    """t, the rows, u and p; constant inputs need not be written out for every time."""
    drive = samples._drive
    u = samples._inputs if drive.moves else drive.constants
    return samples._times[:, None], samples._x, u, samples._parameters


def rank_watch_of(plant: Plant) -> RankWatch | None:
    """The measure for a plant, made once; None where nothing constrains, nothing changes, or it would be too long."""
    return once(plant.system, _measured, plant.is_implicit)


def constraining(system: System) -> np.ndarray | None:
    """Which equations are constraints, as they stand or differentiated; None where blocks of them are not followed."""
    if system.choices or len(system.rows) > FULL_RANK:
        return None
    offsets = structure_of(system).signature
    return np.array([row.times > 0 for row in system.rows], dtype=bool) | (offsets.c > 0) if offsets.regular else None


def _measured(system: System, implicit: bool) -> RankWatch | None:
    plant: Plant = implicit_plant_of(system) if implicit else plant_of(system)
    hidden = isinstance(plant, ImplicitPlant) and plant.index.largest > 1
    if not (hidden or system.rows.is_differentiated):
        return None
    constrains = constraining(system)
    if constrains is None:
        return None
    structure = structure_of(system)
    wanted = [
        block
        for block in structure.blocks
        if constrains[block.equations].any() and not _has_junctions(system, block.equations)
    ]
    rows = [row for block in wanted for row in block.equations.tolist()]
    columns = [column for block in wanted for column in block.unknowns.tolist()]
    if not 0 < len(rows) <= LARGEST:
        return None
    block = structure.jacobian[rows, columns]
    logarithm = log_determinant(block)
    if not _is_followed(plant, block, logarithm):
        return None
    labels = [system.rows[k].equation for k in rows]
    moving = np.flatnonzero(structure.signature.d[: system.sizes["x"]] > 0)
    return RankWatch(plant, block, logarithm, labels, constrains[rows], moving)


def _has_junctions(system: System, equations: np.ndarray) -> bool:
    """Whether laws of junctions, which are written with ln(1 + e), are among these equations.

    Capacitances act in all directions at any voltage, but the slopes of a junction's law and of its charge change by
    ten decades from where it blocks to where it conducts, and the determinant with them: that is no loss of a rank.
    """
    laws = ca.Function("laws", system.symbols(), [system.residual[equations.tolist()]])
    return contains(laws, (ca.OP_LOG1P,))


def _is_followed(plant: Plant, block: ca.SX, logarithm: ca.SX) -> bool:
    """Whether the measure changes along a run, is short enough, and can be read from a row of the run."""
    symbols = plant.system.symbols()
    if not ca.depends_on(logarithm, ca.vertcat(*symbols[:-1])):
        return False
    if ca.Function("length", symbols, [logarithm]).n_instructions() > LONGEST:
        return False
    readable = plant.is_implicit or isinstance(plant, ExplicitPlant)
    return readable or not ca.depends_on(block, ca.vertcat(symbols[1], symbols[3]))
