// Eigenvalues and eigenvectors of small Hessenberg matrices, as Arnoldi's method leaves them.
//
// QR iterations with both shifts at once, in real numbers (J. G. F. Francis, Comput. J. 4, 1962; G. H. Golub, C. F. Van Loan,
// Matrix Computations, section 7.5).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include "machine/platform.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

inline constexpr int most_vectors = 8;
template <class Number>
using SmallMatrix = std::array<std::array<Number, most_vectors>, most_vectors>;

// The size of a complex number, roughly.
inline double size_of(const std::complex<double>& z) noexcept { return std::fabs(z.real()) + std::fabs(z.imag()); }

// Turns rows and columns at, at + 1, ... of the block low to high so that the vector v lies along the first of them.
template <int length>
inline void reflect(SmallMatrix<double>& h, int low, int high, int at, std::array<double, 3> v) noexcept {
    double square = 0;
    for (int i = 0; i < length; ++i) square += v[i] * v[i];
    if (!(square > 0)) return;
    v[0] += std::copysign(std::sqrt(square), v[0]);
    square = 0;
    for (int i = 0; i < length; ++i) square += v[i] * v[i];
    for (int j = std::max(at - 1, low); j <= high; ++j) {
        double part = 0;
        for (int i = 0; i < length; ++i) part += v[i] * h[at + i][j];
        part *= 2 / square;
        for (int i = 0; i < length; ++i) h[at + i][j] -= part * v[i];
    }
    for (int j = low; j <= std::min(at + 3, high); ++j) {
        double part = 0;
        for (int i = 0; i < length; ++i) part += h[j][at + i] * v[i];
        part *= 2 / square;
        for (int i = 0; i < length; ++i) h[j][at + i] -= part * v[i];
    }
}

// One sweep over the block low to high, of three rows at least, with shifts of this sum and product.
inline void turn_twice(SmallMatrix<double>& h, int low, int high, double sum, double product) noexcept {
    const double first = h[low][low], second = h[low + 1][low + 1], below = h[low + 1][low];
    // Each entry by one over the largest: squares of tiny numbers vanish.
    std::array<double, 3> v{first * (first - sum) + h[low][low + 1] * below + product, below * (first + second - sum),
                            below * h[low + 2][low + 1]};
    for (int k = low; k < high; ++k) {
        const double largest = std::fmax(std::fabs(v[0]), std::fmax(std::fabs(v[1]), std::fabs(v[2])));
        if (largest > 0)
            for (double& entry : v) entry /= largest;
        if (k + 1 < high)
            reflect<3>(h, low, high, k, v);
        else
            reflect<2>(h, low, high, k, v);
        if (k + 1 < high) v = {h[k + 1][k], h[k + 2][k], k + 3 <= high ? h[k + 3][k] : 0};
    }
}

// The eigenvalues of the rows and columns at and at + 1.
inline void eigenvalues_of_two(const SmallMatrix<double>& h, int at, std::complex<double>* out) noexcept {
    const double a = h[at][at], d = h[at + 1][at + 1], half = 0.5 * (a - d), other = h[at][at + 1] * h[at + 1][at];
    const double square = half * half + other;
    if (square < 0) {
        out[0] = {d + half, std::sqrt(-square)};
        out[1] = std::conj(out[0]);
        return;
    }
    // The one farther from d first; the difference of the other follows from their product.
    const double far = half + std::copysign(std::sqrt(square), half);
    out[0] = d + far, out[1] = far != 0 ? d - other / far : d;
}

// Destroys the matrix; false where iterations do not end.
inline bool hessenberg_eigenvalues(SmallMatrix<double>& h, int size, std::complex<double>* out) noexcept {
    constexpr int most_turns = 60;
    int high = size - 1, turns = 0;
    while (high >= 0) {
        int low = high;
        while (low > 0 && std::fabs(h[low][low - 1]) > std::numeric_limits<double>::epsilon() *
                                                           (std::fabs(h[low][low]) + std::fabs(h[low - 1][low - 1])))
            --low;
        if (high - low < 2) {
            if (low == high)
                out[high] = h[high][high];
            else
                eigenvalues_of_two(h, low, out + low);
            high = low - 1, turns = 0;
            continue;
        }
        if (++turns > most_turns) return false;
        double sum = h[high - 1][high - 1] + h[high][high];
        double product = h[high - 1][high - 1] * h[high][high] - h[high - 1][high] * h[high][high - 1];
        // Now and then other shifts, where the usual ones go in circles: those of the reference above.
        if (turns % 10 == 0) {
            const double size_below = std::fabs(h[high][high - 1]) + std::fabs(h[high - 1][high - 2]);
            sum = 1.5 * size_below, product = size_below * size_below;
        }
        turn_twice(h, low, high, sum, product);
    }
    return true;
}

// The eigenvector of an eigenvalue, of length 1, by two turns of inverse iteration.
inline bool hessenberg_vector(const SmallMatrix<double>& h, int size, std::complex<double> value,
                              std::complex<double>* out) noexcept {
    double scale = 0;
    for (int i = 0; i < size; ++i)
        for (int j = 0; j < size; ++j) scale = std::fmax(scale, std::fabs(h[i][j]));
    const double least = std::numeric_limits<double>::epsilon() * scale;
    for (int i = 0; i < size; ++i) out[i] = 1.0;
    for (int turn = 0; turn < 2; ++turn) {
        SmallMatrix<std::complex<double>> a;
        for (int i = 0; i < size; ++i)
            for (int j = 0; j < size; ++j) a[i][j] = i == j ? h[i][j] - value : h[i][j];
        for (int k = 0; k < size; ++k) {
            if (k + 1 < size && size_of(a[k + 1][k]) > size_of(a[k][k])) {
                std::swap(a[k], a[k + 1]);
                std::swap(out[k], out[k + 1]);
            }
            if (size_of(a[k][k]) < least) a[k][k] = least;
            if (k + 1 == size) break;
            const std::complex<double> factor = a[k + 1][k] / a[k][k];
            for (int j = k; j < size; ++j) a[k + 1][j] -= factor * a[k][j];
            out[k + 1] -= factor * out[k];
        }
        double length = 0;
        for (int i = size - 1; i >= 0; --i) {
            for (int j = i + 1; j < size; ++j) out[i] -= a[i][j] * out[j];
            out[i] /= a[i][i];
            length += std::norm(out[i]);
        }
        length = std::sqrt(length);
        if (!(length > 0) || !std::isfinite(length)) return false;
        for (int i = 0; i < size; ++i) out[i] /= length;
    }
    return true;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
