// L and U front by front: for the factors of large matrices, whose pivots come in groups that reach the same rows.
#pragma once

#include "linear/column_band.hpp"
#include "linear/front_elimination.hpp"
#include "linear/fronts.hpp"
#include "linear/pivot_watch.hpp"
#include "machine/flushed_numbers.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class FrontFactors {
public:
    // Places for an order; false: no memory.
    [[nodiscard]] bool write(const CompactPattern& matrix, const StructureOrder& structure) noexcept {
        matrix_ = &matrix, structure_ = &structure, n_ = matrix.n;
        const std::int32_t* place = structure.tree.place.data();
        if (!fronts_.make(structure)) return false;
        const std::int32_t count = fronts_.count();
        if (!at_.make(count + 1) || !stack_front_.make(count + 1) || !entry_begin_.make(count + 1) ||
            !entry_place_.make(matrix.nonzeros) || !entry_source_.make(matrix.nonzeros) ||
            !entry_scale_.make(matrix.nonzeros) || !row_scale_.make(n_) || !column_scale_.make(n_) ||
            !inverse_.make(n_) || !y_.make(n_))
            return false;
        long long numbers = 0, stack = 0, most_stack = 0, most_front = 0;
        std::int32_t most_below = 0;
        Block<long long> held;
        if (!held.make(count + 1)) return false;
        std::int32_t depth = 0;
        for (std::int32_t s = 0; s < count; ++s) {
            const long long pivots = fronts_.pivots(s), size = fronts_.size(s), below = size - pivots;
            at_[s] = numbers, numbers += pivots * size + below * pivots;
            for (std::int32_t c = 0; c < fronts_.children(s); ++c) stack -= held[--depth];
            if (below > 0) held[depth++] = below * below, stack += below * below;
            most_stack = std::max(most_stack, stack);
            most_front = std::max(most_front, size * FrontElimination<Number>::row_length(size));
            most_below = std::max(most_below, fronts_.below(s));
        }
        at_[count] = numbers;
        if (!factors_.make(numbers) || !stack_.make(most_stack) || !front_.make(most_front) || !gathered_.make(most_below))
            return false;
        for (std::int32_t c = 0; c < n_; ++c)
            for (std::int32_t p = matrix.begin[c]; p < matrix.begin[c + 1]; ++p)
                ++entry_begin_[fronts_.front_of(std::min(place[c], place[matrix.rows[p]]))];
        for (std::int32_t s = 0; s < count; ++s) entry_begin_[s + 1] += entry_begin_[s];
        for (std::int32_t c = 0; c < n_; ++c)
            for (std::int32_t p = matrix.begin[c]; p < matrix.begin[c + 1]; ++p) {
                const std::int32_t i = place[matrix.rows[p]], j = place[c], s = fronts_.front_of(std::min(i, j));
                const long long row = FrontElimination<Number>::row_length(fronts_.size(s));
                const long long to = --entry_begin_[s];
                entry_source_[to] = p, entry_place_[to] = fronts_.local(s, i) * row + fronts_.local(s, j);
            }
        return true;
    }

    // What rows and columns of the matrix are multiplied by from now on.
    void take_scales(const double* rows, const double* columns) noexcept {
        for (std::int32_t k = 0; k < n_; ++k)
            row_scale_[k] = rows[structure_->order[k]], column_scale_[k] = columns[structure_->order[k]];
        Block<double>& scale = entry_scale_;
        for (std::int32_t c = 0; c < n_; ++c)
            for (std::int32_t p = matrix_->begin[c]; p < matrix_->begin[c + 1]; ++p)
                scale[p] = rows[matrix_->rows[p]] * columns[c];
    }

    // Factors a matrix of these values, in the order of the pattern. A pivot that is zero, or nearly so, is only called
    // poor: chosen by value, there may be others.
    Quality factor(const Number* values) noexcept {
        const FlushedNumbers flushed;
        PivotWatch watch;
        long long top = 0;
        std::int32_t depth = 0;
        for (std::int32_t s = 0; s < fronts_.count(); ++s) {
            const std::int32_t pivots = fronts_.pivots(s), size = fronts_.size(s), below = size - pivots;
            const long long row = FrontElimination<Number>::row_length(size);
            Number* front = front_.data();
            std::fill_n(front, size * row, Number(0));
            for (long long p = entry_begin_[s]; p < entry_begin_[s + 1]; ++p) {
                const std::int32_t source = entry_source_[p];
                front[entry_place_[p]] = scaled(values[source], entry_scale_[source]);
            }
            for (std::int32_t c = 0; c < fronts_.children(s); ++c) {
                const std::int32_t child = stack_front_[--depth];
                const long long rows = fronts_.below(child);
                top -= rows * rows;
                add_child(front, row, child, stack_.data() + top);
            }
            Number* inverse = inverse_.data() + fronts_.first(s);
            if (!FrontElimination<Number>::run(front, row, pivots, size, suspicious_pivot, inverse))
                return Quality::poor;
            keep(s, front, row, watch);
            if (below == 0) continue;
            Number* rest = stack_.data() + top;
            for (std::int32_t i = 0; i < below; ++i)
                std::copy_n(front + (pivots + i) * row + pivots, below, rest + static_cast<long long>(i) * below);
            top += static_cast<long long>(below) * below, stack_front_[depth++] = s;
        }
        return watch.quality();
    }

    // A x = b in place.
    void solve(Number* b) noexcept {
        const FlushedNumbers flushed;
        const std::int32_t* order = structure_->order.data();
        Number *y = y_.data(), *gathered = gathered_.data();
        for (std::int32_t k = 0; k < n_; ++k) y[k] = scaled(b[order[k]], row_scale_[k]);
        for (std::int32_t s = 0; s < fronts_.count(); ++s) {
            const std::int32_t pivots = fronts_.pivots(s), size = fronts_.size(s), below = size - pivots;
            const Number *upper = factors_.data() + at_[s], *lower = upper + static_cast<long long>(pivots) * size;
            Number* own = y + fronts_.first(s);
            for (std::int32_t i = 1; i < pivots; ++i) own[i] = reduced(own[i], upper + static_cast<long long>(i) * size, own, i);
            const std::int32_t* rows = fronts_.rows(s);
            for (std::int32_t i = 0; i < below; ++i, lower += pivots) y[rows[i]] = reduced(y[rows[i]], lower, own, pivots);
        }
        for (std::int32_t s = fronts_.count() - 1; s >= 0; --s) {
            const std::int32_t pivots = fronts_.pivots(s), size = fronts_.size(s), below = size - pivots;
            const std::int32_t *rows = fronts_.rows(s), first = fronts_.first(s);
            Number* own = y + first;
            for (std::int32_t i = 0; i < below; ++i) gathered[i] = y[rows[i]];
            for (std::int32_t i = pivots - 1; i >= 0; --i) {
                const Number* upper = factors_.data() + at_[s] + static_cast<long long>(i) * size;
                const Number sum = reduced(own[i], upper + pivots, gathered, below);
                own[i] = product(reduced(sum, upper + i + 1, own + i + 1, pivots - i - 1), inverse_[first + i]);
            }
        }
        for (std::int32_t k = 0; k < n_; ++k) b[order[k]] = scaled(y[k], column_scale_[k]);
    }

    // A X = B in place, for some columns at once; `y` has room for n rows of them.
    template <int width>
    void solve_band(const ColumnBand& band, double* y) noexcept {
        using Row = BandRow<Number, width>;
        const std::int32_t* order = structure_->order.data();
        Row sum;
        for (std::int32_t k = 0; k < n_; ++k) {
            sum.take(band, order[k]);
            sum.scale(row_scale_[k]);
            sum.store(y + k * Row::size);
        }
        for (std::int32_t s = 0; s < fronts_.count(); ++s) {
            const std::int32_t pivots = fronts_.pivots(s), size = fronts_.size(s), first = fronts_.first(s);
            const Number *upper = factors_.data() + at_[s], *lower = upper + static_cast<long long>(pivots) * size;
            for (std::int32_t i = 1; i < size; ++i) {
                const bool inside = i < pivots;
                double* own = y + (inside ? first + i : fronts_.rows(s)[i - pivots]) * Row::size;
                const Number* factor = inside ? upper + static_cast<long long>(i) * size
                                              : lower + static_cast<long long>(i - pivots) * pivots;
                sum.load(own);
                for (std::int32_t j = 0; j < (inside ? i : pivots); ++j)
                    sum.subtract(factor[j], y + (first + j) * Row::size);
                sum.store(own);
            }
        }
        for (std::int32_t s = fronts_.count() - 1; s >= 0; --s) {
            const std::int32_t pivots = fronts_.pivots(s), size = fronts_.size(s), first = fronts_.first(s);
            for (std::int32_t i = pivots - 1; i >= 0; --i) {
                const Number* upper = factors_.data() + at_[s] + static_cast<long long>(i) * size;
                sum.load(y + (first + i) * Row::size);
                for (std::int32_t j = i + 1; j < size; ++j)
                    sum.subtract(upper[j], y + (j < pivots ? first + j : fronts_.rows(s)[j - pivots]) * Row::size);
                sum.multiply(inverse_[first + i]);
                sum.store(y + (first + i) * Row::size);
            }
        }
        for (std::int32_t k = 0; k < n_; ++k) {
            sum.load(y + k * Row::size);
            sum.scale(column_scale_[k]);
            sum.give(band, order[k]);
        }
    }

