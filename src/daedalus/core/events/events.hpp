// Where guards fire in an accepted step: recorded inside it, or the step is cut at the located time.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "events/guards.hpp"
#include "events/instants.hpp"
#include "methods/step_control.hpp"
#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

inline long long first_cut(const Guards& guards) {
    for (long long r = 0; r < guards.roots.count; ++r) {
        long long number = guards.each[guards.roots[r].guard].seen + 1;
        for (long long q = 0; q < r; ++q) number += guards.roots[q].guard == guards.roots[r].guard;
        if (cuts(guards, guards.roots[r].guard, number)) return r;
    }
    return -1;
}

// The later zero of the same guard on the dense output, where it goes back; -1 where there is none.
inline long long way_back(const Guards& guards, long long root) {
    for (long long r = root + 1; r < guards.roots.count; ++r)
        if (guards.roots[r].guard == guards.roots[root].guard) return r;
    return -1;
}

// Whether a guard that began nearer to zero than the tolerance tells is on its way out where a longer step has it at zero: a
// run that leaves what it slid along, with a step too long for the motion that begins there. Such a run begins beside zero;
// a guard that has crossed zero in this run is near it because it has just turned, and its next zero is an ordinary one.
inline bool moves_away(const Guard& own, double value, double near) noexcept {
    const double reference = own.reference(), away = std::fabs(reference);
    return own.met == 0 && away > 0 && away <= near && on_one_side(reference, value) &&
           std::fabs(value) - away > told_apart * spacing(away);
}

// Below this value a guard is zero at the end of a step, as far as the tolerance and rounding tell.
inline double nearly_zero(const Integration& s, long long guard, double end) noexcept {
    const Guards& guards = s.guards;
    double largest = 0;
    for (int j = 0; j < guard_samples; ++j)
        largest = std::fmax(largest, std::fabs(guards.samples[j * guards.count + guard]));
    const Guard& own = guards.each[guard];
    const double rounding = std::fmax(told_apart * spacing(end) * std::fabs(own.rate), own.noise);
    return std::fmax(s.method->near_zero * s.rtol * largest, rounding);
}

// Redoes the step so that it ends where the guard of a root is zero, to rounding. False where the redone solution keeps
// its sign: the crossing was an error of the dense output, which for z has a low order. Leaves the values of all guards
// there, on the dense output, in `before`.
inline bool cut_step(Integration& s, long long place) noexcept {
    const Root root = s.guards.roots[place];
    const long long guard = root.guard;
    const double whole = s.t_new - s.t, begin = s.t, latest = s.t_new, theta = root.theta;
    const double reach = std::fmax(beside_part * theta, told_apart * spacing(begin) / std::fabs(whole));
    const double low = std::fmax(theta - reach, 0.0), high = std::fmin(theta + reach, 1.0);
    guard_on_step(s, guard, low);
    for (long long i = 0; i < s.guards.count; ++i) s.guards.each[i].rate = s.guards.now[i];
    guard_on_step(s, guard, high);
    for (long long i = 0; i < s.guards.count; ++i)
        s.guards.each[i].rate = (s.guards.now[i] - s.guards.each[i].rate) / ((high - low) * whole);
    const double rate = s.guards.each[guard].rate;
    guard_on_step(s, guard, theta);
    copy(s.guards.now, s.guards.count, s.guards.before);

    // Over a few spacings of time rounding errors of x become errors of z whose index is above 1: what happens so soon
    // happens now, and what happens so shortly before a stop happens there.
    const bool magnifies = s.implicit && implicit_of(s).model.higher_index;
    const double shortest = magnifies ? fewest_spacings * spacing(begin) : 0;
    const double shortest_left = magnifies && latest == interval_end(s) ? fewest_spacings * spacing(latest) : 0;
    const auto value_after = [&](double end) {
        if (std::fabs(end - begin) < shortest) end = begin;
        else if (std::fabs(latest - end) < shortest_left) end = latest;
        s.t_new = end;
        if (end == begin)
            copy(s.x, s.lanes, s.x_new), s.end_kept = false;
        else
            s.method->take(s);
        guards_at(s, s.t_new, s.x_new, s.guards.now);
        return s.guards.now[guard];
    };
    double end = begin + theta * whole, value = value_after(end);
    for (int round = 0; round < cut_corrections && !s.abort_called; ++round) {
        const double better = end - value / rate;
        if (!(std::fabs(better - end) > spacing(end)) || (better - begin) * s.direction <= 0 ||
            (latest - better) * s.direction < 0)
            break;
        const double better_value = value_after(better);
        if (!(std::fabs(better_value) < std::fabs(value))) {
            value_after(end);
            break;
        }
        end = better, value = better_value;
    }
    s.end_known = s.dense_known = false;

    // Beyond zero, or as near as the tolerance tells: the event is there. A guard that rested has no sign to keep.
    const double side = root.rising ? 1 : -1, near = nearly_zero(s, guard, end);
    if (moves_away(s.guards.each[guard], value, near)) {
        s.guards.roots.overflow = true;
        return false;
    }
    if (!(side * value < -near) || !s.guards.each[guard].has_sign() || s.abort_called) return true;
    // Else it is later, if the guard has turned its sign half-way back, or at the end of the step.
    const long long back = way_back(s.guards, place);
    const double late = back < 0 ? 1.0 : 0.5 * (theta + s.guards.roots[back].theta);
    const double value_late =
        back < 0 ? s.guards.samples[(guard_samples - 1) * s.guards.count + guard] : value_after(begin + late * whole);
    if (!(side * value_late > 0)) return false;
    const double from = (end - begin) / whole, tolerance = told_apart * spacing(latest) / std::fabs(whole);
    const double found = find_zero([&](double part) { return value_after(begin + part * whole); }, from, value, late,
                                   value_late, tolerance);
    value_after(found == 1 ? latest : begin + found * whole);
    return true;
}

