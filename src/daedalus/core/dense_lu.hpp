// LU factors of a small full matrix by elimination with partial pivoting, columns one after the other.
//
//   P R A C = L U   with R, C diagonal: the caller's scales times powers of two that bring every row to size one
//
// Columns are padded to full vector lanes; complex ones hold their real parts, then their imaginary parts.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "arithmetic.hpp"
#include "block.hpp"
#include "column_table.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class DenseLu {
public:
    static constexpr long long planes = is_complex<Number> ? 2 : 1;

    [[nodiscard]] bool make(const ColumnTable& matrix) noexcept {
        n_ = matrix.n, lanes_ = padded(n_), nonzeros_ = matrix.nonzeros;
        const bool made = place_.make(nonzeros_) && order_.make(lanes_) && a_.make(planes * lanes_ * n_) &&
                          multipliers_.make(planes * lanes_) && work_.make(planes * lanes_) && inverse_.make(n_) &&
                          rows_.make(lanes_) && columns_.make(lanes_) && largest_.make(lanes_);
        if (!made) return false;
        full_ = nonzeros_ == n_ * n_;
        for (long long c = 0; c < n_; ++c)
            for (long long p = matrix.begin[c]; p < matrix.begin[c + 1]; ++p)
                place_[p] = static_cast<std::int32_t>(c * planes * lanes_ + matrix.rows[p]);
        return true;
    }

    // False: singular or not finite.
    bool factor(const Number* values, const double* row_scale, const double* column_scale) noexcept {
        return with_lanes(lanes_, [&](auto lanes) {
            load(values);
            return equilibrate(lanes, row_scale, column_scale) && eliminate(lanes);
        });
    }

    // A x = b in place.
    void solve(Number* b) noexcept {
        with_lanes(lanes_, [&](auto lanes) {
            substitute(lanes, b);
            return 0;
        });
    }

    long long fill() const noexcept { return n_ * n_; }
    long long operations() const noexcept { return (n_ - 1) * n_ / 2 + (n_ - 1) * n_ * (2 * n_ - 1) / 6; }

