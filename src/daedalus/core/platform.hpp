// Words for the compiler: where a kernel may run, and for which instruction set this translation unit is compiled.
#pragma once

#if defined(__CUDACC__)
#define DAEDALUS_HOST_DEVICE __host__ __device__
#else
#define DAEDALUS_HOST_DEVICE
#endif

// Kernels live in an inline namespace named after the instruction set, so two builds of them never mix at link time.
#ifndef DAEDALUS_ISA
#define DAEDALUS_ISA baseline
#endif

// The iterations of the next loop are independent; sums may be taken lane by lane.
#define DAEDALUS_SIMD _Pragma("omp simd")
#define DAEDALUS_SIMD_SUM(...) DAEDALUS_SIMD_TEXT(omp simd reduction(+ : __VA_ARGS__))
#define DAEDALUS_SIMD_TEXT(text) _Pragma(#text)

namespace daedalus {

// Vectors are padded with zeros to full lanes of this many doubles, so that no kernel has a remainder loop.
inline constexpr long long lane_count = 4;

DAEDALUS_HOST_DEVICE constexpr long long padded(long long n) { return (n + lane_count - 1) / lane_count * lane_count; }

}  // namespace daedalus
