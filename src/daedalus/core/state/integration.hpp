// The state of one run as plain values: whoever holds it can stop after any step and go on later.
#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>

#include "model/function.hpp"
#include "model/implicit_model.hpp"
#include "model/inputs.hpp"
#include "model/linear_model_kernels.hpp"
#include "state/guard.hpp"
#include "state/recorder.hpp"

namespace daedalus {

enum class Status {
    going,        // inside advance() only
    chunk_done,   // the steps asked for are done, more to come
    buffer_full,  // the driver must grow the recorder
    finished,
    event,
    interrupted,
    cancelled,
    step_limit,
    time_limit,
    memory_limit,   // no more room for rows
    step_too_small,
    not_finite,
    chattering,
    newton_failed,  // at the shortest step
    singular,       // the matrix of the method, at the shortest step
    rounding,       // rounding errors exceed the tolerance of a component, at any step
    inconsistent,   // no values of z and x' behind a jump
    stiff,          // an explicit method is held back by stability, with most of the way to go
    not_projected,  // a state could not be moved onto the constraints
    conflict,       // two writers of one name in one round of an instant
    endless,        // events of one instant call each other without end
    call_failed,    // Python code of a clock raised
    aborted,        // a callback asked to stop
};

// What stopped a run: a component and what of it was not finite, or the event that nothing consistent lies behind; or who,
// of events and clocks, and who else.
struct Culprit {
    long long component = -1;
    enum class What { nothing, state, derivative, event } what = What::nothing;
    long long actor = -1, other = -1;
};

// Python code of a clock: what it reads is computed first, its answers go to the targets.
struct SampledCall {
    Call reads, code;
    double *values = nullptr, *answers = nullptr;
    const long long* targets = nullptr;
    long long target_count = 0;
    bool is_present = false;
};

// What is known to happen at given times: zeros of guards that time alone decides, and ticks of clocks.
struct Agenda {
    const double* times = nullptr;     // in the order of the run
    const long long* what = nullptr;   // a guard, or the number of guards of events plus that of a clock
    const long long* rising = nullptr;  // of a guard: 1, else 0
    long long count = 0, next = 0;
    double closest = 0;  // times that differ by less are one
};

// Clocks assign in the rows of the resets behind those of events.
struct Clocks {
    long long count = 0;
    const long long* levels = nullptr;  // a clock reads what those of lower levels have assigned at the same instant
    SampledCall* calls = nullptr;
    long long* due = nullptr;  // at the present instant, by level
    long long due_count = 0, due_next = 0, round_begin = 0;
};

// The functions of an implicit model, connected to a run.
struct ImplicitCalls {
    Call residual, jacobian, drift, below, product, charged, charged_jacobian;
    bool has_drift = false;
};

// A linear model in a run: its matrix gives x' and z, keeps the constraints, or both; else another matrix keeps them.
struct LinearRun {
    void* system = nullptr;
    void* keeper = nullptr;  // what keeps the constraints: the system, or one of its own
    LinearModelKernels kernels{};
    bool gives_slopes = false, keeps_constraints = false;
    bool singular = false;  // at the last solve
};

// What two slopes at the end of a step tell of an eigenvalue: h |lambda|, and -1 for damping to 0 for an oscillation.
struct Stiffness {
    double size = 0, cosine = 0;
};

// Any explicit method, as its stepper reads it (methods/explicit/tableau.hpp).
struct GeneralMethod;

struct Integration;

// What everything beside the steps asks of the method, so that it is compiled once for all methods.
struct MethodCalls {
    void (*take)(Integration& s) noexcept;          // the step to t_new, whatever its error
    bool (*try_step)(Integration& s) noexcept;      // the step by h, made shorter until it succeeds
    void (*ensure_dense)(Integration& s) noexcept;  // the polynomial of the present step
    int (*degree)(Integration& s) noexcept;         // that it has
    double near_zero;                               // as in events/events.hpp
};

struct Integration {
    // What is solved.
    long long n = 0, lanes = 0;  // lanes: n padded
    long long cases = 1;  // the states are those of so many cases that share their steps: of all the first, then the second
    Call rhs;
    double t0 = 0, t1 = 0, direction = 1;
    Inputs inputs;
    const double* stops = nullptr;  // breakpoints in the run's order, then t1
    long long stop_count = 0, stop_next = 0;

    // How.
    const MethodCalls* method = nullptr;
    const GeneralMethod* general = nullptr;
    double rtol = 1e-6;
    const double* atol = nullptr;  // padded with 1
    double fixed_step = 0;         // 0: adaptive
    double first_step = 0;         // 0: chosen
    double max_step = std::numeric_limits<double>::infinity();
    long long max_steps = std::numeric_limits<long long>::max();

