// Newton's method for the equations of a motion on a mesh with end rows, damped as algebra/damped_newton.py has it.
//
// A step solves J dv = -F and goes a part of dv behind which the next correction, with the same factors, is shorter (P.
// Deuflhard, Newton Methods for Nonlinear Problems, 2004: algorithm NLEQ-ERR of chapter 3). Matrices that are not safely
// regular are left to others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "collocation/interval_factors.hpp"
#include "collocation/interval_rows.hpp"

namespace daedalus {

// Rows in x at some mesh points and in the unknowns of the whole motion: values, and slopes at known places.
struct EndRows {
    std::vector<long long> nodes;  // mesh points, in the order of the arguments
    Places places;                 // of the slopes, columns in all unknowns
    long long count = 0;
};

struct SearchLimits {
    double tolerance, stalled, smallest_damping, largest_condition;
};

class IntervalSearch {
public:
    enum class SearchProgress { advanced, converged, stuck, irregular, failed };

    IntervalSearch(const IntervalForm& form, Call& call, Call& end_call, const DrivenMesh& mesh, double* p,
                   std::vector<long long> free, EndRows ends, SearchLimits limits, const double* v, const double* nominal)
        : form_(form), mesh_(mesh), end_call_(end_call), p_(p), free_(std::move(free)), ends_(std::move(ends)),
          limits_(limits), rows_(form, call, {}, free_),
          factors_(mesh.N, form.n, form.height() - form.n, static_cast<long long>(free_.size())) {
        unknowns_ = static_cast<std::size_t>(mesh.N * form.width() + form.n) + free_.size();
        equations_ = static_cast<std::size_t>(mesh.N * form.height() + ends_.count);
        nominal_.assign(nominal, nominal + unknowns_);
        values.assign(v, v + unknowns_);
        at_ends_.resize(ends_.nodes.size() * static_cast<std::size_t>(form.n));
        end_slopes_.resize(ends_.places.first.size());
        moved_.resize(static_cast<std::size_t>(mesh.N * form.s * form.rows()) * free_.size());
        state_ = made(), other_ = made();
        for (auto* each : {&size_, &step_, &successor_, &trial_}) each->resize(unknowns_);
        right_.resize(equations_);
    }

    // Whether the equations have values at the guess.
    bool begin() { return look(values, state_); }

    // One iteration.
    SearchProgress advance() {
        for (std::size_t k = 0; k < unknowns_; ++k) size_[k] = std::max(nominal_[k], std::abs(values[k]));
        if (!factors_.factor(state_.block.data(), state_.tail.data(), state_.ends.data(), size_.data()) ||
            (is_first_ && !is_regular()))
            return SearchProgress::irregular;
        correct(state_.residual, step_);
        const double length = length_of(step_);
        if (!std::isfinite(length)) return SearchProgress::irregular;
        if (length <= limits_.tolerance) {
            // The last correction is as good as the others unless rounding spoils it.
            for (std::size_t k = 0; k < unknowns_; ++k) trial_[k] = values[k] + step_[k];
            if (look(trial_, other_) && left_in(other_) < left_in(state_)) values = trial_, std::swap(state_, other_);
            return failed ? SearchProgress::failed : ended();
        }
        predict(length);
        if (!damped(length)) {
            if (failed) return SearchProgress::failed;
            return length <= limits_.stalled ? ended() : SearchProgress::stuck;
        }
        last_length_ = length, is_first_ = false;
        // A correction with the factors of before that is this short changes nothing any more.
        if (damping == 1 && length_of(successor_) <= limits_.tolerance) return ended();
        return SearchProgress::advanced;
    }

    // The residual in sizes of the equations.
    std::vector<double> scaled() const {
        std::vector<double> out(equations_);
        for (std::size_t k = 0; k < equations_; ++k) out[k] = state_.residual[k] / state_.scale[k];
        return out;
    }

