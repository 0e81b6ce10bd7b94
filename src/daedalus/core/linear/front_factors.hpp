// L and U front by front: for the factors of large matrices, whose pivots come in groups that reach the same rows.
//
// Subtrees of fronts that need nothing of each other are factored side by side by threads, the fronts above them by one.
// Every front does the same with the same numbers, whoever works on it: the bits do not depend on how many there are.
#pragma once

#include <array>
#include <atomic>
#include <system_error>
#include <thread>

#include "linear/column_band.hpp"
#include "linear/front_elimination.hpp"
#include "linear/fronts.hpp"
#include "linear/matrix_form.hpp"
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
        if (!at_.make(count + 1) || !entry_begin_.make(count + 1) ||
            !entry_place_.make(matrix.nonzeros) || !entry_source_.make(matrix.nonzeros) ||
            !entry_scale_.make(matrix.nonzeros) || !row_scale_.make(n_) || !column_scale_.make(n_) ||
            !inverse_.make(n_) || !y_.make(n_))
            return false;
        long long numbers = 0;
        std::int32_t most_below = 0;
        for (std::int32_t s = 0; s < count; ++s) {
            const long long pivots = fronts_.pivots(s), size = fronts_.size(s), below = size - pivots;
            at_[s] = numbers, numbers += pivots * size + below * pivots;
            most_below = std::max(most_below, fronts_.below(s));
        }
        at_[count] = numbers;
        if (!factors_.make(numbers) || !desks_[0].make(fronts_, 0, count) || !gathered_.make(most_below)) return false;
        if (!find_subtrees(structure.tree.operations())) return false;
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
    Quality factor(const Number* values, PivotWatch& seen) noexcept {
        PivotWatch watch;
        Desk& desk = desks_[0];
        desk.clear();
        const std::int32_t apart = threads() < 2 ? 0 : subtrees_;
        if (apart > 0 && !eliminate_subtrees(values, watch)) return Quality::poor;
        std::int32_t next = 0;
        for (std::int32_t k = 0; k < apart; ++k) {
            if (!eliminate(next, subtree_[k].first, values, desk, watch)) return Quality::poor;
            desk.put(subtree_[k].last, rests_.data() + subtree_[k].rest, fronts_.below(subtree_[k].last));
            next = subtree_[k].last + 1;
        }
        const bool done = eliminate(next, fronts_.count(), values, desk, watch);
        seen = watch;
        return done ? watch.quality() : Quality::poor;
    }

