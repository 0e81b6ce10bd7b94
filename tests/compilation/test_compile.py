"""compile_function: the chain of fallbacks, sharing in memory and on disk, threads."""

import gc
import sys
import threading

import casadi as ca
import numpy as np
import pytest
from example_functions import fresh_number, long_function, quadrotor, start
from random_graphs import same_bits

from daedalus.compilation import background, compile, compile_function, compiler_in_use, counts, machine_code, translate
from daedalus.errors import InputError


@pytest.fixture
def without_llvmlite(monkeypatch):
    """A process in which llvmlite cannot be imported."""
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "llvmlite", None)
        patch.setitem(sys.modules, "llvmlite.binding", None)
        for cached in (machine_code.binding, machine_code.host):
            cached.cache_clear()
        yield
    for cached in (machine_code.binding, machine_code.host):
        cached.cache_clear()


def simple(factor: float | None = None, name: str = "f") -> ca.Function:
    x = ca.SX.sym("x", 2)
    return ca.Function(name, [x], [(factor or fresh_number()) * ca.sin(x)])


def changes(before):
    """The counts that have changed, and by how much."""
    differences = {name: getattr(counts(), name) - value for name, value in before._asdict().items()}
    return {name: difference for name, difference in differences.items() if difference}


def test_quadrotor_and_its_jacobian():
    f = quadrotor()
    x, u = f.sx_in()
    jacobian = ca.Function("jacobian", [x, u], [f(x, u), ca.jacobian(f(x, u), ca.vertcat(x, u))])
    at = np.random.default_rng(0).normal(size=13), np.array([2.0, 2.1, 1.9, 2.05])
    for g in (f, jacobian):
        compiled = compile_function(g)
        assert (compiled.tier, compiled.reason, compiled.core.kind) == ("llvm O2", "", "machine code")
        assert compiled.seconds > 0
        for found, expected in zip(compiled(*at), g.call(at)):
            assert np.allclose(found, expected.nonzeros(), rtol=1e-13, atol=1e-13)
        for found, expected in zip(compile_function(g, strict=True)(*at), g.call(at)):
            assert np.all(same_bits(found, np.array(expected.nonzeros())))


def test_the_same_function_is_found_again():
    f = simple()
    before = counts()
    first = compile_function(f)
    assert changes(before) == {"compiled": 1}
    assert compile_function(f) is first
    assert changes(before) == {"compiled": 1, "found_in_memory": 1}


def test_names_do_not_matter():
    factor = fresh_number()
    before = counts()
    first = compile_function(simple(factor, "first"))
    second = compile_function(simple(factor, "second"))
    assert changes(before) == {"compiled": 1, "found_in_memory": 1}
    assert (first.core.name, second.core.name) == ("first", "second")
    assert first.core.address == second.core.address


def test_code_is_found_again_after_everybody_let_go_of_it():
    factor = fresh_number()
    compile_function(simple(factor))
    before = counts()
    compile_function(simple(factor))
    assert changes(before) == {"found_in_memory": 1}


def test_strict_and_fast_are_different_code():
    f = simple()
    before = counts()
    assert compile_function(f, strict=True) is not compile_function(f)
    assert changes(before) == {"compiled": 2}


def test_quick_code_is_other_code_with_the_same_values(tmp_path, monkeypatch, forget):
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path))
    f, at = quadrotor(), (np.random.default_rng(0).normal(size=13), np.array([2.0, 2.1, 1.9, 2.05]))
    careful, quick = compile_function(f), compile_function(f, quick=True)
    assert (careful.tier, quick.tier) == ("llvm O2", "llvm O0")
    assert np.all(same_bits(careful(*at)[0], quick(*at)[0]))
    forget()
    before = counts()
    assert np.all(same_bits(compile_function(f, quick=True)(*at)[0], quick(*at)[0]))
    assert changes(before) == {"loaded_from_disk": 1}


