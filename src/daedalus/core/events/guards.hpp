// Where guard functions change sign inside an accepted step, found on its dense output.
//
// A guard has a reference: its last value with a trusted sign. After it fired it rests on zero and has none until it
// has left the rounding error around zero, so that one crossing never fires twice.
#pragma once

#include <cmath>
#include <initializer_list>

#include "events/limits.hpp"
#include "events/root.hpp"
#include "methods/implicit/implicit_state.hpp"
#include "methods/implicit/rounding_noise.hpp"
#include "model/input_jumps.hpp"
#include "state/dense_output.hpp"
#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

struct GuardPoint {
    double theta, value;
};

// A part of the step.
struct Stretch {
    double begin, end;
    double at(double part) const { return begin + part * (end - begin); }
};

// Zero is on one side of a condition: x >= 1 holds at x = 1, x > 1 does not.
inline void take_sides(const Guards& guards, double* values) noexcept {
    const double least = std::numeric_limits<double>::min();
    for (long long i = 0; i < guards.count; ++i)
        if (const Guard& own = guards.each[i]; own.side != Guard::Side::none && values[i] == 0) {
            const bool above = (own.direction > 0) == (own.side == Guard::Side::holds);
            values[i] = above ? least : -least;
        }
}

inline void guards_at(Integration& s, double t, const double* x, double* out) noexcept {
    if (s.guards.calls.values_after_solve && !slope_by_solve(s, t, x, s.guards.calls.slope))
        return note_failure(s, 0, out, s.guards.count);
    set_time(s, t);
    Call& call = s.guards.calls.values;
    call.arg[1] = x;
    call.res[0] = out;
    if (const int failed = evaluate(call)) [[unlikely]]
        note_failure(s, failed, out, s.guards.count);
    if (s.guards.any_sides) take_sides(s.guards, out);
}

// All guards on the dense output of the present step; returns the one asked for.
inline double guard_on_step(Integration& s, long long guard, double theta) noexcept {
    evaluate_polynomial(s.coefficients, s.method->degree(s), s.lanes, theta, s.stage);
    guards_at(s, s.t + theta * (s.t_new - s.t), s.stage, s.guards.now);
    return s.guards.now[guard];
}

// What the rounding errors of delayed signals do to the guards at (t, x): the sign of a guard is trusted beyond that only.
// They are moved one at a time; where a guard answers as no line does, it jumps, and a jump is no noise.
DAEDALUS_COLD void learn_noise(Integration& s, double t, const double* x) noexcept {
    Guards& guards = s.guards;
    const DelayedSignals& d = *s.inputs.delayed;
    double *above = guards.shifted, *below = above + guards.count;
    for (long long i = 0; i < guards.count; ++i) guards.each[i].noise = 0;
    guards_at(s, t, x, guards.now);
    const bool any_slope = s.inputs.any_slope;
    s.inputs.any_slope = false;  // u stays as it is put
    for (long long k = 0; k < d.count(); ++k) {
        const double time = t - d.delays[static_cast<std::size_t>(k)];
        double& signal = s.inputs.u[d.slots[static_cast<std::size_t>(k)]];
        const double value = signal, error = piece_rounding(d, k, piece_from(d, time));
        signal = value + error;
        guards_at(s, t, x, above);
        signal = value - error;
        guards_at(s, t, x, below);
        signal = value;
        for (long long i = 0; i < guards.count; ++i) {
            const double up = above[i] - guards.now[i], down = guards.now[i] - below[i];
            if (std::fabs(up - down) <= 0.5 * std::fabs(up + down)) guards.each[i].noise += 0.5 * std::fabs(up + down);
        }
    }
    s.inputs.any_slope = any_slope;
    guards.noise_begin = guards.noise_end = std::numeric_limits<double>::quiet_NaN();
}

// Whether a value of a guard has no sign that can be trusted.
inline bool within_noise(const Guards& guards, long long guard, double value) noexcept {
    return guards.each[guard].noise > 0 && std::fabs(value) <= guards.each[guard].noise;
}

