// One link of a chain of variables eliminated for the one before it, compiled for every instruction set.
#pragma once

#include "machine/platform.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {}

// A quadratic form ½ vᵀ M v and conditions R v = 0 of v = (z, c, 1): z is eliminated, c are the variables that stay.
//
// Memory is the caller's; matrices are row by row, `stride` numbers a row, ratios and basics as well.
struct LinkNumbers {
    long long z = 0, c = 0, rows = 0, own_rows = 0, stride = 0;  // own rows stand before those that were handed on
    double *form = nullptr, *conditions = nullptr, *ratios = nullptr;
    double *basics = nullptr, *reduced = nullptr, *slopes = nullptr;  // room for z, z + c + 1 and z rows
    double* sizes = nullptr;                                          // of the rows, and room for z
    int *pivot_row = nullptr, *pivot_column = nullptr, *others = nullptr, *left = nullptr;
    long long rank = 0, left_rows = 0;  // what the conditions determine, and how many of them speak of c alone

    long long width() const { return z + c + 1; }
    long long open() const { return z - rank; }        // what the conditions leave to the form
    long long kept() const { return width() - rank; }  // open variables, c and 1
};

struct LinkKernels {
    // False: the form has no minimum over z.
    bool (*eliminate)(LinkNumbers& link) noexcept;
    // v holds c and 1 behind room for z, which is found; `by` the multipliers of the rows, those left known before.
    void (*substitute)(const LinkNumbers& link, double* v, double* by, double* work) noexcept;
};

namespace baseline {
LinkKernels link_kernels() noexcept;
}
namespace avx2 {
LinkKernels link_kernels() noexcept;
}

}  // namespace daedalus
