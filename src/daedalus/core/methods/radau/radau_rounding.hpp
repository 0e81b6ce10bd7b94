// What rounding errors leave of Newton's corrections, which no iteration and no shorter step removes.
//
// The stages w + Z are rounded to eps |w|, and so are the terms of F. A sample of what that does: every stage value and
// time moved by one spacing with a sign of its own, the derivatives left as they are,
//
//   noise = A^-1 (F(t (1 + eps), x', w (1 +- eps)) - F(t, x', w)),
//
// so a variable that constraints tie to larger ones has the noise of those, whatever its own size. Where corrections
// stop shrinking at that level, the tolerance of each unknown is widened by its noise.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "methods/radau/radau_corrections.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Corrections of this size, in units of the tolerance, may be left where rounding errors are as large.
inline constexpr double most_noise = 0.3;
// How much larger than a sample rounding errors may be.
inline constexpr double noise_margin = 8;
// A tolerance is not widened by more: what rounding leaves then is not the answer that was asked for.
inline constexpr double most_widening = 1000;
// What the noise counts after one more step.
inline constexpr double noise_decay = 0.99;

struct RadauRounding : RadauCorrections {
    // Whether corrections that do not shrink are rounding errors: of the largest state, in the smallest tolerance.
    static bool is_noise(const Integration& s, const RadauState& m, double first, double size) noexcept {
        if (size > most_noise || (first > most_noise && size > 1e-4 * first)) return false;
        return size <= coarse_noise(s, m, m.states);
    }

    // Of the largest of the first unknowns, in the smallest tolerance of them.
    static double coarse_noise(const Integration& s, const RadauState& m, long long count) noexcept {
        double largest = 0, weight = 0;
        for (long long i = 0; i < count; ++i) {
            largest = std::fmax(largest, std::fabs(s.x[i]));
            weight = std::fmax(weight, m.weights[i]);
        }
        return 64 * std::numeric_limits<double>::epsilon() * largest * weight;
    }

    // Whether the corrections in `change`, which stopped shrinking at this size, are no more than a sample of the noise
    // at the stages; the weights allow for it then. `noisiest` is the unknown that has too much of it.
    static bool rounding_explains(Integration& s, RadauState& m, double h, double size) noexcept {
        if (s.fixed_step > 0 || size > coarse_noise(s, m, m.unknowns)) return false;
        if (!sample_noise(s, m, h, m.error)) return false;
        double sum = 0, worst = 0;
        long long noisiest = 0;
        for (long long i = 0; i < m.unknowns; ++i) {
            const double part = m.error[i] * m.weights[i];
            sum += part * part;
            if (part > worst) worst = part, noisiest = i;
        }
        if (!(size * size * static_cast<double>(std::max(m.model.counted(), 1LL)) <= sum)) return false;
        if (worst > most_widening) {
            m.noisiest = noisiest;
            return false;
        }
        for (long long i = 0; i < m.unknowns; ++i) m.noise[i] = m.error[i] * index_power(m, i, h);
        widen(m, h);
        return true;
    }

    // noise <- a sample for each unknown, with its margin, by what residuals at stages moved by a spacing change the
    // correction in `change`; that is kept. False where they are not finite.
    static bool sample_noise(Integration& s, RadauState& m, double h, double* noise) noexcept {
        const long long count = m.method.stages * m.lanes;
        copy(m.change, count, m.kept);
        const bool finite = residuals(s, m, h, [&](int k, double& t, double* stage) {
            constexpr double eps = std::numeric_limits<double>::epsilon();
            t *= 1 + eps;
            for (long long i = 0; i < m.unknowns; ++i) stage[i] *= 1 + (sign_is_positive(i, k) ? eps : -eps);
        });
        if (finite) {
            correct(s, m);
            for (long long i = 0; i < m.unknowns; ++i) {
                double most = 0;
                for (int k = 0; k < m.method.stages; ++k)
                    most = std::fmax(most, std::fabs(m.change[k * m.lanes + i] - m.kept[k * m.lanes + i]));
                noise[i] = noise_margin * most;
            }
        }
        copy(m.kept, count, m.change);
        return finite;
    }

    // Tolerances are widened by the noise that was met last.
    static void widen(RadauState& m, double h) noexcept {
        m.noise_known = true;
        for (long long i = 0; i < m.unknowns; ++i) m.weights[i] /= 1 + m.noise[i] / index_power(m, i, h) * m.weights[i];
    }

    static void widen_if_noisy(RadauState& m, double h) noexcept {
        if (m.noise_known) widen(m, h);
    }

    static void let_noise_decay(RadauState& m) noexcept {
        if (!m.noise_known) return;
        for (long long i = 0; i < m.unknowns; ++i) m.noise[i] *= noise_decay;
    }

private:
    // Errors of a variable of index k count h^(k-1) times, and rounding errors of what it follows from are as much larger.
    static double index_power(const RadauState& m, long long i, double h) noexcept {
        if (!m.model.higher_index) return 1;
        return small_power(std::fmin(std::fabs(h), 1.0), m.model.index[static_cast<std::size_t>(i)] - 1);
    }

    // A sign for each unknown and stage that shows no pattern: the top bit of a multiplicative hash.
    static bool sign_is_positive(long long i, int k) noexcept {
        return (static_cast<std::uint64_t>(i * most_stages + k + 1) * 0x9E3779B97F4A7C15ULL) >> 63;
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
