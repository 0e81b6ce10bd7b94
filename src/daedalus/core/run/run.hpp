// Drives a run from outside the step loop: grows memory, looks at the clock, at cancellation and at whoever watches.
#pragma once

#include <chrono>
#include <stdexcept>

#include "machine/storage.hpp"
#include "run/crawl.hpp"
#include "run/kernel_choice.hpp"
#include "run/workspace.hpp"

namespace daedalus {

// What a run that goes on has recorded up to its time t, for as long as a look takes.
struct SoFar {
    double t;
    const Recorder& recorder;
    const DelayedSignals* delayed;
    long long n, held_width;
};

// Asked now and then between steps whether to go on; called without any lock.
class Watch {
public:
    virtual ~Watch() = default;
    virtual Status look(const SoFar& so_far) = 0;  // Status::going, or why to stop
};

// Dense output: piece m from starts[m] to ends[m], coefficients (count, degree + 1, n) where there are no places, else as
// PieceRows has them.
struct DenseRecord {
    Storage<double> starts, ends, coefficients;
    Storage<long long> places;
    long long count = 0, derived = 0;
    int degree = 0;
};

// A piece of these, in full: (degree + 1, n). Columns of x' are the last of a row, those of x the first.
inline void write_piece(const DenseRecord& dense, long long piece, long long n, double* out) {
    const double length = dense.ends.data()[piece] - dense.starts.data()[piece];
    const long long place = dense.places.data()[piece], size = dense.places.data()[piece + 1] - place;
    const long long kept = length == 0 ? n : n - dense.derived, powers = size / kept;
    const double* from = dense.coefficients.data() + place;
    std::fill_n(out, (dense.degree + 1) * n, 0.0);
    for (long long j = 0; j < powers; ++j) std::copy_n(from + j * kept, kept, out + j * n);
    for (long long j = 1; j < powers && kept < n; ++j) {
        const double slope = static_cast<double>(j) / length;
        for (long long i = 0; i < dense.derived; ++i) out[(j - 1) * n + kept + i] = slope * from[j * kept + i];
    }
}

// What a run leaves behind.
struct Record {
    Storage<double> step_t, step_x, sample_t, sample_x, event_t, event_before, event_after;
    Storage<double> end_x;  // where it stopped
    std::vector<double> atol;
    Storage<long long> event_guard, event_round, held_row, between;
    Storage<int> step_counts;  // (counted steps, 3)
    long long counted_steps = 0;
    long long between_count = 0;  // samples inside steps
    Storage<double> held_t, held_values;
    Storage<unsigned char> held_located, event_led;
    long long switches = 0;
    long long held_count = 0, held_width = 0, event_width = 0, turns = 0, last_turned = -1;  // of switches
    long long n = 0, step_count = 0, sample_count = 0, event_count = 0;
    Status status = Status::finished;
    Culprit culprit;
    double stop_time = 0, seconds = 0, last_step = 0;
    bool rested = false;  // ended, as nothing moved in many steps and the rest would have taken too many
    long long steps = 0, rejected = 0, rhs_calls = 0;
    ImplicitWork implicit;
    DenseRecord dense;  // of an implicit method
    // Delayed signals from before the start to the end, (pieces, degree + 1, signals).
    std::vector<double> signal_starts, signal_ends, signal_samples;
    int signal_degree = 0;
};

class Run {
public:
    explicit Run(const Request& request)
        : request_(request), kernels_(choose_kernels(request.method)), workspace_(request, kernels_) {
        Integration& s = workspace_.state();
        record_.n = s.n;
        record_.atol.assign(s.atol, s.atol + s.n);
        record_.event_width = s.n + request.discretes, record_.held_width = request.discretes + request.switches;
        record_.switches = request.switches;
        s.recorder.every_step = request.keep_steps;
        s.recorder.event_rows = request.keep_steps || !request.samples_only;
        s.recorder.rows_at_jumps = request.rows_at_jumps;
        if (request.implicit && request.keep_steps) record_.dense.degree = request.implicit_degree;
        const bool fits = grow_steps(first_rows) && (s.guards.count == 0 || grow_events(2 * s.guards.roots.capacity)) &&
                          (!keeps_held() || grow_held(first_rows));
        if (!fits) throw std::bad_alloc();
        record_.sample_t.grow(static_cast<long long>(request.save_at.size()));
        record_.sample_x.grow(static_cast<long long>(request.save_at.size()) * s.n);
        s.recorder.samples = {record_.sample_t.data(), record_.sample_x.data(), 0, record_.sample_t.size(), false};
        record_.between.grow(static_cast<long long>(request.save_at.size()));
        s.recorder.between = record_.between.data();
        s.recorder.save_at = request.save_at.data();
        s.recorder.save_count = static_cast<long long>(request.save_at.size());
    }

