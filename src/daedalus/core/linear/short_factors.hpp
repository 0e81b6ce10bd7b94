// L and U pivot by pivot, every place known beforehand: for factors with short rows, as of chains, ladders and meshes.
//
// A pivot lies beside its column of L and its row of U, and each product l_i u_j has the place it is subtracted from in
// a list. Nothing is searched or moved, and in a run of pivots of one shape all loops have the same length.
#pragma once

#include <utility>

#include "linear/column_band.hpp"
#include "linear/pivot_runs.hpp"
#include "linear/pivot_watch.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class ShortFactors {
public:
    // A place is 4 bytes for each multiplication; factors with longer rows are better off without.
    static constexpr long long operations_a_place = 8;

    // The places of one order of pivots; false: no memory.
    [[nodiscard]] bool write(const CompactPattern& matrix, const Elimination& e) noexcept {
        matrix_ = &matrix, n_ = matrix.n, nonzeros_ = matrix.nonzeros;
        const long long lower = e.lower_begin[n_], upper = e.upper_begin[n_];
        places_ = n_ + lower + upper;
        if (!runs_.find(n_, e) || !pivot_row_.reserve(n_) || !pivot_column_.reserve(n_) || !y_.reserve(n_) ||
            !begin_.reserve(n_ + 1) || !middle_.reserve(n_) || !row_place_.reserve(n_) || !column_place_.reserve(n_) ||
            !factors_.reserve(places_) || !neighbours_.reserve(places_) || !source_place_.reserve(nonzeros_) ||
            !scale_.reserve(nonzeros_) || !row_scale_.reserve(n_) || !column_scale_.reserve(n_))
            return false;
        write_neighbours(e);
        if (!write_targets()) return false;
        for (std::int32_t c = 0; c < n_; ++c)
            for (std::int32_t p = matrix.begin[c]; p < matrix.begin[c + 1]; ++p)
                source_place_[p] = place_of(row_place_[matrix.rows[p]], column_place_[c]);
        return true;
    }

    // What rows and columns of the matrix are multiplied by from now on.
    void take_scales(const double* rows, const double* columns) noexcept {
        for (std::int32_t k = 0; k < n_; ++k)
            row_scale_[k] = rows[pivot_row_[k]], column_scale_[k] = columns[pivot_column_[k]];
        for (std::int32_t c = 0; c < n_; ++c)
            for (std::int32_t p = matrix_->begin[c]; p < matrix_->begin[c + 1]; ++p)
                scale_[p] = rows[matrix_->rows[p]] * columns[c];
    }

    // Factors a matrix of these values, in the order of the pattern.
    Quality factor(const Number* values, PivotWatch& seen) noexcept {
        Number* factors = factors_.data();
        const std::int32_t* place = source_place_.data();
        const double* scale = scale_.data();
        std::fill_n(factors, places_, Number(0));
        for (long long p = 0; p < nonzeros_; ++p) factors[place[p]] = scaled(values[p], scale[p]);
        PivotWatch watch;
        Position at{factors, targets_.data()};
        for (const PivotRun& run : runs_) {
            const bool done = with_length(run.upper, [&](auto upper) { return eliminate(run, upper, at, watch); });
            if (!done) return Quality::singular;
        }
        seen = watch;
        return watch.quality();
    }

    // A x = b in place.
    void solve(Number* b) noexcept {
        const std::int32_t *pivot_row = pivot_row_.data(), *pivot_column = pivot_column_.data();
        const double *row_scale = row_scale_.data(), *column_scale = column_scale_.data();
        Number* y = y_.data();
        for (std::int32_t k = 0; k < n_; ++k) y[k] = scaled(b[pivot_row[k]], row_scale[k]);
        long long at = 0;
        Number* own = y;
        for (const PivotRun& run : runs_) {
            with_length(run.lower, [&](auto lower) { forward(run, lower, at, own); });
            own += run.count, at += run.count * (1LL + run.lower + run.upper);
        }
        for (const PivotRun* run = runs_.end(); run != runs_.begin();) {
            --run;
            with_length(run->upper, [&](auto upper) { backward(*run, upper, at, own); });
        }
        for (std::int32_t k = 0; k < n_; ++k) b[pivot_column[k]] = scaled(y[k], column_scale[k]);
    }

    // A X = B in place, for some columns at once; `y` has room for n rows of them.
    template <int width>
    void solve_band(const ColumnBand& band, double* y) noexcept {
        using Row = BandRow<Number, width>;
        const std::int32_t *begin = begin_.data(), *middle = middle_.data(), *place = neighbours_.data();
        const Number* factors = factors_.data();
        Row sum;
        for (std::int32_t k = 0; k < n_; ++k) {
            sum.take(band, pivot_row_[k]);
            sum.scale(row_scale_[k]);
            sum.store(y + k * Row::size);
        }
        for (std::int32_t k = 0; k < n_; ++k) {
            if (begin[k] + 1 == middle[k]) continue;
            sum.load(y + k * Row::size);
            for (std::int32_t p = begin[k] + 1; p < middle[k]; ++p)
                sum.subtract_from(factors[p], y + place[p] * Row::size);
        }
        for (std::int32_t k = n_ - 1; k >= 0; --k) {
            sum.load(y + k * Row::size);
            for (std::int32_t q = begin[k + 1] - 1; q >= middle[k]; --q)
                sum.subtract(factors[q], y + place[q] * Row::size);
            sum.multiply(factors[begin[k]]);
            sum.store(y + k * Row::size);
            sum.scale(column_scale_[k]);
            sum.give(band, pivot_column_[k]);
        }
    }

