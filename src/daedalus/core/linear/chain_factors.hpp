// L D U of a matrix whose unknowns stand in a row: a narrow band, with pivots on its diagonal.
//
//   a_ij <- a_ij - l_ik a_kj,  l_ik = a_ik / d_k,  u_kj = a_kj / d_k,  within `half` places of the diagonal
//
// (G. H. Golub, C. F. Van Loan, Matrix Computations, section 4.3.5). Rows are eliminated from both ends at once and meet in
// the middle, where `half` of them are left (H. A. van der Vorst, Parallel Computing 5, 1987): each unknown waits for the
// one before, and two wait at a time. What a substitution reads on its way to the middle stands apart from what it reads on
// its way back: rows longer than a cache take the time in which they are read. Fields on a line, chains and ladders have
// such orders, however their unknowns are numbered.
//
// With three diagonals, |L| |U| <= 3 |A| is seen on the way: so it is wherever diagonals dominate. Answers then have a backward
// error of some roundings, whatever the right-hand side (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2002,
// section 9.6), and need not be measured.
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "linear/column_band.hpp"
#include "linear/pivot_watch.hpp"
#include "linear/structure_order.hpp"
#include "machine/arithmetic.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class ChainFactors {
public:
    // Places for an order, which must outlive this; false: no memory.
    [[nodiscard]] bool write(const CompactPattern& matrix, const ChainOrder& order) noexcept {
        matrix_ = &matrix, order_ = &order, n_ = matrix.n, half_ = order.half();
        middle_ = (n_ - half_) / 2;
        const long long numbers = fill() + static_cast<long long>(half_) * width();
        if (half_ >= n_ || numbers > std::numeric_limits<std::int32_t>::max()) return false;
        full_ = order.as_written() && matrix.nonzeros == fill() - half_ * (half_ + 1);
        if (!numbers_.make(numbers) || !row_scale_.make(n_) || !column_scale_.make(n_)) return false;
        if (!order.as_written() && !y_.make(n_)) return false;
        back_ = numbers_.data() + static_cast<long long>(n_) * half_;
        inner_ = back_ + static_cast<long long>(n_) * (half_ + 1);
        if (full_) return true;
        if (!slot_.make(matrix.nonzeros)) return false;
        for (std::int32_t c = 0; c < n_; ++c)
            for (std::int32_t p = matrix.begin[c]; p < matrix.begin[c + 1]; ++p)
                slot_[p] = static_cast<std::int32_t>(place_of(order.place(matrix.rows[p]), order.place(c)) - numbers_.data());
        return true;
    }

    long long fill() const noexcept { return static_cast<long long>(n_) * width(); }
    long long operations() const noexcept { return static_cast<long long>(n_) * half_ * (half_ + 1); }

    // What rows and columns of the matrix are multiplied by from now on: pivots are judged by it. Diagonal pivots are the
    // same with any scales, so that the factors are those of the matrix itself.
    void take_scales(const double* rows, const double* columns) noexcept {
        for (std::int32_t k = 0; k < n_; ++k)
            row_scale_[k] = rows[order_->unknown(k)], column_scale_[k] = columns[order_->unknown(k)];
    }

    // Factors a matrix of these values, in the order of the pattern. A pivot that is zero or not finite, or nearly so, is only
    // called poor: chosen by value, there may be others.
    Quality factor(const Number* values, PivotWatch& seen) noexcept {
        stable_ = !is_complex<Number> && half_ <= 1;
        if (full_) return with_half([&](auto half) { return eliminate(half, InBand{values, matrix_->begin.data(), half_}, seen); });
        if (matrix_->nonzeros < fill() - half_ * (half_ + 1)) std::fill_n(numbers_.data(), numbers_.size(), Number(0));
        for (std::int32_t p = 0; p < matrix_->nonzeros; ++p) numbers_[slot_[p]] = values[p];
        return with_half([&](auto half) { return eliminate(half, InPlace(), seen); });
    }
    // Whether every answer with the last factors has a backward error of some roundings.
    bool stable() const noexcept { return stable_; }

    // A x = b in place.
    void solve(Number* b) noexcept {
        with_half([&](auto half) {
            if (order_->as_written())
                substitute(half, AsWritten{b});
            else
                substitute(half, InOrder{b, y_.data(), order_});
        });
    }

    // A X = B in place, for some columns at once; `y` has room for n rows of them.
    template <int width>
    void solve_band(const ColumnBand& band, double* y) noexcept {
        with_half([&](auto half) { substitute(half, Columns<width>{band, y, order_}); });
    }