// The same at a part of the present step.
inline bool is_noise(Integration& s, long long guard, GuardPoint found) noexcept {
    Guards& guards = s.guards;
    if (!s.inputs.delayed) return false;
    if (guards.noise_begin != s.t || guards.noise_end != s.t_new) {
        evaluate_polynomial(s.coefficients, s.method->degree(s), s.lanes, found.theta, s.stage);
        learn_noise(s, s.t + found.theta * (s.t_new - s.t), s.stage);
        guards.noise_begin = s.t, guards.noise_end = s.t_new;
    }
    return within_noise(guards, guard, found.value);
}

// How far rounding errors of what is known at (t, x) may move a guard.
inline double guard_rounding(Integration& s, long long guard) noexcept {
    Guards& guards = s.guards;
    guards_at(s, s.t, s.x, guards.now);
    const double here = guards.now[guard];
    double sum = 0;
    copy(s.x, s.lanes, s.stage);
    for (long long i = 0; i < s.n; ++i) {
        if (s.x[i] == 0) continue;
        s.stage[i] *= 1 + probe_share;
        guards_at(s, s.t, s.stage, guards.now);
        s.stage[i] = s.x[i];
        const double moved = std::fabs(guards.now[guard] - here);
        if (std::isfinite(moved)) sum += moved;
    }
    return noise_margin * sum * (last_digit / probe_share);
}

inline bool direction_fits(const Guards& guards, long long guard, double before) {
    const long long direction = guards.each[guard].direction;
    return direction == 0 || (before < 0) == (direction > 0);
}

// Whether the zeros of a guard are known, since time alone decides them.
inline bool is_scheduled(const Guards& guards, long long guard) {
    return guards.each[guard].state() == Guard::State::scheduled;
}

inline bool is_switch(const Guards& guards, long long guard) { return guard >= guards.first_switch(); }

inline double& mode_of(const Guards& guards, long long guard) {
    return guards.switches.modes[guard - (guards.first_switch())];
}

// Whether the value of a switch says that its mode is the wrong one.
inline bool against_mode(const Guards& guards, long long guard, double value) {
    return is_switch(guards, guard) && value != 0 && (value > 0) != (mode_of(guards, guard) != 0);
}

// Whether a guard that rested on zero must not be on this side of it: a switch against its mode, and a contact, whose
// guard is negative where the law of its mode does not hold.
inline bool is_wrong_side(const Guards& guards, long long guard, double value) {
    return against_mode(guards, guard, value) || (guards.each[guard].is_contact && value < 0);
}

// Whether both are on one side of zero, however small they are: a product of theirs may vanish.
inline bool on_one_side(double one, double other) { return one > 0 ? other > 0 : one < 0 && other < 0; }

inline bool crosses(double before, double after) { return (before < 0 && after >= 0) || (before > 0 && after <= 0); }

inline void locate(Integration& s, long long guard, GuardPoint left, GuardPoint right) noexcept {
    Guards& guards = s.guards;
    if (!direction_fits(guards, guard, left.value)) return;
    const double rounding = 0.5 * spacing(std::fmax(std::fabs(s.t), std::fabs(s.t_new))) / std::fabs(s.t_new - s.t);
    const double tolerance = std::fmax(rounding, std::numeric_limits<double>::epsilon() * right.theta);
    const double theta = find_zero([&](double place) { return guard_on_step(s, guard, place); }, left.theta,
                                   left.value, right.theta, right.value, tolerance);
    const bool rising = left.value < 0;
    // Neighbouring dips may lead to one and the same crossing.
    for (long long r = 0; r < guards.roots.count; ++r) {
        const Root& other = guards.roots[r];
        if (other.guard == guard && other.rising == rising && std::fabs(other.theta - theta) < negligible) return;
    }
    guards.roots.add({guard, theta, rising});
}

// A guard that rested on zero leaves it to a side where it must not be: it fires where it leaves.
inline void locate_leaving(Integration& s, long long guard, double from, GuardPoint right) noexcept {
    Guards& guards = s.guards;
    const double sign = right.value > 0 ? 1 : -1;
    const double level = std::fmax(guards.each[guard].floor(), leaving_level * std::fabs(right.value));
    const double tolerance = 0.5 * spacing(std::fmax(std::fabs(s.t), std::fabs(s.t_new))) / std::fabs(s.t_new - s.t);
    const double theta = find_zero([&](double place) { return sign * guard_on_step(s, guard, place) - level; }, from,
                                   -level, right.theta, sign * right.value - level, tolerance);
    Root root{guard, theta, right.value > 0};
    root.contrary = is_wrong_side(guards, guard, right.value);
    guards.roots.add(root);
}

