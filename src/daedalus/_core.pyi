"""Types of the integrator core, the compiled module behind simulation and compilation."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

instruction_set: str

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
    def time_per_call(self, *arguments: ArrayLike, repetitions: int = 1000) -> float: ...

class Table:
    def __init__(self, times: ArrayLike, values: ArrayLike, slots: Sequence[int], linear: bool = False) -> None: ...

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

class Cancel:
    def __init__(self) -> None: ...
    def set(self) -> None: ...
    @property
    def is_set(self) -> bool: ...

class Run:
    @property
    def t(self) -> Array: ...
    @property
    def x(self) -> Array: ...
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
        "step_too_small",
        "not_finite",
        "chattering",
    ]: ...
    @property
    def stop_time(self) -> float: ...
    @property
    def culprit(self) -> int: ...
    @property
    def culprit_stage(self) -> Literal["state", "derivative", ""]: ...
    @property
    def steps(self) -> int: ...
    @property
    def rejected(self) -> int: ...
    @property
    def rhs_calls(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def last_step(self) -> float: ...
    @property
    def events(self) -> list[tuple[int, float, Array, Array]]: ...
    def dense(self) -> tuple[Array, Array, Array]: ...

class Flow:
    def __init__(self, tables: dict[str, object]) -> None: ...
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

flow_slot_count: int

def reserve_flow_slot(flow: Flow, first: int) -> int: ...
def flow_slots_in_use() -> int: ...
def integrate(
    rhs: Function,
    method: str | Tableau,
    t0: float,
    t1: float,
    x0: ArrayLike,
    u: ArrayLike,
    p: ArrayLike,
    *,
    rtol: float = 1e-6,
    atol: ArrayLike | None = None,
    step: float | None = None,
    first_step: float | None = None,
    max_step: float | None = None,
    max_steps: int | None = None,
    time_limit: float | None = None,
    save_at: ArrayLike | None = None,
    tables: Sequence[Table] = ...,
    guards: Function | None = None,
    directions: Sequence[int] = ...,
    actions: Sequence[int] = ...,
    occurrences: Sequence[int] = ...,
    resets: Function | None = None,
    projection: Function | None = None,
    keep_steps: bool = True,
    progress: Callable[[float], object] | None = None,
    cancel: Cancel | None = None,
) -> Run: ...
def evaluate_dense(starts: ArrayLike, ends: ArrayLike, coefficients: ArrayLike, times: ArrayLike) -> Array: ...
