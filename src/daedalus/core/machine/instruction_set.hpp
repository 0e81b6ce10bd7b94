// Which instruction set this processor has, of those that kernels are compiled for.
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

}  // namespace daedalus
