// The run as a state machine: advance() takes a bounded number of steps and says why it came back.
#pragma once

#include <algorithm>
#include <cmath>

#include "methods/explicit/defect.hpp"
#include "methods/implicit/growing_modes.hpp"
#include "methods/step_control.hpp"
#include "run/between_steps.hpp"
#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// A step that would end this close (in steps) before a stop ends there instead (Hairer's codes: 1 %).
inline constexpr double stretch = 1.01;
// How often a step may be made shorter that looks where the switches that rest are going.
inline constexpr int most_shorter = 8;

template <class M>
inline void ensure_end_slope(Integration& s) noexcept {
    if (!s.end_known) slope_at(s, s.t_new, s.x_new, M::end_slope(s));
    s.end_known = true;
}

template <class M>
inline void ensure_dense(Integration& s) noexcept {
    if (s.dense_known) return;
    if constexpr (M::is_explicit) ensure_end_slope<M>(s);
    // An implicit step that an event cut is looked at here, others were in the control of the step.
    if constexpr (requires { M::look_between(s); })
        (void)M::look_between(s);
    else
        M::dense(s);
    s.dense_known = true;
}

template <class M>
inline void take_step(Integration& s) noexcept {
    M::take(s);
    s.end_known = s.dense_known = s.end_kept = false;
}

template <class M>
inline void ensure_slope(Integration& s) noexcept {
    if (!s.slope_known) slope_at(s, s.t, s.x, s.k);
    s.slope_known = true;
}

// Samples before s.t_new on the polynomial of the present step or of a part of it.
template <class M>
inline void save_on_polynomial(Integration& s) noexcept {
    Recorder& recorder = s.recorder;
    for (; recorder.save_next < recorder.save_count; ++recorder.save_next) {
        const double time = recorder.save_at[recorder.save_next];
        if ((s.t_new - time) * s.direction <= 0) return;
        evaluate_polynomial(s.coefficients, M::degree(s), s.lanes, (time - s.t) / (s.t_new - s.t), s.stage);
        recorder.between[recorder.between_count++] = recorder.samples.count;
        push_row(recorder.samples, time, s.stage, s.n);
    }
}

template <class M>
double dense_of_step(Integration& s, const double* end) noexcept;

// The same on a step that is redone in parts, as its dense output is afterwards; the step itself stays as it was.
template <class M>
inline void save_in_parts(Integration& s) noexcept {
    const double begin = s.t, end = s.t_new;
    double *x = s.kept, *x_new = x + s.lanes, *first = x_new + s.lanes, *last = first + s.lanes;
    copy(s.x, s.lanes, x), copy(s.x_new, s.lanes, x_new);
    copy(s.k, s.lanes, first), copy(M::end_slope(s), s.lanes, last);
    const auto redo = [&](long long parts, bool saves) {
        double error = 0;
        copy(x, s.lanes, s.x);
        for (long long part = 0; part < parts; ++part) {
            const double count = static_cast<double>(parts);
            const bool ends = part + 1 == parts;
            s.t = begin + (end - begin) * (static_cast<double>(part) / count);
            s.t_new = ends ? end : begin + (end - begin) * (static_cast<double>(part + 1) / count);
            error = std::fmax(error, dense_of_step<M>(s, ends && parts > 1 ? x_new : nullptr));
            if (saves) save_on_polynomial<M>(s);
            std::swap(s.x, s.x_new);
        }
        return error;
    };
    const long long parts = redo_in_parts([&](long long count) { return redo(count, false); });
    redo(parts, true);
    s.t = begin, s.t_new = end;
    copy(x, s.lanes, s.x), copy(x_new, s.lanes, s.x_new);
    copy(first, s.lanes, s.k), copy(last, s.lanes, M::end_slope(s));
    s.end_known = true, s.dense_known = false;
}

template <class M>
inline void save_inside_step(Integration& s) noexcept {
    const Recorder& recorder = s.recorder;
    if (recorder.save_next >= recorder.save_count) return;
    if ((s.t_new - recorder.save_at[recorder.save_next]) * s.direction <= 0) return;
    ensure_dense<M>(s);
    if constexpr (M::is_explicit)
        if (judges_defects(s) && error_of_defect(s, M::degree(s)) > 1) return save_in_parts<M>(s);
    save_on_polynomial<M>(s);
}

template <class M>
inline double first_step_of(Integration& s) noexcept {
    if constexpr (M::is_explicit)
        return first_step_size<M>(s);
    else
        return M::first_step(s);
}

