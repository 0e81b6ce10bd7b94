"""Arms, trees and chains of joints: dynamics, derivatives, whole runs and first results, beside Pinocchio and SciPy."""

import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.timing import best_cpu_time

# How many joints, and which link a link hangs on.
ROBOTS: dict[str, tuple[int, Callable[[int], int]]] = {
    "arm of 7": (7, lambda k: k - 1),
    "tree of 31": (31, lambda k: (k - 1) // 2),
    "chain of 100": (100, lambda k: k - 1),
    "chain of 200": (200, lambda k: k - 1),
}
BATCH = 1000
# The error of all angles at the end of a run at which both are compared, rad.
ERROR = 1e-6


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record; option part: one of `parts`; robot: one of ROBOTS; span: of runs; seconds."""
    parts = {
        "dynamics": dynamics, "derivatives": derivatives, "call": one_call,
        "run": run, "first": first_result, "bodies": bodies,
    }  # fmt: skip
    yield parts[options["part"]](options)


def urdf(name: str) -> str:
    """Links of 1 kg on hinges about changing axes, each turned against the one before."""
    count, carrier = ROBOTS[name]
    text = ['<robot name="r">', '<link name="l0"/>']
    for k in range(1, count + 1):
        axis = ("1 0 0", "0 1 0", "0 0 1")[k % 3]
        text.append(
            f'<link name="l{k}"><inertial><origin xyz="0 0 {0.1 + 0.01 * (k % 5)}"/><mass value="1"/>'
            f'<inertia ixx="0.02" iyy="0.03" izz="0.01" ixy="0.001" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="j{k}" type="continuous"><parent link="l{carrier(k)}"/><child link="l{k}"/>'
            f'<origin xyz="0.02 0 0.2" rpy="0.1 0.2 0.3"/><axis xyz="{axis}"/></joint>'
        )
    return "\n".join([*text, "</robot>"])


def by_joint(name: str, labels: tuple[str, ...]) -> list[int]:
    """Where our angles stand in the order of the joints' numbers."""
    return [labels.index(f"j{k}.angle") for k in range(1, ROBOTS[name][0] + 1)]


def pinocchio(name: str) -> Any:
    """Pinocchio's model with plain angles in the order of the joints' names as it sorts them; None without it."""
    if find_spec("pinocchio") is None:
        return None
    import pinocchio as pin  # type: ignore[import-not-found,unused-ignore]

    # Hinges without limits would be pairs of cosine and sine there.
    return pin.buildModelFromXML(urdf(name).replace("continuous", "revolute").replace(
        "</joint>", '<limit lower="-1e3" upper="1e3" effort="1e3" velocity="1e3"/></joint>'))  # fmt: skip


def drawn(name: str) -> list[np.ndarray]:
    draw = np.random.default_rng(1)
    return [draw.normal(size=(BATCH, ROBOTS[name][0])) for _ in range(3)]


def dynamics(options: dict[str, Any]) -> dict[str, Any]:
    """Seconds of one forward dynamics out of a batch of 1000; Pinocchio's in a loop of Python calls."""
    import daedalus as dd
    from daedalus.compilation import background

    name, seconds = options["robot"], options["seconds"]
    robot, (q, v, tau) = dd.read_urdf(urdf(name)).robot(), drawn(name)
    robot.forward_dynamics(q, v, tau)
    background.finish()
    record = {"ours": best_cpu_time(lambda: robot.forward_dynamics(q, v, tau), seconds) / BATCH}
    model = pinocchio(name)
    if model is not None:
        import pinocchio as pin

        data = model.createData()
        record["pinocchio"] = best_cpu_time(
            lambda: [pin.aba(model, data, *row) for row in zip(q, v, tau)], seconds) / BATCH  # fmt: skip
        places = {model.names[k]: model.joints[k].idx_q for k in range(1, model.njoints)}
        order = [places[label.split(".")[0]] for label in robot.labels["q"]]
        own = [np.zeros(len(order)) for _ in range(3)]
        for vector, values in zip(own, (q, v, tau)):
            vector[order] = values[0]
        theirs = pin.aba(model, data, *own)[order]
        record["difference"] = float(np.abs(robot.forward_dynamics(q[0], v[0], tau[0]) - theirs).max()
                                     / np.abs(theirs).max())  # fmt: skip
    return record


def derivatives(options: dict[str, Any]) -> dict[str, Any]:
    """Seconds of the derivatives of one forward dynamics out of a batch."""
    import daedalus as dd
    from daedalus.compilation import background

    name, seconds = options["robot"], options["seconds"]
    robot, (q, v, tau) = dd.read_urdf(urdf(name)).robot(), drawn(name)
    robot.derivatives.forward_dynamics(q, v, tau)
    background.finish()
    record = {"ours": best_cpu_time(lambda: robot.derivatives.forward_dynamics(q, v, tau), seconds) / BATCH}
    model = pinocchio(name)
    if model is not None:
        import pinocchio as pin

        data = model.createData()
        slopes = pin.computeABADerivatives
        record["pinocchio"] = (
            best_cpu_time(lambda: [slopes(model, data, *row) for row in zip(q, v, tau)], seconds) / BATCH
        )
    return record


def one_call(options: dict[str, Any]) -> dict[str, Any]:
    """Seconds of a single call from Python."""
    import daedalus as dd
    from daedalus.compilation import background

    robot, (q, v, tau) = dd.read_urdf(urdf(options["robot"])).robot(), drawn(options["robot"])
    robot.forward_dynamics(q[0], v[0], tau[0])
    background.finish()
    return {"ours": best_cpu_time(lambda: robot.forward_dynamics(q[0], v[0], tau[0]), options["seconds"])}


def start_angles(name: str) -> np.ndarray:
    return 0.05 * np.sin(np.arange(1, ROBOTS[name][0] + 1))


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Seconds of a run from rest to an error of 1e-6 rad: ours, and SciPy's DOP853 over Pinocchio's aba."""
    import daedalus as dd
    from daedalus.compilation import background

    name, span, seconds = options["robot"], options["span"], options["seconds"]
    m = dd.read_urdf(urdf(name))
    angles = [f"j{k}.angle" for k in range(1, ROBOTS[name][0] + 1)]
    start = dict(zip(angles, start_angles(name).tolist()))

    def ours(rtol: float) -> np.ndarray:
        end = dd.simulate(m, span, start=start, rtol=rtol, atol=rtol, save_at=[span]).end
        return np.array([float(end[angle]) for angle in angles])

    ours(1e-6)
    background.finish()
    exact = ours(1e-12)
    rtol, error = loosest(ours, exact)
    record = {"ours": best_cpu_time(lambda: ours(rtol), seconds), "error": error}
    model = pinocchio(name)
    if model is not None:
        theirs = scipy_run(model, name, span)
        rtol_there, error_there = loosest(theirs, exact)
        record |= {"pinocchio": best_cpu_time(lambda: theirs(rtol_there), seconds), "pinocchio_error": error_there}
    return record


def scipy_run(model: Any, name: str, span: float) -> Callable[[float], np.ndarray]:
    import pinocchio as pin
    from scipy.integrate import solve_ivp

    data, count = model.createData(), ROBOTS[name][0]
    tau, x0 = np.zeros(count), np.zeros(2 * count)
    places = [model.joints[model.getJointId(f"j{k}")].idx_q for k in range(1, count + 1)]
    x0[places] = start_angles(name)

    def slope(t: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[count:], pin.aba(model, data, x[:count], x[count:], tau)])

    def end(rtol: float) -> np.ndarray:
        return np.asarray(solve_ivp(slope, (0, span), x0, method="DOP853", rtol=rtol, atol=rtol).y[:count, -1][places])

    return end


def loosest(end: Callable[[float], np.ndarray], exact: np.ndarray) -> tuple[float, float]:
    """The loosest tolerance that reaches the error, and the error that it leaves."""
    for digits in range(8, 25):
        rtol = 10.0 ** (-digits / 2)
        error = float(np.abs(end(rtol) - exact).max())
        if error <= ERROR:
            break
    return rtol, error


def first_result(options: dict[str, Any]) -> dict[str, Any]:
    """CPU seconds of the calling thread from the text of a robot to the end of its first run."""
    import daedalus as dd

    dd.simulate(dd.read_urdf(urdf("arm of 7")), 0.01)
    text, began = urdf(options["robot"]), time.thread_time()
    dd.simulate(dd.read_urdf(text), 1.0)
    return {"ours": time.thread_time() - began}


def bodies(options: dict[str, Any]) -> dict[str, Any]:
    """A chain of bodies on hinges in body coordinates: CPU seconds to its first result, and of a run again."""
    import daedalus as dd
    from daedalus.compilation import background

    def written(count: int) -> Any:
        m, before = dd.Model("chain"), dd.ground
        m.gravity([0.0, 0.0, -9.81])
        for k in range(count):
            link = m.body(f"b{k}", mass=1.0, inertia=[0.02, 0.03, 0.01], position=[0.1 + 0.2 * k, 0.0, 0.0])
            m.joint(f"j{k}", "revolute", before, link, at_a=[0.1 if k else 0.0, 0, 0], at_b=[-0.1, 0, 0],
                    axis_a=[0, 1, 0], axis_b=[0, 1, 0])  # fmt: skip
            before = link
        return m

    dd.simulate(written(2), 0.01)
    began = time.thread_time()
    m = written(options["count"])
    dd.simulate(m, 1.0)
    took = time.thread_time() - began
    background.finish()
    again = best_cpu_time(lambda: dd.simulate(m, 1.0, save_at=[1.0]), options["seconds"])
    return {"ours": took, "again": again}
