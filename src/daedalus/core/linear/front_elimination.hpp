// Eliminates the first unknowns of a full matrix in blocks, without changing rows: the dense work of a sparse factorisation.
//
//   [A11 A12]   [L11  0] [U11 U12]
//   [A21 A22] = [L21  I] [ 0   S ],   S = A22 - L21 U12
//
// Nearly all work is the product L21 U12, made strip by strip in registers. Rows lie one after the other; behind each of
// them is room for one more vector, so that strips need no ends of their own.
#pragma once

#include "machine/arithmetic.hpp"
#include "machine/lanes.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class FrontElimination {
public:
    // The distance of rows of a front with so many unknowns.
    static constexpr long long row_length(long long size) { return padded(size + lane_count); }

    // False: a pivot is smaller than `least`. Pivots are left as they are, their reciprocals in `inverse`.
    static bool run(Number* a, long long row, std::int32_t pivots, std::int32_t size, double least,
                    Number* inverse) noexcept {
        for (std::int32_t p = 0; p < pivots; p += block) {
            const std::int32_t end = p + block < pivots ? p + block : pivots;
            for (std::int32_t i = p; i < end; ++i) {
                reduce_row(a, row, p, i, end, i, inverse);
                const Number pivot = a[i * row + i];
                if (!(magnitude(pivot) > least)) return false;
                inverse[i] = reciprocal(pivot);
            }
            for (std::int32_t i = end; i < size; ++i) reduce_row(a, row, p, end, end, i, inverse);
            // The rows of U behind the block.
            for (std::int32_t i = p + 1; i < end; ++i)
                for (std::int32_t j = p; j < i; ++j)
                    subtract(a + i * row, a[i * row + j], a + j * row, end, size);
            subtract_product(a + end * row + end, a + end * row + p, a + p * row + end, row, size - end, end - p);
        }
        return true;
    }

private:
    static constexpr std::int32_t block = 32;
    static constexpr int doubles = is_complex<Number> ? 2 : 1, strip = 3;

    // Row i of L for the pivots [p, last), within the columns of the block.
    DAEDALUS_INLINE static void reduce_row(Number* a, long long row, std::int32_t p, std::int32_t last, std::int32_t end,
                                           std::int32_t i, const Number* inverse) noexcept {
        Number* own = a + i * row;
        for (std::int32_t j = p; j < last; ++j) {
            const Number multiplier = product(own[j], inverse[j]);
            own[j] = multiplier;
            subtract(own, multiplier, a + j * row, j + 1, end);
        }
    }
    DAEDALUS_INLINE static void subtract(Number* own, Number multiplier, const Number* other, std::int32_t first,
                                         std::int32_t last) noexcept {
        DAEDALUS_SIMD
        for (std::int32_t c = first; c < last; ++c) own[c] = difference(own[c], product(multiplier, other[c]));
    }

    // C -= A B, with `size` rows and columns of C and `depth` of them between; all three lie in one front.
    static void subtract_product(Number* c, const Number* a, const Number* b, long long row, std::int32_t size,
                                 std::int32_t depth) noexcept {
        // Columns counted in vectors; complex numbers are two columns.
        const long long vectors = (static_cast<long long>(size) * doubles + wide - 1) / wide;
        for (long long v = 0; v < vectors; v += strip) {
            const long long column = v * wide / doubles;
            switch (vectors - v) {
                case 1: take_strip<1>(c + column, a, b + column, row, size, depth); break;
                case 2: take_strip<2>(c + column, a, b + column, row, size, depth); break;
                default: take_strip<strip>(c + column, a, b + column, row, size, depth);
            }
        }
    }
    template <int count>
    static void take_strip(Number* c, const Number* a, const Number* b, long long row, std::int32_t size,
                           std::int32_t depth) noexcept {
        constexpr int together = is_complex<Number> ? 2 : 4;
        Wide packed[block * count];
        for (std::int32_t k = 0; k < depth; ++k)
            for (int v = 0; v < count; ++v) packed[k * count + v] = *anywhere(real_parts(b + k * row) + v * wide);
        std::int32_t i = 0;
        for (; i + together <= size; i += together)
            take_rows<together, count>(c + i * row, a + i * row, packed, row, depth);
        for (; i < size; ++i) take_rows<1, count>(c + i * row, a + i * row, packed, row, depth);
    }

    template <int rows, int count>
    DAEDALUS_INLINE static void take_rows(Number* c, const Number* a, const Wide* packed, long long row,
                                          std::int32_t depth) noexcept {
        Wide sum[doubles][rows][count] = {};
        for (std::int32_t k = 0; k < depth; ++k)
            for (int r = 0; r < rows; ++r)
                for (int v = 0; v < count; ++v)
                    if constexpr (is_complex<Number>) {
                        sum[0][r][v] += a[r * row + k].real() * packed[k * count + v];
                        sum[1][r][v] += a[r * row + k].imag() * packed[k * count + v];
                    } else {
                        sum[0][r][v] += a[r * row + k] * packed[k * count + v];
                    }
        for (int r = 0; r < rows; ++r)
            for (int v = 0; v < count; ++v) {
                double* to = real_parts(c + r * row) + v * wide;
                if constexpr (is_complex<Number>)
                    // i (x + i y) = -y + i x
                    for (int pair = 0; pair < wide; pair += 2) {
                        to[pair] -= sum[0][r][v][pair] - sum[1][r][v][pair + 1];
                        to[pair + 1] -= sum[0][r][v][pair + 1] + sum[1][r][v][pair];
                    }
                else
                    *anywhere(to) -= sum[0][r][v];
            }
    }

    DAEDALUS_INLINE static double* real_parts(Number* a) noexcept { return reinterpret_cast<double*>(a); }
    DAEDALUS_INLINE static const double* real_parts(const Number* a) noexcept {
        return reinterpret_cast<const double*>(a);
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
