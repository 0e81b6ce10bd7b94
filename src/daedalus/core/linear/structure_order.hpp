// The order of elimination that the pattern alone gives: pivots on the diagonal, least fill, no look at the values.
//
// It serves every matrix of the pattern and whichever step made it. Whether diagonal pivots are good enough is seen when
// numbers come: small pivots, growth and the backward error are watched, and pivots chosen by value take over.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "linear/minimum_degree.hpp"
#include "linear/pivot_order.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// What eliminating a symmetric graph in a given order fills: the tree of the order, and how many rows every pivot reaches.
//
// The parent of a pivot is the first one that its elimination changes (J. W. H. Liu, SIAM J. Matrix Anal. Appl. 11,
// 1990). The order is changed to one in which every subtree stands together and the largest child stands last: the
// fill is the same, and pivots with equal rows are neighbours.
class EliminationTree {
public:
    static constexpr std::int32_t none = -1;

    // From an order of the unknowns, which is changed; false: no memory.
    [[nodiscard]] bool make(const SymmetricGraph& graph, Block<std::int32_t>& order) noexcept {
        n_ = graph.n;
        if (!place.make(n_) || !parent.make(n_) || !count.make(n_) || !mark_.make(n_) || !first_.make(n_) ||
            !next_.make(n_) || !moved_.make(n_))
            return false;
        number(order);
        find_parents(graph, order);
        count_rows(graph, order);
        sort_subtrees(order);
        number(order);
        return true;
    }

    // Nonzeros of L and U, and the multiplications with subtraction that make them.
    long long fill() const noexcept {
        long long sum = n_;
        for (std::int32_t k = 0; k < n_; ++k) sum += 2LL * count[k];
        return sum;
    }
    long long operations() const noexcept {
        long long sum = 0;
        for (std::int32_t k = 0; k < n_; ++k) sum += count[k] * (1LL + count[k]);
        return sum;
    }

    // By places in the order: the place of an unknown; the parent of a pivot; the rows below it.
    Block<std::int32_t> place, parent, count;

private:
    void number(const Block<std::int32_t>& order) noexcept {
        for (std::int32_t k = 0; k < n_; ++k) place[order[k]] = k;
    }

    // Every neighbour that came before leads, over its ancestors, to this one; ancestors are kept short.
    void find_parents(const SymmetricGraph& graph, const Block<std::int32_t>& order) noexcept {
        std::int32_t* ancestor = mark_.data();
        for (std::int32_t k = 0; k < n_; ++k) {
            parent[k] = ancestor[k] = none;
            for (long long p = graph.begin[order[k]]; p < graph.begin[order[k] + 1]; ++p)
                for (std::int32_t j = place[graph.neighbour[p]], up; j != none && j < k; j = up) {
                    up = ancestor[j], ancestor[j] = k;
                    if (up == none) parent[j] = k;
                }
        }
    }

    // Row k of L has an entry in every pivot on the way from a neighbour up to k.
    void count_rows(const SymmetricGraph& graph, const Block<std::int32_t>& order) noexcept {
        for (std::int32_t k = 0; k < n_; ++k) mark_[k] = none, count[k] = 0;
        for (std::int32_t k = 0; k < n_; ++k) {
            mark_[k] = k;
            for (long long p = graph.begin[order[k]]; p < graph.begin[order[k] + 1]; ++p)
                for (std::int32_t j = place[graph.neighbour[p]]; j < k && mark_[j] != k; j = parent[j])
                    mark_[j] = k, ++count[j];
        }
    }

