// The seam for results: a Run converts what is asked for, when it is asked for; and for a look at one that goes on, some
// of its rows, as many as are asked for, and what was delayed.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <vector>

#include "python/collected.hpp"
#include "python/interpreter_lock.hpp"
#include "python/python_run.hpp"
#include "state/dense_output.hpp"

namespace daedalus {

namespace {

const char* status_name(Status status) {
    switch (status) {
        case Status::finished: return "finished";
        case Status::event: return "event";
        case Status::interrupted: return "interrupted";
        case Status::cancelled: return "cancelled";
        case Status::step_limit: return "step_limit";
        case Status::memory_limit: return "memory_limit";
        case Status::time_limit: return "time_limit";
        case Status::step_too_small: return "step_too_small";
        case Status::not_finite: return "not_finite";
        case Status::chattering: return "chattering";
        case Status::newton_failed: return "newton_failed";
        case Status::singular: return "singular";
        case Status::rounding: return "rounding";
        case Status::inconsistent: return "inconsistent";
        case Status::stiff: return "stiff";
        case Status::not_projected: return "not_projected";
        case Status::conflict: return "conflict";
        case Status::endless: return "endless";
        case Status::call_failed: return "call_failed";
        default: return "unknown";
    }
}

const char* culprit_stage(const PythonRun& self) {
    switch (self.record->culprit.what) {
        case Culprit::What::state: return "state";
        case Culprit::What::derivative: return "derivative";
        case Culprit::What::event: return "event";
        default: return "";
    }
}

nb::object step_t(PythonRun& self) {
    return view_in_numpy(self.record, self.record->step_t.data(), {std::size_t(self.record->step_count)});
}

nb::object step_x(PythonRun& self) {
    Record& record = *self.record;
    const long long width = self.request.implicit && !self.request.keep_between ? 0 : record.n;
    return view_in_numpy(self.record, record.step_x.data(), {std::size_t(record.step_count), std::size_t(width)});
}

nb::object run_t(PythonRun& self) {
    Record& record = *self.record;
    if (!self.t.is_valid())
        self.t = self.request.samples_only
                     ? view_in_numpy(self.record, record.sample_t.data(), {std::size_t(record.sample_count)})
                     : step_t(self);
    return self.t;
}

nb::object run_x(PythonRun& self) {
    Record& record = *self.record;
    const auto n = static_cast<std::size_t>(record.n);
    if (!self.x.is_valid())
        self.x = self.request.samples_only
                     ? view_in_numpy(self.record, record.sample_x.data(), {std::size_t(record.sample_count), n})
                     : step_x(self);
    return self.x;
}

// Which rows lie inside steps; none where every step is a row.
nb::object rows_between(const PythonRun& self) {
    const Record& record = *self.record;
    const long long count = self.request.samples_only ? record.between_count : 0;
    nb::list rows;
    for (long long k = 0; k < count; ++k) rows.append(record.between.data()[k]);
    return rows;
}

// Times and rows of all steps, whatever times were asked for.
nb::object at_steps(PythonRun& self) { return nb::make_tuple(step_t(self), step_x(self)); }

// Of each kept step: refused attempts and Newton's iterations, both from the start of the run, and its order.
nb::object step_counts(const PythonRun& self) {
    const Record& record = *self.record;
    const auto count = static_cast<std::size_t>(record.counted_steps);
    const std::vector<double> numbers(record.step_counts.data(), record.step_counts.data() + 3 * count);
    return copy_to_numpy(numbers, {count, 3});
}

nb::object run_end(const PythonRun& self) {
    return copy_to_numpy({self.record->end_x.data(), static_cast<std::size_t>(self.record->n)});
}

nb::list run_events(const PythonRun& self) {
    const Record& record = *self.record;
    const auto n = static_cast<std::size_t>(record.event_width);
    nb::list events;
    for (long long i = 0; i < record.event_count; ++i)
        events.append(nb::make_tuple(record.event_guard.data()[i], record.event_t.data()[i],
                                     copy_to_numpy({record.event_before.data() + i * record.event_width, n}),
                                     copy_to_numpy({record.event_after.data() + i * record.event_width, n})));
    return events;
}

// In which round of its instant each event happened.
std::vector<long long> event_rounds(const PythonRun& self) {
    const long long* rounds = self.record->event_round.data();
    return {rounds, rounds + self.record->event_count};
}

// Of each event whether the motion led its guard to zero.
std::vector<bool> events_led(const PythonRun& self) {
    const unsigned char* led = self.record->event_led.data();
    return std::vector<bool>(led, led + self.record->event_count);
}

// From which row and time on discrete variables and modes have which values.
nb::object run_held(const PythonRun& self) {
    const Record& record = *self.record;
    const auto count = static_cast<std::size_t>(record.held_count), width = static_cast<std::size_t>(record.held_width);
    const std::vector<double> rows(record.held_row.data(), record.held_row.data() + count);
    return nb::make_tuple(copy_to_numpy(rows), copy_to_numpy({record.held_t.data(), count}),
                          copy_to_numpy({record.held_values.data(), count * width}, {count, width}));
}

// Which switches the motion led to their turn there, (changes, switches) of 0 and 1.
nb::object run_located(const PythonRun& self) {
    const Record& record = *self.record;
    const auto count = static_cast<std::size_t>(record.held_count), width = static_cast<std::size_t>(record.switches);
    const std::vector<double> located(record.held_located.data(), record.held_located.data() + count * width);
    return copy_to_numpy(located, {count, width});
}

// Delayed signals as (starts, ends, samples).
nb::object signals_in_numpy(const std::vector<double>& starts, const std::vector<double>& ends,
                            const std::vector<double>& samples, int degree) {
    const std::size_t count = starts.size(), rows = static_cast<std::size_t>(degree) + 1;
    const std::size_t width = count == 0 ? 0 : samples.size() / (count * rows);
    return nb::make_tuple(copy_to_numpy(starts), copy_to_numpy(ends),
                          copy_to_numpy(samples, {count, rows, width}));
}

// What they were, from before the start to the end.
nb::object run_signals(const PythonRun& self) {
    const Record& record = *self.record;
    return signals_in_numpy(record.signal_starts, record.signal_ends, record.signal_samples, record.signal_degree);
}

nb::object dense_in_numpy(DenseRecord&& dense, long long n) {
    const auto count = static_cast<std::size_t>(dense.count), width = static_cast<std::size_t>(n);
    const long long piece = (dense.degree + 1) * n;
    if (dense.places.size() > 0) {
        Storage<double> full(dense.count * piece);
        for (long long k = 0; k < dense.count; ++k) write_piece(dense, k, n, full.data() + k * piece);
        dense.coefficients = std::move(full);
    }
    dense.coefficients.grow(dense.count * piece);
    return nb::make_tuple(to_numpy(std::move(dense.starts), {count}), to_numpy(std::move(dense.ends), {count}),
                          to_numpy(std::move(dense.coefficients), {count, std::size_t(dense.degree) + 1, width}));
}

nb::object run_dense(PythonRun& self) {
    if (self.dense.is_valid()) return self.dense;
    Request request = self.request;
    if (!request.keep_steps || (request.implicit && !request.keep_between))
        throw nb::value_error("there is no dense output: the steps were not kept");
    Record& record = *self.record;
    if (request.implicit) return self.dense = dense_in_numpy(std::move(record.dense), record.n);
    std::vector<double> start(static_cast<std::size_t>(record.n));
    KeptException exception;
    request.x0 = start, request.atol = record.atol, request.save_at = {}, request.guards = request.resets = nullptr;
    request.clocks = 0, request.due_times = {}, request.due_what = request.due_rising = request.scheduled = {};
    request.calls = {}, request.fired = {}, request.clock_levels = {};
    request.keeper = &exception;
    DenseRecord dense;
    Status status = Status::finished;
    {
        const LockReleased released;
        dense = make_dense(request, record, status);
    }
    raise_kept(exception);
    return self.dense = dense_in_numpy(std::move(dense), record.n);
}

nb::object evaluate_dense(nb::object starts, nb::object ends, nb::object coefficients, nb::object times) {
    const Doubles begin(starts), end(ends), numbers(coefficients), t(times);
    if (numbers.dimensions() != 3 || numbers.length(1) < 1 || begin.size() != numbers.length(0) ||
        end.size() != numbers.length(0))
        throw nb::value_error("expected starts (k,), ends (k,), coefficients (k, degree + 1, n)");
    const Pieces pieces{begin.data(),      end.data(),        numbers.data(),
                        numbers.length(0), numbers.length(2), static_cast<int>(numbers.length(1) - 1)};
    Storage<double> out(t.size() * pieces.n);
    long long outside = -1;
    {
        const LockReleased released;
        for (long long i = 0; i < t.size() && outside < 0; ++i) {
            const long long piece = piece_at(pieces, t.data()[i]);
            if (piece < 0)
                outside = i;
            else
                evaluate_piece(pieces, piece, t.data()[i], out.data() + i * pieces.n);
        }
    }
    if (outside >= 0) {
        const std::string range = pieces.count == 0 ? "nothing"
                                                    : std::to_string(begin.data()[0]) + " to " +
                                                          std::to_string(end.data()[pieces.count - 1]);
        throw nb::value_error(("time " + std::to_string(t.data()[outside]) + " is outside " + range).c_str());
    }
    return to_numpy(std::move(out), {static_cast<std::size_t>(t.size()), static_cast<std::size_t>(pieces.n)});
}

const SoFar& present(const PythonSoFar& self) {
    if (!self.now) throw nb::value_error("the look at this run is over: take what is needed of it at once");
    return *self.now;
}

// Every k-th row and the last one; k is a power of two, so that rows seen once are seen again or not at all.
nb::object rows_so_far(const PythonSoFar& self, long long most) {
    const SoFar& now = present(self);
    const Rows& steps = now.recorder.steps;
    const HeldRows& held = now.recorder.held;
    long long stride = 1;
    while ((steps.count - 1) / stride + 2 > std::max(most, 2LL)) stride *= 2;
    std::vector<long long> chosen;
    for (long long row = 0; row < steps.count; row += stride) chosen.push_back(row);
    if (!chosen.empty() && chosen.back() != steps.count - 1) chosen.push_back(steps.count - 1);

    const std::size_t count = chosen.size(), n = static_cast<std::size_t>(now.n);
    const std::size_t width = held.count > 0 ? static_cast<std::size_t>(now.held_width) : 0;
    const auto size = static_cast<long long>(count);
    Storage<double> t(size), x(size * now.n), values(static_cast<long long>(count * width));
    for (std::size_t k = 0; k < count; ++k) {
        t.data()[k] = steps.t[chosen[k]];
        copy(steps.x + chosen[k] * now.n, now.n, x.data() + k * n);
        if (width == 0) continue;
        const long long marks = std::upper_bound(held.row, held.row + held.count, chosen[k]) - held.row;
        const long long mark = std::max(marks - 1, 0LL);
        copy(held.values + mark * now.held_width, now.held_width, values.data() + k * width);
    }
    return nb::make_tuple(to_numpy(std::move(t), {count}), to_numpy(std::move(x), {count, n}),
                          to_numpy(std::move(values), {count, width}));
}

nb::object signals_so_far(const PythonSoFar& self) {
    const DelayedSignals* delayed = present(self).delayed;
    if (!delayed) return signals_in_numpy({}, {}, {}, 0);
    return signals_in_numpy(delayed->starts, delayed->ends, delayed->samples, delayed->degree);
}

}  // namespace

void bind_run(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<PythonRun>(module, "Run", nb::type_slots(Collected<PythonRun>::slots))
        .def_prop_ro("t", run_t)
        .def_prop_ro("x", run_x)
        .def("at_steps", at_steps)
        .def("step_counts", step_counts)
        // Numbers that are kept for values between the steps of an implicit method.
        .def_prop_ro("kept_between", [](const PythonRun& self) {
            const DenseRecord& dense = self.record->dense;
            return dense.count == 0 || dense.places.size() == 0 ? 0LL : dense.places.data()[dense.count];
        })
        .def_prop_ro("between", rows_between)
        .def_prop_ro("status", [](const PythonRun& self) { return status_name(self.record->status); })
        .def_prop_ro("stop_time", [](const PythonRun& self) { return self.record->stop_time; })
        .def_prop_ro("end", run_end)
        .def_prop_ro("culprit", [](const PythonRun& self) { return self.record->culprit.component; })
        .def_prop_ro("culprit_stage", culprit_stage)
        .def_prop_ro("steps", [](const PythonRun& self) { return self.record->steps; })
        .def_prop_ro("rejected", [](const PythonRun& self) { return self.record->rejected; })
        .def_prop_ro("rhs_calls", [](const PythonRun& self) { return self.record->rhs_calls; })
        .def_prop_ro("jacobians", [](const PythonRun& self) { return self.record->implicit.jacobians; })
        .def_prop_ro("factorisations", [](const PythonRun& self) { return self.record->implicit.factorisations; })
        .def_prop_ro("newton", [](const PythonRun& self) { return self.record->implicit.newton; })
        .def_prop_ro("newton_failures", [](const PythonRun& self) { return self.record->implicit.newton_failures; })
        .def_prop_ro("factor_size", [](const PythonRun& self) { return self.record->implicit.factor_size; })
        .def_prop_ro("linear", [](const PythonRun& self) {
            const SolverCounts& c = self.record->implicit.linear;
            const char* form = c.krylov ? "krylov" : c.dense ? "dense" : c.band > 0 ? "banded" : "sparse";
            if (self.record->implicit.factorisations == 0) form = "";
            return nb::make_tuple(form, c.fill, c.operations, c.orderings, c.iterations, c.gave_up, c.band);
        })
        .def_prop_ro("growing", [](const PythonRun& self) {
            const GrowingMode& mode = self.record->implicit.growing;
            return nb::make_tuple(static_cast<int>(mode.kind), mode.time, mode.rate, mode.frequency, mode.component);
        })
        .def_prop_ro("seconds", [](const PythonRun& self) { return self.record->seconds; })
        .def_prop_ro("last_step", [](const PythonRun& self) { return self.record->last_step; })
        .def_prop_ro("rested", [](const PythonRun& self) { return self.record->rested; })
        .def_prop_ro("turns", [](const PythonRun& self) { return self.record->turns; })
        .def_prop_ro("last_turned", [](const PythonRun& self) { return self.record->last_turned; })
        .def_prop_ro("events", run_events)
        .def_prop_ro("event_rounds", event_rounds)
        .def_prop_ro("events_led", events_led)
        .def_prop_ro("held", run_held)
        .def_prop_ro("located", run_located)
        .def_prop_ro("signals", run_signals)
        .def_prop_ro("actors", [](const PythonRun& self) {
            return nb::make_tuple(self.record->culprit.actor, self.record->culprit.other);
        })
        .def("dense", run_dense);
    nb::class_<PythonSoFar>(module, "SoFar")
        .def_prop_ro("time", [](const PythonSoFar& self) { return present(self).t; })
        .def("rows", rows_so_far, "most"_a)
        .def_prop_ro("signals", signals_so_far);
    module.def("evaluate_dense", evaluate_dense, "starts"_a, "ends"_a, "coefficients"_a, "times"_a);
}

}  // namespace daedalus
