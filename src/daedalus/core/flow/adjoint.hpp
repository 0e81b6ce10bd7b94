// The discrete adjoint of explicit Runge-Kutta steps: gradients of a scalar pulled back over steps of known size.
//
//   X_i = x + h sum_j a_ij k_j,   k_i = f(t + c_i h, X_i),   x_new = x + h sum_i b_i k_i
//   kappa_i = h (b_i lambda + sum_j a_ji l_j),   l_i = f_x(X_i)^T kappa_i   for i = s .. 1
//   lambda <- lambda + sum_i l_i,   u_bar += f_u^T kappa_i,   p_bar += f_p^T kappa_i
//
// It is the exact transpose of the derivative of the discrete map (E. Hairer, C. Lubich, G. Wanner, Geometric Numerical
// Integration, section VI.4; A. Walther, Automatic differentiation of explicit Runge-Kutta methods for optimal control,
// Computational Optimization and Applications 36 (2007) 83-108). A projection behind each step is pulled back first.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "model/caller.hpp"
#include "model/inputs.hpp"

namespace daedalus {

// What is asked for; spans are borrowed. A pullback maps (t, x, u, p, weights of the results) to those of x, u and p.
struct AdjointRequest {
    const Function* rhs = nullptr;
    const Function* pullback = nullptr;
    const Function* projection_pullback = nullptr;  // null: the steps are not projected
    std::span<const double> a, b, c;                // (s, s) in rows, (s), (s)
    std::span<const double> times, states;          // (steps + 1), (steps + 1, n)
    std::span<const double> u, p;
    std::span<const Table* const> tables;
    std::span<const long long> blocks;  // in which row of u_bar each step counts
    void* keeper = nullptr;
};

// All memory of a pull back, allocated once; run() does not allocate.
class Adjoint {
public:
    explicit Adjoint(const AdjointRequest& request)
        : request_(request),
          rhs_(*request.rhs, request.keeper),
          pullback_(*request.pullback, request.keeper),
          n_(request.rhs->size_out[0]),
          stages_(static_cast<long long>(request.b.size())),
          points_(size(stages_ * n_)),
          slopes_(size(stages_ * n_)),
          pulled_(size(stages_ * n_)),
          weight_(size(n_)),
          end_(size(n_)),
          u_(request.u.begin(), request.u.end()),
          u_part_(request.u.size()),
          p_part_(request.p.size()) {
        for (const Table* table : request.tables) tables_.push_back(activate(*table));
        inputs_.u = u_.data(), inputs_.tables = tables_.data();
        inputs_.count = static_cast<long long>(tables_.size());
        if (request.projection_pullback) move_ = std::make_unique<Caller>(*request.projection_pullback, request.keeper);
    }

    // Pulls lambda (n) back over all steps, adding to u_bar (blocks, nu) and p_bar (np); false where a call failed.
    bool run(double* lambda, double* u_bar, double* p_bar) noexcept {
        const long long steps = static_cast<long long>(request_.times.size()) - 1;
        const long long nu = static_cast<long long>(u_.size());
        for (long long step = steps - 1; step >= 0; --step)
            if (!pull_step(step, lambda, u_bar + request_.blocks[static_cast<std::size_t>(step)] * nu, p_bar))
                return false;
        return true;
    }

private:
    static std::size_t size(long long count) { return static_cast<std::size_t>(count); }

    bool pull_step(long long step, double* lambda, double* u_bar, double* p_bar) noexcept {
        const double begin = request_.times[size(step)], h = request_.times[size(step + 1)] - begin;
        enter_segments(inputs_, begin + 0.5 * h);
        const double* x = request_.states.data() + step * n_;
        if (!retake(begin, h, x)) return false;
        if (move_) {
            combine(request_.b.data(), stages_, h, x, end_.data());
            std::copy_n(lambda, n_, weight_.data());
            if (!pull(move_->call(), begin + h, end_.data(), lambda, u_bar, p_bar)) return false;
        }
        for (long long i = stages_ - 1; i >= 0; --i) {
            // Column i of the tableau, below row i.
            for (long long m = 0; m < n_; ++m) weight_[size(m)] = h * request_.b[size(i)] * lambda[m];
            for (long long j = i + 1; j < stages_; ++j) {
                const double a = h * request_.a[size(j * stages_ + i)];
                if (a == 0) continue;
                for (long long m = 0; m < n_; ++m) weight_[size(m)] += a * pulled_[size(j * n_ + m)];
            }
            const double t = begin + request_.c[size(i)] * h;
            if (!pull(pullback_.call(), t, points_.data() + i * n_, pulled_.data() + i * n_, u_bar, p_bar)) return false;
        }
        for (long long i = 0; i < stages_; ++i)
            for (long long m = 0; m < n_; ++m) lambda[m] += pulled_[size(i * n_ + m)];
        return true;
    }

    // The stages of the step once more.
    bool retake(double begin, double h, const double* x) noexcept {
        Call& call = rhs_.call();
        for (long long i = 0; i < stages_; ++i) {
            double* point = points_.data() + i * n_;
            combine(request_.a.data() + i * stages_, i, h, x, point);
            time_ = begin + request_.c[size(i)] * h;
            if (inputs_.any_slope) write_slopes(inputs_, time_);
            call.arg[0] = &time_, call.arg[1] = point, call.arg[2] = u_.data(), call.arg[3] = request_.p.data();
            call.res[0] = slopes_.data() + i * n_;
            if (evaluate(call)) return false;
        }
        return true;
    }

    // out = x + h sum_j weights_j slopes_j
    void combine(const double* weights, long long count, double h, const double* x, double* out) const noexcept {
        std::copy_n(x, n_, out);
        for (long long j = 0; j < count; ++j) {
            const double weight = h * weights[j];
            if (weight == 0) continue;
            for (long long m = 0; m < n_; ++m) out[m] += weight * slopes_[size(j * n_ + m)];
        }
    }

    // One pullback of weight_ at (t, point): the part of x into `out`, those of u and p added.
    bool pull(Call& call, double t, const double* point, double* out, double* u_bar, double* p_bar) noexcept {
        time_ = t;
        if (inputs_.any_slope) write_slopes(inputs_, t);
        call.arg[0] = &time_, call.arg[1] = point, call.arg[2] = u_.data(), call.arg[3] = request_.p.data();
        call.arg[4] = weight_.data();
        call.res[0] = out, call.res[1] = u_part_.data(), call.res[2] = p_part_.data();
        if (evaluate(call)) return false;
        for (std::size_t m = 0; m < u_part_.size(); ++m) u_bar[m] += u_part_[m];
        for (std::size_t m = 0; m < p_part_.size(); ++m) p_bar[m] += p_part_[m];
        return true;
    }

    AdjointRequest request_;
    Caller rhs_, pullback_;
    std::unique_ptr<Caller> move_;
    long long n_, stages_;
    std::vector<double> points_, slopes_, pulled_, weight_, end_, u_, u_part_, p_part_;
    std::vector<ActiveTable> tables_;
    Inputs inputs_;
    double time_ = 0;
};

}  // namespace daedalus
