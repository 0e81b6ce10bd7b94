"""What `solve_ivp` returns: SciPy's fields, read as attributes or items, and the continuous solution."""

from __future__ import annotations

from typing import Any

import numpy as np


class IvpResult(dict[str, Any]):
    """The result of `solve_ivp`: a dictionary whose entries are attributes too, as in SciPy.

    Fields
    ------
    t: times (nt,); y: values (n, nt); sol: the continuous solution, or None.
    t_events, y_events: one array for each event function, or None; of a DAE yp_events too.
    nfev, njev, nlu: calls of the right-hand side and of its Jacobian, factorisations.
    status: 0 reached the end, 1 an event ended it, -1 failed; message: the same in words; success: status >= 0.
    traced: whether the function ran as a compiled formula; reason: why, or why not; method: what ran.
    stop: how the run ended as data, where it was ours: ending, time, component, and what was found there.

    >>> result = IvpResult(t=np.array([0.0, 1.0]), status=0)
    >>> result.status, result["status"]
    (0, 0)
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the result has no field {name!r}; it has {', '.join(self)}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        del self[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __repr__(self) -> str:
        # The message says what is in `stop`.
        first = ["message", "success", "status"]
        order = [*first, *(key for key in self if key not in (*first, "stop"))]
        width = max(map(len, order))
        lines = []
        for key in order:
            if key in self:
                text = (
                    np.array2string(self[key], threshold=10) if isinstance(self[key], np.ndarray) else repr(self[key])
                )
                text = self[key] if key in ("message", "reason") else text
                lines.append(f"{key:>{width}}: " + str(text).replace("\n", "\n" + " " * (width + 2)))
        return "\n".join(lines)

    __str__ = __repr__


# A last step that an event cut to less than this part of the one before is too short to be continued beyond the end:
# rounding errors of its polynomial grow with a power of the distance in lengths of the step.
CUT = 0.1


class DenseSolution:
    """The solution at any time between the steps: `sol(t)` gives (n,), `sol(times)` gives (n, len(times)).

    Each step carries its polynomial y(start + θ (end - start)) = Σ_j c_j θ^j; outside the span the first or last one is
    continued, as SciPy does, or the one before where an event left only a trace of the last step.

    >>> line = DenseSolution(np.array([0.0]), np.array([2.0]), np.array([[[1.0], [4.0]]]))
    >>> line(0.5), line([0.0, 2.0])
    (array([2.]), array([[1., 5.]]))
    """

    def __init__(self, starts: np.ndarray, ends: np.ndarray, coefficients: np.ndarray) -> None:
        self._starts, self._ends, self._coefficients = starts, ends, coefficients
        self.n_segments = len(starts)
        self.ts = np.concatenate([starts[:1], ends])
        self._last = self.n_segments - 1
        lengths = np.abs(ends - starts)[-2:]
        if len(lengths) == 2 and lengths[1] < CUT * lengths[0]:
            self._last -= 1
        self.t_min, self.t_max = float(self.ts.min()), float(self.ts.max())

    def __call__(self, t: Any) -> np.ndarray:
        """The values at one time, (n,), or at several, (n, number of times)."""
        times = np.asarray(t, dtype=float)
        if times.ndim > 1:
            raise ValueError("`t` must be a float or a 1-D array.")
        flat = times.reshape(-1)
        # Among the inner boundaries: how many lie before the time, in the direction of the run.
        inner = self.ts[1:-1]
        if self.ts[-1] >= self.ts[0]:
            piece = np.searchsorted(inner, flat, side="right")
        else:
            piece = np.searchsorted(-inner, -flat, side="right")
        beyond = (flat - self.ts[-1]) * np.sign(self.ts[-1] - self.ts[0]) > 0
        piece = np.where(beyond, self._last, piece)
        length = self._ends[piece] - self._starts[piece]
        theta = np.divide(flat - self._starts[piece], length, out=np.zeros_like(flat), where=length != 0.0)
        coefficients = self._coefficients[piece]
        values = coefficients[:, -1]
        for j in range(coefficients.shape[1] - 2, -1, -1):
            values = values * theta[:, None] + coefficients[:, j]
        return values[0] if times.ndim == 0 else values.T
