// A run as a function of arrays with its transposed derivative, for callers that have no Python: y = f(x0, u, p).
//
//   x0 (n)          the start
//   u (times - 1, nu)   inputs, held between the times
//   p (np)          parameters
//   y (times, ny)   outputs at the times, where steps end; the states themselves if there is no function of outputs
//
// pull() maps weights of y to those of x0, u and p, by the adjoint of the steps of the same run (flow/adjoint.hpp). Steps
// of the last values are kept for it, since weights follow values as a rule.
#pragma once

#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "flow/adjoint.hpp"
#include "run/run.hpp"

namespace daedalus {

struct ArrayRequest {
    Request run;              // of an explicit method; its span and numbers are those of each call
    AdjointRequest adjoint;   // the same functions, and their pullbacks
    const Function* outputs = nullptr;           // (t, x, u, p) -> y
    const Function* outputs_pullback = nullptr;  // (t, x, u, p, weights of y) -> those of x, u, p
    const Function* kept = nullptr;              // (t, x, u, p) -> what is zero at a start
    double kept_within = 0;                      // so small, also beside the largest state
    const Function* logarithm = nullptr;         // (t, x, u, p) -> log |det| of the constraints, up to a constant
    std::span<const double> times;
};

class ArrayRun {
public:
    explicit ArrayRun(const ArrayRequest& request) : request_(request) {
        for (long long k = 0; k < input_count(); ++k) slots_.push_back(k);
    }

    long long states() const { return request_.adjoint.rhs->size_in[1]; }
    long long input_count() const { return request_.adjoint.rhs->size_in[2]; }
    long long parameters() const { return request_.adjoint.rhs->size_in[3]; }
    long long rows() const { return static_cast<long long>(request_.times.size()); }
    long long width() const { return request_.outputs ? request_.outputs->size_out[0] : states(); }

    // y of one case; false where it does not begin or does not get to the end.
    bool value(const double* x0, const double* u, const double* p, double* y) const {
        SteppedRecord taken = take(x0, u, p);
        if (!taken.arrived) return false;
        const Record& record = taken.record;
        if (!request_.outputs) {
            for (long long k = 0; k < rows(); ++k) copy(row(record, taken.at[index(k)]), states(), y + k * states());
            keep(x0, u, p, std::move(taken));
            return true;
        }
        Caller outputs(*request_.outputs, request_.run.keeper);
        for (long long k = 0; k < rows(); ++k) {
            Call& call = outputs.call();
            point(call, request_.times[index(k)], row(record, taken.at[index(k)]), u + held(k), p);
            call.res[0] = y + k * width();
            if (evaluate(call)) return false;
        }
        keep(x0, u, p, std::move(taken));
        return true;
    }

    // Weights of y (rows, width) of one case to those of x0, u and p.
    bool pull(const double* x0, const double* u, const double* p, const double* weights, double* x_bar, double* u_bar,
                  double* p_bar) const {
        SteppedRecord taken = kept(x0, u, p);
        if (!taken.arrived) taken = take(x0, u, p);
        if (!taken.arrived) return false;
        std::fill_n(x_bar, states(), 0.0);
        std::fill_n(u_bar, (rows() - 1) * input_count(), 0.0);
        std::fill_n(p_bar, parameters(), 0.0);
        std::unique_ptr<Caller> outputs;
        if (request_.outputs) outputs = std::make_unique<Caller>(*request_.outputs_pullback, request_.run.keeper);
        std::vector<double> x_part(static_cast<std::size_t>(states())), u_part(slots_.size()),
            p_part(static_cast<std::size_t>(parameters()));
        for (long long k = rows() - 1; k >= 0; --k) {
            const double* of_row = weights + k * width();
            if (outputs) {
                Call& call = outputs->call();
                point(call, request_.times[index(k)], row(taken.record, taken.at[index(k)]), u + held(k), p);
                call.arg[4] = of_row;
                call.res[0] = x_part.data(), call.res[1] = u_part.data(), call.res[2] = p_part.data();
                if (evaluate(call)) return false;
                add(x_part, x_bar), add(u_part, u_bar + held(k)), add(p_part, p_bar);
            } else {
                for (long long m = 0; m < states(); ++m) x_bar[m] += of_row[m];
            }
            if (k > 0 && !pull_interval(taken, k - 1, u, p, x_bar, u_bar, p_bar)) return false;
        }
        return true;
    }

private:
    // A run with all its steps, and the row of each time.
    struct SteppedRecord {
        Record record;
        std::vector<long long> at;
        bool arrived = false;
    };

