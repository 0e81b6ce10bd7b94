"""Random linear systems, reproducible by their seed."""

import numpy as np
from hypothesis import strategies as st

from daedalus.analysis.linear.lti import LTI

shapes = st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2**32 - 1))


def random_system(shape):
    """A system with poles of both signs, of size about one."""
    n, inputs, outputs, seed = shape
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n)) - 0.5 * np.eye(n)
    sizes = [(n, inputs), (outputs, n), (outputs, inputs)]
    return LTI(A, *(rng.normal(size=size) for size in sizes)), rng
