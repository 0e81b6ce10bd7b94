// Orders the unknowns of a symmetric graph so that elimination fills little, without looking at any value.
//
// Approximate minimum degree (P. R. Amestoy, T. A. Davis, I. S. Duff, SIAM J. Matrix Anal. Appl. 17, 1996). What is
// left over is kept as a quotient graph: an eliminated unknown p becomes an element, the list L_p of its neighbours
// then, and elements that lie in it are absorbed. An unknown i of L_p gets the upper bound
//
//   d_i = min(d_i + |L_p \ i|, |A_i \ i| + |L_p \ i| + sum over its other elements e of |L_e \ L_p|)
//
// of its degree. Unknowns with equal neighbours are numbered together. Rows that are nearly full come last.
//
// An unknown without a diagonal entry (a multiplier of a saddle point) waits until a neighbour of it has been eliminated.
// Its pivot may vanish then, as where differences bind neighbours on a grid: the pressures p, q of a velocity between them
// get the pivots -1 / a and, behind p, 0. Where it waits for all neighbours with a diagonal, A in
//
//   [A  B']
//   [B  0 ]
//
// has been eliminated for whole rows of B at every moment: no pivot -b A^-1 b' vanishes if A is definite and B has full
// rank (M. Benzi, G. H. Golub, J. Liesen, Acta Numerica 14, 2005, section 3.3).
#pragma once

#include <algorithm>
#include <cmath>

#include "linear/compact_pattern.hpp"
#include "linear/count_buckets.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// The graph of A + A' without its diagonal: which unknowns are neighbours, whatever the values.
// The neighbours of i are neighbour[begin[i] .. begin[i + 1]), in increasing order.
struct SymmetricGraph {
    std::int32_t n = 0;
    long long one_sided = 0;  // pairs with an entry on one side of the diagonal only
    Block<long long> begin;
    Block<std::int32_t> neighbour;
    Block<std::uint8_t> has_diagonal;
    long long missing_diagonals = 0;

    // False: no memory.
    [[nodiscard]] bool make(const CompactPattern& matrix) noexcept {
        n = matrix.n;
        Block<long long> next;
        Block<std::int32_t> both;
        if (!begin.make(n + 1) || !next.make(n + 1) || !has_diagonal.make(n) || !both.make(2LL * matrix.nonzeros))
            return false;
        const auto each = [&](auto&& take) {
            for (std::int32_t c = 0; c < n; ++c)
                for (std::int32_t p = matrix.begin[c]; p < matrix.begin[c + 1]; ++p) take(matrix.rows[p], c);
        };
        each([&](std::int32_t i, std::int32_t j) {
            if (i == j)
                has_diagonal[i] = 1;
            else
                ++next[i], ++next[j];
        });
        long long at = 0;
        for (std::int32_t i = 0; i < n; ++i) {
            const long long count = next[i];
            begin[i] = next[i] = at, at += count;
        }
        begin[n] = at;
        each([&](std::int32_t i, std::int32_t j) {
            if (i != j) both[next[i]++] = j, both[next[j]++] = i;
        });
        return keep_each_once(both);
    }

    long long pairs() const noexcept { return begin[n] / 2; }

private:
    bool keep_each_once(Block<std::int32_t>& both) noexcept {
        long long kept = 0;
        for (std::int32_t i = 0; i < n; ++i) {
            std::int32_t *first = both.data() + begin[i], *last = both.data() + begin[i + 1];
            std::sort(first, last);
            begin[i] = kept;
            for (const std::int32_t* p = first; p < last; ++p)
                if (p + 1 < last && p[1] == *p)
                    both[kept++] = *p++;
                else
                    both[kept++] = *p, ++one_sided;
            missing_diagonals += !has_diagonal[i];
        }
        begin[n] = kept;
        one_sided /= 2;
        neighbour.swap(both);
        return true;
    }
};

class MinimumDegree {
public:
    enum class OrderSearch { done, no_order, no_memory };

