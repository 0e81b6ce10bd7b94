// A program solved again near where it was solved: Newton's method on the conditions of optimality.
//
// Which bounds hold is settled anew before every step from the last multipliers λ and distances from the bounds,
//     upper bound holds  <=>  λ + (x - upper) > 0,      lower bound holds  <=>  λ + (x - lower) < 0,
// so that the iteration is Newton's for a piecewise smooth system and converges as fast (M. Hintermüller, K. Ito,
// K. Kunisch: The primal-dual active set strategy as a semismooth Newton method, SIAM J. Optim. 13, 2002).
// It ends at the tolerance of any other search, or gives up.
#pragma once

#include <limits>

#include "program/chain.hpp"
#include "program/ipopt.hpp"

namespace daedalus::programs {

class ActiveNewton {
public:
    ActiveNewton(const Program& program, std::vector<int> position) : program_(program), chain_(program, std::move(position)) {
        held_.resize(program.variables), row_held_.resize(program.rows), known_.resize(program.variables);
        row_holds_.resize(program.rows), known_step_.resize(program.variables), step_.resize(program.variables);
        pressing_.resize(program.variables), off_.resize(program.rows), hessian_.resize(program.hessian_entries);
    }

    // Status 0: solved; 1: given up, with the point where it was.
    ProgramOutcome solve(Evaluation& evaluation, const ProgramBounds& bounds, ProgramPoint& point, double tolerance,
                         int most_iterations) {
        ProgramOutcome outcome;
        outcome.status = 1;
        for (std::size_t v = 0; v < program_.variables; ++v)
            pressing_[v] = point.upper_multipliers[v] - point.lower_multipliers[v];
        double before = std::numeric_limits<double>::infinity();
        for (int rising = 0;; ++outcome.iterations) {
            const double* rows = evaluation.values(point.x.data());
            const double* first = rows ? evaluation.first(point.x.data()) : nullptr;
            if (!first) return outcome;
            if (outcome.iterations > 0) press(first, point.multipliers);
            const double error = optimality(bounds, point, rows, first);
            if (!std::isfinite(error)) return outcome;
            if (outcome.iterations > 0 && error <= tolerance) break;
            rising = error > before ? rising + 1 : 0, before = error;
            if (rising == most_rising || outcome.iterations == most_iterations) return outcome;
            hold(bounds, point, rows);
            if (!evaluation.second(point.x.data(), 1.0, point.multipliers.data(), hessian_.data())) return outcome;
            const NewtonPoint at{off_.data(), first, hessian_.data(), row_holds_.data(), known_.data(), known_step_.data()};
            if (!chain_.step(at, step_.data(), point.multipliers.data())) return outcome;
            for (std::size_t v = 0; v < program_.variables; ++v) point.x[v] += step_[v];
        }
        outcome.status = 0;
        give(evaluation, point);
        return outcome;
    }

    // Multipliers beyond this size count relative to it (A. Wächter, L. T. Biegler, Math. Programming 106, 2006, eq. 5).
    static constexpr double large = 100.0;

private:
    // Errors may rise while bounds come and go, but not so often in a row.
    static constexpr int most_rising = 3;

    // Which bounds hold (-1 the lower, 1 the upper, 0 none), and by how much each is missed.
    void hold(const ProgramBounds& bounds, ProgramPoint& point, const double* rows) {
        const auto side = [](double by, double value, double lower, double upper) {
            return by + (value - upper) > 0.0 ? 1 : by + (value - lower) < 0.0 ? -1 : 0;
        };
        for (std::size_t v = 0; v < program_.variables; ++v) {
            const double lower = bounds.lower[v], upper = bounds.upper[v], x = point.x[v];
            held_[v] = lower == upper ? 1 : side(pressing_[v], x, lower, upper);
            known_[v] = held_[v] != 0, known_step_[v] = held_[v] == 0 ? 0.0 : (held_[v] > 0 ? upper : lower) - x;
        }
        for (std::size_t r = 0; r < program_.rows; ++r) {
            const double lower = bounds.row_lower[r], upper = bounds.row_upper[r];
            row_held_[r] = lower == upper ? 1 : side(point.multipliers[r], rows[r], lower, upper);
            row_holds_[r] = row_held_[r] != 0;
            off_[r] = row_held_[r] == 0 ? 0.0 : rows[r] - (row_held_[r] > 0 ? upper : lower);
            if (!row_holds_[r]) point.multipliers[r] = 0.0;
        }
    }

    // The multipliers of the bounds that hold follow from stationarity; the others are zero.
    void press(const double* first, const std::vector<double>& multipliers) {
        pull(first, multipliers);
        for (std::size_t v = 0; v < program_.variables; ++v) pressing_[v] = held_[v] ? -pull_[v] : 0.0;
    }

    void pull(const double* first, const std::vector<double>& multipliers) {
        pull_.assign(first + program_.jacobian_entries, first + program_.jacobian_entries + program_.variables);
        for (std::size_t e = 0; e < program_.jacobian_entries; ++e)
            pull_[std::size_t(program_.jacobian_columns[e])] +=
                multipliers[std::size_t(program_.jacobian_rows[e])] * first[e];
    }

    // The largest of what is left of stationarity, conditions and complementarity.
    double optimality(const ProgramBounds& bounds, const ProgramPoint& point, const double* rows, const double* first) {
        pull(first, point.multipliers);
        double missed = 0.0, pressed = 0.0, still = 0.0, total = 0.0;
        const auto look = [&](double value, double lower, double upper, double by) {
            missed = std::max({missed, lower - value, value - upper});
            // A positive multiplier belongs to the upper bound.
            const double room = by > 0.0 ? upper - value : value - lower;
            pressed = std::max(pressed, std::abs(by * (std::isfinite(room) ? room : 1.0))), total += std::abs(by);
        };
        for (std::size_t v = 0; v < program_.variables; ++v) {
            still = std::max(still, std::abs(pull_[v] + pressing_[v]));
            if (!std::isfinite(pull_[v])) return std::numeric_limits<double>::infinity();
            look(point.x[v], bounds.lower[v], bounds.upper[v], pressing_[v]);
        }
        for (std::size_t r = 0; r < program_.rows; ++r)
            look(rows[r], bounds.row_lower[r], bounds.row_upper[r], point.multipliers[r]);
        const double size = total / double(std::max<std::size_t>(1, program_.rows + program_.variables));
        return std::max({still * large / std::max(large, size), missed, pressed * large / std::max(large, size)});
    }

    void give(Evaluation& evaluation, ProgramPoint& point) const {
        const double* rows = evaluation.values(point.x.data());
        std::copy_n(rows, program_.rows, point.rows.begin());
        point.objective = rows[program_.rows];
        for (std::size_t v = 0; v < program_.variables; ++v) {
            point.upper_multipliers[v] = std::max(pressing_[v], 0.0);
            point.lower_multipliers[v] = std::max(-pressing_[v], 0.0);
        }
    }

    const Program& program_;
    Chain chain_;
    std::vector<signed char> held_, row_held_;
    std::vector<char> known_, row_holds_;
    std::vector<double> known_step_, step_, pressing_, pull_, off_, hessian_;
};

}  // namespace daedalus::programs
