"""Where locating every change of contacts is no longer worth it: impacts crowd, or equal steps take less work."""

from __future__ import annotations

from daedalus.simulation.result.ending import time_text

# More impacts than this in a hundredth of the span, and steps become equal.
CROWD = 400
# So many changes are looked at together, and located steps may be so many times as many as equal ones meanwhile; more
# than two bodies can rattle against each other. All by judgement: a tolerance is worth an order of magnitude.
CHANGES, WORTH, RATTLING = 100, 10.0, 3


class Chatter:
    """The impacts and changes of a run so far, and the steps that they took."""

    def __init__(self, span: float, equal: float, bodies: int) -> None:
        self.span, self.equal, self.bodies = span, equal, bodies
        self.impacts, self.marks = list[float](), list[tuple[float, int]]()

    def struck(self, t: float) -> str:
        """An impact: why it is one too many, else nothing.

        >>> crowd = Chatter(1.0, 1e-3, 1)
        >>> [crowd.struck(0.5 + 1e-6 * k) for k in range(CROWD)][-2:]
        ['', 'more than 400 impacts followed each other before t = 0.500399']
        """
        self.impacts.append(t)
        recent = self.impacts[-CROWD:]
        crowded = len(recent) == CROWD and t - recent[0] < 0.01 * self.span
        return f"more than {CROWD} impacts followed each other before {time_text(t)}" if crowded else ""

    def went_on(self, t: float, changes: int, attempts: int) -> str:
        """A step up to a time, after so many changes and attempted steps in all: why equal ones cost less, or nothing.

        >>> rattle = Chatter(1.0, 1e-3, 8)
        >>> found = [rattle.went_on(0.01 * k, 10 * k, 150 * k) for k in range(1, 13)]
        >>> found[9], found[11][:60]
        ('', 'contacts changed 100 times within 0.1 s up to t = 0.12, whic')
        """
        self.marks += [(t, attempts)] * (changes - len(self.marks))
        if self.bodies < RATTLING or len(self.marks) <= CHANGES:
            return ""
        since, before = self.marks[-CHANGES - 1]
        equal = max((t - since) / self.equal, 1.0)
        if attempts - before <= WORTH * equal:
            return ""
        return (
            f"contacts changed {CHANGES} times within {t - since:.3g} s up to {time_text(t)}, which took "
            f"{(attempts - before) / equal:.0f} times as many steps as equal ones would"
        )
