// The transition and the noise of a linear system x' = A x + w over a step, where w is white noise of spectral density Q.
//
//   Φ' = A Φ,  N' = A N + N Aᵀ + Q,  Φ(0) = I,  N(0) = 0
//
// Constant A and Q: series over a short time, then N(2h) = Φ N Φᵀ + N and Φ(2h) = Φ² (C. F. Van Loan, Computing integrals
// involving the matrix exponential, 1978, in the form that never grows, so that a stiff A over a long time does no harm).
// A and Q that change: two such steps with their means weighed to order 4 (S. Blanes, P. C. Moan, Fourth- and sixth-order
// commutator-free Magnus integrators, 2006).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "flow/covariance.hpp"

namespace daedalus::flows {

// Φ and N of a step, (n, n) each by rows.
struct NoiseStep {
    std::vector<double> transition, noise;
};

// Memory of the steps of one size, so that nothing is allocated on the way.
class NoiseSteps {
public:
    explicit NoiseSteps(int n)
        : n_(n), square_(static_cast<std::size_t>(n) * static_cast<std::size_t>(n)), term_(square_), product_(square_),
          mean_(square_), density_(square_), moved_(square_) {
        for (NoiseStep* half : {&first_, &second_}) half->transition.resize(square_), half->noise.resize(square_);
    }
    int n() const { return n_; }
    std::size_t square() const { return square_; }

    // A and Q at the beginning, in the middle and at the end of a step.
    struct Nodes {
        const double *A[3], *Q[3];
    };

    // Whether A and Q are the same at all three: then a step of any length is exact.
    bool constant(const Nodes& at) const {
        const auto same = [this](const double* one, const double* other) { return std::equal(one, one + square_, other); };
        return same(at.A[0], at.A[1]) && same(at.A[0], at.A[2]) && same(at.Q[0], at.Q[1]) && same(at.Q[0], at.Q[2]);
    }

    // Φ and N of a step; false where they are not finite.
    bool step(double length, const Nodes& at, NoiseStep& out) {
        if (constant(at)) return constant_step(length, at.A[0], at.Q[0], out);
        weigh(at, 1.0 / 4, 1.0 / 3, -1.0 / 12);
        if (!constant_step(length, mean_.data(), density_.data(), first_)) return false;
        weigh(at, -1.0 / 12, 1.0 / 3, 1.0 / 4);
        if (!constant_step(length, mean_.data(), density_.data(), second_)) return false;
        join(first_, second_, out);
        return true;
    }

    // One step after another: Φ = Φ₂ Φ₁, N = Φ₂ N₁ Φ₂ᵀ + N₂. `out` may be `first`.
    void join(const NoiseStep& first, const NoiseStep& second, NoiseStep& out) {
        carry_covariance(n_, second.transition.data(), first.noise.data(), second.noise.data(), work_, moved_.data());
        multiply(second.transition.data(), first.transition.data(), product_.data());
        out.noise.assign(moved_.begin(), moved_.end()), out.transition.assign(product_.begin(), product_.end());
    }

    // Φ P Φᵀ + N.
    void carry(const NoiseStep& step, const double* P, double* out) {
        carry_covariance(n_, step.transition.data(), P, step.noise.data(), work_, out);
    }

private:
    void multiply(const double* A, const double* B, double* out) const {
        std::fill_n(out, square_, 0.0);
        for (int r = 0; r < n_; ++r)
            for (int j = 0; j < n_; ++j) add_row(n_, out + r * n_, A[r * n_ + j], B + j * n_);
    }

    void weigh(const Nodes& at, double begin, double middle, double end) {
        for (std::size_t k = 0; k < square_; ++k) {
            mean_[k] = begin * at.A[0][k] + middle * at.A[1][k] + end * at.A[2][k];
            density_[k] = begin * at.Q[0][k] + middle * at.Q[1][k] + end * at.Q[2][k];
        }
    }

    double largest(const std::vector<double>& values) const {
        double found = 0;
        for (double value : values) found = std::max(found, std::abs(value));
        return found;
    }

    // The larger of the norms by rows and by columns.
    double norm(const double* A) const {
        double found = 0;
        for (int r = 0; r < n_; ++r) {
            double row = 0, column = 0;
            for (int c = 0; c < n_; ++c) row += std::abs(A[r * n_ + c]), column += std::abs(A[c * n_ + r]);
            found = std::max({found, row, column});
        }
        return found;
    }

    bool constant_step(double length, const double* A, const double* Q, NoiseStep& out) {
        const double size = norm(A) * std::abs(length);
        if (!std::isfinite(size)) return false;
        const int halvings = size > short_size ? static_cast<int>(std::ceil(std::log2(size / short_size))) : 0;
        const double h = std::ldexp(length, -halvings);
        out.transition.resize(square_), out.noise.resize(square_);
        series(h, A, Q, out);
        // Φ − I is kept, so that slow motions beside fast ones keep their digits.
        for (int k = 0; k < halvings; ++k) {
            add_identity(out.transition, 1.0);
            carry_covariance(n_, out.transition.data(), out.noise.data(), out.noise.data(), work_, moved_.data());
            out.noise.assign(moved_.begin(), moved_.end());
            add_identity(out.transition, -1.0);
            std::copy(out.transition.begin(), out.transition.end(), term_.begin());
            multiply(term_.data(), term_.data(), product_.data());
            for (std::size_t i = 0; i < square_; ++i) out.transition[i] = 2 * term_[i] + product_[i];
        }
        add_identity(out.transition, 1.0);
        return std::isfinite(largest(out.transition)) && std::isfinite(largest(out.noise));
    }

    void add_identity(std::vector<double>& matrix, double factor) const {
        for (int k = 0; k < n_; ++k) matrix[static_cast<std::size_t>(k * n_ + k)] += factor;
    }

    // Φ − I and N over a time in which A does little.
    void series(double h, const double* A, const double* Q, NoiseStep& out) {
        for (std::size_t k = 0; k < square_; ++k) term_[k] = out.transition[k] = h * A[k];
        for (int k = 2; k < most_terms && largest(term_) > rounding * largest(out.transition); ++k) {
            multiply(A, term_.data(), product_.data());
            for (std::size_t i = 0; i < square_; ++i) out.transition[i] += term_[i] = h / k * product_[i];
        }
        for (std::size_t k = 0; k < square_; ++k) term_[k] = out.noise[k] = h * Q[k];
        for (int k = 2; k < most_terms && largest(term_) > rounding * largest(out.noise); ++k) {
            multiply(A, term_.data(), product_.data());
            for (int r = 0; r < n_; ++r)
                for (int c = 0; c < n_; ++c)
                    term_[static_cast<std::size_t>(r * n_ + c)] =
                        h / k * (product_[static_cast<std::size_t>(r * n_ + c)] + product_[static_cast<std::size_t>(c * n_ + r)]);
            for (std::size_t i = 0; i < square_; ++i) out.noise[i] += term_[i];
        }
    }

    // Terms fall by this factor over their number, those of the noise by twice as much.
    static constexpr double short_size = 0.25, rounding = 0.25 * std::numeric_limits<double>::epsilon();
    static constexpr int most_terms = 24;

    int n_;
    std::size_t square_;
    std::vector<double> term_, product_, mean_, density_, moved_, work_;
    NoiseStep first_, second_;
};

}  // namespace daedalus::flows