    // Steps of a run by its numbers.
    struct Kept {
        std::vector<double> numbers;
        SteppedRecord taken;
    };
    // More numbers than so many are not kept; runs with more of their own never are.
    static constexpr std::size_t most_kept = 1 << 20, most_runs = 256;

    std::vector<double> numbers_of(const double* x0, const double* u, const double* p) const {
        std::vector<double> numbers(x0, x0 + states());
        numbers.insert(numbers.end(), u, u + (rows() - 1) * input_count());
        numbers.insert(numbers.end(), p, p + parameters());
        return numbers;
    }
    std::size_t size_of(const Kept& one) const {
        return one.numbers.size() + index(one.taken.record.step_count * (1 + states()));
    }

    void keep(const double* x0, const double* u, const double* p, SteppedRecord&& taken) const {
        Kept one{numbers_of(x0, u, p), std::move(taken)};
        const std::size_t size = size_of(one);
        if (size > most_kept) return;
        const std::lock_guard held(lock_);
        kept_.push_back(std::move(one)), kept_size_ += size;
        while (kept_size_ > most_kept || kept_.size() > most_runs) kept_size_ -= size_of(kept_.front()), kept_.pop_front();
    }

    // The steps of a run with these numbers, bit for bit, which are then no longer kept; not arrived where there are none.
    SteppedRecord kept(const double* x0, const double* u, const double* p) const {
        SteppedRecord found;
        const auto same = [](const double* a, const double* b, long long count) {
            return count == 0 || std::memcmp(a, b, index(count) * sizeof(double)) == 0;
        };
        const long long n = states(), inputs = (rows() - 1) * input_count();
        const std::lock_guard held(lock_);
        for (auto one = kept_.begin(); one != kept_.end(); ++one) {
            const double* numbers = one->numbers.data();
            if (!same(numbers, x0, n) || !same(numbers + n, u, inputs) || !same(numbers + n + inputs, p, parameters()))
                continue;
            kept_size_ -= size_of(*one);
            found = std::move(one->taken);
            kept_.erase(one);
            break;
        }
        return found;
    }

    static std::size_t index(long long k) { return static_cast<std::size_t>(k); }
    static void add(const std::vector<double>& part, double* to) {
        for (std::size_t m = 0; m < part.size(); ++m) to[m] += part[m];
    }
    static void point(Call& call, const double& t, const double* x, const double* u, const double* p) {
        call.arg[0] = &t, call.arg[1] = x, call.arg[2] = u, call.arg[3] = p;
    }

    const double* row(const Record& record, long long k) const { return record.step_x.data() + k * states(); }
    // Where the inputs of a row begin: at a time where they change, the later ones.
    long long held(long long k) const { return std::min(k, rows() - 2) * input_count(); }

    SteppedRecord take(const double* x0, const double* u, const double* p) const {
        SteppedRecord taken;
        if (!fits(x0, u, p)) return taken;
        const Table table = held_inputs(u);
        const Table* const tables[] = {&table};
        Request request = request_.run;
        request.t0 = request_.times.front(), request.t1 = request_.times.back();
        request.x0 = {x0, index(states())}, request.u = {u, slots_.size()}, request.p = {p, index(parameters())};
        request.tables = tables, request.samples_only = false, request.keep_steps = true, request.rows_at_jumps = false;
        Run run(request);
        taken.record = run.execute(nullptr);
        if (taken.record.status != Status::finished) return taken;
        find_rows(taken);
        taken.arrived = !(request_.logarithm && may_branch(taken, u, p));
        return taken;
    }

