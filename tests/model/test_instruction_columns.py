"""Long functions are read at once: the same instructions as one by one."""

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from daedalus.model.system import instruction_list
from daedalus.model.system.casadi_instructions import in_memory, instruction_columns
from daedalus.model.system.instruction_list import UnknownOperationError, read_instructions

UNARY = [
    ca.sin,
    ca.exp,
    ca.sqrt,
    ca.fabs,
    ca.sign,
    ca.floor,
    ca.tanh,
    ca.erf,
    ca.log1p,
    lambda a: -a,
    lambda a: a * a,
    lambda a: 1 / a,
]
BINARY = [
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, ca.fmin, ca.fmax, ca.atan2,
        ca.hypot,
    lambda a, b: ca.if_else(a > b, a, b), lambda a, b: a**b, ca.fmod, ca.copysign,
    lambda a, b: ca.logic_or(a < b, a == b),
]  # fmt: skip


def mixed(seed, length=400):
    """A function of every kind of operation, several inputs and outputs, repeated and unused parts."""
    generator = np.random.default_rng(seed)
    x, p = ca.SX.sym("x", 20), ca.SX.sym("p", 3, 2)
    values = [*ca.vertsplit(x), *ca.vertsplit(ca.vec(p)), ca.SX(2.5), ca.SX(-1)]
    for _ in range(length):
        a, b = (values[k] for k in generator.integers(0, len(values), 2))
        if generator.random() < 0.3:
            values.append(UNARY[generator.integers(len(UNARY))](a))
        else:
            values.append(BINARY[generator.integers(len(BINARY))](a, b) + generator.integers(0, 3) * 0.125)
    chosen = generator.permutation(values[-60:])
    pattern = ca.SX(ca.Sparsity.banded(10, 1))
    pattern[0, 0] = chosen[0]
    return ca.Function("mixed", [x, p], [ca.vertcat(*chosen), pattern, ca.SX(3, 1)])


def changed_everywhere(raw):
    """An array of the right length with other numbers."""
    return raw ^ np.uint8(1)


@pytest.mark.parametrize("memory", ["read", "unknown", "something else"])
@pytest.mark.parametrize("seed", range(4))
def test_the_same_as_one_by_one(seed, memory, monkeypatch):
    f, texts = mixed(seed), []
    monkeypatch.setattr(instruction_list, "LONG", 10**9)
    slow = read_instructions(f)
    monkeypatch.setattr(instruction_list, "LONG", 1)
    if memory != "read":
        own = instruction_columns.records_in_memory
        others = {"unknown": lambda f: [], "something else": lambda f: [changed_everywhere(raw) for raw in own(f)]}
        monkeypatch.setattr(instruction_columns, "records_in_memory", others[memory])
    text = instruction_columns.serialised_records
    monkeypatch.setattr(instruction_columns, "serialised_records", lambda *of: texts.append(of) or text(*of))
    fast = read_instructions(f)
    assert len(texts) == (memory != "read" or not Path("/proc/self/mem").exists())
    for name in ("operation", "first", "second", "slot"):
        assert getattr(fast, name) == getattr(slow, name)
    assert fast.constants.tobytes() == slow.constants.tobytes()
    assert fast.digest() == slow.digest()


def test_a_format_that_is_not_known_is_read_one_by_one(monkeypatch):
    f = mixed(9)
    monkeypatch.setattr(instruction_list, "LONG", 1)
    monkeypatch.setattr(instruction_list, "instruction_columns", lambda f: None)
    assert len(read_instructions(f)) == f.n_instructions()


def test_what_is_no_arithmetic_is_refused(monkeypatch):
    monkeypatch.setattr(instruction_list, "LONG", 1)
    x = ca.SX.sym("x", 3)
    with pytest.raises(UnknownOperationError, match="printme"):
        read_instructions(ca.Function("f", [x], [x.printme(0)]))


def test_words_that_are_no_addresses_are_no_places_of_instructions():
    """Their differences wrap around: 2^64 - 8 and 96 - 8 are 96 apart, and the system takes no such address."""
    size, first = 96, 4096
    words = [2**64 - 8, size - 8, 2**64 - 1, 2**63, 2**63 + size, 2**63 + size, 0, first, first + size, first + size]
    assert in_memory._addresses(np.array(words, np.uint64).tobytes(), size) == [first]