private:
    template <int known>
    struct Half {
        static constexpr std::int32_t of(std::int32_t any) { return known < 0 ? any : known; }
    };
    template <class Work>
    DAEDALUS_INLINE auto with_half(Work&& work) noexcept {
        switch (half_) {
            case 0: return work(Half<0>());
            case 1: return work(Half<1>());
            case 2: return work(Half<2>());
            case 3: return work(Half<3>());
            default: return work(Half<-1>());
        }
    }

    // The unknowns from one end to the middle: `step` to the next one.
    struct ChainEnd {
        std::int32_t begin, step, count;
        std::int32_t at(std::int32_t k) const noexcept { return begin + step * k; }
    };
    ChainEnd from_first() const noexcept { return {0, 1, middle_}; }
    ChainEnd from_last() const noexcept { return {n_ - 1, -1, n_ - half_ - middle_}; }

    // Right-hand sides in the order of the chain: begin() reads one first, end() gives an answer.
    struct AsWritten {
        using Sum = Number;
        Number* b;
        DAEDALUS_INLINE Sum begin(std::int32_t i) const noexcept { return b[i]; }
        DAEDALUS_INLINE Sum load(std::int32_t i) const noexcept { return b[i]; }
        DAEDALUS_INLINE void store(const Sum& sum, std::int32_t i) const noexcept { b[i] = sum; }
        DAEDALUS_INLINE void end(const Sum& sum, std::int32_t i) const noexcept { b[i] = sum; }
        DAEDALUS_INLINE void multiply(Sum& sum, Number factor) const noexcept { sum = product(sum, factor); }
        DAEDALUS_INLINE void subtract(Sum& sum, Number factor, const Sum& other) const noexcept {
            sum = difference(sum, product(factor, other));
        }
    };
    struct InOrder {
        using Sum = Number;
        Number *b, *y;
        const ChainOrder* order;
        DAEDALUS_INLINE Sum begin(std::int32_t i) const noexcept { return b[order->unknown(i)]; }
        DAEDALUS_INLINE Sum load(std::int32_t i) const noexcept { return y[i]; }
        DAEDALUS_INLINE void store(const Sum& sum, std::int32_t i) const noexcept { y[i] = sum; }
        DAEDALUS_INLINE void end(const Sum& sum, std::int32_t i) const noexcept { y[i] = b[order->unknown(i)] = sum; }
        DAEDALUS_INLINE void multiply(Sum& sum, Number factor) const noexcept { sum = product(sum, factor); }
        DAEDALUS_INLINE void subtract(Sum& sum, Number factor, const Sum& other) const noexcept {
            sum = difference(sum, product(factor, other));
        }
    };
    template <int width>
    struct Columns {
        using Sum = BandRow<Number, width>;
        const ColumnBand& band;
        double* y;
        const ChainOrder* order;
        DAEDALUS_INLINE double* row(std::int32_t i) const noexcept { return y + i * Sum::size; }
        DAEDALUS_INLINE Sum begin(std::int32_t i) const noexcept {
            Sum sum;
            sum.take(band, order->unknown(i));
            return sum;
        }
        DAEDALUS_INLINE Sum load(std::int32_t i) const noexcept {
            Sum sum;
            sum.load(row(i));
            return sum;
        }
        DAEDALUS_INLINE void store(const Sum& sum, std::int32_t i) const noexcept { sum.store(row(i)); }
        DAEDALUS_INLINE void end(const Sum& sum, std::int32_t i) const noexcept {
            sum.store(row(i));
            sum.give(band, order->unknown(i));
        }
        DAEDALUS_INLINE void multiply(Sum& sum, Number factor) const noexcept { sum.multiply(factor); }
        DAEDALUS_INLINE void subtract(Sum& sum, Number factor, const Sum& other) const noexcept {
            sum.subtract(factor, other);
        }
    };

    std::int32_t width() const noexcept { return 2 * half_ + 1; }
    bool is_inner(std::int32_t i) const noexcept { return i >= middle_ && i < middle_ + half_; }
    // Of an unknown on a side: l to those before it, the next one first; then 1/d and u to those behind it.
    template <class Known>
    DAEDALUS_INLINE Number* to(Known, std::int32_t i) const noexcept {
        return numbers_begin() + static_cast<long long>(i) * Known::of(half_);
    }
    template <class Known>
    DAEDALUS_INLINE Number* back(Known, std::int32_t i) const noexcept {
        return back_ + static_cast<long long>(i) * (Known::of(half_) + 1);
    }
    // Of an unknown in the middle: its row, from `half` places before the diagonal on.
    Number* inner(std::int32_t i) const noexcept { return inner_ + static_cast<long long>(i - middle_) * width(); }
    Number* numbers_begin() const noexcept { return const_cast<Number*>(numbers_.data()); }

    Number* place_of(std::int32_t i, std::int32_t j) const noexcept {
        if (is_inner(i)) return inner(i) + half_ + j - i;
        const std::int32_t off = i < middle_ ? j - i : i - j;
        return off < 0 ? to(Half<-1>(), i) - off - 1 : back(Half<-1>(), i) + off;
    }

    // Calls work(side, k, i, reach) for the unknowns of both sides in turn, on the way to the middle; the first ones have
    // fewer before them than the others.
    template <class Known, class Work>
    DAEDALUS_INLINE void inwards(Known, Work&& work) const noexcept {
        const ChainEnd a = from_first(), b = from_last();
        const std::int32_t half = Known::of(half_), both = std::min(a.count, b.count), few = std::min(half, both);
        for (std::int32_t k = 0; k < few; ++k) work(a.step, a.at(k), k), work(b.step, b.at(k), k);
        for (std::int32_t k = few; k < both; ++k) work(a.step, a.at(k), half), work(b.step, b.at(k), half);
        for (std::int32_t k = both; k < b.count; ++k) work(b.step, b.at(k), std::min(k, half));
    }
    // The same on the way back, where all have `half` others behind them.
    template <class Work>
    DAEDALUS_INLINE void outwards(Work&& work) const noexcept {
        const ChainEnd a = from_first(), b = from_last();
        std::int32_t k = b.count - 1;
        for (; k >= a.count; --k) work(b.step, b.at(k));
        for (; k >= 0; --k) work(a.step, a.at(k)), work(b.step, b.at(k));
    }

    // Where the values of a row come from: they stand in their places, or in the columns of a band without gaps.
    struct InPlace {
        template <class Half>
        DAEDALUS_INLINE void row(Half, std::int32_t, std::int32_t, std::int32_t, Number*, Number*) const noexcept {}
        void inner(std::int32_t, Number*) const noexcept {}
    };
    struct InBand {
        const Number* values;
        const std::int32_t* begin;
        std::int32_t half;

        DAEDALUS_INLINE Number at(std::int32_t half_known, std::int32_t i, std::int32_t j) const noexcept {
            return values[begin[j] + i - std::max(j - half_known, 0)];
        }
        template <class Half>
        DAEDALUS_INLINE void row(Half, std::int32_t step, std::int32_t i, std::int32_t reach, Number* before,
                                 Number* own) const noexcept {
            const std::int32_t known = Half::of(half);
            for (std::int32_t d = 1; d <= reach; ++d) before[d - 1] = at(known, i, i - step * d);
            for (std::int32_t c = 0; c <= known; ++c) own[c] = at(known, i, i + step * c);
        }
        // The row in the middle from its diagonal on, to both sides.
        void inner(std::int32_t i, Number* own) const noexcept {
            for (std::int32_t off = -half; off <= half; ++off) own[off] = at(half, i, i + off);
        }
    };

    // Whether |L| |U| is three times |A| at most on the diagonal, of which a product is subtracted.
    static bool is_stable(Number entry, Number taken, Number left) noexcept {
        return magnitude(taken) + magnitude(left) <= 3 * magnitude(entry);
    }

    template <class Known, class Values>
    Quality eliminate(Known known, const Values& values, PivotWatch& seen) noexcept {
        const std::int32_t half = Known::of(half_);
        PivotWatch watch;
        bool poor = false, stable = stable_;
        inwards(known, [&](std::int32_t step, std::int32_t i, std::int32_t reach) DAEDALUS_INLINE_HERE {
            Number *before = to(known, i), *own = back(known, i);
            values.row(known, step, i, reach, before, own);
            if (Known::of(-1) == 1 && reach == 1) {
                const Number taken = product(before[0], back(known, i - step)[1]);
                stable &= is_stable(own[0], taken, difference(own[0], taken));
            }
            for (std::int32_t d = reach; d > 0; --d) {
                const Number *other = back(known, i - step * d), entry = before[d - 1];
                for (std::int32_t c = 1; c <= half; ++c) {
                    Number& changed = c < d ? before[d - c - 1] : own[c - d];
                    changed = difference(changed, product(entry, other[c]));
                }
                before[d - 1] = product(entry, other[0]);
            }
            double largest = 0;
            for (std::int32_t c = 1; c <= half; ++c)
                largest = larger(magnitude(own[c]) * column_scale_[i + step * c], largest);
            const double size = row_scale_[i] * (magnitude(own[0]) * column_scale_[i]);
            poor |= !(size > suspicious_pivot);
            watch.see(size, row_scale_[i] * largest, true);
            own[0] = reciprocal(own[0]);
            for (std::int32_t c = 1; c <= half; ++c) own[c] = product(own[c], own[0]);
        });
        stable_ = stable;
        for (std::int32_t i = middle_; i < middle_ + half; ++i) values.inner(i, inner(i) + half_);
        for (std::int32_t i = middle_; i < middle_ + half; ++i) poor |= !eliminate_inner(i, watch);
        seen = watch;
        return poor ? Quality::poor : watch.quality();
    }

    // A row between the two sides: what the ones of both sides change in it, then those before it.
    bool eliminate_inner(std::int32_t i, PivotWatch& watch) noexcept {
        constexpr Half<-1> any;
        const std::int32_t last = middle_ + half_ - 1;
        Number* const own = inner(i) + half_;
        const Number entry_before = own[0];
        double taken = 0;
        for (const ChainEnd side : {from_first(), from_last()}) {
            for (std::int32_t d = half_; d > 0; --d) {
                const std::int32_t k = i - side.step * d;
                if (is_inner(k)) continue;
                Number& entry = own[-side.step * d];
                for (std::int32_t c = 1; c <= half_; ++c) {
                    Number& changed = own[side.step * (c - d)];
                    taken += magnitude(product(entry, back(any, k)[c]));
                    changed = difference(changed, product(entry, back(any, k)[c]));
                }
                entry = product(entry, back(any, k)[0]);
            }
        }
        for (std::int32_t k = middle_; k < i; ++k) {
            const Number* const other = inner(k) + half_;
            for (std::int32_t j = k + 1; j <= last; ++j) own[j - i] = difference(own[j - i], product(own[k - i], other[j - k]));
            own[k - i] = product(own[k - i], other[0]);
        }
        double largest = 0;
        for (std::int32_t j = i + 1; j <= last; ++j) largest = larger(magnitude(own[j - i]) * column_scale_[j], largest);
        const double size = row_scale_[i] * (magnitude(own[0]) * column_scale_[i]);
        watch.see(size, row_scale_[i] * largest, true);
        stable_ = stable_ && taken + magnitude(own[0]) <= 3 * magnitude(entry_before);
        own[0] = reciprocal(own[0]);
        for (std::int32_t j = i + 1; j <= last; ++j) own[j - i] = product(own[j - i], own[0]);
        return size > suspicious_pivot;
    }

    // The answers that the next unknown of a side needs, the nearest first. Known in number, they stay in registers: read from
    // where they were just written, each would make the next one wait twice as long.
    template <class Known, class Vector>
    class Last {
    public:
        DAEDALUS_INLINE void begin(const Vector& vector, std::int32_t step, std::int32_t i) noexcept {
            if constexpr (held)
                for (std::int32_t d = 0; d < many; ++d) sums_[d] = vector.load(i + step * (d + 1));
        }
        DAEDALUS_INLINE typename Vector::Sum at(const Vector& vector, std::int32_t step, std::int32_t i,
                                                std::int32_t d) const noexcept {
            if constexpr (held)
                return sums_[d - 1];
            else
                return vector.load(i + step * d);
        }
        DAEDALUS_INLINE void add(const typename Vector::Sum& sum) noexcept {
            if constexpr (held) {
                for (std::int32_t d = many - 1; d > 0; --d) sums_[d] = sums_[d - 1];
                sums_[0] = sum;
            }
        }

    private:
        static constexpr std::int32_t many = Known::of(-1);
        static constexpr bool held = many > 0 && std::is_same_v<typename Vector::Sum, Number>;
        typename Vector::Sum sums_[held ? many : 1] = {};
    };

    // The one that was found last comes last: nothing waits for it longer than it must.
    template <class Known, class Vector>
    void substitute(Known known, const Vector vector) const noexcept {
        Last<Known, Vector> of_first, of_last;
        inwards(known, [&](std::int32_t step, std::int32_t i, std::int32_t reach) DAEDALUS_INLINE_HERE {
            auto& last = step > 0 ? of_first : of_last;
            const Number* const before = to(known, i);
            auto sum = vector.begin(i);
            for (std::int32_t d = reach; d > 0; --d) vector.subtract(sum, before[d - 1], last.at(vector, -step, i, d));
            vector.store(sum, i);
            last.add(sum);
        });
        substitute_inner(vector);
        of_first.begin(vector, 1, middle_ - 1), of_last.begin(vector, -1, middle_ + half_);
        outwards([&](std::int32_t step, std::int32_t i) DAEDALUS_INLINE_HERE {
            auto& last = step > 0 ? of_first : of_last;
            const Number* const own = back(known, i);
            auto sum = vector.load(i);
            vector.multiply(sum, own[0]);
            for (std::int32_t d = Known::of(half_); d > 0; --d) vector.subtract(sum, own[d], last.at(vector, step, i, d));
            vector.end(sum, i);
            last.add(sum);
        });
    }

    template <class Vector>
    void substitute_inner(const Vector& vector) const noexcept {
        const std::int32_t first = middle_, last = middle_ + half_ - 1;
        for (std::int32_t i = first; i <= last; ++i) {
            const Number* const own = inner(i) + half_;
            auto sum = vector.begin(i);
            for (std::int32_t j = i - half_; j <= i + half_; ++j)
                if (j < i || j > last) vector.subtract(sum, own[j - i], vector.load(j));
            vector.store(sum, i);
        }
        for (std::int32_t i = last; i >= first; --i) {
            const Number* const own = inner(i) + half_;
            auto sum = vector.load(i);
            vector.multiply(sum, own[0]);
            for (std::int32_t j = last; j > i; --j) vector.subtract(sum, own[j - i], vector.load(j));
            vector.end(sum, i);
        }
    }

    const CompactPattern* matrix_ = nullptr;
    const ChainOrder* order_ = nullptr;
    std::int32_t n_ = 0, half_ = 0, middle_ = 0;
    bool full_ = false, stable_ = false;
    Number *back_ = nullptr, *inner_ = nullptr;  // in the numbers
    Block<Number> numbers_, y_;
    Block<std::int32_t> slot_;
    Block<double> row_scale_, column_scale_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
