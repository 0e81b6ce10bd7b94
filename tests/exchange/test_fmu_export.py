"""FMUs: what they compute equals dd.simulate, by calls of the library itself and, where it is installed, by FMPy."""

import ctypes
import shutil
import xml.etree.ElementTree as ElementTree
import zipfile

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the library inside an FMU is built by cc")

Real = ctypes.c_double
References = ctypes.POINTER(ctypes.c_uint32)


def ball():
    m = dd.Model("ball")
    h, v = m.state("h", start=1.0, unit="m"), m.state("v", start=0.0, unit="m/s")
    e = m.parameter("e", 0.8)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81)
    m.event("bounce", h, direction=-1, reset={"v": -e * v})
    m.output("energy", 9.81 * h + 0.5 * v**2)
    return m


def driven():
    m = dd.Model("driven")
    x, z, u = m.state("x", 2, start=[1.0, 0.0]), m.algebraic("z"), m.input("u")
    k = m.parameter("k", 2.0)
    m.equation(m.der(x), [x[1], z])
    m.equation(z, u - k * x[0])
    m.output("y", x[0] * u)
    return m


class Unit:
    """An FMU of FMI 2.0 in this process, called as an importer does."""

    def __init__(self, path, folder, kind=1):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
        root = ElementTree.parse(folder / "modelDescription.xml").getroot()
        self.variables = {v.get("name"): v for v in root.iter("ScalarVariable")}
        (library,) = (folder / "binaries").rglob("*.so")
        self.dll = ctypes.CDLL(str(library))
        self.dll.fmi2Instantiate.restype = ctypes.c_void_p
        self.me = ctypes.c_void_p(self.dll.fmi2Instantiate(b"it", kind, root.get("guid").encode(), b"", None, 0, 0))
        self.root = root

    def __call__(self, name, *arguments):
        return getattr(self.dll, f"fmi2{name}")(self.me, *arguments)

    def begin(self, t0=0.0, tolerance=1e-9):
        assert self("SetupExperiment", 1, Real(tolerance), Real(t0), 0, Real(0)) == 0
        assert self("EnterInitializationMode") == 0

    def references(self, names):
        return (ctypes.c_uint32 * len(names))(*(int(self.variables[n].get("valueReference")) for n in names))

    def get(self, *names):
        values = (Real * len(names))()
        assert self("GetReal", self.references(names), ctypes.c_size_t(len(names)), values) == 0
        return np.array(values)

    def set(self, **values):
        numbers = (Real * len(values))(*values.values())
        return self("SetReal", self.references(list(values)), ctypes.c_size_t(len(values)), numbers)

    def step(self, t, h):
        return self("DoStep", Real(t), Real(h), 1)


