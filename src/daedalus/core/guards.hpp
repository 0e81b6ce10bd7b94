// Where guard functions change sign inside an accepted step, found on its dense output.
//
// A guard has a reference: its last value with a trusted sign. After it fired it rests on zero and has none until it
// has left the rounding error around zero, so that one crossing never fires twice.
#pragma once

#include <cmath>

#include "dense_output.hpp"
#include "implicit.hpp"
#include "integration.hpp"
#include "root.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Guards are looked at this many times in a step, so that two crossings inside one long step are seen.
inline constexpr int guard_samples = 6;
// A resting guard is looked at from a few spacings of t on, each time this much later: flights may be very short.
inline constexpr double wake_ratio = 4, shortest_look = 1e-20;
// Steps of successive parabolic interpolation towards a dip that may reach zero between two samples.
inline constexpr int dip_looks = 4;
// A switch has left zero where it is this part of the value it is next looked at with.
inline constexpr double leaving_level = 1e-12;
// The rate behind a reset is taken over this part of the step; below this part of the rate before it, the guard stands.
inline constexpr double slope_look = 0.1, stopped_rate = 1e-9;

struct GuardPoint {
    double theta, value;
};

inline void guards_at(Integration& s, double t, const double* x, double* out) noexcept {
    if (s.guards.values_after_solve && !slope_by_solve(s, t, x, s.guards.slope))
        return note_failure(s, 0, out, s.guards.count);
    s.stage_time = t;
    if (s.inputs.any_slope) write_slopes(s.inputs, t);
    Call& call = s.guards.values;
    call.arg[1] = x;
    call.res[0] = out;
    if (const int failed = evaluate(call)) [[unlikely]]
        note_failure(s, failed, out, s.guards.count);
}

// All guards on the dense output of the present step; returns the one asked for.
template <class M>
inline double guard_on_step(Integration& s, long long guard, double theta) noexcept {
    evaluate_polynomial(s.coefficients, M::degree(s), s.lanes, theta, s.stage);
    guards_at(s, s.t + theta * (s.t_new - s.t), s.stage, s.guards.now);
    return s.guards.now[guard];
}

inline bool direction_fits(const Guards& guards, long long guard, double before) {
    const long long direction = guards.directions[guard];
    return direction == 0 || (before < 0) == (direction > 0);
}

inline bool is_switch(const Guards& guards, long long guard) { return guard >= guards.count - guards.switches; }

inline double& mode_of(const Guards& guards, long long guard) {
    return guards.modes[guard - (guards.count - guards.switches)];
}

// Whether the value of a switch says that its mode is the wrong one.
inline bool against_mode(const Guards& guards, long long guard, double value) {
    return is_switch(guards, guard) && value != 0 && (value > 0) != (mode_of(guards, guard) != 0);
}

inline bool crosses(double before, double after) { return (before < 0 && after >= 0) || (before > 0 && after <= 0); }

// Keeps the roots in order of time.
inline void add_root(Guards& guards, Root root) noexcept {
    long long place = guards.root_count++;
    for (; place > 0 && guards.roots[place - 1].theta > root.theta; --place)
        guards.roots[place] = guards.roots[place - 1];
    guards.roots[place] = root;
}

template <class M>
inline void locate(Integration& s, long long guard, GuardPoint left, GuardPoint right) noexcept {
    Guards& guards = s.guards;
    if (!direction_fits(guards, guard, left.value) || guards.root_count == guards.root_capacity) return;
    const double rounding = 0.5 * spacing(std::fmax(std::fabs(s.t), std::fabs(s.t_new))) / std::fabs(s.t_new - s.t);
    const double tolerance = std::fmax(rounding, std::numeric_limits<double>::epsilon() * right.theta);
    const double theta = find_zero([&](double place) { return guard_on_step<M>(s, guard, place); }, left.theta,
                                   left.value, right.theta, right.value, tolerance);
    const bool rising = left.value < 0;
    // Neighbouring dips may lead to one and the same crossing.
    for (long long r = 0; r < guards.root_count; ++r) {
        const Root& other = guards.roots[r];
        if (other.guard == guard && other.rising == rising && std::fabs(other.theta - theta) < 1e-9) return;
    }
    add_root(guards, {guard, theta, rising});
}

// A switch that rested on zero leaves it to the side its mode does not stand for: it turns where it leaves.
template <class M>
inline void locate_leaving(Integration& s, long long guard, double from, GuardPoint right) noexcept {
    Guards& guards = s.guards;
    if (guards.root_count == guards.root_capacity) return;
    const double sign = right.value > 0 ? 1 : -1;
    const double level = std::fmax(guards.floor[guard], leaving_level * std::fabs(right.value));
    const double tolerance = 0.5 * spacing(std::fmax(std::fabs(s.t), std::fabs(s.t_new))) / std::fabs(s.t_new - s.t);
    const double theta = find_zero([&](double place) { return sign * guard_on_step<M>(s, guard, place) - level; }, from,
                                   -level, right.theta, sign * right.value - level, tolerance);
    add_root(guards, {guard, theta, right.value > 0});
}

