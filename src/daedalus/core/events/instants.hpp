// One instant: what happens at one moment of a run, in rounds, until nothing more follows from it.
//
// 1. Inputs that jump have their later values, and modes of switches follow them.
// 2. All clocks due and all events located at the moment form the first round. They read the values before it and assign
//    together. A clock behind others reads what those have assigned: it comes in a round of its own.
// 3. Algebraic variables, and what constraints decide, are solved for; modes follow.
// 4. Events and conditions that have become true by this form the next round: their guard has passed zero, or reached it,
//    across the jump. So on until there is none; after most_rounds the events call each other without end.
// 5. Two writers of one name in a round are a conflict.
// 6. An event that has fired is armed again once its guard has left zero. One that is zero at the start fires where it
//    leaves zero in its direction, unless it fired at this moment in the run before.
// 7. Steps are taken up anew only where a state changed, or a discrete variable that equations or guards read.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "events/consistent_restart.hpp"
#include "events/contacts.hpp"
#include "events/guards.hpp"
#include "events/led_back.hpp"
#include "events/modes.hpp"
#include "events/resting.hpp"
#include "methods/step_control.hpp"
#include "model/input_jumps.hpp"
#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Moves a state onto the constraints of a linear model; `far` where it may be further off than the error of a step.
inline Status project(Integration& s, double t, double* x, bool far) noexcept {
    set_time(s, t);
    switch (s.linear.kernels.project(s.linear.keeper, x, far)) {
        case Projected::done: return Status::going;
        case Projected::singular: return Status::singular;
        case Projected::diverged: return Status::not_projected;
        case Projected::aborted: s.abort_called = true; return Status::aborted;
        default: break;
    }
    if (!first_not_finite(x, s.n, s.culprit.component)) s.culprit.component = 0;
    s.culprit.what = Culprit::What::state;
    return Status::not_finite;
}

// Whether the occurrence counted `number` of this guard interrupts the step.
inline bool cuts(const Guards& guards, long long guard, long long number) {
    if (is_switch(guards, guard)) return true;
    const Guard& own = guards.each[guard];
    return own.action == 1 || (own.action != 0 && (guards.calls.has_resets || number >= own.occurrence));
}

// At a jump no guard has a rate, and no motion leads one to zero.
inline void forget_rates(Guards& guards) noexcept {
    for (long long guard = 0; guard < guards.count; ++guard) guards.each[guard].rate = 0, guards.each[guard].led = false;
}

inline void forget_headings(Guards& guards) noexcept {
    for (long long guard = 0; guard < guards.count; ++guard) guards.each[guard].on(Guard::Happening::goes_on);
}

// The rate of a flight that is lost in rounding may be zero, its side is not.
inline void note_heading(Guards& guards, const Root& root) noexcept {
    const double rate = std::fmax(std::fabs(guards.each[root.guard].rate), std::numeric_limits<double>::min());
    guards.each[root.guard].on(Guard::Happening::meets, root.rising ? rate : -rate);
    guards.headings_judged = false;
}

// Whether the slopes of x tell where a guard is going: in an implicit row, those of a guard on z or x' do not.
inline bool heads_on_line(Integration& s, const Root& root) noexcept {
    if (!s.implicit) return true;
    if (s.last_step == 0) return false;
    // Between two impacts of a bounce that ends, a straight line may be lost in rounding over so short a step.
    double rate = rate_on_line(s, root.guard, slope_look * s.last_step);
    if (rate == 0) rate = rate_beyond_rounding(s, root.guard, slope_look * s.last_step, guard_rounding(s, root.guard));
    return rate * (root.rising ? 1 : -1) > 0;
}

// Counts the intervals that follow each other ever shorter, of one kind of events. Those at one and the same time say nothing.
inline void count_shrinking(double interval, double same, double& last, long long& count) noexcept {
    if (!(interval > same)) return;
    count = interval < last ? count + 1 : 0;
    last = interval;
}

