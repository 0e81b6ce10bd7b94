// All memory one run needs, allocated once before its first step.
#pragma once

#include <algorithm>
#include <deque>
#include <new>
#include <span>
#include <vector>

#include "events/guards.hpp"
#include "machine/arena.hpp"
#include "machine/memory_limit.hpp"
#include "methods/explicit/tableau.hpp"
#include "model/caller.hpp"
#include "run/kernel_choice.hpp"
#include "state/integration.hpp"

namespace daedalus {

// Python code of a clock as it is asked for; without functions there is none.
struct SampledSource {
    const Function* reads = nullptr;
    const Function* code = nullptr;
    std::vector<long long> targets;
};

// What is asked for; spans are borrowed for the time of the run.
struct Request {
    const Function* rhs = nullptr;
    Method method = Method::tsit5;
    const GeneralMethod* general = nullptr;
    // An implicit model instead of rhs, and the numbers of its method; x0 is the row (x, z, x') then.
    const ImplicitModel* implicit = nullptr;
    const void* implicit_method = nullptr;
    int implicit_degree = 0;  // of its dense output
    const Function* restart = nullptr;
    const Function* contacts = nullptr;
    // A linear model instead of rhs, and constraints that its matrix or that of another one keeps.
    const LinearModel* linear = nullptr;
    const ConstraintLevels* levels = nullptr;
    double t0 = 0, t1 = 0;
    std::span<const double> x0, u, p;
    double rtol = 1e-6;
    std::span<const double> atol;
    double fixed_step = 0, first_step = 0;  // 0: adaptive, chosen
    double max_step = std::numeric_limits<double>::infinity();
    double time_limit = std::numeric_limits<double>::infinity();
    long long max_steps = std::numeric_limits<long long>::max();
    long long memory_limit = memory_for_rows();  // bytes of what is kept
    bool samples_only = false;  // save_at was given
    bool keep_steps = true;
    bool keep_between = true;  // values of an implicit method between its rows, and the rows of its steps
    bool rows_at_jumps = false;
    long long cases = 1;  // of which the states consist, number by number; each is held to the tolerance
    double watch_stiffness = 0;  // steps to come from which on another method pays where stability limits them; 0: none
    bool kinked = false;
    bool junctions = false, moving_mass = false;
    std::span<const double> save_at;
    std::span<const Table* const> tables;
    const Function* guards = nullptr;
    const Function* resets = nullptr;
    const Function* projection = nullptr;
    std::span<const long long> directions, actions, occurrences, sides, at_start;
    long long switches = 0;  // so many last guards turn modes, which are the last entries of p
    // Discrete variables lie before the modes; rows of the resets are those of events, then of clocks.
    long long discretes = 0, clocks = 0;
    std::span<const unsigned char> writes, is_read, is_contact, may_slide;
    std::span<const long long> clock_levels;
    std::span<const SampledSource> calls;        // of the clocks
    bool from_start = false;
    // What happens when, of this run; and which guards are known by it, or fired at the start already.
    std::span<const double> due_times;
    std::span<const long long> due_what, due_rising, scheduled, fired;
    const DelaySource* delays = nullptr;
    const std::atomic<bool>* cancel = nullptr;
    void* keeper = nullptr;
};

// The degree of a method's dense output.
inline int dense_degree(const Request& request, const Kernels& kernels) {
    if (request.implicit) return request.implicit_degree;
    return request.general ? request.general->degree : kernels.degree;
}

class Workspace {
public:
    Workspace(const Request& request, const Kernels& kernels)
        : kernels_(kernels), keeper_(request.keeper) {
        const long long n = static_cast<long long>(request.x0.size());
        const int rows = request.general ? request.general->rows : kernels.rows;
        const int degree = dense_degree(request, kernels);
        const long long guards = request.guards ? static_cast<long long>(request.directions.size()) : 0;
        const long long lanes = padded(n);
        const long long width = n + request.discretes;

        Integration& s = state_;
        s.n = n, s.lanes = lanes;
        s.t0 = request.t0, s.t1 = request.t1, s.t = request.t0;
        s.direction = request.t1 < request.t0 ? -1 : 1;
        s.general = request.general;
        s.rtol = request.rtol;
        s.fixed_step = request.fixed_step, s.first_step = request.first_step;
        s.max_step = request.max_step, s.max_steps = request.max_steps;
        s.cases = request.cases;
        s.watch_stiffness = request.watch_stiffness, s.kinked = request.kinked;
        s.junctions = request.junctions, s.moving_mass = request.moving_mass;
        add_stops(request);

        double* atol = carve(lanes);
        std::fill(atol, atol + lanes, 1.0);
        std::copy_n(request.atol.begin(), std::min(request.atol.size(), request.x0.size()), atol);
        s.atol = atol;
        s.x = carve(lanes), s.x_new = carve(lanes), s.stage = carve(lanes), s.defect = carve(lanes), s.kept = carve(4 * lanes);
        s.k = carve(rows * lanes), s.coefficients = carve((degree + 1) * lanes);
        std::copy(request.x0.begin(), request.x0.end(), s.x);

        s.inputs.u = carve(padded(static_cast<long long>(request.u.size())));
        s.inputs.rates = carve(padded(static_cast<long long>(request.u.size())));
        s.inputs.slots = static_cast<long long>(request.u.size());
        s.inputs.before = carve(padded(s.inputs.slots)), s.inputs.rounding = carve(padded(s.inputs.slots));
        std::copy(request.u.begin(), request.u.end(), s.inputs.u);
        for (const Table* table : request.tables) tables_.push_back(activate(*table));
        s.inputs.tables = tables_.data(), s.inputs.count = static_cast<long long>(tables_.size());
        parameters_ = request.p.data();
        if (request.switches + request.discretes > 0) add_held(request);
        if (request.linear || request.levels) add_linear(request);
        if (request.implicit)
            add_implicit(request);
        else if (!request.linear)
            s.rhs = connect(*request.rhs);
        if (guards > 0) add_guards(request, guards);
        add_instants(request, width);
        if (request.delays) add_delays(*request.delays, request, degree);
        if (request.projection) {
            s.projection = connect(*request.projection);
            s.has_projection = true;
        }
    }
    ~Workspace() {
        if (state_.implicit) kernels_.destroy(state_.implicit);
        const LinearRun& linear = state_.linear;
        if (linear.keeper && linear.keeper != linear.system) linear.kernels.destroy(linear.keeper);
        if (linear.system) linear.kernels.destroy(linear.system);
    }
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

