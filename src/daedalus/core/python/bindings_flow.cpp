// Flows as Python builds them: lists in, a core object with values, derivatives and timings out, and the slots of CasADi.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "flow/noisy_interval.hpp"
#include "flow/flow_slots.hpp"
#include "machine/instruction_set.hpp"
#include "model/caller.hpp"
#include "python/interpreter_lock.hpp"
#include "python/python_function.hpp"

namespace daedalus::flows {

namespace {

struct PythonFlow {
    std::vector<nb::object> keepers;  // the stage functions; they outlive the memory that calls them
    FlowOwner owner;
    FlowShape shapes[flow_part_count];
};

using Places = std::vector<int>;

// Reads the lists of one flow out of a dictionary into the memory of its owner.
class Reader {
public:
    Reader(FlowOwner& owner, nb::dict lists) : owner_(owner), lists_(std::move(lists)) {}

    template <class T>
    T get(const char* name) const {
        return nb::cast<T>(lists_[name]);
    }
    const Places& integers(const char* name) const {
        owner_.integers.push_back(get<Places>(name));
        return owner_.integers.back();
    }
    const double* numbers(const char* name) const {
        owner_.numbers.push_back(get<std::vector<double>>(name));
        return owner_.numbers.back().data();
    }
    Nonzeros entries(const char* name) const {
        const Places flat = get<Places>(name);
        std::vector<Nonzero> made;
        for (std::size_t k = 0; k + 2 < flat.size(); k += 3) made.push_back({flat[k], flat[k + 1], flat[k + 2]});
        owner_.entries.push_back(std::move(made));
        return {owner_.entries.back().data(), static_cast<int>(owner_.entries.back().size())};
    }
    // Sorted by row, directions after tangents.
    Products products(const char* name, int rows) const {
        const Nonzeros found = entries(name);
        std::vector<Nonzero>& made = owner_.entries.back();
        const auto group = [](const Nonzero& entry) { return 2 * entry.row + (entry.column < 0 ? 1 : 0); };
        std::stable_sort(made.begin(), made.end(),
                         [&group](const Nonzero& a, const Nonzero& b) { return group(a) < group(b); });
        owner_.integers.push_back(starts_of(made, 2 * static_cast<std::size_t>(rows), group));
        return {found.data, owner_.integers.back().data(), rows};
    }
    Curvature curvature(const Places& source, const Places& lower) const {
        std::vector<Nonzero> both;
        for (std::size_t k = 0; k + 2 < lower.size(); k += 3) {
            both.push_back({lower[k], lower[k + 1], lower[k + 2]});
            if (lower[k + 1] != lower[k + 2]) both.push_back({lower[k], lower[k + 2], lower[k + 1]});
        }
        std::stable_sort(both.begin(), both.end(), [](const Nonzero& a, const Nonzero& b) { return a.row < b.row; });
        Places starts = starts_of(both, source.size(), [](const Nonzero& entry) { return entry.row; });
        const auto rows = std::count_if(source.begin(), source.end(), [](int place) { return place >= 0; });
        owner_.integers.push_back(source), owner_.integers.push_back(std::move(starts));
        owner_.entries.push_back(std::move(both));
        const auto last = owner_.integers.size();
        return {owner_.integers[last - 2].data(), owner_.integers[last - 1].data(), static_cast<int>(source.size()),
                static_cast<int>(rows),
                {owner_.entries.back().data(), static_cast<int>(owner_.entries.back().size())}};
    }
    Curvature curvature(const char* sources, const char* nonzeros) const {
        return curvature(get<Places>(sources), get<Places>(nonzeros));
    }
    std::vector<Gather> gathers(const char* name) const {
        std::vector<Gather> made;
        for (Places& places : get<std::vector<Places>>(name)) {
            owner_.integers.push_back(std::move(places));
            made.push_back({owner_.integers.back().data(), static_cast<int>(owner_.integers.back().size())});
        }
        return made;
    }

private:
    // Where each of so many groups begins in entries that are sorted by them, and where the last one ends.
    static Places starts_of(const std::vector<Nonzero>& entries, std::size_t groups, auto&& group_of) {
        Places starts(groups + 1, 0);
        for (const Nonzero& entry : entries) ++starts[static_cast<std::size_t>(group_of(entry)) + 1];
        for (std::size_t k = 1; k < starts.size(); ++k) starts[k] += starts[k - 1];
        return starts;
    }