inline bool chatters(Integration& s, const Happened& all) noexcept {
    Pace& pace = s.guards.pace;
    const double interval = std::fabs(s.t - pace.last_time), same = told_apart * spacing(s.t);
    pace.crowded = interval < negligible * std::fabs(s.t1 - s.t0) ? pace.crowded + 1 : 0;
    count_shrinking(interval, same, pace.last_interval, pace.shrinking);
    pace.last_time = s.t;
    if (all.moved) {
        count_shrinking(std::fabs(s.t - pace.last_reset), same, pace.last_flight, pace.shorter);
        pace.last_reset = s.t;
    }
    if (all.settled) pace.shrinking = pace.shorter = 0;
    const bool rests = pace.crowded > 0 && pace.shorter >= most_shrinking;
    if (rests) s.guards.switches.last_turned = -1;  // the flights end, whatever turns in them
    return rests || pace.crowded >= (all.turned ? most_rounds : most_crowded) ||
           (pace.crowded > 0 && pace.shrinking >= most_shrinking);
}

// Whether an event of this round may have reset something.
inline bool any_reset(const Guards& guards) noexcept {
    bool any = false;
    for (long long r = guards.roots.early; r < guards.roots.count; ++r) any |= guards.roots[r].acts && guards.calls.has_resets;
    return any;
}

// Events of one moment that call each other: the last one is named.
inline Status endless_instant(Integration& s) noexcept {
    const Guards& guards = s.guards;
    s.culprit = {-1, Culprit::What::nothing, guards.roots.count > 0 ? guards.roots[0].guard : -1};
    return Status::endless;
}

inline Status evaluate_resets(Integration& s) noexcept {
    Guards& guards = s.guards;
    Assigned& assigned = guards.assigned;
    set_time(s, s.t);
    if (guards.calls.resets_after_solve && !slope_by_solve(s, s.t, assigned.row_before, guards.calls.slope))
        return s.abort_called ? Status::aborted : Status::singular;
    guards.calls.resets.arg[1] = assigned.row_before;
    guards.calls.resets.res[0] = assigned.reset_rows;
    const bool failed = fails(s, guards.calls.resets);
    if (s.abort_called) return Status::aborted;
    if (!failed) return Status::going;
    s.culprit = {0, Culprit::What::state};
    return Status::not_finite;
}

// One value of a round; the place is that of a state, or n and that of a discrete variable.
inline Status assign_one(Integration& s, long long actor, long long place, double value) noexcept {
    Assigned& assigned = s.guards.assigned;
    if (!std::isfinite(value)) {
        s.culprit = {place, Culprit::What::state, actor};
        return Status::not_finite;
    }
    if (assigned.writer[place] >= 0) {
        s.culprit = {place, Culprit::What::nothing, assigned.writer[place], actor};
        return Status::conflict;
    }
    assigned.writer[place] = actor;
    assigned.new_values[place] = value;
    return Status::going;
}

// What a row of the resets assigns, to the values of the round. Without a list of what it writes: all that it changes.
inline Status assign_row(Integration& s, long long actor) noexcept {
    Assigned& assigned = s.guards.assigned;
    const double* row = assigned.reset_rows + actor * assigned.width;
    for (long long j = 0; j < assigned.width; ++j) {
        if (!assigned.writes) {
            if (!std::isfinite(row[j])) {
                s.culprit = {j, Culprit::What::state, actor};
                return Status::not_finite;
            }
            if (row[j] != assigned.row_before[j]) assigned.new_values[j] = row[j];
        } else if (assigned.writes[actor * assigned.width + j]) {
            if (const Status status = assign_one(s, actor, j, row[j]); status != Status::going) return status;
        }
    }
    return Status::going;
}

// Python code reads (t, values) and answers with what it assigns.
inline Status assign_by_code(Integration& s, long long clock, long long actor) noexcept {
    SampledCall& call = s.clocks.calls[clock];
    set_time(s, s.t);
    call.reads.arg[1] = s.guards.assigned.row_before;
    call.reads.res[0] = call.values;
    if (evaluate(call.reads) != 0) return Status::aborted;
    call.code.arg[0] = &s.stage_time, call.code.arg[1] = call.values;
    call.code.res[0] = call.answers;
    if (evaluate(call.code) != 0) {
        s.culprit = {-1, Culprit::What::nothing, actor};
        return Status::call_failed;
    }
    for (long long k = 0; k < call.target_count; ++k)
        if (const Status status = assign_one(s, actor, call.targets[k], call.answers[k]); status != Status::going)
            return status;
    return Status::going;
}