private:
    static constexpr int most_threads = 4;
    static constexpr std::int32_t most_subtrees = 256;
    // A factorisation of so many operations takes some 20 ms, a thread less than 0.1 ms to start.
    static constexpr double worth_threads = 5e7;

    struct Subtree {
        std::int32_t first = 0, last = 0;
        long long rest = 0;
    };

    // What one thread works with: a front, and what finished fronts left over for their parents.
    struct Desk {
        Block<Number> stack, front;
        Block<std::int32_t> waiting;
        long long top = 0;
        std::int32_t depth = 0;

        // Room for the fronts from first to last, the last one not taken; at least as much as there is.
        [[nodiscard]] bool make(const Fronts& fronts, std::int32_t first, std::int32_t last) noexcept {
            long long held = 0, most_stack = 0, most_front = 0;
            Block<long long> sizes;
            if (!sizes.make(last - first + 1)) return false;
            std::int32_t count = 0, deepest = 0;
            for (std::int32_t s = first; s < last; ++s) {
                const long long size = fronts.size(s), below = fronts.below(s);
                for (std::int32_t c = 0; c < fronts.children(s); ++c) held -= sizes[--count];
                if (below > 0) sizes[count++] = below * below, held += below * below;
                most_stack = std::max(most_stack, held), deepest = std::max(deepest, count);
                most_front = std::max(most_front, size * FrontElimination<Number>::row_length(fronts.size(s)));
            }
            return (most_stack <= stack.size() || stack.make(most_stack)) &&
                   (most_front <= front.size() || front.make(most_front)) &&
                   (deepest + 1 <= waiting.size() || waiting.make(deepest + 1));
        }
        void clear() noexcept { top = 0, depth = 0; }
        // The full rows below a front.
        void put(std::int32_t s, const Number* rest, long long below) noexcept {
            if (below == 0) return;
            std::copy_n(rest, below * below, stack.data() + top);
            top += below * below, waiting[depth++] = s;
        }
    };

    static int threads() noexcept {
        const int wanted = factor_threads.load(std::memory_order_relaxed);
        const auto present = static_cast<int>(std::thread::hardware_concurrency());
        return std::min(most_threads, wanted > 0 ? wanted : present);
    }

    // The largest subtrees with a small share of the work each, where they have much of it together; false: no memory.
    bool find_subtrees(long long operations) noexcept {
        subtrees_ = 0;
        if (static_cast<double>(operations) < worth_threads) return true;
        const std::int32_t count = fronts_.count();
        Block<double> work;
        Block<std::int32_t> begin, waiting;
        if (!work.make(count) || !begin.make(count) || !waiting.make(count + 1)) return false;
        std::int32_t depth = 0;
        double total = 0;
        for (std::int32_t s = 0; s < count; ++s) {
            const double pivots = fronts_.pivots(s), size = fronts_.size(s);
            begin[s] = s, work[s] = pivots * size * size, total += work[s];
            for (std::int32_t c = 0; c < fronts_.children(s); ++c) {
                const std::int32_t child = waiting[--depth];
                begin[s] = std::min(begin[s], begin[child]), work[s] += work[child];
            }
            if (fronts_.below(s) > 0) waiting[depth++] = s;
        }
        Block<Subtree> chosen;
        if (!chosen.make(most_subtrees)) return false;
        double covered = 0;
        for (std::int32_t s = count - 1; s >= 0 && subtrees_ < most_subtrees;) {
            if (work[s] > total / 16) {
                --s;
                continue;
            }
            if (work[s] > total / 1000) chosen[subtrees_++] = {begin[s], s, 0}, covered += work[s];
            s = begin[s] - 1;
        }
        if (covered < total / 4) subtrees_ = 0;
        if (subtrees_ == 0) return true;
        std::reverse(chosen.data(), chosen.data() + subtrees_);
        long long rests = 0;
        for (std::int32_t k = 0; k < subtrees_; ++k) {
            const long long below = fronts_.below(chosen[k].last);
            chosen[k].rest = rests, rests += below * below;
        }
        subtree_.swap(chosen);
        return rests_.make(rests) && make_desks();
    }
    bool make_desks() noexcept {
        for (int thread = 1; thread < threads() && thread <= subtrees_; ++thread)
            for (std::int32_t k = 0; k < subtrees_; ++k)
                if (!desks_[static_cast<std::size_t>(thread)].make(fronts_, subtree_[k].first, subtree_[k].last + 1)) return false;
        return true;
    }

    bool eliminate_subtrees(const Number* values, PivotWatch& watch) noexcept {
        std::atomic<std::int32_t> next{0};
        std::atomic<bool> poor{false};
        std::array<PivotWatch, most_threads> watches;
        const auto work = [&](std::size_t own) {
            Desk& desk = desks_[own];
            for (std::int32_t k = next++; k < subtrees_ && !poor; k = next++) {
                const Subtree& subtree = subtree_[k];
                desk.clear();
                if (!eliminate(subtree.first, subtree.last + 1, values, desk, watches[own])) poor = true;
                const long long below = fronts_.below(subtree.last);
                if (!poor) std::copy_n(desk.stack.data(), below * below, rests_.data() + subtree.rest);
            }
        };
        std::array<std::thread, most_threads> others;
        for (std::size_t k = 1; k < most_threads && desks_[k].front.size() > 0 && static_cast<int>(k) < threads(); ++k) {
            try {
                others[k] = std::thread(work, k);
            } catch (const std::system_error&) {
                break;  // the machine gives no more: those that there are do it
            }
        }
        work(0);
        for (std::thread& other : others)
            if (other.joinable()) other.join();
        desks_[0].clear();
        for (const PivotWatch& one : watches) watch.join(one);
        return !poor;
    }

    // The fronts from first to last, the last one not taken; false: a pivot is poor.
    bool eliminate(std::int32_t first, std::int32_t last, const Number* values, Desk& desk, PivotWatch& watch) noexcept {
        const FlushedNumbers flushed;
        long long& top = desk.top;
        std::int32_t& depth = desk.depth;
        for (std::int32_t s = first; s < last; ++s) {
            const std::int32_t pivots = fronts_.pivots(s), size = fronts_.size(s), below = size - pivots;
            const long long row = FrontElimination<Number>::row_length(size);
            Number* front = desk.front.data();
            std::fill_n(front, size * row, Number(0));
            for (long long p = entry_begin_[s]; p < entry_begin_[s + 1]; ++p) {
                const std::int32_t source = entry_source_[p];
                front[entry_place_[p]] = scaled(values[source], entry_scale_[source]);
            }
            for (std::int32_t c = 0; c < fronts_.children(s); ++c) {
                const std::int32_t child = desk.waiting[--depth];
                const long long rows = fronts_.below(child);
                top -= rows * rows;
                add_child(front, row, child, desk.stack.data() + top);
            }
            Number* inverse = inverse_.data() + fronts_.first(s);
            if (!FrontElimination<Number>::run(front, row, pivots, size, suspicious_pivot, inverse))
                return false;
            keep(s, front, row, watch);
            if (below == 0) continue;
            Number* rest = desk.stack.data() + top;
            for (std::int32_t i = 0; i < below; ++i)
                std::copy_n(front + (pivots + i) * row + pivots, below, rest + static_cast<long long>(i) * below);
            top += static_cast<long long>(below) * below, desk.waiting[depth++] = s;
        }
        return true;
    }

public:

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
    Block<std::int32_t> entry_source_;
    Block<double> entry_scale_, row_scale_, column_scale_;
    Block<Number> factors_, inverse_, rests_, y_, gathered_;
    std::array<Desk, most_threads> desks_;
    Block<Subtree> subtree_;  // in their order
    std::int32_t subtrees_ = 0;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