def test_quick_code_of_a_longer_function_is_there_at_once():
    f = long_function(4000)
    assert translate.AT_ONCE < f.n_instructions() <= translate.AT_ONCE_QUICK
    quick = compile_function(f, quick=True)
    assert (quick.tier, quick.core.kind) == ("llvm O0", "machine code")
    for found, expected in zip(quick(start()), f(start())):
        assert np.allclose(found, expected.nonzeros(), rtol=1e-9, atol=1e-9)


def test_code_lives_as_long_as_the_core_function(forget):
    core = compile_function(simple(2.0)).core
    forget()
    others = [compile_function(simple()) for _ in range(5)]
    assert np.allclose(core(np.array([0.1, 0.2]))[0], 2 * np.sin([0.1, 0.2]))
    assert len({other.core.address for other in [*others, compile_function(simple())]} | {core.address}) == 7


def test_disk_cache_serves_the_next_process(tmp_path, monkeypatch, forget):
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path))
    factor = fresh_number()
    first = compile_function(simple(factor))
    forget()
    before = counts()
    second = compile_function(simple(factor, "other_name"))
    assert (first.tier, second.tier, second.reason) == ("llvm O2", "disk cache", "")
    assert changes(before) == {"loaded_from_disk": 1}
    at = np.array([0.3, 0.4])
    assert np.all(same_bits(first(at)[0], second(at)[0]))
    forget()
    assert compile_function(simple(factor), strict=True).tier == "llvm O2"


def test_a_corrupted_entry_is_compiled_again(tmp_path, monkeypatch, forget):
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path))
    factor = fresh_number()
    compile_function(simple(factor))
    (entry,) = tmp_path.iterdir()
    entry.write_bytes(entry.read_bytes()[:-20])
    forget()
    before = counts()
    assert compile_function(simple(factor)).tier == "llvm O2"
    assert changes(before) == {"compiled": 1}
    forget()
    assert compile_function(simple(factor)).tier == "disk cache"


def test_an_entry_that_is_whole_but_no_object_code_is_compiled_again(tmp_path, monkeypatch, forget):
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path))
    factor = fresh_number()
    compile_function(simple(factor))
    (entry,) = tmp_path.iterdir()
    translate.disk_cache.store(entry.stem, [b"this is not an object code"])
    forget()
    compiled = compile_function(simple(factor))
    assert (compiled.tier, compiled.reason) == ("llvm O2", "")


def test_exchanged_entries_are_compiled_again(tmp_path, monkeypatch, forget):
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path))
    factors = fresh_number(), fresh_number()
    at = np.array([0.3, 0.4])
    expected = [compile_function(simple(factor))(at)[0] for factor in factors]
    one, other = tmp_path.iterdir()
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    forget()
    for factor, value in zip(factors, expected):
        compiled = compile_function(simple(factor))
        assert compiled.tier == "llvm O2"
        assert np.all(same_bits(compiled(at)[0], value))


def test_a_cache_folder_of_others_is_left_aside_with_the_reason_on_record(tmp_path, monkeypatch, forget):
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path))
    factor = fresh_number()
    assert compile_function(simple(factor)).uncached == ""
    tmp_path.chmod(0o777)
    forget()
    compiled = compile_function(simple(factor))
    assert (compiled.tier, compiled.reason) == ("llvm O2", "")
    assert compiled.uncached == f"the folder of compiled code {tmp_path} is not used: others can write to it"


def test_a_cache_folder_that_cannot_be_made_is_harmless(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path / "file"))
    assert compile_function(simple()).tier == "llvm O2"


def test_without_llvmlite_the_c_compiler_takes_over(without_llvmlite):
    compiled = compile_function(simple(1.5))
    assert compiled.tier == "C compiler"
    assert compiled.reason.startswith("llvmlite cannot be imported (")
    assert compiler_in_use().startswith("C compiler ")
    assert np.allclose(compiled([0.1, 0.2])[0], 1.5 * np.sin([0.1, 0.2]), rtol=1e-15)