    // Whether branches of the motion may cross on the way: the determinant of the constraints comes to less than half of
    // its largest, and its zeros need not be seen at the steps, of which two that follow each other differ too much.
    bool may_branch(const SteppedRecord& taken, const double* u, const double* p) const {
        constexpr long long enough = 8;
        const double half = std::log(2.0);
        Caller logarithm(*request_.logarithm, request_.run.keeper);
        const long long count = taken.record.step_count;
        double lowest = INFINITY, highest = -INFINITY, before = 0, change = 0;
        for (long long k = 0, interval = 0; k < count; ++k) {
            while (interval + 2 < rows() && k >= taken.at[index(interval + 1)]) ++interval;
            double value = 0;
            point(logarithm.call(), taken.record.step_t.data()[k], row(taken.record, k), u + held(interval), p);
            logarithm.call().res[0] = &value;
            if (evaluate(logarithm.call()) || !std::isfinite(value)) return true;
            lowest = std::min(lowest, value), highest = std::max(highest, value);
            if (k > 0) change = std::max(change, std::fabs(value - before));
            before = value;
        }
        return highest - lowest >= half && (count < enough || change >= half);
    }

    // Steps end at its times, also where there are no inputs.
    Table held_inputs(const double* u) const {
        Table table;
        table.times.assign(request_.times.begin(), request_.times.end() - 1);
        table.values.assign(u, u + (rows() - 1) * input_count());
        table.slots = slots_;
        return table;
    }

    void find_rows(SteppedRecord& taken) const {
        const Storage<double>& t = taken.record.step_t;
        const double closest = closest_times(request_.times.front(), request_.times.back());
        long long k = 0;
        for (const double time : request_.times) {
            while (k + 1 < taken.record.step_count && t.data()[k] < time - closest) ++k;
            taken.at.push_back(k);
        }
    }

    bool fits(const double* x0, const double* u, const double* p) const {
        if (!request_.kept) return true;
        Caller kept(*request_.kept, request_.run.keeper);
        std::vector<double> left(static_cast<std::size_t>(request_.kept->size_out[0]));
        point(kept.call(), request_.times.front(), x0, u, p);
        kept.call().res[0] = left.data();
        if (evaluate(kept.call())) return false;
        double largest = 0, scale = 1;
        for (const double value : left) largest = value == value ? std::max(largest, std::fabs(value)) : INFINITY;
        for (long long m = 0; m < states(); ++m) scale = std::max(scale, std::fabs(x0[m]));
        return largest <= request_.kept_within * scale;
    }

    // The steps between two times; weights of the later state in x_bar become those of the earlier one.
    bool pull_interval(const SteppedRecord& taken, long long k, const double* u, const double* p, double* x_bar, double* u_bar,
                       double* p_bar) const {
        const long long first = taken.at[index(k)], count = taken.at[index(k + 1)] - first;
        if (count < 1) return true;
        AdjointRequest request = request_.adjoint;
        const std::vector<long long> blocks(index(count), 0);
        request.times = {taken.record.step_t.data() + first, index(count + 1)};
        request.states = {row(taken.record, first), index((count + 1) * states())};
        request.u = {u + held(k), slots_.size()}, request.p = {p, index(parameters())};
        request.blocks = blocks;
        return Adjoint(request).run(x_bar, u_bar + held(k), p_bar);
    }

    ArrayRequest request_;
    std::vector<long long> slots_;
    mutable std::mutex lock_;
    mutable std::deque<Kept> kept_;
    mutable std::size_t kept_size_ = 0;
};

}  // namespace daedalus
