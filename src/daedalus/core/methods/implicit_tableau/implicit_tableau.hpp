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

// Row vector b A^-1 by elimination with row pivoting on the transposed matrix; empty where A is singular.
inline std::vector<double> weights_to_end(const ImplicitTableau& tableau) {
    const int s = tableau.stages;
    std::vector<long double> m(static_cast<std::size_t>(s * s)), r(tableau.b.begin(), tableau.b.end());
    for (int i = 0; i < s; ++i)
        for (int j = 0; j < s; ++j) m[static_cast<std::size_t>(j * s + i)] = tableau.entry(i, j);
    const auto at = [&](int i, int j) -> long double& { return m[static_cast<std::size_t>(i * s + j)]; };
    const auto right = [&](int i) -> long double& { return r[static_cast<std::size_t>(i)]; };
    for (int p = 0; p < s; ++p) {
        int best = p;
        for (int i = p; i < s; ++i)
            if (std::fabs(at(i, p)) > std::fabs(at(best, p))) best = i;
        if (std::fabs(at(best, p)) < 1e-14L) return {};
        for (int j = 0; j < s; ++j) std::swap(at(p, j), at(best, j));
        std::swap(right(p), right(best));
        for (int i = 0; i < s; ++i) {
            if (i == p) continue;
            const long double factor = at(i, p) / at(p, p);
            for (int j = p; j < s; ++j) at(i, j) -= factor * at(p, j);
            right(i) -= factor * right(p);
        }
    }
    for (int i = 0; i < s; ++i) right(i) /= at(i, i);
    return {r.begin(), r.end()};
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