    // Depth first without recursion; a child with more rows stands later.
    void sort_subtrees(Block<std::int32_t>& order) noexcept {
        std::int32_t *head = first_.data(), *next = next_.data(), *waiting = mark_.data(), *sorted = moved_.data();
        for (std::int32_t k = 0; k < n_; ++k) head[k] = none, sorted[k] = k;
        std::sort(sorted, sorted + n_, [&](std::int32_t a, std::int32_t b) {
            return count[a] != count[b] ? count[a] > count[b] : a < b;
        });
        std::int32_t roots = none;
        for (std::int32_t s = 0; s < n_; ++s) {
            const std::int32_t k = sorted[s];
            std::int32_t& list = parent[k] == none ? roots : head[parent[k]];
            next[k] = list, list = k;
        }
        std::int32_t done = 0;
        for (std::int32_t root = roots; root != none; root = next[root]) {
            std::int32_t depth = 0;
            waiting[depth++] = root;
            while (depth > 0) {
                const std::int32_t k = waiting[depth - 1];
                if (const std::int32_t child = head[k]; child != none)
                    head[k] = next[child], waiting[depth++] = child;
                else
                    sorted[done++] = k, --depth;
            }
        }
        renumber(order);
    }

    // moved_[k] is the old place of what stands k-th now.
    void renumber(Block<std::int32_t>& order) noexcept {
        std::int32_t *fresh = first_.data(), *kept = next_.data(), *values = mark_.data();
        for (std::int32_t k = 0; k < n_; ++k) fresh[moved_[k]] = k;
        for (std::int32_t k = 0; k < n_; ++k)
            kept[k] = order[moved_[k]],
            values[k] = parent[moved_[k]] == none ? none : fresh[parent[moved_[k]]];
        for (std::int32_t k = 0; k < n_; ++k) order[k] = kept[k], parent[k] = values[k];
        for (std::int32_t k = 0; k < n_; ++k) kept[k] = count[moved_[k]];
        for (std::int32_t k = 0; k < n_; ++k) count[k] = kept[k];
    }

    std::int32_t n_ = 0;
    Block<std::int32_t> mark_, first_, next_, moved_;
};

class StructureOrder {
public:
    // Below, looking at values costs little and finds orders as good.
    static constexpr std::int32_t least_unknowns = 500;

    // The graph, of a matrix that is large enough.
    Choice read(const CompactPattern& matrix) noexcept {
        if (matrix.n < least_unknowns) return Choice::singular;
        return graph.make(matrix) ? Choice::made : Choice::no_memory;
    }
    // Whether the graph that was read has such an order. Saddle points have no diagonal in part but are symmetric; where
    // rows belong to other columns altogether, only values tell which.
    Choice find(const CompactPattern& matrix) noexcept {
        if (graph.missing_diagonals > 0 && 10 * graph.one_sided > graph.pairs()) return Choice::singular;
        return find(matrix, Waiting::for_one);
    }
    // For values that let a pivot of the first order vanish: unknowns without a diagonal wait for all their neighbours.
    // Singular: nothing waits, or has done so already.
    Choice find_later(const CompactPattern& matrix) noexcept {
        if (graph.missing_diagonals == 0 || waiting_ == Waiting::for_all) return Choice::singular;
        return find(matrix, Waiting::for_all);
    }

    SymmetricGraph graph;
    EliminationTree tree;
    Block<std::int32_t> order;

private:
    Choice find(const CompactPattern& matrix, Waiting waiting) noexcept {
        waiting_ = waiting;
        if (const Choice known = find_order(matrix); known != Choice::made) return known;
        return tree.make(graph, order) ? Choice::made : Choice::no_memory;
    }
    // That of an earlier solver with this pattern, else a new one.
    Choice find_order(const CompactPattern& matrix) noexcept {
        if (const auto* known = matrix.kept ? matrix.kept->find(waiting_) : nullptr) {
            if (!order.make(matrix.n)) return Choice::no_memory;
            std::copy(known->begin(), known->end(), order.data());
            return Choice::made;
        }
        if (matrix.kept) ++matrix.kept->searches;
        switch (MinimumDegree::find(graph, waiting_, order)) {
            case MinimumDegree::OrderSearch::no_memory: return Choice::no_memory;
            case MinimumDegree::OrderSearch::no_order: return Choice::singular;
            case MinimumDegree::OrderSearch::done: break;
        }
        try {
            if (matrix.kept) matrix.kept->keep(waiting_, order.data(), matrix.n);
        } catch (const std::bad_alloc&) {
            return Choice::no_memory;
        }
        return Choice::made;
    }

    Waiting waiting_ = Waiting::for_one;
};

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

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
