// How guards that have fired rest at zero, and when they have left it: one crossing never fires twice.
#pragma once

#include <algorithm>
#include <cmath>

#include "events/guards.hpp"
#include "methods/step_control.hpp"
#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// An error of z at the end of a step is below this part of what a guard on it changes by in the step.
inline constexpr double solved_share = 1e-3;

// Guards that fired rest at zero, which they have reached to rounding. A switch may have another slope and unit behind
// its turn (the voltage of a diode becomes a current), and the way back onto the constraints behind a reset may move a
// guard: within the error of the step it rests where it is. So does a guard on z that its reset left at zero where z was
// solved for again: the end of a step has an error in z of its own, which a fixed step tells nothing of. A switch that is
// led back to zero turns at its floor, which stays as it was: else it would grow from turn to turn.
inline void rest_fired(Integration& s) noexcept {
    Guards& guards = s.guards;
    if (s.inputs.delayed) learn_noise(s, s.t, s.x);
    guards_at(s, s.t, s.x, guards.now);
    for (long long r = guards.early_count; r < guards.root_count; ++r) {
        const long long guard = guards.roots[r].guard;
        const bool contrary = guards.roots[r].contrary;
        double level = std::fabs(guards.before[guard]) + std::fabs(guards.rates[guard]) * spacing(s.t) + guards.noise[guard];
        if (contrary) level = guards.met[guard] / 4;
        const double now = std::fabs(guards.now[guard]);
        const bool moved = is_switch(guards, guard) || guards.heading[guard] != 0;
        const double way = std::fabs(guards.rates[guard] * s.last_step);
        const bool stayed = s.implicit && std::fabs(guards.written[guard]) <= 4 * level;
        if ((stayed && now <= solved_share * way) || (moved && now <= s.rtol * way)) level = std::fmax(level, now);
        guards.reference[guard] = 0;
        guards.floor[guard] = 4 * level;
        if (!contrary) guards.met[guard] = guards.floor[guard];
    }
}

// Guard values after a restart at (t, x) become references; guards that fired, or still rest, and stand at zero rest. So
// does that of a contact which its new law leaves behind zero, by the error of the old one: a flight may be lower than it.
inline void refresh_references(Integration& s) noexcept {
    Guards& guards = s.guards;
    rest_fired(s);
    for (long long i = 0; i < guards.count; ++i) {
        if (is_contact(guards, i) && guards.now[i] <= 0)
            guards.reference[i] = 0, guards.floor[i] = std::fmax(guards.floor[i], std::fabs(guards.now[i]));
        const bool rests = guards.reference[i] == 0 && std::fabs(guards.now[i]) <= guards.floor[i];
        if (guards.reference[i] != 0 && within_noise(guards, i, guards.now[i])) continue;  // its sign is what it was
        guards.reference[i] = rests || std::isnan(guards.now[i]) ? 0 : guards.now[i];
        if (!rests) guards.floor[i] = 0;
    }
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
