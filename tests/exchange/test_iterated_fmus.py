"""FMUs of models whose x' and z follow from their equations only by iteration: against the package's own runs."""

import casadi as ca
import numpy as np
import pytest

import daedalus as dd

E = dd.components.electrical


def implicit_law():
    m = dd.Model("implicit law")
    x, z = m.state("x", start=1.0), m.algebraic("z", start=0.5)
    u, k = m.input("u"), m.parameter("k", 0.2)
    m.equation(m.der(x), -z + u)
    m.equation(z + k * ca.sin(z) + 0.1 * z**3, x)
    m.output("y", z**2 + u)
    return m, 3.0, {"u": 0.3}, ("x", "z", "y")


def implicit_rates():
    """(1 + x²) x' + x'³ / 3 = u − x: the derivative itself has no formula."""
    m = dd.Model("implicit rates")
    x, u = m.state("x", start=0.0), m.input("u")
    m.equation((1 + x**2) * m.der(x) + m.der(x) ** 3 / 3, u - x)
    return m, 2.0, {"u": 2.0}, ("x",)


def rectifier():
    m = dd.Model("rectifier")
    source = m.add(E.VoltageSource("source", voltage=m.input("V")))
    diode = m.add(E.Diode("diode", saturation_current=1e-12))
    load, inner = m.add(E.Resistor("load", resistance=1e3)), m.add(E.Resistor("inner", resistance=10.0))
    store, ground = m.add(E.Capacitor("store", capacitance=1e-5)), m.add(E.Ground("ground"))
    m.connect(source.plus, inner.plus)
    m.connect(inner.minus, diode.plus)
    m.connect(diode.minus, load.plus, store.plus)
    m.connect(source.minus, load.minus, store.minus, ground.pin)
    return m, 0.02, {"V": 5.0}, ("store.voltage", "diode.current")


def until_half():
    """An event whose guard is an unknown of the iteration."""
    m, span, inputs, names = implicit_law()
    z = m["z"]
    m.event("half", z - 0.5, terminal=True)
    return m, span, inputs, names


@pytest.mark.parametrize("kind", ["model_exchange", "co_simulation"])
@pytest.mark.parametrize("make", [implicit_law, implicit_rates, rectifier, until_half])
def test_runs_agree(make, kind, tmp_path):
    m, span, inputs, names = make()
    here = dd.simulate(m, span, inputs=inputs, rtol=1e-9)
    written = dd.exchange.fmu(m, tmp_path / "m.fmu", kind=kind, rtol=1e-8, outputs=names, compiler=False)
    assert written.method == "radau5"
    assert any("Newton" in note for note in written.notes)
    part = dd.exchange.load_fmu(tmp_path / "m.fmu", kind=kind, trusted=True)
    there = dd.simulate(part, span, inputs=inputs, rtol=1e-8)
    if make is until_half and kind == "co_simulation":
        assert float(there["z"][-1]) == pytest.approx(0.5, abs=1e-6)
        return
    assert float(there.time[-1]) == pytest.approx(float(here.time[-1]), rel=1e-6)
    for name in names:
        assert float(there[name][-1]) == pytest.approx(float(here[name][-1]), rel=2e-6, abs=1e-9)


def test_the_compiled_library_has_the_same_bits(tmp_path):
    m, span, inputs, names = implicit_law()
    ends = []
    for compiler in (False, True):
        try:
            dd.exchange.fmu(m, tmp_path / f"{compiler}.fmu", outputs=names, compiler=compiler)
        except dd.InputError as error:
            pytest.skip(str(error).splitlines()[0])
        part = dd.exchange.load_fmu(tmp_path / f"{compiler}.fmu", kind="co_simulation", trusted=True)
        ends.append(dd.simulate(part, span, inputs=inputs)["x"][-1])
    assert float(ends[0]) == pytest.approx(float(ends[1]), rel=1e-13)


def test_derivatives_follow_by_the_implicit_function_theorem(tmp_path):
    """Sensitivities through model exchange use the directional derivatives of the FMU."""
    m, span, inputs, names = implicit_law()
    dd.exchange.fmu(m, tmp_path / "m.fmu", kind="model_exchange", outputs=names)
    part = dd.exchange.load_fmu(tmp_path / "m.fmu", kind="model_exchange", trusted=True)
    own, other = (
        dd.sensitivities(model, span, inputs=inputs, wrt=("start", "parameters"), rtol=1e-9) for model in (m, part)
    )
    assert float(np.ravel(own.M)[0]) == pytest.approx(float(np.ravel(other.M)[0]), rel=1e-6)
    assert float(np.ravel(own.d("x", "k"))[0]) == pytest.approx(float(np.ravel(other.d("x", "k"))[0]), rel=1e-6)


def test_too_many_unknowns_are_told(tmp_path):
    m = dd.Model("wide")
    x, z = m.state("x", 250, start=np.ones(250)), m.algebraic("z", 250)
    m.equation(m.der(x), -z)
    m.equation(z + 0.1 * ca.sin(z), x)
    with pytest.raises(dd.InputError, match=r"solved together[\s\S]*at most 400"):
        dd.exchange.fmu(m, tmp_path / "m.fmu")