    Integration& state() { return state_; }

private:
    double* carve(long long count) { return memory_.carve(count); }

    // Time, inputs and parameters, from a place on, stay where they are; only x and the result move from call to call.
    Call connect(const Function& function, int place = 2) {
        Call& call = callers_.emplace_back(function, keeper_).call();
        call.arg[0] = &state_.stage_time, call.arg[place] = state_.inputs.u, call.arg[place + 1] = parameters_;
        return call;
    }

    // The backward error of the solves in a run, as a share of the error that is asked for.
    static constexpr double solves_to = 1e-3;

    void add_linear(const Request& request) {
        LinearRun& linear = state_.linear;
        linear.gives_slopes = request.linear != nullptr, linear.keeps_constraints = request.levels != nullptr;
        linear.kernels = choose_linear_model_kernels();
        const ConstraintLevels* levels = request.levels;
        const bool one = !levels || !request.linear || same_matrix(*request.linear, *levels->model);
        const LinearModel& model = request.linear ? *request.linear : *levels->model;
        linear.system = make_linear(model, one ? levels : nullptr, request);
        linear.keeper = one ? linear.system : make_linear(*levels->model, levels, request);
    }

    static bool same_matrix(const LinearModel& a, const LinearModel& b) {
        return a.matrix.colind == b.matrix.colind && a.matrix.rows == b.matrix.rows;
    }

    void* make_linear(const LinearModel& model, const ConstraintLevels* levels, const Request& request) {
        LevelCalls calls;
        const auto add = [&](Call& call, const Function* function) {
            if (function) call = connect(*function);
        };
        if (levels) {
            add(calls.positions, levels->positions), add(calls.velocities, levels->velocities);
            add(calls.motion, levels->motion), add(calls.others, levels->others);
        }
        const Call matrix = connect(*model.function);
        void* made = state_.linear.kernels.make(model, matrix, levels, calls, solves_to * request.rtol);
        if (!made) throw std::bad_alloc();
        return made;
    }

