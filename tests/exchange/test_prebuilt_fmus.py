"""FMUs without a C compiler: the prebuilt runtime computes what CasADi and the compiled library compute."""

import ctypes
import shutil
import threading
import zipfile

import casadi as ca
import numpy as np
import pytest
import scipy.special

import daedalus as dd
from daedalus import catalogue
from daedalus.exchange.fmu import libraries
from daedalus.exchange.fmu.model_description import own_platform
from daedalus.exchange.fmu.prebuilt_model import runtimes

pytestmark = pytest.mark.skipif(own_platform() not in runtimes(), reason="the core was built without the FMU runtime")

ONE = [
    ca.exp, ca.log, ca.sqrt, ca.sin, ca.cos, ca.tan, ca.asin, ca.acos, ca.atan, ca.floor, ca.ceil, ca.fabs, ca.sign,
    ca.erf, ca.sinh, ca.cosh, ca.tanh, ca.asinh, ca.atanh, ca.erfinv, ca.log1p, ca.expm1, lambda x: ca.acosh(1 + x),
    lambda x: 1 / x, lambda x: -x, lambda x: x**2, lambda x: 2 * x, lambda x: x**3.7, lambda x: ca.logic_not(x > 0.4),
]  # fmt: skip
TWO = [
    lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y, lambda x, y: x**y, ca.fmod,
    ca.copysign, ca.fmin, ca.fmax, ca.atan2, ca.hypot, ca.remainder, lambda x, y: ca.if_else(x < y, x, 3 * y),
    lambda x, y: (x <= y) + 2 * (x == y) + 4 * (x != y), lambda x, y: ca.logic_and(x > 0.3, y > 0.3),
    lambda x, y: ca.logic_or(x > 0.6, y > 0.6),
]  # fmt: skip


def everything():
    """A model whose rates are all the operations there are."""
    count = len(ONE) + len(TWO)
    m = dd.Model("everything")
    x, u = m.state("x", count, start=np.linspace(0.1, 0.9, count)), m.input("u")
    p = m.parameter("p", 0.7)
    rates = [f(x[k]) for k, f in enumerate(ONE)] + [f(x[k + len(ONE)], p) for k, f in enumerate(TWO)]
    m.equation(m.der(x), ca.vertcat(*rates) + u)
    m.output("y", x[0] * u + p)
    return m


class Library:
    """The library of an FMU of FMI 3.0 in this process."""

    def __init__(self, path, folder):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
            text = archive.read("modelDescription.xml").decode()
        (library,) = (folder / "binaries").rglob("*.*")
        self.dll = ctypes.CDLL(str(library))
        self.token = text.split('instantiationToken="')[1].split('"')[0].encode()
        self.dll.fmi3InstantiateModelExchange.restype = ctypes.c_void_p
        self.me = self.made(f"{folder}/resources/".encode())

    def made(self, place):
        found = self.dll.fmi3InstantiateModelExchange(b"it", self.token, place, False, False, None, None)
        return None if found is None else ctypes.c_void_p(found)

    def __call__(self, name, *arguments):
        return getattr(self.dll, f"fmi3{name}")(self.me, *arguments)

    def rates(self, x):
        room, n = (ctypes.c_double * len(x))(), ctypes.c_size_t(len(x))
        assert self("SetContinuousStates", (ctypes.c_double * len(x))(*x), n) == 0
        assert self("GetContinuousStateDerivatives", room, n) == 0
        return np.array(room)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prebuilt")
    m = everything()
    dd.exchange.fmu(m, folder / "a.fmu", compiler=False)
    return m, Library(folder / "a.fmu", folder / "a b%20")


def test_every_operation(whole):
    m, library = whole
    draw = np.random.default_rng(5)
    rates = dd.exchange.casadi(m).rates
    for _ in range(20):
        x = draw.uniform(0.05, 0.95, m.freeze().sizes["x"])
        exact = rates(0, x, 0.0, 0.7)[0].full().ravel()
        # CasADi's own inverse of erf is good to 1e-6 only.
        exact[ONE.index(ca.erfinv)] = scipy.special.erfinv(x[ONE.index(ca.erfinv)])
        np.testing.assert_allclose(library.rates(x), exact, rtol=1e-14, atol=1e-15)


