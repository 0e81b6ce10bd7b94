// The tableau of any Runge-Kutta method for 0 = F(t, x', x, z), and in which order its stages are solved.
//
//   F(t + c_i h, K_i, x + h sum_j a_ij K_j, Z_i) = 0,   x_new = x + h sum_j b_j K_j
//
// Stages that need each other form a group, which is solved at once: all of them for Gauss methods, each one by
// itself for diagonally implicit ones, and for Lobatto IIIA the first one by itself and then the others.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "linear/inverse.hpp"
#include "methods/implicit/stage_coefficients.hpp"

namespace daedalus {

struct StageGroup {
    int first = 0, count = 0;
    bool known = false;  // x at this stage needs no stage of the group: a row of zeros from the diagonal on
};

struct ImplicitTableau {
    int stages = 0, order = 1, control_order = 1;
    std::vector<double> a, b, c;
    std::vector<double> error;  // b - b_hat; empty without an estimate
    // Dense output in powers theta^1, theta^2, ... of a step: x from the stage derivatives, rows of `stages` weights;
    // z from the stage values and the value at the end, rows of `stages + 1` weights of differences to the beginning.
    int x_degree = 0, z_degree = 0;
    std::vector<double> x_weights, z_weights;

    // What follows.
    std::vector<StageGroup> groups;
    bool ends_in_last_stage = false;     // stiffly accurate: z and x' at the end are those of the last stage
    bool begins_with_known_slope = false;  // the first stage is the beginning of the step
    std::vector<double> to_end;          // b A^-1, carries z from the stages to the end; empty if A is singular
    std::vector<double> last_slope;      // weights of the stages in x' at the end of the polynomial of x
    double gamma = 0;                    // the estimate is filtered by (F_x' + h gamma F_x | F_z)^-1
    bool last_matrix_filters = false;    // that matrix is the one of the last stage
    bool one_matrix_a_step = false;      // a pair whose stages follow one another with one diagonal entry, to the end

    int degree() const { return std::max({1, x_degree, z_degree}); }
    double entry(int i, int j) const { return a[static_cast<std::size_t>(i * stages + j)]; }
};

// Consecutive stages with nothing above them to the right; minimal.
inline void find_groups(ImplicitTableau& tableau) {
    tableau.groups.clear();
    int first = 0, reach = 0;
    for (int i = 0; i < tableau.stages; ++i) {
        for (int j = i; j < tableau.stages; ++j)
            if (tableau.entry(i, j) != 0) reach = std::max(reach, j);
        if (reach > i) continue;
        const bool known = first == i && tableau.entry(i, i) == 0;
        tableau.groups.push_back({first, i - first + 1, known});
        first = reach = i + 1;
    }
}

// Row vector b A^-1; empty where A is singular.
inline std::vector<double> weights_to_end(const ImplicitTableau& tableau) {
    const std::vector<long double> inverted = inverse({tableau.a.begin(), tableau.a.end()}, tableau.stages, 1e-14L);
    const std::size_t stages = inverted.empty() ? 0 : tableau.b.size();
    std::vector<long double> weights(stages, 0.0L);
    for (std::size_t i = 0; i < stages; ++i)
        for (std::size_t j = 0; j < stages; ++j) weights[j] += tableau.b[i] * inverted[i * stages + j];
    return {weights.begin(), weights.end()};
}

// Fills in what follows from the numbers.
inline void complete(ImplicitTableau& tableau) {
    const int s = tableau.stages, last = s - 1;
    find_groups(tableau);
    // Coefficients are right to twelve digits, as for questions to a Tableau.
    double size = 0, miss = std::fabs(tableau.c[static_cast<std::size_t>(last)] - 1);
    for (int j = 0; j < s; ++j) {
        size = std::max(size, std::fabs(tableau.b[static_cast<std::size_t>(j)]));
        miss = std::max(miss, std::fabs(tableau.entry(last, j) - tableau.b[static_cast<std::size_t>(j)]));
    }
    tableau.ends_in_last_stage = miss <= 1e-12 * std::max(size, 1.0) && !tableau.groups.back().known;
    tableau.begins_with_known_slope = tableau.groups.front().known && tableau.c[0] == 0;
    tableau.to_end = weights_to_end(tableau);
    tableau.last_slope.assign(static_cast<std::size_t>(s), 0.0);
    for (std::size_t k = 0; k < tableau.x_weights.size(); ++k)
        tableau.last_slope[k % tableau.b.size()] +=
            static_cast<double>(k / tableau.b.size() + 1) * tableau.x_weights[k];
    tableau.last_matrix_filters = tableau.groups.back().count == 1 && !tableau.groups.back().known;
    double trace = 0;
    for (int i = 0; i < s; ++i) trace += tableau.entry(i, i);
    tableau.one_matrix_a_step = !tableau.error.empty() && tableau.ends_in_last_stage && s <= most_stages &&
                                tableau.x_degree <= s && tableau.z_degree <= s;
    for (int i = 0; i < s && tableau.one_matrix_a_step; ++i)
        for (int j = i; j < s; ++j)
            tableau.one_matrix_a_step &= tableau.entry(i, j) == (i == j ? tableau.entry(last, last) : 0);
    tableau.gamma = tableau.last_matrix_filters ? tableau.entry(last, last) : std::fabs(trace) / s;
}

}  // namespace daedalus
