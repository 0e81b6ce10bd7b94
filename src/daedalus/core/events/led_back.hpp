// Whether a run slides: a switch that has just turned is led back to zero by the equations that hold behind it.
#pragma once

#include <cmath>

#include "events/modes.hpp"
#include "methods/step_control.hpp"
#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Rates below this part of the one before are none; and over which part of the last step they are taken.
inline constexpr double led_back_share = 1e-9, led_back_look = 1e-3;

// The rate of a guard at (t, x) along the slopes of the modes that hold now.
inline double rate_behind(Integration& s, long long guard) noexcept {
    const double* slope = s.implicit ? s.x + implicit_of(s).unknowns : s.k;
    const long long count = s.implicit ? implicit_of(s).states : s.n;
    const double reach = s.direction * std::fmax(led_back_look * std::fabs(s.last_step), shortest_chord * spacing(s.t));
    const auto value_at = [&](double away) {
        copy(s.x, s.lanes, s.stage);
        for (long long i = 0; i < count; ++i) s.stage[i] += away * slope[i];
        guards_at(s, s.t + away, s.stage, s.guards.now);
        return s.guards.now[guard];
    };
    return (value_at(reach) - value_at(-reach)) / (2 * std::fabs(reach));
}

// The switches of this round that are led back. Only guards of x, t, u are judged: those of z may jump where they turn.
inline bool led_back(Integration& s) noexcept {
    Guards& guards = s.guards;
    if (!guards.may_slide || (s.implicit && implicit_of(s).model.higher_index)) return false;
    bool known = s.implicit != nullptr;
    for (long long r = guards.early_count; r < guards.root_count && !s.abort_called; ++r) {
        const Root& root = guards.roots[r];
        if (!is_switch(guards, root.guard) || (mode_of(guards, root.guard) != 0) != root.rising) continue;
        const long long which = root.guard - (guards.count - guards.switches);
        if (!guards.may_slide[which]) continue;
        if (!known) slope_at(s, s.t, s.x, s.k);
        known = true;
        const double rate = rate_behind(s, root.guard) * (root.rising ? 1 : -1);
        if (rate < -led_back_share * std::fabs(guards.rate)) {
            guards.last_turned = which;
            return true;
        }
    }
    return false;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
