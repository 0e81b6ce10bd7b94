"""Models that are written, run and dropped give their memory back, whatever they are made of."""

import subprocess
import sys

import pytest

SCRIPT = """
import ctypes, gc, os, sys
import casadi as ca
import numpy as np
import daedalus as dd
from daedalus.compilation import compile as door, machine_code
from daedalus.scipy_calls import ivp_function

library = ctypes.CDLL(None)

class Heap(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
                "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]

library.mallinfo2.restype = Heap

def in_use():
    # What is kept for callers who come again, and is bounded, does not count.
    door._recent.clear()
    ivp_function.KEPT.clear()
    gc.collect()
    machine_code._present_linker = None
    gc.collect()
    heap = library.mallinfo2()
    return heap.uordblks + heap.hblkhd

def plain(k):
    m = dd.Model(f"plain{k}")
    x, y = m.state("x", start=1.0), m.state("y", start=0.0)
    m.equation(m.der(x), y - 1e-3 * (k + 0.5) * x)
    m.equation(m.der(y), -ca.sin(x) * (1 + 1e-3 * k))
    dd.simulate(m, 0.1).at(0.05)["x"]

def algebraic(k):
    m = dd.Model(f"algebraic{k}")
    x, z = m.state("x", start=1.0), m.algebraic("z")
    m.equation(m.der(x), -z)
    m.equation(z + 0.1 * z**3, x * (1 + 1e-3 * k))
    dd.simulate(m, 0.1).at(0.05)["z"]

def pendulum(k):
    m, length = dd.Model(f"pendulum{k}"), 1 + 1e-3 * k
    x, y, v, w = (m.state(name, start=start) for name, start in (("x", length), ("y", 0.0), ("v", 0.0), ("w", 0.0)))
    rod = m.algebraic("rod")
    for state, rate in ((x, v), (y, w), (v, -rod * x), (w, -rod * y - 9.81)):
        m.equation(m.der(state), rate)
    m.equation(x * x + y * y, length**2)
    dd.simulate(m, 0.1)

def driven(k):
    m = dd.Model(f"driven{k}")
    x, u = m.state("x", start=1.0), m.input("u")
    m.equation(m.der(x), u - x * (1 + 1e-3 * k))
    dd.simulate(m, 0.1, inputs={"u": lambda t: (k + 0.5) * np.sin(t)})
    dd.simulate(m, 0.1, inputs={"u": lambda t: float(str(k * t))})

def network(k):
    C, m, pick = dd.components.electrical, dd.Model(f"network{k}"), np.random.default_rng(k)
    source, ground = m.add(C.VoltageSource("source", voltage=float(pick.uniform(1, 5)))), m.add(C.Ground("ground"))
    m.connect(source.minus, ground.pin)
    last = source.plus
    for j in range(int(pick.integers(2, 5))):
        r = m.add(C.Resistor(f"R{j}", resistance=float(pick.uniform(1, 5))))
        c = m.add(C.Capacitor(f"C{j}", capacitance=float(pick.uniform(0.1, 1))))
        m.connect(last, r.plus)
        m.connect(r.minus, c.plus)
        m.connect(c.minus, ground.pin)
        last = r.minus
    if k % 2:
        d = m.add(C.Diode("D", on_resistance=0.01, off_conductance=1e-6))
        m.connect(last, d.plus)
        m.connect(d.minus, ground.pin)
    dd.simulate(m, 0.1).at(0.05)

def events(k):
    m = dd.Model(f"events{k}")
    h, v = m.state("h", start=1.0 + 1e-3 * k), m.state("v", start=0.0)
    m.discrete("low", start=0)
    m.equation(m.der(h), v)
    m.equation(m.der(v), -9.81 + ca.if_else(h > 0.5, 0.1, 0.2))
    m.event("bounce", h, direction=-1, reset={"v": -0.8 * v})
    m.when(h < 0.7, {"low": 1})
    dd.simulate(m, 0.6).at(0.3)

def function(k):
    dd.solve_ivp(lambda t, y: -y * (1 + 1e-3 * k) + np.sin(t), (0, 0.1), [1.0, 2.0])
    dd.solve_ivp(lambda t, y: np.array([float(str(-y[0]))]), (0, 0.1), [1.0])

def with_parameter(k):
    m = dd.Model(f"derivative{k}")
    x, p = m.state("x", start=1.0), m.parameter("p", 1.0)
    m.equation(m.der(x), -p * x * (1 + 1e-3 * k))
    return m

def derivative(k):
    dd.sensitivities(with_parameter(k), 0.1)

def sweep(k):
    dd.sweep(with_parameter(k), 0.1, over={"p": np.linspace(1.0, 2.0, 8)})

def fit(k):
    times = np.linspace(0, 0.1, 5)
    dd.fit(with_parameter(k), {"time": times, "x": np.exp(-times)}, ["p"])

def netlist(k):
    stages = range(1, 3 + k % 3)
    cards = (f"R{j} {j} {j + 1} {1 + k * j}\\nC{j} {j + 1} 0 0.1\\nM{j} {j + 1} {j} 0 0 nm\\n" for j in stages)
    dd.simulate(dd.components.from_spice(
        f"random\\nV1 1 0 DC {1 + k}\\n{''.join(cards)}.model nm nmos(vto=0.5 kp=1e-3)\\n.end\\n"), 0.05)

def body(k):
    m = dd.Model(f"body{k}")
    m.gravity([0, 0, -9.81])
    arm = m.body("arm", mass=1.2 + 1e-3 * k, inertia=np.diag([0.1, 0.2, 0.3]), position=[0.4, 0, 0],
                 velocity=[0, 0, 0], rotation=np.eye(3), angular_velocity=[0, 0, 0])
    m.joint("hinge", "revolute", dd.ground, arm, at_b=[-0.4, 0, 0], axis_a=[0, 1, 0], axis_b=[0, 1, 0])
    dd.simulate(m, 0.05)

def friction(k):
    m = dd.Model(f"friction{k}")
    x, v = m.state("x", start=0.0), m.state("v", start=1.0 + 1e-3 * k)
    m.equation(m.der(x), v)
    m.equation(m.der(v), -x * (1 + 1e-3 * k) - m.friction("f", v, kinetic=0.4))
    dd.simulate(m, 1.0)

def plan(k):
    m = dd.Model(f"plan{k}")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    m.equation(m.der(x), v)
    m.equation(m.der(v), u * (1 + 1e-3 * k))
    problem = dd.OptimalControl(m, 1.0)
    problem.minimise(running=u * u)
    problem.finish({"x": 1, "v": 0})
    problem.solve()

def parts(k):
    R, m = dd.components.rotational, dd.Model(f"parts{k}")
    motor = m.add(R.TorqueSource("motor", torque=1.0 + 1e-3 * k))
    first, gear = m.add(R.Inertia("first", inertia=0.1)), m.add(R.Gear("gear", reduction=5 + 1e-3 * k, efficiency=0.9))
    last = m.add(R.Inertia("last", inertia=1.0))
    m.connect(motor.shaft, first.shaft, gear.shaft_a)
    m.connect(gear.shaft_b, last.shaft)
    dd.simulate(m, 0.1).energy_balance()

def reduced(k):
    m, length = dd.Model(f"reduced{k}"), 1 + 1e-3 * k
    x, y, v, w = (m.state(name, start=start) for name, start in (("x", length), ("y", 0.0), ("v", 0.0), ("w", 0.0)))
    rod = m.algebraic("rod")
    for state, rate in ((x, v), (y, w), (v, -rod * x), (w, -rod * y - 9.81)):
        m.equation(m.der(state), rate)
    m.equation(x * x + y * y, length**2)
    forms = ("projection", "ggl", "dummy_derivatives", "baumgarte")
    dd.simulate(dd.reduce(m, index=2 if k % 4 == 1 else 1, stabilise=forms[k % 4]), 0.05)

def controller(k):
    m = dd.Model(f"controller{k}")
    x, v, u = m.state("x", start=0.0), m.state("v", start=0.0), m.input("u")
    m.equation(m.der(x), v)
    m.equation(m.der(v), u * (1 + 1e-3 * k) - 0.1 * ca.sin(x))
    problem = dd.OptimalControl(m, 1.0, intervals=8)
    problem.minimise(running=x * x + u * u)
    problem.bound(u, -1, 1)
    dd.Controller(problem, every=0.1)({"x": 1.0, "v": 0.0})

def estimator(k):
    dd.Estimator(with_parameter(k), outputs=["x"], start={"x": 1.0}, start_covariance=0.1, process_noise=0.1,
                 measurement_noise=0.1, every=0.1)([1.0])

def contact(k):
    m = dd.Model(f"contact{k}")
    h = m.coordinate("h", start=0.3 + 1e-3 * k)
    m.kinetic_energy(0.5 * m.rate(h) ** 2)
    m.potential_energy(9.81 * h)
    m.unilateral("floor", h, restitution=0.5)
    dd.simulate(m, 0.5).at(0.4)["h"]

def robot(k):
    text = "".join(
        f'<link name="l{j}"><inertial><mass value="{1 + 1e-3 * k}"/><origin xyz="0 0 0.1"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        f'<joint name="j{j}" type="continuous"><parent link="{"base" if j == 0 else "l0"}"/><child link="l{j}"/>'
        '<origin xyz="0 0 0.2"/><axis xyz="0 1 0"/></joint>' for j in range(2))
    m = dd.read_urdf(f'<robot name="r{k}"><link name="base"/>{text}</robot>')
    arm = m.robot()
    arm.inverse_dynamics(np.zeros(2), np.ones(2), np.ones(2))
    dd.simulate(m, 0.05)

def linear(k):
    m = with_parameter(k)
    dd.linearise(m).poles()
    dd.equilibrium(m)

def late(k):
    m = dd.Model(f"late{k}")
    x = m.state("x", start=1.0)
    m.equation(m.der(x), -m.delay(x, 0.02 + 1e-5 * k, name="before"))
    dd.simulate(m, 0.1)

def kept(k):
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        dd.simulate(with_parameter(k), 0.1).save(folder + "/run.nc")
        dd.load(folder + "/run.nc").at(0.05)["x"]

def clocks(k):
    m = dd.Model(f"clocks{k}")
    x, n = m.state("x", start=1.0), m.discrete("n", start=0)
    m.discrete("seen", start=0)
    m.equation(m.der(x), -x * (1 + 1e-3 * k))
    m.every(0.01, {"n": n + 1})
    m.every(0.03, call=lambda t, values, memory: ((values[0] + k,), memory), reads=["x"], writes=["seen"])
    dd.simulate(m, 0.1)

def field(k):
    m = dd.Model(f"field{k}")
    u = m.state("u", (6, 6), start=[[1.0 + 1e-3 * k] * 6] + [[0.0] * 6] * 5)
    m.equation(m.der(u), dd.laplacian(u, 1.0 + 1e-3 * k, boundary="neumann") - 0.1 * u**3)
    dd.simulate(m, 0.1).at(0.05)["u"]

def imported(k):
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        dd.exchange.fmu(with_parameter(k), folder + "/model.fmu")
        dd.simulate(dd.exchange.load_fmu(folder + "/model.fmu"), 0.05)

def torch(k):
    dd.exchange.torch(with_parameter(k), np.linspace(0, 0.1, 5))()

def jax(k):
    import jax
    jax.config.update("jax_enable_x64", True)
    f = dd.exchange.jax(with_parameter(k), np.linspace(0, 0.1, 5))
    jax.grad(lambda p: f(parameters=p).sum())(f.parameters)

kinds, first, count = [globals()[name] for name in sys.argv[1].split()], int(sys.argv[2]), int(sys.argv[3])
for kind in kinds:
    for k in range(first):
        kind(k)
    before = in_use()
    for k in range(first, first + count):
        kind(k)
    print(kind.__name__, round((in_use() - before) / count), flush=True)
"""

