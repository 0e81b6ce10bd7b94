"""The charges of a system, which equations balance the currents into them, and what they are as functions of voltages.

A part writes the current into a charge q(v) as C(v) v', so that its voltages stay the states of the model. A method
that discretises v' keeps the charge within its tolerance, step by step. The balance of a node is

    0 = d/dt P(x) + R(t, x', x, z, u, p),   P = sum of a_k q_k(v)

with numbers a_k, and a method that discretises dP/dt keeps P to rounding where no current leaves (D. E. Ward,
R. W. Dutton, IEEE J. Solid-State Circuits 13 (1978) 703-708). This file finds the a_k: ∂F/∂x' is the sum of
a_k ∂i_k/∂x' for the currents i_k into the charges, at every point. Charges in proportion to voltages stay in R: what v'
keeps of them needs no difference, in which a large capacitor would cost the small charges beside it their digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedalus.algebra.rank_decision import KNOWN_BY_DIFFERENCES
from daedalus.analysis.structure.system_structure import structure_of
from daedalus.errors import InputError
from daedalus.model.assembly.ledger import Ledger
from daedalus.model.system.closed_loop import opened
from daedalus.model.system.once import By, remembered
from daedalus.model.system.system import System
from daedalus.model.system.system_record import ARGUMENTS
from daedalus.simulation.plant.plant import named_expressions

# Points at which shares are found, and as many at which they are confirmed.
POINTS = 4
# What a confirmed share leaves, in parts of the sum of sizes: rounding errors of one sum.
LEFT = 1e-11
VOLTS = 0.4  # how far from zero points lie, where no junction has begun to conduct more than its capacitances carry


@dataclass(frozen=True, eq=False)
class Charges:
    """The equations `rows`, their charges P, and the residual of all equations without the currents into these.

    All are expressions of (t, x', x, z, u, p); P has one entry an equation, zero where it is none of `rows`. Its slopes
    are what it has of ∂F/∂x'.
    """

    rows: tuple[int, ...]
    charge: ca.SX
    rest: ca.SX
    slopes: ca.SX


@remembered
def charges_of(system: System, origin: By[System]) -> Charges | None:
    """The charges of a system whose balances discretise them; None where it has none.

    origin: the system of the same unknowns that has names for what joining and reduction took away, mostly itself.
    """
    written = _written_charges(origin.value)
    if written is None:
        return None
    currents, charges = written
    rates = system.symbol("xdot")
    mass, shares_of = structure_of(system).slopes("xdot"), ca.jacobian(currents, rates)
    rows = [row for row in _varying(mass, system) if not ca.depends_on(mass[row, :], rates)]
    if not rows:
        return None
    found, bent = _shares(system, mass[rows, :], shares_of), _varying(shares_of, system)
    used = np.flatnonzero(found[:, bent].any(axis=1))
    if not used.size:
        return None
    rows, every = [rows[k] for k in used], found[used]
    curved, straight = np.zeros_like(every), every.copy()
    curved[:, bent], straight[:, bent] = every[:, bent], 0.0
    still = ca.SX.zeros(rates.numel())
    residual, rest = ca.SX(system.residual), ca.SX(ca.densify(system.residual))
    parts = ca.substitute([residual[rows], currents], [rates], [still])
    linear = ca.mtimes(ca.sparsify(ca.DM(straight)), currents)
    rest[rows] = parts[0] - ca.mtimes(ca.sparsify(ca.DM(every)), parts[1]) + linear
    charge, slopes = ca.SX.zeros(residual.numel()), ca.SX(*mass.shape)
    charge[rows] = ca.mtimes(ca.sparsify(ca.DM(curved)), charges)
    slopes[rows, :] = ca.mtimes(ca.sparsify(ca.DM(curved)), shares_of)
    return Charges(tuple(rows), charge, ca.densify(rest), slopes)


def _written_charges(system: System) -> tuple[ca.SX, ca.SX] | None:
    """The currents into charges and the charges, in the symbols of a system."""
    ledger = opened(system).part(Ledger)
    if ledger is None or not ledger.charges:
        return None
    pair = ledger.charged()
    symbols = ca.symvar(ca.vertcat(*pair))
    try:
        values = named_expressions(system, [symbol.name() for symbol in symbols])
    except InputError:
        return None
    if any(value.numel() != 1 for value in values):
        return None
    found = ca.substitute(list(pair), [ca.vertcat(*symbols)], [ca.vertcat(*values)])
    return ca.densify(found[0]), ca.densify(found[1])


def _varying(mass: ca.SX, system: System) -> list[int]:
    """The rows of a matrix whose entries move with what a run moves."""
    moving = ca.vertcat(*(system.symbol(letter) for letter in ("t", "x", "z", "u")))
    return [row for row in range(mass.size1()) if mass[row, :].nnz() and ca.depends_on(mass[row, :], moving)]


def _shares(system: System, mass: ca.SX, slopes: ca.SX) -> np.ndarray:
    """The shares a of every row: mass = a slopes at all points; zeros where no numbers fit."""
    look = ca.Function("slopes", system.symbols(), [mass, slopes])
    points = [_point(system, seed) for seed in range(2 * POINTS)]
    values = [tuple(np.asarray(part.full()) for part in look(*point)) for point in points]
    pattern, other = (ca.DM(matrix.sparsity(), 1).full() != 0 for matrix in (mass, slopes))
    found = np.zeros((mass.size1(), slopes.size1()))
    for row in range(mass.size1()):
        columns = np.flatnonzero(pattern[row])
        # What moves another state has no part in this balance.
        charges = np.flatnonzero(other.any(axis=1) & ~other[:, ~pattern[row]].any(axis=1))
        if not charges.size:
            continue
        left = np.concatenate([value[1][np.ix_(charges, columns)].T for value in values[:POINTS]])
        right = np.concatenate([value[0][row, columns] for value in values[:POINTS]])
        size = np.abs(left).max(axis=0)
        if not (np.isfinite(left).all() and np.isfinite(right).all() and size.min() > 0):
            continue
        shares = np.linalg.lstsq(left / size, right, rcond=None)[0] / size
        whole = np.round(shares)
        shares = np.where(np.abs(shares - whole) <= KNOWN_BY_DIFFERENCES, whole, shares)
        if all(_fits(value[0][row, columns], value[1][np.ix_(charges, columns)], shares) for value in values):
            found[row, charges] = shares
    return found


def _fits(row: np.ndarray, slopes: np.ndarray, shares: np.ndarray) -> bool:
    sizes = np.abs(shares) @ np.abs(slopes)
    return bool(np.all(np.abs(row - shares @ slopes) <= LEFT * sizes))


def _point(system: System, seed: int) -> list[np.ndarray]:
    """A point at which a system is looked at; every seed has parameters of its own."""
    random = np.random.default_rng(seed)
    sizes = {letter: system.symbol(letter).numel() for letter in ARGUMENTS}
    found = {letter: VOLTS * random.uniform(-1, 1, size) for letter, size in sizes.items()}
    found["p"] = np.asarray(system.start["p"], dtype=float) * random.uniform(0.9, 1.1, sizes["p"])
    return [found[letter] for letter in ARGUMENTS]