    // F and its Jacobian take (t, x', x, z, u, p), the drift u' too.
    void add_implicit(const Request& request) {
        constexpr int inputs = 4;
        ImplicitCalls calls;
        calls.residual = connect(*request.implicit->residual, inputs);
        calls.jacobian = connect(*request.implicit->jacobian, inputs);
        calls.has_drift = request.implicit->drift != nullptr;
        if (calls.has_drift) {
            calls.drift = connect(*request.implicit->drift, inputs);
            calls.drift.arg[6] = state_.inputs.rates;
        }
        if (const Function* charged = request.implicit->charged) {
            calls.charged = connect(*charged, inputs);
            calls.charged_jacobian = connect(*request.implicit->charged_jacobian, inputs);
        }
        if (const Function* product = request.implicit->product) calls.product = connect(*product, inputs);
        if (const Function* below = request.implicit->columns.below.function) calls.below = connect(*below, inputs);
        state_.implicit = kernels_.make(*request.implicit, calls, request.implicit_method);
    }

    // The times at which steps end: breakpoints of inputs, and what the agenda holds.
    void add_stops(const Request& request) {
        Stops found = stop_times(request.t0, request.t1, request.tables, request.due_times);
        stops_ = std::move(found.times), changes_ = std::move(found.changes_inputs);
        Integration& s = state_;
        s.stops = stops_.data(), s.stop_count = static_cast<long long>(stops_.size());
        s.stop_changes_inputs = changes_.data();
        s.agenda.times = request.due_times.data(), s.agenda.what = request.due_what.data();
        s.agenda.rising = request.due_rising.data();
        s.agenda.count = static_cast<long long>(request.due_times.size());
        s.agenda.closest = closest_times(request.t0, request.t1);
    }

    // Discrete variables and modes change during a run, so it has parameters of its own.
    void add_held(const Request& request) {
        own_parameters_.assign(request.p.begin(), request.p.end());
        parameters_ = own_parameters_.data();
        Guards& guards = state_.guards;
        // A run made again for its dense output has modes, but no guards that turn them.
        guards.switches.count = request.guards ? request.switches : 0, guards.assigned.discretes = request.discretes;
        double* end = own_parameters_.data() + own_parameters_.size();
        guards.switches.modes = end - request.switches, guards.assigned.held = guards.switches.modes - request.discretes;
    }

    // What events and clocks assign, and the code of clocks.
    void add_instants(const Request& request, long long width) {
        Guards& guards = state_.guards;
        Assigned& assigned = guards.assigned;
        GuardCalls& calls = guards.calls;
        assigned.width = width;
        assigned.reset_rows = carve((guards.first_switch() + request.clocks) * width);
        assigned.new_values = carve(padded(width)), assigned.row_before = carve(padded(width));
        writer_.resize(static_cast<std::size_t>(width));
        assigned.writer = writer_.data();
        assigned.writes = request.writes.empty() ? nullptr : request.writes.data();
        assigned.is_read = request.is_read.data();
        if (request.resets) calls.resets = connect(*request.resets);
        calls.has_resets = request.resets != nullptr;
        calls.has_restart = request.restart != nullptr;
        if (request.restart) {
            calls.restart = connect(*request.restart);
            calls.restart.arg[4] = &calls.event;
            calls.renewed = carve(state_.lanes);
        }
        calls.has_contacts = request.contacts != nullptr;
        if (request.contacts) {
            calls.contacts = connect(*request.contacts);
            contact_values_.resize(static_cast<std::size_t>(1 + guards.count + width));
            calls.given = contact_values_.data(), calls.settled = calls.given + 1 + guards.count;
        }
        if (request.linear) add_solution(request);
        Clocks& clocks = state_.clocks;
        clocks.count = request.clocks, clocks.levels = request.clock_levels.data();
        due_.resize(static_cast<std::size_t>(request.clocks) + 1);
        clocks.due = due_.data();
        if (request.calls.empty()) return;
        calls_.resize(static_cast<std::size_t>(request.clocks));
        clocks.calls = calls_.data();
        for (std::size_t k = 0; k < request.calls.size(); ++k) add_call(request.calls[k], calls_[k]);
    }

