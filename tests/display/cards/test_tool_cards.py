"""Everything that a notebook shows has a card; results refuse to become arrays in words."""

import numpy as np
import pytest

import daedalus as dd


@pytest.fixture(scope="module")
def objects():
    m = dd.Model("arm")
    x, v, u, k = m.state("x", start=1.0, unit="m"), m.state("v", start=0.0), m.input("u"), m.parameter("k", 2.0)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -k * x + u)
    ocp = dd.OptimalControl(m, duration=1.0, intervals=10)
    ocp.start()
    ocp.finish({"x": 0.5, "v": 0.0})
    ocp.minimise(running=u**2)
    t = np.linspace(0, 1, 20)
    return {
        "System": m.freeze(),
        "Fit": dd.fit(m, {"time": t, "x": np.cos(1.4 * t)}, free="k", inputs={"u": 0}),
        "Controller": dd.Controller(ocp, every=0.1),
        "OptimalControl": ocp,
        "PreparedRun": dd.prepare(m, 1.0, save_at=[0.0, 1.0], inputs={"u": 0}),
        "Linearisation": dd.linearise(m, inputs={"u": 0}),
        "LTI": dd.LTI([[0.0]], [[1.0]], [[1.0]], [[0.0]]),
        "Trajectory": dd.simulate(m, 1.0, inputs={"u": 0}),
        "Ensemble": dd.sweep(m, 1.0, over={"k": [1.0, 2.0]}, inputs={"u": 0}),
    }


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("System", ("2 states", "<td>m</td>")), ("Fit", ("95 % interval", "χ²")), ("Controller", ("arm: controller",)),
        ("OptimalControl", ("10 intervals over 1 s", "<td>inputs</td>")), ("PreparedRun", ("prepared run",)),
        ("Linearisation", ("poles [1/s]", "<h5>A</h5>")), ("LTI", ("poles",)),
    ],
)  # fmt: skip
def test_every_tool_has_a_card(objects, kind, words):
    text = objects[kind]._repr_html_()
    assert text.count("<div") == text.count("</div>")
    for word in words:
        assert word in text
    assert " object at 0x" not in repr(objects[kind])


@pytest.mark.parametrize("kind", ["Trajectory", "Ensemble"])
def test_results_refuse_to_become_arrays(objects, kind):
    with pytest.raises(dd.InputError, match="is not an array"):
        np.asarray(objects[kind])
