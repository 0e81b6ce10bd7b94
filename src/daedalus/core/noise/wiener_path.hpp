// The path of a Wiener process on a tree of times. Cells of the longest level are drawn; a cell is cut into two or five
// by bridges between its ends, in turn, so that the nodes of all levels are the multiples of 10^k and of 5 · 10^k seconds.
// The path at a node does not depend on what else is asked for.
//
//   halves:  W(L/2) = I/2 + √L/2 z
//   fifths:  P_j = P_(j-1) + (I − P_(j-1)) / (6 − j) + √(L/5 · (5 − j) / (6 − j)) z_j,  j = 1..4
//
// with I the increment of a cell of length L, P_j that of its first j fifths, and z standard normal numbers by their
// place (A. Gaines, T. Lyons, Variable step size control in the numerical solution of stochastic differential equations,
// SIAM J. Appl. Math. 57, 1997). How times are counted stands in simulation/noise/wiener_path.py.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
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

    // A level of the tree: what the normal numbers of each cut above it are multiplied by, the finest first; the last one
    // is that of the longest cells.
    struct TimeLevel {
        std::int64_t number;
        std::span<const double> factors;

        std::int64_t depth() const { return static_cast<std::int64_t>(factors.size()) - 1; }
        // Into how many cells one is cut, of which the parts are so many cuts above the level.
        std::int64_t parts(std::int64_t above) const { return (number - above) % 2 != 0 ? 2 : 5; }
    };

    // The increments over the cells first, first + 1, … of a level.
    void increments(const TimeLevel& level, std::int64_t first, std::size_t count, double* out) {
        const std::int64_t depth = level.depth();
        begins_.assign(1, first);
        ends_.assign(1, first + static_cast<std::int64_t>(count));
        for (std::int64_t s = 0; s < depth; ++s) {
            begins_.push_back(floor_quotient(begins_.back(), level.parts(s)));
            ends_.push_back(floor_quotient(ends_.back() - 1, level.parts(s)) + 1);
        }
        cells_.resize(static_cast<std::size_t>(ends_.back() - begins_.back()));
        normals(level.number - depth, begins_.back(), cells_.size(), cells_.data());
        for (double& cell : cells_) cell *= level.factors.back();
        for (std::int64_t s = depth - 1; s >= 0; --s) cut(level, s);
        std::copy(cells_.begin(), cells_.end(), out);
    }

    // W at the beginnings of cells of a level; W(0) = 0. What neighbours share is drawn once.
    void points(const TimeLevel& level, std::span<const std::int64_t> nodes, double* out) {
        chain_.assign(level.factors.size(), CutCell{});
        for (const std::int64_t node : nodes) *out++ = point(level, node);
    }

    // The place of the cell that begins at the time zero.
    static constexpr std::uint64_t ORIGIN = std::uint64_t{1} << 62;

    // The mean of the next fifth as a share of what is left, and the deviation of its end.
    static constexpr double SHARES[4] = {1.0 / 5, 1.0 / 4, 1.0 / 3, 1.0 / 2};
    static constexpr double SPREADS[4] = {0.8944271909999159, 0.8660254037844386, 0.816496580927726, 0.7071067811865476};

private:
    // A cell on the way down to a node: its place, its increment, the path at its end nearer to zero, and the numbers that
    // cut the cell above.
    struct CutCell {
        std::int64_t cell = 0, parent = 0;
        double increment = 0, at = 0;
        std::array<double, 4> numbers{};
        bool known = false;
    };

    static std::int64_t floor_quotient(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

    // P_1..P_4 in place of z_1..z_4.
    static void fifths(double increment, double factor, double* numbers) {
        double at = 0;
        for (int j = 0; j < 4; ++j) {
            at = (at + (increment - at) * SHARES[j]) + (factor * SPREADS[j]) * numbers[j];
            numbers[j] = at;
        }
    }

    // The cells s cuts above the level from those above them.
    void cut(const TimeLevel& level, std::int64_t s) {
        const std::int64_t parts = level.parts(s), numbers = parts == 2 ? 1 : 4;
        const auto up = static_cast<std::size_t>(s + 1), own = static_cast<std::size_t>(s);
        const std::int64_t parent = begins_[up], begin = begins_[own], end = ends_[own];
        const double factor = level.factors[own];
        bridges_.resize(cells_.size() * static_cast<std::size_t>(numbers));
        normals(level.number - s, numbers * parent, bridges_.size(), bridges_.data());
        parts_.resize(static_cast<std::size_t>(end - begin));
        for (std::size_t k = 0; k < cells_.size(); ++k) {
            const double increment = cells_[k];
            double* const marks = bridges_.data() + k * static_cast<std::size_t>(numbers);
            if (parts == 2) marks[0] = 0.5 * increment + factor * marks[0];
            else fifths(increment, factor, marks);
            const std::int64_t first = parts * (parent + static_cast<std::int64_t>(k));
            double before = 0;
            for (std::int64_t j = 0; j < parts; ++j) {
                const double mark = j < numbers ? marks[j] : increment;
                if (first + j >= begin && first + j < end) parts_[static_cast<std::size_t>(first + j - begin)] = mark - before;
                before = mark;
            }
        }
        std::swap(cells_, parts_);
    }

    double point(const TimeLevel& level, std::int64_t node) {
        const std::int64_t depth = level.depth();
        std::int64_t cell = node < 0 ? node - 1 : node, s = 0;
        for (; s <= depth; ++s) {
            CutCell& link = chain_[static_cast<std::size_t>(s)];
            if (link.known && link.cell == cell) break;
            link.cell = cell;
            cell = floor_quotient(cell, level.parts(s));
        }
        while (--s >= 0) {
            CutCell& link = chain_[static_cast<std::size_t>(s)];
            if (s == depth) {
                normals(level.number - s, link.cell, 1, &link.increment);
                link.increment *= level.factors.back();
                link.at = 0;
            } else {
                step_down(level, s, chain_[static_cast<std::size_t>(s + 1)], node < 0, link);
            }
            link.known = true;
        }
        return chain_.front().at;
    }

    void step_down(const TimeLevel& level, std::int64_t s, const CutCell& above, bool before_zero, CutCell& link) {
        const std::int64_t parts = level.parts(s), numbers = parts == 2 ? 1 : 4;
        const double factor = level.factors[static_cast<std::size_t>(s)];
        if (!link.known || link.parent != above.cell) {
            normals(level.number - s, numbers * above.cell, static_cast<std::size_t>(numbers), link.numbers.data());
            if (parts == 5) fifths(above.increment, factor, link.numbers.data());
            link.parent = above.cell;
        }
        const auto j = static_cast<std::size_t>(link.cell - parts * above.cell);
        double low = 0, high = above.increment;
        if (parts == 2) {
            const double middle = 0.5 * above.increment + factor * link.numbers[0];
            (j == 0 ? high : low) = middle;
        } else {
            if (j > 0) low = link.numbers[j - 1];
            if (j < 4) high = link.numbers[j];
        }
        link.increment = high - low;
        link.at = before_zero ? above.at - (above.increment - high) : above.at + low;
    }

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
    std::vector<double> cells_, parts_, bridges_;
    std::vector<std::int64_t> begins_, ends_;
    std::vector<CutCell> chain_;
};

}  // namespace daedalus