    // order[k] is the unknown that is eliminated k-th. No order: some unknowns never get a diagonal.
    static OrderSearch find(const SymmetricGraph& graph, Waiting waiting, Block<std::int32_t>& order) noexcept {
        MinimumDegree search(graph, waiting);
        if (!order.make(graph.n) || !search.load()) return OrderSearch::no_memory;
        return search.run(order);
    }

private:
    static constexpr std::int32_t none = -1;

    MinimumDegree(const SymmetricGraph& graph, Waiting waiting) : graph_(graph), waiting_(waiting), n_(graph.n) {}

    bool load() noexcept {
        if (!begin_.make(n_) || !elements_.make(n_) || !length_.make(n_) || !weight_.make(n_) || !degree_.make(n_) ||
            !mark_.make(n_) || !outside_.make(n_) || !hash_.make(n_) || !first_of_hash_.make(n_) || !next_.make(n_) ||
            !member_.make(n_) || !waits_.make(n_) || !stamps_.make(n_) || !last_member_.make(n_) || !role_.make(n_) ||
            !buckets_.make(n_) || !pool_.make(graph_.begin[n_] + n_))
            return false;
        const auto full = static_cast<std::int32_t>(std::fmax(16.0, 10 * std::sqrt(static_cast<double>(n_))));
        for (std::int32_t i = 0; i < n_; ++i) {
            const long long entries = graph_.begin[i + 1] - graph_.begin[i];
            role_[i] = entries > full ? Role::last : graph_.has_diagonal[i] ? Role::ready : Role::waiting;
            weight_[i] = 1, member_[i] = none, last_member_[i] = i, first_of_hash_[i] = none, mark_[i] = none;
        }
        for (std::int32_t i = 0; i < n_; ++i) {
            begin_[i] = used_;
            if (role_[i] == Role::last) continue;
            for (long long p = graph_.begin[i]; p < graph_.begin[i + 1]; ++p)
                if (role_[graph_.neighbour[p]] != Role::last) pool_[used_++] = graph_.neighbour[p];
            length_[i] = static_cast<std::int32_t>(used_ - begin_[i]);
            degree_[i] = length_[i];
            if (role_[i] == Role::waiting && waiting_ == Waiting::for_all)
                for (std::int32_t k = 0; k < length_[i]; ++k) waits_[i] += graph_.has_diagonal[pool_[begin_[i] + k]];
            if (role_[i] == Role::ready) buckets_.add(i, degree_[i]);
            ++left_;
        }
        return true;
    }

    OrderSearch run(Block<std::int32_t>& order) noexcept {
        std::int32_t done = 0;
        const auto number = [&](std::int32_t pivot) {
            for (std::int32_t i = pivot; i != none; i = member_[i]) order[done++] = i;
        };
        while (left_ > 0) {
            const std::int32_t pivot = next_pivot();
            if (pivot == none) return OrderSearch::no_order;
            if (!eliminate(pivot)) return OrderSearch::no_memory;
            number(pivot);
        }
        for (const bool diagonal : {true, false})
            for (std::int32_t i = 0; i < n_; ++i)
                if (role_[i] == Role::last && static_cast<bool>(graph_.has_diagonal[i]) == diagonal) order[done++] = i;
        return OrderSearch::done;
    }

    // Whether neighbours with a diagonal have to be eliminated before this one.
    bool waits(std::int32_t i) const noexcept { return waits_[i] > 0; }

    // Counts an unknown that is eliminated, and what is numbered with it, where others wait for them.
    void release_neighbours(std::int32_t eliminated) noexcept {
        if (waiting_ == Waiting::for_one) return;
        for (std::int32_t j = eliminated; j != none; j = member_[j])
            for (long long p = graph_.begin[j]; graph_.has_diagonal[j] && p < graph_.begin[j + 1]; ++p)
                waits_[graph_.neighbour[p]] -= waits(graph_.neighbour[p]);
    }

