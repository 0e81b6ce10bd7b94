// Eigenvalues and eigenvectors of small Hessenberg matrices, as Arnoldi's method leaves them.
//
// QR iterations with Wilkinson's shift, in complex numbers (G. H. Golub, C. F. Van Loan, Matrix Computations, section 7.5).
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
using SmallMatrix = std::array<std::array<std::complex<double>, most_vectors>, most_vectors>;

// The size of a complex number, roughly.
inline double size_of(const std::complex<double>& z) noexcept { return std::fabs(z.real()) + std::fabs(z.imag()); }

// One sweep of rows and columns low to high: H - shift = Q R, then R Q + shift.
inline void turn_once(SmallMatrix& h, int low, int high, std::complex<double> shift) noexcept {
    std::array<std::complex<double>, most_vectors> cosine, sine;
    for (int k = low; k <= high; ++k) h[k][k] -= shift;
    for (int k = low; k < high; ++k) {
        const double length = std::hypot(std::abs(h[k][k]), std::abs(h[k + 1][k]));
        cosine[k] = length > 0 ? h[k][k] / length : 1.0;
        sine[k] = length > 0 ? h[k + 1][k] / length : 0.0;
        for (int j = k; j <= high; ++j) {
            const std::complex<double> above = h[k][j], below = h[k + 1][j];
            h[k][j] = std::conj(cosine[k]) * above + std::conj(sine[k]) * below;
            h[k + 1][j] = cosine[k] * below - sine[k] * above;
        }
    }
    for (int k = low; k < high; ++k)
        for (int i = low; i <= std::min(k + 1, high); ++i) {
            const std::complex<double> left = h[i][k], right = h[i][k + 1];
            h[i][k] = cosine[k] * left + sine[k] * right;
            h[i][k + 1] = std::conj(cosine[k]) * right - std::conj(sine[k]) * left;
        }
    for (int k = low; k <= high; ++k) h[k][k] += shift;
}

// The eigenvalue of the last two rows and columns that is nearer to the last number.
inline std::complex<double> wilkinson_shift(const SmallMatrix& h, int high) noexcept {
    const std::complex<double> a = h[high - 1][high - 1], d = h[high][high];
    const std::complex<double> half = 0.5 * (a - d), root = std::sqrt(half * half + h[high - 1][high] * h[high][high - 1]);
    const std::complex<double> one = d + half + root, other = d + half - root;
    return std::abs(one - d) < std::abs(other - d) ? one : other;
}

// Destroys the matrix; false where iterations do not end.
inline bool hessenberg_eigenvalues(SmallMatrix& h, int size, std::complex<double>* out) noexcept {
    constexpr int most_turns = 60;
    int high = size - 1, turns = 0;
    while (high >= 0) {
        int low = high;
        while (low > 0 && size_of(h[low][low - 1]) > std::numeric_limits<double>::epsilon() *
                                                         (size_of(h[low][low]) + size_of(h[low - 1][low - 1])))
            --low;
        if (low == high) {
            out[high] = h[high][high];
            --high, turns = 0;
            continue;
        }
        if (++turns > most_turns) return false;
        // Now and then another shift, where the usual one goes in circles.
        const bool stuck = turns % 12 == 0;
        turn_once(h, low, high, stuck ? h[high][high] + size_of(h[high][high - 1]) : wilkinson_shift(h, high));
    }
    return true;
}

// The eigenvector of an eigenvalue, of length 1, by two turns of inverse iteration.
inline bool hessenberg_vector(const SmallMatrix& h, int size, std::complex<double> value,
                              std::complex<double>* out) noexcept {
    double scale = 0;
    for (int i = 0; i < size; ++i)
        for (int j = 0; j < size; ++j) scale = std::fmax(scale, size_of(h[i][j]));
    const double least = std::numeric_limits<double>::epsilon() * scale;
    for (int i = 0; i < size; ++i) out[i] = 1.0;
    for (int turn = 0; turn < 2; ++turn) {
        SmallMatrix a = h;
        for (int i = 0; i < size; ++i) a[i][i] -= value;
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
