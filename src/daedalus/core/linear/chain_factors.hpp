// L D U of a matrix whose unknowns stand in a row: a narrow band, with pivots on its diagonal.
//
//   a_ij <- a_ij - l_ik a_kj,  l_ik = a_ik / d_k,  u_kj = a_kj / d_k,  within `half` places of the diagonal
//
// (G. H. Golub, C. F. Van Loan, Matrix Computations, section 4.3.5). Rows are eliminated from both ends at once and meet in
// the middle, where `half` of them are left (H. A. van der Vorst, Parallel Computing 5, 1987): each unknown waits for the
// one before, and two wait at a time. What a substitution reads on its way to the middle stands apart from what it reads on
// its way back: rows longer than a cache take the time in which they are read. Fields on a line, chains and ladders have
// such orders, however their unknowns are numbered.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "linear/column_band.hpp"
#include "linear/minimum_degree.hpp"
#include "linear/pivot_watch.hpp"
#include "machine/arithmetic.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// An order in which every entry of a matrix lies close to its diagonal, where there is one: that of the pattern itself, or
// reverse Cuthill-McKee, breadth first from an end of the graph, found as A. George and J. W. H. Liu do (ACM Trans. Math.
// Softw. 5, 1979), neighbours of few neighbours first.
class ChainOrder {
public:
    // A band of so many entries on each side of the diagonal, and no more numbers than so many times the entries.
    static constexpr std::int32_t widest = 6;
    static constexpr long long most_numbers_an_entry = 2;

    // The order of the pattern itself; false: it is no chain as it is.
    bool keep(const CompactPattern& matrix) noexcept {
        n_ = matrix.n, half_ = 0, as_written_ = true;
        for (std::int32_t c = 0; c < n_; ++c) {
            bool diagonal = false;
            for (std::int32_t p = matrix.begin[c]; p < matrix.begin[c + 1]; ++p) {
                const std::int32_t off = std::abs(matrix.rows[p] - c);
                half_ = std::max(half_, off), diagonal = diagonal || off == 0;
            }
            if (!diagonal || half_ > widest) return false;
        }
        return pays(matrix.nonzeros);
    }

    // Looks for one; false: there is none, or no memory.
    bool find(const SymmetricGraph& graph, long long nonzeros) noexcept {
        n_ = graph.n, as_written_ = false;
        if (graph.missing_diagonals > 0 || graph.begin[n_] > 2LL * widest * n_) return false;
        if (!place_.make(n_) || !order_.make(n_) || !mark_.make(n_)) return false;
        std::int32_t done = 0;
        for (std::int32_t i = 0; i < n_; ++i) place_[i] = none;
        for (std::int32_t i = 0; i < n_; ++i)
            if (place_[i] == none && !number_part(graph, i, done)) return false;
        std::reverse(order_.data(), order_.data() + n_);
        for (std::int32_t k = 0; k < n_; ++k) place_[order_[k]] = k;
        half_ = 0;
        for (std::int32_t i = 0; i < n_; ++i)
            for (long long p = graph.begin[i]; p < graph.begin[i + 1]; ++p)
                half_ = std::max(half_, std::abs(place_[graph.neighbour[p]] - place_[i]));
        return pays(nonzeros);
    }

    std::int32_t half() const noexcept { return half_; }
    // Whether unknown k stands k-th.
    bool as_written() const noexcept { return as_written_; }
    std::int32_t place(std::int32_t unknown) const noexcept { return as_written_ ? unknown : place_[unknown]; }
    std::int32_t unknown(std::int32_t place) const noexcept { return as_written_ ? place : order_[place]; }

private:
    static constexpr std::int32_t none = -1;
    static constexpr int most_ends_tried = 8;

    bool pays(long long nonzeros) const noexcept {
        return half_ <= widest && (2LL * half_ + 1) * n_ <= most_numbers_an_entry * nonzeros;
    }