def test_co_simulation_locates_events_inside_its_steps(tmp_path):
    written = dd.exchange.fmu(ball(), tmp_path / "ball.fmu", version=2)
    assert (written.kinds, written.outputs) == (("model_exchange", "co_simulation"), ("energy",))
    unit = Unit(written.path, tmp_path / "open")
    unit.begin()
    assert unit.set(e=0.7) == 0
    assert unit("ExitInitializationMode") == 0
    for k in range(4):
        assert unit.step(0.5 * k, 0.5) == 0
    tr = dd.simulate(ball(), 2.0, parameters={"e": 0.7}, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(unit.get("h", "v", "energy"), [tr[n][-1] for n in ("h", "v", "energy")], rtol=1e-9)
    assert unit.variables["h"].find("Real").get("unit") == "m"


@pytest.fixture(scope="module")
def driven_path(tmp_path_factory):
    return dd.exchange.fmu(driven(), tmp_path_factory.mktemp("fmu") / "d.fmu", version=2).path


def test_inputs_algebraic_variables_and_saved_states(driven_path, tmp_path):
    unit = Unit(driven_path, tmp_path / "open")
    unit.begin()
    assert unit("ExitInitializationMode") == 0
    assert unit.set(u=0.5) == 0
    assert unit.step(0.0, 0.4) == 0
    state = ctypes.c_void_p()
    assert unit("GetFMUstate", ctypes.byref(state)) == 0
    assert unit.step(0.4, 0.6) == 0
    end = unit.get("x[0]", "x[1]", "z", "y")
    tr = dd.simulate(driven(), 1.0, inputs={"u": 0.5}, rtol=1e-10, atol=1e-12)
    expected = [tr["x"][-1, 0], tr["x"][-1, 1], tr["z"][-1], tr["y"][-1]]
    np.testing.assert_allclose(end, expected, rtol=1e-8)
    assert unit("SetFMUstate", state) == 0
    assert unit.step(0.4, 0.6) == 0
    assert np.array_equal(unit.get("x[0]", "x[1]", "z", "y"), end)
    assert unit.set(z=1.0) != 0


@pytest.mark.parametrize("compiler", [False, True])
def test_what_formulas_of_several_steps_remember_belongs_to_the_state(compiler, tmp_path):
    """Backward differentiation: saved amid a run, and taken up again, with the same bits."""
    options = {"version": 2, "method": "bdf", "compiler": compiler}
    unit = Unit(dd.exchange.fmu(driven(), tmp_path / "it.fmu", **options).path, tmp_path / "open")
    unit.begin(tolerance=1e-7)
    assert unit("ExitInitializationMode") == 0
    assert unit.set(u=0.5) == 0
    assert unit.step(0.0, 0.4) == 0
    state = ctypes.c_void_p()
    assert unit("GetFMUstate", ctypes.byref(state)) == 0
    assert unit.step(0.4, 0.6) == 0
    end = unit.get("x[0]", "x[1]", "z", "y")
    tr = dd.simulate(driven(), 1.0, inputs={"u": 0.5}, rtol=1e-10, atol=1e-12)
    expected = [tr["x"][-1, 0], tr["x"][-1, 1], tr["z"][-1], tr["y"][-1]]
    np.testing.assert_allclose(end, expected, rtol=1e-5)
    assert unit("SetFMUstate", state) == 0
    assert unit.step(0.4, 0.6) == 0
    assert np.array_equal(unit.get("x[0]", "x[1]", "z", "y"), end)


def test_directional_derivatives_are_exact(driven_path, tmp_path):
    unit = Unit(driven_path, tmp_path / "open", kind=0)
    unit.begin()
    assert unit.set(u=0.5) == 0
    unknown, known = unit.references(["x_dot[0]", "x_dot[1]", "y"]), unit.references(["x[0]", "u"])
    result, seed = (Real * 3)(), (Real * 2)(1.0, 2.0)
    size = ctypes.c_size_t
    assert unit("GetDirectionalDerivative", unknown, size(3), known, size(2), seed, result) == 0
    # z = u - 2 x₀; y = x₀ u at x₀ = 1, u = 0.5.
    assert list(result) == pytest.approx([0.0, 2.0 - 2.0, 0.5 + 2.0])


def test_constraints_are_kept_in_co_simulation(tmp_path):
    m = catalogue.load("pendulum_3d").model
    unit = Unit(dd.exchange.fmu(m, tmp_path / "p.fmu", version=2).path, tmp_path / "open")
    unit.begin()
    assert unit("ExitInitializationMode") == 0
    labels = m.freeze().labels["x"]
    first = unit.get(*labels)
    for k in range(10):
        assert unit.step(0.1 * k, 0.1) == 0
    tr = dd.simulate(m, 1.0, inputs={"force": [0.0] * 3}, rtol=1e-10, atol=1e-12)
    end = unit.get(*labels)
    np.testing.assert_allclose(end, [tr[label][-1] for label in labels], atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(end[:3]), np.linalg.norm(first[:3]), rtol=1e-13)


def test_the_same_model_gives_the_same_bytes(tmp_path):
    files = [dd.exchange.fmu(ball(), tmp_path / f"{k}.fmu").path.read_bytes() for k in range(2)]
    assert files[0] == files[1]


def test_stiff_models_step_implicitly(tmp_path):
    m = dd.Model("stiff")
    x = m.state("x", 2, start=[1.0, 1.0])
    m.equation(m.der(x), [-x[0], -1e6 * (x[1] - x[0] ** 2)])
    written = dd.exchange.fmu(m, tmp_path / "s.fmu", version=2)
    assert written.method == "radau5"
    unit = Unit(written.path, tmp_path / "open")
    unit.begin(tolerance=1e-8)
    assert unit("ExitInitializationMode") == 0
    assert unit.step(0.0, 1.0) == 0
    np.testing.assert_allclose(unit.get("x[0]", "x[1]"), [np.exp(-1.0), np.exp(-2.0)], rtol=1e-5)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("kind='solver' is not a kind of FMU.", {"kind": "solver"}),
        ("version=1 is not a version of FMI.", {"version": 1}),
        ("platforms='some' is not known.", {"platforms": "some"}),
        ("'g' cannot be an output of the FMU.", {"outputs": ["g"]}),
        ("inputs= has to name all inputs of the model.", {"inputs": ["w"]}),
    ],
)
def test_wrong_arguments_are_told(words, options, tmp_path):
    with pytest.raises(dd.InputError) as caught:
        dd.exchange.fmu(ball(), tmp_path / "b.fmu", **options)
    assert str(caught.value).splitlines()[0] == words
    assert not (tmp_path / "b.fmu").exists()


def test_what_an_fmu_cannot_carry_is_refused(tmp_path):
    called = dd.Model("called")
    x, u = called.state("x", start=1.0), called.discrete("u", start=0.0)
    called.equation(called.der(x), u - x)
    called.every(0.1, reads=["x"], writes=["u"], call=lambda t, x: -x)
    with pytest.raises(dd.InputError, match="calls Python code"):
        dd.exchange.fmu(called, tmp_path / "s.fmu")


@pytest.mark.parametrize("version", [2, 3])
def test_fmpy_finds_no_fault_and_gets_our_results(version, tmp_path):
    fmpy = pytest.importorskip("fmpy", reason="needs the extra `fmi` (FMPy)")
    from fmpy.validation import validate_fmu

    path = str(dd.exchange.fmu(ball(), tmp_path / "b.fmu", version=version, rtol=1e-8).path)
    assert validate_fmu(path) == []
    tr = dd.simulate(ball(), 2.0, rtol=1e-10, atol=1e-12)
    for kind in ("ModelExchange", "CoSimulation"):
        found = fmpy.simulate_fmu(
            path, stop_time=2.0, fmi_type=kind, output=["h", "energy"], relative_tolerance=1e-9, output_interval=0.1
        )
        assert found["h"][-1] == pytest.approx(tr["h"][-1], abs=2e-6)
        assert found["energy"][-1] == pytest.approx(tr["energy"][-1], rel=2e-6)
