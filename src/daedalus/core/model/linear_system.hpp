// One linear model at one point after the other: its matrix evaluated, factored, and solved for x' and z.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "linear/linear_solver.hpp"
#include "model/linear_model.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

class LinearSystem {
public:
    // The backward error of the solves stays below `accuracy`, or at rounding.
    LinearSystem(const LinearModel& model, const Call& call, double accuracy)
        : states_(model.states), unknowns_(model.unknowns), known_count_(model.size() - model.unknowns),
          nonzeros_(model.matrix.nonzeros()), call_(call), solver_(model.matrix) {
        if (!solution_.make(model.size()) || !point_.make(states_) || !right_.make(unknowns_) ||
            !known_.make(known_count_) || !solved_place_.make(unknowns_) || !known_place_.make(known_count_))
            throw std::bad_alloc();
        for (long long i = 0; i < unknowns_; ++i)
            solved_place_[i] = known_count_ > 0 ? model.solved[static_cast<std::size_t>(i)] : i;
        for (long long i = 0; i < known_count_; ++i) known_place_[i] = model.known[static_cast<std::size_t>(i)];
        solver_.acceptable = larger(accuracy, solver_.acceptable);
    }

    // Evaluates and factors A at a point; its time is where the call looks for it.
    Solved factor_at(const double* x) noexcept {
        call_.arg[1] = x;
        call_.res[0] = solver_.values();
        call_.res[1] = right_.data();
        if (known_count_ > 0) call_.res[2] = known_.data();
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
        if (outcome != Solved::done) return outcome;
        solver_.solve(right_.data());
        for (long long i = 0; i < known_count_; ++i) solution_[known_place_[i]] = known_[i];
        for (long long i = 0; i < unknowns_; ++i) solution_[solved_place_[i]] = right_[i];
        return outcome;
    }

    // A y = right with the factor at hand, in place; y among x' and z, and zero for what is known.
    void solve(double* right, double* all) noexcept {
        solver_.solve(right);
        for (long long i = 0; i < known_count_; ++i) all[known_place_[i]] = 0;
        for (long long i = 0; i < unknowns_; ++i) all[solved_place_[i]] = right[i];
    }

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
    long long size() const noexcept { return unknowns_ + known_count_; }
    const LinearSolver<double>& solver() const noexcept { return solver_; }

private:
    bool finite() noexcept {
        const double* values = solver_.values();
        for (long long k = 0; k < nonzeros_; ++k)
            if (!std::isfinite(values[k])) return false;
        return true;
    }

    long long states_, unknowns_, known_count_, nonzeros_;
    Call call_;
    double time_ = std::numeric_limits<double>::quiet_NaN();  // of the factor at hand
    LinearSolver<double> solver_;
    Block<double> solution_, point_, right_, known_;
    Block<long long> solved_place_, known_place_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
