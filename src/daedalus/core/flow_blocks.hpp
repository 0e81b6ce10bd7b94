// The linear systems of implicit stages, all stages at once, block after block of the triangular form of one stage.
//
// The unknowns of equation e in stage i are δ_ij F_w[e, v] + h a_ij F_x,i[e, v]: blocks that one stage does not couple
// are not coupled by the stages either, so each block of the stage's triangular form is a dense system of its size
// times the number of stages, solved by LU with partial pivoting (I. S. Duff, J. K. Reid, ACM TOMS 4 (1978);
// G. H. Golub, C. F. Van Loan, Matrix Computations, 3.4).
#pragma once

#include <cmath>

#include "flow_products.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

inline void assemble_block(const FlowPlan& plan, const FlowMemory& memory, const Block& block, double* matrix) {
    const int s = plan.stages;
    const long long stride = padded(block.stacked);
    set_zero(matrix, block.stacked * stride);
    for (int e = 0; e < block.own_direct.count; ++e) {
        const Entry entry = block.own_direct.data[e];
        for (int i = 0; i < s; ++i)
            matrix[(entry.row * s + i) * stride + entry.column * s + i] +=
                memory.jacobian[i * plan.jacobian_size + entry.place];
    }
    for (int e = 0; e < block.own_state.count; ++e) {
        const Entry entry = block.own_state.data[e];
        for (int i = 0; i < s; ++i) {
            const double value = plan.h * memory.jacobian[i * plan.jacobian_size + entry.place];
            double* row = matrix + (entry.row * s + i) * stride + entry.column * s;
            for (int j = 0; j < s; ++j) row[j] += value * plan.A[i * s + j];
        }
    }
}

// LU with partial pivoting, rows exchanged; a pivot that is zero or no number fails.
inline int factor_block(double* matrix, int size, int* pivots) {
    const long long stride = padded(size);
    for (int k = 0; k < size; ++k) {
        int best = k;
        for (int i = k + 1; i < size; ++i)
            if (std::fabs(matrix[i * stride + k]) > std::fabs(matrix[best * stride + k])) best = i;
        pivots[k] = best;
        double* top = matrix + k * stride;
        double* chosen = matrix + best * stride;
        if (best != k)
            for (int j = 0; j < size; ++j) {
                const double kept = top[j];
                top[j] = chosen[j], chosen[j] = kept;
            }
        const double inverse = 1.0 / top[k];
        if (!std::isfinite(inverse)) return flow_failed;
        const long long begin = (k + 1) & ~(lane_count - 1);
        for (int i = k + 1; i < size; ++i) {
            double* row = matrix + i * stride;
            if (row[k] == 0) continue;
            const double factor = row[k] * inverse;
            // The lanes are full: what stands left of the diagonal in them is put back.
            double kept[lane_count];
            for (long long j = begin; j <= k; ++j) kept[j - begin] = row[j];
            add_lanes(row + begin, -factor, top + begin, stride - begin);
            for (long long j = begin; j <= k; ++j) row[j] = kept[j - begin];
            row[k] = factor;
        }
    }
    return 0;
}

DAEDALUS_INLINE void exchange(double* a, double* b, long long lanes) {
    DAEDALUS_SIMD
    for (long long i = 0; i < lanes; ++i) {
        const double kept = a[i];
        a[i] = b[i], b[i] = kept;
    }
}

// Solves with many right-hand sides, one a lane.
inline void solve_block(const double* matrix, int size, const int* pivots, double* right, long long lanes) {
    const long long stride = padded(size);
    for (int k = 0; k < size; ++k)
        if (pivots[k] != k) exchange(right + k * lanes, right + pivots[k] * lanes, lanes);
    for (int i = 0; i < size; ++i)
        for (int j = 0; j < i; ++j)
            if (const double l = matrix[i * stride + j]; l != 0) add_lanes(right + i * lanes, -l, right + j * lanes, lanes);
    for (int i = size - 1; i >= 0; --i) {
        double* row = right + i * lanes;
        for (int j = i + 1; j < size; ++j)
            if (const double l = matrix[i * stride + j]; l != 0) add_lanes(row, -l, right + j * lanes, lanes);
        const double inverse = 1.0 / matrix[i * stride + i];
        DAEDALUS_SIMD
        for (long long lane = 0; lane < lanes; ++lane) row[lane] *= inverse;
    }
}

// Solves the transposed system with one right-hand side.
inline void solve_block_transposed(const double* matrix, int size, const int* pivots, double* right) {
    const long long stride = padded(size);
    for (int j = 0; j < size; ++j) {
        right[j] /= matrix[j * stride + j];
        for (int i = j + 1; i < size; ++i) right[i] -= matrix[j * stride + i] * right[j];
    }
    for (int j = size - 1; j >= 0; --j)
        for (int i = 0; i < j; ++i) right[i] -= matrix[j * stride + i] * right[j];
    for (int k = size - 1; k >= 0; --k)
        if (pivots[k] != k) {
            const double kept = right[k];
            right[k] = right[pivots[k]], right[pivots[k]] = kept;
        }
}

