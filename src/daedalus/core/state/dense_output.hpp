// Dense output: inside a step x(t + theta h) is a polynomial in theta, kept as rows of coefficients.
#pragma once

#include "machine/platform.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// out = sum_j c_j theta^j by Horner's rule; c has degree + 1 rows.
inline void evaluate_polynomial(const double* c, int degree, long long lanes, double theta, double* out) noexcept {
    DAEDALUS_SIMD
    for (long long i = 0; i < lanes; ++i) {
        double sum = c[degree * lanes + i];
        for (int j = degree - 1; j >= 0; --j) sum = sum * theta + c[j * lanes + i];
        out[i] = sum;
    }
}

}  // namespace DAEDALUS_ISA

// A step is redone in at most so many equal parts, where one polynomial is not good enough for all of it, and while more
// parts make its error smaller by this factor.
inline constexpr long long most_parts = 8;
inline constexpr double worth_parts = 0.5;

// Redoes a step in as many parts as its error asks for, by a function that gives the error with so many; gives their number.
template <class Redo>
inline long long redo_in_parts(Redo&& redo) {
    long long parts = 1;
    for (double error = redo(parts); error > 1 && parts < most_parts;) {
        const double before = error;
        error = redo(parts *= 2);
        if (!(error < worth_parts * before)) break;
    }
    return parts;
}

// A whole trajectory: piece m runs from starts[m] to ends[m] with coefficients (degree + 1, n).
struct Pieces {
    const double* starts = nullptr;
    const double* ends = nullptr;
    const double* coefficients = nullptr;
    long long count = 0, n = 0;
    int degree = 0;
};

// The piece that contains t, the later one where two meet; -1 outside.
inline long long piece_at(const Pieces& pieces, double t) noexcept {
    if (pieces.count == 0) return -1;
    const double first = pieces.starts[0], last = pieces.ends[pieces.count - 1];
    const double sign = last < first ? -1 : 1;
    // Times computed in another way may miss the ends by rounding.
    const double size = (first < 0 ? -first : first) + (last < 0 ? -last : last);
    const double slack = 1e-15 * size;
    if (!((t - first) * sign >= -slack && (last - t) * sign >= -slack)) return -1;
    long long low = 0, high = pieces.count;
    while (high - low > 1) {
        const long long half = (low + high) / 2;
        if ((t - pieces.starts[half]) * sign >= 0)
            low = half;
        else
            high = half;
    }
    return low;
}

inline void evaluate_piece(const Pieces& pieces, long long piece, double t, double* out) noexcept {
    const double begin = pieces.starts[piece], length = pieces.ends[piece] - begin;
    const double theta = length == 0 ? 0 : (t - begin) / length;
    const double* coefficients = pieces.coefficients + piece * (pieces.degree + 1) * pieces.n;
    evaluate_polynomial(coefficients, pieces.degree, pieces.n, theta, out);
}

}  // namespace daedalus
