// How guards that have fired rest at zero, and when they have left it: one crossing never fires twice.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "events/guards.hpp"
#include "events/rate_behind.hpp"
#include "methods/step_control.hpp"
#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// The rate of a switch that has just turned, to the side it turned to, by the equations that hold there, taken over a time
// in which it moves by more than rounding; NaN where these do not lead it away from zero, or it is not known.
inline double rate_away(Integration& s, const Root& root, double rounding) noexcept {
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    if (!s.implicit || implicit_of(s).model.higher_index || root.contrary || !is_switch(s.guards, root.guard)) return unknown;
    if ((mode_of(s.guards, root.guard) != 0) != root.rising) return unknown;
    double longer = 1;
    for (int look = 0; look < most_closer_looks; ++look, longer *= look_ratio) {
        const double rate = (root.rising ? 1 : -1) * rate_behind(s, root.guard, true, longer);
        if (std::fabs(rate) * rate_reach(s, longer) > told_apart * rounding) return rate > 0 ? rate : unknown;
    }
    return unknown;
}

// Whether a guard has no zero where it fired, but jumps over it: an indicator of an FMU that is 1 or -1. It is as large
// all through the step as where it fired. Ramps that fall at a jump are not meant: their steps end there.
inline bool jumps_at_zero(Integration& s, long long guard) noexcept {
    Guards& guards = s.guards;
    if (is_switch(guards, guard) || guards.each[guard].is_contact) return false;
    if (s.implicit && implicit_of(s).model.higher_index) return false;
    const double before = std::fabs(guards.before[guard]);
    for (int j = 0; j < guard_samples; ++j)
        if (std::fabs(guards.samples[j * guards.count + guard]) != before) return false;
    return before > 0;
}

// Guards that fired rest at zero, which they have reached to rounding. A switch may have another slope and unit behind
// its turn (the voltage of a diode becomes a current), and the way back onto the constraints behind a reset may move a
// guard: within the error of the step it rests where it is. What rounding leaves of it has the unit behind the turn: the
// current of a diode that ends becomes a voltage, a billion times as large, and the other way round. So does a guard on z
// that its reset left at zero where z was solved for again: the end of a step has an error in z of its own, which a fixed
// step tells nothing of, unless z was solved for before the reset too. A switch that is led back to zero turns at its floor, which stays as it was: else it would grow
// from turn to turn.
inline void rest_fired(Integration& s) noexcept {
    Guards& guards = s.guards;
    if (s.inputs.delayed) learn_noise(s, s.t, s.x);
    guards_at(s, s.t, s.x, guards.now);
    for (long long r = guards.roots.early; r < guards.roots.count; ++r) {
        const long long guard = guards.roots[r].guard;
        Guard& own = guards.each[guard];
        const bool contrary = guards.roots[r].contrary;
        double level = std::fabs(guards.before[guard]) + std::fabs(own.rate) * spacing(s.t) + own.noise;
        if (contrary) level = own.met / told_apart;
        else if (jumps_at_zero(s, guard)) level -= std::fabs(guards.before[guard]);
        const double value = guards.now[guard], now = std::fabs(value);
        const bool moved = is_switch(guards, guard) || own.heading() != 0;
        const double way = std::fabs(own.rate * s.last_step);
        const bool stayed = s.implicit && std::isnan(own.renewed) && std::fabs(own.written) <= told_apart * level;
        bool rests = (stayed && now <= solved_share * way) || (moved && now <= s.rtol * way);
        if (s.implicit && is_switch(guards, guard)) {
            const double rounding = guard_rounding(s, guard), rate = rate_away(s, guards.roots[r], rounding);
            const double unit = rate / std::fabs(own.rate), side = guards.roots[r].rising ? 1 : -1;
            rests |= side * value < 0 && now <= std::fmax(s.rtol * rate * std::fabs(s.last_step), (level + rounding) * unit);
            if (std::isfinite(unit)) level = std::fmax(level * unit, rounding);
            guards_at(s, s.t, s.x, guards.now);
        }
        // One that a jump has carried across zero is not at it.
        rests |= own.is_left_at(value) && now <= 2 * std::fabs(own.renewal) + level;
        if (rests) level = std::fmax(level, now);
        own.on(Guard::Happening::rests, told_apart * level);
        if (!contrary) own.met = own.floor();
    }
}

// Whether a guard that has passed zero is led back across it by an error of the step that its restart takes back.
inline bool is_led_back(const Integration& s, const Guard& guard) noexcept {
    const double before = guard.renewed - guard.renewal;
    return crosses(before, guard.renewed) && before * guard.rate * s.direction > 0;
}

// Guard values after a restart at (t, x) become references; guards that fired, or still rest, and stand at zero rest, and
// so do those that an error has led back to it. So does that of a contact which its new law leaves behind zero, by the error of the old one: a flight may be lower than it.
inline void refresh_references(Integration& s) noexcept {
    Guards& guards = s.guards;
    rest_fired(s);
    for (long long i = 0; i < guards.count; ++i) {
        Guard& guard = guards.each[i];
        const double now = guards.now[i];
        if (guard.is_contact && now <= 0) guard.on(Guard::Happening::rests, std::fmax(guard.floor(), std::fabs(now)));
        // Behind zero by less than a flight that no step sees: where it rests until the step behind tells that it fell.
        if (!guard.has_sign() && guard.has_returned() && on_one_side(guard.heading(), now))
            guard.on(Guard::Happening::rests, std::fabs(now));
        if (is_led_back(s, guard) && guard.is_left_at(now))
            guard.on(Guard::Happening::rests, told_apart * std::fmax(std::fabs(now), std::fabs(guard.renewal)));
        if (guard.rests_at(now)) continue;
        if (guard.has_sign() && within_noise(guards, i, now)) continue;  // its sign is what it was
        if (std::isnan(now) || now == 0)
            guard.on(Guard::Happening::rests);
        else
            guard.on(Guard::Happening::sees, now);
    }
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