// Three samples of one sign whose parabola turns between them, away from where they come: see whether it crosses zero.
template <class M>
inline void look_into_dip(Integration& s, long long guard, GuardPoint a, GuardPoint b, GuardPoint c) noexcept {
    for (int look = 0; look < dip_looks; ++look) {
        const double left = (b.theta - a.theta) * (b.value - c.value);
        const double right = (b.theta - c.theta) * (b.value - a.value);
        const double bend = left - right;
        const double theta = b.theta - 0.5 * ((b.theta - a.theta) * left - (b.theta - c.theta) * right) / bend;
        // Bent away from zero (values and curvature of one sign), with the lowest point inside.
        if (!(bend * b.value < 0 && theta > a.theta && theta < c.theta) || theta == b.theta) return;
        const GuardPoint found{theta, guard_on_step<M>(s, guard, theta)};
        if (crosses(b.value, found.value)) {
            locate<M>(s, guard, theta < b.theta ? a : b, found);
            if (found.value != 0) locate<M>(s, guard, found, theta < b.theta ? b : c);
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

// Whether the reset of a resting guard sent it back or stopped it: its rate along the slopes at the start of the step,
// which are exact where the flight itself is lost in rounding. The row (x, z, x') of an implicit method has them.
inline bool sent_back(Integration& s, long long guard) noexcept {
    const double reach = slope_look * (s.t_new - s.t);
    const auto along = [&](double part) {
        copy(s.x, s.lanes, s.stage);
        const double* slope = s.implicit ? s.x + implicit_of(s).unknowns : s.coefficients + s.lanes;
        const double length = s.implicit ? part * reach : part * slope_look;
        const long long count = s.implicit ? implicit_of(s).states : s.n;
        for (long long i = 0; i < count; ++i) s.stage[i] += length * slope[i];
        // z has no slope in the row: that of the dense output.
        for (long long i = count; s.implicit && i < implicit_of(s).unknowns; ++i)
            s.stage[i] += part * slope_look * s.coefficients[s.lanes + i];
        guards_at(s, s.t + part * reach, s.stage, s.guards.now);
        return s.guards.now[guard];
    };
    const double rate = (along(1) - along(-1)) / (2 * std::fabs(reach));  // along the run
    const double heading = s.guards.heading[guard];
    return rate * (heading > 0 ? 1 : -1) <= stopped_rate * std::fabs(heading);
}

// A guard has left zero after its reset sent it back. Behind zero: it came to rest.
inline void leave(Guards& guards, long long guard, GuardPoint found) noexcept {
    if (guards.heading[guard] * found.value > 0 && guards.fallen < 0)
        guards.fallen = guard, guards.fallen_theta = found.theta;
    guards.heading[guard] = 0;
}

// In the first step behind an event, the guards that go on through zero are told from those that were sent back.
inline void judge_headings(Integration& s) noexcept {
    Guards& guards = s.guards;
    for (long long guard = 0; guard < guards.count; ++guard)
        if (guards.heading[guard] != 0 && !sent_back(s, guard)) guards.heading[guard] = 0;
    guards.headings_judged = true;
}

// The first point at which a resting guard is away from zero: above its noise, and on the way further out.
template <class M>
inline GuardPoint wake(Integration& s, long long guard) noexcept {
    const double first = std::fmax(4 * spacing(s.t) / std::fabs(s.t_new - s.t), shortest_look);
    GuardPoint last{0, 0};
    for (double theta = first; theta < 1.0 / guard_samples; theta *= wake_ratio) {
        const GuardPoint found{theta, guard_on_step<M>(s, guard, theta)};
        if (last.value * found.value > 0 && std::fabs(found.value) > 2 * std::fabs(last.value)) return last;
        last = std::fabs(found.value) > s.guards.floor[guard] ? found : GuardPoint{0, 0};
    }
    return {0, 0};
}

template <class M>
inline void scan_guard(Integration& s, long long guard) noexcept {
    Guards& guards = s.guards;
    const auto sample = [&](int j) {
        return GuardPoint{static_cast<double>(j) / guard_samples, guards.samples[(j - 1) * guards.count + guard]};
    };
    GuardPoint start{0, guards.reference[guard]};
    if (start.value == 0) {
        start = wake<M>(s, guard);
        if (start.value != 0 && guards.heading[guard] != 0) leave(guards, guard, start);
        if (against_mode(guards, guard, start.value)) add_root(guards, {guard, 0, start.value > 0});
    }
    GuardPoint left = start;
    for (int j = 1; j <= guard_samples; ++j) {
        const GuardPoint right = sample(j);
        if (std::isnan(right.value)) continue;
        if (left.value == 0) {
            if (std::fabs(right.value) > guards.floor[guard]) {
                if (against_mode(guards, guard, right.value)) locate_leaving<M>(s, guard, left.theta, right);
                if (guards.heading[guard] != 0) leave(guards, guard, right);
                left = right;
            } else {
                left.theta = right.theta;
            }
            continue;
        }
        if (crosses(left.value, right.value)) {
            locate<M>(s, guard, left, right);
            guards.floor[guard] = 0;
        }
        left = right;
    }
    guards.next[guard] = left.value;

    // Dips between samples of one sign.
    GuardPoint a = start;
    for (int j = 1; j < guard_samples; ++j) {
        const GuardPoint b = sample(j), c = sample(j + 1);
        if (a.value * b.value > 0 && b.value * c.value > 0) look_into_dip<M>(s, guard, a, b, c);
        a = b;
    }
}

// Fills roots and next references for the accepted step; its dense output is known.
template <class M>
inline void find_roots(Integration& s) noexcept {
    Guards& guards = s.guards;
    guards.root_count = 0;
    guards.fallen = -1;
    if (!guards.headings_judged) judge_headings(s);
    for (int j = 1; j < guard_samples; ++j) {
        evaluate_polynomial(s.coefficients, M::degree(s), s.lanes, static_cast<double>(j) / guard_samples, s.stage);
        guards_at(s, s.t + (s.t_new - s.t) * j / guard_samples, s.stage, guards.samples + (j - 1) * guards.count);
    }
    guards_at(s, s.t_new, s.x_new, guards.samples + (guard_samples - 1) * guards.count);
    for (long long guard = 0; guard < guards.count && !s.abort_called; ++guard) scan_guard<M>(s, guard);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