// Takes a root out of the list, and the one where its guard goes back.
inline void forget_crossing(Guards& guards, long long root) noexcept {
    const long long back = way_back(guards, root);
    long long kept = 0;
    for (long long r = 0; r < guards.roots.count; ++r)
        if (r != root && r != back) guards.roots[kept++] = guards.roots[r];
    guards.roots.count = kept;
}

// Whether a guard is on its way through zero as at a root, where a step is cut. One that is zero there on its way to the
// other side, where no event is, comes back later.
inline bool heads_as(const Guards& guards, const Root& root) noexcept {
    return guards.each[root.guard].rate * (root.rising ? 1 : -1) >= 0;
}

// Whether a redone step has passed a root that lies behind its end on the dense output. A guard may have crossed zero the
// other way before, where no event is.
inline bool is_passed(const Guards& guards, const Root& root) noexcept {
    const double on_dense = guards.before[root.guard];
    return (on_dense < 0) == root.rising && crosses(on_dense, guards.now[root.guard]);
}

// Whether the guard of an event is zero where the step is cut, by rounding alone: its zero behind the cut is at it.
inline bool is_met_by_rounding(const Guards& guards, const Root& root) noexcept {
    if (is_switch(guards, root.guard)) return false;
    double largest = 0;
    for (int j = 0; j < guard_samples; ++j)
        largest = std::fmax(largest, std::fabs(guards.samples[j * guards.count + root.guard]));
    const double level = touch_level * largest;
    return std::fabs(guards.before[root.guard]) <= level && std::fabs(guards.now[root.guard]) <= level;
}

// Cuts the step at its first event that interrupts it and that the redone solution confirms; gives its place among the
// roots, or -1 where the whole step stands.
inline long long cut_at_first(Integration& s) noexcept {
    Guards& guards = s.guards;
    const double latest = s.t_new;
    bool redone = false;
    for (;;) {
        const long long cut = s.abort_called ? -1 : first_cut(guards);
        if (cut >= 0 && guards.roots.fallen >= 0 && guards.roots.fallen_theta <= guards.roots[cut].theta) return -1;
        if (cut >= 0 && cut_step(s, cut)) {
            guards.roots.fallen = -1;
            return cut;
        }
        s.t_new = latest;
        if (cut >= 0) {
            forget_crossing(guards, cut);
            redone = true;
            continue;
        }
        if (redone) s.method->take(s);
        return -1;
    }
}

// Whether a guard jumps at a root on the dense output of the whole step: what it changes by there does not shrink with the
// time in which it does.
inline bool jumps_at(Integration& s, const Root& root, double whole) noexcept {
    const auto change_within = [&](double reach) {
        double ends[2] = {std::fmax(root.theta - reach, 0.0), std::fmin(root.theta + reach, 1.0)};
        for (double& end : ends) {
            evaluate_polynomial(s.coefficients, s.method->degree(s), s.lanes, end, s.stage);
            guards_at(s, s.t + end * whole, s.stage, s.guards.now);
            end = s.guards.now[root.guard];
        }
        return std::fabs(ends[1] - ends[0]);
    };
    return change_within(slope_look * beside_part) > 0.5 * change_within(beside_part);
}

