"""Noise in a sweep: every case has a seed, a parameter that no equation reads, and the noise of that seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedalus.errors import InputError
from daedalus.model.expressions import elements
from daedalus.model.mechanics.mechanics_part import Mechanics
from daedalus.model.reopened import as_model
from daedalus.model.system.once import once
from daedalus.model.system.system import System
from daedalus.model.variables import Variable, make_variable
from daedalus.simulation.inputs.read_inputs import Drive
from daedalus.simulation.noise.ito_drift import with_ito_drift
from daedalus.simulation.noise.noise_signals import DrawingLaw, NoisePath, noise_law, noise_paths
from daedalus.simulation.noise.noisy_run import run_with_noise, undriven_noises
from daedalus.simulation.result.records_of_methods import NoiseDrawn
from daedalus.simulation.result.trajectory import Trajectory
from daedalus.simulation.run.request import LIMITS, Request, checked_numbers
from daedalus.simulation.simulate import simulate

SEED = "seed"


@dataclass(frozen=True)
class SeededNoise:
    """The noises that the cases of a sweep draw, over a span, held over a step."""

    noises: tuple[Variable, ...]
    t0: float
    t1: float
    step: float | None

    def paths(self, seed: float) -> dict[str, NoisePath]:
        """The noise of a seed by name."""
        return noise_paths(self.noises, self.t0, self.t1, self.step, int(seed))

    def driven(self, drive: Drive, system: System, seed: float) -> Drive:
        """What drives a case: its noise in place of that of another seed."""
        paths = {tuple(system.place(name).positions.tolist()): path for name, path in self.paths(seed).items()}
        return drive._replace(tables=tuple((paths.get(slots, table), slots) for table, slots in drive.tables))

    def drawn(self, drive: Drive, stops: np.ndarray, segments: np.ndarray) -> tuple[tuple[int, ...], list[DrawingLaw]]:
        """What kernels draw: the tabled inputs that are noise, and the law of each.

        In the tables of a noise, the number of the cell of every interval takes the place of the base; or the node that
        it ends at does, and the one that it begins at takes the place of the rise.
        """
        middles = 0.5 * (np.array([self.t0, *stops[:-1]]) + stops)
        columns, laws, column = list[int](), list[DrawingLaw](), 0
        variables = iter(self.noises)
        for table, slots in drive.tables:
            if isinstance(table, NoisePath):
                variable = next(variables)
                for k in range(len(slots)):
                    law = noise_law(variable, k, self.t0, self.t1, self.step)
                    inside, place = np.searchsorted(table.times, middles, side="right") - 1, 2 * (column + k)
                    if law.nodes is None:
                        segments[:, place] = law.first + inside
                    else:
                        segments[:, place], segments[:, place + 1] = law.nodes[inside + 1], law.nodes[inside]
                    columns.append(column + k)
                    laws.append(law)
            column += len(slots)
        return tuple(columns), laws


def seeded(
    request: Request, over: Any, seeds: int | Sequence[int] | None, seed: int
) -> tuple[System, Any, Mapping[str, Any], SeededNoise | None]:
    """The system, the cases and the inputs of a sweep whose noise is drawn; one seed for all cases without `seeds`.

    Where the values of all noises are given, or there are none, everything is as it was.
    """
    system, noises = request.system, undriven_noises(request)
    inputs = dict(request.inputs or {})
    if not noises:
        if seeds is not None:
            raise InputError(
                "seeds= is for models with noise.",
                f"{system.name!r} has no noise whose value is left open",
                remedy='w = m.noise("w", intensity=1.0)',
            )
        return system, over, inputs, None
    checked_numbers(request.rtol, request.limits)
    moved = with_ito_drift(system)
    noise = SeededNoise(noises, request.t0, request.t1, _step(request, noises, seed))
    column = _seed_column(system, over)
    if seeds is None and column is None:
        return moved, over, {**inputs, **noise.paths(seed)}, None
    numbers = _numbers(column if seeds is None else seeds)
    if seeds is None:
        return _with_seed(moved), over, {**inputs, **noise.paths(numbers[0])}, noise
    return _with_seed(moved), {**_mapping(over), SEED: numbers}, {**inputs, **noise.paths(numbers[0])}, noise


def _seed_column(system: System, over: Any) -> Any:
    """The seeds among the values of a sweep; None where there are none, or a variable of the model has that name."""
    columns = over if isinstance(over, Mapping) else getattr(over, "columns", ())
    return over[SEED] if SEED in columns and SEED not in system.places else None


def _step(request: Request, noises: tuple[Variable, ...], seed: int) -> float | None:
    """The step that white noise is held over: the one given, or that which a run found."""
    white = any(variable.noise is not None and variable.noise.is_white for variable in noises)
    if request.step is not None or not white:
        return request.step
    run = run_with_noise(request._replace(save_at=np.array([request.t1])), noises, seed, _held_run, curved=False)
    return next(record.step for record in run.outcome.records if isinstance(record, NoiseDrawn))


def _held_run(request: Request) -> Trajectory:
    """The run of a request whose noise is held over steps."""
    atol: Any = request.atol
    return simulate(
        request.model, request.span, request.start, request.inputs, request.parameters, request.method, request.rtol,
        atol, save_at=request.save_at, **dict(zip(LIMITS, request.limits)),
    )  # fmt: skip


def _numbers(seeds: Any) -> np.ndarray:
    whole = isinstance(seeds, (int, np.integer)) and not isinstance(seeds, bool) and seeds > 0
    numbers = np.arange(seeds) if whole else np.asarray(seeds)
    good = numbers.ndim == 1 and numbers.size and np.issubdtype(numbers.dtype, np.integer)
    if not good or numbers.min() < 0 or numbers.max() >= 2**53:
        raise InputError(
            f"seeds={seeds!r} is not valid."[:100],
            because="a seed is a whole number from 0 on.",
            remedy="seeds=1000, or seeds=[3, 4, 5]",
        )
    return numbers.astype(float)


def _mapping(over: Any) -> Mapping[str, Any]:
    if over is None:
        return {}
    if not isinstance(over, Mapping):
        raise InputError(
            "seeds= is combined with lists of values by name.",
            f"over= is a {type(over).__name__}",
            remedy='over={"k": [1.0, 2.0]}, or a column "seed" of over= in place of seeds=',
        )
    return over


def _with_seed(system: System) -> System:
    """The system with one more parameter."""
    if SEED in system.places:
        raise InputError(
            f"{SEED!r} is a name of the model {system.name!r}.",
            because="a sweep over seeds uses it for its dimension.",
            remedy=f"another name for {SEED} in the model",
        )
    return once(system, _seed_added)


def _seed_added(system: System) -> System:
    mechanics = system.part(Mechanics)
    if mechanics is not None and mechanics.book is not None and not system.is_rewritten:
        # Forms of motion are found in what was written.
        model = as_model(system).copy()
        model.parameter(SEED, 0.0)
        return model.freeze()
    variable = make_variable(SEED, "parameter", (), start=0.0)
    count = system.sizes["p"] - system.discrete_count
    p = elements(system.symbol("p"))
    symbols = {letter: system.symbol(letter) for letter in ("t", "xdot", "x", "z", "u")}
    return system.changed(
        variables=[*system.variables, variable],
        symbols={**symbols, "p": ca.vertcat(*p[:count], ca.SX.sym(SEED), *p[count:])},
        parts=system.parts(),
    )
