// L and U row by row, each made in a full row of working memory: for factors with long rows.
//
//   row i of U = row i of A - sum_k l_ik (row k of U),  l_ik = (what is left of a_ik) / u_kk
#pragma once


#include "linear/column_band.hpp"
#include "linear/pivot_order.hpp"
#include "linear/pivot_watch.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class RowFactors {
public:
    // The places of one order of pivots; false: no memory.
    [[nodiscard]] bool write(const CompactPattern& matrix, const Elimination& e) noexcept {
        matrix_ = &matrix, e_ = &e, n_ = matrix.n;
        const long long lower = e.lower_begin[n_], upper = e.upper_begin[n_], nonzeros = matrix.nonzeros;
        if (!lower_.reserve(lower) || !lower_column_.reserve(lower) || !upper_.reserve(upper) ||
            !upper_column_.reserve(upper) || !lower_begin_.reserve(n_ + 1) || !upper_begin_.reserve(n_ + 1) ||
            !a_begin_.reserve(n_ + 1) || !a_column_.reserve(nonzeros) || !a_source_.reserve(nonzeros) ||
            !a_scale_.reserve(nonzeros) || !row_scale_.reserve(n_) || !column_scale_.reserve(n_) ||
            !row_place_.reserve(n_) || !column_place_.reserve(n_) || !work_.make(n_) || !y_.reserve(n_) ||
            !inverse_.reserve(n_))
            return false;
        for (std::int32_t k = 0; k < n_; ++k) row_place_[e.pivot_row[k]] = column_place_[e.pivot_column[k]] = k;
        for (long long q = 0; q < upper; ++q) upper_column_[q] = column_place_[e.upper_columns[q]];
        for (std::int32_t k = 0; k <= n_; ++k) upper_begin_[k] = static_cast<std::int32_t>(e.upper_begin[k]);
        write_lower_places(lower);
        write_matrix_places();
        return true;
    }

    // What rows and columns of the matrix are multiplied by from now on.
    void take_scales(const double* rows, const double* columns) noexcept {
        for (std::int32_t i = 0; i < n_; ++i) {
            row_scale_[i] = rows[e_->pivot_row[i]], column_scale_[i] = columns[e_->pivot_column[i]];
            for (std::int32_t p = a_begin_[i]; p < a_begin_[i + 1]; ++p)
                a_scale_[p] = row_scale_[i] * columns[e_->pivot_column[a_column_[p]]];
        }
    }

    // Factors a matrix of these values, in the order of the pattern.
    Quality factor(const Number* values, PivotWatch& seen) noexcept {
        const std::int32_t *a_begin = a_begin_.data(), *a_column = a_column_.data(), *a_source = a_source_.data();
        const double* a_scale = a_scale_.data();
        Number *work = work_.data(), *inverse = inverse_.data();
        PivotWatch watch;
        for (std::int32_t i = 0; i < n_; ++i) {
            for (std::int32_t p = a_begin[i]; p < a_begin[i + 1]; ++p)
                work[a_column[p]] = scaled(values[a_source[p]], a_scale[p]);
            subtract_rows(i);
            const Number pivot = work[i];
            work[i] = 0;
            const double size = magnitude(pivot), largest = take_upper_row(i);
            if (!(size > suspicious_pivot) && !(size > noise_of(i))) return Quality::singular;
            watch.see(size, largest, e_->lower_begin[i + 1] > e_->lower_begin[i]);
            inverse[i] = reciprocal(pivot);
        }
        seen = watch;
        return watch.quality();
    }

    // A x = b in place.
    void solve(Number* b) noexcept {
        const std::int32_t *pivot_row = e_->pivot_row.data(), *pivot_column = e_->pivot_column.data();
        Number* y = y_.data();
        for (std::int32_t i = 0; i < n_; ++i) {
            Number sum = scaled(b[pivot_row[i]], row_scale_[i]);
            for (std::int32_t p = lower_begin_[i]; p < lower_begin_[i + 1]; ++p)
                sum = difference(sum, product(lower_[p], y[lower_column_[p]]));
            y[i] = sum;
        }
        for (std::int32_t i = n_ - 1; i >= 0; --i) {
            Number sum = y[i];
            for (std::int32_t q = upper_begin_[i]; q < upper_begin_[i + 1]; ++q)
                sum = difference(sum, product(upper_[q], y[upper_column_[q]]));
            y[i] = product(sum, inverse_[i]);
            b[pivot_column[i]] = scaled(y[i], column_scale_[i]);
        }
    }

    // A X = B in place, for some columns at once; `y` has room for n rows of them.
    template <int width>
    void solve_band(const ColumnBand& band, double* y) noexcept {
        using Row = BandRow<Number, width>;
        const std::int32_t *pivot_row = e_->pivot_row.data(), *pivot_column = e_->pivot_column.data();
        Row sum;
        for (std::int32_t i = 0; i < n_; ++i) {
            sum.take(band, pivot_row[i]);
            sum.scale(row_scale_[i]);
            for (std::int32_t p = lower_begin_[i]; p < lower_begin_[i + 1]; ++p)
                sum.subtract(lower_[p], y + lower_column_[p] * Row::size);
            sum.store(y + i * Row::size);
        }
        for (std::int32_t i = n_ - 1; i >= 0; --i) {
            sum.load(y + i * Row::size);
            for (std::int32_t q = upper_begin_[i]; q < upper_begin_[i + 1]; ++q)
                sum.subtract(upper_[q], y + upper_column_[q] * Row::size);
            sum.multiply(inverse_[i]);
            sum.store(y + i * Row::size);
            sum.scale(column_scale_[i]);
            sum.give(band, pivot_column[i]);
        }
    }