private:
    double* column(long long c) noexcept { return a_.data() + c * planes * lanes_; }
    const double* column(long long c) const noexcept { return a_.data() + c * planes * lanes_; }

    void load(const Number* values) noexcept {
        double* a = a_.data();
        if (!full_) std::memset(a, 0, static_cast<std::size_t>(planes * lanes_ * n_) * sizeof(double));
        for (long long p = 0; p < nonzeros_; ++p) {
            if constexpr (is_complex<Number>) {
                a[place_[p]] = values[p].real();
                a[place_[p] + lanes_] = values[p].imag();
            } else {
                a[place_[p]] = values[p];
            }
        }
    }

    // Columns to size one, then rows; the padding stays zero.
    template <class L>
    bool equilibrate(L, const double* row_scale, const double* column_scale) noexcept {
        const long long lanes = L::count(lanes_);
        double* rows = rows_.data();
        double* largest = largest_.data();
        for (long long i = 0; i < n_; ++i) rows[i] = row_scale ? row_scale[i] : 1;
        for (long long i = 0; i < lanes; ++i) largest[i] = 0;
        double total = 0;
        for (long long c = 0; c < n_; ++c) {
            double* a = column(c);
            double size = 0;
            DAEDALUS_SIMD_MAX(size)
            for (long long i = 0; i < lanes; ++i) size = larger(size_at(a, i, lanes) * rows[i], size);
            const double given = column_scale ? column_scale[c] : 1;
            columns_[c] = given * balancing_power(size * given);
            total += scale_column(L(), a, columns_[c], rows, largest);
        }
        if (!std::isfinite(total)) return false;
        DAEDALUS_SIMD
        for (long long i = 0; i < lanes; ++i) multipliers_[i] = balancing_power(largest[i]);
        for (long long i = 0; i < n_; ++i) rows[i] *= multipliers_[i];
        for (long long c = 0; c < planes * n_; ++c) {
            double* a = a_.data() + c * lanes;
            DAEDALUS_SIMD
            for (long long i = 0; i < lanes; ++i) a[i] *= multipliers_[i];
        }
        return true;
    }

    // Scales one column, takes note of the largest of each row, gives the sum of all sizes (not finite if one is not).
    template <class L>
    double scale_column(L, double* a, double factor, const double* rows, double* largest) const noexcept {
        const long long lanes = L::count(lanes_);
        double total = 0;
        DAEDALUS_SIMD_SUM(total)
        for (long long i = 0; i < lanes; ++i) {
            const double both = rows[i] * factor;
            a[i] *= both;
            if constexpr (planes == 2) a[i + lanes] *= both;
            const double size = size_at(a, i, lanes);
            total += size;
            largest[i] = larger(size, largest[i]);
        }
        return total;
    }

    DAEDALUS_INLINE static double size_at(const double* a, long long i, long long lanes) noexcept {
        if constexpr (planes == 2)
            return std::fabs(a[i]) + std::fabs(a[i + lanes]);
        else
            return std::fabs(a[i]);
    }

    DAEDALUS_INLINE static Number get(const double* a, long long i, long long lanes) noexcept {
        if constexpr (planes == 2)
            return {a[i], a[i + lanes]};
        else
            return a[i];
    }
    DAEDALUS_INLINE static void set(double* a, long long i, long long lanes, Number value) noexcept {
        if constexpr (planes == 2)
            a[i] = value.real(), a[i + lanes] = value.imag();
        else
            a[i] = value;
    }

    // a -= factor * b from lane `begin` on.
    template <class L>
    DAEDALUS_INLINE static void subtract(L, long long lanes, long long begin, Number factor, const double* b,
                                         double* a) noexcept {
        const long long count = L::count(lanes);
        if constexpr (planes == 2) {
            const double re = factor.real(), im = factor.imag();
            DAEDALUS_SIMD
            for (long long i = begin; i < count; ++i) {
                a[i] -= re * b[i] - im * b[i + count];
                a[i + count] -= re * b[i + count] + im * b[i];
            }
        } else {
            DAEDALUS_SIMD
            for (long long i = begin; i < count; ++i) a[i] -= factor * b[i];
        }
    }

    // Few lanes are always updated whole (the multipliers of finished rows are zero): no loop is left.
    template <class L>
    DAEDALUS_INLINE static long long first_lane(L, long long lanes, long long row) noexcept {
        return L::count(0) > 0 && L::count(lanes) <= 8 ? 0 : row & ~(lane_count - 1);
    }

    template <class L>
    bool eliminate(L) noexcept {
        const long long n = n_, lanes = L::count(lanes_);
        double* multipliers = multipliers_.data();
        for (long long i = 0; i < n; ++i) order_[i] = static_cast<std::int32_t>(i);
        for (long long k = 0; k < n; ++k) {
            double* a = column(k);
            const long long chosen = largest_row(a, k, lanes);
            const Number pivot = get(a, chosen, lanes);
            const double size = magnitude(pivot);
            if (!(size > suspicious) && !(size > noise_of(k, chosen))) return false;
            if (chosen != k) exchange(k, chosen);
            const Number inverse = reciprocal(pivot);
            inverse_[k] = inverse;
            const long long begin = first_lane(L(), lanes_, k + 1);
            for (long long i = begin; i < lanes; ++i) {
                const Number l = i > k ? product(get(a, i, lanes), inverse) : Number(0);
                set(multipliers, i, lanes, l);
            }
            for (long long c = k + 1; c < n; ++c) {
                double* b = column(c);
                subtract(L(), lanes_, begin, get(b, k, lanes), multipliers, b);
            }
            for (long long i = k + 1; i < n; ++i) set(a, i, lanes, get(multipliers, i, lanes));
        }
        return true;
    }

    DAEDALUS_INLINE long long largest_row(const double* a, long long k, long long lanes) const noexcept {
        long long chosen = k;
        double size = size_at(a, k, lanes);
        for (long long i = k + 1; i < n_; ++i) {
            const double here = size_at(a, i, lanes);
            chosen = here > size ? i : chosen;
            size = larger(here, size);
        }
        return chosen;
    }

    DAEDALUS_INLINE void exchange(long long k, long long chosen) noexcept {
        const std::int32_t row = order_[k];
        order_[k] = order_[chosen], order_[chosen] = row;
        for (long long c = 0; c < planes * n_; ++c) {
            double* a = a_.data() + c * lanes_;
            const double value = a[k];
            a[k] = a[chosen], a[chosen] = value;
        }
    }

    // What rounding can leave of an entry that is zero: some eps sum |l| |u| of its products.
    DAEDALUS_COLD double noise_of(long long k, long long row) const noexcept {
        double sum = 0;
        for (long long j = 0; j < k; ++j) sum += size_at(column(j), row, lanes_) * size_at(column(k), j, lanes_);
        return 64 * std::numeric_limits<double>::epsilon() * sum;
    }

    template <class L>
    void substitute(L, Number* b) noexcept {
        const long long n = n_, lanes = L::count(lanes_);
        double* y = work_.data();
        for (long long i = 0; i < n; ++i) set(y, i, lanes, scaled(b[order_[i]], rows_[order_[i]]));
        for (long long k = 0; k + 1 < n; ++k) {
            const Number yk = get(y, k, lanes);
            const double* a = column(k);
            if constexpr (planes == 2)
                for (long long i = k + 1; i < n; ++i) set(y, i, lanes, difference(get(y, i, lanes), product(yk, get(a, i, lanes))));
            else
                for (long long i = k + 1; i < n; ++i) y[i] -= yk * a[i];
        }
        for (long long k = n - 1; k >= 0; --k) {
            const Number yk = product(get(y, k, lanes), inverse_[k]);
            const double* a = column(k);
            for (long long i = 0; i < k; ++i) set(y, i, lanes, difference(get(y, i, lanes), product(yk, get(a, i, lanes))));
            b[k] = scaled(yk, columns_[k]);
        }
    }

    // A pivot above this, rows being of size one, owes nothing to cancellation that matters.
    static constexpr double suspicious = 1e-10;

    long long n_ = 0, lanes_ = 0, nonzeros_ = 0;
    bool full_ = false;
    Block<std::int32_t> place_, order_;
    Block<double> a_, multipliers_, work_, rows_, columns_, largest_;
    Block<Number> inverse_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