    FlowOwner& owner_;
    nb::dict lists_;  // kept: callers pass temporaries
};

void read_functions(PythonFlow& self, const nb::dict& lists, std::size_t which) {
    const nb::list functions = nb::cast<nb::list>(lists["functions"]);
    for (std::size_t k = 0; k < stage_function_count; ++k) {
        if (functions[k].is_none()) continue;
        self.owner.functions[which][k] = &nb::cast<PythonFunction&>(functions[k]).core;
        self.keepers.push_back(nb::borrow(functions[k]));
    }
}

Directions read_directions(FlowOwner& owner, const nb::dict& lists, std::size_t which) {
    const auto size = [&owner, which](StageFunction part, std::size_t output) {
        const Function* function = owner.functions[which][static_cast<std::size_t>(part)];
        return function ? function->size_out[output] : 0LL;
    };
    const Reader read(owner, lists);
    Directions along;
    const Places& state_of = read.integers("state_of");
    along.count = static_cast<int>(state_of.size()), along.active = read.get<int>("active");
    along.lanes = padded(along.count), along.active_lanes = padded(along.active);
    along.state_of = state_of.data();
    Places direction_of(static_cast<std::size_t>(owner.plan.n), 0);
    for (int d = 0; d < along.count; ++d)
        if (state_of[static_cast<std::size_t>(d)] >= 0)
            direction_of[static_cast<std::size_t>(state_of[static_cast<std::size_t>(d)])] = d;
    owner.integers.push_back(std::move(direction_of));
    along.direction_of = owner.integers.back().data();
    std::vector<double> units(static_cast<std::size_t>(along.count * along.lanes), 0.0);
    for (int d = 0; d < along.count; ++d) units[static_cast<std::size_t>(d * along.lanes + d)] = 1;
    owner.numbers.push_back(std::move(units));
    along.units = owner.numbers.back().data();
    along.jacobian = read.products("jacobian", owner.plan.unknowns);
    along.projection_jacobian = read.products("projection_jacobian", owner.plan.n);
    along.curvature = read.curvature("touched", "curvature");
    along.projection_curvature = read.curvature("projection_touched", "projection_curvature");
    std::vector<Curvature>& tensor = owner.tensors.emplace_back();
    for (nb::handle pair : read.get<nb::list>("tensor")) {
        const auto parts = nb::cast<std::vector<Places>>(pair);
        tensor.push_back(read.curvature(parts[0], parts[1]));
    }
    along.tensor = tensor.data();
    for (const Curvature& row : tensor) along.tensor_rows += row.touched;
    along.transposed = read.entries("transposed");
    along.projection_transposed = read.entries("projection_transposed");
    along.jacobian_size = size(StageFunction::linear, 1);
    along.projection_size = size(StageFunction::projection_linear, 1);
    along.tensor_size = size(StageFunction::tensor, 0);
    along.second_size = std::max({size(StageFunction::curvature, 0), size(StageFunction::projection_curvature, 0),
                                  along.tensor_size});
    return along;
}

void read_blocks(FlowOwner& owner, const nb::list& blocks) {
    FlowPlan& plan = owner.plan;
    for (nb::handle lists : blocks) {
        const Reader read(owner, nb::cast<nb::dict>(lists));
        StageBlock block;
        const Places& equations = read.integers("equations");
        block.size = static_cast<int>(equations.size()), block.stacked = block.size * plan.stages;
        block.equations = equations.data(), block.unknowns = read.integers("unknowns").data();
        block.own_direct = read.entries("own_direct"), block.own_state = read.entries("own_state");
        block.other_direct = read.entries("other_direct"), block.other_state = read.entries("other_state");
        block.offset = plan.factor_size, block.pivot_offset = plan.largest_block;
        plan.factor_size += block.stacked * padded(block.stacked);
        plan.largest_block += block.stacked;
        owner.blocks.push_back(block);
    }
    plan.blocks = owner.blocks.data(), plan.block_count = static_cast<int>(owner.blocks.size());
}

void construct(PythonFlow* self, const nb::dict& lists) {
    new (self) PythonFlow();
    FlowOwner& owner = self->owner;
    FlowPlan& plan = owner.plan;
    const Reader read(owner, lists);
    plan.n = read.get<int>("n"), plan.nu = read.get<int>("nu"), plan.np = read.get<int>("np");
    plan.nz = read.get<int>("nz"), plan.implicit = read.get<bool>("implicit");
    plan.unknowns = plan.n + (plan.implicit ? plan.nz : 0), plan.rows = plan.n + plan.unknowns;
    plan.stages = read.get<int>("stages"), plan.steps = read.get<int>("steps");
    plan.t0 = read.get<double>("t0"), plan.h = read.get<double>("step");
    plan.A = read.numbers("A"), plan.b = read.numbers("b"), plan.c = read.numbers("c");
    plan.guess = read.numbers("guess"), plan.nominal = read.numbers("nominal");
    read_blocks(owner, read.get<nb::list>("blocks"));
    const nb::list directions = read.get<nb::list>("directions");
    for (std::size_t k = 0; k < 2; ++k) {
        const nb::dict along = nb::cast<nb::dict>(directions[k]);
        read_functions(*self, along, k);
        plan.directions[k] = read_directions(owner, along, k);
        const Reader outputs(owner, along);
        owner.jacobian_outputs[k] = outputs.gathers("jacobian_outputs");
        owner.second_outputs[k] = outputs.gathers("second_outputs");
    }
    const bool projected = owner.functions[0][static_cast<int>(StageFunction::projection)] != nullptr;
    plan.corrections = projected ? read.get<int>("corrections") : 0;
    owner.kernels = DAEDALUS_BEST(flow_kernels());
}

void set_shape(PythonFlow& self, int part, std::vector<std::vector<long long>> in,
               std::vector<std::vector<long long>> out, std::vector<std::string> names_in,
               std::vector<std::string> names_out) {
    self.shapes[part] = {std::move(in), std::move(out), std::move(names_in), std::move(names_out)};
}

// The arguments of a call from Python, of the right lengths.
struct Point {
    Doubles x, u, p, seed;
    Point(const FlowPlan& plan, nb::handle x, nb::handle u, nb::handle p, nb::handle seed)
        : x(x), u(u), p(p), seed(seed) {
        check("x", this->x, plan.n), check("u", this->u, plan.nu), check("p", this->p, plan.np);
        check("seed", this->seed, plan.n);
    }
    static void check(const char* name, const Doubles& values, long long size) {
        if (values.size() != size)
            throw nb::value_error((std::string(name) + " has " + std::to_string(values.size()) + " numbers, expected " +
                                   std::to_string(size))
                                      .c_str());
    }
};

struct Loan : FlowLoan {
    explicit Loan(FlowOwner& flow) : FlowLoan(flow) {
        if (!*this) throw std::bad_alloc();
    }
};

int run(FlowOwner& flow, FlowMemory& memory, const std::string& part, const Point& at, int which) {
    const double *x = at.x.data(), *u = at.u.data(), *p = at.p.data(), *seed = at.seed.data();
    if (part == "value") return flow.kernels.value(flow.plan, memory, x, u, p);
    if (part == "first") return flow.kernels.first(flow.plan, memory, x, u, p, which);
    if (part == "reverse") return flow.kernels.reverse(flow.plan, memory, x, u, p, seed, which);
    if (part == "second") return flow.kernels.second(flow.plan, memory, x, u, p, seed, which);
    return flow.kernels.tensors(flow.plan, memory, x, u, p, which);
}

void check_part(const PythonFlow& self, const std::string& part) {
    for (const char* known : {"value", "first", "reverse", "second"})
        if (part == known) return;
    if (part != "tensors") throw nb::value_error(("a flow has no part " + part).c_str());
    if (!self.owner.plan.directions[0].tensor || self.owner.plan.implicit || self.owner.plan.corrections)
        throw nb::value_error("full tensors are for explicit flows without projection that have second derivatives");
}

nb::tuple evaluate_part(PythonFlow& self, const std::string& part, nb::handle x, nb::handle u, nb::handle p,
                        nb::handle seed, bool parameters) {
    check_part(self, part);
    FlowOwner& flow = self.owner;
    const FlowPlan& plan = flow.plan;
    const Point at(plan, x, u, p, seed);
    const int which = parameters ? 1 : 0;
    const Directions& along = plan.directions[which];
    const Loan loan(flow);
    FlowMemory& memory = loan.memory();
    int failed = 0;
    {
        const LockReleased released;
        failed = run(flow, memory, part, at, which);
    }
    if (failed) return nb::make_tuple();
    const auto block = [](const double* from, long long size) {
        return copy_to_numpy({from, static_cast<std::size_t>(size)});
    };
    const nb::object end = block(memory.x + static_cast<long long>(plan.steps) * plan.n, plan.n);
    if (part == "value") return nb::make_tuple(end);
    const nb::object adjoint = block(memory.adjoint, plan.n + plan.nu + plan.np);
    if (part == "reverse") return nb::make_tuple(end, adjoint);
    const long long size = plan.n * along.lanes;
    const nb::object M = block(memory.M + plan.steps * size, size);
    if (part == "first") return nb::make_tuple(end, M);
    const long long square = along.active_lanes * along.active_lanes;
    if (part == "second") return nb::make_tuple(end, M, adjoint, block(memory.hessian, square));
    return nb::make_tuple(end, M, block(memory.tensors, plan.n * square));
}

// An (n, n) matrix as a function of (t, x, u, p), by rows.
class MatrixAlong {
public:
    MatrixAlong(const Function& function, const FlowPlan& plan, const Point& at, KeptException& kept)
        : caller_(function, &kept) {
        const std::vector<long long> expected{1, plan.n, plan.nu, plan.np};
        if (function.size_in != expected || function.size_out != std::vector<long long>{static_cast<long long>(plan.n) * plan.n})
            throw nb::value_error((function.name + " is not of this flow").c_str());
        caller_.call().arg[0] = &t_, caller_.call().arg[2] = at.u.data(), caller_.call().arg[3] = at.p.data();
    }
    bool operator()(double t, const double* x, double* out) {
        t_ = t, caller_.call().arg[1] = x, caller_.call().res[0] = out;
        return evaluate(caller_.call()) == 0;
    }

private:
    double t_ = 0;
    Caller caller_;
};

// One evaluation over any interval: the steps of the flow divide it.
class Interval {
public:
    Interval(FlowOwner& flow, const Point& at, MatrixAlong* projector)
        : flow_(flow), own_(flow.plan), at_(at), loan_(flow), projector_(projector) {}
    int n() const { return own_.n; }
    bool keeps() const { return projector_ != nullptr; }

