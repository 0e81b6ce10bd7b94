// Real and complex numbers under one set of words, for elimination.
//
// The complex product is written out: the one of the language looks for NaN and calls a function.
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "machine/platform.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

using Complex = std::complex<double>;

template <class Number>
inline constexpr bool is_complex = std::is_same_v<Number, Complex>;

template <class Number>
DAEDALUS_INLINE Number product(Number a, Number b) noexcept {
    if constexpr (is_complex<Number>)
        return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
    else
        return a * b;
}

template <class Number>
DAEDALUS_INLINE Number scaled(Number a, double factor) noexcept {
    if constexpr (is_complex<Number>)
        return {a.real() * factor, a.imag() * factor};
    else
        return a * factor;
}

template <class Number>
DAEDALUS_INLINE Number difference(Number a, Number b) noexcept {
    if constexpr (is_complex<Number>)
        return {a.real() - b.real(), a.imag() - b.imag()};
    else
        return a - b;
}

// Size of a number; for complex ones |re| + |im|, which differs from the modulus by less than sqrt(2).
template <class Number>
DAEDALUS_INLINE double magnitude(Number a) noexcept {
    if constexpr (is_complex<Number>)
        return std::fabs(a.real()) + std::fabs(a.imag());
    else
        return std::fabs(a);
}

template <class Number>
DAEDALUS_INLINE Number reciprocal(Number a) noexcept {
    if constexpr (is_complex<Number>) {
        // Divided by its size first, so that the squares neither overflow nor vanish.
        const double size = 1 / magnitude(a), re = a.real() * size, im = a.imag() * size;
        const double factor = size / (re * re + im * im);
        return {re * factor, -im * factor};
    } else {
        return 1 / a;
    }
}

// The power of two that brings a normal positive number into [1, 2); 1 for zero and what is out of range.
DAEDALUS_INLINE double balancing_power(double size) noexcept {
    const std::uint64_t exponent = std::bit_cast<std::uint64_t>(size) >> 52;
    const std::uint64_t mirrored = exponent > 0 && exponent < 2046 ? 2046 - exponent : 1023;
    return std::bit_cast<double>(mirrored << 52);
}

DAEDALUS_INLINE double larger(double a, double b) noexcept { return a > b ? a : b; }

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
