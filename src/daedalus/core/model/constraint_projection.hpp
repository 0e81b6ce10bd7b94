// Moves a state onto its constraints: positions first, then velocities, both by solves with the matrix of the model.
//
// A row of A (x'; z) = b that is the second derivative of a constraint c reads G v' = ...; so A (d; m) = -c in these rows
// and 0 in the others gives the motion d that removes c to first order and is shortest in the norm of the mass matrix,
//   M d + G^T m = 0,  G d = -c,
// which is the impulse of the constraints. Positions move by q' = N(q) d, velocities by d itself. The factor of the last
// evaluation serves as a simplified Newton (Hairer, Lubich, Wanner, Geometric Numerical Integration, IV.4 and VII.1.4).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/damped_newton.hpp"
#include "model/linear_system.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

class ConstraintProjection {
public:
    ConstraintProjection(const ConstraintLevels& levels, const LevelCalls& calls, LinearSystem& system)
        : levels_(levels), calls_(calls), system_(system) {
        const auto most = static_cast<long long>(std::max(levels.position_rows.size(), levels.velocity_rows.size()));
        if (!left_.make(most) || !right_.make(system.unknowns()) || !motion_.make(system.size()) ||
            !change_.make(system.states()) || !trial_.make(system.states()))
            throw std::bad_alloc();
    }

    // From within the error of a step: the factor at hand is used if there is one for this time.
    Projected near(double* x) noexcept {
        if (const Projected outcome = others(x, 1); outcome != Projected::done) return outcome;
        if (!system_.factored_at_time())
            if (const Projected outcome = factor(x); outcome != Projected::done) return outcome;
        rate_ = system_.factored_at(x) ? 0 : 1;
        return both(x);
    }

    // From anywhere, as behind a reset: damped Newton for the positions, and velocities with G at the new ones.
    Projected far(double* x) noexcept {
        if (const Projected outcome = others(x, most_corrections); outcome != Projected::done) return outcome;
        if (const Projected outcome = approach(x); outcome != Projected::done) return outcome;
        if (const Projected outcome = factor(x); outcome != Projected::done) return outcome;
        rate_ = 0;
        return both(x);
    }

private:
    static constexpr double epsilon = std::numeric_limits<double>::epsilon();
    static constexpr int most_corrections = 30;
    // The matrix changes at most this much times the relative change of the state.
    static constexpr double bend = 100;
    // Corrections this small that shrink no more are rounding errors of the constraints.
    static constexpr double rounding = 1e-10;
    // Newton's method with the exact matrix converges from here in one or two corrections.
    static constexpr double close = 1e-3;

    Projected both(double* x) noexcept {
        if (!levels_.position_rows.empty())
            if (const Projected outcome = correct(x, true); outcome != Projected::done) return outcome;
        return levels_.velocity_rows.empty() ? Projected::done : correct(x, false);
    }

    Projected factor(const double* x) noexcept {
        switch (system_.factor_at(x)) {
            case Solved::done: return Projected::done;
            case Solved::singular: return Projected::singular;
            case Solved::aborted: return Projected::aborted;
            default: return Projected::failed;
        }
    }

    static Projected failure(int failed) noexcept { return failed == aborted ? Projected::aborted : Projected::failed; }

    // Invariants that are no constraint of the motion, such as the norm of a quaternion.
    Projected others(double* x, int most) noexcept {
        if (!levels_.others) return Projected::done;
        for (int k = 0; k < most; ++k) {
            Call& call = calls_.others;
            call.arg[1] = x, call.res[0] = trial_.data();
            if (const int failed = evaluate(call)) return failure(failed);
            double moved = 0;
            for (long long i = 0; i < system_.states(); ++i) {
                moved = larger(std::fabs(trial_[i] - x[i]) / size_of(i, x), moved);
                x[i] = trial_[i];
            }
            if (!(moved > epsilon)) break;
        }
        return Projected::done;
    }