template <class M>
inline Status start(Integration& s) noexcept {
    if (const Status status = enter_run(s); status != Status::going) return status;
    if constexpr (M::is_explicit) {
        ensure_slope<M>(s);
        if (s.abort_called) return Status::aborted;
        if (first_not_finite(s.k, s.n, s.culprit.component)) {
            s.culprit.what = Culprit::What::derivative;
            return Status::not_finite;
        }
    } else {
        choose_answer_error(s, implicit_of(s));
        M::prepare(s);
    }
    if (const Status status = happen_first(s); status != Status::going) return status;
    if (s.t0 == s.t1) return Status::finished;
    if constexpr (M::is_explicit) ensure_slope<M>(s);
    if (s.fixed_step <= 0) s.h = s.direction * (s.first_step > 0 ? s.first_step : first_step_of<M>(s));
    return s.abort_called ? Status::aborted : Status::going;
}

// What the step just taken cost, beside its row.
template <class M>
inline void count_step(Integration& s) noexcept {
    long long newton = 0;
    int order = 0;
    if constexpr (requires { M::of(s).newton; }) newton = M::of(s).newton;
    if constexpr (requires { M::order_of_step(s); }) order = M::order_of_step(s);
    push_counts(s.recorder.counts, s.rejected, newton, order);
}

// The polynomial of a step, as it is kept: written where it belongs, where a method can and nobody has asked for it before.
template <class M>
inline void keep_piece(Integration& s) noexcept {
    PieceRows& pieces = s.recorder.pieces;
    int degree = M::degree(s);
    if constexpr (requires { M::degree_of_step(s); }) degree = M::degree_of_step(s);
    if constexpr (requires { M::derived_columns(s); }) pieces.derived = M::derived_columns(s);
    if constexpr (requires(double* out) { M::write_piece(s, out); }) {
        if (!s.dense_known && M::writes_pieces(s)) {
            double* out = begin_piece(pieces, s.t, s.t_new, degree, s.n, s.n - pieces.derived);
            if (out) M::write_piece(s, out);
            return;
        }
    }
    ensure_dense<M>(s);
    push_piece(pieces, s.t, s.t_new, s.coefficients, degree, s.lanes, s.n);
}

// Everything behind an accepted step: events, samples, and the move to its end.
template <class M>
inline Status complete(Integration& s) noexcept {
    bool cut = false;
    Status status = Status::going;
    if (s.guards.count > 0 && !look_for_events(s, cut, status)) return status;
    if constexpr (requires { M::renew_begin(s); }) M::renew_begin(s);
    save_inside_step<M>(s);
    if (s.inputs.delayed && s.t_new != s.t) keep_signals(s);
    if (s.recorder.pieces.capacity > 0 && s.t_new != s.t) keep_piece<M>(s);
    if (s.linear.keeps_constraints && !s.end_kept) status = keep_constraints(s);
    if (s.has_projection && status == Status::going) status = project_end(s, cut);
    if (status != Status::going) return status;
    if (s.abort_called) return Status::aborted;

    if (s.t_new != s.t) {
        ++s.steps;
        s.last_step = s.t_new - s.t;
        if (s.recorder.every_step) count_step<M>(s);
        if (s.recorder.every_step || (cut && s.recorder.event_rows)) push_row(s.recorder.steps, s.t_new, s.x_new, s.n);
    }
    s.t = s.t_new;
    std::swap(s.x, s.x_new);
    if constexpr (M::is_explicit) {
        if (s.end_known) copy(M::end_slope(s), s.lanes, s.k);
        s.slope_known = s.end_known;
    }
    ++s.grid_index;

    const bool samples = s.recorder.save_next < s.recorder.save_count;
    const bool looked_at = cut || samples || s.shorter_step > 0 || s.t == interval_end(s);
    return looked_at ? happen_behind_step(s, cut) : Status::going;
}

// Finds what of the attempted step is not finite: a slope, else the state.
template <class M>
inline bool blame_not_finite(Integration& s) noexcept {
    const long long rows = (M::end_slope(s) - s.k) / std::max(s.lanes, 1LL) + (s.end_known ? 1 : 0);
    s.culprit.what = Culprit::What::derivative;
    for (long long row = 0; row < rows; ++row)
        if (first_not_finite(s.k + row * s.lanes, s.n, s.culprit.component)) return true;
    s.culprit.what = Culprit::What::state;
    return first_not_finite(s.x_new, s.n, s.culprit.component);
}

template <class M>
inline Status reject(Integration& s, double error) noexcept {
    ++s.rejected;
    const bool finite = std::isfinite(error) || !blame_not_finite<M>(s);
    // The slope at (t, x) itself: no shorter step can help.
    long long component = 0;
    if (!finite && first_not_finite(s.k, s.n, component)) return Status::not_finite;
    s.h = (s.t_new - s.t) * (finite ? shrinkage_after_rejection<M>(s, error) : cut_if_not_finite);
    s.after_rejection = true;
    if (std::fabs(s.h) >= fewest_spacings * spacing(s.t)) return Status::going;
    if (!finite) return Status::not_finite;
    s.culprit = {0, Culprit::What::nothing};
    for (long long i = 1; i < s.n; ++i)
        if (M::error_of(s, i) > M::error_of(s, s.culprit.component)) s.culprit.component = i;
    return Status::step_too_small;
}