// A dip to zero, or below it by rounding, is a touch: the guard does not change its sign.
inline bool only_touches(Integration& s, long long guard, GuardPoint found) noexcept {
    const Guards& guards = s.guards;
    if (is_noise(s, guard, found)) return true;
    if (is_switch(guards, guard)) return false;
    double largest = 0;
    for (int j = 0; j < guard_samples; ++j) largest = std::fmax(largest, std::fabs(guards.samples[j * guards.count + guard]));
    return std::fabs(found.value) <= touch_level * largest;
}

// Whether a guard that is zero at a sample, to rounding, is on its way back to the side it came from.
inline bool turns_back(Integration& s, long long guard, double before, GuardPoint found) noexcept {
    if (!only_touches(s, guard, found)) return false;
    const GuardPoint beyond{found.theta + beside_part, guard_on_step(s, guard, found.theta + beside_part)};
    return on_one_side(beyond.value, before) && !only_touches(s, guard, beyond);
}

// Three samples of one sign whose parabola turns between them, away from where they come: see whether it crosses zero.
inline void look_into_dip(Integration& s, long long guard, GuardPoint a, GuardPoint b, GuardPoint c) noexcept {
    for (int look = 0; look < most_closer_looks; ++look) {
        const double left = (b.theta - a.theta) * (b.value - c.value);
        const double right = (b.theta - c.theta) * (b.value - a.value);
        const double bend = left - right;
        const double theta = b.theta - 0.5 * ((b.theta - a.theta) * left - (b.theta - c.theta) * right) / bend;
        // Bent away from zero (values and curvature of one sign), with the lowest point inside.
        if (!(bend * b.value < 0 && theta > a.theta && theta < c.theta) || theta == b.theta) return;
        const GuardPoint found{theta, guard_on_step(s, guard, theta)};
        if (crosses(b.value, found.value)) {
            if (only_touches(s, guard, found)) return;
            locate(s, guard, theta < b.theta ? a : b, found);
            if (found.value != 0) locate(s, guard, found, theta < b.theta ? b : c);
            return;
        }
        if (std::fabs(found.value) < std::fabs(b.value)) {
            (theta < b.theta ? c : a) = b;
            b = found;
        } else {
            (theta < b.theta ? a : c) = found;
        }
    }
}

// The rate of a guard at (t, x) along a straight line, over `reach` to both sides of t. The row (x, z, x') of an implicit
// method has the slopes of x, others are given, `unit` times; `settle(t, row)` may move z there: false where there is none.
template <class Settle>
inline double rate_along(Integration& s, long long guard, double reach, const double* slope, double unit,
                         Settle&& settle) noexcept {
    if (s.implicit) slope = s.x + implicit_of(s).unknowns, unit = 1;
    const long long count = s.implicit ? implicit_of(s).states : s.n;
    const auto value_at = [&](double away) {
        copy(s.x, s.lanes, s.stage);
        for (long long i = 0; i < count; ++i) s.stage[i] += away * unit * slope[i];
        if (!settle(s.t + away, s.stage)) return std::numeric_limits<double>::quiet_NaN();
        guards_at(s, s.t + away, s.stage, s.guards.now);
        return s.guards.now[guard];
    };
    return (value_at(reach) - value_at(-reach)) / (2 * std::fabs(reach));  // along the run
}

// Exact where the flight behind a reset is lost in rounding; z and x' stay as they are.
inline double rate_on_line(Integration& s, long long guard, double reach) noexcept {
    return rate_along(s, guard, reach, s.coefficients + s.lanes, 1 / (s.t_new - s.t), [](double, double*) { return true; });
}

