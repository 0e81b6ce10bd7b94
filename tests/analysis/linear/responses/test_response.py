import pickle

import numpy as np
import pytest

from daedalus.analysis.linear.lti import LTI
from daedalus.errors import InputError

ARM = LTI(
    np.diag([-1.0, -2.0, -3.0]),
    np.eye(3),
    [[1.0, 1.0, 0.0]],
    states=["q[0]", "q[1]", "grip"],
    inputs=["torque[0]", "torque[1]", "close"],
    outputs=["reach"],
)
R = ARM.respond([0.0, 0.5, 1.0], {"torque": [1.0, 2.0], "close": [0.0, 1.0, 2.0]}, {"grip": 1.0})


def test_values_by_name():
    assert R["grip"].shape == (3,)
    assert R["q"].shape == (3, 2)
    assert np.array_equal(R["q[1]"], R.states[:, 1])
    assert np.array_equal(R["torque"], [[1.0, 2.0]] * 3)
    assert np.allclose(R["reach"], R["q"].sum(axis=1))
    assert np.array_equal(R[["grip", "q"]], R.states[:, [2, 0, 1]])
    assert np.array_equal(R["time"], R.time)
    assert "q" in R
    assert "wrist" not in R


def test_selection_keeps_order_of_the_request():
    few = R.select(states=["grip", "q[0]"], inputs=[], outputs="reach")
    assert few.state_names == ("grip", "q[0]")
    assert np.array_equal(few.states, R.states[:, [2, 0]])
    assert few.inputs.shape == (3, 0)


def test_results_do_not_change():
    with pytest.raises(ValueError, match="read-only"):
        R.states[0, 0] = 1.0


def test_labelled_arrays():
    data = R.to_xarray()
    assert np.array_equal(data["states"].sel(state="grip"), R["grip"])
    assert data["inputs"].dims == ("time", "input")
    frame = R.to_dataframe()
    assert list(frame.columns) == [*ARM.states, *ARM.inputs, *ARM.outputs]
    assert frame.index.name == "time"


def test_travels_by_pickle():
    assert np.array_equal(pickle.loads(pickle.dumps(R))["reach"], R["reach"])
    assert pickle.loads(pickle.dumps(ARM)).states == ARM.states


def test_unknown_names():
    with pytest.raises(InputError) as caught:
        R["grup"]
    assert str(caught.value).splitlines() == [
        "The response has no 'grup'.",
        "  it has q[0], q[1], grip, torque[0], torque[1], close, reach",
        "  Try: 'grip'",
    ]
    with pytest.raises(InputError, match="selected twice"):
        R.select(states=["q", "q[0]"])
