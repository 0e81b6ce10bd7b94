"""Full or sparse: up to which sizes matrices are full, in analysis, reduction, initialisation and branches.

Full matrices are factored by LAPACK, sooner than sparse ones where they are small, and have singular values. Their cost
grows with the cube of the size, so that each limit lies where that begins to be felt for what is computed with it.
"""

# A solve for the derivatives of a jet, and blocks whose regularity is judged by singular values, not by sparse pivots.
FULL_BLOCK = 120
# Newton's method for branches: a full matrix is factored sooner.
FULL_BRANCH = 150
# A Jacobian of all unknowns, factored once or judged by an estimate of its condition.
FULL_JACOBIAN = 200
# All singular values of square equations at rest; above, they are taken as regular.
FULL_RANK = 400
# Gauss–Newton steps on a jet, by orthogonal factors.
FULL_JET = 500
# The nearest consistent point, polished by null spaces.
FULL_NEAREST_POINT = 600
# Shortest steps onto so many constraints.
FULL_CONSTRAINTS = 60
