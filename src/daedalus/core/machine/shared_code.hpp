// Functions of the standard library that code for one instruction set calls instead of leaving a copy of its own: the
// linker keeps one copy for all, and that of a newer processor's code would end the process on older ones.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#define DAEDALUS_SHARED_CODE(kind)                  \
    kind template class std::vector<char>;          \
    kind template class std::vector<std::int32_t>;  \
    kind template class std::vector<long long>;     \
    kind template class std::vector<float>;         \
    kind template class std::vector<double>;        \
    kind template class std::vector<std::complex<double>>;
