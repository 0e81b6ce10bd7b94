// LU factors of a sparse matrix whose pivots are chosen once and kept: every later factorisation only follows tables.
//
//   P R A C Q = L U   with R, C diagonal: the caller's scales times powers of two taken when the pivots were chosen
//
// Rows of L and U are made one after the other in a full row of working memory. A kept pivot that has become small in
// its row, or entries that have grown, are noticed; then the pivots are chosen again on the present values.
#pragma once

#include <limits>

#include "arithmetic.hpp"
#include "block.hpp"
#include "pivot_order.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class SparseLu {
public:
    // The table of the matrix must outlive this: pivots may have to be chosen at any factorisation.
    [[nodiscard]] bool make(const ColumnTable& matrix) noexcept {
        matrix_ = &matrix, n_ = matrix.n;
        const long long nonzeros = matrix.nonzeros;
        return a_begin_.make(n_ + 1) && a_column_.make(nonzeros) && a_source_.make(nonzeros) &&
               a_scale_.make(nonzeros) && scaled_.make(nonzeros) && row_place_.make(n_) && column_place_.make(n_) &&
               own_rows_.make(n_) && own_columns_.make(n_) && given_rows_.make(n_) && given_columns_.make(n_) &&
               rows_.make(n_) && columns_.make(n_) && work_.make(n_) && y_.make(n_) && inverse_.make(n_) &&
               lower_begin_.make(n_ + 1) && upper_begin_.make(n_ + 1);
    }

    // False: singular, not finite, or no memory for other pivots.
    bool factor(const Number* values, const double* row_scale, const double* column_scale) noexcept {
        fresh_ = false;
        if (ordered_) {
            if (scales_differ(row_scale, column_scale)) take_scales(row_scale, column_scale);
            if (refactor(values) == Quality::good) return true;
        }
        return factor_with_new_pivots(values, row_scale, column_scale);
    }
    bool factor_with_new_pivots(const Number* values, const double* row_scale, const double* column_scale) noexcept {
        ordered_ = false;
        if (!equilibrate(values, row_scale, column_scale)) return false;
        ++orderings;
        if (PivotOrder<Number>::choose(*matrix_, scaled_.data(), elimination_) != Choice::made) return false;
        if (!write_tables()) return false;
        take_scales(row_scale, column_scale);
        ordered_ = fresh_ = true;
        return refactor(values) != Quality::singular;
    }
    // The same, with the scales of the last factorisation.
    bool choose_again(const Number* values) noexcept {
        return factor_with_new_pivots(values, given_rows_.data(), given_columns_.data());
    }

    void solve(Number* b) noexcept {
        const std::int32_t* pivot_row = elimination_.pivot_row.data();
        const std::int32_t* pivot_column = elimination_.pivot_column.data();
        Number* y = y_.data();
        for (std::int32_t i = 0; i < n_; ++i) {
            Number sum = scaled(b[pivot_row[i]], rows_[pivot_row[i]]);
            for (std::int32_t p = lower_begin_[i]; p < lower_begin_[i + 1]; ++p)
                sum = difference(sum, product(lower_[p], y[lower_column_[p]]));
            y[i] = sum;
        }
        for (std::int32_t i = n_ - 1; i >= 0; --i) {
            Number sum = y[i];
            for (std::int32_t q = upper_begin_[i]; q < upper_begin_[i + 1]; ++q)
                sum = difference(sum, product(upper_[q], y[upper_column_[q]]));
            y[i] = product(sum, inverse_[i]);
            b[pivot_column[i]] = scaled(y[i], columns_[pivot_column[i]]);
        }
    }

    // Were the pivots chosen on the present values?
    bool fresh() const noexcept { return fresh_; }
    void forget_pivots() noexcept { ordered_ = false; }
    long long fill() const noexcept { return n_ == 0 ? 0 : n_ + lower_begin_[n_] + upper_begin_[n_]; }

    // Multiplications with subtraction of one factorisation.
    long long operations() const noexcept { return operations_; }

    long long orderings = 0;