def test_without_both_the_interpreter_does(without_llvmlite, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    before = counts()
    compiled = compile_function(simple(2.5))
    assert compiled.tier == "interpreter"
    assert compiled.reason.startswith("llvmlite cannot be imported (")
    assert compiled.reason.endswith("; no C compiler was found")
    assert changes(before) == {"interpreted": 1}
    assert compiler_in_use() == "CasADi's interpreter"
    assert np.allclose(compiled([0.1, 0.2])[0], 2.5 * np.sin([0.1, 0.2]), rtol=1e-15)


def test_only_llvm_when_only_llvm_is_asked_for(without_llvmlite, monkeypatch):
    monkeypatch.setenv("DAEDALUS_COMPILER", "llvm")
    assert compile_function(simple()).tier == "interpreter"


def test_when_llvm_gives_up_the_c_compiler_takes_over(monkeypatch):
    def refuse(text, level):
        raise RuntimeError("out of registers\nand more")

    monkeypatch.setattr(machine_code, "object_code", refuse)
    compiled = compile_function(simple())
    assert (compiled.tier, compiled.reason) == ("C compiler", "LLVM gave up (out of registers)")


def test_unknown_operations_are_named_and_interpreted(capfd):
    x = ca.SX.sym("x")
    inner = ca.Function("inner", [x], [x**2 + 1], {"never_inline": True})
    called = compile_function(ca.Function("f", [x], [inner(x) * 2]))
    assert (called.tier, called.reason) == ("interpreter", "there is no machine code for the operation call")
    assert called(3.0)[0][0] == 20.0
    printing = compile_function(ca.Function("f", [x], [x.printme(7) * 2]))
    assert (printing.tier, printing.reason) == ("interpreter", "there is no machine code for the operation printme")
    assert printing(3.0)[0][0] == 6.0
    assert "|> 7 : 3.0" in capfd.readouterr().out


def test_matrix_functions_are_interpreted():
    m = ca.MX.sym("m", 3)
    compiled = compile_function(ca.Function("f", [m], [ca.norm_2(m)]))
    assert (compiled.tier, compiled.core.kind) == ("interpreter", "interpreter")
    assert compiled.reason == "MXFunction f is not made of scalar operations (f.expand() may help)"
    assert compiled([2.0, 3.0, 6.0])[0][0] == 7.0


def test_unknown_compiler_is_refused(monkeypatch):
    monkeypatch.setenv("DAEDALUS_COMPILER", "fortran")
    with pytest.raises(InputError) as caught:
        compile_function(simple())
    assert str(caught.value) == (
        "DAEDALUS_COMPILER is set to 'fortran'.\n"
        "  known words: auto, llvm, c, interpreter\n"
        "  Because it decides how functions become machine code.\n"
        "  Try: unset DAEDALUS_COMPILER, or set it to auto."
    )


def test_threads_compile_a_function_once():
    factor = fresh_number()
    before, ready, results = counts(), threading.Barrier(6), []

    def work():
        f = simple(factor)
        ready.wait()
        results.append(compile_function(f))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert changes(before) == {"compiled": 1, "found_in_memory": 5}
    assert len({compiled.core.address for compiled in results}) == 1


def test_threads_compile_different_functions():
    factors, results = [fresh_number() for _ in range(8)], {}
    threads = [
        threading.Thread(target=lambda c=c: results.update({c: compile_function(simple(c))([0.5, 1.0])[0]}))
        for c in factors
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.allclose(results[c], c * np.sin([0.5, 1.0]), rtol=1e-15) for c in factors)


def test_long_function_starts_interpreted_and_changes_over(monkeypatch):
    """12 000 instructions; strict, so the values before and after are the same to the last bit."""
    jobs = []
    monkeypatch.setattr(background, "submit", jobs.append)
    f = long_function(12_000)
    assert f.n_instructions() > 12_000
    compiled = compile_function(f, strict=True)
    assert (compiled.tier, compiled.core.kind) == ("interpreter", "interpreter")
    assert compiled.reason == "its machine code is being compiled in the background"
    before = compiled(start())
    monkeypatch.undo()
    background.submit(jobs[0])
    assert compiled.wait() is compiled
    assert (compiled.tier, compiled.reason, compiled.core.kind) == ("llvm O1", "", "machine code")
    after = compiled(start())
    assert all(np.all(same_bits(a, b)) for a, b in zip(before, after))


@pytest.mark.parametrize("kept", [True, False])
def test_whoever_keeps_the_core_alone_gets_final_code(kept):
    """As the functions of robots and estimators do; what nobody keeps is not compiled."""
    gate, before = threading.Event(), counts()
    background.submit(lambda: gate.wait(30))
    core = compile_function(long_function(4000), strict=True).core
    assert core.kind == "interpreter"
    if not kept:
        core = None
    gc.collect()
    gate.set()
    background.finish()
    assert changes(before).get("compiled", 0) == int(kept)
    assert core is None or core.kind == "machine code"


def test_pointer_is_swapped_under_running_threads():
    f = long_function(4000)
    points = np.tile(start(), (1000, 1))
    expected = np.array(f(start())[0]).ravel()
    compiled = compile_function(f, strict=True)
    stop, right = threading.Event(), []

    def run():
        while not stop.is_set():
            right.append(np.array_equal(compiled.core.evaluate_many(points)[0], np.tile(expected, (1000, 1))))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert compiled.wait().core.kind == "machine code"
    stop.set()
    for thread in threads:
        thread.join()
    assert right
    assert all(right)


def test_waiting_gives_final_code_at_once():
    before = counts()
    compiled = compile_function(long_function(3200), wait=True)
    assert (compiled.tier, compiled.core.kind) == ("llvm O1", "machine code")
    assert changes(before) == {"compiled": 1}


def test_long_functions_share_code_too(tmp_path, monkeypatch, forget):
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path))
    factor = fresh_number()
    first = compile_function(long_function(3200, factor), wait=True)
    before = counts()
    second = compile_function(long_function(3200, factor), wait=True)
    assert second.core.address == first.core.address
    assert changes(before) == {"found_in_memory": 1}
    forget()
    third = compile_function(long_function(3200, factor), wait=True)
    assert third.tier == "disk cache"
    assert np.all(same_bits(third(start())[0], first(start())[0]))