// The clocks due of the lowest level that is left: [due_next, end).
inline long long due_end(const Clocks& clocks) {
    long long end = clocks.due_next;
    while (end < clocks.due_count && clocks.levels[clocks.due[end]] == clocks.levels[clocks.due[clocks.due_next]]) ++end;
    return end;
}

// All that the round assigns, into new_values.
inline Status gather_assignments(Integration& s) noexcept {
    Guards& guards = s.guards;
    Assigned& assigned = guards.assigned;
    Clocks& clocks = s.clocks;
    const long long events = guards.first_switch(), end = due_end(clocks);
    clocks.round_begin = clocks.due_next;
    copy(s.x, s.n, assigned.row_before);
    copy(assigned.held, assigned.discretes, assigned.row_before + s.n);
    copy(assigned.row_before, assigned.width, assigned.new_values);
    for (long long j = 0; j < assigned.width; ++j) assigned.writer[j] = -1;
    bool formulas = false;
    for (long long r = guards.roots.early; r < guards.roots.count; ++r) formulas |= guards.roots[r].acts;
    for (long long k = clocks.due_next; k < end; ++k) formulas |= !has_code(clocks, clocks.due[k]);
    if (formulas && guards.calls.has_resets)
        if (const Status status = evaluate_resets(s); status != Status::going) return status;
    for (long long r = guards.roots.early; r < guards.roots.count; ++r)
        if (guards.roots[r].acts && guards.calls.has_resets)
            if (const Status status = assign_row(s, guards.roots[r].guard); status != Status::going) return status;
    for (; clocks.due_next < end; ++clocks.due_next) {
        const long long clock = clocks.due[clocks.due_next], actor = events + clock;
        const Status status = has_code(clocks, clock) ? assign_by_code(s, clock, actor) : assign_row(s, actor);
        if (status != Status::going) return status;
    }
    return Status::going;
}

// The assigned values hold, and what follows from them: constraints by impulses, positions first; z and x' by a solve.
inline Status take_assignments(Integration& s, Happened& all) noexcept {
    Guards& guards = s.guards;
    Assigned& assigned = guards.assigned;
    bool moved = false, read = false;
    for (long long j = 0; j < s.n; ++j) moved |= assigned.new_values[j] != s.x[j];
    for (long long k = 0; k < assigned.discretes; ++k) {
        const double value = assigned.new_values[s.n + k];
        if (value == assigned.held[k]) continue;
        assigned.held[k] = value;
        all.changed = true;
        read |= assigned.is_read[k] != 0;
    }
    const bool acted = moved || any_reset(guards);
    all.moved |= acted, all.restarts |= acted || read;
    if (!acted && !read) return Status::going;
    copy(assigned.new_values, s.n, s.x);
    if (s.implicit && guards.count > 0) {
        guards_at(s, s.t, s.x, guards.now);
        for (long long r = guards.roots.early; r < guards.roots.count; ++r)
            guards.each[guards.roots[r].guard].written = guards.now[guards.roots[r].guard];
    }
    bool asked = asks_restart(s, moved);
    if (asked)
        if (const Status status = ask_restarts(s); status != Status::going) {
            if (moved || status == Status::aborted) return status;
            asked = false;  // the first step finds z
        }
    if (acted && s.linear.keeps_constraints)
        if (const Status status = project(s, s.t, s.x, true); status != Status::going) return status;
    return s.implicit && !solve_restart(s, s.x, asked) ? restart_failure(s) : Status::going;
}

