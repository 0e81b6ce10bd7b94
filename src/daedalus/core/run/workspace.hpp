// All memory one run needs, allocated once before its first step.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "events/guards.hpp"
#include "machine/memory_limit.hpp"
#include "methods/explicit/tableau.hpp"
#include "model/caller.hpp"
#include "run/kernel_choice.hpp"
#include "state/integration.hpp"

namespace daedalus {

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
    bool watch_stiffness = false;
    bool kinked = false;
    std::span<const double> save_at;
    std::span<const Table* const> tables;
    const Function* guards = nullptr;
    const Function* resets = nullptr;
    const Function* projection = nullptr;
    std::span<const long long> directions, actions, occurrences;
    long long switches = 0;  // so many last guards turn modes, which are the last entries of p
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
        : stops_(stop_times(request.t0, request.t1, request.tables)), kernels_(kernels) {
        const long long n = static_cast<long long>(request.x0.size());
        const int rows = request.general ? request.general->rows : kernels.rows;
        const int degree = dense_degree(request, kernels);
        const long long guards = request.guards ? static_cast<long long>(request.directions.size()) : 0;
        const long long lanes = padded(n);
        const long long total = lanes * (4 + rows + degree + 1) + 2 * padded(static_cast<long long>(request.u.size())) +
                                guards * (7 + guard_samples + n) + (request.linear && guards > 0 ? lanes : 0);
        allocate(total);

        Integration& s = state_;
        s.n = n, s.lanes = lanes;
        s.t0 = request.t0, s.t1 = request.t1, s.t = request.t0;
        s.direction = request.t1 < request.t0 ? -1 : 1;
        s.general = request.general;
        s.rtol = request.rtol;
        s.fixed_step = request.fixed_step, s.first_step = request.first_step;
        s.max_step = request.max_step, s.max_steps = request.max_steps;
        s.watch_stiffness = request.watch_stiffness, s.kinked = request.kinked;
        s.stops = stops_.data(), s.stop_count = static_cast<long long>(stops_.size());

        double* atol = carve(lanes);
        std::fill(atol, atol + lanes, 1.0);
        std::copy_n(request.atol.begin(), std::min(request.atol.size(), request.x0.size()), atol);
        s.atol = atol;
        s.x = carve(lanes), s.x_new = carve(lanes), s.stage = carve(lanes);
        s.k = carve(rows * lanes), s.coefficients = carve((degree + 1) * lanes);
        std::copy(request.x0.begin(), request.x0.end(), s.x);

        s.inputs.u = carve(padded(static_cast<long long>(request.u.size())));
        s.inputs.rates = carve(padded(static_cast<long long>(request.u.size())));
        std::copy(request.u.begin(), request.u.end(), s.inputs.u);
        for (const Table* table : request.tables) tables_.push_back(activate(*table));
        s.inputs.tables = tables_.data(), s.inputs.count = static_cast<long long>(tables_.size());
        parameters_ = request.p.data();
        if (request.switches > 0) add_modes(request);
        if (request.linear || request.levels) add_linear(request);
        if (request.implicit)
            add_implicit(request);
        else if (!request.linear)
            s.rhs = connect(own(rhs_, *request.rhs, request), request);
        if (guards > 0) add_guards(request, guards);
        if (request.projection) {
            s.projection = connect(own(projection_caller_, *request.projection, request), request);
            s.has_projection = true;
        }
    }
    ~Workspace() {
        if (state_.implicit) kernels_.destroy(state_.implicit);
        const LinearRun& linear = state_.linear;
        if (linear.keeper && linear.keeper != linear.system) linear.kernels.destroy(linear.keeper);
        if (linear.system) linear.kernels.destroy(linear.system);
        std::free(memory_);
    }
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

    Integration& state() { return state_; }

private:
    void allocate(long long count) {
        constexpr std::size_t line = 64;
        const std::size_t bytes = (static_cast<std::size_t>(count) * sizeof(double) / line + 1) * line;
        memory_ = static_cast<double*>(std::aligned_alloc(line, bytes));
        if (!memory_) throw std::bad_alloc();
        std::memset(memory_, 0, bytes);
        next_ = memory_;
    }
    double* carve(long long count) {
        double* part = next_;
        next_ += count;
        return part;
    }

    // Time, inputs and parameters stay where they are; only x and the result move from call to call.
    Call connect(Caller& caller, const Request&) {
        Call& call = caller.call();
        call.arg[0] = &state_.stage_time;
        call.arg[2] = state_.inputs.u;
        call.arg[3] = parameters_;
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
        linear.system = make_linear(model, matrix_caller_, one ? levels : nullptr, request);
        linear.keeper = one ? linear.system : make_linear(*levels->model, keeper_caller_, levels, request);
    }

    static bool same_matrix(const LinearModel& a, const LinearModel& b) {
        return a.matrix.colind == b.matrix.colind && a.matrix.rows == b.matrix.rows;
    }