def test_without_a_compiler_on_the_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(libraries, "find_compiler", lambda: None)
    m = dd.Model("decay")
    x, k = m.state("x", start=1.0), m.parameter("k", 2.0)
    m.equation(m.der(x), -k * x)
    written = dd.exchange.fmu(m, tmp_path / "decay.fmu")
    assert written.platforms == (own_platform(),)
    assert own_platform() in str(written)
    tr = dd.simulate(dd.exchange.load_fmu(tmp_path / "decay.fmu"), 1.0, parameters={"k": 3.0}, rtol=1e-9)
    assert tr["x"][-1] == pytest.approx(np.exp(-3), rel=1e-8)
    with pytest.raises(dd.InputError, match="no C compiler"):
        dd.exchange.fmu(m, tmp_path / "other.fmu", compiler=True)
    monkeypatch.setattr(libraries, "runtimes", dict)
    with pytest.raises(dd.InputError, match="cannot build an FMU"):
        dd.exchange.fmu(m, tmp_path / "other.fmu")
    with pytest.raises(dd.InputError, match="not available here"):
        dd.exchange.fmu(m, tmp_path / "other.fmu", platforms="all")


def test_all_platforms_that_are_there(tmp_path, monkeypatch):
    own = runtimes()[own_platform()]
    names = ("x86_64-linux", "aarch64-linux", "x86_64-windows", "x86_64-darwin", "aarch64-darwin")
    monkeypatch.setattr(libraries, "runtimes", lambda: dict.fromkeys(names, own))
    m = dd.Model("decay")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -x)
    three = dd.exchange.fmu(m, tmp_path / "three.fmu", platforms="all")
    two = dd.exchange.fmu(m, tmp_path / "two.fmu", platforms="all", version=2)
    assert set(three.platforms) == set(names)
    assert set(two.platforms) == {"x86_64-linux", "x86_64-windows", "x86_64-darwin"}
    with zipfile.ZipFile(tmp_path / "two.fmu") as archive:
        folders = {name.split("/")[1] for name in archive.namelist() if name.startswith("binaries/")}
    assert folders == {"linux64", "win64", "darwin64"}


@pytest.mark.skipif(shutil.which("cc") is None, reason="the other library is built by cc")
@pytest.mark.parametrize("method", ["dopri5", "radau5"])
def test_the_same_bits_as_the_compiled_library(tmp_path, method):
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[0.6, -0.8])
    v = m.rate(q)
    m.kinetic_energy(0.5 * (v[0] ** 2 + v[1] ** 2))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", q[0] ** 2 + q[1] ** 2 - 1)
    rows = []
    for compiler in (True, False):
        path = tmp_path / f"{compiler}.fmu"
        dd.exchange.fmu(m, path, kind="co_simulation", method=method, outputs=["q"], compiler=compiler, rtol=1e-7)
        part = dd.exchange.load_fmu(path, step=0.05)
        tr = dd.simulate(part, 0.5)
        rows.append(np.array([tr[name][-1] for name in part.freeze().places if name.startswith("q")]))
    np.testing.assert_array_equal(rows[0], rows[1])