inline Status one_round(Integration& s, Happened& all) noexcept {
    Guards& guards = s.guards;
    Assigned& assigned = guards.assigned;
    for (long long i = 0; i < guards.count; ++i) guards.each[i].renewed = std::numeric_limits<double>::quiet_NaN();
    const bool turned = turn_fired(s);
    all.turned |= turned;
    for (long long r = guards.roots.early; r < guards.roots.count; ++r) {
        Root& root = guards.roots[r];
        if (is_switch(guards, root.guard)) continue;
        guards.each[root.guard].written = std::numeric_limits<double>::quiet_NaN();
        guards.each[root.guard].begins = Guard::Begins::elsewhere;
        guards.each[root.guard].on(Guard::Happening::goes_on);
        root.acts = cuts(guards, root.guard, ++guards.each[root.guard].seen);
        root.moving = root.acts && guards.calls.has_resets && heads_on_line(s, root);
    }
    if (const Status status = gather_assignments(s); status != Status::going) return status;
    const bool moved_before = all.moved, changed_before = all.changed;
    all.moved = all.changed = false;
    if (const Status status = take_assignments(s, all); status != Status::going) return status;
    const long long contact = guards.calls.has_contacts ? fired_contact(guards) : -1;
    if (contact >= 0 || (guards.calls.has_contacts && all.moved))
        if (const Status status = settle_contacts(s, contact, all); status != Status::going) return status;
    const bool moved = all.moved;
    if (moved || all.changed) forget_headings(guards);
    all.moved |= moved_before, all.changed |= changed_before;
    copy(s.x, s.n, assigned.new_values);
    copy(assigned.held, assigned.discretes, assigned.new_values + s.n);
    for (long long r = guards.roots.early; r < guards.roots.count; ++r) {
        const Root& root = guards.roots[r];
        if (is_switch(guards, root.guard)) continue;
        if (root.moving && moved) note_heading(guards, root);
        EventRows& events = s.recorder.events;
        if (events.count == events.capacity) return endless_instant(s);
        const Guard& own = guards.each[root.guard];
        push_event(events, root.guard, s.t, assigned.row_before, assigned.new_values, assigned.width, all.round, own.led);
        all.terminal |= root.acts && own.action == 2 && own.seen >= own.occurrence;
    }
    if (guards.switches.count == 0 || !(turned || all.restarts)) return Status::going;
    all.restarts = true;
    if (turned && s.implicit && !solve_restart(s, s.x, false)) return restart_failure(s);
    rest_fired(s);
    if (const Status status = settle_modes(s); status != Status::going) return status;
    return turned && (returns_often(s) || led_back(s)) ? Status::chattering : Status::going;
}

// Guards that have passed zero, or reached it, across a jump from where they were trusted to be.
inline bool find_jumped(Integration& s) noexcept {
    Guards& guards = s.guards;
    const long long fired = guards.roots.count;
    long long found = 0;
    for (long long guard = 0; guard < guards.first_switch(); ++guard) {
        const double from = guards.each[guard].trusted, now = guards.now[guard];
        if (is_scheduled(guards, guard) || from == 0 || !crosses(from, now)) continue;
        if (within_noise(guards, guard, now - guards.before[guard])) continue;
        if (crosses(from, guards.before[guard]) || !direction_fits(guards, guard, from)) continue;
        bool is_fired = false;
        for (long long r = guards.roots.early; r < fired; ++r) is_fired |= guards.roots[r].guard == guard;
        if (is_fired || fired + found == guards.roots.capacity) continue;
        guards.roots[fired + found++] = {guard, 0, from < 0};
    }
    for (long long k = 0; k < found; ++k) guards.roots[k] = guards.roots[fired + k];
    guards.roots.count = found, guards.roots.early = 0;
    copy(guards.now, guards.count, guards.before);
    // They rest where they are at zero exactly.
    for (long long k = 0; k < found; ++k) guards.before[guards.roots[k].guard] = 0;
    forget_rates(guards);
    return found > 0;
}