    void* make_linear(const LinearModel& model, std::unique_ptr<Caller>& caller, const ConstraintLevels* levels,
                      const Request& request) {
        LevelCalls calls;
        const auto add = [&](Call& call, const Function* function, int place) {
            if (function) call = connect(own(level_callers_[place], *function, request), request);
        };
        if (levels) {
            add(calls.positions, levels->positions, 0), add(calls.velocities, levels->velocities, 1);
            add(calls.motion, levels->motion, 2), add(calls.others, levels->others, 3);
        }
        const Call matrix = connect(own(caller, *model.function, request), request);
        void* made = state_.linear.kernels.make(model, matrix, levels, calls, solves_to * request.rtol);
        if (!made) throw std::bad_alloc();
        return made;
    }

    // F and its Jacobian take (t, x', x, z, u, p), the drift u' too.
    void add_implicit(const Request& request) {
        ImplicitCalls calls;
        calls.residual = connect_implicit(own(rhs_, *request.implicit->residual, request), request);
        calls.jacobian = connect_implicit(own(jacobian_caller_, *request.implicit->jacobian, request), request);
        calls.has_drift = request.implicit->drift != nullptr;
        if (calls.has_drift) {
            calls.drift = connect_implicit(own(drift_caller_, *request.implicit->drift, request), request);
            calls.drift.arg[6] = state_.inputs.rates;
        }
        if (const Function* below = request.implicit->columns.below.function)
            calls.below = connect_implicit(own(below_caller_, *below, request), request);
        state_.implicit = kernels_.make(*request.implicit, calls, request.implicit_method);
    }
    Call connect_implicit(Caller& caller, const Request&) {
        Call& call = caller.call();
        call.arg[0] = &state_.stage_time;
        call.arg[4] = state_.inputs.u;
        call.arg[5] = parameters_;
        return call;
    }
    static Caller& own(std::unique_ptr<Caller>& place, const Function& function, const Request& request) {
        place = std::make_unique<Caller>(function, request.keeper);
        return *place;
    }

    // Modes turn during a run, so it has parameters of its own.
    void add_modes(const Request& request) {
        own_parameters_.assign(request.p.begin(), request.p.end());
        parameters_ = own_parameters_.data();
        state_.guards.switches = request.switches;
        state_.guards.modes = own_parameters_.data() + own_parameters_.size() - static_cast<std::size_t>(request.switches);
    }

    void add_guards(const Request& request, long long count) {
        Guards& guards = state_.guards;
        guards.values = connect(own(guard_caller_, *request.guards, request), request);
        if (request.resets) guards.resets = connect(own(reset_caller_, *request.resets, request), request);
        guards.has_resets = request.resets != nullptr;
        guards.has_restart = request.restart != nullptr;
        if (request.restart) {
            guards.restart = connect(own(restart_caller_, *request.restart, request), request);
            guards.restart.arg[4] = &guards.event;
        }
        guards.count = count;
        guards.directions = request.directions.data();
        guards.actions = request.actions.data();
        guards.occurrences = request.occurrences.data();
        guards.reference = carve(count), guards.floor = carve(count), guards.next = carve(count);
        guards.now = carve(count), guards.before = carve(count), guards.written = carve(count);
        guards.heading = carve(count);
        guards.samples = carve(guard_samples * count);
        guards.reset_rows = carve(count * state_.n);
        if (request.linear) add_solution(request);
        seen_.resize(static_cast<std::size_t>(count));
        guards.seen = seen_.data();
        // A guard crosses at most twice between neighbouring samples that are looked at.
        guards.root_capacity = std::max(2LL * guard_samples * count, fewest_roots);
        roots_.resize(static_cast<std::size_t>(guards.root_capacity));
        guards.roots = roots_.data();
    }

    // Functions of the solution take it behind their other arguments.
    void add_solution(const Request& request) {
        Guards& guards = state_.guards;
        const double* solution = state_.linear.kernels.solution(state_.linear.system);
        guards.slope = carve(state_.lanes);
        guards.values_after_solve = request.guards->size_in.size() == 5;
        guards.resets_after_solve = request.resets && request.resets->size_in.size() == 5;
        if (guards.values_after_solve) guards.values.arg[4] = solution;
        if (guards.resets_after_solve) guards.resets.arg[4] = solution;
    }

    std::unique_ptr<Caller> matrix_caller_, keeper_caller_, level_callers_[4];
    std::unique_ptr<Caller> rhs_, jacobian_caller_, drift_caller_, restart_caller_, below_caller_;
    std::unique_ptr<Caller> guard_caller_, reset_caller_, projection_caller_;
    std::vector<double> stops_, own_parameters_;
    const double* parameters_ = nullptr;
    Kernels kernels_;
    std::vector<ActiveTable> tables_;
    std::vector<long long> seen_;
    std::vector<Root> roots_;
    double* memory_ = nullptr;
    double* next_ = nullptr;
    Integration state_;
};

}  // namespace daedalus
