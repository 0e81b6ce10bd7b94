// A model together with derivatives of its unknowns: columns that all have the model's own matrix in Newton's method.
//
//   F(t, x', w) = 0,   F_x' S' + F_w S + F_p = 0            w = (x, z); second derivatives in a group of their own
//
// Newton's matrix of all equations is block lower triangular, with that of F in every diagonal block (M. Caracotsios,
// W. E. Stewart, Comput. Chem. Eng. 9, 1985). The unknowns are x, S of x row by row, ..., then z, S of z row by row, ...;
// the equation of a column that comes k-th stands where the k-th unknown of that column does.
#pragma once

#include <vector>

#include "model/function.hpp"

namespace daedalus {

// Columns side by side: unknown k of column j stands at states_at + k width + j, or among the others from there on.
struct ColumnGroup {
    long long width = 1, states_at = 0, others_at = 0;
};

// Value `source` times the row of columns at `place`, of the derivatives or of the unknowns.
struct ColumnTerm {
    long long source = 0, place = 0;
    bool of_rate = false;
};

// Value `source`, times the input `slot` where there is one (-1: none), belongs to the equation at `place`.
struct ColumnSeed {
    long long place = 0, source = 0, slot = -1;
};

// Numbers that a compiled function of the model gives, and the sums of products with the columns that they stand in:
// those of row k are terms[begin[k] .. begin[k + 1]).
struct ColumnProducts {
    const Function* function = nullptr;  // none: all values are zero
    long long values = 0;
    std::vector<long long> begin;
    std::vector<ColumnTerm> terms;
    std::vector<ColumnSeed> seeds;
};

struct ColumnGroups {
    long long states = 0, unknowns = 0;  // of one column
    long long zeros = 0;                 // unknowns that are zero by structure
    std::vector<ColumnGroup> groups;     // the model itself and its columns; none: there are no columns
    // With products these are functions of the model itself; without, they take all columns and give all equations.
    bool products = false;
    ColumnProducts residual;  // (t, x', x, z, u, p) -> F; nonzeros of F_x', F_w and F_p
    ColumnProducts below;     // (t, x', x, z, u, p, d', d_x, d_z) -> derivatives of those along d', d
    ColumnProducts drift;     // (t, x', x, z, u, p, u') -> dF/dt + dF/du u'; the same of the nonzeros
};

}  // namespace daedalus
