// The first step of an implicit method, from the size of the states and their slopes; costs no evaluation.
#pragma once

#include <cmath>

#include "methods/implicit/implicit_state.hpp"
#include "methods/step_control.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// A step that changes a state by half a tolerance is safe for any method, one that changes it by a hundredth of its size
// is the longest that a slope alone can answer for (Hairer, Norsett, Wanner, section II.4).
inline constexpr double safe_change = 0.5, largest_change = 0.01;
// Without a slope, or where the order begins at 1, this much of the way to the next stop; never less than the second.
inline constexpr double part_of_way = 1e-3, least_part_of_way = 1e-14;

// Between the two, geometrically: the nearer to the safe one, the larger `caution` is; halfway where the order is not asked.
inline constexpr double halfway = 0.5;

// The weights have to be set; `counts` has a factor for each state, and all count where there is none. The step is no longer
// than this part of the way to the next stop.
inline double first_step_length(const Integration& s, const ImplicitState& m, double caution, double longest_part,
                                const double* counts) noexcept {
    double slope = 0, size = 1;
    for (long long i = 0; i < m.states; ++i) {
        const double weight = counts ? m.weights[i] * counts[i] : m.weights[i];
        slope = std::fmax(slope, std::fabs(s.x[m.unknowns + i] * weight));
        size = std::fmax(size, std::fabs(s.x[i] * weight));
    }
    const double longest = std::fmin(std::fabs(interval_end(s) - s.t), s.max_step);
    if (!(slope > 0)) return part_of_way * longest;
    const double safe = safe_change / slope, largest = largest_change * size / slope;
    const double wish = caution == halfway ? std::sqrt(safe * largest)
                                           : std::pow(safe, caution) * std::pow(largest, 1 - caution);
    return std::fmax(std::fmin(wish, longest_part * longest), least_part_of_way * longest);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