private:
    // Rows of L by the steps that eliminate from them, in the order of the steps.
    void write_lower_places(long long lower) noexcept {
        const Elimination& e = *e_;
        for (std::int32_t i = 0; i <= n_; ++i) lower_begin_[i] = 0;
        for (long long p = 0; p < lower; ++p) ++lower_begin_[row_place_[e.lower_rows[p]]];
        for (std::int32_t i = 0; i < n_; ++i) lower_begin_[i + 1] += lower_begin_[i];
        // From the ends of the rows to their beginnings.
        for (std::int32_t k = n_ - 1; k >= 0; --k)
            for (long long p = e.lower_begin[k]; p < e.lower_begin[k + 1]; ++p)
                lower_column_[--lower_begin_[row_place_[e.lower_rows[p]]]] = k;
    }

    // Rows of the matrix: which nonzero of the pattern goes to which column.
    void write_matrix_places() noexcept {
        for (std::int32_t i = 0; i <= n_; ++i) a_begin_[i] = 0;
        for (long long p = 0; p < matrix_->nonzeros; ++p) ++a_begin_[row_place_[matrix_->rows[p]]];
        for (std::int32_t i = 0; i < n_; ++i) a_begin_[i + 1] += a_begin_[i];
        for (std::int32_t c = n_ - 1; c >= 0; --c)
            for (std::int32_t p = matrix_->begin[c]; p < matrix_->begin[c + 1]; ++p) {
                const std::int32_t at = --a_begin_[row_place_[matrix_->rows[p]]];
                a_column_[at] = column_place_[c], a_source_[at] = p;
            }
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
        return noise_of_products(sum);
    }

    const CompactPattern* matrix_ = nullptr;
    const Elimination* e_ = nullptr;
    std::int32_t n_ = 0;
    Block<std::int32_t> a_begin_, a_column_, a_source_, row_place_, column_place_;
    Block<std::int32_t> lower_begin_, lower_column_, upper_begin_, upper_column_;
    Block<double> a_scale_, row_scale_, column_scale_;
    Block<Number> work_, y_, inverse_, lower_, upper_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