    // Numbers what hangs together with an unknown, behind what is done; false: some level is too wide for a chain.
    bool number_part(const SymmetricGraph& graph, std::int32_t begin, std::int32_t& done) noexcept {
        std::int32_t end = begin, depth = -1;
        for (int turn = 0; turn < most_ends_tried; ++turn) {
            std::int32_t last = end;
            const std::int32_t reached = levels(graph, end, done, turn + 1, last);
            if (reached < 0) return false;
            if (reached <= depth) break;
            depth = reached, end = last;
        }
        return spread(graph, end, done);
    }

    // How many levels there are beyond an unknown, and one of the least neighbours in the last; -1: too wide. What was seen
    // is marked with the unknown and the turn.
    std::int32_t levels(const SymmetricGraph& graph, std::int32_t begin, std::int32_t done, int turn,
                        std::int32_t& last) noexcept {
        std::int32_t *queue = order_.data() + done, first = 0, next = 1, count = 0;
        queue[0] = begin, mark_[begin] = turn;
        for (;; ++count) {
            const std::int32_t level = next;
            if (level - first > 2 * widest) return -1;
            last = queue[first];
            for (; first < level; ++first) {
                const std::int32_t i = queue[first];
                if (degree(graph, i) < degree(graph, last)) last = i;
                for (long long p = graph.begin[i]; p < graph.begin[i + 1]; ++p)
                    if (const std::int32_t j = graph.neighbour[p]; mark_[j] != turn) mark_[j] = turn, queue[next++] = j;
            }
            if (next == level) return count;
        }
    }

    bool spread(const SymmetricGraph& graph, std::int32_t begin, std::int32_t& done) noexcept {
        std::int32_t at = done;
        order_[done++] = begin, place_[begin] = 0;
        for (; at < done; ++at) {
            const std::int32_t from = done;
            for (long long p = graph.begin[order_[at]]; p < graph.begin[order_[at] + 1]; ++p)
                if (const std::int32_t j = graph.neighbour[p]; place_[j] == none) place_[j] = 0, order_[done++] = j;
            std::sort(order_.data() + from, order_.data() + done, [&](std::int32_t a, std::int32_t b) {
                return degree(graph, a) != degree(graph, b) ? degree(graph, a) < degree(graph, b) : a < b;
            });
        }
        return true;
    }

    static long long degree(const SymmetricGraph& graph, std::int32_t i) noexcept {
        return graph.begin[i + 1] - graph.begin[i];
    }

    std::int32_t n_ = 0, half_ = 0;
    bool as_written_ = true;
    Block<std::int32_t> place_, order_, mark_;
};

