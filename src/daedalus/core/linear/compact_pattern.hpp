// The pattern of a matrix as the factorisations keep it: short indices in memory of their own.
#pragma once

#include <cstdint>
#include <limits>

#include "linear/pattern.hpp"
#include "machine/block.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Column c holds rows[begin[c] .. begin[c + 1]).
struct CompactPattern {
    std::int32_t n = 0, nonzeros = 0;
    Block<std::int32_t> begin, rows;
    Shared<KeptOrder> kept;

    [[nodiscard]] bool make(const Pattern& pattern) noexcept {
        constexpr long long most = std::numeric_limits<std::int32_t>::max() / 4;
        if (pattern.n > most || pattern.nonzeros() > most) return false;
        kept = pattern.order;
        n = static_cast<std::int32_t>(pattern.n), nonzeros = static_cast<std::int32_t>(pattern.nonzeros());
        if (!begin.make(n + 1) || !rows.make(nonzeros)) return false;
        for (long long c = 0; c <= n && n > 0; ++c) begin[c] = static_cast<std::int32_t>(pattern.colind.data()[c]);
        for (long long p = 0; p < nonzeros; ++p) rows[p] = static_cast<std::int32_t>(pattern.rows.data()[p]);
        return true;
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
