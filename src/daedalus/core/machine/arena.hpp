// Memory for the vectors of a run: each is carved where it is needed, so that no size is counted twice; all go together.
#pragma once

#include <cstdint>
#include <new>

#include "machine/large_pages.hpp"
#include "machine/platform.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

class Arena {
public:
    Arena() = default;
    ~Arena() {
        while (last_) {
            Taken* const taken = last_;
            last_ = taken->before;
            give_back(taken, taken->bytes);
        }
    }
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    // A vector of zeros that stays where it is. Throws where there is no memory, and at a size that nobody means.
    double* carve(long long count) {
        if (count < 0) throw std::bad_array_new_length();
        if (count > left_ || DAEDALUS_WATCHED_MEMORY) add_block(count);
        double* const vector = next_;
        next_ += count, left_ -= count;
        return vector;
    }

private:
    struct Taken {
        Taken* before;
        std::size_t bytes;
    };
    static constexpr std::size_t line = 64;

    // A small model needs one block, others a few that double; what is never written takes no memory. Where a sanitizer
    // watches, every vector has a block of its own: a step beyond its end is seen.
    void add_block(long long count) {
        const long long size = !DAEDALUS_WATCHED_MEMORY && count < usual_ ? usual_ : count;
        const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(double);
        const std::size_t front = DAEDALUS_WATCHED_MEMORY ? line : 2 * line;
        auto* const taken = static_cast<Taken*>(take_zeros(front + bytes));
        if (!taken) throw std::bad_alloc();
        taken->before = last_, taken->bytes = front + bytes, last_ = taken;
        const std::size_t off = reinterpret_cast<std::uintptr_t>(taken) % line;
        char* const begin = reinterpret_cast<char*>(taken) + (DAEDALUS_WATCHED_MEMORY ? line : 2 * line - off);
        next_ = reinterpret_cast<double*>(begin), left_ = size;
        usual_ = 2 * size;
    }

    Taken* last_ = nullptr;
    double* next_ = nullptr;
    long long left_ = 0, usual_ = 512;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