    std::int32_t next_pivot() noexcept {
        for (; least_ < n_; ++least_)
            if (const std::int32_t pivot = buckets_.first(least_); pivot != none) return pivot;
        return none;
    }

    bool eliminate(std::int32_t pivot) noexcept {
        buckets_.remove(pivot);
        left_ -= weight_[pivot];
        if (!write_element(pivot)) return false;
        release_neighbours(pivot);
        measure_others(pivot);
        for (std::int32_t k = 0; k < length_[pivot]; ++k) shorten(pivot, pool_[begin_[pivot] + k]);
        join_equal(pivot);
        place_again(pivot);
        return true;
    }

    // L_p: the neighbours of the pivot, its own and those through its elements, which it absorbs.
    bool write_element(std::int32_t pivot) noexcept {
        const long long own = begin_[pivot];
        const std::int32_t elements = elements_[pivot], length = length_[pivot];
        long long most = length;
        for (std::int32_t k = 0; k < elements; ++k) most += length_[pool_[own + k]];
        if (!pool_.reserve(used_ + most)) return false;
        const long long first = used_;
        size_ = 0, mark_[pivot] = pivot;
        const auto take = [&](long long from, long long to) {
            for (long long p = from; p < to; ++p) {
                const std::int32_t i = pool_[p];
                if (role_[i] == Role::gone || role_[i] == Role::element || mark_[i] == pivot) continue;
                mark_[i] = pivot, pool_[used_++] = i, size_ += weight_[i];
                buckets_.remove(i);
            }
        };
        for (std::int32_t k = 0; k < elements; ++k) {
            const std::int32_t e = pool_[own + k];
            if (role_[e] != Role::element) continue;
            take(begin_[e], begin_[e] + length_[e]);
            role_[e] = Role::gone;
        }
        take(own + elements, own + length);
        role_[pivot] = Role::element;
        begin_[pivot] = first, length_[pivot] = static_cast<std::int32_t>(used_ - first), elements_[pivot] = 0;
        degree_[pivot] = size_;
        return true;
    }

    // outside_[e] = |L_e \ L_p| for every element that the unknowns of L_p have.
    void measure_others(std::int32_t pivot) noexcept {
        for (std::int32_t k = 0; k < length_[pivot]; ++k) {
            const std::int32_t i = pool_[begin_[pivot] + k];
            for (std::int32_t q = 0; q < elements_[i]; ++q) {
                const std::int32_t e = pool_[begin_[i] + q];
                if (role_[e] != Role::element || e == pivot) continue;
                if (mark_[e] != pivot) mark_[e] = pivot, outside_[e] = degree_[e];
                outside_[e] -= weight_[i];
            }
        }
    }

    // Leaves in the list of i what L_p does not say already; where nothing is left, i goes with the pivot.
    void shorten(std::int32_t pivot, std::int32_t i) noexcept {
        const long long own = begin_[i];
        const std::int32_t elements = elements_[i], length = length_[i];
        std::uint32_t hash = static_cast<std::uint32_t>(pivot);
        long long beyond = 0;
        std::int32_t kept = 0;
        for (std::int32_t q = 0; q < elements; ++q) {
            const std::int32_t e = pool_[own + q];
            if (role_[e] != Role::element || e == pivot) continue;
            // An element that lies in this one altogether says nothing more.
            if (outside_[e] == 0) {
                role_[e] = Role::gone;
                continue;
            }
            pool_[own + kept++] = e, beyond += outside_[e], hash += static_cast<std::uint32_t>(e);
        }
        const std::int32_t kept_elements = kept;
        // The list has room for the new element: it has lost the pivot, or an element that the pivot absorbed. One unknown
        // is held back, so that nothing is written over before it is read.
        std::int32_t held = none;
        for (std::int32_t q = elements; q < length; ++q) {
            const std::int32_t j = pool_[own + q];
            if (role_[j] == Role::gone || role_[j] == Role::element || mark_[j] == pivot) continue;
            beyond += weight_[j], hash += static_cast<std::uint32_t>(j);
            if (held == none)
                held = j;
            else
                pool_[own + ++kept] = j;
        }
        if (held != none) pool_[own + ++kept] = held;
        pool_[own + kept_elements] = pivot;
        elements_[i] = kept_elements + 1, length_[i] = kept + 1;
        if (beyond == 0 && !waits(i)) {
            release_neighbours(i);
            absorb(pivot, i);
            size_ -= weight_[i], left_ -= weight_[i];
            return;
        }
        if (beyond < degree_[i]) degree_[i] = static_cast<std::int32_t>(beyond);
        hash_[i] = hash % static_cast<std::uint32_t>(n_);
    }

