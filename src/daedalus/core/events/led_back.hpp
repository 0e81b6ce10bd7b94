// Whether a run slides: a switch that has just turned is led back to zero by the equations that hold behind it, as their
// rates tell, or as it was seen to come back again and again.
#pragma once

#include <cmath>

#include "events/modes.hpp"
#include "events/rate_behind.hpp"
#include "methods/step_control.hpp"
#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Whether a switch of this round has come back to zero again and again without being away from it.
inline bool returns_often(Integration& s) noexcept {
    Guards& guards = s.guards;
    bool often = false;
    for (long long r = guards.roots.early; r < guards.roots.count; ++r) {
        const Root& root = guards.roots[r];
        if (!is_switch(guards, root.guard)) continue;
        long long& count = guards.each[root.guard].returns;
        if (root.contrary)
            ++count;
        else if (std::fabs(guards.each[root.guard].rate * s.last_step) > away_from_zero * guards.each[root.guard].met)
            count = 0;
        if (count < most_rounds) continue;
        guards.switches.last_turned = root.guard - (guards.first_switch());
        often = true;
    }
    return often;
}

// Behind a step: switches that are away from zero have not come back to it.
inline void forget_returns(Guards& guards) noexcept {
    for (long long guard = guards.first_switch(); guard < guards.count; ++guard)
        if (Guard& own = guards.each[guard]; std::fabs(own.reference()) > away_from_zero * own.met) own.returns = 0;
}

// The switches of this round that are led back. Those of z that jump where they turn cannot be judged by rates.
inline bool led_back(Integration& s) noexcept {
    Guards& guards = s.guards;
    if (s.implicit && implicit_of(s).model.higher_index) return false;
    bool known = s.implicit != nullptr;
    for (long long r = guards.roots.early; r < guards.roots.count && !s.abort_called; ++r) {
        const Root& root = guards.roots[r];
        if (!is_switch(guards, root.guard) || (mode_of(guards, root.guard) != 0) != root.rising) continue;
        const Guard::Surface surface = guards.each[root.guard].surface;
        if (surface == Guard::Surface::none) continue;
        if (!known) slope_at(s, s.t, s.x, s.k);
        known = true;
        const double rate = rate_behind(s, root.guard, surface == Guard::Surface::of_unknowns) * (root.rising ? 1 : -1);
        if (rate < -negligible * std::fabs(guards.each[root.guard].rate)) {
            guards.switches.last_turned = root.guard - (guards.first_switch());
            return true;
        }
    }
    return false;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
