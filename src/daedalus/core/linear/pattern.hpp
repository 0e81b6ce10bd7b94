// Which entries of a square matrix may be nonzero, in compressed columns as CasADi writes them.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "machine/shared.hpp"

namespace daedalus {

// The order of elimination that a pattern was found to have, for all solvers of all runs. Written once, by whoever is
// first: the same pattern has the same order, whoever looks for it.
class KeptOrder {
public:
    KeptOrder() = default;
    ~KeptOrder() { delete order_.load(); }
    KeptOrder(const KeptOrder&) = delete;
    KeptOrder& operator=(const KeptOrder&) = delete;

    const std::vector<std::int32_t>* find() const noexcept { return order_.load(std::memory_order_acquire); }
    void keep(const std::int32_t* order, std::int32_t count) {
        const auto* made = new std::vector<std::int32_t>(order, order + count);
        const std::vector<std::int32_t>* none = nullptr;
        if (!order_.compare_exchange_strong(none, made, std::memory_order_acq_rel)) delete made;
    }
    std::atomic<long long> searches{0};

private:
    std::atomic<const std::vector<std::int32_t>*> order_{nullptr};
};

// Column c holds rows[colind[c] .. colind[c + 1]).
struct Pattern {
    long long n = 0;
    std::vector<long long> colind, rows;
    Shared<KeptOrder> order = Shared<KeptOrder>::make();  // copies have the same

    DAEDALUS_INLINE long long nonzeros() const { return static_cast<long long>(rows.size()); }
};

}  // namespace daedalus
