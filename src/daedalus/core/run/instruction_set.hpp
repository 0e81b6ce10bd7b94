// Which instruction set this processor has, and the kernels compiled for it.
#pragma once

#include "model/linear_model_kernels.hpp"
#include "run/kernels.hpp"

namespace daedalus {

inline bool has_avx2() {
#if defined(DAEDALUS_HAS_AVX2)
    static const bool supported = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return supported;
#else
    return false;
#endif
}

inline Kernels choose_kernels(Method method) {
#if defined(DAEDALUS_HAS_AVX2)
    if (has_avx2()) return avx2::kernels(method);
#endif
    return baseline::kernels(method);
}

inline LinearModelKernels choose_linear_model_kernels() {
#if defined(DAEDALUS_HAS_AVX2)
    if (has_avx2()) return avx2::linear_model_kernels();
#endif
    return baseline::linear_model_kernels();
}

}  // namespace daedalus
