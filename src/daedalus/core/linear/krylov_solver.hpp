// A x = b by iteration: GMRES with an incomplete factorisation that has no more entries than the matrix.
//
// GMRES restarted (Y. Saad, M. H. Schultz, SIAM J. Sci. Stat. Comput. 7, 1986), preconditioned from the right by ILU(0)
// (J. A. Meijerink, H. A. van der Vorst, Math. Comp. 31, 1977): memory follows the entries of the matrix, not their
// fill. Rows are scaled by their largest entries. False where it goes nowhere: a pivot is missing or vanishes, or
// iterations stop to gain.
#pragma once

#include <cmath>

#include "linear/compact_pattern.hpp"
#include "machine/arithmetic.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class KrylovSolver {
public:
    [[nodiscard]] bool make(const CompactPattern& matrix) noexcept {
        n_ = matrix.n;
        const long long entries = matrix.nonzeros;
        if (!begin_.make(n_ + 1) || !column_.make(entries) || !source_.make(entries) || !diagonal_.make(n_) ||
            !place_.make(n_) || !factors_.make(entries) || !inverse_.make(n_) || !scale_.make(n_) ||
            !basis_.make(static_cast<long long>(n_) * (restart + 1)) || !x_.make(n_) || !work_.make(n_) ||
            !upper_.make((restart + 1) * restart) || !left_.make(restart + 1) || !sine_.make(restart) ||
            !cosine_.make(restart))
            return false;
        for (std::int32_t p = 0; p < entries; ++p) ++begin_[matrix.rows[p] + 1];
        for (std::int32_t i = 0; i < n_; ++i) begin_[i + 1] += begin_[i], diagonal_[i] = place_[i] = -1;
        Block<std::int32_t> next;
        if (!next.make(n_)) return false;
        for (std::int32_t i = 0; i < n_; ++i) next[i] = begin_[i];
        for (std::int32_t c = 0; c < n_; ++c)
            for (std::int32_t p = matrix.begin[c]; p < matrix.begin[c + 1]; ++p) {
                const std::int32_t i = matrix.rows[p], at = next[i]++;
                column_[at] = c, source_[at] = p;
                if (i == c) diagonal_[i] = at;
            }
        return true;
    }

    // The incomplete factors of a matrix of these values; false: it has none.
    bool factor(const Number* values) noexcept {
        for (std::int32_t i = 0; i < n_; ++i) {
            double largest = 0;
            for (std::int32_t p = begin_[i]; p < begin_[i + 1]; ++p)
                largest = larger(magnitude(values[source_[p]]), largest);
            if (!(largest > 0) || !std::isfinite(largest) || diagonal_[i] < 0) return false;
            scale_[i] = 1 / largest;
            for (std::int32_t p = begin_[i]; p < begin_[i + 1]; ++p) {
                factors_[p] = scaled(values[source_[p]], scale_[i]);
                place_[column_[p]] = p;
            }
            for (std::int32_t p = begin_[i]; p < diagonal_[i]; ++p) {
                const std::int32_t k = column_[p];
                const Number multiplier = product(factors_[p], inverse_[k]);
                factors_[p] = multiplier;
                for (std::int32_t q = diagonal_[k] + 1; q < begin_[k + 1]; ++q)
                    if (const std::int32_t at = place_[column_[q]]; at >= 0)
                        factors_[at] = difference(factors_[at], product(multiplier, factors_[q]));
            }
            for (std::int32_t p = begin_[i]; p < begin_[i + 1]; ++p) place_[column_[p]] = -1;
            const Number pivot = factors_[diagonal_[i]];
            if (!(magnitude(pivot) > smallest_pivot) || !std::isfinite(magnitude(pivot))) return false;
            inverse_[i] = reciprocal(pivot);
        }
        return true;
    }

    // In place. `values` are those that were factored.
    bool solve(const Number* values, Number* b) noexcept {
        Number *v = basis_.data(), *x = x_.data();
        for (std::int32_t i = 0; i < n_; ++i) x[i] = Number(0), v[i] = scaled(b[i], scale_[i]);
        const double wanted = tolerance * norm(v);
        if (wanted == 0) return true;
        double before = wanted / tolerance;
        for (int round = 0; round < most_restarts; ++round) {
            if (round > 0) {
                multiply(values, x, v);
                for (std::int32_t i = 0; i < n_; ++i) v[i] = difference(scaled(b[i], scale_[i]), v[i]);
            }
            const double size = norm(v);
            if (!std::isfinite(size) || (round > 0 && size > least_gain * before)) return false;
            before = size;
            if (size > wanted) cycle(values, size, wanted);
            if (size <= wanted || reached_) {
                for (std::int32_t i = 0; i < n_; ++i) b[i] = x[i];
                return true;
            }
        }
        return false;
    }

    long long iterations = 0;

