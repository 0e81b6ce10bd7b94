// How far a computed x is from solving A x = b, measured row by row against the size of what was added up.
//
//   omega = max_i |b - A x|_i / (|A| |x| + |b|)_i
//
// A row whose terms are all tiny is measured against |A|_i max |x| too (Arioli, Demmel, Duff 1989). Rows are taken in
// the order of their lengths, so that the loops over them have the same length for long.
#pragma once

#include <limits>

#include "linear/compact_pattern.hpp"
#include "linear/pivot_watch.hpp"
#include "machine/arithmetic.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class BackwardError {
public:
    [[nodiscard]] bool make(const CompactPattern& matrix) noexcept {
        n_ = matrix.n;
        Block<std::int32_t> count, place, begin;
        if (!residual_.make(n_) || !row_.make(n_) || !length_.make(n_) || !entries_.make(matrix.nonzeros) ||
            !count.make(n_ + 1) || !place.make(n_ + 1) || !begin.make(n_ + 1))
            return false;
        for (std::int32_t p = 0; p < matrix.nonzeros; ++p) ++count[matrix.rows[p]];
        sort_rows(count, place);
        std::int32_t at = 0;
        for (std::int32_t k = 0; k < n_; ++k) begin[row_[k]] = at, at += length_[k];
        for (std::int32_t c = 0; c < n_; ++c)
            for (std::int32_t p = matrix.begin[c]; p < matrix.begin[c + 1]; ++p)
                entries_[begin[matrix.rows[p]]++] = {p, c};
        return true;
    }

    // Measures x and leaves b - A x in residual(); infinite where anything is not finite.
    double measure(const Number* values, const Number* x, const Number* b) noexcept {
        const Term* entry = entries_.data();
        // What is smaller than rounding is as good as nothing.
        double omega = std::numeric_limits<double>::epsilon(), largest = -1;
        for (std::int32_t k = 0; k < n_; ++k) {
            const std::int32_t i = row_[k];
            Number left = b[i];
            double size = magnitude(left);
            for (const Term* end = entry + length_[k]; entry != end; ++entry) {
                const Number value = values[entry->source], factor = x[entry->column];
                left = difference(left, product(value, factor));
                size += magnitude(value) * magnitude(factor);
            }
            residual_[i] = left;
            // Most rows are no worse than the worst so far.
            if (const double error = magnitude(left); !(error <= omega * size)) {
                if (largest < 0) largest = largest_of(x);
                omega = larger(omega, omega_of(error, size, largest, values, entry - length_[k], length_[k]));
            }
        }
        return omega;
    }

    Number* residual() noexcept { return residual_.data(); }

private:
    struct Term {
        std::int32_t source, column;
    };

    // Rows by their number of entries, by counting.
    void sort_rows(const Block<std::int32_t>& count, Block<std::int32_t>& place) noexcept {
        for (std::int32_t i = 0; i < n_; ++i)
            if (count[i] < n_) ++place[count[i] + 1];
        for (std::int32_t c = 0; c < n_; ++c) place[c + 1] += place[c];
        for (std::int32_t i = 0; i < n_; ++i) {
            const std::int32_t at = place[count[i]]++;
            row_[at] = i, length_[at] = count[i];
        }
    }

    DAEDALUS_COLD double largest_of(const Number* x) const noexcept {
        double largest = 0;
        for (std::int32_t i = 0; i < n_; ++i) largest = larger(magnitude(x[i]), largest);
        return largest;
    }

    DAEDALUS_INLINE double omega_of(double error, double size, double largest, const Number* values, const Term* row,
                                    std::int32_t length) const noexcept {
        double sum = 0;
        for (std::int32_t e = 0; e < length; ++e) sum += magnitude(values[row[e].source]);
        const double floor = share_of_solution(n_) * (sum * largest);
        const double omega = error / (size > floor ? size : size + sum * largest);
        return omega <= std::numeric_limits<double>::max() ? omega : std::numeric_limits<double>::infinity();
    }

    std::int32_t n_ = 0;
    Block<std::int32_t> row_, length_;
    Block<Term> entries_;
    Block<Number> residual_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