def test_a_long_function_is_read_once(monkeypatch):
    """Whether it has equal parts, loops, or values that seldom change is asked of the same instructions."""
    read, kept = [], compile.read_instructions
    monkeypatch.setattr(compile, "read_instructions", lambda f, **options: read.append(f.name()) or kept(f, **options))
    x, p = ca.SX.sym("x", 3), ca.SX.sym("p")
    y = x[0] * fresh_number()
    for k in range(3000):
        y = ca.sin(y + x[k % 3]) * ca.cos(p + k)
    compile_function(ca.Function("long", [x, p], [y]), seldom=(1,))
    assert read == ["long"]


def test_long_functions_whose_code_is_on_disk_never_see_the_interpreter(tmp_path, monkeypatch, forget):
    """So that the first run of a script is as fast as the next, from the second time on."""
    monkeypatch.setenv("DAEDALUS_CACHE", str(tmp_path))
    factor = fresh_number()
    first = compile_function(long_function(3200, factor), seldom=(0,))
    assert first.core.kind == "interpreter"
    values = first.wait()(start())[0]
    del first
    forget()
    again = compile_function(long_function(3200, factor), seldom=(0,))
    assert (again.tier, again.core.kind) == ("disk cache", "machine code")
    assert np.all(same_bits(again(start())[0], values))