    // Where it is.
    bool started = false, starting = false;  // starting: the row of the start takes the values behind its instant
    double t = 0, t_new = 0, h = 0, stage_time = 0;
    double* x = nullptr;
    double* x_new = nullptr;
    double* stage = nullptr;         // the argument of a stage
    double* defect = nullptr;        // a slope between the ends of a step
    double* kept = nullptr;          // (4, lanes): a step that is redone in parts
    double* k = nullptr;             // (rows, lanes): slopes; row 0 at (t, x)
    double* coefficients = nullptr;  // (degree + 1, lanes): dense output of the present step
    bool slope_known = false, end_known = false, dense_known = false;
    bool end_kept = false;  // x_new lies on the constraints already
    double grid_begin = 0;  // fixed steps count from here
    long long grid_index = 0, grid_count = 0;
    double shorter_step = 0;  // of fixed ones: the next, where more happens in a whole one than can be told from it
    double log_error_before = 0;
    double refused_time = std::numeric_limits<double>::quiet_NaN(), refused_defect = 0;  // a step refused for its polynomial
    bool after_rejection = false, abort_called = false;
    double watch_stiffness = 0;  // as in a Request
    bool kinked = false;  // the equations have kinks or jumps, or may have
    bool junctions = false;  // they have junctions: monotone laws that turn within a trillionth of what flows
    bool moving_mass = false;  // dF/dx' is no constant matrix
    int stiff_steps = 0, easy_steps = 0, damped_steps = 0;
    bool accepted = false, taken = true;  // how an implicit attempt ended
    void* implicit = nullptr;             // what the implicit method remembers

    LinearRun linear;
    Call projection;  // moves a state onto the invariants of the model
    bool has_projection = false;
    Guards guards;
    Clocks clocks;
    Agenda agenda;
    const unsigned char* stop_changes_inputs = nullptr;  // of each stop
    Recorder recorder;
    Culprit culprit;
    long long steps = 0, rejected = 0, rhs_calls = 0;
    double last_step = 0;
};

inline namespace DAEDALUS_ISA {

DAEDALUS_COLD void note_failure(Integration& s, int failed, double* out, long long size) noexcept {
    s.abort_called |= failed == aborted;
    for (long long i = 0; i < size; ++i) out[i] = std::numeric_limits<double>::quiet_NaN();
}

// The time that functions of the model are asked at, and inputs as they are there.
DAEDALUS_INLINE void set_time(Integration& s, double t) noexcept {
    s.stage_time = t;
    if (s.inputs.any_slope) write_slopes(s.inputs, t);
}

// Whether a function of the model has no values; an exception in it ends the run.
DAEDALUS_INLINE bool fails(Integration& s, const Call& call) noexcept {
    const int failed = evaluate(call);
    s.abort_called |= failed == aborted;
    return failed != 0;
}

// x' and z by a solve; a singular matrix counts as a failed evaluation. The solution stays with the model.
DAEDALUS_COLD bool slope_by_solve(Integration& s, double t, const double* x, double* out) noexcept {
    ++s.rhs_calls;
    set_time(s, t);
    const Solved outcome = s.linear.kernels.solve(s.linear.system, x);
    s.linear.singular = outcome == Solved::singular;
    if (outcome != Solved::done) {
        note_failure(s, outcome == Solved::aborted ? aborted : 1, out, s.n);
        return false;
    }
    const double* solution = s.linear.kernels.solution(s.linear.system);
    for (long long i = 0; i < s.n; ++i) out[i] = solution[i];
    return true;
}

// One call of the right-hand side; a failed one counts as not finite.
DAEDALUS_INLINE void slope_at(Integration& s, double t, const double* x, double* out) noexcept {
    if (s.linear.gives_slopes) [[unlikely]] {
        slope_by_solve(s, t, x, out);
        return;
    }
    ++s.rhs_calls;
    set_time(s, t);
    s.rhs.arg[1] = x;
    s.rhs.res[0] = out;
    if (const int failed = evaluate(s.rhs)) [[unlikely]]
        note_failure(s, failed, out, s.n);
}

// Switching to and fro: rounds of one instant, turns of modes at one time or without leaving a tiny interval, or of one
// switch that comes back to zero without ever being away from it.
inline constexpr long long most_rounds = 50;

// Room for everything one step may record: its end, a reset there, and a reset behind a breakpoint there.
inline bool has_room_for_step(const Integration& s) {
    const Recorder& recorder = s.recorder;
    return recorder.steps.count + 3 <= recorder.steps.capacity &&
           (recorder.pieces.capacity == 0 || recorder.pieces.takes(s.n));
}

// The same for its events and the changes of modes that they bring.
inline bool has_room_for_events(const Integration& s) {
    const Recorder& recorder = s.recorder;
    return (recorder.held.capacity == 0 || recorder.held.count + 3 <= recorder.held.capacity) &&
           (s.guards.count == 0 ||
            recorder.events.count + s.guards.roots.capacity + s.guards.count <= recorder.events.capacity);
}

// The row of this time keeps the later values, where z and x' of an implicit model jump.
inline void keep_later_values(Integration& s) noexcept {
    for (Rows* rows : {&s.recorder.steps, &s.recorder.samples})
        if (rows->x && rows->count > 0 && rows->t[rows->count - 1] == s.t) copy(s.x, s.n, rows->x + (rows->count - 1) * s.n);
}

// A second row of this time has the values behind what happened there; of several jumps it has those behind the last.
inline void push_later_row(Integration& s) noexcept {
    Rows& rows = s.recorder.steps;
    const bool is_second = rows.count > 1 && rows.t[rows.count - 2] == s.t;
    if (!is_second) push_row(rows, s.t, s.x, s.n);
    keep_later_values(s);
}

inline bool first_not_finite(const double* values, long long n, long long& index) {
    for (long long i = 0; i < n; ++i)
        if (!std::isfinite(values[i])) {
            index = i;
            return true;
        }
    return false;
}

// The distance to the next number, or up to twice that.
inline double spacing(double t) {
    const double distance = std::numeric_limits<double>::epsilon() * std::fabs(t);
    return distance > std::numeric_limits<double>::min() ? distance : std::numeric_limits<double>::min();
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
