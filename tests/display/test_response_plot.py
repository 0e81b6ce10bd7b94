import matplotlib.pyplot as plt
import numpy as np
import pytest

from daedalus.analysis.linear.lti import LTI

SYSTEM = LTI([[0, 1], [-4, -0.4]], [0, 4], states=["angle", "rate"], inputs=["torque"])


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_outputs_over_time_with_their_names():
    r = SYSTEM.step_response(np.linspace(0, 5, 50))
    (panel,) = r.plot().axes
    assert [line.get_label() for line in panel.lines] == ["angle", "rate"]
    assert np.array_equal(panel.lines[0].get_ydata(), r["angle"])
    assert panel.get_xlabel() == "time [s]"


def test_chosen_names_in_a_given_panel():
    _, ax = plt.subplots()
    SYSTEM.step_response([0.0, 1.0]).plot(["torque", "rate"], ax=ax)
    assert [line.get_label() for line in ax.lines] == ["torque", "rate"]


def test_bode_diagram():
    upper, lower = SYSTEM.select(outputs="angle").frequency_response(np.array([1e-3, 2.0, 1e3])).plot().axes
    assert upper.lines[0].get_ydata()[0] == pytest.approx(0.0, abs=1e-3)
    # At the natural frequency: gain 1 / (2 ζ) with ζ = 0.1, phase -90°.
    assert upper.lines[0].get_ydata()[1] == pytest.approx(20 * np.log10(5.0))
    assert lower.lines[0].get_ydata()[1] == pytest.approx(-90.0)
    assert upper.lines[0].get_label() == "torque to angle"
    assert lower.get_xscale() == "log"
