"""A problem made ready for being solved again and again: its program by shooting, with everything that changes known.

The start is measured, time goes on, and given inputs and parameters may change: all of them are numbers of the program,
so that nothing is compiled after the first call.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace

import casadi as ca
import numpy as np

from daedalus import _core
from daedalus.errors import InputError
from daedalus.model.lazy_values import cached_property
from daedalus.model.names import did_you_mean
from daedalus.model.values import check_mapping
from daedalus.optimisation.description.description import Description, FixedValue
from daedalus.optimisation.description.solve_settings import SolveSettings
from daedalus.optimisation.description.unknown import Unknown
from daedalus.optimisation.optimal_control import OptimalControl
from daedalus.optimisation.program.program import table
from daedalus.optimisation.program.program_outcome import ProgramOutcome
from daedalus.optimisation.program.solver_library import solver_addresses
from daedalus.optimisation.program.solvers import Listener, solve_with_ipopt
from daedalus.optimisation.program.stage_structure import StageStructure, stage_structure
from daedalus.optimisation.solve import Solving
from daedalus.optimisation.transcription.boundary.reference_ends import first_guess, fixed_states
from daedalus.optimisation.transcription.inputs_at_points import given_values

# To which the quadratic programs are solved, in scaled variables.
ACCURACY = 1e-8
# Inputs with a limited rate and no bounds of their own lie within so many times their size.
FARTHEST = 1e9


class Horizon:
    """The program of a controller: the same in every call but for its numbers."""

    def __init__(self, ocp: OptimalControl, step_method: object, steps: int) -> None:
        self.ocp, self.description = ocp, _with_whole_start(ocp._description)
        self.settings = SolveSettings(
            method="shooting",
            solver="fatrop",
            hessian="gauss_newton",
            step_method=step_method,
            steps=steps,
            preview=True,
        )
        self.solving = Solving(ocp.model, self.description, self.settings)
        self.layout, self.program = self.solving.transcription.layout, self.solving.transcription.program
        self.stage = self.solving.transcription.stage
        self.system = self.description.system
        self.duration = float(self.description.duration)  # type: ignore[arg-type]
        self.width = self.duration / self.layout.intervals
        self.states = self.layout.nodes[0, : self.stage.model_states]
        self.measured = self._measured()
        self.rates = self._rates_of_change()
        self._own_bounds = self.program.lower, self.program.upper
        if len(self.rates[0]):
            # What changes at a limited rate is bounded by what was applied last, in every call anew.
            size, limited = self.program.scale, self.rates[0]
            lower, upper = self.program.lower.copy(), self.program.upper.copy()
            lower[limited] = np.maximum(lower[limited], -FARTHEST * size[limited])
            upper[limited] = np.minimum(upper[limited], FARTHEST * size[limited])
            self.program = replace(self.program, lower=lower, upper=upper)
        self.moves_in_time = bool(self.stage.given_positions) or self._sees_time()
        self._exact: Solving | None = None

    # -- rates of change of inputs ------------------------------------------------------------------------------

    def _rates_of_change(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Inputs with a limited rate: their variables at the start, places among those applied, slowest and fastest."""
        kinds, chosen = self.description.kinds, self.description.chosen
        places = [i for i, k in enumerate(chosen) if k in kinds and kinds[k].has_rate]
        held = [self.system.labels["u"][chosen[i]] for i in places if chosen[i] in self.stage.constant]
        if held:
            raise InputError(
                f"The rate of {', '.join(held)} is limited, and it is constant on each interval.",
                because="such a limit joins two intervals, and a controller solves the horizon interval by interval.",
                remedy=f'ocp.input({held[0]!r}, kind="linear", rate=...)',
            )
        slow, fast = (np.array([getattr(kinds[chosen[i]], name) for i in places]) for name in ("slowest", "fastest"))
        return self.applied[places], np.array(places, dtype=int), slow, fast

    def bounds_behind(self, inputs: np.ndarray, passed: float) -> tuple[np.ndarray, np.ndarray]:
        """The bounds of all variables, where these inputs were applied so much time ago."""
        variables, places, slowest, fastest = self.rates
        lower, upper = (bound.copy() for bound in self._own_bounds)
        lower[variables] = np.maximum(lower[variables], inputs[places] + slowest * passed)
        upper[variables] = np.minimum(upper[variables], inputs[places] + fastest * passed)
        return lower, upper

    # -- what is measured, applied and shifted -----------------------------------------------------------------

    def _measured(self) -> np.ndarray:
        """Variables of the first node that are known at a call: the model's states, and integrals, which begin at 0."""
        integrals = self.stage.carried[self.stage.model_states + len(self.stage.linear) :]
        return np.concatenate([self.states, self.layout.nodes[0, integrals]])

    @cached_property
    def applied(self) -> np.ndarray:
        """The variables of the inputs that hold now, in the order of the chosen inputs."""
        stage, layout = self.stage, self.layout
        where = {k: layout.inputs[0, place] for place, k in enumerate(stage.constant)}
        where.update({k: layout.nodes[0, stage.model_states + i] for i, k in enumerate(stage.linear)})
        return np.array([where[k] for k in self.description.chosen], dtype=int)

    def structure(self) -> StageStructure | None:
        """The stages of the program, or None where a condition joins several."""
        stages = self.layout.stages
        return None if stages is None else stage_structure(self.program, *stages)

    def tables(self) -> dict[str, np.ndarray]:
        """What is measured and applied, and what each variable becomes when the plan moves on by one interval."""
        layout, count = self.layout, self.program.shape[0]
        following, nodes = np.arange(count), self.layout.nodes[:, self.stage.carried]
        following[nodes[:-1]] = nodes[1:]
        following[layout.inputs[:-1]] = layout.inputs[1:]
        for node, variables in layout.node_unknowns.items():
            if node + 1 in layout.node_unknowns:
                following[variables] = layout.node_unknowns[node + 1]
        tables = {
            "measured": self.measured, "applied": self.applied, "next": following,
            "tail": layout.steps[0][-1], "tail_nodes": nodes[-1],
        }  # fmt: skip
        return {name: table(numbers) for name, numbers in tables.items()}

    def receding(self, structure: StageStructure) -> _core.RecedingProgram:
        """The program in the core, with all its memory."""
        program = self.program
        solver_addresses("blasfeo")
        return _core.RecedingProgram(
            program.core, solver_addresses("hpipm"), program.parameters, program.scaled_bounds, structure.tables(),
            self.tables(), ACCURACY,
        )  # fmt: skip

    # -- numbers of a call -------------------------------------------------------------------------------------

    def parameters(self, t: float, given: Mapping[str, object], values: Mapping[str, object]) -> np.ndarray:
        """The parameters of the program at time t, with other given inputs and values of the model's parameters."""
        found, layout = self.program.parameters.copy(), self.layout
        late = (t - self.description.begin) / self.duration
        for numbers in layout.share_parameters:
            found[-1 - numbers] += late
        description = self._with_given(given)
        if values:
            own = layout.parameters[0]
            found[-1 - own[own < 0]] = self.description.values_of(values)[own < 0]
            description.parameters = self.description.values_of(values)
        for numbers, shares in layout.given_parameters:
            times = t + self.duration * shares
            found[-1 - numbers] = given_values(description, self.stage.given_positions, times)
        return found

    def _with_given(self, given: Mapping[str, object]) -> Description:
        found = copy(self.description)
        if not given:
            return found
        names = {found.input_name(positions): positions for positions, _ in found.given_names}
        for name in check_mapping(given, "given"):
            if name not in names:
                raise InputError(
                    f"{name} is not a given input of the problem.",
                    f"given: {', '.join(names) or 'none'}",
                    because="every other input is chosen by the controller.",
                    remedy=(did_you_mean(name, list(names)) + ", or " if names else "")
                    + f"ocp.given({name!r}, 0.0) before the controller is made",
                )
        own = found.given_names
        found.given_names = [(at, given.get(found.input_name(at), value)) for at, value in own]
        return found

    def _sees_time(self) -> bool:
        stage, description = self.stage, self.description
        texts = [description.final, description.integrated, *(c.expression for c in description.conditions)]
        parts = [stage.rates, stage.equations, *(stage.expression(text) for text in texts)]
        shares = ca.vertcat(stage.share, stage.start.share, stage.end.share)
        return any(ca.depends_on(part, shares) for part in parts)

    # -- whole searches ----------------------------------------------------------------------------------------

    def search(
        self,
        begin: np.ndarray,
        measured: np.ndarray,
        parameters: np.ndarray,
        bounds: tuple[np.ndarray, np.ndarray] | None,
        time_limit: float | None,
        listener: Listener | None,
    ) -> ProgramOutcome:
        """The problem from a measured start, solved to the end with exact second derivatives.

        bounds: of all variables, or those of the problem.
        """
        if self._exact is None:
            self._exact = Solving(self.ocp.model, self.description, replace(self.settings, hessian="exact"))
        program = self._exact.transcription.program
        lower, upper = (bound.copy() for bound in bounds or (program.lower, program.upper))
        at = begin.copy()
        lower[self.measured] = upper[self.measured] = at[self.measured] = measured
        return solve_with_ipopt(
            replace(program, lower=lower, upper=upper), at, tolerance=1e-8, parameters=parameters,
            most_iterations=500, time_limit=time_limit, listener=listener,
        )  # fmt: skip

    def at_rest(self, states: np.ndarray) -> np.ndarray:
        """A point to begin again from, in scaled variables: the measured states all along, and the guessed inputs."""
        w = self.solving.begin.copy()
        w[self.layout.nodes[:, : len(states)]] = states
        scaled: np.ndarray = w / self.program.scale
        return scaled

    def within_bounds(self, inputs: np.ndarray, bounds: tuple[np.ndarray, np.ndarray] | None) -> np.ndarray:
        """Inputs moved into their bounds: these of all variables, or those of the problem."""
        low, high = (bound[self.applied] for bound in bounds or self._own_bounds)
        limited: np.ndarray = np.minimum(np.maximum(inputs, low), high)
        return limited