    // The state at the end, or null.
    const double* end(double t, double length, const double* x) {
        own_.t0 = t, own_.h = length / own_.steps;
        FlowMemory& memory = loan_.memory();
        if (flow_.kernels.value(own_, memory, x, at_.u.data(), at_.p.data())) return nullptr;
        return memory.x + static_cast<long long>(own_.steps) * own_.n;
    }
    // The part of a change of x that lies along what the model keeps.
    bool projector(double t, const double* x, double* out) { return (*projector_)(t, x, out); }

private:
    FlowOwner& flow_;
    FlowPlan own_;
    const Point& at_;
    Loan loan_;
    MatrixAlong* projector_;
};

// A state and its covariance at the end of an interval, the transition and the noise gathered on the way, and the step
// to begin the next one with; empty where the steps do not get there. onto: the projector of what the model keeps.
nb::tuple carry(PythonFlow& self, const PythonFunction& by_state, const PythonFunction* onto, double t, double length,
                nb::handle x, nb::handle u, nb::handle p, nb::handle covariance, nb::handle density,
                const std::vector<double>& tolerances, double first, long long most, bool stiff) {
    const FlowPlan& plan = self.owner.plan;
    const Point at(plan, x, u, p, x);
    const Doubles P(covariance), Q(density);
    const long long square = static_cast<long long>(plan.n) * plan.n;
    Point::check("covariance", P, square), Point::check("density", Q, square);
    if (tolerances.size() != 4) throw nb::value_error("expected four tolerances");
    KeptException kept;
    std::optional<MatrixAlong> projector;
    if (onto) projector.emplace(onto->core, plan, at, kept);
    MatrixAlong slopes(by_state.core, plan, at, kept);
    Interval interval(self.owner, at, projector ? &*projector : nullptr);
    NoisyInterval noisy(interval, slopes, Q.data());
    const NoisySettings settings{tolerances[0], tolerances[1], tolerances[2], tolerances[3], first, most, stiff};
    bool arrived = false;
    {
        const LockReleased released;
        arrived = noisy.carry(t, length, at.x.data(), P.data(), settings);
    }
    raise_kept(kept);
    if (!arrived) return nb::make_tuple();
    const auto n = static_cast<std::size_t>(plan.n);
    return nb::make_tuple(copy_to_numpy(noisy.state()), copy_to_numpy(noisy.covariance, {n, n}),
                          copy_to_numpy(noisy.whole.transition, {n, n}), copy_to_numpy(noisy.whole.noise, {n, n}),
                          noisy.step);
}

// The transition and the noise of a linear system over a step, from A and Q at its beginning, middle and end, or, where
// it is stiff, at the nodes of the collocation.
nb::tuple noise_step(double length, nb::handle slopes, nb::handle densities, long long n, bool stiff) {
    const Doubles A(slopes), Q(densities);
    Point::check("slopes", A, 3 * n * n), Point::check("densities", Q, 3 * n * n);
    NoiseStep found;
    const double *a = A.data(), *q = Q.data();
    const NoiseSteps::Nodes nodes{{a, a + n * n, a + 2 * n * n}, {q, q + n * n, q + 2 * n * n}};
    NoiseSteps steps(static_cast<int>(n));
    const bool done = stiff && !steps.constant(nodes) ? StiffNoiseSteps(static_cast<int>(n)).step(length, nodes, found)
                                                      : steps.step(length, nodes, found);
    if (!done) return nb::make_tuple();
    const auto rows = static_cast<std::size_t>(n);
    return nb::make_tuple(copy_to_numpy(found.transition, {rows, rows}), copy_to_numpy(found.noise, {rows, rows}));
}

// A state and its covariance with measurements taken in; empty where H P Hᵀ + R is not positive.
nb::tuple take_in_measurements(nb::handle x, nb::handle covariance, nb::handle slopes, nb::handle noise,
                               nb::handle innovation) {
    const Doubles state(x), P(covariance), H(slopes), R(noise), v(innovation);
    const long long n = state.size(), m = v.size();
    Point::check("covariance", P, n * n), Point::check("slopes", H, m * n), Point::check("noise", R, m * m);
    Storage<double> moved(state.span()), out(n * n);
    if (!take_in(static_cast<int>(n), static_cast<int>(m), H.data(), R.data(), v.data(), P.data(), moved.data(),
                 out.data()))
        return nb::make_tuple();
    const auto rows = static_cast<std::size_t>(n);
    return nb::make_tuple(to_numpy(std::move(moved), {rows}), to_numpy(std::move(out), {rows, rows}));
}

// Weights of the last state, by the first state, by the inputs of each step and by the parameters; empty on failure.
nb::tuple pull_back(PythonFlow& self, nb::handle times, nb::handle states, nb::handle guesses, nb::handle inputs,
                    nb::handle p, nb::handle weights) {
    FlowOwner& flow = self.owner;
    const FlowPlan& plan = flow.plan;
    const Doubles t(times), x(states), guess(guesses), u(inputs), parameters(p), seed(weights);
    const long long count = t.size() - 1;
    if (count < 1) throw nb::value_error("there are no steps to pull back");
    Point::check("states", x, count * plan.n), Point::check("guesses", guess, count * plan.stages * plan.unknowns);
    Point::check("inputs", u, count * (plan.stages + 1) * plan.nu), Point::check("p", parameters, plan.np);
    Point::check("weights", seed, plan.n);
    const FlowSteps steps{count, t.data(), x.data(), guess.data(), u.data(), parameters.data()};
    Storage<double> out(seed.span()), by_inputs(count * plan.nu), by_parameters(static_cast<long long>(plan.np));
    std::fill_n(by_parameters.data(), plan.np, 0.0);
    int failed = 0;
    {
        const LockReleased released;
        const Loan loan(flow);
        failed = flow.kernels.pull_back(plan, loan.memory(), steps, out.data(), by_inputs.data(), by_parameters.data());
    }
    if (failed) return nb::make_tuple();
    const auto n = static_cast<std::size_t>(plan.n), nu = static_cast<std::size_t>(plan.nu);
    return nb::make_tuple(to_numpy(std::move(out), {n}),
                          to_numpy(std::move(by_inputs), {static_cast<std::size_t>(count), nu}),
                          to_numpy(std::move(by_parameters), {static_cast<std::size_t>(plan.np)}));
}

double time_part(PythonFlow& self, const std::string& part, nb::handle x, nb::handle u, nb::handle p, nb::handle seed,
                 bool parameters, long long repetitions) {
    check_part(self, part);
    FlowOwner& flow = self.owner;
    const Point at(flow.plan, x, u, p, seed);
    const Loan loan(flow);
    int failed = 0;
    double seconds = 0;
    {
        const LockReleased released;
        seconds = seconds_per(repetitions, [&] { failed |= run(flow, loan.memory(), part, at, parameters ? 1 : 0); });
    }
    if (failed) throw std::runtime_error("the flow failed");
    return seconds;
}

// Flows whose CasADi functions are all gone make room; the GIL is held.
void drop(FlowSlot& slot) {
    slot.flow.store(nullptr, std::memory_order_release);
    nb::object keeper = nb::steal(static_cast<PyObject*>(std::exchange(slot.keeper, nullptr)));
}

// The number of a slot that now holds the flow under a mark, or -1 when all are taken.
int reserve(nb::handle flow, const std::string& mark) {
    int found = -1;
    for (int number = 0; number < flow_slot_count; ++number) {
        FlowSlot& slot = flow_slot(number);
        if (slot.keeper && slot.references == 0) drop(slot);
        if (!slot.keeper && found < 0) found = number;
    }
    if (found < 0) return -1;
    PythonFlow& python = nb::cast<PythonFlow&>(flow);
    FlowSlot& slot = flow_slot(found);
    for (int part = 0; part < flow_part_count; ++part) slot.shapes[part] = python.shapes[part];
    slot.mark = mark;
    slot.keeper = flow.inc_ref().ptr();
    slot.flow.store(&python.owner, std::memory_order_release);
    return found;
}

int slots_in_use() {
    int count = 0;
    for (int k = 0; k < flow_slot_count; ++k) count += flow_slot(k).keeper && flow_slot(k).references > 0;
    return count;
}

}  // namespace

}  // namespace daedalus::flows

