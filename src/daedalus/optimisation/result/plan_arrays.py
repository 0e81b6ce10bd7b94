"""The arrays of a saved plan, each checked against the others before anything is made of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from daedalus.model.system.plain_record import PlainRecord, misfit


class PlanArrays:
    """Arrays by name, asked for with their shape and what their entries are; None stands for any length."""

    def __init__(self, arrays: Mapping[str, np.ndarray], place: str = "plan") -> None:
        self._arrays, self._place = arrays, place

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def get(self, name: str, *shape: int | None) -> np.ndarray:
        """An array of numbers."""
        values = self._arrays.get(name)
        if values is None:
            raise misfit(f"{self._place}.{name}", "an array", None)
        if len(shape) != values.ndim or any(n is not None and n != m for n, m in zip(shape, values.shape)):
            wanted = " × ".join("any" if n is None else str(n) for n in shape)
            raise misfit(f"{self._place}.{name}", f"an array of {wanted}", values.shape)
        return values

    def places(self, name: str, lowest: int, below: int, *shape: int | None) -> np.ndarray:
        """An array of whole numbers of [lowest, below)."""
        values = self.get(name, *shape)
        with np.errstate(invalid="ignore"):
            whole = np.isfinite(values) & (values == np.round(values)) & (values >= lowest) & (values < below)
        if not np.all(whole):
            raise misfit(f"{self._place}.{name}", f"whole numbers of {lowest} to {below - 1}", float(values[~whole][0]))
        return values.astype(int)

    def increasing(self, name: str) -> np.ndarray:
        """At least two finite numbers, each larger than the one before."""
        values = self.get(name, None)
        if len(values) < 2 or not np.all(np.isfinite(values)) or np.any(np.diff(values) <= 0):
            raise misfit(f"{self._place}.{name}", "increasing numbers", values.tolist()[:4])
        return values

    def program(self) -> tuple[int, int, int]:
        """How many variables, parameters and rows the program has, all its arrays being of these sizes."""
        variables, rows = len(self.get("outcome/w", None)), len(self.get("program/row_lower", None))
        for name in ("program/lower", "program/upper", "outcome/bound_multipliers"):
            self.get(name, variables)
        for name in ("program/row_upper", "outcome/multipliers"):
            self.get(name, rows)
        return variables, len(self.get("program/parameters", None)), rows


def check_numbers(record: PlainRecord, *names: str) -> None:
    """Refuse entries that are no finite numbers."""
    for name in names:
        if not np.isfinite(record.number(name)):
            raise record.misfit(name, "a finite number", record.number(name))
