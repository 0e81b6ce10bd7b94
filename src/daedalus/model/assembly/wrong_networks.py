"""What is wrong with how parts are joined, in the words of parts: missing sources and grounds, sources in conflict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.algebra.agreement import SAME
from daedalus.errors import ModelError, SingularModelError
from daedalus.model.assembly.domains import DOMAINS
from daedalus.model.assembly.flattening import Flattening
from daedalus.model.assembly.joined_ports import joined
from daedalus.model.assembly.signed_terms import sums_of
from daedalus.model.assembly.unknowns import KNOWN, MOVING
from daedalus.model.expressions import concatenate
from daedalus.model.names import counted, listed
from daedalus.model.system.freeze import incidence
from daedalus.model.system.structure_parts import structure_parts

if TYPE_CHECKING:
    from daedalus.model.doors.inner_parts import PartDoor


def part_of(book: PartDoor, name: str) -> str:
    """The innermost part that a variable, port or equation belongs to; its own name where it is the model's."""
    return book.written.assembly.innermost(name) or name


def check_sources(book: PartDoor) -> None:
    """Every input of an added part has a source or a default, or is drawn."""
    written = book.written.assembly
    missing = [
        v.name
        for v in book.written.variables.values()
        if v.kind == "input"
        and v.noise is None
        and v.name not in written.sources
        and v.name not in written.defaults
        and (note := written.parts.get(part_of(book, v.name))) is not None
        and note.strict
    ]
    if missing:
        raise ModelError(
            f"The signal input {missing[0]} has no source.",
            f"also without one: {listed(missing[1:])}" if len(missing) > 1 else "it is not connected",
            because="the equations of the part need its value.",
            remedy=f'm.connect(controller.output, {missing[0]}), or u = m.input("u") and m.connect(u, {missing[0]})',
        )


def check_sums(work: Flattening) -> None:
    """No balance or loop consists of fixed quantities alone."""
    book, rank = work.book, work.unknowns.rank
    for number, row in enumerate(work.sums.rows):
        if row and all(rank[x] == KNOWN for x in row):
            names = [work.unknowns.names[x] for x in row]
            parts = [part_of(book, name) for name in names]
            own = work.rows[work.of_sum[number]]
            where = part_of(book, own.equation) if own.equation in book.written.equations else ""
            between = _holding_together(work, parts[0]) if len(row) == 1 else []
            both = list(dict.fromkeys([*parts, *([where] if where else []), *between]))
            raise SingularModelError(
                f"Ideal sources are in conflict: {listed(both)}.",
                f"joined so, the parts ask for {_sum_text(names, list(row.values()))}",
                because="each of them fixes the same quantity."
                if len(both) > 1
                else "the source is connected to itself, so its value must be zero.",
                remedy="a resistance, spring or other part between them, or one source less",
            )


def _holding_together(work: Flattening, part: str) -> list[str]:
    """The parts that make equal what two ports of a part share: an ideal amplifier, a sensor of current."""
    book = work.book
    node_of = {book.written.assembly.ports[side.port].shared: k for k, sides in enumerate(work.sets) for side in sides}
    own = {node_of[port.shared] for port in book.written.assembly.ports.values() if part_of(book, port.name) == part}
    found = []
    for name, rows in sums_of(book).items():
        nodes = [{node_of.get(variable, -1) for variable, _ in terms} for terms in rows if terms and len(terms) == 2]
        if any(len(pair) == 2 and pair <= own for pair in nodes):
            found.append(part_of(book, name))
    return found


def _sum_text(names: list[str], factors: list[int]) -> str:
    signs = ["+" if factor > 0 else "-" for factor in factors]
    text = " ".join(f"{sign} {name}" for sign, name in zip(signs, names))
    return f"{text.removeprefix('+ ')} = 0"


# -- potentials that nothing fixes -------------------------------------------------------------------------------------


def check_voltages(work: Flattening, residuals: list[ca.SX], gone: set[int]) -> None:
    """Refuse networks whose potentials may all be shifted together: nothing is joined to a ground.

    residuals: the equations that are left. gone: keys of the symbols that are not.
    """
    ports = [port for port in work.book.written.assembly.ports.values() if not DOMAINS[port.domain].is_mechanical]
    unknowns = work.unknowns
    roots: dict[int, list[str]] = {}
    for port in ports:
        root = work.sums.root(unknowns.by_name[port.shared])[0]
        if unknowns.keys[root] not in gone and unknowns.rank[root] < MOVING:
            roots.setdefault(root, []).append(port.name)
    shared = {port.shared for port in ports}
    free = [root for root in roots if unknowns.names[root] in shared]
    if not free:
        return
    floating = _shifted(concatenate(residuals), [unknowns.symbols[root] for root in free])
    if not floating:
        return
    names = [name for k in floating for name in roots[free[k]]]
    domain = DOMAINS[work.book.written.assembly.ports[names[0]].domain]
    parts = listed(dict.fromkeys(part_of(work.book, name) for name in names))
    raise SingularModelError(
        f"The {domain.name} network of {parts} has no reference.",
        f"every {domain.shared.name} in it may be shifted by the same amount: {listed(names)}",
        because="only differences of it enter the equations of the parts.",
        remedy=f"ground = m.add({domain.reference}) and m.connect(..., ground.{domain.reference_port})",
    )


