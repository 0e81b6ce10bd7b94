// The parts of a run beside its steps, compiled once for each instruction set (DAEDALUS_ISA).
#include "run/between_steps.hpp"

#include <algorithm>
#include <cmath>

#include "events/events.hpp"
#include "methods/step_control.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

namespace {

// Of how many resting switches all combinations of sides are tried, with steps of these parts of the way to the next stop.
// They are short: a long one may leave a place where both sides lead back.
constexpr long long most_resting = 5;
constexpr double trial_parts[] = {1e-8, 1e-6, 1e-5};

// Fixed steps: as many as fit, the last one shortened; rounding must not add a tiny one.
void restart_grid(Integration& s) noexcept {
    if (s.fixed_step <= 0) return;
    s.grid_begin = s.t;
    s.grid_index = 0;
    s.grid_count = static_cast<long long>(std::ceil(std::fabs(interval_end(s) - s.t) / s.fixed_step - 1e-9));
    s.grid_count = std::max(s.grid_count, 1LL);
}

// At the start, behind a breakpoint and after an event: the slope and the controller's memory are stale.
void restart(Integration& s) noexcept {
    s.slope_known = false;
    if (s.implicit) implicit_of(s).restarted = true;
    restart_control(s);
    restart_grid(s);
}

// Integration stops one delay behind a jump of the states or their slopes, too.
void note_jump(Integration& s, int passed) noexcept {
    DelayedSignals* delayed = s.inputs.delayed;
    if (!delayed) return;
    stop_behind(*delayed, s.t, passed, s.stop_next);
    s.stops = delayed->stops->data(), s.stop_changes_inputs = delayed->changes->data();
    s.stop_count = static_cast<long long>(delayed->stops->size());
}

void save_at_present(Integration& s) noexcept {
    Recorder& recorder = s.recorder;
    for (; recorder.save_next < recorder.save_count; ++recorder.save_next) {
        if (recorder.save_at[recorder.save_next] != s.t) return;
        push_row(recorder.samples, s.t, s.x, s.n);
    }
}

// Inputs may jump at a breakpoint, and z and x' with them: a second row of this time has the later values.
Status pass_breakpoint(Integration& s, double begin, bool last) noexcept {
    if (s.guards.count > 0 || s.recorder.rows_at_jumps) keep_before(s.inputs, begin);
    enter_segments(s.inputs, last ? begin + 2 * closest_times(s.t0, s.t1) : 0.5 * (begin + interval_end(s)));
    if (!last) restart(s);
    if (s.implicit && !solve_restart(s, s.x, false)) return restart_failure(s);
    if (s.guards.switches.count > 0)
        if (const Status status = settle_modes(s); status != Status::going) return status;
    if (s.recorder.every_step && s.recorder.rows_at_jumps && inputs_jumped(s.inputs, begin))
        push_later_row(s);
    else if (s.implicit)
        keep_later_values(s);
    if (s.guards.switches.count > 0) record_held(s, false);
    return Status::going;
}

// Behind a stop: the next segments of inputs hold, what is due there happens; at t1 too, with nothing behind it.
Status next_interval(Integration& s) noexcept {
    const double begin = interval_end(s);
    const bool last = s.stop_next + 1 == s.stop_count, jumps = s.stop_changes_inputs[s.stop_next] != 0;
    ++s.stop_next;
    const int passed = s.inputs.delayed ? passed_delays(*s.inputs.delayed, begin) : 0;
    if (jumps)
        if (const Status status = pass_breakpoint(s, begin, last); status != Status::going) return status;
    Happened here;
    if (jumps || s.agenda.next < s.agenda.count)
        if (const Status status = happen_at_stop(s, jumps, here); status != Status::going) return status;
    if (last) return Status::finished;
    if (s.inputs.delayed && (jumps || here.restarts)) note_jump(s, here.restarts ? 0 : passed);
    if (here.restarts) restart(s);
    restart_grid(s);  // the next stop may be a new one, one delay behind this
    return s.abort_called ? Status::aborted : Status::going;
}

// Whether a step of about this length is possible in the present modes, and ends with guards that agree with them.
bool leads_on(Integration& s, double length) noexcept {
    restart(s);
    s.h = s.direction * length;
    if (!s.method->try_step(s)) return false;
    long long component = 0;
    if (s.abort_called || first_not_finite(s.x_new, s.n, component)) return false;
    Guards& guards = s.guards;
    guards_at(s, s.t_new, s.x_new, guards.now);
    for (long long guard = guards.first_switch(); guard < guards.count; ++guard)
        if (against_mode(guards, guard, guards.now[guard])) return false;
    return !s.abort_called;
}

// The step could not be redone up to an event, or more happens in it than can be told: a shorter one goes part of the way.
Status before_event(Integration& s) noexcept {
    const double half = 0.5 * (s.t_new - s.t);
    if ((s.fixed_step > 0 && !s.taken) || std::fabs(half) < fewest_spacings * spacing(s.t)) return Status::newton_failed;
    s.taken = true;
    if (s.fixed_step > 0)
        s.shorter_step = std::fabs(half);
    else
        s.h = half;
    ++s.rejected;
    return Status::going;
}

}  // namespace