// Which guards the motion has led to zero where the step was cut. Those of roots were zero on the dense output of the whole
// step, but for its error; a switch that rested has left zero there.
inline void note_led(Integration& s, double whole) noexcept {
    Guards& guards = s.guards;
    const auto is_zero = [&](long long guard) { return std::fabs(guards.before[guard]) <= nearly_zero(s, guard, s.t_new); };
    for (long long guard = 0; guard < guards.count; ++guard) guards.each[guard].led = is_zero(guard);
    for (long long r = guards.roots.early; r < guards.roots.count; ++r) {
        const Root& root = guards.roots[r];
        bool& led = guards.each[root.guard].led;
        led = led || root.contrary || !jumps_at(s, root, whole);
    }
    copy(guards.before, guards.count, guards.now);
}

// Looks for events in the accepted step; true if the step was cut. Afterwards the roots before early_count belong
// inside the step, those from there up to root_count happen together at its end.
inline bool handle_guards(Integration& s) noexcept {
    Guards& guards = s.guards;
    s.method->ensure_dense(s);
    find_roots(s);
    const double whole = s.t_new - s.t;
    const long long cut = guards.roots.overflow ? -1 : cut_at_first(s);
    guards.roots.early = guards.roots.count;
    if (cut < 0) return false;
    const double theta = guards.roots[cut].theta;
    const double same = told_apart * spacing(s.t + theta * whole) / std::fabs(whole);

    // Together with the cut: roots at the same time to rounding, and later ones that the redone step has passed too.
    guards.roots.early = 0;
    long long kept = 0;
    for (long long r = 0; r < guards.roots.count; ++r) {
        const Root root = guards.roots[r];
        bool passed = r == cut || root.theta <= theta + same;
        if (!passed && guards.each[root.guard].has_sign())
            passed = heads_as(guards, root) && (is_passed(guards, root) || is_met_by_rounding(guards, root));
        for (long long q = guards.roots.early; q < kept; ++q) passed = passed && guards.roots[q].guard != root.guard;
        if (!passed) continue;
        if (root.theta < theta - same) ++guards.roots.early;
        guards.roots[kept++] = root;
    }
    guards.roots.count = kept;
    copy(guards.now, guards.count, guards.before);
    note_led(s, whole);
    return true;
}

// Where the guard of a root found at a part of the whole step is zero on the step as it was redone up to a later event.
inline double on_redone_step(Integration& s, long long guard, double theta) noexcept {
    const double nearest = 0.5 * spacing(std::fmax(std::fabs(s.t), std::fabs(s.t_new))) / std::fabs(s.t_new - s.t);
    double beside = theta > 0.5 ? theta - beside_part : theta + beside_part;
    double value = guard_on_step(s, guard, theta), value_beside = guard_on_step(s, guard, beside);
    for (int round = 0; round < cut_corrections && value != 0; ++round) {
        const double better = theta - value * (theta - beside) / (value - value_beside);
        if (!(better > 0 && better < 1) || std::fabs(better - theta) < nearest) break;
        const double better_value = guard_on_step(s, guard, better);
        if (!(std::fabs(better_value) < std::fabs(value))) break;
        beside = theta, value_beside = value;
        theta = better, value = better_value;
    }
    return theta;
}

// Events inside the step that do not interrupt it; discrete variables are as they were at its beginning.
inline void record_early_events(Integration& s, double whole_begin, double whole, bool redone) noexcept {
    Guards& guards = s.guards;
    Assigned& assigned = guards.assigned;
    copy(assigned.held, assigned.discretes, assigned.row_before + s.n);
    for (long long r = 0; r < guards.roots.early; ++r) {
        const Root root = guards.roots[r];
        double time = whole_begin + root.theta * whole;
        if (redone) time = s.t + on_redone_step(s, root.guard, (time - s.t) / (s.t_new - s.t)) * (s.t_new - s.t);
        evaluate_polynomial(s.coefficients, s.method->degree(s), s.lanes, (time - s.t) / (s.t_new - s.t), s.stage);
        copy(s.stage, s.n, assigned.row_before);
        const bool led = !jumps_at(s, {root.guard, (time - s.t) / (s.t_new - s.t), root.rising}, s.t_new - s.t);
        push_event(s.recorder.events, root.guard, time, assigned.row_before, assigned.row_before, assigned.width, 0, led);
        ++guards.each[root.guard].seen;
    }
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
