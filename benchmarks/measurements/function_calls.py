"""Seconds of one call of a problem's right-hand side, alone and with its Jacobian, from a loop in the core.

Which code is called is the choice of DAEDALUS_COMPILER: machine code, or CasADi's virtual machine in the same loop.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import problems
from benchmarks.problem import casadi_expressions


def measure(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One record for "rhs", one for "rhs and Jacobian"; the Jacobian is with respect to states and inputs."""
    import casadi

    from daedalus.compilation import compile_function

    problem = problems.load(options["problem"])
    s = casadi_expressions(problem)
    jacobian = casadi.jacobian(s.f, casadi.vertcat(s.x, s.u))
    arguments = [np.array(v, dtype=float) for v in ([0.0], problem.reference, problem.inputs, problem.parameters)]
    for name, outputs in (("rhs", [s.f]), ("rhs and Jacobian", [s.f, jacobian])):
        function = casadi.Function("f", [s.t, s.x, s.u, s.p], [casadi.densify(outputs[0]), *outputs[1:]])
        compiled = compile_function(function, wait=True)
        core = compiled.core
        once = core.time_per_call(*arguments, repetitions=1000)
        repetitions = max(1000, int(options["seconds"] / 20 / once))
        best = min(core.time_per_call(*arguments, repetitions=repetitions) for _ in range(20))
        yield {"name": name, "seconds": best, "kind": core.kind, "tier": compiled.tier}