// Whether a guard has crossed zero since its reference where no event is, or one that was recorded inside the step; further
// than by the error of the step, which z may take back behind a reset.
inline bool crossed_untold(const Integration& s, long long guard) noexcept {
    const Guards& guards = s.guards;
    const double reference = guards.each[guard].reference(), before = guards.before[guard];
    const double error = (s.implicit ? solved_share : s.rtol) * std::fabs(guards.each[guard].rate * s.last_step);
    if (!crosses(reference, before) || std::fabs(before) <= error || within_noise(guards, guard, before)) return false;
    bool recorded = false;
    for (long long r = 0; r < guards.roots.early; ++r) recorded |= guards.roots[r].guard == guard;
    return recorded || !direction_fits(guards, guard, reference);
}

// The signs that guards had before the round: their references, or where one has left zero since or crossed it without
// interrupting the step, what it was.
inline void trust_before(Integration& s) noexcept {
    Guards& guards = s.guards;
    for (long long guard = 0; guard < guards.count; ++guard) {
        Guard& own = guards.each[guard];
        const bool left = !own.has_sign() && own.is_above_floor(guards.before[guard]);
        const bool is_new = left || crossed_untold(s, guard);
        own.trusted = is_led_back(s, own) ? 0 : is_new ? guards.before[guard] : own.reference();
    }
}

// Whether something follows from the round that was: clocks behind others, else events.
inline bool next_round(Integration& s) noexcept {
    Guards& guards = s.guards;
    // A mode that is turned right at the start was no other before it, unless a clock has ticked there.
    const bool is_start = std::fabs(s.t - s.t0) <= negligible * std::fabs(s.t1 - s.t0);
    const bool first = is_start && !any_reset(guards) && s.clocks.due_count == 0;
    if (guards.count > 0) {
        trust_before(s);
        if (first)
            for (long long i = 0; i < guards.count; ++i)
                if (guards.each[i].side == Guard::Side::none) guards.each[i].trusted = 0;
        refresh_references(s);
        if (find_jumped(s)) return true;
    }
    guards.roots.count = guards.roots.early = 0;
    return s.clocks.due_next < s.clocks.due_count;
}

// Runs the rounds of the present moment. The roots from early_count on and the clocks due are the first.
inline Status instant(Integration& s, Happened& all) noexcept {
    Guards& guards = s.guards;
    Status status = one_round(s, all);
    for (all.round = 1; status == Status::going && next_round(s); ++all.round)
        status = all.round < most_rounds ? one_round(s, all) : endless_instant(s);
    if (status == Status::conflict || status == Status::call_failed || status == Status::not_finite ||
        status == Status::aborted)
        return status;
    const bool holds_anew = all.turned || all.changed || (guards.switches.count > 0 && all.restarts);
    const bool two_rows = all.moved || (holds_anew && s.recorder.rows_at_jumps);
    if (two_rows && s.recorder.event_rows) {
        if (s.starting)
            keep_later_values(s);
        else if (s.recorder.rows_at_jumps)
            push_later_row(s);
        else
            push_row(s.recorder.steps, s.t, s.x, s.n);
    }
    if (holds_anew) record_held(s, !two_rows);
    if (all.terminal) return Status::event;
    if (status != Status::going) return status;
    return s.abort_called ? Status::aborted : Status::going;
}

// What a cut step ends with.
inline Status fire(Integration& s) noexcept {
    Happened all;
    if (const Status status = instant(s, all); status != Status::going) return status;
    return chatters(s, all) ? Status::chattering : Status::going;
}

// The entries of the agenda at the present moment: clocks become due, guards become roots.
inline bool gather_due(Integration& s) noexcept {
    Guards& guards = s.guards;
    Clocks& clocks = s.clocks;
    Agenda& agenda = s.agenda;
    clocks.due_count = clocks.due_next = 0;
    const long long events = guards.first_switch();
    bool any = false;
    for (; agenda.next < agenda.count; ++agenda.next) {
        if ((agenda.times[agenda.next] - s.t) * s.direction > agenda.closest) break;
        const long long what = agenda.what[agenda.next];
        any = true;
        if (what < events) {
            const bool rising = agenda.rising[agenda.next] != 0;
            if (direction_fits(guards, what, rising ? -1.0 : 1.0) && guards.roots.count < guards.roots.capacity)
                guards.roots[guards.roots.count++] = {what, 0, rising};
            continue;
        }
        const long long clock = what - events;
        if (std::find(clocks.due, clocks.due + clocks.due_count, clock) != clocks.due + clocks.due_count) continue;
        long long place = clocks.due_count++;
        for (; place > 0 && clocks.levels[clocks.due[place - 1]] > clocks.levels[clock]; --place)
            clocks.due[place] = clocks.due[place - 1];
        clocks.due[place] = clock;
    }
    return any && (guards.roots.count > 0 || clocks.due_count > 0);
}