// The rate over the shortest reach, from this one on, that tells it from rounding; 0 where none does.
inline double rate_beyond_rounding(Integration& s, long long guard, double reach, double rounding) noexcept {
    for (int look = 0; look < most_closer_looks; ++look, reach *= look_ratio) {
        const double rate = rate_on_line(s, guard, reach);
        if (std::fabs(rate * reach) > told_apart * rounding) return rate;
    }
    return 0;
}

// Whether the reset of a resting guard sent it back or stopped it.
inline bool sent_back(Integration& s, long long guard) noexcept {
    const double heading = s.guards.each[guard].heading();
    const double least = shortest_chord * spacing(s.t);
    double reach = s.direction * std::fmax(slope_look * std::fabs(s.t_new - s.t), least);
    double rate = rate_on_line(s, guard, reach);
    const auto is_same = [&](double closer) { return closer != 0 && std::fabs(closer - rate) <= slope_look * std::fabs(rate); };
    const auto may_shrink = [&] { return slope_look * std::fabs(reach) > least; };
    double closer = may_shrink() ? rate_on_line(s, guard, slope_look * reach) : 0;
    if (is_same(closer)) {
        rate = closer;
    } else {
        // A guard may be faster than the step: the reach shrinks until the rate is that of a straight line, as long as it is
        // told from rounding; it grows until it is.
        const double rounding = std::fmax(guard_rounding(s, guard), s.guards.each[guard].noise);
        rate = rate_beyond_rounding(s, guard, reach, rounding);
        for (int look = 0; look < most_closer_looks && may_shrink(); ++look) {
            closer = rate_on_line(s, guard, slope_look * reach);
            if (std::fabs(closer * slope_look * reach) <= told_apart * rounding) break;
            const bool same = is_same(closer);
            rate = closer, reach *= slope_look;
            if (same) break;
        }
    }
    return rate * (heading > 0 ? 1 : -1) <= negligible * std::fabs(heading);
}

// Whether a step is too long for the flight of a contact that it begins with: its gap widens at first, and is not seen to.
inline bool skips_flight(Integration& s, long long guard) noexcept {
    if (!s.guards.each[guard].is_contact || std::fabs(s.t_new - s.t) <= negligible * std::fabs(s.t1 - s.t0)) return false;
    return rate_on_line(s, guard, slope_look * (s.t_new - s.t)) > 0;
}

// A guard leaves zero in a step that may yet be cut, after its reset sent it back. Behind zero: it came to rest.
inline void leave(Guards& guards, long long guard, GuardPoint found) noexcept {
    if (on_one_side(guards.each[guard].heading(), found.value) && guards.roots.fallen < 0 && !guards.each[guard].is_contact)
        guards.roots.fallen = guard, guards.roots.fallen_theta = found.theta;
}

// In the first step behind an event, the guards that go on through zero are told from those that were sent back.
inline void judge_headings(Integration& s) noexcept {
    Guards& guards = s.guards;
    for (long long guard = 0; guard < guards.count; ++guard)
        if (Guard& own = guards.each[guard]; own.heading() != 0 && !own.has_returned())
            own.on(sent_back(s, guard) ? Guard::Happening::returns : Guard::Happening::goes_on);
    guards.headings_judged = true;
}

// The first point at which a resting guard is away from zero: above its noise, and on the way further out.
inline GuardPoint wake(Integration& s, long long guard, double latest) noexcept {
    const double first = std::fmax(told_apart * spacing(s.t) / std::fabs(s.t_new - s.t), shortest_look);
    GuardPoint last{0, 0};
    for (double theta = first; theta < latest; theta *= wake_ratio) {
        const GuardPoint found{theta, guard_on_step(s, guard, theta)};
        if (on_one_side(last.value, found.value) && std::fabs(found.value) > 2 * std::fabs(last.value)) return last;
        last = s.guards.each[guard].is_above_floor(found.value) ? found : GuardPoint{0, 0};
    }
    return {0, 0};
}