def _with_whole_start(described: Description) -> Description:
    """The problem with every state of the model fixed at its start, which a controller measures."""
    _check(described)
    description = copy(described)
    start = first_guess(description)
    for state, value in fixed_states(description.starts).items():
        start[state] = value
    x, labels = description.system.symbol("x"), description.system.labels["x"]
    description.starts = [FixedValue(labels[k], float(start[k]), k, x[k]) for k in range(len(start))]
    return description


def _check(description: Description) -> None:
    """Refuse what a horizon that moves on has no meaning for."""
    if isinstance(description.duration, Unknown):
        raise InputError(
            "The duration of the problem is unknown.",
            because="a controller plans over a horizon of fixed length that moves on with time.",
            remedy="dd.OptimalControl(m, duration=2.0, ...)",
        )
    if description.periodic:
        raise InputError(
            "The problem asks for periodic states.",
            because="a controller starts from the measured state, not from the end of its plan.",
            remedy="a problem without ocp.periodic",
        )
    if description.free:
        names = [description.system.labels["p"][k] for k in description.free]
        raise InputError(
            f"The problem has free parameters: {', '.join(names)}.",
            because="a controller chooses inputs; parameters are fixed while it runs.",
            remedy="controller(x, parameters={...}), or dd.fit",
        )