    // i is numbered with `other`, right after it.
    void absorb(std::int32_t other, std::int32_t i) noexcept {
        member_[last_member_[other]] = i, last_member_[other] = last_member_[i];
        role_[i] = Role::gone;
    }

    // Unknowns of L_p whose lists are equal become one.
    void join_equal(std::int32_t pivot) noexcept {
        for (std::int32_t k = 0; k < length_[pivot]; ++k) {
            const std::int32_t i = pool_[begin_[pivot] + k];
            if (role_[i] == Role::gone || waits(i)) continue;
            const auto slot = static_cast<std::int32_t>(hash_[i]);
            std::int32_t j = first_of_hash_[slot];
            for (; j != none && !equal_lists(i, j); j = next_[j]) {}
            if (j == none) {
                next_[i] = first_of_hash_[slot], first_of_hash_[slot] = i;
            } else {
                absorb(j, i);
                weight_[j] += weight_[i];
            }
        }
        for (std::int32_t k = 0; k < length_[pivot]; ++k) {
            const std::int32_t i = pool_[begin_[pivot] + k];
            first_of_hash_[hash_[i]] = none;
        }
    }
    bool equal_lists(std::int32_t i, std::int32_t j) noexcept {
        if (length_[i] != length_[j] || elements_[i] != elements_[j]) return false;
        ++stamp_;
        for (std::int32_t q = 0; q < length_[i]; ++q) stamps_[pool_[begin_[i] + q]] = stamp_;
        for (std::int32_t q = 0; q < length_[j]; ++q)
            if (stamps_[pool_[begin_[j] + q]] != stamp_) return false;
        return true;
    }

    void place_again(std::int32_t pivot) noexcept {
        std::int32_t kept = 0;
        const std::int32_t length = length_[pivot];
        for (std::int32_t k = 0; k < length; ++k) {
            const std::int32_t i = pool_[begin_[pivot] + k];
            if (role_[i] == Role::gone) continue;
            pool_[begin_[pivot] + kept++] = i;
            degree_[i] = std::min(degree_[i] + size_, left_) - weight_[i];
            if (waits(i)) continue;
            role_[i] = Role::ready;
            buckets_.add(i, degree_[i]);
            if (degree_[i] < least_) least_ = degree_[i];
        }
        length_[pivot] = kept, degree_[pivot] = size_;
        used_ = begin_[pivot] + kept;
        if (kept == 0) role_[pivot] = Role::gone;
    }

    // Last: a row that is nearly full. Gone: numbered, joined to another or absorbed.
    enum class Role : std::uint8_t { ready, waiting, last, element, gone };

    const SymmetricGraph& graph_;
    Waiting waiting_;
    std::int32_t n_, left_ = 0, size_ = 0, least_ = 0;
    long long used_ = 0, stamp_ = 0;
    Block<long long> begin_, stamps_;
    Block<std::int32_t> pool_;
    // Of an unknown: its list is first elements, then unknowns; of an element: unknowns.
    Block<std::int32_t> elements_, length_, weight_, degree_, mark_, outside_, waits_;
    Block<std::uint32_t> hash_;
    Block<std::int32_t> first_of_hash_, next_, member_, last_member_;
    Block<Role> role_;
    CountBuckets buckets_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