// Whether a guard that its reset stopped is found behind zero by way of a hump that is an error of the step: it came to rest.
// `met` is the rate with which it met its reset.
inline bool falls_from_rest(Integration& s, long long guard, double met, GuardPoint begin, GuardPoint found) noexcept {
    if (!on_one_side(met, found.value) || begin.value == 0 || is_switch(s.guards, guard) || s.guards.each[guard].is_contact) return false;
    const double rate = rate_on_line(s, guard, slope_look * (s.t_new - s.t));
    if (!(std::fabs(rate) <= negligible * std::fabs(met))) return false;
    double height = std::fabs(begin.value);
    for (double theta = begin.theta * wake_ratio; theta < found.theta; theta *= wake_ratio)
        height = std::fmax(height, std::fabs(guard_on_step(s, guard, theta)));
    if (!(height <= s.rtol * std::fabs(met * s.last_step))) return false;
    if (s.guards.roots.fallen < 0) s.guards.roots.fallen = guard, s.guards.roots.fallen_theta = begin.theta;
    return true;
}

// A guard that was zero at the start moves, in the direction of its event.
inline bool leaves_start(Guards& guards, long long guard, double value) noexcept {
    Guard& own = guards.each[guard];
    if (!guards.from_start || own.begins == Guard::Begins::elsewhere || value == 0) return false;
    own.begins = Guard::Begins::elsewhere;
    return direction_fits(guards, guard, -value);
}

// A Jacobian from where a condition changed, at zero but for rounding, may belong to the other side: that of sqrt(fmax(h, 0))
// just above h = 0 is so steep that Newton's method and the estimates of errors take everything for solved.
inline void note_side(Integration& s, long long guard) noexcept {
    if (s.implicit && is_switch(s.guards, guard)) implicit_of(s).condition_left = true;
}

inline void scan_guard(Integration& s, long long guard, Stretch stretch) noexcept {
    Guards& guards = s.guards;
    Guard& own = guards.each[guard];
    const auto sample = [&](int j) {
        const double part = static_cast<double>(j) / guard_samples;
        return GuardPoint{stretch.at(part), guards.samples[(j - 1) * guards.count + guard]};
    };
    GuardPoint start{stretch.begin, stretch.begin == 0 ? own.reference() : own.ahead()};
    const double met = own.heading();
    if (start.value == 0 && stretch.begin == 0) {
        start = wake(s, guard, stretch.at(1.0 / guard_samples));
        if (start.value != 0) note_side(s, guard);
        if (start.value != 0 && own.heading() != 0) leave(guards, guard, start);
        Root root{guard, 0, start.value > 0};
        root.contrary = is_wrong_side(guards, guard, start.value);
        guards.roots.overflow |= root.contrary && skips_flight(s, guard);
        if (root.contrary || leaves_start(guards, guard, start.value)) guards.roots.add(root);
    }
    GuardPoint left = start;
    for (int j = 1; j <= guard_samples; ++j) {
        const GuardPoint right = sample(j);
        if (std::isnan(right.value)) {
            // Behind a gap in its domain the sign of a guard is new.
            if (!is_switch(guards, guard)) left = {right.theta, 0}, own.on(Guard::Happening::rests_inside, 0);
            continue;
        }
        if (left.value == 0) {
            if (own.is_above_floor(right.value)) {
                note_side(s, guard);
                const bool contrary = is_wrong_side(guards, guard, right.value);
                guards.roots.overflow |= contrary && skips_flight(s, guard);
                if (contrary || leaves_start(guards, guard, right.value)) locate_leaving(s, guard, left.theta, right);
                if (own.heading() != 0) leave(guards, guard, right);
                left = right;
            } else {
                if (j == guard_samples && own.turns_while_resting(right.value)) note_side(s, guard);
                left.theta = right.theta;
            }
            continue;
        }
        if (crosses(left.value, right.value)) {
            if (turns_back(s, guard, left.value, right) || falls_from_rest(s, guard, met, start, right)) continue;
            locate(s, guard, left, right);
            if (is_noise(s, guard, right)) {
                // An event has happened and the guard rests; where there is none, its sign is still what it was.
                if (direction_fits(guards, guard, left.value))
                    left = {right.theta, 0}, own.on(Guard::Happening::rests_inside, std::fmax(own.floor(), own.noise));
                continue;
            }
        }
        left = right;
    }
    own.on(Guard::Happening::foresees, left.value);

    // Dips between samples of one sign.
    GuardPoint a = start;
    for (int j = 1; j < guard_samples; ++j) {
        const GuardPoint b = sample(j), c = sample(j + 1);
        if (on_one_side(a.value, b.value) && on_one_side(b.value, c.value)) look_into_dip(s, guard, a, b, c);
        a = b;
    }
}

