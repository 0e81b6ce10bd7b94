// The steppers of every method, compiled once for each instruction set (DAEDALUS_ISA); the best is chosen at import.
#include "run/kernels.hpp"

#include "methods/explicit/bs3.hpp"
#include "methods/explicit/dop853.hpp"
#include "methods/explicit/dopri5.hpp"
#include "methods/explicit/explicit_step.hpp"
#include "methods/explicit/general_step.hpp"
#include "methods/explicit/tsit5.hpp"
#include "run/stepper.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

namespace {

template <class T>
Kernels named() noexcept {
    return {advance<Named<T>>, dense_of_step<Named<T>>, T::rows, T::degree, nullptr, nullptr, nullptr, nullptr};
}

}  // namespace

Kernels implicit_kernels(Method method) noexcept;

Kernels kernels(Method method) noexcept {
    switch (method) {
        case Method::tsit5: return named<Tsit5>();
        case Method::dopri5: return named<Dopri5>();
        case Method::dop853: return named<Dop853>();
        case Method::bs3: return named<Bs3>();
        case Method::general: break;
        default: return implicit_kernels(method);
    }
    return {advance<General>, dense_of_step<General>, 0, 0, nullptr, nullptr, nullptr, nullptr};
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
