// What rounding errors leave of Newton's corrections, which no iteration and no shorter step removes: a sample of it.
//
// In 0 = y1 + y2 + y3 - 1 a small y3 is as uncertain as y1 is in its last digit. Every value is moved by last digits with
// a sign of its own, and what the equations make of that is measured,
//
//   noise = A^-1 (F(t, x', w (1 +- digits)) - F(t, x', w)),
//
// so a variable that constraints tie to larger ones has the noise of those, whatever its own size (stochastic estimates:
// N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 2002, section 26.3).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "machine/platform.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

inline constexpr double last_digit = std::numeric_limits<double>::epsilon();
// How much larger than a sample rounding errors may be.
inline constexpr double noise_margin = 8;
// Last digits of the largest state that are noise at first sight, before a sample is taken.
inline constexpr double coarse_digits = 64;

// A sign for each place and sample that shows no pattern, the same one in every run: a bit of a mixed number (G. L. Steele,
// D. Lea, C. H. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014).
inline double random_sign(long long place, int sample, int samples) noexcept {
    std::uint64_t bits = static_cast<std::uint64_t>(place * samples + sample + 1) * 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    return (bits >> 40) & 1 ? 1 : -1;
}

// moved <- values, each by so much of itself to one side.
inline void move_by_digits(const double* values, long long n, double digits, int sample, int samples,
                           double* moved) noexcept {
    for (long long i = 0; i < n; ++i) moved[i] = values[i] * (1 + random_sign(i, sample, samples) * digits);
}

// noise <- the largest change of each unknown over the samples, at least what is there; `change_by(sample)` points to the
// changes of one, or to nothing where the equations have no value. False there, and where a change is not finite.
template <class ChangeBy>
inline bool sample_noise(long long n, int samples, ChangeBy&& change_by, double* noise) noexcept {
    double sum = 0;
    for (int sample = 0; sample < samples; ++sample) {
        const double* change = change_by(sample);
        if (!change) return false;
        for (long long i = 0; i < n; ++i) noise[i] = std::fmax(noise[i], std::fabs(change[i])), sum += change[i];
    }
    return std::isfinite(sum);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