// Sets t_new by the planned length and the limits; true where the step ends at a stop.
inline bool plan_step(Integration& s) noexcept {
    const double end = interval_end(s);
    s.h = s.direction * std::min(std::max(std::fabs(s.h), fewest_spacings * spacing(s.t)), s.max_step);
    const bool reaches_end = (s.t + stretch * s.h - end) * s.direction >= 0 &&
                             std::fabs(end - s.t) <= s.max_step * (1 + 1e-6);
    s.t_new = reaches_end ? end : s.t + s.h;
    // A short last step would magnify errors of z by 1/h at index 2 and by 1/h^2 at index 3: two equal ones instead.
    const double left = std::fabs(end - s.t);
    if (s.implicit && !reaches_end && left < 2 * std::fabs(s.h)) s.t_new = s.t + 0.5 * s.direction * left;
    return reaches_end;
}

// Whether stability and not accuracy limits the step: h |lambda| from two slopes at the end of the step stays beyond the
// edge of the stability region (Shampine; Hairer, Wanner, Solving Ordinary Differential Equations II, section IV.2), and
// more steps of this length are to come than an implicit method would cost. Where fewer are, nothing is looked at.
//
// At tight tolerances a step settles below the edge: at rtol = 1e-8 Robertson's reaction and HIRES run at 0.8 to 1 of it.
// Where the end is far beyond reach, damping in each of many steps with a third of it is enough: at 1e-10 Robertson's
// reaction has that. An oscillation that matters keeps steps to 0.15 of the edge at 1e-6, but not at loose tolerances.
inline constexpr int stiff_enough = 15, easy_enough = 6;
inline constexpr double tight = 1e-6, near_edge = 0.8, far_from_edge = 0.3, damped = -0.7, endless = 1e5;

template <class M>
inline bool is_stiff(Integration& s) noexcept {
    if constexpr (requires { M::stability_edge; }) {
        const double to_come = std::fabs((s.t1 - s.t_new) / (s.t_new - s.t));
        if (!(to_come > s.watch_stiffness)) return false;
        ensure_end_slope<M>(s);
        const Stiffness found = M::stiffness(s);
        const double share = found.size / M::stability_edge;
        const bool is_tight = s.rtol <= tight;
        if (share > (is_tight ? near_edge : 1)) {
            s.easy_steps = 0;
            ++s.stiff_steps;
        } else if (s.stiff_steps > 0 && ++s.easy_steps == easy_enough) {
            s.stiff_steps = s.easy_steps = 0;
        }
        const bool held = is_tight && share > far_from_edge && found.cosine < damped;
        s.damped_steps = held ? s.damped_steps + 1 : 0;
        return s.stiff_steps >= stiff_enough || (s.damped_steps >= stiff_enough && to_come > endless);
    } else {
        return false;
    }
}

template <class M>
inline Status attempt_adaptive(Integration& s) noexcept {
    const bool reaches_end = plan_step(s);
    const double taken = s.t_new - s.t;
    if (taken == 0) return Status::step_too_small;
    ensure_slope<M>(s);
    take_step<M>(s);
    if (M::error_needs_end(s)) {
        if (s.linear.keeps_constraints) keep_end(s);
        ensure_end_slope<M>(s);
    }
    if (s.abort_called) return Status::aborted;
    double error = M::error(s);
    if (!(error <= 1)) return reject<M>(s, error);
    // Delayed signals are read from the polynomial by steps to come.
    if (s.inputs.delayed && judges_defects(s)) {
        ensure_dense<M>(s);
        const double between = counted_defect(s, error_of_defect(s, M::degree(s)));
        if (s.abort_called) return Status::aborted;
        if (between > 1 && std::isfinite(between)) return reject<M>(s, between);
        error = std::fmax(error, between <= 1 ? between : 0);
    }
    // A step shortened by a stop says nothing against the length that was planned.
    const double wish = taken * growth_after_acceptance<M>(s, error);
    s.h = reaches_end && std::fabs(wish) < std::fabs(s.h) ? s.h : wish;
    if (s.watch_stiffness > 0 && is_stiff<M>(s)) return Status::stiff;
    return complete<M>(s);
}

// Whether a method leaves its state without real factors of a F_x' + F_w.
template <class M>
inline bool has_no_factors(Integration& s) noexcept {
    if constexpr (requires { M::has_no_factors(s); })
        return M::has_no_factors(s);
    else
        return false;
}

