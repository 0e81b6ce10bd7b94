// L U of the band of a matrix, cell by cell, with pivots chosen in their columns; entries outside of the band are left out.
//
// Fields on a line are banded then, and the factors are exact (G. H. Golub, C. F. Van Loan, Matrix Computations, 4.3.5).
#pragma once

#include <cmath>
#include <new>
#include <utility>

#include "linear/preconditioners/cell_order.hpp"
#include "linear/preconditioners/incomplete_factors.hpp"
#include "machine/arithmetic.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class BandFactors {
public:
    [[nodiscard]] bool make(std::int32_t n, const std::int32_t* begin, const std::int32_t* column,
                            const std::vector<std::int32_t>& cells) noexcept {
        try {
            if (!order_.make(n, begin, column, cells, Completed::nothing)) return false;
            n_ = n, half_ = std::min(order_.bandwidth(), widest_band);
            // A row from the first column below its diagonal to the last one that an exchange of rows may fill.
            width_ = 3 * half_ + 1;
            rows_.resize(static_cast<std::size_t>(n) * static_cast<std::size_t>(width_));
            below_.resize(static_cast<std::size_t>(n) * static_cast<std::size_t>(std::max(half_, 1)));
            pivot_.resize(static_cast<std::size_t>(n)), moved_.resize(static_cast<std::size_t>(n));
        } catch (const std::bad_alloc&) {
            return false;
        }
        return true;
    }

    // Of values whose rows are of the size of one; false: a pivot vanishes.
    bool factor(const Number* values) noexcept {
        std::fill(rows_.begin(), rows_.end(), Number(0));
        for (std::int32_t i = 0; i < n_; ++i)
            for (std::int32_t p = order_.begin[i]; p < order_.begin[i + 1]; ++p)
                if (std::abs(order_.column[p] - i) <= half_) at(i, order_.column[p]) = values[order_.source[p]];
        for (std::int32_t k = 0; k < n_; ++k) {
            const std::int32_t last_row = std::min(k + half_, n_ - 1), last = std::min(k + 2 * half_, n_ - 1);
            std::int32_t best = k;
            for (std::int32_t i = k + 1; i <= last_row; ++i)
                if (magnitude(at(i, k)) > magnitude(at(best, k))) best = i;
            const double size = magnitude(at(best, k));
            if (!(size > least_incomplete_pivot) || !std::isfinite(size)) return false;
            pivot_[k] = best;
            for (std::int32_t c = k; best != k && c <= last; ++c) std::swap(at(k, c), at(best, c));
            const Number inverse = reciprocal(at(k, k));
            for (std::int32_t i = k + 1; i <= last_row; ++i) {
                const Number multiplier = product(at(i, k), inverse);
                below(k, i) = multiplier;
                for (std::int32_t c = k + 1; c <= last; ++c) at(i, c) = difference(at(i, c), product(multiplier, at(k, c)));
            }
        }
        return true;
    }

    // In place.
    void solve(Number* y) noexcept {
        Number* b = moved_.data();
        for (std::int32_t k = 0; k < n_; ++k) b[k] = y[order_.old[k]];
        for (std::int32_t k = 0; k < n_; ++k) {
            if (pivot_[k] != k) std::swap(b[k], b[pivot_[k]]);
            for (std::int32_t i = k + 1; i <= std::min(k + half_, n_ - 1); ++i)
                b[i] = difference(b[i], product(below(k, i), b[k]));
        }
        for (std::int32_t k = n_ - 1; k >= 0; --k) {
            Number sum = b[k];
            for (std::int32_t c = k + 1; c <= std::min(k + 2 * half_, n_ - 1); ++c) sum = difference(sum, product(at(k, c), b[c]));
            b[k] = product(sum, reciprocal(at(k, k)));
        }
        for (std::int32_t k = 0; k < n_; ++k) y[order_.old[k]] = b[k];
    }

    long long nonzeros() const noexcept { return static_cast<long long>(rows_.size()); }

private:
    static constexpr std::int32_t widest_band = 16;

    Number& at(std::int32_t row, std::int32_t column) noexcept {
        return rows_[static_cast<std::size_t>(row) * static_cast<std::size_t>(width_) +
                     static_cast<std::size_t>(column - row + half_)];
    }
    Number& below(std::int32_t column, std::int32_t row) noexcept {
        return below_[static_cast<std::size_t>(column) * static_cast<std::size_t>(half_) +
                      static_cast<std::size_t>(row - column - 1)];
    }

    std::int32_t n_ = 0, half_ = 0, width_ = 1;
    CellOrder order_;
    std::vector<Number> rows_, below_, moved_;
    std::vector<std::int32_t> pivot_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