private:
    enum class Quality { good, poor, singular };
    // A kept pivot may be this small in its row, and entries (of size one at first) may grow so far, before other
    // pivots are chosen. Half the digits are left then, from which one refinement gives the rest.
    static constexpr double least_pivot = 1e-6, most_growth = 1e6;
    // A pivot above this owes nothing to cancellation that matters.
    static constexpr double suspicious = 1e-10;

    bool equilibrate(const Number* values, const double* row_scale, const double* column_scale) noexcept {
        double* largest = rows_.data();
        for (std::int32_t i = 0; i < n_; ++i) largest[i] = 0;
        double total = 0;
        for (std::int32_t c = 0; c < n_; ++c) {
            const double given = column_scale ? column_scale[c] : 1;
            double size = 0;
            for (std::int32_t p = matrix_->begin[c]; p < matrix_->begin[c + 1]; ++p) {
                const long long i = matrix_->rows[p];
                scaled_[p] = scaled(values[p], row_scale ? given * row_scale[i] : given);
                size = larger(magnitude(scaled_[p]), size);
                total += magnitude(scaled_[p]);
            }
            own_columns_[c] = balancing_power(size);
            for (std::int32_t p = matrix_->begin[c]; p < matrix_->begin[c + 1]; ++p) {
                scaled_[p] = scaled(scaled_[p], own_columns_[c]);
                largest[matrix_->rows[p]] = larger(magnitude(scaled_[p]), largest[matrix_->rows[p]]);
            }
        }
        for (std::int32_t i = 0; i < n_; ++i) own_rows_[i] = balancing_power(largest[i]);
        for (long long p = 0; p < matrix_->nonzeros; ++p)
            scaled_[p] = scaled(scaled_[p], own_rows_[matrix_->rows[p]]);
        return std::isfinite(total);
    }

    bool scales_differ(const double* row_scale, const double* column_scale) const noexcept {
        return differs(row_scale, rows_given_, given_rows_.data()) ||
               differs(column_scale, columns_given_, given_columns_.data());
    }
    bool differs(const double* scale, bool given, const double* kept) const noexcept {
        if (!scale || !given) return scale || given;
        long long equal = 0;
        for (std::int32_t i = 0; i < n_; ++i) equal += scale[i] == kept[i];
        return equal < n_;
    }

    void take_scales(const double* row_scale, const double* column_scale) noexcept {
        rows_given_ = row_scale, columns_given_ = column_scale;
        for (std::int32_t i = 0; i < n_; ++i) {
            given_rows_[i] = row_scale ? row_scale[i] : 1;
            given_columns_[i] = column_scale ? column_scale[i] : 1;
            rows_[i] = given_rows_[i] * own_rows_[i];
            columns_[i] = given_columns_[i] * own_columns_[i];
        }
        for (std::int32_t i = 0; i < n_; ++i)
            for (std::int32_t p = a_begin_[i]; p < a_begin_[i + 1]; ++p)
                a_scale_[p] = rows_[elimination_.pivot_row[i]] * columns_[elimination_.pivot_column[a_column_[p]]];
    }

    // The tables of one factorisation, all in the order of the pivots.
    bool write_tables() noexcept {
        const Elimination& e = elimination_;
        const long long lower = e.lower_begin[n_], upper = e.upper_begin[n_];
        if (lower + upper > std::numeric_limits<std::int32_t>::max()) return false;
        if (!lower_.reserve(lower) || !lower_column_.reserve(lower) || !upper_.reserve(upper) ||
            !upper_column_.reserve(upper))
            return false;
        for (std::int32_t k = 0; k < n_; ++k) row_place_[e.pivot_row[k]] = column_place_[e.pivot_column[k]] = k;
        for (long long q = 0; q < upper; ++q) upper_column_[q] = column_place_[e.upper_columns[q]];
        for (std::int32_t k = 0; k <= n_; ++k) upper_begin_[k] = static_cast<std::int32_t>(e.upper_begin[k]);
        write_lower_table(lower);
        write_matrix_table();
        operations_ = 0;
        for (long long p = 0; p < lower; ++p)
            operations_ += 1 + upper_begin_[lower_column_[p] + 1] - upper_begin_[lower_column_[p]];
        return true;
    }

    // Rows of L by the steps that eliminate from them, in the order of the steps.
    void write_lower_table(long long lower) noexcept {
        const Elimination& e = elimination_;
        for (std::int32_t i = 0; i <= n_; ++i) lower_begin_[i] = 0;
        for (long long p = 0; p < lower; ++p) ++lower_begin_[row_place_[e.lower_rows[p]] + 1];
        for (std::int32_t i = 0; i < n_; ++i) lower_begin_[i + 1] += lower_begin_[i];
        for (std::int32_t k = 0; k < n_; ++k)
            for (long long p = e.lower_begin[k]; p < e.lower_begin[k + 1]; ++p)
                lower_column_[lower_begin_[row_place_[e.lower_rows[p]]]++] = k;
        for (std::int32_t i = n_; i > 0; --i) lower_begin_[i] = lower_begin_[i - 1];
        lower_begin_[0] = 0;
    }

    // Rows of the matrix: which nonzero of the pattern goes to which column.
    void write_matrix_table() noexcept {
        for (std::int32_t i = 0; i <= n_; ++i) a_begin_[i] = 0;
        for (long long p = 0; p < matrix_->nonzeros; ++p) ++a_begin_[row_place_[matrix_->rows[p]] + 1];
        for (std::int32_t i = 0; i < n_; ++i) a_begin_[i + 1] += a_begin_[i];
        for (std::int32_t c = 0; c < n_; ++c)
            for (std::int32_t p = matrix_->begin[c]; p < matrix_->begin[c + 1]; ++p) {
                const std::int32_t at = a_begin_[row_place_[matrix_->rows[p]]]++;
                a_column_[at] = column_place_[c], a_source_[at] = p;
            }
        for (std::int32_t i = n_; i > 0; --i) a_begin_[i] = a_begin_[i - 1];
        a_begin_[0] = 0;
    }

    Quality refactor(const Number* values) noexcept {
        const std::int32_t *a_begin = a_begin_.data(), *a_column = a_column_.data(), *a_source = a_source_.data();
        const double* a_scale = a_scale_.data();
        const long long* lower_steps = elimination_.lower_begin.data();
        Number *work = work_.data(), *inverse = inverse_.data();
        double total = 0, growth = 0;
        bool poor = false;
        for (std::int32_t i = 0; i < n_; ++i) {
            for (std::int32_t p = a_begin[i]; p < a_begin[i + 1]; ++p) {
                const Number value = scaled(values[a_source[p]], a_scale[p]);
                work[a_column[p]] = value;
                total += magnitude(value);
            }
            subtract_rows(i);
            const Number pivot = work[i];
            work[i] = 0;
            const double size = magnitude(pivot), largest = take_upper_row(i);
            if (!(size > suspicious) && !(size > noise_of(i))) return Quality::singular;
            // A pivot that eliminates nothing may be small.
            poor |= !(size >= least_pivot * largest) && lower_steps[i + 1] > lower_steps[i];
            growth = larger(larger(size, largest), growth);
            inverse[i] = reciprocal(pivot);
        }
        if (!std::isfinite(total)) return Quality::singular;
        return poor || !(growth <= most_growth) ? Quality::poor : Quality::good;
    }

    // Eliminates from the working row with all finished rows that reach it; leaves row i of L.
    DAEDALUS_INLINE void subtract_rows(std::int32_t i) noexcept {
        Number *work = work_.data(), *lower = lower_.data();
        const Number *upper = upper_.data(), *inverse = inverse_.data();
        const std::int32_t *lower_column = lower_column_.data(), *upper_begin = upper_begin_.data(),
                           *upper_column = upper_column_.data();
        for (std::int32_t p = lower_begin_[i], end = lower_begin_[i + 1]; p < end; ++p) {
            const std::int32_t k = lower_column[p];
            const Number multiplier = product(work[k], inverse[k]);
            work[k] = 0, lower[p] = multiplier;
            for (std::int32_t q = upper_begin[k], last = upper_begin[k + 1]; q < last; ++q) {
                Number& entry = work[upper_column[q]];
                entry = difference(entry, product(multiplier, upper[q]));
            }
        }
    }

    // Moves what is left of the working row to row i of U; gives its largest entry.
    DAEDALUS_INLINE double take_upper_row(std::int32_t i) noexcept {
        Number *work = work_.data(), *upper = upper_.data();
        const std::int32_t* upper_column = upper_column_.data();
        double largest = 0;
        for (std::int32_t q = upper_begin_[i], last = upper_begin_[i + 1]; q < last; ++q) {
            upper[q] = work[upper_column[q]];
            work[upper_column[q]] = 0;
            largest = larger(magnitude(upper[q]), largest);
        }
        return largest;
    }

    // What rounding can leave of a pivot that is zero: some eps sum |l| |u| of its products.
    DAEDALUS_COLD double noise_of(std::int32_t i) const noexcept {
        double sum = 0;
        for (std::int32_t p = lower_begin_[i]; p < lower_begin_[i + 1]; ++p) {
            const std::int32_t k = lower_column_[p];
            for (std::int32_t q = upper_begin_[k]; q < upper_begin_[k + 1]; ++q)
                if (upper_column_[q] == i) sum += magnitude(lower_[p]) * magnitude(upper_[q]);
        }
        return 512 * std::numeric_limits<double>::epsilon() * sum;
    }

    const ColumnTable* matrix_ = nullptr;
    std::int32_t n_ = 0;
    long long operations_ = 0;
    bool ordered_ = false, fresh_ = false, rows_given_ = false, columns_given_ = false;
    Elimination elimination_;
    Block<std::int32_t> a_begin_, a_column_, a_source_, row_place_, column_place_;
    Block<std::int32_t> lower_begin_, lower_column_, upper_begin_, upper_column_;
    Block<double> a_scale_, own_rows_, own_columns_, given_rows_, given_columns_, rows_, columns_;
    Block<Number> scaled_, work_, y_, inverse_, lower_, upper_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
