"""What a fit makes small: (model − data) / σ at every sample, and prior beliefs, with exact derivatives.

r_k = (y(t_k; θ) − y_k) / σ      ∂r_k/∂θ = ∂y/∂θ / σ by the variational equations
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from daedalus.deadline import OutOfTime, current_deadline, poll
from daedalus.differentiation.case import Case, read_case
from daedalus.differentiation.directions import Directions, read_directions
from daedalus.differentiation.forward_run import differentiate
from daedalus.differentiation.result.sensitivity_result import Sensitivities
from daedalus.differentiation.variational.finished import DerivativesStoppedError
from daedalus.errors import DaedalusError, InconsistentStartError
from daedalus.estimation.experiments import Experiment
from daedalus.initialisation.initialise import initialise
from daedalus.model.model import Model
from daedalus.model.system.system import System
from daedalus.simulation.result.ending import Ending

# Rows of a run with its derivatives, at all samples, take so many bytes at most; columns beyond are run one block after
# the other, each with the states again.
BLOCK_BYTES = 64 * 2**20


@dataclass(frozen=True)
class FreeValue:
    """One number to be found: its name in the model, and the experiment it belongs to (None: all of them)."""

    name: str
    letter: str
    experiment: int | None = None

    @property
    def label(self) -> str:
        """The name by which the result knows it."""
        return self.name if self.experiment is None else f"{self.name}, experiment {self.experiment}"


@dataclass(eq=False)
class WeightedResiduals:
    """Residuals over all experiments as a function of the unknowns."""

    model: Model | System
    system: System
    experiments: Sequence[Experiment]
    unknowns: Sequence[FreeValue]
    sigma: dict[str, float]
    prior: Mapping[str, tuple[float, float]]
    start: Mapping[str, object]
    parameters: Mapping[str, object]
    options: Mapping[str, Any]
    _last: tuple[bytes, list[dict[str, tuple[np.ndarray, np.ndarray]]]] | None = field(default=None, init=False)
    _weighted: tuple[dict[str, float], tuple[np.ndarray, np.ndarray]] | None = field(default=None, init=False)
    blocks: int = field(default=1, init=False)  # how many runs give the derivatives of an experiment
    _begun: dict[int, tuple[Case, Directions]] = field(default_factory=dict, init=False)

    def curves(self, theta: np.ndarray) -> list[dict[str, tuple[np.ndarray, np.ndarray]]]:
        """For each experiment and measured name: values (times, elements) and slopes (times, elements, unknowns)."""
        key = theta.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, [self._run(k, one, theta) for k, one in enumerate(self.experiments)]
            self._weighted = None
        return self._last[1]

    def _run(self, number: int, one: Experiment, theta: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        own = [(k, u) for k, u in enumerate(self.unknowns) if u.experiment in (None, number)]
        case, directions = self._again(number, own, theta) or self._anew(number, one, own, theta)
        labels, curves = self._in_blocks(number, case, directions, one)
        places = [labels.index(u.name) for _, u in own]
        found = {}
        for name, (values, slopes) in curves.items():
            if len(own) == len(self.unknowns) and places == list(range(slopes.shape[2])):
                found[name] = values, slopes
                continue
            whole = np.zeros((*values.shape, len(self.unknowns)))
            whole[:, :, [k for k, _ in own]] = slopes[:, :, places]
            found[name] = values, whole
        return found

    def _in_blocks(
        self, number: int, case: Case, directions: Directions, one: Experiment
    ) -> tuple[list[str], dict[str, tuple[np.ndarray, np.ndarray]]]:
        """Labels of the columns, and values and slopes of what was measured; no more of a block is kept."""
        parts = _blocks(case, directions)
        self.blocks = max(self.blocks, len(parts))
        labels: list[str] = []
        curves: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {name: [] for name in one.measured}
        for part in parts:
            poll("the derivatives of a fit")
            sens = _differentiated(case, part)
            case = self._by_the_method_of(number, case, sens)
            samples = sens.at(one.times)
            labels += sens.labels
            for name, found in curves.items():
                found.append(samples.values_and_slopes(name))
        return labels, {
            name: (found[0][0], np.concatenate([slopes for _, slopes in found], axis=2) if found[1:] else found[0][1])
            for name, found in curves.items()
        }

    def _by_the_method_of(self, number: int, case: Case, sens: Sensitivities) -> Case:
        """The case by the method that its run ended with: the next one need not find anew that it is stiff."""
        run = sens.parts[0].case
        if number not in self._begun or run.method == case.method:
            return case
        name, why = run.method, run.settings.reason
        begun, directions = self._begun[number]
        self._begun[number] = begun.with_method(name, why), directions
        return case.with_method(name, why)

    def _again(
        self, number: int, own: Sequence[tuple[int, FreeValue]], theta: np.ndarray
    ) -> tuple[Case, Directions] | None:
        """The run of an experiment with other numbers; None where the start has to be found anew."""
        begun = self._begun.get(number)
        if begun is None:
            return None
        case, directions = begun
        x0, p = np.array(case.x0), np.array(case.p)
        for k, u in own:
            (p if u.letter == "p" else x0)[case.system.place(u.name).positions[0]] = theta[k]
        return replace(case, x0=x0, p=p), directions

    def _anew(
        self, number: int, one: Experiment, own: Sequence[tuple[int, FreeValue]], theta: np.ndarray
    ) -> tuple[Case, Directions]:
        start = {**self.start, **{u.name: float(theta[k]) for k, u in own if u.letter == "x"}}
        parameters = {**self.parameters, **{u.name: float(theta[k]) for k, u in own if u.letter == "p"}}
        span = one.span
        options = {**self.options, "inputs": {**self.options.get("inputs", {}), **one.inputs}, "parameters": parameters}
        try:
            case = read_case(self.model, span, {**options, "start": start or None})
        except InconsistentStartError:
            given = {u.name.split("[")[0] for _, u in own if u.letter == "x"}
            free = [v.name for v in self.system.of_kind("state") if v.name not in given]
            moved = initialise(
                self.model, start, free=free, parameters=parameters, inputs=options["inputs"] or None, time=span[0]
            )
            case = read_case(self.model, span, {**options, "start": moved})
        if case.nominal is None:
            case = replace(case, save_at=one.times)
        directions = read_directions(case.system, [u.name for _, u in own], 0)
        # Only where any start is a start, and nothing is decided by its values, do other numbers make the same run.
        free_start = case.has_formulas and not case.system.constrains_start
        if free_start and not case.system.events and case.nominal is None:
            self._begun[number] = case, directions
        return case, directions

    def both(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """r (samples + priors,) and ∂r/∂θ (samples + priors, unknowns)."""
        every = self.curves(theta)
        if self._weighted is None or self._weighted[0] != self.sigma:
            self._weighted = dict(self.sigma), self._stacked(theta, every)
        return self._weighted[1]

    def _stacked(
        self, theta: np.ndarray, every: Sequence[Mapping[str, tuple[np.ndarray, np.ndarray]]]
    ) -> tuple[np.ndarray, np.ndarray]:
        residuals, slopes = [], []
        for one, curves in zip(self.experiments, every):
            for name, data in one.measured.items():
                seen = np.isfinite(data)
                values, derivative = curves[name]
                residuals.append((values - data)[seen] / self.sigma[name])
                slopes.append(derivative[seen] / self.sigma[name])
        for k, unknown in enumerate(self.unknowns):
            if unknown.label in self.prior or unknown.name in self.prior:
                mean, std = self.prior.get(unknown.label) or self.prior[unknown.name]
                residuals.append(np.array([(theta[k] - mean) / std]))
                slopes.append(np.eye(len(theta))[k : k + 1] / std)
        return np.concatenate(residuals), np.concatenate(slopes)

    @property
    def output_of_rows(self) -> np.ndarray:
        """Which output of which experiment each residual belongs to, priors included, (samples + priors,)."""
        found, count = [], 0
        for one in self.experiments:
            for data in one.measured.values():
                columns = np.broadcast_to(count + np.arange(data.shape[1]), data.shape)
                found.append(columns[np.isfinite(data)])
                count += data.shape[1]
        return np.concatenate([*found, count + np.arange(self.priors)])

    def value(self, theta: np.ndarray) -> np.ndarray:
        """r, infinite where the model cannot be run: the search then takes a shorter step."""
        try:
            return self.both(theta)[0]
        except DaedalusError:
            count = sum(one.samples for one in self.experiments)
            return np.full(count + self.priors, np.inf)

    @property
    def priors(self) -> int:
        """How many unknowns something is believed about; their residuals come last."""
        return sum(u.label in self.prior or u.name in self.prior for u in self.unknowns)


def _blocks(case: Case, directions: Directions) -> list[Directions]:
    """What is varied, in blocks of columns whose rows at all samples fit into the memory for them."""
    if case.save_at is None:
        return [directions]
    # A row of an implicit run holds x and x' of every column.
    of_column = 8 * 2 * (case.system.sizes["x"] + case.system.sizes["z"]) * len(case.save_at)
    return directions.blocks(max(1, BLOCK_BYTES // of_column))


def _differentiated(case: Case, directions: Directions) -> Sensitivities:
    """The derivatives of a run; what ended it from outside ends the fit."""
    try:
        return Sensitivities(*differentiate(case, 1, directions, "variational"))
    except DerivativesStoppedError as stopped:
        if stopped.ending == Ending.INTERRUPTED:
            raise KeyboardInterrupt from None
        deadline = current_deadline()
        if stopped.ending == Ending.TIME_LIMIT and deadline is not None:
            raise OutOfTime(deadline, "the derivatives of a fit") from None
        raise
