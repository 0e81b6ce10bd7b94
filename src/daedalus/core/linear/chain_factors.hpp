// L D U of a matrix whose unknowns stand in a row: a narrow band, pivots on its diagonal, and no lists of places.
//
//   a_ij <- a_ij - a_ik u_kj,  l_ik = a_ik / d_k,  u_kj = a_kj / d_k,  within `half` places of the diagonal
//
// (G. H. Golub, C. F. Van Loan, Matrix Computations, section 4.3.5). Both triangles are scaled, so that a substitution
// waits for one multiplication with subtraction from each unknown to the next. Fields on a line, chains and ladders have
// such orders, however their unknowns are numbered.
#pragma once

#include <algorithm>
#include <cstdlib>

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
        matrix_ = &matrix, order_ = &order, n_ = matrix.n, half_ = order.half(), width_ = 2 * half_ + 1;
        // Rows before the first and behind the last one are zero, and so is what was solved for there.
        return rows_.make((n_ + 2LL * half_) * width_) && y_.make(n_ + 2LL * half_) && row_scale_.make(n_) &&
               column_scale_.make(n_);
    }

    long long fill() const noexcept { return static_cast<long long>(n_) * width_; }
    long long operations() const noexcept { return static_cast<long long>(n_) * half_ * (half_ + 1); }

    // What rows and columns of the matrix are multiplied by from now on.
    void take_scales(const double* rows, const double* columns) noexcept {
        for (std::int32_t k = 0; k < n_; ++k)
            row_scale_[k] = rows[order_->unknown(k)], column_scale_[k] = columns[order_->unknown(k)];
    }

    // Factors a matrix of these values, in the order of the pattern. A pivot that is zero, or nearly so, is only called
    // poor: chosen by value, there may be others.
    Quality factor(const Number* values) noexcept {
        std::fill_n(rows_.data(), rows_.size(), Number(0));
        for (std::int32_t c = 0; c < n_; ++c) {
            const std::int32_t j = order_->place(c);
            for (std::int32_t p = matrix_->begin[c]; p < matrix_->begin[c + 1]; ++p) {
                const std::int32_t i = order_->place(matrix_->rows[p]);
                row(i)[half_ + j - i] = scaled(values[p], row_scale_[i] * column_scale_[j]);
            }
        }
        return with_half([&](auto half) { return eliminate(half); });
    }

    // A x = b in place.
    void solve(Number* b) noexcept {
        with_half([&](auto half) { substitute(half, b); });
    }

    // A X = B in place, for some columns at once; `y` has room for n rows of them.
    template <int width>
    void solve_band(const ColumnBand& band, double* y) noexcept {
        using Row = BandRow<Number, width>;
        Row sum;
        for (std::int32_t i = 0; i < n_; ++i) {
            sum.take(band, order_->unknown(i));
            sum.scale(row_scale_[i]);
            for (std::int32_t d = std::min(half_, i); d > 0; --d) sum.subtract(row(i)[half_ - d], y + (i - d) * Row::size);
            sum.store(y + i * Row::size);
        }
        for (std::int32_t i = n_ - 1; i >= 0; --i) {
            sum.load(y + i * Row::size);
            sum.multiply(row(i)[half_]);
            for (std::int32_t d = std::min(half_, n_ - 1 - i); d > 0; --d)
                sum.subtract(row(i)[half_ + d], y + (i + d) * Row::size);
            sum.store(y + i * Row::size);
            sum.scale(column_scale_[i]);
            sum.give(band, order_->unknown(i));
        }
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

    Number* row(std::int32_t i) noexcept { return rows_.data() + (static_cast<long long>(i) + half_) * width_; }

    template <class Known>
    Quality eliminate(Known) noexcept {
        const std::int32_t half = Known::of(half_), width = 2 * half + 1;
        PivotWatch watch;
        Number* own = row(0);
        for (std::int32_t i = 0; i < n_; ++i, own += width) {
            for (std::int32_t d = half; d > 0; --d) {
                const Number *above = own - d * width, entry = own[half - d];
                for (std::int32_t c = 1; c <= half; ++c)
                    own[half - d + c] = difference(own[half - d + c], product(entry, above[half + c]));
                own[half - d] = product(entry, above[half]);
            }
            double largest = 0;
            for (std::int32_t c = 1; c <= half; ++c) largest = larger(magnitude(own[half + c]), largest);
            const double size = magnitude(own[half]);
            if (!(size > suspicious_pivot)) return Quality::poor;
            watch.see(size, largest, true);
            const Number inverse = reciprocal(own[half]);
            own[half] = inverse;
            for (std::int32_t c = 1; c <= half; ++c) own[half + c] = product(own[half + c], inverse);
        }
        return watch.quality();
    }

    template <class Known>
    void substitute(Known, Number* b) noexcept {
        const std::int32_t half = Known::of(half_), width = 2 * half + 1;
        Number* y = y_.data() + half;
        const Number* own = row(0);
        const bool as_written = order_->as_written();
        if (!as_written)
            for (std::int32_t i = 0; i < n_; ++i) y[i] = b[order_->unknown(i)];
        for (std::int32_t i = 0; i < n_; ++i, own += width) {
            Number sum = scaled(as_written ? b[i] : y[i], row_scale_[i]);
            // The one that was found last comes last: nothing waits for it longer than it must.
            for (std::int32_t d = half; d > 0; --d) sum = difference(sum, product(own[half - d], y[i - d]));
            y[i] = sum;
        }
        for (std::int32_t i = n_ - 1; i >= 0; --i) {
            own -= width;
            Number sum = product(y[i], own[half]);
            for (std::int32_t d = half; d > 0; --d) sum = difference(sum, product(own[half + d], y[i + d]));
            y[i] = sum;
        }
        for (std::int32_t i = 0; i < n_; ++i) b[order_->unknown(i)] = scaled(y[i], column_scale_[i]);
    }

    const CompactPattern* matrix_ = nullptr;
    const ChainOrder* order_ = nullptr;
    std::int32_t n_ = 0, half_ = 0, width_ = 1;
    Block<Number> rows_, y_;
    Block<double> row_scale_, column_scale_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
