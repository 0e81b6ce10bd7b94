// A few columns of right-hand sides, solved at once with the factors of one matrix.
//
// Every factor is read once for all of them, and their sums stay in registers.
#pragma once

#include "machine/arithmetic.hpp"
#include "machine/lanes.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// So many columns are taken at once: many of them, or those that are left.
inline constexpr int many_columns = 16, some_columns = 8, few_columns = 4;

// Row i of the band is `count` numbers from place[i] on; complex ones have their imaginary parts in the second plane.
struct ColumnBand {
    double* planes[2] = {nullptr, nullptr};
    const long long* place = nullptr;
    long long count = 0;
};

// One row of a band in registers; in memory real parts come first, then imaginary ones.
template <class Number, int width>
class BandRow {
public:
    static constexpr int planes = is_complex<Number> ? 2 : 1;
    static constexpr long long size = planes * width;

    DAEDALUS_INLINE void load(const double* a) noexcept {
        for (int i = 0; i < parts; ++i) lanes_[i] = *lanes_at(a + i * wide);
    }
    DAEDALUS_INLINE void store(double* a) const noexcept {
        for (int i = 0; i < parts; ++i) *lanes_at(a + i * wide) = lanes_[i];
    }
    // this -= factor * row
    DAEDALUS_INLINE void subtract(Number factor, const double* row) noexcept {
        if constexpr (planes == 2) {
            const double re = factor.real(), im = factor.imag();
            for (int i = 0; i < half; ++i) {
                const Wide a = *lanes_at(row + i * wide), b = *lanes_at(row + width + i * wide);
                lanes_[i] -= re * a - im * b;
                lanes_[half + i] -= re * b + im * a;
            }
        } else {
            for (int i = 0; i < parts; ++i) lanes_[i] -= factor * *lanes_at(row + i * wide);
        }
    }
    DAEDALUS_INLINE void subtract(Number factor, const BandRow& other) noexcept {
        if constexpr (planes == 2) {
            const double re = factor.real(), im = factor.imag();
            for (int i = 0; i < half; ++i) {
                const Wide a = other.lanes_[i], b = other.lanes_[half + i];
                lanes_[i] -= re * a - im * b;
                lanes_[half + i] -= re * b + im * a;
            }
        } else {
            for (int i = 0; i < parts; ++i) lanes_[i] -= factor * other.lanes_[i];
        }
    }
    // row -= factor * this
    DAEDALUS_INLINE void subtract_from(Number factor, double* row) const noexcept {
        BandRow other;
        other.load(row);
        if constexpr (planes == 2) {
            const double re = factor.real(), im = factor.imag();
            for (int i = 0; i < half; ++i) {
                other.lanes_[i] -= re * lanes_[i] - im * lanes_[half + i];
                other.lanes_[half + i] -= re * lanes_[half + i] + im * lanes_[i];
            }
        } else {
            for (int i = 0; i < parts; ++i) other.lanes_[i] -= factor * lanes_[i];
        }
        other.store(row);
    }
    DAEDALUS_INLINE void multiply(Number factor) noexcept {
        if constexpr (planes == 2) {
            const double re = factor.real(), im = factor.imag();
            for (int i = 0; i < half; ++i) {
                const Wide a = lanes_[i], b = lanes_[half + i];
                lanes_[i] = re * a - im * b;
                lanes_[half + i] = re * b + im * a;
            }
        } else {
            for (int i = 0; i < parts; ++i) lanes_[i] *= factor;
        }
    }
    DAEDALUS_INLINE void scale(double factor) noexcept {
        for (int i = 0; i < parts; ++i) lanes_[i] *= factor;
    }

    // Row i of a band; columns that it does not have are zero.
    DAEDALUS_INLINE void take(const ColumnBand& band, long long i) noexcept {
        for (int plane = 0; plane < planes; ++plane) {
            const double* from = band.planes[plane] + band.place[i];
            Wide* to = lanes_ + plane * half;
            if (band.count == width) {
                for (int k = 0; k < half; ++k) to[k] = *anywhere(from + k * wide);
            } else {
                double numbers[width] = {};
                for (long long j = 0; j < band.count; ++j) numbers[j] = from[j];
                for (int k = 0; k < half; ++k) to[k] = *anywhere(numbers + k * wide);
            }
        }
    }
    DAEDALUS_INLINE void give(const ColumnBand& band, long long i) const noexcept {
        for (int plane = 0; plane < planes; ++plane) {
            double* to = band.planes[plane] + band.place[i];
            const Wide* from = lanes_ + plane * half;
            if (band.count == width) {
                for (int k = 0; k < half; ++k) *anywhere(to + k * wide) = from[k];
            } else {
                double numbers[width];
                for (int k = 0; k < half; ++k) *anywhere(numbers + k * wide) = from[k];
                for (long long j = 0; j < band.count; ++j) to[j] = numbers[j];
            }
        }
    }

private:
    static constexpr int half = width / wide, parts = planes * half;
    Wide lanes_[parts];
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
