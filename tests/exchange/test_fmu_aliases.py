"""Variables of an FMU that are always equal share a value reference: joined ports, outputs that are states."""

import xml.etree.ElementTree as ElementTree
import zipfile

import numpy as np
import pytest

import daedalus as dd
from daedalus.errors import InputError


def loop():
    plant = dd.Model("plant")
    x, v = plant.state("x", start=1.0, unit="m"), plant.state("v", 2, start=[0.0, 1.0], unit="m/s")
    u = plant.input("u", unit="N")
    plant.equation(plant.der(x), v[0])
    plant.equation(plant.der(v), [u - v[0], -v[1]])
    plant.output("y", x)
    plant.output("speed", v)
    controller = dd.Model("controller")
    e, k, n = controller.input("e", unit="m"), controller.parameter("k", 2.0), controller.discrete("n", start=0.0)
    controller.output("f", -k * e)
    controller.output("again", -k * e)
    controller.output("count", n)
    controller.output("gain", k)
    controller.every(0.1, {"n": n + 1})
    m = dd.Model("loop")
    a, b = m.add(plant), m.add(controller)
    m.connect(b.e, a.y)
    m.connect(a.u, b.f)
    return m


OUTPUTS = ["plant.y", "controller.count"]


def described(path):
    with zipfile.ZipFile(path) as archive:
        return ElementTree.fromstring(archive.read("modelDescription.xml"))


def test_equal_variables_share_a_reference_in_fmi_2(tmp_path):
    root = described(dd.exchange.fmu(loop(), tmp_path / "m.fmu", version=2, outputs=OUTPUTS).path)
    v = {node.get("name"): node for node in root.iter("ScalarVariable")}

    def same(*names):
        return len({v[name].get("valueReference") for name in names}) == 1

    assert same("plant.x", "plant.y", "controller.e")
    assert same("plant.v[0]", "plant.speed[0]")
    assert same("plant.v[1]", "plant.speed[1]")
    assert same("controller.n", "controller.count")
    assert same("controller.f", "controller.again")
    assert not same("controller.k", "controller.gain")
    assert not same("plant.x", "plant.v[0]")
    units = {name: next(iter(node)).get("unit") for name, node in v.items()}
    assert [units[n] for n in ("plant.y", "controller.e", "plant.speed[1]", "plant.u")] == ["m", "m", "m/s", "N"]
    # At most one of equal variables has a start value, and states keep their places.
    for reference in {node.get("valueReference") for node in v.values()}:
        alike = [node for node in v.values() if node.get("valueReference") == reference]
        assert sum(next(iter(node)).get("start") is not None for node in alike) <= 1
    assert v["controller.count"].get("variability") == "discrete"


def test_further_names_are_aliases_in_fmi_3(tmp_path):
    root = described(dd.exchange.fmu(loop(), tmp_path / "m.fmu", outputs=OUTPUTS).path)
    found = {node.get("name"): [a.get("name") for a in node.findall("Alias")] for node in root.iter("Float64")}
    assert found["plant.x"] == ["controller.e"]
    assert found["plant.v[0]"] == ["plant.speed[0]"]
    assert found["controller.f"] == ["controller.again"]
    # Outputs are ports of their own.
    assert found["plant.y"] == found["controller.count"] == []
    references = [node.get("valueReference") for node in root.iter("Float64")]
    assert len(set(references)) == len(references)


@pytest.mark.parametrize("version", [2, 3])
def test_importers_read_all_names(version, tmp_path):
    fmpy = pytest.importorskip("fmpy", reason="needs the extra `fmi` (FMPy)")
    from fmpy.validation import validate_fmu

    path = dd.exchange.fmu(loop(), tmp_path / "m.fmu", version=version, outputs=OUTPUTS, rtol=1e-8).path
    assert validate_fmu(str(path)) == []
    right = dd.simulate(loop(), 1.0, rtol=1e-10, atol=1e-12)
    names = ["plant.y", "plant.x", "controller.e", "plant.speed[1]", "controller.again"]
    values = [right["plant.x"][-1]] * 3 + [right["plant.v"][-1, 1], -2 * right["plant.x"][-1]]
    for kind in ("ModelExchange", "CoSimulation"):
        found = fmpy.simulate_fmu(str(path), stop_time=1.0, fmi_type=kind, output=names, relative_tolerance=1e-8)
        np.testing.assert_allclose([found[name][-1] for name in names], values, rtol=1e-5)
    for kind in ("model_exchange", "co_simulation"):
        plant = dd.exchange.load_fmu(path, kind=kind, trusted=True, variables=["controller.e", "controller.again"])
        tr = dd.simulate(plant, 1.0, rtol=1e-8)
        read = [tr[name][-1] for name in ("plant.y", "controller.e", "controller.again")]
        np.testing.assert_allclose(read, [values[0], values[2], values[4]], rtol=1e-5)


def test_further_names_that_are_taken_are_refused(tmp_path):
    path = dd.exchange.fmu(loop(), tmp_path / "m.fmu", outputs=OUTPUTS).path
    other = tmp_path / "other.fmu"
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(other, "w") as written:
        for name in archive.namelist():
            data = archive.read(name)
            if name == "modelDescription.xml":
                data = data.replace(b'<Alias name="controller.e"/>', b'<Alias name="plant.y"/>')
            written.writestr(name, data)
    with pytest.raises(InputError, match=r"a further name 'plant\.y' of 'plant\.x'"):
        dd.exchange.load_fmu(other)