    void add_call(const SampledSource& source, SampledCall& call) {
        if (!source.code) return;
        call.reads = connect(*source.reads);
        call.code = callers_.emplace_back(*source.code, keeper_).call();
        const auto reads = static_cast<std::size_t>(source.reads->size_out[0]), writes = source.targets.size();
        call_values_.emplace_back(reads + writes + 1);
        call.values = call_values_.back().data(), call.answers = call.values + reads;
        call.targets = source.targets.data(), call.target_count = static_cast<long long>(writes);
        call.is_present = true;
    }

    void add_guards(const Request& request, long long count) {
        Guards& guards = state_.guards;
        guards.calls.values = connect(*request.guards);
        guards.count = count;
        guards.now = carve(count), guards.before = carve(count), guards.shifted = carve(2 * count);
        guards.samples = carve(guard_samples * count);
        each_guard_.assign(static_cast<std::size_t>(count), Guard{});
        guards.each = each_guard_.data();
        for (const long long guard : request.fired) guards.each[guard].begins = Guard::Begins::fired;
        for (const long long guard : request.scheduled) guards.each[guard].on(Guard::Happening::is_timed);
        guards.from_start = request.from_start;
        for (std::size_t k = 0; k < each_guard_.size(); ++k) {
            Guard& guard = each_guard_[k];
            guard.direction = request.directions[k], guard.action = request.actions[k];
            guard.occurrence = request.occurrences[k];
            if (!request.sides.empty()) guard.side = Guard::Side{static_cast<int>(request.sides[k])};
            if (!request.at_start.empty()) guard.at_start = request.at_start[k] != 0;
            guards.any_sides |= guard.side != Guard::Side::none;
        }
        for (std::size_t k = 0; k < request.is_contact.size(); ++k) each_guard_[k].is_contact = request.is_contact[k] != 0;
        for (std::size_t k = 0; k < request.may_slide.size(); ++k)
            each_guard_[each_guard_.size() - request.may_slide.size() + k].surface = Guard::Surface{request.may_slide[k]};
        // A guard crosses at most twice between neighbouring samples that are looked at.
        guards.roots.capacity = std::max(2LL * guard_samples * count, fewest_roots);
        roots_.resize(static_cast<std::size_t>(guards.roots.capacity));
        guards.roots.each = roots_.data();
    }

    // What is looked back to must be known: no step is longer than the shortest delay.
    void add_delays(const DelaySource& source, const Request& request, int degree) {
        DelayedSignals& d = delayed_;
        d.delays = source.delays, d.slots = source.slots, d.degree = std::max(source.degree, degree);
        d.parts = sampled_parts(d.degree);
        d.present.resize(d.parts.size() * d.delays.size());
        take_pieces(d, source.starts, source.ends, source.samples, source.degree);
        d.signals = connect(*source.signals);
        d.step_begin = &state_.t, d.step_end = &state_.t_new;
        d.closest = closest_times(request.t0, request.t1);
        d.stops = &stops_, d.changes = &changes_;
        state_.inputs.delayed = &d;
        state_.inputs.any_slope = true;
        state_.max_step = std::min(state_.max_step, *std::min_element(d.delays.begin(), d.delays.end()));
    }

    // Functions of the solution take it behind their other arguments.
    void add_solution(const Request& request) {
        Guards& guards = state_.guards;
        const double* solution = state_.linear.kernels.solution(state_.linear.system);
        guards.calls.slope = carve(state_.lanes);
        guards.calls.values_after_solve = request.guards && request.guards->size_in.size() == 5;
        guards.calls.resets_after_solve = request.resets && request.resets->size_in.size() == 5;
        if (guards.calls.values_after_solve) guards.calls.values.arg[4] = solution;
        if (guards.calls.resets_after_solve) guards.calls.resets.arg[4] = solution;
    }

    std::deque<Caller> callers_;
    DelayedSignals delayed_;
    std::vector<double> stops_, own_parameters_, contact_values_;
    std::vector<unsigned char> changes_;
    std::vector<long long> writer_, due_;
    std::vector<SampledCall> calls_;
    std::deque<std::vector<double>> call_values_;
    const double* parameters_ = nullptr;
    Kernels kernels_;
    std::vector<ActiveTable> tables_;
    std::vector<Guard> each_guard_;
    std::vector<Root> roots_;
    Arena memory_;
    void* keeper_;
    Integration state_;
};

}  // namespace daedalus
