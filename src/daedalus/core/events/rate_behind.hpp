// How fast a guard moves behind an instant, by the equations that hold there, and what rounding does to it.
#pragma once

#include <cmath>
#include <limits>

#include "events/consistent_restart.hpp"
#include "events/guards.hpp"
#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// How far rounding errors of x, z and x' may move a guard at (t, x).
inline double guard_rounding(Integration& s, long long guard) noexcept {
    Guards& guards = s.guards;
    guards_at(s, s.t, s.x, guards.now);
    const double here = guards.now[guard];
    double sum = 0;
    for (long long i = 0; i < s.n; ++i) {
        if (s.x[i] == 0) continue;
        copy(s.x, s.lanes, s.stage);
        s.stage[i] *= 1 + probe_share;
        guards_at(s, s.t, s.stage, guards.now);
        const double moved = std::fabs(guards.now[guard] - here);
        if (std::isfinite(moved)) sum += moved;
    }
    return noise_margin * sum * (last_digit / probe_share);
}

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
