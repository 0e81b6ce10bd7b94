"""Types of the integrator core, the compiled module behind simulation and compilation."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

instruction_set: str

# What steps on lanes share with those of the core.
shared_numbers: dict[str, float]
receding_numbers: dict[str, float]
large_multiplier: float
quantile_numbers: dict[str, Any]
philox_numbers: dict[str, Any]
bridge_numbers: tuple[tuple[float, ...], tuple[float, ...]]
logarithm_numbers: tuple[float, ...]
foretelling: tuple[float, ...]
looks_at_defect: tuple[float, ...]

class Function:
    def __init__(
        self,
        name: str,
        size_in: Sequence[int],
        size_out: Sequence[int],
        sz_arg: int = 0,
        sz_res: int = 0,
        sz_iw: int = 0,
        sz_w: int = 0,
    ) -> None: ...
    def set_machine_code(self, address: int, owner: object) -> None: ...
    def set_interpreter(
        self, eval_address: int, id: int, owner: object, checkout_address: int = 0, release_address: int = 0
    ) -> None: ...
    def set_python(self, callable: Callable[..., ArrayLike | Sequence[ArrayLike]]) -> None: ...
    @property
    def kind(self) -> Literal["machine code", "interpreter", "python", "empty"]: ...
    @property
    def name(self) -> str: ...
    @property
    def size_in(self) -> list[int]: ...
    @property
    def size_out(self) -> list[int]: ...
    @property
    def address(self) -> int: ...
    def __call__(self, *arguments: ArrayLike) -> tuple[Array, ...]: ...
    def evaluate_many(self, *arguments: ArrayLike) -> tuple[Array, ...]: ...
    def evaluate_vectors(self, *arguments: object) -> tuple[Array, ...] | None: ...
    def extremes(self, *arguments: ArrayLike) -> tuple[float, float]: ...
    def time_per_call(self, *arguments: ArrayLike, repetitions: int = 1000) -> float: ...

class ColumnProducts:
    def __init__(
        self,
        function: Function,
        terms: Sequence[tuple[int, int, int, int]],
        seeds: Sequence[tuple[int, int, int, int]],
    ) -> None: ...

class ImplicitModel:
    def with_linear(
        self,
        form: Literal["best", "dense", "sparse", "krylov"],
        preconditioner: Any = None,
        accuracy: float = 1e-9,
        cells: Sequence[int] = (),
        product: Function | None = None,
        correction: float = 0.0,
    ) -> ImplicitModel: ...
    @property
    def order_searches(self) -> int: ...
    def __init__(
        self,
        residual: Function,
        jacobian: Function,
        states: int,
        unknowns: int,
        dot_colind: Sequence[int],
        dot_rows: Sequence[int],
        all_colind: Sequence[int],
        all_rows: Sequence[int],
        index: Sequence[int] = (),
        level: Sequence[int] = (),
        drift: Function | None = None,
        dependent: Sequence[int] = (),
        held: Sequence[int] = (),
        columns: Sequence[int] = (),
        zeros: int = 0,
        products: Sequence[ColumnProducts | None] = (),
        below: Function | None = None,
        autonomous: bool = False,
        curved: Sequence[int] = (),
        charged: Function | None = None,
        charged_jacobian: Function | None = None,
        charged_rows: Sequence[int] = (),
        constant_slopes: bool = False,
    ) -> None: ...
    def consistent(
        self, t: float, row: ArrayLike, u: ArrayLike, p: ArrayLike, rtol: float = 1e-9, *, atol: ArrayLike
    ) -> Array | None: ...
    def consistent_rows(
        self, t: ArrayLike, rows: ArrayLike, u: ArrayLike, p: ArrayLike, rtol: float, atol: ArrayLike, step: float
    ) -> Array: ...

class Collocation:
    def __init__(
        self,
        c: ArrayLike,
        inverse: ArrayLike,
        from_: ArrayLike,
        to: ArrayLike,
        gamma: ArrayLike,
        alpha: ArrayLike,
        beta: ArrayLike,
        powers: ArrayLike,
        slope: ArrayLike,
        better: ArrayLike,
        weight: float,
        error: ArrayLike,
    ) -> None: ...
    @property
    def stages(self) -> int: ...

class LobattoStep:
    def __init__(
        self,
        residual: Function,
        jacobian: Function,
        landing: Function,
        masses: Function,
        motion: Function,
        nodes: ArrayLike,
        half_way: ArrayLike,
        positions: Sequence[int],
        velocities: Sequence[int],
        multipliers: Sequence[int],
        stage_colind: Sequence[int],
        stage_rows: Sequence[int],
        saddle_colind: Sequence[int],
        saddle_rows: Sequence[int],
    ) -> None: ...
    @property
    def stages(self) -> int: ...

class Table:
    def __init__(
        self,
        times: ArrayLike,
        values: ArrayLike,
        slots: Sequence[int],
        linear: bool = False,
        coefficients: ArrayLike | None = None,
    ) -> None: ...

def method_numbers(name: str) -> dict[str, Any]: ...

class Tableau:
    def __init__(
        self,
        A: ArrayLike,
        b: ArrayLike,
        c: ArrayLike,
        b_hat: ArrayLike | None = None,
        order: int = 1,
        error_order: int = 0,
    ) -> None: ...
    @property
    def stages(self) -> int: ...
    @property
    def order(self) -> int: ...
    @property
    def adaptive(self) -> bool: ...

class Rosenbrock:
    def __init__(
        self,
        alpha: ArrayLike,
        gamma: ArrayLike,
        a: ArrayLike,
        c: ArrayLike,
        end: ArrayLike,
        error: ArrayLike,
        powers: ArrayLike,
        order: int,
    ) -> None: ...
    @property
    def stages(self) -> int: ...
    @property
    def order(self) -> int: ...

class ImplicitTableau:
    def __init__(
        self,
        A: ArrayLike,
        b: ArrayLike,
        c: ArrayLike,
        x_dense: ArrayLike,
        z_dense: ArrayLike,
        b_hat: ArrayLike | None = None,
        order: int = 1,
        error_order: int = 0,
    ) -> None: ...
    @property
    def stages(self) -> int: ...
    @property
    def order(self) -> int: ...
    @property
    def adaptive(self) -> bool: ...
    @property
    def groups(self) -> list[int]: ...

class Cancel:
    def __init__(self) -> None: ...
    def set(self) -> None: ...
    @property
    def is_set(self) -> bool: ...

class Bdf:
    def __init__(self, max_order: int = 5, algebraic_in_error_test: bool = True) -> None: ...
    @property
    def max_order(self) -> int: ...
    @property
    def algebraic_in_error_test(self) -> bool: ...

# A run that goes on; of use during the look only.
class SoFar:
    @property
    def time(self) -> float: ...
    def rows(self, most: int) -> tuple[Array, Array, Array]: ...
    @property
    def signals(self) -> tuple[Array, Array, Array]: ...

class Run:
    @property
    def t(self) -> Array: ...
    @property
    def x(self) -> Array: ...
    def at_steps(self) -> tuple[Array, Array]: ...
    @property
    def kept_between(self) -> int: ...
    def step_counts(self) -> Array: ...
    @property
    def status(
        self,
    ) -> Literal[
        "finished",
        "event",
        "interrupted",
        "cancelled",
        "step_limit",
        "time_limit",
        "memory_limit",
        "step_too_small",
        "not_finite",
        "chattering",
        "newton_failed",
        "singular",
        "rounding",
        "inconsistent",
        "stiff",
        "not_projected",
        "conflict",
        "endless",
        "call_failed",
    ]: ...
    @property
    def stop_time(self) -> float: ...
    @property
    def end(self) -> np.ndarray: ...
    @property
    def culprit(self) -> int: ...
    @property
    def culprit_stage(self) -> Literal["state", "derivative", ""]: ...
    @property
    def turns(self) -> int: ...
    @property
    def last_turned(self) -> int: ...
    @property
    def held(self) -> tuple[Array, Array, Array]: ...
    @property
    def located(self) -> Array: ...
    @property
    def signals(self) -> tuple[Array, Array, Array]: ...
    @property
    def actors(self) -> tuple[int, int]: ...
    @property
    def steps(self) -> int: ...
    @property
    def rejected(self) -> int: ...
    @property
    def rhs_calls(self) -> int: ...
    @property
    def jacobians(self) -> int: ...
    @property
    def factorisations(self) -> int: ...
    @property
    def newton(self) -> int: ...
    @property
    def newton_failures(self) -> int: ...
    @property
    def factor_size(self) -> int: ...
    @property
    def linear(self) -> tuple[str, int, int, int, int, bool, int]: ...
    @property
    def seconds(self) -> float: ...
    @property
    def last_step(self) -> float: ...
    @property
    def rested(self) -> bool: ...
    @property
    def events(self) -> list[tuple[int, float, Array, Array]]: ...
    @property
    def event_rounds(self) -> list[int]: ...
    @property
    def events_led(self) -> list[bool]: ...
    def dense(self) -> tuple[Array, Array, Array]: ...

class Program:
    def __init__(
        self,
        parameters: int,
        rows: int,
        scale: Array,
        jacobian_rows: np.ndarray,
        jacobian_columns: np.ndarray,
        hessian_rows: np.ndarray,
        hessian_columns: np.ndarray,
    ) -> None: ...
    def add_block(self, block: dict[str, object]) -> None: ...
    def set_linear(self, rows: np.ndarray, columns: np.ndarray, places: np.ndarray, values: Array) -> None: ...
    def values(self, x: Array, p: Array) -> Array | None: ...
    def first(self, x: Array, p: Array) -> Array | None: ...
    def second(self, x: Array, p: Array, factor: float, multipliers: Array) -> Array | None: ...
    def ipopt(
        self,
        addresses: dict[str, int],
        p: Array,
        bounds: Sequence[Array],
        begin: Sequence[Array],
        options: dict[str, object],
        listener: Callable[[int, float, float, float], bool] | None,
        feasible: float,
    ) -> dict[str, Any]: ...
    def fatrop(
        self,
        addresses: dict[str, int],
        p: Array,
        bounds: Sequence[Array],
        begin: Sequence[Array],
        tables: dict[str, np.ndarray],
        options: dict[str, object],
    ) -> dict[str, Any]: ...

class NewtonProgram:
    def __init__(self, program: Program, position: np.ndarray) -> None: ...
    def solve(
        self, p: Array, bounds: Sequence[Array], begin: Sequence[Array], tolerance: float, most_iterations: int
    ) -> dict[str, Any]: ...

class RecedingProgram:
    def __init__(
        self,
        program: Program,
        addresses: dict[str, int],
        p: Array,
        bounds: Sequence[Array],
        stages: dict[str, np.ndarray],
        tables: dict[str, np.ndarray],
        accuracy: float,
    ) -> None: ...
    def set_point(self, x: Array) -> None: ...
    def point(self) -> Array: ...
    def set_parameters(self, p: Array) -> None: ...
    def set_bounds(self, bounds: tuple[Array, Array, Array, Array]) -> None: ...
    def shift(self, share: float) -> None: ...
    def prepare(self) -> bool: ...
    def feed_back(self, measured: Array, seconds: float) -> tuple[int, int, float]: ...
    def length(self) -> float: ...
    def applied(self) -> Array: ...

class Flow:
    def __init__(self, lists: dict[str, object]) -> None: ...
    def set_shape(
        self,
        part: int,
        sparsity_in: Sequence[Sequence[int]],
        sparsity_out: Sequence[Sequence[int]],
        names_in: Sequence[str],
        names_out: Sequence[str],
    ) -> None: ...
    def evaluate(
        self, part: str, x: ArrayLike, u: ArrayLike, p: ArrayLike, seed: ArrayLike, parameters: bool = False
    ) -> tuple[Array, ...]: ...
    def time_per_call(
        self,
        part: str,
        x: ArrayLike,
        u: ArrayLike,
        p: ArrayLike,
        seed: ArrayLike,
        parameters: bool = False,
        repetitions: int = 1000,
    ) -> float: ...

    # Over any interval, from a time on: x, its covariance with noise of a density gathered on the way, the derivative
    # by x and that noise alone, and the step to begin the next one with; empty where the steps do not get there.
    # slopes: ∂x'/∂x, onto: the projector of what is kept, by rows; tolerances: rtol, atol, that of the covariance, and
    # how much better two steps are than one.
    def carry(
        self,
        slopes: Function,
        onto: Function | None,
        t: float,
        length: float,
        x: ArrayLike,
        u: ArrayLike,
        p: ArrayLike,
        covariance: ArrayLike,
        density: ArrayLike,
        tolerances: Sequence[float],
        first: float,
        most: int,
        stiff: bool,
    ) -> tuple[()] | tuple[Array, Array, Array, Array, float]: ...

# The transition and the noise of x' = A x + w over a step, from A and Q at three times of it, (3, n, n) each.
def noise_step(
    length: float, slopes: ArrayLike, densities: ArrayLike, n: int, stiff: bool
) -> tuple[()] | tuple[Array, Array]: ...

# A state and its covariance with measurements taken in, NaN for missing ones; empty where H P Hᵀ + R is not positive.
def take_in(
    x: ArrayLike, covariance: ArrayLike, slopes: ArrayLike, noise: ArrayLike, innovation: ArrayLike
) -> tuple[()] | tuple[Array, Array]: ...

flow_slot_count: int

def reserve_flow_slot(flow: Flow, mark: str) -> int: ...
def flow_slots_in_use() -> int: ...
def set_factor_threads(count: int) -> None: ...

class LinearSolver:
    def __init__(
        self,
        n: int,
        colind: Sequence[int],
        rows: Sequence[int],
        complex: bool = False,
        form: Literal["best", "dense", "sparse", "krylov", "multigrid", "block_ilu", "banded", "chosen"] = "best",
        cells: Sequence[int] = (),
        dearer: float = 1.5,
        accuracy: float = 1e-9,
    ) -> None: ...
    def factor(
        self, values: ArrayLike, row_scale: ArrayLike | None = None, column_scale: ArrayLike | None = None
    ) -> bool: ...
    def solve(self, b: ArrayLike) -> NDArray[Any]: ...
    def time_factor(self, repetitions: int) -> float: ...
    def time_solve(self, b: ArrayLike, repetitions: int) -> float: ...
    @property
    def dense(self) -> bool: ...
    @property
    def iterates(self) -> bool: ...
    @property
    def factorisations(self) -> int: ...
    @property
    def orderings(self) -> int: ...
    @property
    def iterations(self) -> int: ...
    @property
    def gave_up(self) -> bool: ...
    @property
    def fill(self) -> int: ...
    @property
    def operations(self) -> int: ...

class LinearModel:
    def __init__(
        self,
        function: Function,
        states: int,
        unknowns: int,
        colind: Sequence[int],
        rows: Sequence[int],
        solved: Sequence[int] = ...,
        known: Sequence[int] = ...,
    ) -> None: ...
    @property
    def function(self) -> Function: ...
    @property
    def states(self) -> int: ...
    @property
    def unknowns(self) -> int: ...
    def with_function(self, function: Function) -> LinearModel: ...
    def evaluate_many(self, t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike) -> tuple[Array, Array]: ...
    def work(self, t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike) -> dict[str, int]: ...

class Projection:
    def __init__(
        self,
        model: LinearModel,
        positions: Function | None,
        position_rows: Sequence[int],
        velocities: Function | None,
        velocity_rows: Sequence[int],
        motion: Function | None,
        others: Function | None,
        nominal: ArrayLike,
    ) -> None: ...
    def evaluate_many(self, t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike) -> tuple[Array]: ...

class SampledCode:
    def __init__(
        self, callable: Callable[..., Any], memory: object, reads: Sequence[int], writes: Sequence[int]
    ) -> None: ...
    @property
    def error(self) -> BaseException | None: ...
    @property
    def memory(self) -> object: ...

class Agenda:
    def __init__(
        self,
        times: ArrayLike,
        what: Sequence[int],
        rising: Sequence[int],
        scheduled: Sequence[int],
        fired: Sequence[int],
        calls: Sequence[Any],
    ) -> None: ...

class Delays:
    def __init__(
        self,
        signals: Function,
        delays: Sequence[float],
        slots: Sequence[int],
        starts: ArrayLike,
        ends: ArrayLike,
        samples: ArrayLike,
    ) -> None: ...

class Plan:
    def __init__(
        self,
        model: Function | ImplicitModel | LinearModel,
        method: str | Tableau | Collocation | Rosenbrock | Bdf | ImplicitTableau | LobattoStep,
        *,
        rtol: float = 1e-6,
        atol: ArrayLike | None = None,
        step: float | None = None,
        first_step: float | None = None,
        max_step: float | None = None,
        max_steps: int | None = None,
        time_limit: float | None = None,
        guards: Function | None = None,
        directions: Sequence[int] = ...,
        actions: Sequence[int] = ...,
        occurrences: Sequence[int] = ...,
        resets: Function | None = None,
        projection: Function | Projection | None = None,
        restart: Function | None = None,
        switches: int = 0,
        keep_steps: bool = True,
        watch_stiffness: float = 0.0,
        kinked: bool = False,
        junctions: bool = False,
        moving_mass: bool = False,
        memory_limit: int | None = None,
        sides: Sequence[int] = ...,
        at_start: Sequence[int] = ...,
        discretes: int = 0,
        is_read: Sequence[int] = ...,
        levels: Sequence[int] = ...,
        writes: Sequence[int] = ...,
        from_start: bool = False,
        contacts: Any = None,
        is_contact: Sequence[int] = ...,
        may_slide: Sequence[int] = ...,
        rows_at_jumps: bool = False,
        cases: int = 1,
    ) -> None: ...
    def run(
        self,
        t0: float,
        t1: float,
        x0: ArrayLike,
        u: ArrayLike,
        p: ArrayLike,
        save_at: ArrayLike | None = None,
        tables: Sequence[Table] | None = None,
        progress: Callable[[float], object] | None = None,
        cancel: Cancel | None = None,
        agenda: Agenda | None = None,
        delays: Delays | None = None,
        onlooker: Callable[[SoFar], object] | None = None,
        keep_between: bool = True,
    ) -> Run: ...

# Options as of a Plan and of its run.
def integrate(
    model: Function | ImplicitModel | LinearModel,
    method: str | Tableau | Collocation | Rosenbrock | Bdf | ImplicitTableau | LobattoStep,
    t0: float,
    t1: float,
    x0: ArrayLike,
    u: ArrayLike,
    p: ArrayLike,
    **options: object,
) -> Run: ...
def write_plain(target: Array, places: dict[str, tuple[int, int]], values: dict[str, object]) -> int: ...

class ContactWorld:
    pairs: int
    tests: int
    def __init__(
        self,
        inverse_mass: ArrayLike,
        inverse_inertia: ArrayLike,
        kinds: np.ndarray,
        owners: np.ndarray,
        sizes: ArrayLike,
        places: ArrayLike,
        turns: ArrayLike,
        laws: ArrayLike,
        law_of: np.ndarray,
    ) -> None: ...
    def place(self, poses: ArrayLike, limit: float, share: float = 1.0) -> int: ...
    def couple(self, matrix: ArrayLike) -> None: ...
    def joints(self, begins: np.ndarray, bodies: np.ndarray, entries: ArrayLike, targets: ArrayLike) -> None: ...
    def solve(
        self,
        twists: ArrayLike,
        bounds: ArrayLike,
        frictional: bool = True,
        tolerance: float = 1e-10,
        sweeps: int = 1000,
        newton: int = 40,
        largest: int = 400,
        shifts: ArrayLike | None = None,
    ) -> tuple[Array, float, int, int, bool, float]: ...
    def velocities(self, twists: ArrayLike) -> Array: ...
    def velocities_in_world(self, twists: ArrayLike) -> Array: ...
    def work(self, before: ArrayLike, after: ArrayLike) -> Array: ...
    def contacts(self) -> Array: ...
    def places(self) -> Array: ...
    def impulses(self) -> Array: ...
    def forget(self) -> None: ...

class IntervalEquations:
    def __init__(
        self,
        function: Function,
        states: int,
        algebraic: int,
        places: Sequence[tuple[Sequence[int], Sequence[int]]],
        A: ArrayLike,
        b: ArrayLike,
        c: ArrayLike,
        polynomials: ArrayLike,
    ) -> None: ...
    def rows(
        self,
        mesh: ArrayLike,
        unknowns: ArrayLike,
        u: ArrayLike,
        p: ArrayLike,
        by_u: Sequence[int],
        by_p: Sequence[int],
    ) -> tuple[Array, Array, Array, Array]: ...
    def missed(
        self, mesh: ArrayLike, unknowns: ArrayLike, u: ArrayLike, p: ArrayLike, shares: ArrayLike
    ) -> tuple[Array, Array] | None: ...
    def moved(self, mesh: ArrayLike, unknowns: ArrayLike, finer: ArrayLike) -> Array: ...

class IntervalSearch:
    def __init__(
        self,
        equations: IntervalEquations,
        mesh: ArrayLike,
        unknowns: ArrayLike,
        u: ArrayLike,
        p: ArrayLike,
        free: Sequence[int],
        conditions: Function,
        constants: ArrayLike,
        nodes: Sequence[int],
        places: tuple[Sequence[int], Sequence[int]],
        nominal: ArrayLike,
        limits: ArrayLike,
    ) -> None: ...
    def begin(self) -> bool: ...
    def advance(self) -> str: ...
    @property
    def values(self) -> Array: ...
    @property
    def scaled(self) -> Array: ...
    @property
    def damping(self) -> float: ...

class IntervalFactors:
    def solve(self, right: ArrayLike) -> Array: ...
    @property
    def sign(self) -> float: ...

def interval_factors(
    block: ArrayLike, tails: ArrayLike, ends: ArrayLike, sizes: ArrayLike, inner: int
) -> IntervalFactors | None: ...
def wiener_increments(seeds: np.ndarray, stream: int, level: int, factors: Array, first: int, out: Array) -> None: ...
def wiener_points(
    seeds: np.ndarray, stream: int, level: int, factors: Array, nodes: np.ndarray, out: Array
) -> None: ...
def normal_numbers(seeds: np.ndarray, stream: int, level: int, first: int, out: Array) -> None: ...
def evaluate_dense(starts: ArrayLike, ends: ArrayLike, coefficients: ArrayLike, times: ArrayLike) -> Array: ...

xla_value: Any  # capsules of what XLA calls
xla_pull: Any

class ArrayRun:
    def __init__(
        self,
        plan: Plan,
        pullback: Function,
        projection_pullback: Function | None,
        outputs: Function | None,
        outputs_pullback: Function | None,
        kept: Function | None,
        kept_within: float,
        logarithm: Function | None,
        pulls_in_python: bool,
        A: ArrayLike,
        b: ArrayLike,
        c: ArrayLike,
        times: ArrayLike,
    ) -> None: ...
    def value(self, x0: ArrayLike, u: ArrayLike, p: ArrayLike) -> tuple[bool, Array]: ...
    def pull(
        self, x0: ArrayLike, u: ArrayLike, p: ArrayLike, weights: ArrayLike
    ) -> tuple[bool, Array, Array, Array]: ...
    again: Callable[..., Any] | None
    @property
    def id(self) -> int: ...

def pull_back(
    rhs: Function,
    pullback: Function,
    projection_pullback: Function | None,
    A: object,
    b: object,
    c: object,
    times: object,
    states: object,
    u: object,
    p: object,
    tables: Sequence[Table],
    blocks: Sequence[int],
    block_count: int,
    weights: object,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...

# Pairs of rows and columns of a pattern with an entry at every (rows[k], columns[k]).
class Pairs:
    @property
    def columns(self) -> NDArray[np.int64]: ...  # the column of each row, -1 where it has none
    # Of cheapest_matching: u_i + v_j <= cost_ij, equal on every pair, v_j <= 0, and 0 where column j has no row. Where
    # not all rows have a column, u_i <= alone, equal for those without one.
    @property
    def row_prices(self) -> NDArray[np.int64]: ...
    @property
    def column_prices(self) -> NDArray[np.int64]: ...
    @property
    def alone(self) -> int: ...
    @property
    def phases(self) -> int: ...  # of layers and paths, by Hopcroft and Karp
    @property
    def searches(self) -> int: ...  # from single rows, by Dijkstra
    @property
    def visits(self) -> int: ...  # of entries

# As many pairs as possible.
def maximum_matching(
    row_count: int, column_count: int, rows: NDArray[np.integer], columns: NDArray[np.integer]
) -> Pairs: ...

# As many pairs as possible, with the least sum of costs, which are whole numbers.
def cheapest_matching(
    row_count: int,
    column_count: int,
    rows: NDArray[np.integer],
    columns: NDArray[np.integer],
    costs: NDArray[np.integer],
) -> Pairs: ...

# Passes over the rows of an evaluation. first, second: the rows that a row reads, -1 for none; reads: whether it does.
def last_writers(writes: NDArray[np.int32], reads: NDArray[np.int32]) -> NDArray[np.int32]: ...
def row_depths(first: NDArray[np.int32], second: NDArray[np.int32], reads: NDArray[np.uint8]) -> NDArray[np.int32]: ...

# Rows that depend on some, and rows that some depend on.
def dependent_rows(
    first: NDArray[np.int32], second: NDArray[np.int32], reads: NDArray[np.uint8], from_rows: NDArray[np.uint8]
) -> NDArray[np.uint8]: ...
def needed_rows(
    first: NDArray[np.int32], second: NDArray[np.int32], reads: NDArray[np.uint8], from_rows: NDArray[np.uint8]
) -> NDArray[np.uint8]: ...

# The first row of the piece that every chosen row belongs to, -1 for others.
def connected_rows(
    first: NDArray[np.int32], second: NDArray[np.int32], reads: NDArray[np.uint8], chosen: NDArray[np.uint8]
) -> NDArray[np.int32]: ...

# A number for the tree below every row, and how many roots lie below each other in it.
def tree_shapes(
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    reads: NDArray[np.uint8],
    operation: NDArray[np.int32],
    leaf: NDArray[np.int64],
    is_root: NDArray[np.uint8],
    kept: int,
) -> tuple[NDArray[np.uint64], NDArray[np.int32]]: ...

# Memory that was freed, back to the system.
def give_back_memory() -> None: ...

class Sheltered:
    def __init__(self, function: Any) -> None: ...
    def __call__(self, *given: Any, **named: Any) -> Any: ...

def lead_through_fork_gate(path: str) -> int: ...
def interpreter_behind_fork_gate(
    evaluate_address: int, checkout_address: int, release_address: int
) -> tuple[int, int, int]: ...
def close_fork_gate(seconds: float) -> bool: ...
def pass_over_at_fork_gate() -> None: ...
def open_fork_gate(in_child: bool) -> None: ...
