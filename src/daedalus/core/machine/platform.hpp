// Words for the compiler: for which instruction set this translation unit is compiled, and how to compile a function.
#pragma once

// Kernels live in an inline namespace named after the instruction set, so two builds of them never mix at link time.
#ifdef DAEDALUS_ISA
#include "machine/shared_code.hpp"

DAEDALUS_SHARED_CODE(extern)
#else
#define DAEDALUS_ISA baseline
#endif

#define DAEDALUS_INLINE [[gnu::always_inline]] inline
// The same behind the parameters of a lambda.
#if defined(_MSC_VER) && !defined(__clang__)
#define DAEDALUS_INLINE_HERE
#else
#define DAEDALUS_INLINE_HERE __attribute__((always_inline))
#endif
#define DAEDALUS_COLD [[gnu::noinline]] inline
// A long function of many callers: never copied into them.
#define DAEDALUS_ONCE [[gnu::noinline]]

// Whether the address sanitizer watches this build.
#if defined(__SANITIZE_ADDRESS__)
#define DAEDALUS_WATCHED_MEMORY 1
#elif defined(__has_feature)
#define DAEDALUS_WATCHED_MEMORY __has_feature(address_sanitizer)
#else
#define DAEDALUS_WATCHED_MEMORY 0
#endif

// The iterations of the next loop are independent; sums may be taken lane by lane.
#define DAEDALUS_SIMD _Pragma("omp simd")
#define DAEDALUS_SIMD_SUM(...) DAEDALUS_SIMD_TEXT(omp simd reduction(+ : __VA_ARGS__))
#define DAEDALUS_SIMD_TEXT(text) _Pragma(#text)

namespace daedalus {

// Vectors are padded with zeros to full lanes of this many doubles, so that no kernel has a remainder loop.
inline constexpr long long lane_count = 4;

constexpr long long padded(long long n) { return (n + lane_count - 1) / lane_count * lane_count; }

// A number of lanes known when this is compiled, or 0 for any multiple of lane_count.
template <long long known>
struct Lanes {
    static constexpr long long count(long long lanes) {
        return known ? known : lanes & ~(lane_count - 1);
    }
};

// Calls work(Lanes<...>) with the number known where it is small: loops over few components are unrolled.
template <class Work>
DAEDALUS_INLINE auto with_lanes(long long lanes, Work&& work) {
    switch (lanes) {
        case 4: return work(Lanes<4>());
        case 8: return work(Lanes<8>());
        case 12: return work(Lanes<12>());
        case 16: return work(Lanes<16>());
        default: return work(Lanes<0>());
    }
}

}  // namespace daedalus
