// A model that is not solved for its derivatives: 0 = F(t, x', x, z, u, p), as the implicit methods take it.
//
// A state of the run is the row y = (x, z, x'). The matrices of all methods have the form a dF/dx' + dF/d(x, z), so both
// Jacobians are put onto one pattern. With columns of derivatives (column_groups.hpp) x and z hold those too, and the
// matrix is the block that all columns share.
#pragma once

#include <cstdint>
#include <vector>

#include "linear/matrix_form.hpp"
#include "linear/preconditioners/preconditioner.hpp"
#include "model/column_groups.hpp"
#include "model/function.hpp"

namespace daedalus {

struct ImplicitModel {
    const Function* residual = nullptr;  // (t, x', x, z, u, p) -> F
    const Function* jacobian = nullptr;  // the same -> nonzeros of dF/dx', nonzeros of dF/d(x, z)
    // (t, x', x, z, u, p, v', v_x, v_z) -> dF/dx' v' + dF/d(x, z) v, which iterations multiply by; nullptr: by the nonzeros
    const Function* product = nullptr;
    const Function* drift = nullptr;     // (t, x', x, z, u, p, u') -> dF/dt + dF/du u'; nullptr where nothing needs it
    // Where currents into charges stand in equations: (t, x', x, z, u, p) -> F without them, and the charges by equation;
    // the same -> nonzeros of dF/dx' as above, of d(F without them)/d(x, z), of that part of dF/dx' which belongs to charges;
    // nullptr where there are none.
    const Function *charged = nullptr, *charged_jacobian = nullptr;
    std::vector<long long> charged_rows;  // the equations that have some
    long long states = 0, unknowns = 0;  // numbers of x, and of x and z together
    ColumnGroups columns;
    Pattern matrix;                      // of a dF/dx' + dF/d(x, z), for one column
    std::vector<long long> dot_place, all_place;  // where their nonzeros stand in it
    std::vector<std::int32_t> dot_row, dot_column;  // of each nonzero of dF/dx'
    // Variables of index k are divided by h^(k-1) in the linear solves, and their errors multiplied by it (Hairer,
    // Lubich, Roche 1989); equations are multiplied by h^level.
    std::vector<int> index, level;
    std::vector<long long> constraints;   // equations without x'
    std::vector<long long> state_constraints;  // those of states with a derivative alone
    std::vector<char> is_state_constraint;     // by equation
    std::vector<long long> curved;        // unknowns of index 3 in which the equations are nonlinear
    std::vector<char> has_derivative;     // which x have a derivative in any equation
    bool higher_index = false;
    bool autonomous = false;  // neither time nor inputs stand in F
    bool constant_slopes = false;  // F is linear in x', x and z, and parameters alone stand in its Jacobians
    int deepest = 1;  // the largest index
    MatrixForm form = MatrixForm::best;  // how linear systems are solved
    PreconditionerWish preconditioner;   // of iterations

    // Numbers of x, and of x and z together, in one column.
    DAEDALUS_INLINE long long block_states() const { return columns.groups.empty() ? states : columns.states; }
    DAEDALUS_INLINE long long block_unknowns() const { return columns.groups.empty() ? unknowns : columns.unknowns; }
    // Where unknown k of the model itself stands among all.
    DAEDALUS_INLINE long long place_of(long long k) const {
        return k < block_states() ? k : states + (k - block_states());
    }
    // Norms are means over so many unknowns.
    DAEDALUS_INLINE long long counted() const { return unknowns - columns.zeros; }
};

}  // namespace daedalus