Status enter_run(Integration& s) noexcept {
    s.started = true;
    if (s.recorder.every_step || s.recorder.event_rows) push_row(s.recorder.steps, s.t, s.x, s.n);
    save_at_present(s);
    if (first_not_finite(s.x, s.n, s.culprit.component)) {
        s.culprit.what = Culprit::What::state;
        return Status::not_finite;
    }
    if (s.guards.assigned.discretes > 0) record_held(s, false);
    // At one moment there is no motion, but clocks tick, and conditions that hold may count.
    if (s.t0 == s.t1 && s.guards.count == 0 && s.agenda.count == 0) return Status::finished;
    note_jump(s, 0);
    enter_segments(s.inputs, 0.5 * (s.t + interval_end(s)));
    restart(s);
    return s.guards.switches.count > 0 ? first_modes(s) : Status::going;
}

Status happen_first(Integration& s) noexcept {
    Happened first;
    const Status status = happen_at_start(s, first);
    if (status == Status::going && first.restarts) restart(s);
    return status;
}

bool look_for_events(Integration& s, bool& cut, Status& status) noexcept {
    const double begin = s.t, whole = s.t_new - s.t;
    cut = handle_guards(s);
    if (s.abort_called)
        status = Status::aborted;
    else if (s.guards.roots.fallen >= 0)
        s.guards.switches.last_turned = -1, status = Status::chattering;  // a guard's doing, not that of a switch
    else if (!s.taken || s.guards.roots.overflow)
        return status = before_event(s), false;
    else if (cut && first_not_finite(s.x_new, s.n, s.culprit.component))
        s.culprit.what = Culprit::What::state, status = Status::not_finite;
    if (status != Status::going) return false;
    if (s.guards.roots.early > 0) {
        s.method->ensure_dense(s);
        record_early_events(s, begin, whole, cut);
    }
    if (!cut) {
        // What is away from zero rests no more. In a step that is cut it may be so behind the cut only.
        for (long long i = 0; i < s.guards.count; ++i) s.guards.each[i].on(Guard::Happening::passes_step);
        forget_returns(s.guards);
    }
    return true;
}

void keep_signals(Integration& s) noexcept {
    DelayedSignals& d = *s.inputs.delayed;
    s.method->ensure_dense(s);
    double* samples = d.present.data();
    for (const double part : d.parts) {
        // At its ends the step itself, which its neighbours share.
        if (part == 0 || part == 1)
            copy(part == 0 ? s.x : s.x_new, s.lanes, s.stage);
        else
            evaluate_polynomial(s.coefficients, s.method->degree(s), s.lanes, part, s.stage);
        s.stage_time = part == 1 ? s.t_new : s.t + part * (s.t_new - s.t);
        write_slopes(s.inputs, s.stage_time);
        d.signals.arg[1] = s.stage;
        d.signals.res[0] = samples;
        if (const int failed = evaluate(d.signals)) [[unlikely]]
            note_failure(s, failed, samples, d.count());
        samples += d.count();
    }
    push_signals(d, s.t, s.t_new);
}

