// Increments of a Wiener process over cells of equal length: cells far up are drawn first and halved by Lévy's bridge, so
// that the path does not depend on the length. What it is counted by stands in simulation/noise/wiener_path.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "noise/normal_quantile.hpp"
#include "noise/philox.hpp"

namespace daedalus {

class WienerPath {
public:
    explicit WienerPath(std::uint64_t stream) : philox_{0, stream} {}

    // The seed of what follows.
    void choose(std::uint64_t seed) { philox_.seed = seed; }

    // Standard normal numbers by their place on a level.
    void normals(std::int64_t level, std::int64_t first, std::size_t count, double* out) {
        const std::uint64_t place = static_cast<std::uint64_t>(first) + ORIGIN;
        const std::size_t skip = place % 4;
        words_.resize(count + 8);
        for (std::size_t k = 0; k < skip + count; k += 4) {
            const Philox::Words four = philox_(place / 4 + k / 4 + 1, static_cast<std::uint64_t>(level));
            std::copy(four.begin(), four.end(), words_.begin() + static_cast<std::ptrdiff_t>(k));
        }
        const std::uint64_t* const words = words_.data() + skip;
        // Most numbers are in the middle: that formula is evaluated for all of them.
#pragma omp simd
        for (std::size_t k = 0; k < count; ++k) {
            const double q = centred(words[k]);
            out[k] = q * QUANTILE_MIDDLE(SQUARED_MIDDLE - q * q);
        }
        for (std::size_t k = 0; k < count; ++k) {
            const double q = centred(words[k]);
            if (std::fabs(q) > MIDDLE) out[k] = quantile_of_tail(q, tail(words[k]));
        }
    }

    // The increments over the cells first, first + 1, … of length unit / 2^level.
    void increments(double unit, std::int64_t top, std::int64_t level, std::int64_t first, std::size_t count,
                    double* out) {
        const std::int64_t depth = level - top, last = first + static_cast<std::int64_t>(count) - 1;
        std::int64_t begin = first >> std::min<std::int64_t>(depth, 62);
        std::int64_t end = last >> std::min<std::int64_t>(depth, 62);
        double length = std::ldexp(unit, static_cast<int>(-top));
        cells_.resize(static_cast<std::size_t>(end - begin + 1));
        normals(top, begin, cells_.size(), cells_.data());
        const double spread = std::sqrt(length);
        for (double& cell : cells_) cell *= spread;
        for (std::int64_t down = depth - 1; down >= 0; --down) {
            bridges_.resize(cells_.size());
            normals(level - down, begin, bridges_.size(), bridges_.data());
            const double half = 0.5 * std::sqrt(length);
            const std::int64_t shift = std::min<std::int64_t>(down, 62), left = first >> shift, right = last >> shift;
            halves_.resize(static_cast<std::size_t>(right - left + 1));
            for (std::int64_t k = left; k <= right; ++k) {
                const auto parent = static_cast<std::size_t>((k >> 1) - begin);
                const double bridge = half * bridges_[parent];
                halves_[static_cast<std::size_t>(k - left)] = 0.5 * cells_[parent] + (k & 1 ? -bridge : bridge);
            }
            std::swap(cells_, halves_);
            begin = left;
            length *= 0.5;
        }
        std::copy(cells_.begin(), cells_.end(), out);
    }

    // The place of the cell that begins at the time zero.
    static constexpr std::uint64_t ORIGIN = std::uint64_t{1} << 62;

private:

    // A word as a number in (-½, ½), 53 bits and a half.
    static double centred(std::uint64_t word) {
        return (static_cast<double>(static_cast<std::int64_t>(word >> 11)) + 0.5) * 0x1p-53 - 0.5;
    }
    static double tail(std::uint64_t word) {
        const double p = (static_cast<double>(static_cast<std::int64_t>(word >> 11)) + 0.5) * 0x1p-53;
        return p < 0.5 ? p : 1.0 - p;
    }

    Philox philox_;
    std::vector<std::uint64_t> words_;
    std::vector<double> cells_, halves_, bridges_;
};

}  // namespace daedalus
