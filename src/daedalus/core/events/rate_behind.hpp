// How fast a guard moves behind an instant, by the equations that hold there.
#pragma once

#include <cmath>
#include <limits>

#include "events/consistent_restart.hpp"
#include "events/guards.hpp"
#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// z at a time and place beside the present one, in its row.
inline bool solve_beside(Integration& s, double t, double* row) noexcept {
    if (implicit_of(s).settle) return false;
    const double here = s.t;
    s.t = t;
    const bool solved = solve_restart(s, row, false);
    s.t = here;
    return solved;
}

// How far to both sides of t a rate is taken.
inline double rate_reach(const Integration& s, double longer) noexcept {
    return longer * std::fmax(beside_part * std::fabs(s.last_step), shortest_chord * spacing(s.t));
}

// The rate of a guard at (t, x) along the slopes of the modes that hold now, with z as they follow from x; NaN where they
// are not found, or lost in the noise of what was. Taken over a longer part of the step where that is asked for.
inline double rate_behind(Integration& s, long long guard, bool of_unknowns, double longer = 1) noexcept {
    const double reach = s.direction * rate_reach(s, longer);
    const double rate = rate_along(s, guard, reach, s.k, 1, [&](double t, double* row) {
        return !(of_unknowns && s.implicit) || solve_beside(s, t, row);
    });
    return within_noise(s.guards, guard, rate * reach) ? std::numeric_limits<double>::quiet_NaN() : rate;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