    std::vector<double> values;
    double damping = 1;
    int failed = 0;  // what a function returned

private:
    struct MotionRows {
        std::vector<double> residual, block, tail, ends, sizes, scale;
    };

    MotionRows made() const {
        const auto N = static_cast<std::size_t>(mesh_.N), height = static_cast<std::size_t>(form_.height());
        MotionRows state;
        state.residual.resize(equations_), state.scale.resize(equations_), state.sizes.resize(equations_);
        state.block.resize(N * height * static_cast<std::size_t>(form_.width() + form_.n));
        state.tail.assign(N * height * free_.size(), 0.0);
        state.ends.assign(static_cast<std::size_t>(ends_.count) * unknowns_, 0.0);
        return state;
    }

    // The equations and their derivatives at v; false where they have no finite values.
    bool look(const std::vector<double>& v, MotionRows& state) {
        const std::size_t n = static_cast<std::size_t>(form_.n), k = free_.size();
        const std::size_t head = static_cast<std::size_t>(mesh_.N * form_.height());
        const double* behind = v.data() + unknowns_ - k;
        for (std::size_t j = 0; j < k; ++j) p_[free_[j]] = behind[j];
        failed = rows_.write(mesh_, v.data(), state.residual.data(), state.block.data(), nullptr, moved_.data());
        if (failed) return false;
        const std::size_t q = static_cast<std::size_t>(form_.rows()), inner = static_cast<std::size_t>(form_.s) * q;
        for (std::size_t i = 0; i < static_cast<std::size_t>(mesh_.N); ++i)
            std::copy_n(moved_.data() + i * inner * k, inner * k, state.tail.data() + i * (inner + n) * k);
        for (std::size_t j = 0; j < ends_.nodes.size(); ++j)
            std::copy_n(v.data() + ends_.nodes[j] * form_.width(), n, at_ends_.data() + j * n);
        end_call_.arg[0] = at_ends_.data(), end_call_.arg[1] = behind;
        end_call_.res[0] = state.residual.data() + head, end_call_.res[1] = end_slopes_.data();
        failed = evaluate(end_call_);
        if (failed) return false;
        const auto& [rows, columns] = ends_.places;
        for (std::size_t j = 0; j < rows.size(); ++j)
            state.ends[static_cast<std::size_t>(rows[j]) * unknowns_ + static_cast<std::size_t>(columns[j])] = end_slopes_[j];
        return measure(v, state);
    }

    // The sizes of the rows; false where anything is not finite.
    bool measure(const std::vector<double>& v, MotionRows& state) const {
        const std::size_t whole = static_cast<std::size_t>(form_.width() + form_.n), k = free_.size();
        const std::size_t head = static_cast<std::size_t>(mesh_.N * form_.height());
        double largest = 1, sum = 0;
        for (const double value : v) largest = std::max(largest, std::abs(value));
        const auto over = [&sum](const double* row, std::size_t count, double most) {
            for (std::size_t j = 0; j < count; ++j) {
                const double entry = std::abs(row[j]);
                sum += entry, most = std::max(most, entry);
            }
            return most;
        };
        for (std::size_t r = 0; r < equations_; ++r) {
            double& size = state.sizes[r];
            if (r < head)
                size = over(state.tail.data() + r * k, k, over(state.block.data() + r * whole, whole, 0.0));
            else
                size = over(state.ends.data() + (r - head) * unknowns_, unknowns_, 0.0);
            state.scale[r] = size > 0 ? size * largest : 1.0;
        }
        over(state.residual.data(), equations_, 0.0);
        return std::isfinite(sum);
    }

    bool is_regular() { return condition() < limits_.largest_condition; }
    SearchProgress ended() { return is_first_ || is_regular() ? SearchProgress::converged : SearchProgress::irregular; }

