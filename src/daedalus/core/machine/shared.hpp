// What several owners have together, and the last one deletes.
#pragma once

#include <atomic>
#include <utility>

#include "machine/platform.hpp"

namespace daedalus {

// As std::shared_ptr, whose functions a compiler may leave as shared ones in code for one instruction set.
template <class T>
class Shared {
    struct Counted {
        template <class... Arguments>
        explicit Counted(Arguments&&... arguments) : value(std::forward<Arguments>(arguments)...) {}
        std::atomic<long> owners{1};
        T value;
    };

public:
    DAEDALUS_INLINE Shared() noexcept = default;
    template <class... Arguments>
    static Shared make(Arguments&&... arguments) {
        Shared made;
        made.counted_ = new Counted(std::forward<Arguments>(arguments)...);
        return made;
    }
    DAEDALUS_INLINE Shared(const Shared& other) noexcept : counted_(other.counted_) {
        if (counted_) counted_->owners.fetch_add(1, std::memory_order_relaxed);
    }
    DAEDALUS_INLINE Shared(Shared&& other) noexcept : counted_(std::exchange(other.counted_, nullptr)) {}
    DAEDALUS_INLINE Shared& operator=(Shared other) noexcept {
        std::swap(counted_, other.counted_);
        return *this;
    }
    DAEDALUS_INLINE ~Shared() {
        if (counted_ && counted_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete counted_;
    }

    DAEDALUS_INLINE T* operator->() const noexcept { return &counted_->value; }
    DAEDALUS_INLINE T& operator*() const noexcept { return counted_->value; }
    DAEDALUS_INLINE explicit operator bool() const noexcept { return counted_; }

private:
    Counted* counted_ = nullptr;
};

}  // namespace daedalus
