// Numbers too small for full digits are taken as zero while this exists: each costs a processor some hundred cycles.
#pragma once

#include <cstdint>

#include "machine/platform.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace daedalus {

inline namespace DAEDALUS_ISA {

class FlushedNumbers {
public:
#if defined(__SSE2__)
    FlushedNumbers() noexcept : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040u); }
    ~FlushedNumbers() { _mm_setcsr(before_); }

private:
    unsigned before_;

public:
#elif defined(__aarch64__)
    FlushedNumbers() noexcept {
        asm volatile("mrs %0, fpcr" : "=r"(before_));
        asm volatile("msr fpcr, %0" : : "r"(before_ | (std::uint64_t(1) << 24)));
    }
    ~FlushedNumbers() { asm volatile("msr fpcr, %0" : : "r"(before_)); }

private:
    std::uint64_t before_;

public:
#else
    FlushedNumbers() noexcept {}
    ~FlushedNumbers() {}
#endif
    FlushedNumbers(const FlushedNumbers&) = delete;
    FlushedNumbers& operator=(const FlushedNumbers&) = delete;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