// Guards that inputs have carried across zero by their jumps at a stop become roots, and references follow. Those of
// inputs that go on smoothly stay: a crossing that falls together with the stop is found in the step behind it.
inline void find_carried(Integration& s) noexcept {
    Guards& guards = s.guards;
    Inputs& inputs = s.inputs;
    if (inputs.any_slope) write_slopes(inputs, s.t);
    if (put_back(inputs)) {
        const bool any_slope = inputs.any_slope;
        inputs.any_slope = false;  // u stays as it is to be judged with
        guards_at(s, s.t, s.x, guards.now);
        inputs.any_slope = any_slope;
        for (long long guard = 0; guard < guards.count; ++guard) guards.before[guard] = guards.each[guard].trusted;
        find_jumped(s);
        for (long long guard = 0; guard < guards.count; ++guard)
            if (Guard& own = guards.each[guard]; own.has_sign() ? !within_noise(guards, guard, guards.now[guard])
                                                                : own.is_above_floor(guards.now[guard]))
                own.on(Guard::Happening::sees, guards.now[guard]);
    }
    copy(inputs.before, inputs.slots, inputs.u);
}

// At a stop of the run: guards that an input has carried across zero fire, with all that is due.
inline Status happen_at_stop(Integration& s, bool inputs_jump, Happened& all) noexcept {
    Guards& guards = s.guards;
    guards.roots.count = guards.roots.early = 0;
    if (guards.count > 0) {
        for (long long guard = 0; guard < guards.count; ++guard) guards.each[guard].trusted = guards.each[guard].reference();
        guards_at(s, s.t, s.x, guards.now);
        if (inputs_jump) find_carried(s);
        if (s.abort_called) return Status::aborted;
        copy(guards.now, guards.count, guards.before);
        for (long long r = 0; r < guards.roots.count; ++r) guards.before[guards.roots[r].guard] = 0;
        forget_rates(guards);
    }
    const bool due = gather_due(s);
    return due || guards.roots.count > 0 ? instant(s, all) : Status::going;
}

// At the start: clocks tick, and conditions that hold and are asked for count as becoming true.
inline Status happen_at_start(Integration& s, Happened& all) noexcept {
    Guards& guards = s.guards;
    guards.roots.count = guards.roots.early = 0;
    if (guards.calls.has_contacts)
        if (const Status status = first_contacts(s, all); status != Status::going) return status;
    if (guards.count > 0) refresh_references(s);
    if (guards.count > 0) copy(guards.now, guards.count, guards.before);
    for (long long guard = 0; guard < guards.first_switch(); ++guard) {
        // Those that fired at this moment in the run before are marked: they rest where they are.
        Guard& own = guards.each[guard];
        if (own.begins == Guard::Begins::fired && !is_scheduled(guards, guard))
            own.on(Guard::Happening::rests, away_from_zero * std::fabs(guards.now[guard]));
        const bool zero = guards.from_start && own.side == Guard::Side::none && guards.now[guard] == 0;
        const bool moves = zero && own.begins != Guard::Begins::fired && !is_scheduled(guards, guard);
        own.begins = moves ? Guard::Begins::at_zero : Guard::Begins::elsewhere;
        if (!own.at_start || !(own.direction * guards.now[guard] > 0)) continue;
        guards.roots[guards.roots.count++] = {guard, 0, guards.now[guard] > 0};
        guards.before[guard] = 0;  // it acts as if it had just been zero, and its distance from there is no noise
    }
    const bool due = gather_due(s);
    if (!due && guards.roots.count == 0) return Status::going;
    s.starting = true;
    const Status status = instant(s, all);
    s.starting = false;
    return status;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
