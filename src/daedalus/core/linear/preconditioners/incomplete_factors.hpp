// L U of a matrix without new entries: ILU(0) (J. A. Meijerink, H. A. van der Vorst, Math. Comp. 31, 1977).
#pragma once

#include <cmath>
#include <cstdint>

#include "machine/arithmetic.hpp"
#include "machine/block.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Factors of preconditioners, which need not be exact, are given up where a pivot is below this in rows of size one:
// behind it they would multiply what is put in by 1e12.
inline constexpr double least_incomplete_pivot = 1e-12;

// Row i holds the columns column[begin[i] .. begin[i + 1]), in rising order; the matrix outlives its factors.
template <class Number>
class IncompleteFactors {
public:
    [[nodiscard]] bool make(std::int32_t n, const std::int32_t* begin, const std::int32_t* column) noexcept {
        n_ = n, begin_ = begin, column_ = column;
        if (!diagonal_.make(n) || !place_.make(n) || !factors_.make(begin[n]) || !inverse_.make(n)) return false;
        for (std::int32_t i = 0; i < n; ++i) {
            diagonal_[i] = place_[i] = -1;
            for (std::int32_t p = begin[i]; p < begin[i + 1]; ++p)
                if (column[p] == i) diagonal_[i] = p;
        }
        return true;
    }

    // Of values whose rows are of the size of one; false: a pivot is missing or vanishes.
    bool factor(const Number* values) noexcept {
        for (std::int32_t i = 0; i < n_; ++i) {
            if (diagonal_[i] < 0) return false;
            for (std::int32_t p = begin_[i]; p < begin_[i + 1]; ++p) {
                factors_[p] = values[p];
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
            if (!(magnitude(pivot) > least_incomplete_pivot) || !std::isfinite(magnitude(pivot))) return false;
            inverse_[i] = reciprocal(pivot);
        }
        return true;
    }

    // In place.
    void solve(Number* y) const noexcept { solve(y, y); }
    void solve(const Number* b, Number* y) const noexcept {
        for (std::int32_t i = 0; i < n_; ++i) {
            Number sum = b[i];
            for (std::int32_t p = begin_[i]; p < diagonal_[i]; ++p)
                sum = difference(sum, product(factors_[p], y[column_[p]]));
            y[i] = sum;
        }
        for (std::int32_t i = n_ - 1; i >= 0; --i) {
            Number sum = y[i];
            // The neighbour that was found last comes last: the sum need not wait for it.
            for (std::int32_t p = begin_[i + 1] - 1; p > diagonal_[i]; --p)
                sum = difference(sum, product(factors_[p], y[column_[p]]));
            y[i] = product(sum, inverse_[i]);
        }
    }

private:
    std::int32_t n_ = 0;
    const std::int32_t *begin_ = nullptr, *column_ = nullptr;
    Block<std::int32_t> diagonal_, place_;
    Block<Number> factors_, inverse_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