private:
    // What a child left over, added where its rows lie in this front.
    DAEDALUS_INLINE void add_child(Number* front, long long row, std::int32_t child, const Number* rest) noexcept {
        const std::int32_t below = fronts_.below(child), *place = fronts_.in_parent(child);
        // Most rows lie beside each other in the parent as well.
        for (std::int32_t i = 0; i < below; ++i, rest += below) {
            Number* to = front + place[i] * row;
            for (std::int32_t j = 0; j < below; ++j) to[place[j]] += rest[j];
        }
    }

    // Writes the rows of U and L down and looks at the pivots.
    DAEDALUS_INLINE void keep(std::int32_t s, const Number* front, long long row, PivotWatch& watch) noexcept {
        const std::int32_t pivots = fronts_.pivots(s), size = fronts_.size(s);
        Number* to = factors_.data() + at_[s];
        for (std::int32_t i = 0; i < pivots; ++i, to += size) {
            const Number* from = front + i * row;
            double largest = 0;
            std::copy_n(from, size, to);
            for (std::int32_t j = i + 1; j < size; ++j) largest = larger(magnitude(from[j]), largest);
            watch.see(magnitude(from[i]), largest, true);
        }
        for (std::int32_t i = pivots; i < size; ++i, to += pivots) std::copy_n(front + i * row, pivots, to);
    }

    // sum - a . x
    DAEDALUS_INLINE static Number reduced(Number sum, const Number* a, const Number* x, std::int32_t count) noexcept {
        if constexpr (is_complex<Number>) {
            for (std::int32_t k = 0; k < count; ++k) sum = difference(sum, product(a[k], x[k]));
        } else {
            DAEDALUS_SIMD_SUM(sum)
            for (std::int32_t k = 0; k < count; ++k) sum += -a[k] * x[k];
        }
        return sum;
    }

    const CompactPattern* matrix_ = nullptr;
    const StructureOrder* structure_ = nullptr;
    std::int32_t n_ = 0;
    Fronts fronts_;
    Block<long long> at_, entry_begin_, entry_place_;
    Block<std::int32_t> entry_source_, stack_front_;
    Block<double> entry_scale_, row_scale_, column_scale_;
    Block<Number> factors_, inverse_, stack_, front_, y_, gathered_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
