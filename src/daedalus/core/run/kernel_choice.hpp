// The kernels that were compiled for the instruction set of this processor.
#pragma once

#include "machine/instruction_set.hpp"
#include "model/linear_model_kernels.hpp"
#include "run/kernels.hpp"

namespace daedalus {

inline Kernels choose_kernels(Method method) { return DAEDALUS_BEST(kernels(method)); }

inline LinearModelKernels choose_linear_model_kernels() { return DAEDALUS_BEST(linear_model_kernels()); }

}  // namespace daedalus
