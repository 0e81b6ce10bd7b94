// Which of the kernels that were compiled run on this processor: on x86 those for any processor, those for AVX2 with FMA,
// or both (DAEDALUS_HAS_BASELINE, DAEDALUS_HAS_AVX2); elsewhere there is one kind.
#pragma once

namespace daedalus {

inline bool has_avx2() {
#if defined(DAEDALUS_HAS_AVX2)
    static const bool supported = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return supported;
#else
    return false;
#endif
}

// Whether this build has kernels for this processor.
inline bool runs_here() {
#if defined(DAEDALUS_HAS_BASELINE)
    return true;
#else
    return has_avx2();
#endif
}

}  // namespace daedalus

// The function `call` of the best kernels, as in DAEDALUS_BEST(flow_kernels()).
#if !defined(DAEDALUS_HAS_AVX2)
#define DAEDALUS_BEST(call) baseline::call
#elif !defined(DAEDALUS_HAS_BASELINE)
#define DAEDALUS_BEST(call) avx2::call
#else
#define DAEDALUS_BEST(call) (has_avx2() ? avx2::call : baseline::call)
#endif