    // The change of x that removes the constraints of one level to first order, and its size; no change: size 0.
    Projected change_at(const double* x, bool positions, double& size) noexcept {
        const std::vector<long long>& rows = positions ? levels_.position_rows : levels_.velocity_rows;
        Call& level = positions ? calls_.positions : calls_.velocities;
        level.arg[1] = x, level.res[0] = left_.data();
        if (const int failed = evaluate(level)) return failure(failed);
        std::fill_n(right_.data(), system_.unknowns(), 0.0);
        for (std::size_t k = 0; k < rows.size(); ++k) right_[rows[k]] = -left_[static_cast<long long>(k)];
        system_.solve(right_.data(), motion_.data());
        if (positions) {
            Call& call = calls_.motion;
            call.arg[1] = x, call.arg[4] = motion_.data(), call.res[0] = change_.data();
            if (const int failed = evaluate(call)) return failure(failed);
        } else {
            std::copy_n(motion_.data(), system_.states(), change_.data());
        }
        size = size_of_change(x);
        return std::isfinite(size) ? Projected::done : Projected::failed;
    }

    // The largest change in units of its state; not a number where any is none.
    double size_of_change(const double* x) const noexcept {
        const double *change = change_.data(), *nominal = levels_.nominal.data();
        double size = 0, finite = 0;
        for (long long i = 0; i < system_.states(); ++i) {
            const double part = std::fabs(change[i]), unit = larger(std::fabs(x[i]), nominal[i]);
            finite += 0 * part;
            if (part > size * unit) size = part / unit;
        }
        return size + finite;
    }

    double size_of(long long i, const double* x) const noexcept {
        return larger(std::fabs(x[i]), levels_.nominal[static_cast<std::size_t>(i)]);
    }

    // Simplified Newton until rounding; a matrix that does not serve is renewed once at each place it stops at.
    Projected correct(double* x, bool positions) noexcept {
        double before = 0;
        for (int k = 0; k < most_corrections; ++k) {
            double size = 0;
            if (const Projected outcome = change_at(x, positions, size); outcome != Projected::done) return outcome;
            if (k > 0 && size > 0.5 * before) {
                if (before <= rounding) return Projected::done;
                if (system_.factored_at(x)) return Projected::diverged;
                if (const Projected outcome = factor(x); outcome != Projected::done) return outcome;
                rate_ = 0, before = std::numeric_limits<double>::infinity();
                continue;
            }
            for (long long i = 0; i < system_.states(); ++i) x[i] += change_[i];
            const double rate = k > 0 && std::isfinite(before) ? size / before : std::fmin(rate_ + bend * size, 1.0);
            rate_ = std::fmin(rate_ + bend * size, 1.0);
            if (rate * size <= epsilon) return Projected::done;
            before = size;
        }
        return Projected::diverged;
    }

    // Damped Newton until close.
    Projected approach(double* x) noexcept {
        if (levels_.position_rows.empty()) return Projected::done;
        for (int k = 0; k < most_corrections; ++k) {
            if (const Projected outcome = factor(x); outcome != Projected::done) return outcome;
            double size = 0;
            if (const Projected outcome = change_at(x, true, size); outcome != Projected::done) return outcome;
            if (size <= close) return Projected::done;
            if (const Projected outcome = damped_step(x, size); outcome != Projected::done) return outcome;
        }
        return Projected::diverged;
    }

    // Far from the constraints a correction is no longer than the state itself.
    Projected damped_step(double* x, double size) noexcept {
        std::copy_n(change_.data(), system_.states(), trial_.data());
        Approach positions{*this, x};
        const Followed found = follow_correction(positions, size, std::fmin(1.0, 1.0 / size), most_halvings);
        if (positions.last == Projected::aborted) return Projected::aborted;
        return found.is_shorter ? Projected::done : Projected::diverged;
    }

    // The constraints of the positions, with the change in trial_ that is followed as far as it helps.
    struct Approach {
        ConstraintProjection& projection;
        double* x;
        double taken = 0;  // the part of the change that x has
        Projected last = Projected::done;

        void move_to(double part) noexcept {
            const Block<double>& change = projection.trial_;
            for (long long i = 0; i < projection.system_.states(); ++i) x[i] += (part - taken) * change[i];
            taken = part;
        }
        double size_behind() noexcept {
            double next = 0;
            last = projection.change_at(x, true, next);
            return last == Projected::done ? next : std::numeric_limits<double>::infinity();
        }
        bool is_small(double, double, double) const noexcept { return false; }
        bool is_stopped() const noexcept { return last == Projected::aborted; }
    };

    const ConstraintLevels& levels_;
    LevelCalls calls_;
    LinearSystem& system_;
    double rate_ = 0;  // how far the factor at hand is from the matrix at the present point
    Block<double> left_, right_, motion_, change_, trial_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
