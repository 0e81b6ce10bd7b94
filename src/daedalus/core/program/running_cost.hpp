// Gauss and Newton's Hessian of a cost along an interval that a flow steps over: with C the curvature of the running cost
// at a point and S the derivative of that point by v = (x, u) of the interval,
//     H = ∫ Sᵀ C S   over the interval, by Simpson's rule.
// Half way x lies in the middle of both ends, and S on the cubic through both with the slopes S' = F (S; I u) that the
// rates have there, F their derivative by v.
#pragma once

#include <algorithm>
#include <vector>

#include "model/function.hpp"

namespace daedalus::programs {

struct RunningCost {
    const Function* curvature = nullptr;  // (x, u, p, τ) -> nonzeros of C, and F; null: the block has no such cost
    std::vector<int> rows, columns;       // of the nonzeros, among v; both halves
    std::size_t states = 0, inputs = 0;
    std::vector<int> slopes;              // for each entry of the flow's Jacobian its place in S (states, v), or -1

    std::size_t size() const { return states + inputs; }
    std::size_t entries() const { return size() * (size() + 1) / 2; }
};

class IntervalCurvature {
public:
    explicit IntervalCurvature(const RunningCost& cost)
        : cost_(cost), slope_(cost.states * cost.size()), end_(slope_.size()), bend_(slope_.size()),
          rates_(slope_.size()), weighted_(cost.size() * cost.size()), point_(cost.states),
          curvature_(cost.rows.size()) {}

    // The lower half of H, row by row, from (x, u, p), the end of the interval and the nonzeros of the flow's Jacobian.
    bool hessian(Call& call, const double* v, const double* end, const double* jacobian, double* out) {
        const std::size_t n = cost_.states, size = cost_.size();
        std::fill(out, out + cost_.entries(), 0.0), std::fill(end_.begin(), end_.end(), 0.0);
        for (std::size_t e = 0; e < cost_.slopes.size(); ++e)
            if (cost_.slopes[e] >= 0) end_[std::size_t(cost_.slopes[e])] = jacobian[e];
        std::fill(slope_.begin(), slope_.end(), 0.0);
        for (std::size_t i = 0; i < n; ++i) slope_[i * size + i] = 1.0;
        if (!add(call, v, end, 0.0, 1.0 / 6.0, out)) return false;
        bend_ = turning();
        std::copy(end_.begin(), end_.end(), slope_.begin());
        if (!add(call, v, end, 1.0, 1.0 / 6.0, out)) return false;
        const std::vector<double>& last = turning();
        for (std::size_t k = 0; k < slope_.size(); ++k) slope_[k] = 0.5 * end_[k] + 0.125 * (bend_[k] - last[k]);
        for (std::size_t i = 0; i < n; ++i) slope_[i * size + i] += 0.5;
        return add(call, v, end, 0.5, 4.0 / 6.0, out);
    }

private:
    bool add(Call& call, const double* v, const double* end, double tau, double weight, double* out) {
        const std::size_t n = cost_.states, size = cost_.size();
        for (std::size_t i = 0; i < n; ++i) point_[i] = (1.0 - tau) * v[i] + tau * end[i];
        call.arg[0] = point_.data(), call.arg[1] = v + n, call.arg[2] = v + size, call.arg[3] = &tau;
        call.res[0] = curvature_.data(), call.res[1] = rates_.data();
        if (evaluate(call) != 0) return false;
        weigh(weight);
        multiply(out);
        return true;
    }

    // S' where F was evaluated last; F stands column by column.
    const std::vector<double>& turning() {
        const std::size_t n = cost_.states, size = cost_.size();
        turning_.assign(slope_.size(), 0.0);
        for (std::size_t j = 0; j < size; ++j)
            for (std::size_t i = 0; i < n; ++i) {
                const double rate = rates_[j * n + i];
                if (rate == 0.0) continue;
                if (j >= n) {
                    turning_[i * size + j] += rate;
                    continue;
                }
                for (std::size_t k = 0; k < size; ++k) turning_[i * size + k] += rate * slope_[j * size + k];
            }
        return turning_;
    }

    // weighted = weight C S; inputs stay what they are.
    void weigh(double weight) {
        const std::size_t n = cost_.states, size = cost_.size();
        std::fill(weighted_.begin(), weighted_.end(), 0.0);
        for (std::size_t e = 0; e < curvature_.size(); ++e) {
            const auto row = std::size_t(cost_.rows[e]), column = std::size_t(cost_.columns[e]);
            const double entry = weight * curvature_[e];
            double* to = weighted_.data() + row * size;
            if (column >= n) {
                to[column] += entry;
                continue;
            }
            const double* from = slope_.data() + column * size;
            for (std::size_t k = 0; k < size; ++k) to[k] += entry * from[k];
        }
    }

    // out += Sᵀ weighted, the lower half.
    void multiply(double* out) {
        const std::size_t n = cost_.states, size = cost_.size();
        for (std::size_t i = 0; i < size; ++i) {
            const double* weighted = weighted_.data() + i * size;
            if (i >= n) {
                for (std::size_t b = 0; b <= i; ++b) out[i * (i + 1) / 2 + b] += weighted[b];
                continue;
            }
            for (std::size_t a = 0; a < size; ++a) {
                const double slope = slope_[i * size + a];
                if (slope == 0.0) continue;
                double* to = out + a * (a + 1) / 2;
                for (std::size_t b = 0; b <= a; ++b) to[b] += slope * weighted[b];
            }
        }
    }

    const RunningCost& cost_;
    std::vector<double> slope_, end_, bend_, rates_, turning_, weighted_, point_, curvature_;
};

}  // namespace daedalus::programs