inline int factor_blocks(const FlowPlan& plan, FlowMemory& memory) {
    for (int number = 0; number < plan.block_count; ++number) {
        const Block& block = plan.blocks[number];
        double* matrix = memory.factors + block.offset;
        assemble_block(plan, memory, block, matrix);
        if (factor_block(matrix, block.stacked, memory.pivots + block.pivot_offset)) return flow_failed;
    }
    return 0;
}

// Solves for the unknowns of all stages. `rows` holds (stages, plan.rows, lanes): the right-hand sides stand in the
// places of the unknowns and become the solution, the places of x become h Σ a_ij k_j.
inline void solve_stages(const FlowPlan& plan, FlowMemory& memory, double* rows, long long lanes) {
    const int s = plan.stages, n = plan.n;
    const long long stage = plan.rows * lanes;
    // Right-hand sides are in the order of equations, solutions in that of unknowns: equations are moved first.
    for (int number = 0; number < plan.block_count; ++number) {
        const Block& block = plan.blocks[number];
        double* right = memory.right + block.pivot_offset * lanes;
        for (int r = 0; r < block.size; ++r)
            for (int i = 0; i < s; ++i)
                copy(right + (r * s + i) * lanes, rows + i * stage + (n + block.equations[r]) * lanes, lanes);
    }
    for (int number = 0; number < plan.block_count; ++number) {
        const Block& block = plan.blocks[number];
        double* right = memory.right + block.pivot_offset * lanes;
        for (int i = 0; i < s; ++i) {
            const double* jacobian = memory.jacobian + i * plan.jacobian_size;
            for (int e = 0; e < block.other_direct.count; ++e) {
                const Entry entry = block.other_direct.data[e];
                add_lanes(right + (entry.row * s + i) * lanes, -jacobian[entry.place],
                    rows + i * stage + (n + entry.column) * lanes, lanes);
            }
            for (int e = 0; e < block.other_state.count; ++e) {
                const Entry entry = block.other_state.data[e];
                add_lanes(right + (entry.row * s + i) * lanes, -jacobian[entry.place],
                    rows + i * stage + entry.column * lanes, lanes);
            }
        }
        solve_block(memory.factors + block.offset, block.stacked, memory.pivots + block.pivot_offset, right, lanes);
        for (int r = 0; r < block.size; ++r) {
            const int unknown = block.unknowns[r];
            for (int i = 0; i < s; ++i)
                copy(rows + i * stage + (n + unknown) * lanes, right + (r * s + i) * lanes, lanes);
            if (unknown >= n) continue;
            for (int i = 0; i < s; ++i) {
                double* sum = rows + i * stage + unknown * lanes;
                set_zero(sum, lanes);
                for (int j = 0; j < s; ++j)
                    if (const double a = plan.A[i * s + j]; a != 0)
                        add_lanes(sum, plan.h * a, right + (r * s + j) * lanes, lanes);
            }
        }
    }
}

// The multipliers ν of the stage equations: the transposed system with the right-hand side -h b_j λ for k_j.
inline void solve_multipliers(const FlowPlan& plan, FlowMemory& memory) {
    const int s = plan.stages, n = plan.n, m = plan.unknowns;
    set_zero(memory.direct, static_cast<long long>(s) * m);
    set_zero(memory.through_x, static_cast<long long>(s) * n);
    for (int number = plan.block_count - 1; number >= 0; --number) {
        const Block& block = plan.blocks[number];
        double* right = memory.right;
        for (int r = 0; r < block.size; ++r) {
            const int unknown = block.unknowns[r];
            for (int j = 0; j < s; ++j) {
                double sum = -memory.direct[j * m + unknown];
                if (unknown < n) {
                    sum -= plan.h * plan.b[j] * memory.lambda[unknown];
                    for (int i = 0; i < s; ++i)
                        sum -= plan.h * plan.A[i * s + j] * memory.through_x[i * n + unknown];
                }
                right[r * s + j] = sum;
            }
        }
        solve_block_transposed(memory.factors + block.offset, block.stacked, memory.pivots + block.pivot_offset, right);
        for (int r = 0; r < block.size; ++r)
            for (int i = 0; i < s; ++i) memory.multipliers[i * m + block.equations[r]] = right[r * s + i];
        for (int i = 0; i < s; ++i) {
            const double* jacobian = memory.jacobian + i * plan.jacobian_size;
            for (int e = 0; e < block.other_direct.count; ++e) {
                const Entry entry = block.other_direct.data[e];
                memory.direct[i * m + entry.column] += jacobian[entry.place] * right[entry.row * s + i];
            }
            for (int e = 0; e < block.other_state.count; ++e) {
                const Entry entry = block.other_state.data[e];
                memory.through_x[i * n + entry.column] += jacobian[entry.place] * right[entry.row * s + i];
            }
        }
    }
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
