// LU factors of a small full matrix by elimination with partial pivoting, columns one after the other.
//
//   P A = L U,   pivots compared as if every row had size one (scaled partial pivoting; Golub, Van Loan, section 3.5.2)
//
// The pivots are kept for the next values as long as no multiplier becomes large: looking for them costs more than
// eliminating.
// Columns are padded to full vector lanes; complex ones hold their real parts, then their imaginary parts.
#pragma once

#include <cmath>
#include <limits>

#include "linear/column_band.hpp"
#include "linear/compact_pattern.hpp"
#include "linear/pivot_watch.hpp"
#include "machine/arithmetic.hpp"
#include "machine/lanes.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class DenseLu {
public:
    [[nodiscard]] bool make(const CompactPattern& matrix) noexcept {
        n_ = matrix.n, lanes_ = padded(n_), nonzeros_ = matrix.nonzeros;
        const bool made = place_.make(nonzeros_) && order_.make(lanes_) && position_.make(n_) &&
                          a_.make(planes * lanes_ * n_) && given_.make(planes * lanes_ * n_) &&
                          multipliers_.make(planes * lanes_) && work_.make(planes * lanes_) && inverse_.make(n_) && residual_.make(n_) &&
                          rows_.make(lanes_) && weights_.make(lanes_) && sizes_.make(n_);
        if (!made) return false;
        matrix_ = &matrix;
        return true;
    }

    // False: singular or not finite.
    DAEDALUS_ONCE bool factor(const Number* values, const double* row_scale, const double* column_scale) noexcept {
        return with_lanes(lanes_, [&](auto lanes) {
            fresh_ = false;
            if (ordered_) {
                load(values);
                if (eliminate<true>(lanes)) return true;
            }
            ordered_ = false, fresh_ = true;
            ++orderings;
            for (long long i = 0; i < n_; ++i) order_[i] = static_cast<std::int32_t>(i);
            write_places();
            load(values);
            if (!weigh(lanes, row_scale, column_scale) || !eliminate<false>(lanes)) return false;
            write_places();
            give(values);
            return ordered_ = true;
        });
    }

    // A x = b in place.
    DAEDALUS_ONCE void solve(Number* b) noexcept {
        switch (n_) {
            case 1: return substitute_few<1>(b);
            case 2: return substitute_few<2>(b);
            case 3: return substitute_few<3>(b);
            case 4: return substitute_few<4>(b);
            case 5: return substitute_few<5>(b);
            case 6: return substitute_few<6>(b);
            case 7: return substitute_few<7>(b);
            case 8: return substitute_few<8>(b);
            default: return with_lanes(lanes_, [&](auto lanes) { substitute(lanes, b); });
        }
    }

    // A X = B in place, for some columns at once; `y` has room for n rows of them.
    template <int width>
    void solve_band(const ColumnBand& band, double* y) noexcept {
        using Row = BandRow<Number, width>;
        Row sum;
        for (long long i = 0; i < n_; ++i) {
            sum.take(band, order_[i]);
            for (long long k = 0; k < i; ++k) sum.subtract(get(column(k), i, lanes_), y + k * Row::size);
            sum.store(y + i * Row::size);
        }
        for (long long i = n_ - 1; i >= 0; --i) {
            sum.load(y + i * Row::size);
            for (long long k = n_ - 1; k > i; --k) sum.subtract(get(column(k), i, lanes_), y + k * Row::size);
            sum.multiply(inverse_[i]);
            sum.store(y + i * Row::size);
            sum.give(band, i);
        }
    }

    // How far x is from solving A x = b, row by row as in backward_error.hpp; leaves b - A x in residual().
    double measure(const Number* x, const Number* b) noexcept {
        return with_lanes(lanes_, [&](auto lanes) { return backward_error(lanes, x, b); });
    }
    Number* residual() noexcept { return residual_.data(); }

    // Were the pivots chosen on the present values?
    bool fresh() const noexcept { return fresh_; }
    void forget_pivots() noexcept { ordered_ = false; }
    bool choose_again(const Number* values) noexcept {
        ordered_ = false;
        return factor(values, nullptr, nullptr);
    }

    long long fill() const noexcept { return n_ * n_; }
    long long operations() const noexcept { return (n_ - 1) * n_ / 2 + (n_ - 1) * n_ * (2 * n_ - 1) / 6; }

    long long orderings = 0;

