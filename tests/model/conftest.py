"""A model with a variable of every kind and shape, for the tests of door 1."""

import casadi as ca
import pytest

import daedalus as dd
from daedalus.model.printing import expression_text


class Desk:
    """The variables at hand as attributes."""

    def __init__(self):
        self.m = dd.Model("desk")
        self.x = self.m.state("x", 2)
        self.y = self.m.state("y")
        self.R = self.m.state("R", (2, 2))
        self.row = self.m.state("row", (1, 2))
        self.z = self.m.algebraic("z")
        self.w = self.m.algebraic("w", 2)
        self.u = self.m.input("u")
        self.k = self.m.parameter("k", 2.0)

    def der(self, e):
        return self.m.der(e)

    def texts(self, expression):
        return [expression_text(s, self.m.written.labels()) for s in ca.SX(expression).elements()]


@pytest.fixture
def d() -> Desk:
    """A fresh desk."""
    return Desk()
