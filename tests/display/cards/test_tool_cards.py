"""Everything that a notebook shows has a card; results refuse to become arrays in words."""

import numpy as np
import pytest

import daedalus as dd
from daedalus import catalogue
from daedalus.simulation.run import progress


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
        "Estimator": dd.Estimator(m, ["x"], every=0.1),
        "LinearTimeVarying": dd.linearise(m, along=dd.simulate(m, 1.0, inputs={"u": 0})),
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
        ("Estimator", ("arm: estimator", "<td>y</td>")), ("LinearTimeVarying", ("linear along a run",)),
    ],
)  # fmt: skip
def test_every_tool_has_a_card(objects, kind, words):
    text = objects[kind]._repr_html_()
    assert text.count("<div") == text.count("</div>")
    for word in words:
        assert word in text
    assert " object at 0x" not in repr(objects[kind])


def test_results_that_print_in_words_do_so_in_a_notebook_too():
    """A dataclass writes all its arrays, unless it says how it reads."""
    classes = [value for name in dd.__all__ if isinstance(value := getattr(dd, name), type)]
    told = [one for one in classes if "__str__" in vars(one) and not issubclass(one, Exception)]
    assert len(told) > 10
    assert [one.__name__ for one in told if hasattr(one.__repr__, "__wrapped__")] == []


@pytest.mark.parametrize("kind", ["Trajectory", "Ensemble"])
def test_results_refuse_to_become_arrays(objects, kind):
    with pytest.raises(dd.InputError, match="is not an array"):
        np.asarray(objects[kind])


def test_models_of_parts_show_their_diagram_and_tree_first():
    text = catalogue.load("motor_lift").model._repr_html_()
    order = [text.index(word) for word in ("parts and connections", "<svg", "tree of parts", "equations</h5>")]
    assert order == sorted(order)
    assert "kg·m²" in text
    assert "kg*m^2" not in text.partition("variables</h5>")[2]


@pytest.mark.parametrize(
    "place", [dd, dd.components, catalogue, dd.components.electrical, dd.components.signals, dd.units, dd.inertia]
)
def test_completion_shows_public_names_alone(place):
    assert set(dir(place)) - {"__version__"} == set(place.__all__)


@pytest.mark.parametrize("kind", ["Trajectory", "Controller", "OptimalControl", "Estimator", "System"])
def test_completion_of_objects_shows_what_is_documented(objects, kind):
    shown = [name for name in dir(objects[kind]) if not name.startswith("_")]
    assert shown
    for name in shown:
        attribute = getattr(type(objects[kind]), name, None)
        assert attribute is None or attribute.__doc__, name


def test_bars_leave_nothing_behind_even_if_a_run_is_stopped(monkeypatch):
    """Notebooks keep a bar that did not reach its end."""
    closed = []

    class Bar:
        def __init__(self, total, **_):
            self.total, self.n = total, 0

        def refresh(self):
            pass

        def close(self):
            closed.append(self.n < self.total)

    monkeypatch.setattr(progress, "bar_maker", lambda: Bar)
    bar = progress.ProgressBar(0.0, 1.0, "run", patience=0.0)
    bar(0.3)
    bar.close()
    assert closed == [False]
