// The linear systems of implicit stages, all stages at once, block after block of the triangular form of one stage.
//
// The unknowns of equation e in stage i are δ_ij F_w[e, v] + h a_ij F_x,i[e, v]: blocks that one stage does not couple
// are not coupled by the stages either, so each block of the stage's triangular form is a dense system of its size
// times the number of stages, solved by LU with partial pivoting (I. S. Duff, J. K. Reid, ACM TOMS 4 (1978);
// G. H. Golub, C. F. Van Loan, Matrix Computations, 3.4).
#pragma once

#include <cmath>

#include "flow/flow_products.hpp"

namespace daedalus::flows {

inline namespace DAEDALUS_ISA {

inline void assemble_block(const FlowPlan& plan, const FlowMemory& memory, const StageBlock& block, double* matrix) {
    const int s = plan.stages;
    const long long stride = padded(block.stacked);
    set_zero(matrix, block.stacked * stride);
    for (int e = 0; e < block.own_direct.count; ++e) {
        const Nonzero entry = block.own_direct.data[e];
        for (int i = 0; i < s; ++i)
            matrix[(entry.row * s + i) * stride + entry.column * s + i] +=
                memory.jacobian[i * memory.jacobian_size + entry.place];
    }
    for (int e = 0; e < block.own_state.count; ++e) {
        const Nonzero entry = block.own_state.data[e];
        for (int i = 0; i < s; ++i) {
            const double value = plan.h * memory.jacobian[i * memory.jacobian_size + entry.place];
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

// Solves with many right-hand sides, one a lane; sums of a row stay in registers.
template <long long width>
DAEDALUS_INLINE void solve_block(const double* matrix, int size, const int* pivots, double* right) {
    const long long stride = padded(size);
    Panel<width> row, other;
    for (int k = 0; k < size; ++k)
        if (pivots[k] != k) {
            row.load(right + k * width), other.load(right + pivots[k] * width);
            row.store(right + pivots[k] * width, 1.0), other.store(right + k * width, 1.0);
        }
    for (int i = 1; i < size; ++i) {
        row.load(right + i * width);
        for (int j = 0; j < i; ++j) row.add(-matrix[i * stride + j], right + j * width);
        row.store(right + i * width, 1.0);
    }
    for (int i = size - 1; i >= 0; --i) {
        row.load(right + i * width);
        for (int j = i + 1; j < size; ++j) row.add(-matrix[i * stride + j], right + j * width);
        row.store(right + i * width, 1.0 / matrix[i * stride + i]);
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
        const StageBlock& block = plan.blocks[number];
        double* matrix = memory.factors + block.offset;
        assemble_block(plan, memory, block, matrix);
        if (factor_block(matrix, block.stacked, memory.pivots + block.pivot_offset)) return flow_failed;
    }
    return 0;
}

// Solves for the unknowns of all stages in one panel of lanes. `rows` holds (stages, plan.rows, lanes): the right-hand
// sides stand in the places of the unknowns and become the solution, the places of x become h Σ a_ij k_j.
template <long long width>
DAEDALUS_INLINE void solve_panel(const FlowPlan& plan, FlowMemory& memory, double* rows, long long lanes) {
    const int s = plan.stages, n = plan.n;
    const long long stage = plan.rows * lanes;
    Panel<width> panel;
    // Right-hand sides are in the order of equations, solutions in that of unknowns: equations are moved first.
    for (int number = 0; number < plan.block_count; ++number) {
        const StageBlock& block = plan.blocks[number];
        double* right = memory.right + block.pivot_offset * width;
        for (int r = 0; r < block.size; ++r)
            for (int i = 0; i < s; ++i) {
                panel.load(rows + i * stage + (n + block.equations[r]) * lanes);
                panel.store(right + (r * s + i) * width, 1.0);
            }
    }
    for (int number = 0; number < plan.block_count; ++number) {
        const StageBlock& block = plan.blocks[number];
        double* right = memory.right + block.pivot_offset * width;
        for (int i = 0; i < s; ++i) {
            const double* jacobian = memory.jacobian + i * memory.jacobian_size;
            const auto subtract = [&](const Nonzeros& entries, const double* from) {
                for (int e = 0; e < entries.count; ++e) {
                    const Nonzero entry = entries.data[e];
                    double* to = right + (entry.row * s + i) * width;
                    panel.load(to);
                    panel.add(-jacobian[entry.place], from + entry.column * lanes);
                    panel.store(to, 1.0);
                }
            };
            subtract(block.other_direct, rows + i * stage + n * lanes);
            subtract(block.other_state, rows + i * stage);
        }
        solve_block<width>(memory.factors + block.offset, block.stacked, memory.pivots + block.pivot_offset, right);
        for (int r = 0; r < block.size; ++r) {
            const int unknown = block.unknowns[r];
            for (int i = 0; i < s; ++i) {
                panel.load(right + (r * s + i) * width);
                panel.store(rows + i * stage + (n + unknown) * lanes, 1.0);
            }
            if (unknown >= n) continue;
            for (int i = 0; i < s; ++i) {
                panel.clear();
                for (int j = 0; j < s; ++j) panel.add(plan.h * plan.A[i * s + j], right + (r * s + j) * width);
                panel.store(rows + i * stage + unknown * lanes, 1.0);
            }
        }
    }
}

inline void solve_stages(const FlowPlan& plan, FlowMemory& memory, double* rows, long long lanes) {
    in_panels(lanes, [&]<long long width>(Lanes<width>, long long begin) {
        solve_panel<width>(plan, memory, rows + begin, lanes);
    });
}

// The multipliers ν of the stage equations: the transposed system with the right-hand side -h b_j λ for k_j.
inline void solve_multipliers(const FlowPlan& plan, FlowMemory& memory) {
    const int s = plan.stages, n = plan.n, m = plan.unknowns;
    set_zero(memory.direct, static_cast<long long>(s) * m);
    set_zero(memory.through_x, static_cast<long long>(s) * n);
    for (int number = plan.block_count - 1; number >= 0; --number) {
        const StageBlock& block = plan.blocks[number];
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
            const double* jacobian = memory.jacobian + i * memory.jacobian_size;
            for (int e = 0; e < block.other_direct.count; ++e) {
                const Nonzero entry = block.other_direct.data[e];
                memory.direct[i * m + entry.column] += jacobian[entry.place] * right[entry.row * s + i];
            }
            for (int e = 0; e < block.other_state.count; ++e) {
                const Nonzero entry = block.other_state.data[e];
                memory.through_x[i * n + entry.column] += jacobian[entry.place] * right[entry.row * s + i];
            }
        }
    }
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus::flows