def _shifted(residual: ca.SX, potentials: list[ca.SX]) -> list[int]:
    """Potentials of the first network that can be shifted as a whole without a change of any equation."""
    slopes = ca.jacobian(residual, concatenate(potentials))
    symbols = concatenate(ca.symvar(slopes))
    draw = np.random.default_rng(1958).uniform(0.5, 1.5, symbols.numel())
    values = ca.Function("slopes", [symbols], [slopes])(draw)
    rows, columns = (np.array(part, dtype=int) for part in values.sparsity().get_triplet())
    entries = np.array(values.nonzeros())
    entries[~np.isfinite(entries)] = 0.0
    # All potentials of an equation belong to one network, whose sum of slopes says what a common shift does to it.
    network = _networks(rows.tolist(), columns.tolist(), len(potentials))
    left, size = np.zeros(len(potentials)), np.zeros(len(potentials))
    of_row = dict(zip(rows.tolist(), network[columns].tolist()))
    sums, sizes = np.bincount(rows, entries), np.bincount(rows, abs(entries))
    for row, own in of_row.items():
        left[own], size[own] = max(left[own], abs(sums[row])), max(size[own], sizes[row])
    loose = [k for k in np.unique(network) if left[k] <= SAME * size[k]]
    return np.flatnonzero(network == loose[0]).tolist() if loose else []


def _networks(rows: list[int], columns: list[int], count: int) -> np.ndarray:
    """For each column the first one that it is joined to by rows."""
    first: dict[int, int] = {}
    network = np.arange(count)
    for group in joined(range(count), ((first.setdefault(row, k), k) for row, k in zip(rows, columns))):
        network[group] = group[0]
    return network


# -- structure ---------------------------------------------------------------------------------------------------------


def check_structure(work: Flattening, flat: PartDoor) -> None:
    """Refuse connections that determine some quantities twice and others not at all, naming the parts."""
    book = work.book
    equations = list(flat.all_equations().values())
    unknowns = [v for v in flat.written.variables.values() if v.kind in ("state", "algebraic")]
    residual = concatenate(e.residual for e in equations)
    rows, columns, labels = incidence(flat, unknowns, residual)
    count, size = residual.numel(), len(labels)
    matching = _core.maximum_matching(count, size, rows, columns)
    structure = structure_parts(count, size, rows, columns, matching.columns)
    if count == size and not len(structure.loose_unknowns):
        return
    names = [e.name for e in equations for _ in range(e.residual.numel())]
    over = [names[k] for k in structure.too_many_equations]
    twice = [part_of(book, source) for name in over for source in work.ports_of.get(name, (name,))]
    loose = [labels[k] for k in structure.loose_unknowns]
    # Equations in which everything cancelled say nothing that others do not say.
    idle = [work.rows[work.of_sum[k]].equation for k in work.sums.empty]
    if idle:
        twice += [part_of(book, name) for name in (*loose, *idle)]
    parts = [name for name in dict.fromkeys(twice) if name in book.written.assembly.parts]
    own = [name for name in dict.fromkeys(twice) if name in book.written.equations]
    if len(parts) == 1 and not own:
        parts += _joined_sources(work, parts[0])
    facts = [f"{counted(size, 'unknown')}, {counted(count, 'equation')} are left after joining"]
    if loose:
        facts.append(f"undetermined: {listed(loose)}")
    if parts:
        facts.append(f"determined twice among: {listed(dict.fromkeys(parts))}")
    if parts and own:
        raise SingularModelError(
            f"The model's own {listed(own)} and its parts determine the same quantity: {listed(parts)}.",
            facts,
            because="an extra equation determines what already follows from the components.",
            remedy="without that equation, or with an unknown of the model's own in it",
        )
    fixed = [name for name in parts if book.written.assembly.parts[name].ideal]
    raise SingularModelError(
        f"The parts {listed(dict.fromkeys(fixed or parts))} determine the same quantity." if parts
        else f"Nothing determines {listed(loose)}.",
        facts,
        because="two parts fix what joined ports share, or two fix what balances." if parts
        else "too few equations contain it.",
        remedy="one source or ground less, or a spring, damper, resistance or inertia between them" if parts
        else "m.equation(...), m.connect(...), or a part that determines it",
    )  # fmt: skip


def _joined_sources(work: Flattening, part: str) -> list[str]:
    """Sources and grounds at the ports of a part."""
    book = work.book
    nodes = [[part_of(book, side.port) for side in sides] for sides in work.sets]
    near = dict.fromkeys(name for parts in nodes if part in parts for name in parts if name != part)
    return [name for name in near if name in book.written.assembly.parts and book.written.assembly.parts[name].ideal]