private:
    static constexpr int restart = 40, most_restarts = 12;
    // Of the residual; corrections of Newton's method and stages of Rosenbrock methods have as many digits then.
    static constexpr double tolerance = 1e-9, smallest_pivot = 1e-12, least_gain = 0.5;

    // out = R A x
    void multiply(const Number* values, const Number* x, Number* out) const noexcept {
        for (std::int32_t i = 0; i < n_; ++i) {
            Number sum(0);
            for (std::int32_t p = begin_[i]; p < begin_[i + 1]; ++p) sum += product(values[source_[p]], x[column_[p]]);
            out[i] = scaled(sum, scale_[i]);
        }
    }

    // With the incomplete factors, in place.
    void precondition(Number* y) const noexcept {
        for (std::int32_t i = 0; i < n_; ++i)
            for (std::int32_t p = begin_[i]; p < diagonal_[i]; ++p)
                y[i] = difference(y[i], product(factors_[p], y[column_[p]]));
        for (std::int32_t i = n_ - 1; i >= 0; --i) {
            Number sum = y[i];
            for (std::int32_t p = diagonal_[i] + 1; p < begin_[i + 1]; ++p)
                sum = difference(sum, product(factors_[p], y[column_[p]]));
            y[i] = product(sum, inverse_[i]);
        }
    }

    static Number conjugate(Number a) noexcept {
        if constexpr (is_complex<Number>)
            return std::conj(a);
        else
            return a;
    }
    Number inner(const Number* a, const Number* b) const noexcept {
        if constexpr (is_complex<Number>) {
            Number sum(0);
            for (std::int32_t i = 0; i < n_; ++i) sum += product(conjugate(a[i]), b[i]);
            return sum;
        } else {
            double sum = 0;
            DAEDALUS_SIMD_SUM(sum)
            for (std::int32_t i = 0; i < n_; ++i) sum += a[i] * b[i];
            return sum;
        }
    }
    double norm(const Number* a) const noexcept {
        if constexpr (is_complex<Number>)
            return std::sqrt(inner(a, a).real());
        else
            return std::sqrt(inner(a, a));
    }

    // One cycle from the residual in the first vector of the basis; adds to x_.
    void cycle(const Number* values, double size, double wanted) noexcept {
        Number *basis = basis_.data(), *work = work_.data();
        for (std::int32_t i = 0; i < n_; ++i) basis[i] = scaled(basis[i], 1 / size);
        left_[0] = Number(size), reached_ = false;
        int k = 0;
        for (; k < restart && !reached_; ++k) {
            ++iterations;
            const Number* own = basis + static_cast<long long>(k) * n_;
            Number* next = basis + static_cast<long long>(k + 1) * n_;
            for (std::int32_t i = 0; i < n_; ++i) work[i] = own[i];
            precondition(work);
            multiply(values, work, next);
            for (int j = 0; j <= k; ++j) {
                const Number* other = basis + static_cast<long long>(j) * n_;
                const Number part = inner(other, next);
                entry(j, k) = part;
                for (std::int32_t i = 0; i < n_; ++i) next[i] = difference(next[i], product(part, other[i]));
            }
            const double rest = norm(next);
            if (!std::isfinite(rest)) return;
            if (rest > 0)
                for (std::int32_t i = 0; i < n_; ++i) next[i] = scaled(next[i], 1 / rest);
            for (int j = 0; j < k; ++j) turn(j, entry(j, k), entry(j + 1, k));
            choose_turn(k, entry(k, k), rest);
            left_[k + 1] = Number(0);
            turn(k, left_[k], left_[k + 1]);
            reached_ = std::abs(left_[k + 1]) <= wanted || rest == 0;
        }
        add(k);
    }

    Number& entry(int row, int column) noexcept { return upper_[column * (restart + 1) + row]; }

    // Rotations that bring the Hessenberg matrix to triangular form.
    void choose_turn(int k, Number& a, double below) noexcept {
        const double size = std::abs(a), both = std::hypot(size, below);
        if (size == 0) {
            cosine_[k] = 0, sine_[k] = Number(1), a = Number(below);
            return;
        }
        const Number direction = scaled(a, 1 / size);
        cosine_[k] = size / both, sine_[k] = scaled(direction, below / both), a = scaled(direction, both);
    }
    void turn(int k, Number& a, Number& b) const noexcept {
        const Number first = a;
        a = scaled(first, cosine_[k]) + product(sine_[k], b);
        b = difference(scaled(b, cosine_[k]), product(conjugate(sine_[k]), first));
    }

    // x += P (V y) with the y that the first k vectors give.
    void add(int k) noexcept {
        for (int j = k - 1; j >= 0; --j) {
            for (int q = j + 1; q < k; ++q) left_[j] = difference(left_[j], product(entry(j, q), left_[q]));
            left_[j] = product(left_[j], reciprocal(entry(j, j)));
        }
        Number* work = work_.data();
        for (std::int32_t i = 0; i < n_; ++i) work[i] = Number(0);
        for (int j = 0; j < k; ++j) {
            const Number* own = basis_.data() + static_cast<long long>(j) * n_;
            for (std::int32_t i = 0; i < n_; ++i) work[i] += product(left_[j], own[i]);
        }
        precondition(work);
        for (std::int32_t i = 0; i < n_; ++i) x_[i] += work[i];
    }

    std::int32_t n_ = 0;
    bool reached_ = false;
    // Rows of the matrix, their diagonals, and the incomplete factors in the same places.
    Block<std::int32_t> begin_, column_, source_, diagonal_, place_;
    Block<Number> factors_, inverse_, basis_, x_, work_;
    Block<double> scale_;
    // Of one cycle: columns of the Hessenberg matrix, what is left over, and rotations.
    Block<Number> upper_, left_, sine_;
    Block<double> cosine_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
