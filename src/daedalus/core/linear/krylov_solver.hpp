// A x = b by iteration: GMRES with an approximate inverse whose memory follows the entries of the matrix, not their fill.
//
// GMRES restarted (Y. Saad, M. H. Schultz, SIAM J. Sci. Stat. Comput. 7, 1986), preconditioned by ILU(0), entry by entry or
// by blocks, by a band, by algebraic multigrid or by what was given from outside. Rows are scaled by their largest entries.
// False where it goes nowhere: a pivot is missing or vanishes, or iterations stop to gain.
//
// Preconditioned from the right, iterations measure residuals. A residual says little about the smooth part of the error,
// which the matrix of a fine grid makes small: it has to fall far. Corrections of Newton's method are preconditioned from
// the left, with unknowns in units of their tolerances: what is measured then is about the error of the correction, and
// two digits are enough (A. C. Hindmarsh et al., ACM TOMS 31, 2005, section 2.1). A fixed part of Newton's tolerance, as
// there, saves no work: differences of high order see what is left, and steps are a quarter shorter.
#pragma once

#include <cmath>

#include "linear/compact_pattern.hpp"
#include "linear/preconditioners/band_factors.hpp"
#include "linear/preconditioners/block_factors.hpp"
#include "linear/preconditioners/equal_rows.hpp"
#include "linear/preconditioners/multigrid.hpp"
#include "linear/preconditioners/preconditioner.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class KrylovSolver {
public:
    [[nodiscard]] bool make(const CompactPattern& matrix, const PreconditionerWish& wanted) noexcept {
        wish = wanted;
        n_ = matrix.n;
        const long long entries = matrix.nonzeros;
        if (!begin_.make(n_ + 1) || !column_.make(entries) || !source_.make(entries) || !scale_.make(n_) ||
            !scaled_values_.make(entries) || !part_.make(is_complex<Number> ? n_ : 0) ||
            !unit_.make(n_) ||
            !basis_.make(static_cast<long long>(n_) * (restart + 1)) || !x_.make(n_) || !work_.make(n_) ||
            !upper_.make((restart + 1) * restart) || !left_.make(restart + 1) || !sine_.make(restart) ||
            !cosine_.make(restart))
            return false;
        for (std::int32_t p = 0; p < entries; ++p) ++begin_[matrix.rows[p] + 1];
        for (std::int32_t i = 0; i < n_; ++i) begin_[i + 1] += begin_[i];
        Block<std::int32_t> next;
        if (!next.make(n_)) return false;
        for (std::int32_t i = 0; i < n_; ++i) next[i] = begin_[i];
        for (std::int32_t c = 0; c < n_; ++c)
            for (std::int32_t p = matrix.begin[c]; p < matrix.begin[c + 1]; ++p) {
                const std::int32_t i = matrix.rows[p], at = next[i]++;
                column_[at] = c, source_[at] = p;
            }
        if (!rows_.make(n_, begin_.data(), column_.data())) return false;
        const std::vector<std::int32_t> alone;
        const bool fits = wish.cells && wish.cells->size() == static_cast<std::size_t>(n_);
        const std::vector<std::int32_t>& cells = fits ? *wish.cells : alone;
        // Entry by entry, unless some pivots come from other rows.
        const bool ordered = wish.kind == Preconditioning::incomplete_factors &&
                             CellOrder::lacks_diagonal(n_, begin_.data(), column_.data());
        by_blocks_ = ordered || wish.kind == Preconditioning::block_factors;
        if (by_blocks_)
            return blocks_.make(n_, begin_.data(), column_.data(), ordered ? alone : cells,
                                ordered ? Completed::diagonal : Completed::blocks);
        if (wish.kind == Preconditioning::multigrid) return multigrid_.make(cells);
        if (wish.kind == Preconditioning::band) return band_.make(n_, begin_.data(), column_.data(), cells);
        return wish.kind != Preconditioning::incomplete_factors || factors_.make(n_, begin_.data(), column_.data());
    }

    // What preconditions a matrix of these values; false: there is nothing.
    bool factor(const Number* values) noexcept {
        for (std::int32_t i = 0; i < n_; ++i) {
            double largest = 0;
            for (std::int32_t p = begin_[i]; p < begin_[i + 1]; ++p)
                largest = larger(magnitude(values[source_[p]]), largest);
            if (!(largest > 0) || !std::isfinite(largest)) return false;
            scale_[i] = 1 / largest;
            for (std::int32_t p = begin_[i]; p < begin_[i + 1]; ++p)
                scaled_values_[p] = scaled(values[source_[p]], scale_[i]);
        }
        if (rows_.serves()) rows_.fill(scaled_values_.data());
        // What was given from outside may be no approximation at all, and always has to lead to small residuals.
        from_left_ = weights_ && wish.correction > 0 && wish.kind != Preconditioning::given;
        for (std::int32_t i = 0; from_left_ && i < n_; ++i) from_left_ = weights_[i] > 0 && std::isfinite(weights_[i]);
        if (wish.kind == Preconditioning::given) return true;
        if (wish.kind == Preconditioning::multigrid)
            return multigrid_.factor(n_, begin_.data(), column_.data(), scaled_values_.data(), scale_.data(),
                                     rows_.serves() ? &rows_ : nullptr);
        if (by_blocks_) return blocks_.factor(scaled_values_.data());
        if (wish.kind == Preconditioning::band) return band_.factor(scaled_values_.data());
        return factors_.factor(scaled_values_.data());
    }

    // Entries of what preconditions.
    long long nonzeros() const noexcept {
        if (by_blocks_) return blocks_.nonzeros();
        if (wish.kind == Preconditioning::band) return band_.nonzeros();
        return wish.kind == Preconditioning::multigrid ? multigrid_.nonzeros() : begin_[n_];
    }

    // In place, for the values that were factored.
    bool solve(Number* b) noexcept {
        Number *v = basis_.data(), *x = x_.data();
        bool empty = true;
        for (std::int32_t i = 0; i < n_; ++i) {
            x[i] = Number(0), v[i] = scaled(b[i], scale_[i]);
            empty = empty && v[i] == Number(0);
        }
        if (empty) return true;
        for (std::int32_t i = 0; from_left_ && i < n_; ++i) unit_[i] = 1 / weights_[i];
        if (from_left_) measure_as_correction(v);
        double before = norm(v);
        // What preconditions has lost the whole vector.
        if (!(before > 0)) return false;
        const double wanted = (from_left_ ? wish.correction : wish.accuracy) * before;
        for (int round = 0; round < wish.most_restarts; ++round) {
            if (round > 0) {
                multiply(x, v);
                for (std::int32_t i = 0; i < n_; ++i) v[i] = difference(scaled(b[i], scale_[i]), v[i]);
                if (from_left_) measure_as_correction(v);
            }
            const double size = norm(v);
            if (!std::isfinite(size) || (round > 0 && size > least_gain * before)) return false;
            before = size;
            if (size > wanted) cycle(size, wanted);
            if (!fits_) return false;
            if (size <= wanted || reached_) {
                for (std::int32_t i = 0; i < n_; ++i) b[i] = x[i];
                return true;
            }
        }
        return false;
    }

    long long iterations = 0;
    PreconditionerWish wish;

    // From now on products come from outside, and the matrix that is factored only preconditions. False: no memory.
    [[nodiscard]] bool multiply_by(const GivenProduct& product) noexcept {
        const bool first = !given_.apply;
        given_ = product;
        if (!first) return true;
        const long long parts = is_complex<Number> ? 3LL * n_ : 0;
        return rate_.make(product.states) && halves_.make(parts);
    }

    // From the next factorisation on solutions are corrections whose unknowns count by these weights; nullptr: residuals
    // are measured.
    void weigh_by(const double* weights) noexcept { weights_ = weights; }

