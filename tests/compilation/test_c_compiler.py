"""The way through a C compiler."""

import casadi as ca
import numpy as np
import pytest
from random_graphs import ALL_OPERATIONS, SPECIAL, interpreted, same_bits

from daedalus.compilation import c_compiler, compile_function, counts
from daedalus.model.system.instruction_list import OPERATION_NAMES


@pytest.fixture(autouse=True)
def _only_c(monkeypatch):
    monkeypatch.setenv("DAEDALUS_COMPILER", "c")


def all_operations(factor: float) -> ca.Function:
    x = ca.SX.sym("x", 2)
    return ca.Function("all", [x], [factor * ca.vertcat(*(ca.SX.binary(op, x[0], x[1]) for op in ALL_OPERATIONS))])


@pytest.mark.parametrize("strict", [True, False])
def test_c_code_agrees_with_the_interpreter(strict):
    f = all_operations(1.0)
    compiled = compile_function(f, strict=strict)
    assert (compiled.tier, compiled.reason, compiled.core.kind) == ("C compiler", "", "machine code")
    at = np.array([(a, b) for a in SPECIAL for b in SPECIAL])
    (found,), expected = compiled.core.evaluate_many(at), interpreted(f, at)
    wrong = ~same_bits(found, expected)
    # The sign of a NaN is the compiler's choice.
    wrong[np.isnan(at[:, 1]), ALL_OPERATIONS.index(ca.OP_COPYSIGN)] = False
    if not strict:
        with np.errstate(invalid="ignore"):
            wrong &= ~(np.abs(found - expected) <= 2.3e-16 * np.abs(expected))
    assert not {OPERATION_NAMES[ALL_OPERATIONS[k]] for k in np.flatnonzero(wrong.any(axis=0))}


def test_libraries_are_kept_on_disk(tmp_path, monkeypatch, forget):
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path))
    compiler = c_compiler.find_compiler()
    assert compiler is not None
    first = compile_function(all_operations(1.25))
    assert (first.tier, len(list(tmp_path.iterdir()))) == ("C compiler", 1)
    forget()
    before = counts()
    again = compile_function(all_operations(1.25))
    assert (again.tier, counts().loaded_from_disk - before.loaded_from_disk) == ("disk cache", 1)
    assert np.all(same_bits(again([0.3, 0.4])[0], first([0.3, 0.4])[0]))


def test_a_broken_compiler_is_no_catastrophe(monkeypatch, tmp_path):
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    x = ca.SX.sym("x")
    compiled = compile_function(ca.Function("f", [x], [x * 1.0625]))
    assert compiled.tier == "interpreter"
    assert compiled.reason.startswith("the C compiler failed (")
    assert compiled(2.0)[0][0] == 2.125


def test_without_a_compiler_the_interpreter_stands_in(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    x = ca.SX.sym("x")
    compiled = compile_function(ca.Function("f", [x], [x * 1.03125]))
    assert (compiled.tier, compiled.reason) == ("interpreter", "no C compiler was found")


def test_very_long_functions_are_not_for_a_c_compiler(monkeypatch):
    monkeypatch.setattr(c_compiler, "LARGEST", 5)
    x = ca.SX.sym("x")
    compiled = compile_function(ca.Function("f", [x], [ca.sin(ca.cos(ca.sin(ca.cos(x * 1.01))))]))
    assert (compiled.tier, compiled.reason) == ("interpreter", "8 instructions are too many for a C compiler")