private:
    static constexpr long long planes = is_complex<Number> ? 2 : 1;
    // Kept pivots are good while no multiplier, in rows of size one, is larger (chosen ones give 1).
    static constexpr double largest_multiplier = 100;

    double* column(long long c) noexcept { return a_.data() + c * planes * lanes_; }
    const double* column(long long c) const noexcept { return a_.data() + c * planes * lanes_; }

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
    DAEDALUS_INLINE static void size_lanes(Wide& size, const double* a, long long lanes) noexcept {
        size = *lanes_at(a);
        make_absolute(size);
        if constexpr (planes == 2) {
            Wide other = *lanes_at(a + lanes);
            make_absolute(other);
            size += other;
        }
    }

    // Where each nonzero goes, the rows being in the order of the pivots.
    void write_places() noexcept {
        for (long long i = 0; i < n_; ++i) position_[order_[i]] = static_cast<std::int32_t>(i);
        for (long long c = 0; c < n_; ++c)
            for (long long p = matrix_->begin[c]; p < matrix_->begin[c + 1]; ++p)
                place_[p] = static_cast<std::int32_t>(c * planes * lanes_ + position_[matrix_->rows[p]]);
        std::memset(given_.data(), 0, static_cast<std::size_t>(planes * lanes_ * n_) * sizeof(double));
    }

    // The matrix as it is given, rows in the order of the pivots; entries outside the pattern are zero already.
    void give(const Number* values) noexcept {
        double* given = given_.data();
        for (long long p = 0; p < nonzeros_; ++p) set(given + place_[p], 0, lanes_, values[p]);
    }
    void load(const Number* values) noexcept {
        give(values);
        std::memcpy(a_.data(), given_.data(), static_cast<std::size_t>(planes * lanes_ * n_) * sizeof(double));
    }

    // The weight of each row: its scale times the power of two that makes it of size one once its columns are.
    template <class L>
    bool weigh(L, const double* row_scale, const double* column_scale) noexcept {
        const long long lanes = L::count(lanes_);
        double *rows = rows_.data(), *weights = weights_.data();
        for (long long i = 0; i < n_; ++i) rows[i] = row_scale ? row_scale[i] : 1;
        for (long long i = 0; i < lanes; ++i) weights[i] = 0;
        double total = 0;
        for (long long c = 0; c < n_; ++c) {
            const double given = column_scale ? column_scale[c] : 1;
            const double size = weighted_size(L(), column(c), rows) * given, factor = given * balancing_power(size);
            total += size;
            for (long long i = 0; i < lanes; i += wide) {
                Wide here;
                size_lanes(here, column(c) + i, lanes);
                raise_to(*lanes_at(weights + i), here * factor);
            }
        }
        if (!std::isfinite(total)) return false;
        for (long long i = 0; i < n_; ++i) weights[i] = rows[i] * balancing_power(weights[i] * rows[i]);
        for (long long c = 0; c < n_; ++c) sizes_[c] = weighted_size(L(), column(c), weights);
        return true;
    }

    // The largest weighted entry of a column; not finite if one is not.
    template <class L>
    DAEDALUS_INLINE double weighted_size(L, const double* a, const double* weights) const noexcept {
        const long long lanes = L::count(lanes_);
        Wide size{}, spoiled{};
        for (long long i = 0; i < lanes; i += wide) {
            Wide here;
            size_lanes(here, a + i, lanes);
            here *= *lanes_at(weights + i);
            raise_to(size, here);
            spoiled += here - here;
        }
        size += spoiled;
        return largest_of(size);
    }

    // False: singular, not finite, or (with kept pivots) a multiplier too large.
    template <bool keep, class L>
    bool eliminate(L) noexcept {
        const long long n = n_, lanes = L::count(lanes_);
        double* multipliers = multipliers_.data();
        const double* weights = weights_.data();
        bool good = true;
        for (long long k = 0; k < n; ++k) {
            double* a = column(k);
            const long long chosen = keep ? k : largest_row(a, k, lanes);
            const Number pivot = get(a, chosen, lanes);
            const double size = magnitude(pivot);
            if (!(size * weights[chosen] > suspicious_pivot * sizes_[k]) && !(size > noise_of(k, chosen))) return false;
            good &= size < std::numeric_limits<double>::infinity();
            const Number inverse = reciprocal(pivot);
            inverse_[k] = inverse;
            if (chosen != k) exchange(k, chosen, lanes);
            // Multipliers of finished rows are zero, so that whole lanes can be updated.
            const long long begin = (k + 1) & ~(lane_count - 1);
            Wide largest{};
            for (long long i = begin; i < lanes; i += wide) {
                take_multipliers(a, multipliers, i, k, inverse, lanes);
                if constexpr (keep) {
                    Wide size_here;
                    size_lanes(size_here, multipliers + i, lanes);
                    raise_to(largest, size_here * *lanes_at(weights + i));
                }
            }
            if constexpr (keep) good &= largest_of(largest) <= largest_multiplier * weights[k];
            for (long long c = k + 1; c < n; ++c) {
                double* b = column(c);
                subtract(lanes, begin, get(b, k, lanes), multipliers, b);
            }
        }
        return good;
    }

    // The row of the largest weighted entry from row k on (to 40 bits): the row is written into the last bits of the
    // size, so that the maximum carries it along.
    DAEDALUS_INLINE long long largest_row(const double* a, long long k, long long lanes) const noexcept {
        constexpr long long row_bits = (1 << 12) - 1;
        Wide best{};
        for (long long i = k & ~(lane_count - 1); i < lanes; i += wide) {
            Wide size;
            size_lanes(size, a + i, lanes);
            size *= *lanes_at(weights_.data() + i);
            const WideBits open = lane_places >= static_cast<double>(k - i);
            const Wide key = (Wide)((((WideBits)size & ~row_bits) | (lane_numbers + i)) & open);
            raise_to(best, key);
        }
        const long long row = std::bit_cast<long long>(largest_of(best)) & row_bits;
        return row < k ? k : row;
    }

    DAEDALUS_INLINE void exchange(long long k, long long chosen, long long lanes) noexcept {
        const std::int32_t row = order_[k];
        const double weight = weights_[k];
        order_[k] = order_[chosen], order_[chosen] = row;
        weights_[k] = weights_[chosen], weights_[chosen] = weight;
        for (long long c = 0; c < planes * n_; ++c) {
            double* a = a_.data() + c * lanes;
            const double value = a[k];
            a[k] = a[chosen], a[chosen] = value;
        }
    }

    DAEDALUS_INLINE static void take_multipliers(double* column, double* multipliers, long long i, long long k,
                                                 Number inverse, long long lanes) noexcept {
        double *a = column + i, *l = multipliers + i;
        const WideBits open = lane_places > static_cast<double>(k - i);
        if constexpr (planes == 2) {
            const Wide re = *lanes_at(a), im = *lanes_at(a + lanes);
            const Wide l_re = re * inverse.real() - im * inverse.imag();
            const Wide l_im = re * inverse.imag() + im * inverse.real();
            *lanes_at(a) = open ? l_re : re, *lanes_at(a + lanes) = open ? l_im : im;
            *lanes_at(l) = (Wide)((WideBits)l_re & open), *lanes_at(l + lanes) = (Wide)((WideBits)l_im & open);
        } else {
            const Wide value = *lanes_at(a), quotient = value * inverse;
            *lanes_at(a) = open ? quotient : value;
            *lanes_at(l) = (Wide)((WideBits)quotient & open);
        }
    }

    // a -= factor * b from lane `begin` on.
    DAEDALUS_INLINE static void subtract(long long lanes, long long begin, Number factor, const double* b,
                                         double* a) noexcept {
        if constexpr (planes == 2) {
            const double re = factor.real(), im = factor.imag();
            for (long long i = begin; i < lanes; i += wide) {
                const Wide b_re = *lanes_at(b + i), b_im = *lanes_at(b + i + lanes);
                *lanes_at(a + i) -= re * b_re - im * b_im;
                *lanes_at(a + i + lanes) -= re * b_im + im * b_re;
            }
        } else {
            for (long long i = begin; i < lanes; i += wide) *lanes_at(a + i) -= factor * *lanes_at(b + i);
        }
    }

    // What rounding can leave of an entry that is zero: some eps sum |l| |u| of its products.
    DAEDALUS_COLD double noise_of(long long k, long long row) const noexcept {
        double sum = 0;
        for (long long j = 0; j < k; ++j)
            sum += magnitude(get(column(j), row, lanes_)) * magnitude(get(column(k), j, lanes_));
        return noise_of_products(sum);
    }

    template <class L>
    double backward_error(L, const Number* x, const Number* b) noexcept {
        const long long lanes = L::count(lanes_);
        double *left = work_.data(), *sizes = multipliers_.data(), *row_sums = rows_.data(), largest_x = 0;
        for (long long i = 0; i < n_; ++i) {
            set(left, i, lanes, b[order_[i]]);
            largest_x = larger(magnitude(x[i]), largest_x);
        }
        for (long long i = 0; i < lanes; i += wide) {
            size_lanes(*lanes_at(sizes + i), left + i, lanes);
            *lanes_at(row_sums + i) = Wide{};
        }
        for (long long c = 0; c < n_; ++c) {
            const double* a = given_.data() + c * planes * lanes;
            const double x_size = magnitude(x[c]);
            subtract(lanes, 0, x[c], a, left);
            for (long long i = 0; i < lanes; i += wide) {
                Wide size;
                size_lanes(size, a + i, lanes);
                *lanes_at(sizes + i) += size * x_size;
                *lanes_at(row_sums + i) += size;
            }
        }
        const double share = share_of_solution(n_);
        Wide omega{}, spoiled{};
        for (long long i = 0; i < lanes; i += wide) {
            Wide error;
            size_lanes(error, left + i, lanes);
            const Wide whole = *lanes_at(row_sums + i) * largest_x, size = *lanes_at(sizes + i);
            const Wide against = size > share * whole ? size : size + whole;
            const Wide ratio = error > 0.0 ? error / against : error;
            raise_to(omega, ratio);
            spoiled += ratio - ratio;
        }
        for (long long i = 0; i < n_; ++i) residual_[order_[i]] = get(left, i, lanes);
        omega += spoiled;
        return not_finite_or_largest(omega);
    }
    static double not_finite_or_largest(const Wide& value) noexcept {
        double sum = 0;
        for (int i = 0; i < wide; ++i) sum += 0 * value[i];
        return sum == 0 ? largest_of(value) : std::numeric_limits<double>::infinity();
    }

    // A few unknowns in registers, all loops unrolled.
    template <int n>
    void substitute_few(Number* b) noexcept {
        constexpr long long lanes = padded(n);
        const double* a = a_.data();
        Number y[n];
#pragma GCC unroll 8
        for (int i = 0; i < n; ++i) y[i] = b[order_[i]];
#pragma GCC unroll 8
        for (int k = 0; k + 1 < n; ++k)
#pragma GCC unroll 8
            for (int i = k + 1; i < n; ++i)
                y[i] = difference(y[i], product(y[k], get(a + k * planes * lanes, i, lanes)));
#pragma GCC unroll 8
        for (int k = n - 1; k >= 0; --k) {
            y[k] = product(y[k], inverse_[k]);
#pragma GCC unroll 8
            for (int i = 0; i < k; ++i)
                y[i] = difference(y[i], product(y[k], get(a + k * planes * lanes, i, lanes)));
            b[k] = y[k];
        }
    }

    template <class L>
    void substitute(L, Number* b) noexcept {
        const long long n = n_, lanes = L::count(lanes_);
        double* y = work_.data();
        for (long long i = 0; i < n; ++i) set(y, i, lanes, b[order_[i]]);
        for (long long k = 0; k + 1 < n; ++k) {
            const Number yk = get(y, k, lanes);
            const double* a = column(k);
            long long i = k + 1;
            for (; i & (lane_count - 1); ++i)
                set(y, i, lanes, difference(get(y, i, lanes), product(yk, get(a, i, lanes))));
            subtract(lanes, i, yk, a, y);
        }
        for (long long k = n - 1; k >= 0; --k) {
            const Number xk = product(get(y, k, lanes), inverse_[k]);
            const double* a = column(k);
            for (long long i = 0; i < k; ++i)
                set(y, i, lanes, difference(get(y, i, lanes), product(xk, get(a, i, lanes))));
            b[k] = xk;
        }
    }

    long long n_ = 0, lanes_ = 0, nonzeros_ = 0;
    bool ordered_ = false, fresh_ = false;
    const CompactPattern* matrix_ = nullptr;
    Block<std::int32_t> place_, order_, position_;
    Block<double> a_, given_, multipliers_, work_, rows_, weights_, sizes_;
    Block<Number> inverse_, residual_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
