"""The same problem with a small cost of its inputs, which then swing no more where nothing else sees them.

    J + w |J| ∫ Σ ((u_k - m_k) / s_k)² dt / T      with the middle m_k and the size s_k of each input

Where neither the cost nor a bound sees an input (the curvature of a rope that encloses an area), a search on a mesh may
end with one that swings from interval to interval: the equations hold at the points of the mesh, and no motion joins
them. Plans with less and less effort lead to that of the problem itself (D. Jacobson, S. Gershwin, M. Lele, Computation
of Optimal Singular Controls, IEEE Transactions on Automatic Control 15, 1970).
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from daedalus.optimisation.description.description import Description
from daedalus.optimisation.search.hidden_inputs import in_the_middle, variables_of_inputs
from daedalus.optimisation.transcription.collocated import Transcription

# Weights of the effort, one after the other; the problem itself follows.
WEIGHTS = (1.0, 1e-2, 1e-4)


def with_effort(described: Description, made: Transcription, begin: np.ndarray, weight: float) -> Description:
    """The problem with the effort of its inputs as a further cost.

    weight: of the effort where inputs are as far from their middle as they are large.
    """
    places = {k for k in described.chosen if k in described.kinds and described.kinds[k].kind == "linear"}
    order = [k for k in described.chosen if k not in places] + [k for k in described.chosen if k in places]
    middle, program, terms = in_the_middle(made, begin), made.program, ca.SX(0)
    for k, own in zip(order, variables_of_inputs(made)):
        width = program.upper[own] - program.lower[own]
        size = np.where(np.isfinite(width) & (width > 0), 0.5 * width, program.scale[own]).mean()
        terms += ((described.system.symbol("u")[k] - float(middle[own].mean())) / float(size)) ** 2
    return replace(described, running=described.running + weight / described.expected_duration * terms)
