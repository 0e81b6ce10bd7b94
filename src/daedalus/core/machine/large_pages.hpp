// Large pages for large memory: the system hands out rows of megabytes with a few page faults instead of thousands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "machine/platform.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace daedalus {

// Asks for them, where memory has room for some whole ones; what the system makes of it changes no result.
inline void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    constexpr std::uintptr_t page = 2 << 20;
    const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
    const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / page * page;
    if (bytes >= 4 * page && end > begin) (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

// Zeros. Those of many pages come from the system itself, which keeps none: a general allocator would overwrite memory that
// it has seen before, needed or not.
inline bool comes_from_system([[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__) && !DAEDALUS_WATCHED_MEMORY
    return bytes >= 4 << 20;
#else
    return false;
#endif
}
inline void* take_zeros(std::size_t bytes) noexcept {
#ifdef __linux__
    if (comes_from_system(bytes)) {
        void* const taken = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (taken == MAP_FAILED) return nullptr;
        prefer_large_pages(taken, bytes);
        return taken;
    }
#endif
    return std::calloc(bytes, 1);
}
inline void give_back(void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef __linux__
    if (comes_from_system(bytes)) return (void)munmap(memory, bytes);
#endif
    std::free(memory);
}

}  // namespace daedalus
