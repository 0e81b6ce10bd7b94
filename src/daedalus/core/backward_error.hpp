// How far a computed x is from solving A x = b, measured row by row against the size of what was added up.
//
//   omega = max_i |b - A x|_i / (|A| |x| + |b|)_i
//
// A row whose terms are all tiny is measured against |A|_i max |x| too (Arioli, Demmel, Duff 1989).
#pragma once

#include <limits>

#include "arithmetic.hpp"
#include "column_table.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class BackwardError {
public:
    [[nodiscard]] bool make(const ColumnTable& matrix) noexcept {
        matrix_ = &matrix, n_ = matrix.n;
        return residual_.make(n_) && size_.make(n_) && row_sum_.make(n_);
    }

    // Measures x and leaves b - A x in residual().
    double measure(const Number* values, const Number* x, const Number* b) noexcept {
        const std::int32_t *begin = matrix_->begin.data(), *rows = matrix_->rows.data();
        double largest_x = 0;
        for (long long i = 0; i < n_; ++i) {
            residual_[i] = b[i], size_[i] = magnitude(b[i]), row_sum_[i] = 0;
            largest_x = larger(magnitude(x[i]), largest_x);
        }
        for (long long c = 0; c < n_; ++c) {
            const Number xc = x[c];
            const double xc_size = magnitude(xc);
            for (std::int32_t p = begin[c]; p < begin[c + 1]; ++p) {
                const long long i = rows[p];
                const double a_size = magnitude(values[p]);
                residual_[i] = difference(residual_[i], product(values[p], xc));
                size_[i] += a_size * xc_size;
                row_sum_[i] += a_size;
            }
        }
        double omega = 0;
        for (long long i = 0; i < n_; ++i) {
            const double error = magnitude(residual_[i]);
            // Below this the terms of the row are at the rounding level of the whole solution.
            const double floor = 1000 * static_cast<double>(n_) * std::numeric_limits<double>::epsilon() *
                                 (row_sum_[i] * largest_x);
            const double against = size_[i] > floor ? size_[i] : size_[i] + row_sum_[i] * largest_x;
            if (error > 0 || !(error >= 0)) omega = !(error <= omega * against) ? error / against : omega;
        }
        return omega;
    }

    Number* residual() noexcept { return residual_.data(); }

private:
    const ColumnTable* matrix_ = nullptr;
    long long n_ = 0;
    Block<Number> residual_;
    Block<double> size_, row_sum_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
