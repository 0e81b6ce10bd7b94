"""Networks in a model: values, order of weights, training, and what is refused."""

import numpy as np
import pytest

import daedalus as dd


def evaluated(activation, x, weights):
    """A network of layers 2, 3, 2 by NumPy, weights by rows."""
    a = {
        "tanh": np.tanh,
        "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
        "softplus": lambda v: np.log1p(np.exp(v)),
        "relu": lambda v: np.maximum(v, 0),
        "sin": np.sin,
        "identity": lambda v: v,
    }[activation]
    h = a(weights[:6].reshape(3, 2) @ x + weights[6:9])
    return weights[9:15].reshape(2, 3) @ h + weights[15:17]


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "softplus", "relu", "sin", "identity"])
def test_values_and_the_order_of_weights(activation):
    weights = np.random.default_rng(3).normal(size=17)
    m = dd.Model("two")
    x = m.state("x", 2, start=[0.4, -1.3])
    net = m.network("net", inputs=x, outputs=2, layers=[3], activation=activation, weights=weights)
    m.equation(m.der(x), net)
    assert m.freeze().labels["p"][0] == "net.weights[0]"
    tr = dd.simulate(m, 1e-3)
    np.testing.assert_allclose(tr["x_dot"][0], evaluated(activation, np.array([0.4, -1.3]), weights), rtol=1e-13)


def test_gradients_by_all_weights():
    m = dd.Model("car")
    v = m.state("v", start=1.5)
    m.equation(m.der(v), -m.network("drag", inputs=[v, m.time], layers=[4, 3]))
    g = dd.gradient(m, 1.0, final=v**2, rtol=1e-10, atol=1e-12)
    weights = np.array(m.freeze().start["p"])
    assert np.shape(g["drag.weights"]) == weights.shape == (31,)
    h = 1e-6
    for k in (0, 9, 30):
        ends = []
        for sign in (1, -1):
            moved = weights.copy()
            moved[k] += sign * h
            tr = dd.simulate(m, 1.0, parameters={"drag.weights": moved}, rtol=1e-10, atol=1e-12)
            ends.append(float(tr["v"][-1] ** 2))
        assert g["drag.weights"][k] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-5, abs=1e-8)


def test_a_network_inside_a_mechanism_of_index_three():
    m = dd.Model("pendulum")
    q = m.coordinate("q", 2, start=[1.0, 0.0], rate=[0.0, 0.0])
    m.kinetic_energy(0.5 * (m.rate(q)[0] ** 2 + m.rate(q)[1] ** 2))
    m.potential_energy(9.81 * q[1])
    m.constraint("rod", q[0] ** 2 + q[1] ** 2 - 1)
    speed = q[0] * m.rate(q)[1] - q[1] * m.rate(q)[0]
    torque = m.network("friction", inputs=[speed], layers=[4])
    m.generalised_force(q, [q[1] * torque, -q[0] * torque])
    tr = dd.simulate(m, 0.5)
    assert tr.success
    assert max(tr.drift().values()) < 1e-8
    g = dd.gradient(m, 0.5, final=m["q"][0])
    assert np.all(np.isfinite(g["friction.weights"]))
    assert np.any(g["friction.weights"] != 0)


def test_the_same_numbers_as_pytorch():
    torch = pytest.importorskip("torch", reason="needs the extra `torch`")
    net = torch.nn.Sequential(torch.nn.Linear(2, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2)).double()
    weights = torch.nn.utils.parameters_to_vector(net.parameters()).detach().numpy()
    m = dd.Model("same")
    x = m.state("x", 2, start=[0.4, -1.3])
    m.equation(m.der(x), m.network("net", inputs=x, outputs=2, layers=[5], weights=weights))
    expected = net(torch.tensor([0.4, -1.3], dtype=torch.float64)).detach().numpy()
    np.testing.assert_allclose(dd.simulate(m, 1e-3)["x_dot"][0], expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("'tan' is not an activation.", {"activation": "tan"}),
        ("The layers of network 'net' are not whole numbers of at least 1.", {"layers": [0]}),
        ("The network 'net' has another number of weights.", {"weights": [1.0]}),
        ("The network 'net' is too large.", {"layers": [500, 500]}),
    ],
)
def test_mistakes_are_told(words, options):
    m = dd.Model("m")
    x = m.state("x", start=0.0)
    with pytest.raises(dd.ModelError) as caught:
        m.network("net", inputs=[x], **options)
    assert str(caught.value).splitlines()[0] == words
    assert not m.parameters