SIMULATED = ("plain", "algebraic", "pendulum", "driven", "network", "events", "netlist", "body", "friction", "parts")
OF_OTHERS = ("torch", "jax")  # packages that may not be there
OF_RUNS = ("reduced", "late", "kept", "clocks", "contact", "robot", "linear", "field", "imported")
KINDS = (*SIMULATED, *OF_RUNS, "function", "derivative", "sweep", "fit", "plan", "controller", "estimator", *OF_OTHERS)


def left_behind(kinds, first, count):
    """Bytes in use that a dropped model leaves, by kind."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, " ".join(kinds), str(first), str(count)],
        env={"DAEDALUS_CACHE": "off", "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1", "PYTHONMALLOC": "malloc"},
        capture_output=True, text=True, timeout=3600, check=True,
    )  # fmt: skip
    return {name: int(size) for name, size in (line.split() for line in done.stdout.splitlines())}


glibc = pytest.mark.skipif(sys.platform != "linux", reason="bytes in use are counted by glibc")


@pytest.mark.wide
@glibc
def test_dropped_models_leave_nothing_that_grows():
    found = left_behind(("driven", "network", "events"), 20, 16)
    assert {kind: size for kind, size in found.items() if size > 5000} == {}


@glibc
@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_dropped_models_of_a_kind(kind):
    if kind in OF_OTHERS:
        pytest.importorskip(kind)
    assert left_behind((kind,), 50, 1000)[kind] < 5000
