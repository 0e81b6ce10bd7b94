// Modes of switches in the equations: 0 or 1 for a whole step, turned where their guards pass zero.
//
// A condition a > b of an equation is a hidden parameter; its guard a - b is located like that of an event. Where x, z
// or u jump, modes and guards are made to agree, one contradiction after the other and the first one first: that ends
// for complementarity problems with a P-matrix (K. G. Murty, Opsearch 11, 1974), circuits with ideal diodes among them.
#pragma once

#include <algorithm>
#include <cmath>

#include "events/consistent_restart.hpp"
#include "events/guards.hpp"
#include "events/rate_behind.hpp"
#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

inline void turn(Guards& guards, long long guard, bool on) noexcept {
    mode_of(guards, guard) = on ? 1 : 0;
    guards.switches.last_turned = guard - (guards.first_switch());
}

// The switches among the guards that fired take the side they are on their way to; true where there are any.
inline bool turn_fired(Integration& s) noexcept {
    Guards& guards = s.guards;
    bool any = false;
    for (long long r = guards.roots.early; r < guards.roots.count; ++r) {
        const Root& root = guards.roots[r];
        if (!is_switch(guards, root.guard)) continue;
        turn(guards, root.guard, root.rising);
        guards.each[root.guard].located |= guards.each[root.guard].led;
        ++guards.switches.turns, any = true;
    }
    return any;
}

// A guard that rests on zero keeps its mode.
inline bool is_wrong(const Guards& guards, long long guard) noexcept {
    const double value = guards.now[guard];
    const bool rests = guards.each[guard].rests_at(value);
    return !rests && !std::isnan(value) && (value > 0) != (mode_of(guards, guard) != 0);
}

// Whether a guard is on the wrong side by no more than rounding errors, or than it moves by in the spacing of time on its
// way to the right one: a current that ends within rounding errors of time is a voltage where its diode blocks.
inline bool is_within_rounding(Integration& s, long long guard, double rounding) noexcept {
    const double value = s.guards.now[guard];
    if (std::fabs(value) <= rounding) return true;
    if (implicit_of(s).model.higher_index) return false;
    const double rate = s.direction * rate_behind(s, guard, true);
    return value * rate < 0 && std::fabs(value) <= rounding + told_apart * spacing(s.t) * std::fabs(rate);
}

// A guard that is zero but for rounding has no side: the second of two diodes in series, where the first has ended their
// current. It keeps its mode and rests. Zero itself has a side, as it is written.
inline bool rests_by_rounding(Integration& s, long long guard) noexcept {
    Guards& guards = s.guards;
    const double value = guards.now[guard];
    if (!s.implicit || value == 0) return false;
    const double rounding = guard_rounding(s, guard);
    guards.now[guard] = value;
    const bool rests = is_within_rounding(s, guard, rounding);
    if (rests) guards.each[guard].on(Guard::Happening::rests, std::fmax(rounding, std::fabs(value)));
    guards_at(s, s.t, s.x, guards.now);
    return rests;
}

// Modes that agree with their guards at (t, x); z and x' of an implicit model follow each turn.
inline Status settle_modes(Integration& s) noexcept {
    Guards& guards = s.guards;
    const long long limit = most_rounds + 4 * guards.switches.count;
    for (long long round = 0; round <= limit; ++round) {
        guards_at(s, s.t, s.x, guards.now);
        if (s.abort_called) return Status::aborted;
        long long guard = guards.first_switch();
        while (guard < guards.count && !is_wrong(guards, guard)) ++guard;
        if (guard == guards.count) return Status::going;
        if (rests_by_rounding(s, guard)) continue;
        turn(guards, guard, guards.now[guard] > 0);
        guards.each[guard].located |= guards.each[guard].led;
        if (s.implicit && !solve_restart(s, s.x, false)) return restart_failure(s);
    }
    return Status::chattering;
}

// Discrete variables and modes as they are from here on, and which switches the motion has turned.
inline void record_held(Integration& s, bool later_values) noexcept {
    if (s.implicit && later_values) keep_later_values(s);
    Guards& guards = s.guards;
    HeldRows& held = s.recorder.held;
    const long long switches = guards.switches.count;
    const long long row = s.recorder.steps.count - 1, width = guards.assigned.discretes + switches;
    const bool written = push_held(held, row, s.t, guards.assigned.held, width);
    for (long long k = 0; k < switches; ++k) {
        bool& located = guards.each[guards.first_switch() + k].located;
        if (written) held.located[(held.count - 1) * switches + k] = located;
        located = false;
    }
}

// The modes at the start: the first row solves the equations already, so all of them are read off before any solve. One
// that turned at this moment in the run before is marked and known: rounding may have left its guard on the other side.
inline Status first_modes(Integration& s) noexcept {
    Guards& guards = s.guards;
    bool changed = true;
    // A condition inside another one needs a round more.
    for (long long round = 0; round <= guards.switches.count && changed; ++round) {
        guards_at(s, s.t, s.x, guards.now);
        if (s.abort_called) return Status::aborted;
        changed = false;
        for (long long guard = guards.first_switch(); guard < guards.count; ++guard) {
            if (guards.each[guard].begins == Guard::Begins::fired) {
                guards.each[guard].on(Guard::Happening::rests, away_from_zero * std::fabs(guards.now[guard]));
                continue;
            }
            const double on = guards.now[guard] > 0 ? 1 : 0;
            changed |= mode_of(guards, guard) != on;
            mode_of(guards, guard) = on;
        }
    }
    const Status status = settle_modes(s);
    record_held(s, true);
    return status;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