def test_adjoint_derivatives_belong_to_the_directional_ones(whole):
    m, library = whole
    n = m.freeze().sizes["x"]
    draw = np.random.default_rng(8)
    library.rates(draw.uniform(0.1, 0.9, n))
    unknowns, knowns = list(range(1 + n, 1 + 2 * n)), [*range(1, 1 + n), 1 + 2 * n + 1, 1 + 2 * n + 2]

    def product(name, along, first, second, count):
        room = (ctypes.c_double * count)()
        references = [(ctypes.c_uint32 * len(r))(*r) for r in (unknowns, knowns)]
        sizes = [ctypes.c_size_t(len(r)) for r in (unknowns, knowns)]
        seed = (ctypes.c_double * len(along))(*along)
        end = (ctypes.c_size_t(len(along)), room, ctypes.c_size_t(count))
        assert library(name, references[0], sizes[0], references[1], sizes[1], seed, *end) == 0
        return np.array(room)

    along, back = draw.normal(size=len(knowns)), draw.normal(size=n)
    forward = product("GetDirectionalDerivative", along, unknowns, knowns, n)
    adjoint = product("GetAdjointDerivative", back, unknowns, knowns, len(knowns))
    assert back @ forward == pytest.approx(adjoint @ along, rel=1e-11)


def test_models_that_are_damaged_are_no_instance(whole, tmp_path):
    m, _ = whole
    dd.exchange.fmu(m, tmp_path / "a.fmu", compiler=False)
    with zipfile.ZipFile(tmp_path / "a.fmu") as archive:
        archive.extractall(tmp_path / "b")
    file = tmp_path / "b/resources/model.bin"
    data = file.read_bytes()
    for wrong in (b"", data[:100], data[: len(data) // 2], b"X" + data[1:]):
        file.write_bytes(wrong)
        path = tmp_path / f"c{len(wrong)}.fmu"
        with zipfile.ZipFile(path, "w") as archive:
            for each in (tmp_path / "b").rglob("*.*"):
                archive.write(each, each.relative_to(tmp_path / "b"))
        with pytest.raises(dd.SolverError, match="cannot be instantiated"):
            dd.exchange.load_fmu(path)


def test_instances_in_threads(whole):
    _, library = whole
    made = []

    def work():
        made.append(library.made(b""))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one.value for one in made}) == 8
    for one in made:
        library.dll.fmi3FreeInstance(one)


def test_the_same_bytes_each_time(tmp_path):
    for name in ("a", "b"):
        dd.exchange.fmu(everything(), tmp_path / f"{name}.fmu", compiler=False)
    assert (tmp_path / "a.fmu").read_bytes() == (tmp_path / "b.fmu").read_bytes()


def test_reactions_that_become_stiff_after_their_start(tmp_path):
    m = dd.Model("robertson")
    y = m.state("y", 3, start=[1.0, 0.0, 0.0])
    slow, fast, fastest = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    m.equation(m.der(y), [-slow + fast, slow - fast - fastest, fastest])
    written = dd.exchange.fmu(m, tmp_path / "robertson.fmu", kind="co_simulation", rtol=1e-6)
    assert written.method == "radau5"
    part = dd.exchange.load_fmu(tmp_path / "robertson.fmu", step=10.0)
    tr = dd.simulate(part, 40.0)
    # E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.10: y_1(40).
    name = next(name for name in part.freeze().places if name.startswith("y_0") and not name.endswith("_start"))
    assert tr[name][-1] == pytest.approx(0.7158270688, rel=1e-5)


def test_algebraic_equations_do_not_drift_in_model_exchange(tmp_path):
    m = catalogue.load("transistor_amplifier").model
    written = dd.exchange.fmu(m, tmp_path / "amplifier.fmu")
    assert "stabilises" in str(written)
    part = dd.exchange.load_fmu(tmp_path / "amplifier.fmu", trusted=True)
    own = dd.simulate(m, 0.01, rtol=1e-8)["y"]
    # A start that breaks the equation of the last two voltages by 0.01: the FMU draws them back to it.
    tr = dd.simulate(part, 0.01, start={"y_7": own[0, 7] + 0.01}, rtol=1e-6, method="radau5")
    assert tr["y_7"][-1] + tr["y_6"][-1] == pytest.approx(own[-1, 7] + own[-1, 6], abs=1e-4)


def test_runtimes_for_other_files_of_models_are_not_taken(monkeypatch):
    from daedalus.exchange.fmu import prebuilt_model

    assert own_platform() in runtimes()
    monkeypatch.setattr(prebuilt_model, "MAGIC", b"DDFMU000")
    assert runtimes() == {}