// Whether the polynomials through the samples of a stretch give the values of all guards in between, at places that no
// period fits to.
inline bool are_foretold(Integration& s, Stretch stretch) noexcept {
    Guards& guards = s.guards;
    for (const double place : foretelling) {
        double weights[guard_samples];
        for (int j = 1; j <= guard_samples; ++j) {
            weights[j - 1] = 1;
            for (int k = 1; k <= guard_samples; ++k)
                if (k != j) weights[j - 1] *= (place - k) / (j - k);
        }
        guard_on_step(s, 0, stretch.at(place / guard_samples));
        for (long long i = 0; i < guards.count; ++i) {
            if (is_scheduled(guards, i)) continue;
            double sum = 0, least = guards.now[i], most = guards.now[i];
            for (int j = 0; j < guard_samples; ++j) {
                const double value = guards.samples[j * guards.count + i];
                sum += weights[j] * value;
                least = std::fmin(least, value), most = std::fmax(most, value);
            }
            const double spread = most - least;
            const double largest = std::fmax(std::fabs(most), std::fabs(least));
            const double rounding = std::fmax(negligible * largest, guards.each[i].noise);
            if (spread <= rounding) continue;
            if (std::fabs(sum - guards.now[i]) > foretold * spread) return false;
        }
    }
    return true;
}

// Samples a stretch of the step and looks for zeros in it; in halves where guards move too fast for the samples.
inline void look_at(Integration& s, Stretch stretch, int splits) noexcept {
    Guards& guards = s.guards;
    for (int j = 1; j <= guard_samples; ++j) {
        const double theta = stretch.at(static_cast<double>(j) / guard_samples);
        double* row = guards.samples + (j - 1) * guards.count;
        if (theta == 1) {
            guards_at(s, s.t_new, s.x_new, row);
            continue;
        }
        evaluate_polynomial(s.coefficients, s.method->degree(s), s.lanes, theta, s.stage);
        guards_at(s, s.t + theta * (s.t_new - s.t), s.stage, row);
    }
    if (splits > 0 && !s.abort_called && !are_foretold(s, stretch)) {
        const double middle = stretch.at(0.5);
        look_at(s, {stretch.begin, middle}, splits - 1);
        look_at(s, {middle, stretch.end}, splits - 1);
        return;
    }
    for (long long guard = 0; guard < guards.count && !s.abort_called; ++guard)
        if (!is_scheduled(guards, guard)) scan_guard(s, guard, stretch);
}

// A guard that is zero at the very end of the run, to rounding, is an event there although its sign has not changed.
inline void reach_end(Integration& s) noexcept {
    Guards& guards = s.guards;
    const double whole = s.t_new - s.t, reach = end_reach * std::fabs(s.t1);
    if (!(reach < std::fabs(whole))) return;
    for (long long guard = 0; guard < guards.first_switch(); ++guard) {
        const double value = guards.each[guard].ahead();
        if (is_scheduled(guards, guard) || value == 0 || !direction_fits(guards, guard, value)) continue;
        // The way to zero, along the chord over the last part of the step.
        const double before = guard_on_step(s, guard, 1 - beside_part);
        const double rate = (value - before) / (beside_part * std::fabs(whole));
        if (value * rate < 0 && std::fabs(value) <= reach * std::fabs(rate)) {
            guards.roots.add({guard, 1, value < 0});
            guards.each[guard].on(Guard::Happening::foresees, 0);
        }
    }
}

// Fills roots and next references for the accepted step; its dense output is known.
inline void find_roots(Integration& s) noexcept {
    Guards& guards = s.guards;
    guards.roots.count = 0;
    guards.roots.fallen = -1;
    if (!guards.headings_judged) judge_headings(s);
    guards.roots.overflow = false;
    look_at(s, {0, 1}, most_splits);
    if (s.t_new == s.t1) reach_end(s);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
