// ILU(0) by blocks: the unknowns of a cell are eliminated together; or entry by entry, in an order that has every pivot.
//
// Where patterns consist of whole blocks, ILU(0) entry by entry is ILU(0) block by block, with the diagonal blocks factored
// exactly (Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed. 2003, 10.3).
#pragma once

#include <new>

#include "linear/preconditioners/cell_order.hpp"
#include "linear/preconditioners/incomplete_factors.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class BlockFactors {
public:
    [[nodiscard]] bool make(std::int32_t n, const std::int32_t* begin, const std::int32_t* column,
                            const std::vector<std::int32_t>& cells, Completed completed) noexcept {
        try {
            if (!order_.make(n, begin, column, cells, completed)) return false;
            values_.resize(order_.column.size()), moved_.resize(order_.old.size());
        } catch (const std::bad_alloc&) {
            return false;
        }
        return factors_.make(n, order_.begin.data(), order_.column.data());
    }

    bool factor(const Number* values) noexcept {
        for (std::size_t p = 0; p < values_.size(); ++p)
            values_[p] = order_.source[p] < 0 ? Number(0) : values[order_.source[p]];
        return factors_.factor(values_.data());
    }

    // In place.
    void solve(Number* y) noexcept {
        for (std::size_t k = 0; k < moved_.size(); ++k) moved_[k] = y[order_.old[k]];
        factors_.solve(moved_.data());
        for (std::size_t k = 0; k < moved_.size(); ++k) y[order_.old[k]] = moved_[k];
    }

    long long nonzeros() const noexcept { return static_cast<long long>(values_.size()); }

private:
    CellOrder order_;
    std::vector<Number> values_, moved_;
    IncompleteFactors<Number> factors_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
