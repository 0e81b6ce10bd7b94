// One linear model at one point after the other: its matrix evaluated, factored, and solved for x' and z.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "linear_model.hpp"
#include "linear_solver.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

class LinearSystem {
public:
    // The backward error of the solves stays below `accuracy`, or at rounding.
    LinearSystem(const LinearModel& model, const Call& call, double accuracy)
        : states_(model.states), unknowns_(model.unknowns), nonzeros_(model.matrix.nonzeros()), call_(call),
          solver_(model.matrix) {
        if (!solution_.make(unknowns_) || !point_.make(states_)) throw std::bad_alloc();
        solver_.acceptable = larger(accuracy, solver_.acceptable);
    }

    // Evaluates and factors A at a point; its time is where the call looks for it.
    Solved factor_at(const double* x) noexcept {
        call_.arg[1] = x;
        call_.res[0] = solver_.values();
        call_.res[1] = solution_.data();
        time_ = std::numeric_limits<double>::quiet_NaN();
        if (const int failed = evaluate(call_)) return failed == aborted ? Solved::aborted : Solved::failed;
        if (!solver_.factor(nullptr, nullptr)) return finite() ? Solved::singular : Solved::failed;
        time_ = *call_.arg[0];
        if (states_ > 0) std::memcpy(point_.data(), x, static_cast<std::size_t>(states_) * sizeof(double));
        return Solved::done;
    }

    // x' and z at a point, in solution().
    Solved solve_at(const double* x) noexcept {
        const Solved outcome = factor_at(x);
        if (outcome == Solved::done) solver_.solve(solution_.data());
        return outcome;
    }

    // A y = right with the factor at hand.
    void solve(double* right) noexcept { solver_.solve(right); }

    bool factored_at_time() const noexcept { return time_ == *call_.arg[0]; }
    bool factored_at(const double* x) const noexcept {
        if (!factored_at_time()) return false;
        for (long long i = 0; i < states_; ++i)
            if (point_[i] != x[i]) return false;
        return true;
    }
    const double* solution() const noexcept { return solution_.data(); }
    long long states() const noexcept { return states_; }
    long long unknowns() const noexcept { return unknowns_; }
    const LinearSolver<double>& solver() const noexcept { return solver_; }

private:
    bool finite() noexcept {
        const double* values = solver_.values();
        for (long long k = 0; k < nonzeros_; ++k)
            if (!std::isfinite(values[k])) return false;
        return true;
    }

    long long states_, unknowns_, nonzeros_;
    Call call_;
    double time_ = std::numeric_limits<double>::quiet_NaN();  // of the factor at hand
    LinearSolver<double> solver_;
    Block<double> solution_, point_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
