// The kernels that were compiled for the instruction set of this processor.
#pragma once

#include "machine/instruction_set.hpp"
#include "model/linear_model_kernels.hpp"
#include "run/kernels.hpp"

namespace daedalus {

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
