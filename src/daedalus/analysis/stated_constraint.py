"""A condition that solutions obey, as a report states it: where it comes from, and its formula in the user's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import casadi as ca

from daedalus.model.lazy_values import cached_property
from daedalus.model.names import counted
from daedalus.model.printing import count_terms, expression_text, fitted_text, whole_text

# A formula that is cut keeps at least so many characters.
LEAST = 24
# Formulas of more operations are written as they were derived: nobody reads them term by term. So are those that
# would keep more than this share of their operations.
READABLE, SHORTER = 200, 0.8


@dataclass(frozen=True, eq=False)
class StatedConstraint:
    """`expression` = 0, with the equation that it is or comes from, and names of its symbols by their key.

    The whole formula of a large model is written when somebody asks for it; `written` is one that is known.

    Example
    -------
    >>> x = ca.SX.sym("x", 9)
    >>> whole = StatedConstraint("length", ca.sum1(x * x) - 1, hidden=True)
    >>> print(whole.line(50))
    length: x_0^2 + x_1^2 + x_2^2 + x_… (10 terms) = 0
    >>> print(whole.text[-20:])
    _7^2 + x_8^2 - 1 = 0
    """

    source: str
    expression: ca.SX
    hidden: bool
    labels: Mapping[int, str] = field(default_factory=dict)
    written: str = ""

    @cached_property
    def formula(self) -> str:
        """The formula in full."""
        return self.written or whole_text(self._reading, self.labels)

    @cached_property
    def _reading(self) -> ca.SX:
        """The expression as it is read: what was derived has its terms collected where that makes it shorter."""
        from daedalus.derivations.formula.formula_length import operations
        from daedalus.derivations.formula.simplify import simplified

        length = operations(self.expression)
        if not self.hidden or length > READABLE:
            return self.expression
        shorter = simplified(self.expression)
        return shorter if operations(shorter) <= SHORTER * length else self.expression

    @property
    def text(self) -> str:
        """The condition in full, behind the name of its equation."""
        return f"{self.source}: {self.formula} = 0"

    def line(self, width: int) -> str:
        """The condition in a line: a formula that is too long is cut, and its terms are counted."""
        head, tail = f"{self.source}: ", " = 0"
        room = max(width - len(head) - len(tail), LEAST)
        fitted = self._fitted(room)
        if fitted is not None:
            return f"{head}{fitted}{tail}"
        count = f"… ({counted(count_terms(self._reading), 'term')})"
        beginning = self.written or expression_text(self._reading, self.labels, room)
        return f"{head}{beginning[: max(room - len(count), 1)]}{count}{tail}"

    def _fitted(self, room: int) -> str | None:
        if self.written:
            return self.written if len(self.written) <= room else None
        return fitted_text(self._reading, self.labels, room)

    def plain(self) -> StatedConstraint:
        """The same in words alone: keys of symbols mean nothing in another process."""
        return replace(self, labels={}, written=self.formula)