template <class Number>
class ChainFactors {
public:
    // Places for an order, which must outlive this; false: no memory.
    [[nodiscard]] bool write(const CompactPattern& matrix, const ChainOrder& order) noexcept {
        matrix_ = &matrix, order_ = &order, n_ = matrix.n, half_ = order.half();
        middle_ = (n_ - half_) / 2;
        const long long numbers = fill() + static_cast<long long>(half_) * width();
        if (half_ >= n_ || numbers > std::numeric_limits<std::int32_t>::max()) return false;
        if (!numbers_.make(numbers) || !slot_.make(matrix.nonzeros) || !row_scale_.make(n_) || !column_scale_.make(n_))
            return false;
        if (!order.as_written() && !y_.make(n_)) return false;
        back_ = numbers_.data() + static_cast<long long>(n_) * half_;
        inner_ = back_ + static_cast<long long>(n_) * (half_ + 1);
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

    // Factors a matrix of these values, in the order of the pattern. A pivot that is zero, or nearly so, is only called
    // poor: chosen by value, there may be others.
    Quality factor(const Number* values) noexcept {
        if (matrix_->nonzeros < fill() - half_ * (half_ + 1)) std::fill_n(numbers_.data(), numbers_.size(), Number(0));
        for (std::int32_t p = 0; p < matrix_->nonzeros; ++p) numbers_[slot_[p]] = values[p];
        return with_half([&](auto half) { return eliminate(half); });
    }

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
        DAEDALUS_INLINE void subtract(Sum& sum, Number factor, std::int32_t i) const noexcept {
            sum = difference(sum, product(factor, b[i]));
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
        DAEDALUS_INLINE void subtract(Sum& sum, Number factor, std::int32_t i) const noexcept {
            sum = difference(sum, product(factor, y[i]));
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
        DAEDALUS_INLINE void subtract(Sum& sum, Number factor, std::int32_t i) const noexcept {
            sum.subtract(factor, row(i));
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

    template <class Known>
    Quality eliminate(Known known) noexcept {
        const std::int32_t half = Known::of(half_);
        PivotWatch watch;
        bool poor = false;
        inwards(known, [&](std::int32_t step, std::int32_t i, std::int32_t reach) DAEDALUS_INLINE_HERE {
            Number *before = to(known, i), *own = back(known, i);
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
        for (std::int32_t i = middle_; i < middle_ + half; ++i) poor |= !eliminate_inner(i, watch);
        return poor ? Quality::poor : watch.quality();
    }

    // A row between the two sides: what the ones of both sides change in it, then those before it.
    bool eliminate_inner(std::int32_t i, PivotWatch& watch) noexcept {
        constexpr Half<-1> any;
        const std::int32_t last = middle_ + half_ - 1;
        Number* const own = inner(i) + half_;
        for (const ChainEnd side : {from_first(), from_last()}) {
            for (std::int32_t d = half_; d > 0; --d) {
                const std::int32_t k = i - side.step * d;
                if (is_inner(k)) continue;
                Number& entry = own[-side.step * d];
                for (std::int32_t c = 1; c <= half_; ++c) {
                    Number& changed = own[side.step * (c - d)];
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
        own[0] = reciprocal(own[0]);
        for (std::int32_t j = i + 1; j <= last; ++j) own[j - i] = product(own[j - i], own[0]);
        return size > suspicious_pivot;
    }

    // The one that was found last comes last: nothing waits for it longer than it must.
    template <class Known, class Vector>
    void substitute(Known known, const Vector vector) const noexcept {
        inwards(known, [&](std::int32_t step, std::int32_t i, std::int32_t reach) DAEDALUS_INLINE_HERE {
            const Number* const before = to(known, i);
            auto sum = vector.begin(i);
            for (std::int32_t d = reach; d > 0; --d) vector.subtract(sum, before[d - 1], i - step * d);
            vector.store(sum, i);
        });
        substitute_inner(vector);
        outwards([&](std::int32_t step, std::int32_t i) DAEDALUS_INLINE_HERE {
            const Number* const own = back(known, i);
            auto sum = vector.load(i);
            vector.multiply(sum, own[0]);
            for (std::int32_t d = Known::of(half_); d > 0; --d) vector.subtract(sum, own[d], i + step * d);
            vector.end(sum, i);
        });
    }

    template <class Vector>
    void substitute_inner(const Vector& vector) const noexcept {
        const std::int32_t first = middle_, last = middle_ + half_ - 1;
        for (std::int32_t i = first; i <= last; ++i) {
            const Number* const own = inner(i) + half_;
            auto sum = vector.begin(i);
            for (std::int32_t j = i - half_; j <= i + half_; ++j)
                if (j < i || j > last) vector.subtract(sum, own[j - i], j);
            vector.store(sum, i);
        }
        for (std::int32_t i = last; i >= first; --i) {
            const Number* const own = inner(i) + half_;
            auto sum = vector.load(i);
            vector.multiply(sum, own[0]);
            for (std::int32_t j = last; j > i; --j) vector.subtract(sum, own[j - i], j);
            vector.end(sum, i);
        }
    }

    const CompactPattern* matrix_ = nullptr;
    const ChainOrder* order_ = nullptr;
    std::int32_t n_ = 0, half_ = 0, middle_ = 0;
    Number *back_ = nullptr, *inner_ = nullptr;  // in the numbers
    Block<Number> numbers_, y_;
    Block<std::int32_t> slot_;
    Block<double> row_scale_, column_scale_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
