"""Problems of optimal control: ours from description to plan, again, and hand-written CasADi with the same mesh."""

import time
from collections.abc import Iterator
from typing import Any


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record: CPU seconds of the first plan, of a search again and from another start, and of CasADi's own.

    Option problem. What is imported is imported before: it is not the problem's.
    """
    from daedalus import catalogue

    small = catalogue.load("double_integrator").problem
    assert small is not None
    small.solve()
    known = catalogue.load(options["problem"])
    begin = time.process_time()
    problem = known.problem
    assert problem is not None
    plan = problem.solve()
    first = time.process_time() - begin
    begin = time.process_time()
    problem.solve()
    again = time.process_time() - begin
    elsewhere = moved_start(problem, plan)
    by_hand, iterations, objective = casadi_by_hand(problem)
    yield {
        "first": first,
        "again": again,
        "elsewhere": elsewhere,
        "iterations": plan.iterations,
        "objective": plan.objective,
        "casadi": by_hand,
        "casadi iterations": iterations,
        "casadi objective": objective,
    }


def moved_start(problem: Any, plan: Any) -> float | None:
    """Seconds of a search from a start a little to the side, the best of five; None where one did not succeed.

    The first state is moved, and with it what the model's constraints bind to it.
    """
    import numpy as np

    from daedalus.optimisation.search.consistent_states import projected

    description, solving = problem._description, problem._solving
    labels = description.system.labels["x"]
    starts, found = np.tile(solving.ends.start, (5, 1)), []
    starts[:, 0] += 0.01 * np.arange(1, 6)
    for start in projected(description, solving.kept, starts):
        problem.start(dict(zip(labels, start)))
        begin = time.process_time()
        good = problem.solve().success
        found.append(time.process_time() - begin if good else None)
    problem.start(plan.start)
    return None if None in found else min(found)


def casadi_by_hand(problem: Any) -> tuple[float, int, float]:
    """The same equations by Radau collocation of degree 3 as one writes it in CasADi, all ends as they are given."""
    import casadi as ca
    import numpy as np

    from daedalus.optimisation.transcription.boundary.reference_ends import fixed_states
    from daedalus.optimisation.transcription.collocation_points import collocation_points
    from daedalus.optimisation.transcription.problem_stage import stage_of

    description = problem._description
    stage = stage_of(description)
    begin = time.process_time()
    scheme = collocation_points("radau", 3)
    p, T = ca.DM(description.parameters), float(description.duration)
    arguments = [stage.states.symbols, stage.unknowns.symbols, stage.inputs.symbols]
    inside = [stage.rates, stage.equations, stage.expression(description.running)]
    numbers = ca.substitute(inside, [stage.parameters, stage.length, stage.share], [p, T, 0])
    f = ca.Function("f", arguments, numbers)
    N, h = description.intervals, T / description.intervals
    start, end = fixed_states(description.starts), fixed_states(description.ends)
    w, g, low, high, cost = [], [], [], [], 0
    x = ca.MX.sym("x0", stage.states.size)
    w.append(x)
    low += [start[k] for k in range(stage.states.size)]
    high += [start[k] for k in range(stage.states.size)]
    for k in range(N):
        u = ca.MX.sym(f"u{k}", stage.inputs.size)
        w.append(u)
        low += list(stage.inputs.lower)
        high += list(stage.inputs.upper)
        points = [ca.MX.sym(f"x{k}_{j}", stage.states.size) for j in range(3)]
        unknowns = [ca.MX.sym(f"z{k}_{j}", stage.unknowns.size) for j in range(3)]
        for j in range(3):
            w += [points[j], unknowns[j]]
            last = k == N - 1 and j == 2
            low += [end.get(i, -np.inf) if last else -np.inf for i in range(stage.states.size)]
            high += [end.get(i, np.inf) if last else np.inf for i in range(stage.states.size)]
            low += [-np.inf] * stage.unknowns.size
            high += [np.inf] * stage.unknowns.size
        corners = [x, *points]
        for j in range(3):
            rate, left, running = f(points[j], unknowns[j], u)
            g += [sum(scheme.slopes[i, j] * corners[i] for i in range(4)) - h * rate, left]
            cost += h * scheme.weights[j] * running
        x = points[-1]
    nlp = {"x": ca.vertcat(*w), "f": cost, "g": ca.vertcat(*g)}
    quiet = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes", "ipopt.max_iter": 500}
    solver = ca.nlpsol("by_hand", "ipopt", nlp, {**quiet, "ipopt.max_wall_time": 60.0})
    guess = np.clip(0.0, np.array(low), np.array(high))
    first, last = np.array([start[k] for k in sorted(start)]), np.array([end.get(k, start[k]) for k in sorted(start)])
    size = stage.inputs.size + 3 * (stage.states.size + stage.unknowns.size)
    for k in range(N):
        for j in range(3):
            at = stage.states.size + k * size + stage.inputs.size + j * (stage.states.size + stage.unknowns.size)
            share = (k + scheme.tau[j]) / N
            guess[at : at + stage.states.size] = first + share * (last - first)
    found = solver(x0=guess, lbx=low, ubx=high, lbg=0, ubg=0)
    return time.process_time() - begin, int(solver.stats()["iter_count"]), float(found["f"])
