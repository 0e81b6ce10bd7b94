// Which entries of a square matrix may be nonzero, in compressed columns as CasADi writes them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "machine/shared.hpp"

namespace daedalus {

// How long an unknown without a diagonal entry waits: until one neighbour has been eliminated, whose pivot gives it a
// diagonal, or until all have that have a diagonal themselves.
enum class Waiting { for_one, for_all };

// The orders of elimination that a pattern was found to have, for all solvers of all runs. Each is written once, by
// whoever is first: the same pattern has the same order, whoever looks for it.
class KeptOrder {
public:
    KeptOrder() = default;
    ~KeptOrder() {
        for (auto& order : orders_) delete order.load();
    }
    KeptOrder(const KeptOrder&) = delete;
    KeptOrder& operator=(const KeptOrder&) = delete;

    const std::vector<std::int32_t>* find(Waiting waiting) const noexcept {
        return orders_[place(waiting)].load(std::memory_order_acquire);
    }
    void keep(Waiting waiting, const std::int32_t* order, std::int32_t count) {
        const auto* made = new std::vector<std::int32_t>(order, order + count);
        const std::vector<std::int32_t>* none = nullptr;
        if (!orders_[place(waiting)].compare_exchange_strong(none, made, std::memory_order_acq_rel)) delete made;
    }
    std::atomic<long long> searches{0};

private:
    static constexpr std::size_t place(Waiting waiting) noexcept { return waiting == Waiting::for_one ? 0 : 1; }

    std::array<std::atomic<const std::vector<std::int32_t>*>, 2> orders_{};
};

// Column c holds rows[colind[c] .. colind[c + 1]).
struct Pattern {
    long long n = 0;
    std::vector<long long> colind, rows;
    Shared<KeptOrder> order = Shared<KeptOrder>::make();  // copies have the same

    DAEDALUS_INLINE long long nonzeros() const { return static_cast<long long>(rows.size()); }
};

}  // namespace daedalus
