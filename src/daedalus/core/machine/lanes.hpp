// A few doubles as one value, as wide as the registers, for loops whose lanes the compiler does not find by itself.
#pragma once

#include "machine/platform.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

#if defined(__AVX__)
inline constexpr long long wide = 4;
#else
inline constexpr long long wide = 2;
#endif
static_assert(lane_count % wide == 0);

typedef double Wide __attribute__((vector_size(sizeof(double) * wide), may_alias));
typedef long long WideBits __attribute__((vector_size(sizeof(double) * wide), may_alias));

// The same at any place in memory.
typedef double WideAnywhere __attribute__((vector_size(sizeof(double) * wide), aligned(sizeof(double)), may_alias));

// Lanes in memory; the place must be at full lanes.
DAEDALUS_INLINE Wide* lanes_at(double* a) noexcept { return reinterpret_cast<Wide*>(a); }
DAEDALUS_INLINE const Wide* lanes_at(const double* a) noexcept { return reinterpret_cast<const Wide*>(a); }

// Numbers that were just written one by one are read one by one: a wide read would wait until all of them have left the
// processor's store buffer.
DAEDALUS_INLINE void read_fresh(const volatile double* a, Wide& value) noexcept {
    for (int i = 0; i < wide; ++i) value[i] = a[i];
}

DAEDALUS_INLINE WideAnywhere* anywhere(double* a) noexcept { return reinterpret_cast<WideAnywhere*>(a); }
DAEDALUS_INLINE const WideAnywhere* anywhere(const double* a) noexcept {
    return reinterpret_cast<const WideAnywhere*>(a);
}

// Given by reference: compilers disagree on how to hand such values over.
DAEDALUS_INLINE void make_absolute(Wide& value) noexcept {
    constexpr long long all_but_sign = 0x7fffffffffffffff;
    value = (Wide)((WideBits)value & all_but_sign);
}
DAEDALUS_INLINE void raise_to(Wide& value, const Wide& other) noexcept { value = other > value ? other : value; }
DAEDALUS_INLINE double largest_of(const Wide& value) noexcept {
    double largest[wide];
    for (int i = 0; i < wide; ++i) largest[i] = value[i];
    for (int half = wide / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) largest[i] = largest[i + half] > largest[i] ? largest[i + half] : largest[i];
    return largest[0];
}
// 0, 1, ... as whole numbers and as doubles (which every processor can compare).
#if defined(__AVX__)
inline constexpr WideBits lane_numbers{0, 1, 2, 3};
inline constexpr Wide lane_places{0, 1, 2, 3};
#else
inline constexpr WideBits lane_numbers{0, 1};
inline constexpr Wide lane_places{0, 1};
#endif

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