namespace daedalus {

void bind_flow(nb::module_& module) {
    using namespace flows;
    using namespace nb::literals;
    nb::class_<PythonFlow>(module, "Flow")
        .def("__init__", construct, "lists"_a)
        .def("set_shape", set_shape, "part"_a, "sparsity_in"_a, "sparsity_out"_a, "names_in"_a, "names_out"_a)
        .def("evaluate", evaluate_part, "part"_a, "x"_a, "u"_a, "p"_a, "seed"_a, "parameters"_a = false)
        .def("carry", carry, "slopes"_a, "onto"_a.none(), "t"_a, "length"_a, "x"_a, "u"_a, "p"_a, "covariance"_a, "density"_a,
             "tolerances"_a, "first"_a, "most"_a, "stiff"_a)
        .def("pull_back", pull_back, "times"_a, "states"_a, "guesses"_a, "inputs"_a, "p"_a, "weights"_a)
        .def("time_per_call", time_part, "part"_a, "x"_a, "u"_a, "p"_a, "seed"_a, "parameters"_a = false,
             "repetitions"_a = 1000);
    module.def("noise_step", noise_step, "length"_a, "slopes"_a, "densities"_a, "n"_a, "stiff"_a);
    module.def("take_in", take_in_measurements, "x"_a, "covariance"_a, "slopes"_a, "noise"_a, "innovation"_a);
    module.def("reserve_flow_slot", reserve, "flow"_a, "mark"_a);
    module.def("flow_slots_in_use", slots_in_use);
    module.attr("flow_slot_count") = flow_slot_count;
}

}  // namespace daedalus
