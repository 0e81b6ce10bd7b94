// The steppers compiled for every instruction set, and the choice among them.
#pragma once

#include "state/integration.hpp"

namespace daedalus {

namespace baseline {
Kernels kernels(Method method) noexcept;
}
namespace avx2 {
Kernels kernels(Method method) noexcept;
}

}  // namespace daedalus
