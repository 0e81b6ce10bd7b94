"""Random networks whose values spread over ten decades, against the matrix exponential of their state equations."""

from dataclasses import dataclass

import mpmath as mp
import numpy as np
import pytest

import daedalus as dd
from daedalus.simulation.result.records_of_methods import BelowTolerance, FewDigits, SizesOfParts

C = dd.components.electrical
RTOL, ATOL = 1e-6, 1e-9


@dataclass
class Network:
    """Nodes with a capacitor to ground each, resistors and inductors between them, one source behind a resistor."""

    capacitances: np.ndarray
    parts: list[tuple[str, int, int, float]]  # R or L between two nodes; node 0 is ground
    voltage: float
    fed: int
    feed: float
    start: np.ndarray

    @staticmethod
    def drawn(seed, largest=1e3):
        draw = np.random.default_rng(seed)
        n = int(draw.integers(1, 5))
        edges = [(k, int(draw.integers(0, k))) for k in range(1, n + 1)]
        edges += [tuple(int(k) for k in draw.choice(n + 1, 2, replace=False)) for _ in range(int(draw.integers(0, 3)))]
        parts = []
        for a, b in edges:
            kind = "R" if draw.random() < 0.7 else "L"
            parts.append((kind, a, b, float(10.0 ** (draw.uniform(-4, 6) if kind == "R" else draw.uniform(-9, 1)))))
        size = np.log10(largest)
        signs = draw.choice([-1.0, 1.0], n)
        return Network(
            10.0 ** draw.uniform(-9, 1, n), parts, float(10.0 ** draw.uniform(-12, size)), int(draw.integers(1, n + 1)),
            float(10.0 ** draw.uniform(-4, 6)), signs * 10.0 ** draw.uniform(-12, size, n),
        )  # fmt: skip

    @property
    def names(self):
        voltages = [f"c{k + 1}.voltage" for k in range(len(self.capacitances))]
        return voltages + [f"p{i}.current" for i, part in enumerate(self.parts) if part[0] == "L"]

    def model(self):
        m = dd.Model("network")
        pins = {k: [] for k in range(len(self.capacitances) + 1)}
        pins[0].append(m.add(C.Ground("ground")).pin)
        for k, value in enumerate(self.capacitances, 1):
            part = m.add(C.Capacitor(f"c{k}", capacitance=value))
            pins[k].append(part.plus), pins[0].append(part.minus)
        for i, (kind, a, b, value) in enumerate(self.parts):
            made = C.Resistor(f"p{i}", resistance=value) if kind == "R" else C.Inductor(f"p{i}", inductance=value)
            part = m.add(made)
            pins[a].append(part.plus), pins[b].append(part.minus)
        source, feed = (
            m.add(C.VoltageSource("source", voltage=self.voltage)),
            m.add(C.Resistor("feed", resistance=self.feed)),
        )
        m.connect(source.plus, feed.plus)
        pins[0].append(source.minus), pins[self.fed].append(feed.minus)
        for joined in pins.values():
            m.connect(*joined)
        start = dict(zip(self.names, np.concatenate([self.start, np.zeros(len(self.names) - len(self.start))])))
        return m, start

    def equations(self):
        """A and b of x' = A x + b, by hand."""
        n, size = len(self.capacitances), len(self.names)
        A, b = np.zeros((size, size)), np.zeros(size)
        inductor = n
        for kind, *ends, value in self.parts:
            for sign, one, other in ((1, *ends), (-1, *reversed(ends))):
                if kind == "R" and one:
                    A[one - 1, one - 1] -= 1 / (value * self.capacitances[one - 1])
                    if other:
                        A[one - 1, other - 1] += 1 / (value * self.capacitances[one - 1])
                if kind == "L" and one:
                    A[inductor, one - 1] += sign / value
                    A[one - 1, inductor] -= sign / self.capacitances[one - 1]
            inductor += kind == "L"
        A[self.fed - 1, self.fed - 1] -= 1 / (self.feed * self.capacitances[self.fed - 1])
        b[self.fed - 1] += self.voltage / (self.feed * self.capacitances[self.fed - 1])
        return A, b

    def span(self, draw):
        """An end between the fastest and the slowest time of the network, of not too many oscillations."""
        poles = np.linalg.eigvals(self.equations()[0])
        rates = np.abs(poles)[np.abs(poles) > 0]
        end = 10.0 ** draw.uniform(-np.log10(rates.max()), np.log10(min(10 / rates.min(), 1e12 / rates.max())))
        fastest = np.abs(poles.imag).max()
        return float(min(end, 60 / fastest) if fastest > 0 else end)

    def exact(self, t):
        """x(t) with a hundred digits, of which squaring loses some tens."""
        A, b = self.equations()
        size = len(b)
        with mp.workdps(100):
            whole = mp.zeros(size + 1)
            for i in range(size):
                whole[i, size] = mp.mpf(float(b[i]))
                for j in range(size):
                    whole[i, j] = mp.mpf(float(A[i, j]))
            start = mp.matrix(
                [*(mp.mpf(float(v)) for v in self.start), *([mp.mpf(0)] * (size - len(self.start))), mp.mpf(1)]
            )
            return np.array([float(v) for v in (mp.expm(whole * t, method="taylor") * start)[:size]])