Status happen_behind_step(Integration& s, bool cut) noexcept {
    Status status = Status::going;
    if (cut) {
        status = fire(s);
        note_jump(s, 0);
        restart(s);
    } else if (s.shorter_step > 0) {
        restart_grid(s);
    }
    s.shorter_step = 0;
    if (status == Status::going && s.t == interval_end(s)) status = next_interval(s);
    save_at_present(s);
    return status;
}

// Several switches may pass zero together, and which sides they leave it to is known by a step behind only: the first
// combination of sides of those that rest in which a step leads on. Where there is none, but a first step is possible, it
// may find the next turn. False where no step is, or where this was the way to here.
bool choose_modes(Integration& s) noexcept {
    Guards& guards = s.guards;
    long long resting[most_resting], count = 0;
    for (long long guard = guards.first_switch(); guard < guards.count; ++guard)
        if (!guards.each[guard].has_sign() && count < most_resting) resting[count++] = guard;
    if (count == 0 || std::fabs(s.t - guards.switches.trial_time) <= negligible * std::fabs(s.t1 - s.t0)) return false;
    guards.switches.trial_time = s.t;
    if (s.implicit) copy(s.x, s.lanes, s.stage);
    const double way = std::fabs(interval_end(s) - s.t);
    bool found = false, possible = false;
    for (double part : trial_parts)
        for (long long turned = 0; turned < 1LL << count && !found && !s.abort_called; ++turned) {
            // From one combination to the next: the sides that differ are turned.
            const long long before = turned == 0 ? 0 : turned - 1;
            for (long long k = 0; k < count; ++k)
                if ((turned ^ before) >> k & 1) turn(guards, resting[k], mode_of(guards, resting[k]) == 0);
            s.accepted = false;
            found = (!s.implicit || solve_restart(s, s.x, false)) && leads_on(s, part * way);
            possible |= s.accepted;
            if (s.implicit) copy(s.stage, s.lanes, s.x);
            if (!found && turned + 1 == 1LL << count)
                for (long long k = 0; k < count; ++k) turn(guards, resting[k], mode_of(guards, resting[k]) == 0);
        }
    if (!found && !possible) return false;
    restart(s);
    if (s.implicit && !solve_restart(s, s.x, false)) return false;
    record_held(s, true);
    guards.pace.crowded = guards.pace.shrinking = 0;
    return true;
}

Status keep_constraints(Integration& s) noexcept {
    s.end_known = false;
    return project(s, s.t_new, s.x_new, false);
}

// Moves the end of the step onto the invariants; the slope there is stale then.
Status project_end(Integration& s, bool cut) noexcept {
    s.stage_time = s.t_new;
    s.projection.arg[1] = s.x_new;
    s.projection.res[0] = s.stage;
    if (const int failed = evaluate(s.projection)) [[unlikely]]
        note_failure(s, failed, s.stage, s.n);
    copy(s.stage, s.n, s.x_new);
    s.end_known = false;
    if (first_not_finite(s.x_new, s.n, s.culprit.component)) {
        s.culprit.what = Culprit::What::state;
        return s.abort_called ? Status::aborted : Status::not_finite;
    }
    // A guard that fired rests where the projection put it, else it would fire once more.
    if (cut) guards_at(s, s.t_new, s.x_new, s.guards.before);
    return Status::going;
}

void keep_end(Integration& s) noexcept {
    copy(s.x_new, s.lanes, s.stage);
    s.end_kept = project(s, s.t_new, s.x_new, false) == Status::going;
    if (!s.end_kept) copy(s.stage, s.lanes, s.x_new);
}

bool is_regular_at_end(Integration& s) noexcept { return regular_at_end(s); }

bool make_consistent(Integration& s, double* row) noexcept { return solve_restart(s, row, true); }

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