template <class M>
inline Status attempt_implicit(Integration& s) noexcept {
    const double longest = implicit_of(s).modes.longest;
    if (longest > 0 && std::fabs(s.h) > longest) s.h = std::copysign(longest, s.h);
    const bool reaches_end = plan_step(s);
    if (s.t_new == s.t) return Status::step_too_small;
    const double planned = s.h;
    s.dense_known = false;
    const Status status = M::attempt(s);
    if (status != Status::going || !s.accepted) return status;
    if (steps_over_growth(s, implicit_of(s), has_no_factors<M>(s))) return Status::going;
    // A step shortened by a stop says nothing against the length that was planned.
    if (reaches_end && std::fabs(s.h) < std::fabs(planned)) s.h = planned;
    if constexpr (!requires { M::dense_on_demand; }) ensure_dense<M>(s);
    return complete<M>(s);
}

template <class M>
inline Status attempt_fixed(Integration& s) noexcept {
    const bool last = s.grid_index + 1 >= s.grid_count;
    const double travelled = s.fixed_step * static_cast<double>(s.grid_index + 1);
    s.t_new = last ? interval_end(s) : s.grid_begin + s.direction * travelled;
    if (s.shorter_step > 0) s.t_new = s.t + s.direction * s.shorter_step;
    if constexpr (M::is_explicit) ensure_slope<M>(s);
    take_step<M>(s);
    if (s.abort_called) return Status::aborted;
    long long component = 0;
    if (first_not_finite(s.x_new, s.n, component)) {
        if constexpr (M::is_explicit)
            blame_not_finite<M>(s);
        else
            s.culprit = {component, Culprit::What::state};
        return Status::not_finite;
    }
    if (!s.taken) return Status::newton_failed;
    if constexpr (!M::is_explicit && !requires { M::dense_on_demand; }) ensure_dense<M>(s);
    return complete<M>(s);
}

template <class M>
inline Status attempt(Integration& s) noexcept {
    if constexpr (M::is_explicit)
        return attempt_adaptive<M>(s);
    else
        return attempt_implicit<M>(s);
}

// Behind an event no step was short enough: perhaps in other modes.
template <class M>
inline bool tries_again(Integration& s, Status why) noexcept {
    const bool stuck = why == Status::newton_failed || why == Status::singular || why == Status::not_finite ||
                       why == Status::step_too_small;
    return stuck && s.guards.switches.count > 0 && s.fixed_step <= 0 && choose_modes(s);
}

// A step by h of a method, without a look at what happens in it.
template <class M>
bool try_step(Integration& s) noexcept {
    s.t_new = s.t + s.h;
    if constexpr (M::is_explicit) {
        ensure_slope<M>(s);
        take_step<M>(s);
        return true;
    } else {
        s.accepted = false;
        for (int shorter = 0; shorter < most_shorter && !s.accepted; ++shorter) {
            s.t_new = s.t + s.h;
            if (s.t_new == s.t || M::attempt(s) != Status::going) return false;
        }
        return s.accepted;
    }
}

// A guard this near to zero, in units of the tolerance of its largest value in the step, is not told from zero. The dense
// output of implicit methods is less exact in z than the steps.
template <class M>
inline constexpr double near_zero = M::is_explicit ? 1 : 0.1;

template <class M>
inline constexpr MethodCalls method_calls{
    take_step<M>, try_step<M>, ensure_dense<M>, [](Integration& s) noexcept -> int { return M::degree(s); }, near_zero<M>};

template <class M>
Status advance(Integration& s, long long max_steps) noexcept {
    s.method = &method_calls<M>;
    if (!s.started)
        if (const Status status = start<M>(s); status != Status::going) return status;
    for (long long i = 0; i < max_steps; ++i) {
        if (!has_room_for_step(s) || !has_room_for_events(s)) return Status::buffer_full;
        if (s.steps >= s.max_steps) return Status::step_limit;
        const Status status = s.fixed_step > 0 ? attempt_fixed<M>(s) : attempt<M>(s);
        if (status == Status::going || tries_again<M>(s, status)) continue;
        if constexpr (!M::is_explicit)
            if (status == Status::finished && !is_regular_at_end(s)) return s.abort_called ? Status::aborted : Status::singular;
        return status;
    }
    return Status::chunk_done;
}

// Dense output of the step from (t, x) to t_new, made anew; gives its error between them, in units of what is allowed. Where
// a row is given the step ends there: a part of a longer step that meets its end.
template <class M>
double dense_of_step(Integration& s, const double* end) noexcept {
    static_assert(M::is_explicit, "implicit methods record their dense output");
    enter_segments(s.inputs, 0.5 * (s.t + s.t_new));
    slope_at(s, s.t, s.x, s.k);
    take_step<M>(s);
    if (s.linear.keeps_constraints && s.fixed_step <= 0 && M::error_needs_end(s)) keep_end(s);
    if (end) copy(end, s.n, s.x_new);
    ensure_dense<M>(s);
    return judges_defects(s) ? error_of_defect(s, M::degree(s)) : 0;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