    Record execute(Watch* watch) {
        const auto begin = Clock::now();
        record_.status = drive(begin, watch);
        if (workspace_.state().recorder.lost_any()) throw std::length_error("a step recorded more than it has room for");
        finish();
        record_.seconds = seconds_since(begin);
        return std::move(record_);
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr long long first_rows = 32;
    static constexpr double chunk_seconds = 0.01;  // how long the loop may run before the clock is read again
    static constexpr long long longest_chunk = 1LL << 30;  // steps, however quick they are
    static constexpr double look_seconds = 0.05;   // how often signals and progress are served

    static double seconds_since(Clock::time_point begin) {
        return std::chrono::duration<double>(Clock::now() - begin).count();
    }

    Status drive(Clock::time_point begin, Watch* watch) {
        Integration& s = workspace_.state();
        long long chunk = 1;
        double chunk_begin = 0, looked = 0;
        Crawl crawl(s);
        for (;;) {
            const long long most = s.fixed_step == 0 ? crawl.until_look(s.steps) : chunk;
            const Status status = kernels_.advance(s, std::min(chunk, most));
            if (status == Status::buffer_full) {
                if (!make_room(s)) return Status::memory_limit;
                continue;
            }
            if (status != Status::chunk_done) return status;
            const double now = seconds_since(begin);
            if (request_.cancel && request_.cancel->load(std::memory_order_relaxed)) return Status::cancelled;
            if (now > request_.time_limit) return Status::time_limit;
            if (s.fixed_step == 0 && crawl.see(s)) {
                record_.rested = crawl.rests();
                return Status::step_too_small;
            }
            if (watch && now - looked > look_seconds) {
                const SoFar so_far{s.t, s.recorder, s.inputs.delayed, record_.n, record_.held_width};
                if (const Status verdict = watch->look(so_far); verdict != Status::going) return verdict;
                looked = now;
            }
            const double spent = now - chunk_begin;
            chunk = 4 * spent < chunk_seconds   ? std::min(4 * chunk, longest_chunk)
                    : spent > chunk_seconds ? std::max(1LL, chunk / 2)
                                            : chunk;
            chunk_begin = now;
        }
    }

    // Twice the rows, or as many as the limit allows; false where those are full.
    bool make_room(const Integration& s) {
        const long long n = record_.n, number = sizeof(double);
        const auto more = [&](long long rows, long long width) {
            return std::min(2 * rows, request_.memory_limit / (width * number));
        };
        if (!has_room_for_step(s)) {
            const PieceRows& pieces = s.recorder.pieces;
            const long long piece = keeps_pieces() ? 3 + (pieces.count > 0 ? pieces.used() / pieces.count : n) : 0;
            // Counts of a step take less than the room of two numbers.
            const long long steps = more(s.recorder.steps.capacity, 3 + n + piece);
            const bool lacks_rows = s.recorder.steps.count + 3 > s.recorder.steps.capacity || pieces.count >= pieces.capacity;
            if (lacks_rows && (steps <= s.recorder.steps.capacity || !grow_steps(steps))) return false;
            if (keeps_pieces() && !pieces.takes(n)) {
                const long long room = std::min(2 * pieces.room, request_.memory_limit / number);
                if (room <= pieces.room || !grow_coefficients(room) || !pieces.takes(n)) return false;
            }
        }
        if (!has_room_for_events(s) && s.guards.count > 0) {
            const long long events = more(s.recorder.events.capacity, 2 + 2 * record_.event_width);
            if (events <= s.recorder.events.capacity || !grow_events(events)) return false;
        }
        if (has_room_for_events(s)) return true;
        const long long held = more(s.recorder.held.capacity, 2 + record_.held_width);
        return held > s.recorder.held.capacity && grow_held(held) && has_room_for_events(s);
    }

    bool keeps_rows() const { return !request_.implicit || request_.keep_between; }
    bool keeps_pieces() const { return request_.implicit && request_.keep_steps && request_.keep_between; }

    // Each of these is false where there is no memory; the rows that there were stay.
    bool grow_steps(long long capacity) {
        Rows& rows = workspace_.state().recorder.steps;
        const bool done = record_.step_t.try_grow(capacity) &&
                          (!keeps_rows() || record_.step_x.try_grow(capacity * record_.n)) &&
                          (!request_.keep_steps || grow_counts(capacity));
        rows = {record_.step_t.data(), record_.step_x.data(), rows.count, done ? capacity : rows.capacity, rows.lost};
        return done && (!keeps_pieces() || grow_pieces(capacity));
    }

    bool grow_counts(long long capacity) {
        StepCounts& counts = workspace_.state().recorder.counts;
        const bool done = record_.step_counts.try_grow(3 * capacity);
        counts = {record_.step_counts.data(), counts.count, done ? capacity : counts.capacity, counts.lost};
        return done;
    }

    bool grow_pieces(long long capacity) {
        PieceRows& pieces = workspace_.state().recorder.pieces;
        DenseRecord& dense = record_.dense;
        const bool done = dense.starts.try_grow(capacity) && dense.ends.try_grow(capacity) && dense.places.try_grow(capacity + 1);
        pieces.starts = dense.starts.data(), pieces.ends = dense.ends.data(), pieces.places = dense.places.data();
        if (done) pieces.capacity = capacity;
        pieces.degree = dense.degree;
        return done && (pieces.room > 0 || grow_coefficients(capacity * (dense.degree + 1) * record_.n));
    }

    bool grow_coefficients(long long room) {
        PieceRows& pieces = workspace_.state().recorder.pieces;
        const bool done = record_.dense.coefficients.try_grow(room);
        pieces.coefficients = record_.dense.coefficients.data();
        if (done) pieces.room = room;
        return done;
    }

    bool grow_events(long long capacity) {
        EventRows& rows = workspace_.state().recorder.events;
        const bool done = record_.event_guard.try_grow(capacity) && record_.event_t.try_grow(capacity) &&
                          record_.event_before.try_grow(capacity * record_.event_width) &&
                          record_.event_after.try_grow(capacity * record_.event_width) &&
                          record_.event_round.try_grow(capacity) && record_.event_led.try_grow(capacity);
        rows = {record_.event_guard.data(), record_.event_t.data(), record_.event_before.data(),
                record_.event_after.data(), record_.event_round.data(), record_.event_led.data(), rows.count,
                done ? capacity : rows.capacity, rows.lost};
        return done;
    }

    // Modes alone are of use to those only who make the dense output later, or go on from within the run.
    bool keeps_held() const { return request_.discretes > 0 || (request_.switches > 0 && request_.keep_steps); }

    bool grow_held(long long capacity) {
        HeldRows& held = workspace_.state().recorder.held;
        const bool done = record_.held_row.try_grow(capacity) && record_.held_t.try_grow(capacity) &&
                          record_.held_values.try_grow(capacity * record_.held_width) &&
                          record_.held_located.try_grow(capacity * record_.switches);
        held = {record_.held_row.data(), record_.held_t.data(), record_.held_values.data(), record_.held_located.data(),
                held.count, done ? capacity : held.capacity, held.lost};
        return done;
    }

    void finish() {
        Integration& s = workspace_.state();
        Rows& rows = s.recorder.steps;
        // Without every step the end is still worth a row.
        const bool only_events = !s.recorder.every_step && s.recorder.event_rows;
        if (only_events && rows.count < rows.capacity && rows.t[rows.count - 1] != s.t) push_row(rows, s.t, s.x, s.n);
        record_.step_count = rows.count;
        record_.counted_steps = s.recorder.counts.count;
        record_.sample_count = s.recorder.samples.count;
        record_.between_count = s.recorder.between_count;
        record_.event_count = s.recorder.events.count;
        if (rows.capacity > 2 * first_rows) (void)grow_steps(std::max(rows.count, 1LL));
        if (s.recorder.pieces.capacity > 0) end_pieces(s, rows);
        record_.dense.count = s.recorder.pieces.count, record_.dense.derived = s.recorder.pieces.derived;
        if (s.implicit) record_.implicit = kernels_.work(s.implicit);
        const auto factorisations = [&](void* linear) { return s.linear.kernels.counts(linear).factorisations; };
        if (s.linear.system) record_.implicit.factorisations = factorisations(s.linear.system);
        if (s.linear.keeper != s.linear.system) record_.implicit.factorisations += factorisations(s.linear.keeper);
        if (record_.status == Status::not_finite && s.linear.singular) record_.status = Status::singular;
        const bool names = record_.status == Status::conflict || record_.status == Status::endless ||
                           record_.status == Status::call_failed;
        const bool blames = names || record_.status == Status::not_finite || record_.status == Status::step_too_small ||
                            record_.status == Status::newton_failed || record_.status == Status::singular ||
                            record_.status == Status::rounding ||
                            (record_.status == Status::inconsistent && s.culprit.what == Culprit::What::event);
        if (blames) record_.culprit = s.culprit;
        record_.held_count = s.recorder.held.count;
        record_.turns = s.guards.switches.turns, record_.last_turned = s.guards.switches.last_turned;
        record_.stop_time = s.t;
        record_.end_x.grow(s.n);
        copy(s.x, s.n, record_.end_x.data());
        record_.last_step = s.last_step;
        if (DelayedSignals* delayed = s.inputs.delayed) {
            record_.signal_starts = std::move(delayed->starts), record_.signal_ends = std::move(delayed->ends);
            record_.signal_samples = std::move(delayed->samples), record_.signal_degree = delayed->degree;
        }
        record_.steps = s.steps, record_.rejected = s.rejected, record_.rhs_calls = s.rhs_calls;
    }

    // The last state is a piece of its own if no step leads to it.
    void end_pieces(Integration& s, const Rows& rows) {
        if (rows.count == 0 || (rows.count > 1 && rows.t[rows.count - 2] != rows.t[rows.count - 1])) return;
        if (!grow_pieces(s.recorder.pieces.count + 1)) return;
        if (!s.recorder.pieces.takes(s.n) && !grow_coefficients(s.recorder.pieces.used() + (record_.dense.degree + 1) * s.n))
            return;
        std::fill(s.coefficients, s.coefficients + (record_.dense.degree + 1) * s.lanes, 0.0);
        copy(s.x, s.n, s.coefficients);
        push_piece(s.recorder.pieces, s.t, s.t, s.coefficients, 0, s.lanes, s.n);
    }

    Request request_;
    Kernels kernels_;
    Workspace workspace_;
    Record record_;
};

// Redoes the stages of every recorded step; status aborted where a callback failed.
inline DenseRecord make_dense(const Request& request, const Record& record, Status& status) {
    const Kernels kernels = choose_kernels(request.method);
    Workspace workspace(request, kernels);
    Integration& s = workspace.state();
    if (DelayedSignals* delayed = s.inputs.delayed)
        take_pieces(*delayed, record.signal_starts, record.signal_ends, record.signal_samples, record.signal_degree);
    DenseRecord dense;
    dense.degree = dense_degree(request, kernels);
    const long long size = (dense.degree + 1) * record.n;
    const long long rows = record.step_count;
    const double* t = record.step_t.data();
    long long capacity = 0;
    const auto make_room = [&](long long needed) {
        if (needed <= capacity) return;
        capacity = std::max(needed, capacity + capacity / 2);
        dense.starts.grow(capacity), dense.ends.grow(capacity), dense.coefficients.grow(capacity * size);
    };
    make_room(rows);
    // A step from a row to the next, in equal parts; gives the largest error between their ends.
    const auto redo = [&](const double* x, long long row, long long parts) {
        const double begin = t[row], length = t[row + 1] - t[row];
        double error = 0;
        copy(x, record.n, s.x);
        for (long long part = 0; part < parts; ++part) {
            const bool ends = part + 1 == parts;
            s.t = begin + length * (static_cast<double>(part) / static_cast<double>(parts));
            s.t_new = ends ? t[row + 1] : begin + length * (static_cast<double>(part + 1) / static_cast<double>(parts));
            error = std::max(error, kernels.dense_of_step(s, ends && parts > 1 ? x + record.n : nullptr));
            const long long place = dense.count + part;
            dense.starts.data()[place] = s.t, dense.ends.data()[place] = s.t_new;
            double* out = dense.coefficients.data() + place * size;
            for (int j = 0; j <= dense.degree; ++j) copy(s.coefficients + j * s.lanes, record.n, out + j * record.n);
            std::swap(s.x, s.x_new);
        }
        return error;
    };

    long long mark = 0;
    const long long width = record.held_width;
    const bool fits = record.n == s.n && (record.held_count == 0 || width == request.discretes + request.switches);
    if (!fits) throw std::length_error("the rows of a run do not fit the model that makes its dense output");
    for (long long row = 0; row < rows; ++row) {
        for (; mark < record.held_count && record.held_row.data()[mark] <= row; ++mark)
            copy(record.held_values.data() + mark * width, width, s.guards.assigned.held);
        const bool last = row + 1 == rows;
        // Two rows at one time are an event, not a step; the last state is a piece of its own if no step leads to it.
        if (!last && t[row + 1] == t[row]) continue;
        if (last && row > 0 && t[row - 1] != t[row]) continue;
        const double* x = record.step_x.data() + row * record.n;
        long long parts = 1;
        make_room(dense.count + most_parts);
        if (last) {
            dense.starts.data()[dense.count] = dense.ends.data()[dense.count] = t[row];
            double* out = dense.coefficients.data() + dense.count * size;
            std::fill(out, out + size, 0.0);
            copy(x, record.n, out);
        } else {
            parts = redo_in_parts([&](long long count) { return redo(x, row, count); });
        }
        dense.count += parts;
        status = s.abort_called ? Status::aborted : Status::finished;
        if (s.abort_called) break;
    }
    return dense;
}

}  // namespace daedalus
