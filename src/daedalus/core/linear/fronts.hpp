// Pivots that reach the same rows, eliminated together: the full matrices (fronts) that a sparse factorisation is made of.
//
// Multifrontal elimination (I. S. Duff, J. K. Reid, ACM Trans. Math. Softw. 9, 1983). A front holds some pivots that
// follow each other and the rows they reach; what is left of it after them is added to the front of its parent. A child
// is joined to its parent where that costs few zeros (C. Ashcraft, R. Grimes, ACM Trans. Math. Softw. 15, 1989).
#pragma once

#include "linear/structure_order.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

class Fronts {
public:
    // False: no memory.
    [[nodiscard]] bool make(const StructureOrder& structure) noexcept {
        n_ = structure.graph.n;
        return gather_pivots(structure.tree) && find_rows(structure) && find_places();
    }

    std::int32_t count() const noexcept { return count_; }
    // The pivots [first, last) of a front, and how many rows lie below them.
    std::int32_t first(std::int32_t s) const noexcept { return begin_[s]; }
    std::int32_t pivots(std::int32_t s) const noexcept { return begin_[s + 1] - begin_[s]; }
    std::int32_t below(std::int32_t s) const noexcept { return static_cast<std::int32_t>(row_begin_[s + 1] - row_begin_[s]); }
    std::int32_t size(std::int32_t s) const noexcept { return pivots(s) + below(s); }
    // The rows below, by their places in the order; and where they lie in the front of the parent.
    const std::int32_t* rows(std::int32_t s) const noexcept { return rows_.data() + row_begin_[s]; }
    const std::int32_t* in_parent(std::int32_t s) const noexcept { return in_parent_.data() + row_begin_[s]; }
    std::int32_t children(std::int32_t s) const noexcept { return children_[s]; }
    std::int32_t front_of(std::int32_t place) const noexcept { return front_of_[place]; }
    // Where a row of the matrix lies in a front that has it.
    std::int32_t local(std::int32_t s, std::int32_t place) const noexcept {
        if (place < begin_[s + 1]) return place - begin_[s];
        return static_cast<std::int32_t>(pivots(s) + (std::lower_bound(rows(s), rows(s) + below(s), place) - rows(s)));
    }

private:
    static constexpr std::int32_t none = EliminationTree::none;

    // Which share of zeros a joined front of this many pivots may have.
    static bool worth_joining(long long pivots, double zeros, double entries) noexcept {
        if (pivots <= 4) return true;
        return zeros < (pivots <= 16 ? 0.4 : pivots <= 48 ? 0.1 : 0.05) * entries;
    }

    bool gather_pivots(const EliminationTree& tree) noexcept {
        Block<double> zeros;
        if (!begin_.make(n_ + 1) || !front_of_.make(n_) || !zeros.make(n_ + 1)) return false;
        std::int32_t made = 0;
        for (std::int32_t k = 0; k < n_;) {
            std::int32_t end = k + 1;
            while (end < n_ && tree.parent[end - 1] == end && tree.count[end - 1] == tree.count[end] + 1) ++end;
            begin_[made] = k, zeros[made] = 0;
            const double below = tree.count[end - 1];
            // The last child ends where this front begins.
            while (made > 0 && tree.parent[begin_[made] - 1] != none && tree.parent[begin_[made] - 1] < end) {
                const double child = begin_[made] - begin_[made - 1], own = end - begin_[made];
                const double more = child * (own + below - tree.count[begin_[made] - 1]);
                const double all = zeros[made] + zeros[made - 1] + more, pivots = child + own;
                if (!worth_joining(end - begin_[made - 1], all, pivots * (0.5 * pivots + below))) break;
                zeros[--made] = all;
            }
            ++made, k = end;
        }
        begin_[made] = n_, count_ = made;
        for (std::int32_t s = 0; s < count_; ++s)
            for (std::int32_t k = begin_[s]; k < begin_[s + 1]; ++k) front_of_[k] = s;
        return true;
    }

    // The rows of a front: neighbours of its pivots, and what its children reach.
    bool find_rows(const StructureOrder& structure) noexcept {
        const SymmetricGraph& graph = structure.graph;
        Block<std::int32_t> mark, first_child, sibling;
        if (!row_begin_.make(count_ + 1) || !children_.make(count_) || !mark.make(n_) || !first_child.make(count_) ||
            !sibling.make(count_))
            return false;
        for (std::int32_t s = 0; s < count_; ++s) first_child[s] = sibling[s] = none;
        for (std::int32_t k = 0; k < n_; ++k) mark[k] = none;
        long long used = 0;
        for (std::int32_t s = 0; s < count_; ++s) {
            row_begin_[s] = used;
            const std::int32_t end = begin_[s + 1];
            const auto take = [&](std::int32_t place) {
                if (place < end || mark[place] == s) return;
                mark[place] = s, rows_[used++] = place;
            };
            if (!rows_.reserve(used + n_ - end)) return false;
            for (std::int32_t k = begin_[s]; k < end; ++k) {
                const std::int32_t unknown = structure.order[k];
                for (long long p = graph.begin[unknown]; p < graph.begin[unknown + 1]; ++p)
                    take(structure.tree.place[graph.neighbour[p]]);
            }
            for (std::int32_t t = first_child[s]; t != none; t = sibling[t]) {
                ++children_[s];
                for (long long r = row_begin_[t]; r < row_begin_[t + 1]; ++r) take(rows_[r]);
            }
            std::sort(rows_.data() + row_begin_[s], rows_.data() + used);
            if (used > row_begin_[s]) {
                const std::int32_t parent = front_of_[rows_[row_begin_[s]]];
                sibling[s] = first_child[parent], first_child[parent] = s;
            }
        }
        row_begin_[count_] = used;
        return true;
    }

    bool find_places() noexcept {
        if (!in_parent_.make(row_begin_[count_])) return false;
        for (std::int32_t s = 0; s < count_; ++s) {
            if (below(s) == 0) continue;
            const std::int32_t parent = front_of_[rows(s)[0]];
            std::int32_t* to = in_parent_.data() + row_begin_[s];
            // Both lists increase.
            const std::int32_t *own = rows(s), *of_parent = rows(parent);
            std::int32_t q = 0;
            for (std::int32_t r = 0; r < below(s); ++r)
                if (own[r] < begin_[parent + 1]) {
                    to[r] = own[r] - begin_[parent];
                } else {
                    while (of_parent[q] != own[r]) ++q;
                    to[r] = pivots(parent) + q;
                }
        }
        return true;
    }

    std::int32_t n_ = 0, count_ = 0;
    Block<std::int32_t> begin_, front_of_, children_, rows_, in_parent_;
    Block<long long> row_begin_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