    // An estimate of the condition from below by two right-hand sides (N. J. Higham, ACM TOMS 14 (1988), has the second).
    double condition() {
        double worst = 0;
        for (int side = 0; side < 2; ++side) {
            const double last = static_cast<double>(std::max<std::size_t>(equations_, 2) - 1);
            for (std::size_t k = 0; k < equations_; ++k) {
                const double own = side == 0 ? 1.0 : (k % 2 ? -1.0 : 1.0) * (1 + static_cast<double>(k) / last);
                right_[k] = state_.sizes[k] * own;
            }
            factors_.solve(right_.data());
            for (std::size_t k = 0; k < unknowns_; ++k) {
                const double entry = std::abs(right_[k] / size_[k]);
                if (!(entry <= worst)) worst = entry;
            }
        }
        return std::isfinite(worst) ? worst : std::numeric_limits<double>::infinity();
    }

    void correct(const std::vector<double>& residual, std::vector<double>& out) {
        right_ = residual;
        factors_.solve(right_.data());
        for (std::size_t k = 0; k < unknowns_; ++k) out[k] = -right_[k];
    }

    double length_of(const std::vector<double>& step) const {
        double sum = 0;
        for (std::size_t k = 0; k < unknowns_; ++k) sum += (step[k] / size_[k]) * (step[k] / size_[k]);
        return std::sqrt(sum / static_cast<double>(unknowns_));
    }

    double left_in(const MotionRows& state) const {
        double sum = 0;
        for (std::size_t k = 0; k < equations_; ++k) sum += std::pow(state.residual[k] / state_.scale[k], 2);
        return sum;
    }

    // The damping that the last iteration suggests for this one: last curvature, this length.
    void predict(double length) {
        const double least = limits_.smallest_damping;
        if (is_first_) {
            // No unknown leaves its usual size in the first step; the test raises this where F is nearly linear.
            double largest = 0;
            for (std::size_t k = 0; k < unknowns_; ++k) largest = std::max(largest, std::abs(step_[k] / size_[k]));
            damping = std::clamp(1 / largest, least, 1.0);
            return;
        }
        for (std::size_t k = 0; k < unknowns_; ++k) trial_[k] = successor_[k] - step_[k];
        const double gap = length_of(trial_) * length;
        damping = gap == 0 ? 1.0 : std::clamp(last_length_ * length_of(successor_) / gap * damping, least, 1.0);
    }

    // The longest damped step that passes the monotonicity test; false when there is none.
    bool damped(double length) {
        bool raised = false;
        while (damping >= limits_.smallest_damping) {
            for (std::size_t k = 0; k < unknowns_; ++k) trial_[k] = values[k] + damping * step_[k];
            if (!look(trial_, other_)) {
                if (failed) return false;
                damping /= 2, raised = true;
                continue;
            }
            correct(other_.residual, successor_);
            for (std::size_t k = 0; k < unknowns_; ++k) right_[k] = successor_[k] - (1 - damping) * step_[k];
            const double curvature = length_of(right_);
            const double suggestion = curvature > 0 ? 0.5 * length * damping * damping / curvature : 1.0;
            if (!(length_of(successor_) <= (1 - damping / 4) * length)) {
                damping = std::min(suggestion, damping / 2), raised = true;
                continue;
            }
            if (!raised && damping < 1 && suggestion >= std::min(1.0, 4 * damping)) {
                damping = std::min(1.0, suggestion), raised = true;
                continue;
            }
            std::swap(values, trial_), std::swap(state_, other_);
            return true;
        }
        return false;
    }

    const IntervalForm& form_;
    DrivenMesh mesh_;
    Call& end_call_;
    double* p_;
    std::vector<long long> free_;
    EndRows ends_;
    SearchLimits limits_;
    IntervalRows rows_;
    IntervalFactors factors_;
    std::size_t unknowns_ = 0, equations_ = 0;
    std::vector<double> nominal_, at_ends_, end_slopes_, moved_, size_, step_, successor_, trial_, right_;
    MotionRows state_, other_;
    bool is_first_ = true;
    double last_length_ = 0;
};

}  // namespace daedalus