private:
    static constexpr int restart = 40;
    static constexpr double least_gain = 0.5;

    // out = R A x
    void multiply(const Number* x, Number* out) noexcept {
        if (given_.apply) return multiply_outside(x, out);
        if (rows_.serves()) return rows_.multiply(x, [&](std::int32_t i, Number sum) { out[i] = sum; });
        for (std::int32_t i = 0; i < n_; ++i) {
            Number sum(0);
            for (std::int32_t p = begin_[i]; p < begin_[i + 1]; ++p) sum += product(scaled_values_[p], x[column_[p]]);
            out[i] = sum;
        }
    }

    // The same by a function of the model, which knows real vectors alone.
    void multiply_outside(const Number* x, Number* out) noexcept {
        double* rate = rate_.data();
        if constexpr (is_complex<Number>) {
            double *real = halves_.data(), *imaginary = real + n_, *found = imaginary + n_;
            for (std::int32_t i = 0; i < n_; ++i) real[i] = x[i].real(), imaginary[i] = x[i].imag();
            for (long long i = 0; i < given_.states; ++i) rate[i] = product(given_.a, x[i]).real();
            given_.apply(given_.context, rate, real, found);
            for (std::int32_t i = 0; i < n_; ++i) out[i] = Number(found[i], 0);
            for (long long i = 0; i < given_.states; ++i) rate[i] = product(given_.a, x[i]).imag();
            given_.apply(given_.context, rate, imaginary, found);
            for (std::int32_t i = 0; i < n_; ++i) out[i] = scaled(Number(out[i].real(), found[i]), scale_[i]);
        } else {
            const double a = given_.a.real();
            for (long long i = 0; i < given_.states; ++i) rate[i] = a * x[i];
            given_.apply(given_.context, rate, x, out);
            for (std::int32_t i = 0; i < n_; ++i) out[i] *= scale_[i];
        }
    }

    // (R A)^-1, about, in place.
    void precondition(Number* y) noexcept {
        if (wish.kind == Preconditioning::multigrid) return multigrid_.solve(y);
        if (by_blocks_) return blocks_.solve(y);
        if (wish.kind == Preconditioning::incomplete_factors) return factors_.solve(y);
        if (wish.kind == Preconditioning::band) return band_.solve(y);
        for (std::int32_t i = 0; i < n_; ++i) y[i] = scaled(y[i], 1 / scale_[i]);
        if constexpr (is_complex<Number>) {
            for (std::int32_t i = 0; i < n_; ++i) part_[i] = y[i].real();
            fits_ = wish.given.apply(wish.given.context, part_.data()) && fits_;
            for (std::int32_t i = 0; i < n_; ++i) y[i].real(part_[i]), part_[i] = y[i].imag();
            fits_ = wish.given.apply(wish.given.context, part_.data()) && fits_;
            for (std::int32_t i = 0; i < n_; ++i) y[i].imag(part_[i]);
        } else {
            fits_ = wish.given.apply(wish.given.context, y) && fits_;
        }
    }

    // A residual as the correction that it asks for, in units of the tolerances.
    void measure_as_correction(Number* v) noexcept {
        precondition(v);
        for (std::int32_t i = 0; i < n_; ++i) v[i] = scaled(v[i], weights_[i]);
    }

    // next = R A P own, or W P R A W^-1 own.
    void apply(const Number* own, Number* next) noexcept {
        Number* work = work_.data();
        if (from_left_) {
            for (std::int32_t i = 0; i < n_; ++i) work[i] = scaled(own[i], unit_[i]);
            multiply(work, next);
            measure_as_correction(next);
        } else {
            for (std::int32_t i = 0; i < n_; ++i) work[i] = own[i];
            precondition(work);
            multiply(work, next);
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
    // next -= part * other; gives the inner product of `then` and what is left.
    Number take_out(Number part, const Number* other, Number* next, const Number* then) const noexcept {
        if constexpr (is_complex<Number>) {
            Number sum(0);
            for (std::int32_t i = 0; i < n_; ++i) {
                next[i] = difference(next[i], product(part, other[i]));
                sum += product(conjugate(then[i]), next[i]);
            }
            return sum;
        } else {
            double sum = 0;
            DAEDALUS_SIMD_SUM(sum)
            for (std::int32_t i = 0; i < n_; ++i) {
                next[i] -= part * other[i];
                sum += then[i] * next[i];
            }
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
    void cycle(double size, double wanted) noexcept {
        Number* basis = basis_.data();
        for (std::int32_t i = 0; i < n_; ++i) basis[i] = scaled(basis[i], 1 / size);
        left_[0] = Number(size), reached_ = false;
        int k = 0;
        for (; k < restart && !reached_; ++k) {
            ++iterations;
            const Number* own = basis + static_cast<long long>(k) * n_;
            Number* next = basis + static_cast<long long>(k + 1) * n_;
            apply(own, next);
            // Each part is taken out while the next one is measured; what is left is measured at last.
            Number part = inner(basis, next);
            for (int j = 0; j <= k; ++j) {
                const Number* other = basis + static_cast<long long>(j) * n_;
                entry(j, k) = part;
                part = take_out(part, other, next, j < k ? other + n_ : next);
            }
            const double rest = std::sqrt(std::abs(part));
            if (!std::isfinite(rest)) return;
            if (rest > 0)
                for (std::int32_t i = 0; i < n_; ++i) next[i] = scaled(next[i], 1 / rest);
            for (int j = 0; j < k; ++j) turn(j, entry(j, k), entry(j + 1, k));
            choose_turn(k, entry(k, k), rest);
            // Nothing comes of this direction: what preconditions has lost it.
            if (!(std::abs(entry(k, k)) > 0)) return add(k);
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

    // x += P (V y), or W^-1 (V y), with the y that the first k vectors give.
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
        if (from_left_)
            for (std::int32_t i = 0; i < n_; ++i) work[i] = scaled(work[i], unit_[i]);
        else
            precondition(work);
        for (std::int32_t i = 0; i < n_; ++i) x_[i] += work[i];
    }

    std::int32_t n_ = 0;
    bool reached_ = false, from_left_ = false, by_blocks_ = false;
    const double* weights_ = nullptr;
    bool fits_ = true;  // what was given could be applied
    // Rows of the matrix, scaled, and where they come from.
    Block<std::int32_t> begin_, column_, source_;
    Block<Number> scaled_values_, basis_, x_, work_;
    Block<double> scale_, unit_, part_, rate_, halves_;
    EqualRows<Number> rows_;
    GivenProduct given_;
    IncompleteFactors<Number> factors_;
    BlockFactors<Number> blocks_;
    BandFactors<Number> band_;
    Multigrid<Number> multigrid_;
    // Of one cycle: columns of the Hessenberg matrix, what is left over, and rotations.
    Block<Number> upper_, left_, sine_;
    Block<double> cosine_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
