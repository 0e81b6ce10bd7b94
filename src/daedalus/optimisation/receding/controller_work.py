"""What a controller did so far: counts and times."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class ControllerWork:
    """Counts and seconds over all calls.

    calls: all of them. solved: those that ended with a new plan. iterations: of the solvers inside. searches: whole
    problems solved by the general solver, as at the first call. shortened: steps that were not taken in full. late:
    calls whose time ran out; shifted: calls that were answered with the last plan, moved on; fallbacks: with the user's
    own answer. preparation, feedback: seconds before and after the measured states are needed; longest: the longest
    call but the first; first: that one.
    """

    calls: int = 0
    solved: int = 0
    iterations: int = 0
    searches: int = 0
    shortened: int = 0
    late: int = 0
    shifted: int = 0
    fallbacks: int = 0
    preparation: float = 0.0
    feedback: float = 0.0
    first: float = 0.0
    last: float = 0.0
    longest: float = 0.0
    reasons: dict[str, int] = field(default_factory=dict)

    def took(self, seconds: float) -> None:
        """A call has ended."""
        self.last = seconds
        if self.calls == 1:
            self.first = seconds
        else:
            self.longest = max(self.longest, seconds)

    def __str__(self) -> str:
        mean = (self.preparation + self.feedback) / max(1, self.calls - 1)
        other = ", ".join(f"{n} {word}" for word, n in self.reasons.items())
        return (
            f"{self.calls} calls: {self.solved} solved, {self.shifted} with the last plan, {self.fallbacks} with the "
            f"fallback; {1e3 * mean:.3g} ms a call, {1e3 * self.longest:.3g} ms the longest"
            + (f" ({other})" if other else "")
        )