private:
    struct Position {
        Number* pivot;
        const std::int32_t* target;
    };
    // A length known when this is compiled, or any (-1).
    template <int known>
    struct Length {
        static constexpr int of(std::int32_t any) { return known < 0 ? any : known; }
    };

    template <class Work>
    DAEDALUS_INLINE static auto with_length(std::int32_t length, Work&& work) noexcept {
        switch (length) {
            case 0: return work(Length<0>());
            case 1: return work(Length<1>());
            case 2: return work(Length<2>());
            case 3: return work(Length<3>());
            case 4: return work(Length<4>());
            case 5: return work(Length<5>());
            case 6: return work(Length<6>());
            default: return work(Length<-1>());
        }
    }

    // Divides the columns of a run by their pivots and subtracts their products; false: a pivot is zero but for rounding.
    template <class Upper>
    bool eliminate(const PivotRun& run, Upper, Position& at, PivotWatch& watch) noexcept {
        const std::int32_t lower = run.lower, upper = Upper::of(run.upper);
        Number *factors = factors_.data(), *pivot = at.pivot;
        const std::int32_t* target = at.target;
        for (std::int32_t k = 0; k < run.count; ++k) {
            Number *column = pivot + 1, *row = column + lower;
            const double size = magnitude(*pivot);
            double largest = 0;
            for (std::int32_t q = 0; q < upper; ++q) largest = larger(magnitude(row[q]), largest);
            if (!(size > suspicious_pivot) && !(size > noise_of(pivot - factors))) return false;
            watch.see(size, largest, lower > 0);
            const Number inverse = reciprocal(*pivot);
            *pivot = inverse;
            for (std::int32_t p = 0; p < lower; ++p, target += upper) {
                const Number multiplier = product(column[p], inverse);
                column[p] = multiplier;
                for (std::int32_t q = 0; q < upper; ++q) {
                    Number& entry = factors[target[q]];
                    entry = difference(entry, product(multiplier, row[q]));
                }
            }
            pivot = row + upper;
        }
        at = {pivot, target};
        return true;
    }

    template <class Lower>
    void forward(const PivotRun& run, Lower, long long at, const Number* own) noexcept {
        const std::int32_t lower = Lower::of(run.lower);
        if (lower == 0) return;
        Number* y = y_.data();
        const Number* column = factors_.data() + at + 1;
        const std::int32_t* place = neighbours_.data() + at + 1;
        const long long stride = 1 + lower + run.upper;
        for (std::int32_t k = 0; k < run.count; ++k, column += stride, place += stride) {
            const Number value = own[k];
            for (std::int32_t p = 0; p < lower; ++p) y[place[p]] = difference(y[place[p]], product(column[p], value));
        }
    }

    // Goes back over a run: `at` and `own` are left at its beginning.
    template <class Upper>
    void backward(const PivotRun& run, Upper, long long& at, Number*& own) noexcept {
        const std::int32_t upper = Upper::of(run.upper);
        const Number* y = y_.data();
        const long long stride = 1 + run.lower + upper;
        for (std::int32_t k = 0; k < run.count; ++k) {
            at -= stride, --own;
            const Number* row = factors_.data() + at + 1 + run.lower;
            const std::int32_t* place = neighbours_.data() + at + 1 + run.lower;
            Number sum = *own;
            // The one that was found last comes last: nothing waits for it longer than it must.
            for (std::int32_t q = upper - 1; q >= 0; --q) sum = difference(sum, product(row[q], y[place[q]]));
            *own = product(sum, factors_[at]);
        }
    }

    // For each pivot itself, the pivots of its lower rows and those of its upper columns, each list sorted.
    void write_neighbours(const Elimination& e) noexcept {
        const std::int32_t* steps = runs_.steps();
        for (std::int32_t k = 0; k < n_; ++k) {
            pivot_row_[k] = e.pivot_row[steps[k]], pivot_column_[k] = e.pivot_column[steps[k]];
            row_place_[pivot_row_[k]] = column_place_[pivot_column_[k]] = k;
        }
        std::int32_t at = 0;
        for (std::int32_t k = 0; k < n_; ++k) {
            const std::int32_t step = steps[k];
            begin_[k] = at;
            neighbours_[at++] = k;
            std::int32_t* list = neighbours_.data() + at;
            for (long long p = e.lower_begin[step]; p < e.lower_begin[step + 1]; ++p)
                neighbours_[at++] = row_place_[e.lower_rows[p]];
            std::sort(list, neighbours_.data() + at);
            middle_[k] = at;
            list = neighbours_.data() + at;
            for (long long q = e.upper_begin[step]; q < e.upper_begin[step + 1]; ++q)
                neighbours_[at++] = column_place_[e.upper_columns[q]];
            std::sort(list, neighbours_.data() + at);
        }
        begin_[n_] = at;
    }

    bool write_targets() noexcept {
        long long count = 0;
        for (const PivotRun& run : runs_) count += static_cast<long long>(run.count) * run.lower * run.upper;
        if (!targets_.reserve(count)) return false;
        std::int32_t* target = targets_.data();
        std::int32_t k = 0;
        for (const PivotRun& run : runs_)
            for (std::int32_t i = 0; i < run.count; ++i, ++k) {
                const std::int32_t *column = neighbours_.data() + begin_[k] + 1, *row = column + run.lower;
                for (std::int32_t p = 0; p < run.lower; ++p)
                    for (std::int32_t q = 0; q < run.upper; ++q) *target++ = place_of(column[p], row[q]);
            }
        return true;
    }

    // Where the entry in the row of one pivot and the column of another lies.
    std::int32_t place_of(std::int32_t row, std::int32_t column) const noexcept {
        if (row == column) return begin_[row];
        const bool above = row < column;
        const std::int32_t* all = neighbours_.data();
        const std::int32_t *first = all + (above ? middle_[row] : begin_[column] + 1),
                           *last = all + (above ? begin_[row + 1] : middle_[column]);
        return static_cast<std::int32_t>(std::lower_bound(first, last, above ? column : row) - all);
    }

    // What rounding can leave of a pivot that is zero: some eps sum |l| |u| of the products subtracted from it.
    DAEDALUS_COLD double noise_of(long long place) const noexcept {
        double sum = 0;
        const Number* column = factors_.data() + 1;
        const std::int32_t* target = targets_.data();
        for (const PivotRun& run : runs_)
            for (std::int32_t k = 0; k < run.count; ++k, column += 1 + run.lower + run.upper) {
                if (column > factors_.data() + place) return noise_of_products(sum);
                for (std::int32_t p = 0; p < run.lower; ++p)
                    for (std::int32_t q = 0; q < run.upper; ++q, ++target)
                        if (*target == place) sum += magnitude(column[p]) * magnitude(column[run.lower + q]);
            }
        return noise_of_products(sum);
    }

    const CompactPattern* matrix_ = nullptr;
    std::int32_t n_ = 0;
    long long nonzeros_ = 0, places_ = 0;
    PivotRuns runs_;
    Block<std::int32_t> pivot_row_, pivot_column_, row_place_, column_place_;
    // Of each pivot: where it lies, and where its row of U begins; what lies there; where its products go.
    Block<std::int32_t> begin_, middle_, neighbours_, targets_;
    Block<std::int32_t> source_place_;  // of each nonzero of the matrix
    Block<double> scale_, row_scale_, column_scale_;
    Block<Number> factors_, y_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
