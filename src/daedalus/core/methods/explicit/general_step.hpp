// One explicit Runge-Kutta step of any tableau, with dense output raised to the order of the method.
#pragma once

#include <cmath>

#include "methods/explicit/tableau.hpp"
#include "state/dense_output.hpp"
#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// sum_j weight_j k_j for one group of lanes.
inline void weighted_lanes(const WeightRow& row, const double* k, long long lanes, long long i,
                           double (&sum)[lane_count]) noexcept {
    for (double& lane : sum) lane = 0;
    for (int j = 0; j < row.count; ++j) {
        const double weight = row.weight[j];
        const double* slope = k + row.column[j] * lanes + i;
        for (long long lane = 0; lane < lane_count; ++lane) sum[lane] += weight * slope[lane];
    }
}

struct General {
    static constexpr bool is_explicit = true;
    static constexpr double memory = 0.04, shrink = 0.2, grow = 10.0;  // as for dopri5
    static int degree(const Integration& s) { return s.general->degree; }
    static int control_order(const Integration& s) { return s.general->control_order; }
    static bool error_needs_end(const Integration& s) { return s.general->error_needs_end; }
    static double* end_slope(const Integration& s) { return s.k + s.general->inner * s.lanes; }

    static void take(Integration& s) noexcept {
        const double h = s.t_new - s.t;
        const int inner = s.general->inner;
        for (int row = 1; row < inner; ++row) {
            combine_row(s, row, h, s.stage);
            slope_at(s, s.t + s.general->c[row] * h, s.stage, s.k + row * s.lanes);
        }
        combine_row(s, inner, h, s.x_new);
    }

    static double error(const Integration& s) noexcept {
        if (s.cases > 1) return largest_norm(s);
        const WeightRow& row = s.general->stage[s.general->inner + 1];
        double sum[lane_count], total = 0, finite = 0;
        for (long long i = 0; i < s.lanes; i += lane_count) {
            weighted_lanes(row, s.k, s.lanes, i, sum);
            for (long long lane = 0; lane < lane_count; ++lane) {
                const double part = sum[lane] / scale(s, i + lane);
                total += part * part;
                finite += 0 * s.x_new[i + lane];
            }
        }
        return std::fabs(s.t_new - s.t) * std::sqrt(total / static_cast<double>(s.n > 0 ? s.n : 1)) + finite;
    }

    static double error_of(const Integration& s, long long i) noexcept {
        double sum[lane_count];
        weighted_lanes(s.general->stage[s.general->inner + 1], s.k, s.lanes, i / lane_count * lane_count, sum);
        return std::fabs(sum[i % lane_count]) / scale(s, i);
    }

    static void dense(Integration& s) noexcept {
        const double h = s.t_new - s.t;
        const double *first = s.k, *last = end_slope(s);
        double* c = s.coefficients;
        // Cubic Hermite.
        for (long long i = 0; i < s.lanes; ++i) {
            const double change = s.x_new[i] - s.x[i];
            c[i] = s.x[i];
            c[s.lanes + i] = h * first[i];
            c[2 * s.lanes + i] = 3 * change - h * (2 * first[i] + last[i]);
            c[3 * s.lanes + i] = h * (first[i] + last[i]) - 2 * change;
        }
        for (int level = 0; level < s.general->level_count; ++level) raise(s, s.general->levels[level], h);
    }

private:
    // The norm of the case that has the largest.
    static double largest_norm(const Integration& s) noexcept {
        double largest = 0;
        for (long long c = 0; c < s.cases; ++c) {
            double total = 0;
            for (long long i = c; i < s.n; i += s.cases) {
                const double part = error_of(s, i);
                total += part * part + 0 * s.x_new[i];
            }
            const double norm = std::fabs(s.t_new - s.t) * std::sqrt(total / static_cast<double>(s.n / s.cases));
            if (!(norm <= largest)) largest = norm;
            if (!std::isfinite(largest)) break;
        }
        return largest;
    }

    static double scale(const Integration& s, long long i) noexcept {
        return s.atol[i] + s.rtol * std::fmax(std::fabs(s.x[i]), std::fabs(s.x_new[i]));
    }

    static void combine_row(const Integration& s, int row, double h, double* out) noexcept {
        double sum[lane_count];
        for (long long i = 0; i < s.lanes; i += lane_count) {
            weighted_lanes(s.general->stage[row], s.k, s.lanes, i, sum);
            for (long long lane = 0; lane < lane_count; ++lane) out[i + lane] = s.x[i + lane] + h * sum[lane];
        }
    }

    // Slopes on the present interpolant at the nodes, then the interpolant through all of them.
    static void raise(Integration& s, const HermiteLevel& level, double h) noexcept {
        const int nodes = level.degree - 3;
        double* slopes = end_slope(s) + s.lanes;
        for (int i = 0; i < nodes; ++i) {
            evaluate_polynomial(s.coefficients, level.degree - 1, s.lanes, level.nodes[i], s.stage);
            slope_at(s, s.t + level.nodes[i] * h, s.stage, slopes + i * s.lanes);
        }
        for (long long i = 0; i < s.lanes; ++i)
            for (int j = 1; j <= level.degree; ++j) {
                const double* weights = level.weights + (j - 1) * level.degree;
                double sum = weights[0] * (s.x_new[i] - s.x[i]) +
                             h * (weights[1] * s.k[i] + weights[2] * end_slope(s)[i]);
                for (int m = 0; m < nodes; ++m) sum += h * weights[3 + m] * slopes[m * s.lanes + i];
                s.coefficients[j * s.lanes + i] = sum;
            }
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
