// Products with a matrix many of whose rows have their entries at the same distances from the diagonal, as those of a grid.
//
// Such rows follow each other in runs. The values of a run are kept place by place, so that some rows are taken at once and
// nothing is looked up for each of them; the sum of a row has the same order as in any other way.
#pragma once

#include <algorithm>
#include <cstdint>

#include "machine/arithmetic.hpp"
#include "machine/block.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class EqualRows {
public:
    // Row i holds the columns column[begin[i] .. begin[i + 1]), which outlive this; false: no memory.
    [[nodiscard]] bool make(std::int32_t n, const std::int32_t* begin, const std::int32_t* column) noexcept {
        begin_ = begin, column_ = column, count_ = 0;
        std::int32_t runs = 0;
        for (std::int32_t i = 0; i < n; ++i) runs += !continues(i);
        serves_ = static_cast<long long>(runs) * least_length <= n;
        if (!serves_) return true;
        if (!first_.make(runs + 1) || !values_.make(begin[n])) return false;
        for (std::int32_t i = 0; i < n; ++i)
            if (!continues(i)) first_[count_++] = i;
        first_[count_] = n;
        return true;
    }
    // Whether runs are long enough to pay.
    bool serves() const noexcept { return serves_; }

    // Takes values in the order of the columns.
    void fill(const Number* values) noexcept {
        for_runs([&](std::int32_t first, std::int32_t rows, std::int32_t entries) {
            const Number* from = values + begin_[first];
            Number* to = values_.data() + begin_[first];
            for (std::int32_t i = 0; i < rows; ++i)
                for (std::int32_t e = 0; e < entries; ++e) to[e * rows + i] = from[i * entries + e];
        });
    }

    // Calls store(i, (A x)_i) for every row.
    template <class Store>
    DAEDALUS_INLINE void multiply(const Number* x, Store&& store) const noexcept {
        for_runs([&](std::int32_t first, std::int32_t rows, std::int32_t entries) {
            const std::int32_t* column = column_ + begin_[first];
            const Number* values = values_.data() + begin_[first];
            std::int32_t i = 0;
            for (; i + at_once <= rows; i += at_once) {
                Number sum[at_once] = {};
                for (std::int32_t e = 0; e < entries; ++e) {
                    const Number *a = values + e * rows + i, *b = x + column[e] + i;
                    DAEDALUS_SIMD
                    for (int k = 0; k < at_once; ++k) sum[k] += product(a[k], b[k]);
                }
                for (int k = 0; k < at_once; ++k) store(first + i + k, sum[k]);
            }
            for (; i < rows; ++i) {
                Number sum(0);
                for (std::int32_t e = 0; e < entries; ++e) sum += product(values[e * rows + i], x[column[e] + i]);
                store(first + i, sum);
            }
        });
    }

private:
    static constexpr std::int32_t least_length = 8;  // of a run, on average
    static constexpr int at_once = 8;

    bool continues(std::int32_t i) const noexcept {
        if (i == 0) return false;
        const std::int32_t before = begin_[i - 1], own = begin_[i], entries = own - before;
        if (begin_[i + 1] - own != entries) return false;
        bool same = true;
        for (std::int32_t e = 0; e < entries; ++e) same = same && column_[own + e] == column_[before + e] + 1;
        return same;
    }
    template <class Work>
    DAEDALUS_INLINE void for_runs(Work&& work) const noexcept {
        for (std::int32_t r = 0; r < count_; ++r) {
            const std::int32_t first = first_[r];
            work(first, first_[r + 1] - first, begin_[first + 1] - begin_[first]);
        }
    }

    const std::int32_t *begin_ = nullptr, *column_ = nullptr;
    std::int32_t count_ = 0;
    bool serves_ = false;
    Block<std::int32_t> first_;
    Block<Number> values_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
