// The error of variables of index 2 at the end of a run, in equations with kinks.
//
// On the way such errors count h times, or not at all: a step over a kink leaves a wrong value of z at its end, and the next
// step, which does not depend on it, the right one. The last step has none behind it, so there they count whole.
#pragma once

#include <cmath>

#include "methods/implicit/implicit_state.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// A last step is refused so often because of its variables of index 2: as many halvings lead to steps near rounding.
inline constexpr int most_refused_ends = 30;

// Whether z at the end of this step stays as it is, and may be that of a step over a kink or of the first behind a jump.
inline bool ends_run(const Integration& s, const ImplicitState& m) noexcept {
    const bool kink_possible = s.kinked || m.stale_time == s.t;
    return m.model.deepest == 2 && kink_possible && m.refused_ends < most_refused_ends && s.t_new == s.t1;
}

// Calls `error_of(i)`, in units of what is allowed, for the variables without x' of index 2, and gives the largest.
template <class ErrorOf>
inline double largest_error_of_z(const ImplicitState& m, ErrorOf&& error_of) noexcept {
    double largest = 0;
    for (long long i = 0; i < m.unknowns; ++i) {
        const auto place = static_cast<std::size_t>(i);
        if (m.model.index[place] < 2 || (i < m.states && m.model.has_derivative[place])) continue;
        largest = std::fmax(largest, error_of(i));
    }
    return largest;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