def told(tr, kinds):
    return {name for record in tr.records if isinstance(record, kinds) for name in record.variables}


def check(seed, largest=1e3):
    """Every signal is right to the tolerances, in units of its own size where these followed from it, or told."""
    network, draw = Network.drawn(seed, largest), np.random.default_rng(10**6 + seed)
    end = network.span(draw)
    model, start = network.model()
    tr = dd.simulate(model, end, start=start, rtol=RTOL, atol=ATOL)
    assert tr.success, tr.stop_reason
    noise = 64 * np.finfo(float).eps * max(np.abs(tr[name]).max() for name in network.names)
    unresolved, by_size = told(tr, (BelowTolerance, FewDigits)), told(tr, SizesOfParts)
    for t in (*draw.uniform(0, end, 2), end):
        for name, exact in zip(network.names, network.exact(t)):
            size = max(np.abs(tr[name]).max(), abs(exact))
            allowed = RTOL * size + (max(ATOL * size, noise) if name in by_size - unresolved else ATOL)
            assert abs(tr.at(t)[name] - exact) <= (20 + tr.work.steps) * allowed, (name, t / end)


@pytest.mark.parametrize("seed", range(12))
def test_signals_of_any_size(seed):
    check(seed)


@pytest.mark.parametrize("seed", range(100, 106))
def test_small_signals_alone(seed):
    """Of microvolts at most: tolerances of parts follow from what a run shows."""
    check(seed, largest=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("largest", [1e3, 1e-6])
def test_three_hundred(largest):
    for seed in range(1000, 1150):
        check(seed, largest)


def divider(voltage):
    m = dd.Model("divider")
    ground, source = m.add(C.Ground("ground")), m.add(C.VoltageSource("source", voltage=voltage))
    r, l, c = (
        m.add(C.Resistor("r", resistance=1.0)), m.add(C.Inductor("l", inductance=1e-3)),
        m.add(C.Capacitor("c", capacitance=1e-6)),
    )  # fmt: skip
    m.connect(source.plus, r.plus), m.connect(r.minus, l.plus), m.connect(l.minus, c.plus)
    m.connect(c.minus, source.minus, ground.pin)
    return m


@pytest.mark.parametrize("voltage", [1e-15, 1e-10, 1e-7])
def test_a_linear_network_does_not_depend_on_its_unit(voltage):
    start = {"c.voltage": 0.0, "l.current": 0.0}
    one, small = (dd.simulate(divider(v), 1e-3, start=start) for v in (1.0, voltage))
    times = np.linspace(0, 1e-3, 50)
    np.testing.assert_allclose(small.at(times)["c.voltage"] / voltage, one.at(times)["c.voltage"], atol=1e-4)
    assert told(small, SizesOfParts) == {"c.voltage", "l.current"}
    assert not told(one, SizesOfParts)


def pair(small):
    """Two networks that share the ground alone, at a kilovolt and at another voltage."""
    m = dd.Model("pair")
    ground = m.add(C.Ground("ground"))
    one, two = m.add(C.Capacitor("big", capacitance=1e-6)), m.add(C.Capacitor("small", capacitance=1e-6))
    r, s = m.add(C.Resistor("r", resistance=1e3)), m.add(C.Resistor("s", resistance=1e3))
    m.connect(one.plus, r.plus), m.connect(two.plus, s.plus)
    m.connect(ground.pin, one.minus, r.minus, two.minus, s.minus)
    return m, {"big.voltage": 1e3, "small.voltage": small}


@pytest.mark.parametrize("small", [1e-6, 1e-12, 1e-16])
def test_what_the_largest_signals_do_not_feed_is_resolved_below_their_rounding_errors(small):
    m, start = pair(small)
    tr = dd.simulate(m, 1e-2, start=start)
    assert told(tr, SizesOfParts) == {"small.voltage"}
    assert not told(tr, (BelowTolerance, FewDigits))
    times = np.linspace(0, 1e-2, 20)
    np.testing.assert_allclose(tr.at(times)["small.voltage"], small * np.exp(-1e3 * times), rtol=1e-4)


@pytest.mark.parametrize("mismatch", [0.0, 1e-15, 1e-12])
def test_what_rounding_errors_feed_does_not_lengthen_a_run(mismatch):
    """The bridge of two dividers of a kilovolt: its voltage is a small difference of large ones."""
    m = dd.Model("bridge")
    ground, source = m.add(C.Ground("ground")), m.add(C.VoltageSource("source", voltage=1e3))
    a, b, c, d = (
        m.add(C.Resistor(name, resistance=r))
        for name, r in zip("abcd", (1e3, 3e3, 1e3 * (1 + mismatch), 3e3))
    )  # fmt: skip
    over = [m.add(C.Capacitor(name, capacitance=1e-6)) for name in ("left", "right", "across")]
    m.connect(source.plus, a.plus, c.plus)
    m.connect(a.minus, b.plus, over[0].plus, over[2].plus)
    m.connect(c.minus, d.plus, over[1].plus, over[2].minus)
    m.connect(ground.pin, source.minus, b.minus, d.minus, over[0].minus, over[1].minus)
    tr = dd.simulate(m, 1e-2, start={"left.voltage": 0.0, "right.voltage": 0.0})
    assert tr.success
    assert np.abs(tr["across.voltage"]).max() < 1e-8
    assert tr.work.steps < 500


def test_what_cannot_be_resolved_is_told():
    """Where tolerances are given by name they stay as they are."""
    m, start = pair(1e-12)
    tr = dd.simulate(m, 1e-2, start=start, atol={"small.voltage": 1e-9})
    assert told(tr, (BelowTolerance, FewDigits)) == {"small.voltage"}


@pytest.mark.parametrize("method", ["auto", "bdf", "rodas5p"])
def test_a_network_at_rest_ends(method):
    """A rectifier without a voltage: what moves are rounding errors of the saturation current, 1e-27 V."""
    m = dd.Model("rest")
    source, diode = m.add(C.VoltageSource("source", voltage=0.0)), m.add(C.Diode("diode", saturation_current=1e-12))
    inner, load = m.add(C.Resistor("inner", resistance=10.0)), m.add(C.Resistor("load", resistance=1e3))
    store, ground = m.add(C.Capacitor("store", capacitance=1e-5)), m.add(C.Ground("ground"))
    m.connect(source.plus, inner.plus)
    m.connect(inner.minus, diode.plus)
    m.connect(diode.minus, load.plus, store.plus)
    m.connect(source.minus, load.minus, store.minus, ground.pin)
    tr = dd.simulate(m, 0.05, method=method)
    assert tr.success
    assert abs(tr["store.voltage"][-1]) < 1e-20
