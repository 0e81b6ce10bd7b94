"""Random networks of parts, one domain each: loops, parallel parts, parts joined rigidly or the other way round."""

import numpy as np

import daedalus as dd

DOMAINS = ("electrical", "rotational", "translational", "thermal", "hydraulic")


class _Network:
    """Nodes that ports are collected at, and random values."""

    def __init__(self, seed):
        self.draw = np.random.default_rng(seed)
        self.m = dd.Model(f"network {seed}")
        self.nodes = [[] for _ in range(int(self.draw.integers(2, 5)))]

    def value(self):
        return float(np.round(self.draw.uniform(0.5, 2.0), 2))

    def add(self, part, **ports):
        """A part with its ports at nodes."""
        handle = self.m.add(part)
        for port, node in ports.items():
            self.nodes[node].append(getattr(handle, port))

    def pair(self):
        return (int(k) for k in self.draw.choice(len(self.nodes), 2, replace=False))

    def before(self, k):
        return int(self.draw.integers(0, k))

    def join(self, a, b):
        """Two nodes become one."""
        if self.nodes[a] is not self.nodes[b]:
            self.nodes[a] += self.nodes[b]
            self.nodes[:] = [self.nodes[a] if node is self.nodes[b] else node for node in self.nodes]

    def connected(self):
        for k, node in enumerate(self.nodes):
            if len(node) > 1 and not any(node is other for other in self.nodes[:k]):
                self.m.connect(*node)
        return self.m


def _electrical(net):
    C = dd.components.electrical
    net.add(C.Ground("ground"), pin=0)
    source = (
        C.VoltageSource("source", voltage=1.5) if net.draw.random() < 0.5 else C.CurrentSource("source", current=1.5)
    )
    net.add(source, plus=1, minus=0)
    for k in range(1, len(net.nodes)):
        net.add(C.Resistor(f"r{k}", resistance=net.value()), plus=k, minus=net.before(k))
    for k in range(int(net.draw.integers(2, 6))):
        kind, word = [("Resistor", "resistance"), ("Capacitor", "capacitance"), ("Inductor", "inductance")][
            int(net.draw.integers(0, 3))
        ]
        a, b = net.pair()
        net.add(getattr(C, kind)(f"p{k}", **{word: net.value()}), plus=a, minus=b)


def _mechanical(net, C, body, word, force, port):
    for k in range(len(net.nodes)):
        net.add(getattr(C, body)(f"f{k}", **{word: net.value()}), **{port: k})
    net.add(getattr(C, f"{force.capitalize()}Source")("source", **{force: net.value()}), **{port: 0})
    for k in range(int(net.draw.integers(1, 6))):
        kind, (a, b) = str(net.draw.choice(["Spring", "Damper", "rigid", "again"])), net.pair()
        if kind == "rigid":
            net.join(a, b)
        elif kind == "again":
            net.add(getattr(C, body)(f"x{k}", **{word: net.value()}), **{port: a})
        else:
            law = {"Spring": "stiffness", "Damper": "damping"}[kind]
            net.add(getattr(C, kind)(f"p{k}", **{law: net.value()}), **{f"{port}_a": a, f"{port}_b": b})


def _thermal(net):
    C = dd.components.thermal
    for k in range(len(net.nodes)):
        net.add(C.Node(f"n{k}", capacity=net.value()), heat=k)
    net.add(C.Node("again", capacity=net.value()), heat=0)
    net.add(C.HeatSource("source", heat=net.value()), heat=0)
    for k in range(1, len(net.nodes)):
        net.add(C.Conduction(f"c{k}", conductance=net.value()), heat_a=k, heat_b=net.before(k))


def _hydraulic(net):
    C = dd.components.hydraulic
    for k in range(len(net.nodes)):
        net.add(C.Tank(f"t{k}", area=net.value(), density=1.0), outlet=k)
    for k in range(1, len(net.nodes)):
        net.add(C.Resistance(f"r{k}", resistance=net.value()), a=k, b=net.before(k))
    if net.draw.random() < 0.6:
        net.add(C.Tank("again", area=net.value(), density=1.0), outlet=0)
    net.add(C.Line("line", length=net.value(), area=net.value(), density=1.0), a=0, b=len(net.nodes) - 1)


def network(seed, domain=None):
    """The network of a seed, of the domain that is asked for or of one that the seed says."""
    net, domain = _Network(seed), domain or DOMAINS[seed % len(DOMAINS)]
    if domain == "rotational":
        _mechanical(net, dd.components.rotational, "Inertia", "inertia", "torque", "shaft")
    elif domain == "translational":
        _mechanical(net, dd.components.translational, "Mass", "mass", "force", "flange")
    else:
        {"electrical": _electrical, "thermal": _thermal, "hydraulic": _hydraulic}[domain](net)
    return net.connected()
