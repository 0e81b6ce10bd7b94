"""What notebooks show: typeset equations, verdicts, small curves, names to complete."""

import sys
import types
from xml.etree import ElementTree

import casadi as ca
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.simulation.run import progress


@pytest.fixture(scope="module")
def robot():
    return catalogue.load("delta_robot")


def well_formed(text):
    body = text[text.index("<div") :]
    return ElementTree.fromstring(body.replace("class=bad", 'class="bad"').replace("&nbsp;", " "))


def test_a_model_is_typeset(robot):
    tree = well_formed(robot.model._repr_html_())
    assert len(tree.findall(".//p[@class='dd-formula']")) >= 9
    assert "long_arm" in "".join(tree.itertext())


def test_print_shows_the_units_of_outputs():
    m = dd.Model("fall")
    x = m.state("x", start=1.0, unit="m")
    m.equation(m.der(x), -x)
    m.output("height", 2 * x, unit="m")
    m.output("share", x / 2)
    assert str(m).endswith("outputs: height [m], share")


def test_a_report_tells_its_verdict(robot):
    text = dd.analyse(robot.model)._repr_html_()
    assert "semi-explicit DAE of index 3" in text
    assert len(well_formed(text).findall(".//p[@class='dd-formula']")) == 6


def test_a_run_shows_small_curves(robot):
    tr = dd.simulate(robot.model, robot.span, inputs=robot.inputs)
    tree = well_formed(tr._repr_html_())
    assert len(tree.findall(".//svg")) >= 4
    assert "reached t = 0.5 s" in "".join(tree.itertext())


def test_rounding_beside_the_largest_of_its_unit_is_a_flat_zero():
    m = dd.Model("swing")
    x, v = m.state("x", start=1.0, unit="m"), m.state("v", start=0.0, unit="m/s")
    m.equation([m.der(x), m.der(v)], [v, -x])
    m.output("nothing", 1e-19 * ca.sin(40 * x), unit="m")
    m.output("wave", ca.sin(2 * ca.pi * m.time), unit="V")
    rows = well_formed(dd.simulate(m, 3.0)._repr_html_()).findall(".//tr")
    cells = {row[0].text: row for row in rows}
    heights = [pair.split(",")[1] for pair in cells["nothing"].find(".//polyline").get("points").split()]
    assert len(set(heights)) == 1
    assert cells["nothing"][3].text == "0"
    assert cells["wave"][3].text == "0"


def test_a_failed_run_is_marked():
    m = dd.Model("explosion <script>")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), x**2)
    text = dd.simulate(m, 2.0)._repr_html_()
    assert "class=bad" in text
    assert "<script>" not in text


@pytest.mark.filterwarnings("error")
def test_a_run_that_ends_where_it_begins_has_a_card_without_curves():
    m = dd.Model("stuck")
    x, v = m.state("x", start=1.0), m.state("v", start=0.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x)
    tr = dd.simulate(m, (0.0, 0.0))
    assert tr.time[0] == tr.time[-1]
    tree = well_formed(tr._repr_html_())
    assert tree.findall(".//svg") == []
    assert "t = 0 to 0" in "".join(tree.itertext())


def test_starts_sensitivities_and_sweeps(robot):
    well_formed(dd.initialise(robot.model, inputs=robot.inputs)._repr_html_())
    k = catalogue.load("mass_spring")
    assert "∂ of / by" in dd.sensitivities(k.model, 0.1, wrt=("parameters",))._repr_html_()
    en = dd.sweep(k.model, 1.0, over={"stiffness": [4.0, 8.0]})
    assert "2 of 2 cases" in en._repr_html_()
    well_formed(en._repr_html_())


def test_a_plan_has_a_card():
    m = dd.Model("cart")
    x, v, u = m.state("x", start=0.0, unit="m"), m.state("v", start=0.0), m.input("u")
    m.equation([m.der(x), m.der(v)], [v, u])
    ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
    ocp.start()
    ocp.finish({"x": 1.0, "v": 0.0})
    ocp.minimise(running=u**2)
    text = ocp.solve()._repr_html_()
    well_formed(text)
    assert "cart: plan" in text
    assert "cost 12" in text
    assert text.count("<svg") == 3


def test_names_complete_in_square_brackets(robot):
    tr = dd.simulate(robot.model, 0.1, inputs=robot.inputs)
    assert {"position", "position_dot", "arm", "energy"} <= set(tr._ipython_key_completions_())
    assert {"position", "torque", "energy"} <= set(robot.model._ipython_key_completions_())
    assert "position" in tr.at(0.05)._ipython_key_completions_()


def test_notebooks_get_their_own_bar(monkeypatch):
    import tqdm

    assert progress.bar_maker() is tqdm.tqdm
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    assert progress.wants_progress(None)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert progress.bar_maker() is tqdm.tqdm
