// The seam for runs as functions of arrays: by NumPy arrays with the lock released, and by XLA without any Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "flow/array_run.hpp"
#include "python/arrays/xla_call.hpp"
#include "python/checks.hpp"
#include "python/collected.hpp"
#include "python/interpreter_lock.hpp"
#include "python/python_run.hpp"

namespace daedalus {

namespace {

// Fewer cases a thread are not worth starting one.
constexpr long long least_cases_a_thread = 8;

struct PythonArrayRun {
    std::vector<nb::object> owners;
    nb::object again;  // the same in Python, for what the core leaves
    bool pulls_in_python = false;  // consistent starts move along constraints there
    std::vector<double> a, b, c, times;
    std::unique_ptr<ArrayRun> core;
    long long id = 0;

    void show(auto&& see) { see(owners, again); }
    void forget() { withdraw(); }
    ~PythonArrayRun() { withdraw(); }
    void withdraw();
};

// By what XLA knows a run: a random number, so that programs that other processes compiled and kept find none.
struct Known {
    std::mutex lock;
    std::map<long long, const PythonArrayRun*> runs;
    std::random_device numbers;
};

Known& known() {
    static Known* const all = new Known;  // threads of XLA may outlive the interpreter
    return *all;
}

void PythonArrayRun::withdraw() {
    const std::lock_guard held(known().lock);
    known().runs.erase(id);
}

// Where the numbers of a call lie, those of case after case; results of what is not asked for are null.
struct Numbers {
    const double *x0, *u, *p, *weights;
    double *y, *x_bar, *u_bar, *p_bar;
};

bool one_case(const ArrayRun& run, const Numbers& of, long long k) {
    const long long n = run.states(), nu = (run.rows() - 1) * run.input_count(), np = run.parameters();
    const long long ny = run.rows() * run.width();
    try {
        if (of.y) return run.value(of.x0 + k * n, of.u + k * nu, of.p + k * np, of.y + k * ny);
        return run.pull(of.x0 + k * n, of.u + k * nu, of.p + k * np, of.weights + k * ny, of.x_bar + k * n,
                        of.u_bar + k * nu, of.p_bar + k * np);
    } catch (const std::exception&) {
        return false;  // no memory
    }
}

// Whether all cases get through; on all cores where there are many.
bool all_cases(const ArrayRun& run, const Numbers& numbers, long long cases) {
    const long long most = std::max(1u, std::thread::hardware_concurrency());
    const long long count = std::clamp(cases / least_cases_a_thread, 1LL, most);
    std::atomic<bool> done{true};
    const auto part = [&](long long first) {
        for (long long k = first; k < cases && done.load(std::memory_order_relaxed); k += count)
            if (!one_case(run, numbers, k)) done.store(false, std::memory_order_relaxed);
    };
    std::vector<std::thread> threads;
    for (long long k = 1; k < count; ++k) threads.emplace_back(part, k);
    part(0);
    for (std::thread& thread : threads) thread.join();
    return done;
}

// -- by NumPy arrays ---------------------------------------------------------------------------------------------

const Function& compiled(nb::handle object, const Integers& in, const Integers& out, const char* role) {
    const Function& function = function_of(object, in, out, role);
    if (function.callback.load()) refuse(std::string(role) + " is a Python function");
    return function;
}

void construct(PythonArrayRun* place, nb::handle_t<Plan> planned, nb::handle pullback, nb::handle projection_pullback,
               nb::handle outputs, nb::handle outputs_pullback, nb::handle kept, double kept_within,
               nb::handle logarithm, bool pulls_in_python, nb::handle a,
               nb::handle b, nb::handle c, nb::handle times) {
    const Plan& plan = *nb::inst_ptr<Plan>(planned);
    const Request& request = plan.request;
    if (!request.rhs || request.guards || request.discretes || request.clocks || request.switches)
        refuse("the plan of a run of arrays is explicit and has no guards");
    const long long n = plan.row_size, nu = plan.input_count, np = plan.parameter_count;
    PythonArrayRun& self = *new (place) PythonArrayRun();
    self.a = to_vector(Doubles(a)), self.b = to_vector(Doubles(b)), self.c = to_vector(Doubles(c));
    self.times = to_vector(Doubles(times));
    if (self.b.empty() || self.a.size() != self.b.size() * self.b.size() || self.c.size() != self.b.size())
        refuse("A must be (s, s), b and c of length s");
    if (self.times.size() < 2) refuse("there must be two times at least");
    const Integers point{1, n, nu, np}, pulled{n, nu, np};
    ArrayRequest made;
    made.run = request, made.times = self.times, made.kept_within = kept_within;
    made.adjoint.rhs = &compiled(plan.model, point, {n}, "rhs");
    made.adjoint.pullback = &compiled(pullback, {1, n, nu, np, n}, pulled, "pullback");
    if (!projection_pullback.is_none())
        made.adjoint.projection_pullback = &compiled(projection_pullback, {1, n, nu, np, n}, pulled, "projection_pullback");
    made.adjoint.a = self.a, made.adjoint.b = self.b, made.adjoint.c = self.c;
    if (!outputs.is_none()) {
        const long long width = function_of(outputs, "outputs").size_out.at(0);
        made.outputs = &compiled(outputs, point, {width}, "outputs");
        made.outputs_pullback = &compiled(outputs_pullback, {1, n, nu, np, width}, pulled, "outputs_pullback");
    }
    if (!kept.is_none()) made.kept = &compiled(kept, point, function_of(kept, "kept").size_out, "kept");
    if (!logarithm.is_none()) made.logarithm = &compiled(logarithm, point, {1}, "logarithm");
    self.pulls_in_python = pulls_in_python;
    for (const nb::handle owner :
         {nb::handle(planned), pullback, projection_pullback, outputs, outputs_pullback, kept, logarithm})
        self.owners.push_back(nb::borrow(owner));
    self.core = std::make_unique<ArrayRun>(made);
    const std::lock_guard held(known().lock);
    do self.id = static_cast<long long>((std::uint64_t(known().numbers()) << 32 | known().numbers()) >> 1);
    while (known().runs.count(self.id));
    known().runs[self.id] = &self;
}

long long cases_of(const PythonArrayRun& self, const Doubles& x0, const Doubles& u, const Doubles& p) {
    const ArrayRun& run = *self.core;
    const long long cases = x0.size() / run.states();
    if (x0.size() != cases * run.states() || u.size() != cases * (run.rows() - 1) * run.input_count() ||
        p.size() != cases * run.parameters())
        refuse("x0, u and p must have (cases, n), (cases, times - 1, nu) and (cases, np) numbers");
    return cases;
}

// Whether all cases got through.
bool finish(const ArrayRun& run, const Numbers& numbers, long long cases) {
    const LockReleased released;
    return all_cases(run, numbers, cases);
}

nb::tuple value(const PythonArrayRun& self, nb::handle x0, nb::handle u, nb::handle p) {
    const Doubles start(x0), inputs(u), parameters(p);
    const ArrayRun& run = *self.core;
    const long long cases = cases_of(self, start, inputs, parameters);
    Storage<double> y(cases * run.rows() * run.width());
    const bool done = finish(
        run, {start.data(), inputs.data(), parameters.data(), nullptr, y.data(), nullptr, nullptr, nullptr}, cases);
    return nb::make_tuple(
        done, to_numpy(std::move(y), {std::size_t(cases), std::size_t(run.rows()), std::size_t(run.width())}));
}

nb::tuple pull(const PythonArrayRun& self, nb::handle x0, nb::handle u, nb::handle p, nb::handle weights) {
    const Doubles start(x0), inputs(u), parameters(p), of_rows(weights);
    const ArrayRun& run = *self.core;
    const long long cases = cases_of(self, start, inputs, parameters);
    if (of_rows.size() != cases * run.rows() * run.width()) refuse("weights must have (cases, times, outputs) numbers");
    Storage<double> x_bar(start.size()), u_bar(inputs.size()), p_bar(parameters.size());
    const bool done = finish(run,
                                     {start.data(), inputs.data(), parameters.data(), of_rows.data(), nullptr,
                                      x_bar.data(), u_bar.data(), p_bar.data()},
                                     cases);
    const auto count = std::size_t(cases);
    return nb::make_tuple(
        done, to_numpy(std::move(x_bar), {count, std::size_t(run.states())}),
        to_numpy(std::move(u_bar), {count, std::size_t(run.rows() - 1), std::size_t(run.input_count())}),
        to_numpy(std::move(p_bar), {count, std::size_t(run.parameters())}));
}

// -- by XLA ------------------------------------------------------------------------------------------------------

const PythonArrayRun* run_of(const xla::CallFrame& frame) {
    if (frame.attributes.count != 1) return nullptr;
    const auto* scalar = static_cast<const xla::Scalar*>(frame.attributes.values[0]);
    if (scalar->type != xla::int64) return nullptr;
    const std::lock_guard held(known().lock);
    const auto found = known().runs.find(*static_cast<const std::int64_t*>(scalar->value));
    return found == known().runs.end() ? nullptr : found->second;
}

bool all_doubles(const xla::Values& values) {
    for (int k = 0; k < values.count; ++k)
        if (xla::buffer(values, k).type != xla::float64) return false;
    return true;
}

// The same call in Python, which knows what to do where the core stops, and tells what is wrong; an error's text.
std::string in_python(const PythonArrayRun& self, const Numbers& of, long long cases) {
    const ArrayRun& run = *self.core;
    const auto count = std::size_t(cases), n = std::size_t(run.states()), rows = std::size_t(run.rows());
    const auto nu = std::size_t(run.input_count()), np = std::size_t(run.parameters()), ny = std::size_t(run.width());
    const auto array = [](const double* from, std::initializer_list<std::size_t> shape) {
        std::size_t size = 1;
        for (const std::size_t length : shape) size *= length;
        return copy_to_numpy({from, size}, shape);
    };
    const auto copied = [](nb::handle from, double* to) {
        const Doubles values(from);
        std::copy_n(values.data(), values.size(), to);
    };
    std::string fault;
    const LockTaken taken;
    with_lasting_thread([&] {
        try {
            const nb::object x0 = array(of.x0, {count, n}), u = array(of.u, {count, rows - 1, nu}),
                             p = array(of.p, {count, np});
            if (of.y) return copied(self.again(x0, u, p), of.y);
            const nb::object found = self.again(x0, u, p, array(of.weights, {count, rows, ny}));
            copied(found[0], of.x_bar), copied(found[1], of.u_bar), copied(found[2], of.p_bar);
        } catch (const nb::python_error& error) {
            fault = nb::str(error.value()).c_str();
            if (fault.empty()) fault = "The run was interrupted.";
        }
    });
    return fault;
}

// A call with so many arguments and results; pulls where there are weights.
xla::Error* called(xla::CallFrame& frame, int arguments, int results) {
    if (xla::tells_version(frame) || frame.stage != xla::executes) return nullptr;
    const auto refused = [&](const char* text) { return xla::error(frame, xla::invalid_argument, text); };
    if (frame.arguments.count != arguments || frame.results.count != results || !all_doubles(frame.arguments) ||
        !all_doubles(frame.results))
        return refused("A run of arrays takes and returns arrays of double precision.");
    const PythonArrayRun* self = run_of(frame);
    if (!self) return refused("The function of this run exists no longer: keep what dd.exchange.jax returned.");
    const ArrayRun* const run = self->core.get();
    const auto in = [&](int k) { return static_cast<const double*>(xla::buffer(frame.arguments, k).data); };
    const auto out = [&](int k) { return static_cast<double*>(xla::buffer(frame.results, k).data); };
    const long long cases = xla::cases_of(xla::buffer(frame.arguments, 0), 1);
    const long long ny = run->rows() * run->width();
    const bool pulls = arguments == 4;
    if (xla::numbers_of(xla::buffer(frame.arguments, 0)) != cases * run->states() ||
        xla::numbers_of(xla::buffer(frame.arguments, 1)) != cases * (run->rows() - 1) * run->input_count() ||
        xla::numbers_of(xla::buffer(frame.arguments, 2)) != cases * run->parameters() ||
        xla::numbers_of(pulls ? xla::buffer(frame.arguments, 3) : xla::buffer(frame.results, 0)) != cases * ny)
        return refused("The arrays of a run have the wrong sizes.");
    const Numbers numbers = pulls ? Numbers{in(0), in(1), in(2), in(3), nullptr, out(0), out(1), out(2)}
                                  : Numbers{in(0), in(1), in(2), nullptr, out(0), nullptr, nullptr, nullptr};
    if (!(pulls && self->pulls_in_python) && all_cases(*run, numbers, cases)) return nullptr;
    const std::string fault = in_python(*self, numbers, cases);
    return fault.empty() ? nullptr : xla::error(frame, xla::failed, fault.c_str());
}

xla::Error* value_by_xla(xla::CallFrame* frame) { return called(*frame, 3, 1); }
xla::Error* pull_by_xla(xla::CallFrame* frame) { return called(*frame, 4, 3); }

}  // namespace

void bind_array_run(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<PythonArrayRun>(module, "ArrayRun", nb::type_slots(Collected<PythonArrayRun>::slots))
        .def("__init__", construct, "plan"_a, "pullback"_a, "projection_pullback"_a.none(), "outputs"_a.none(),
             "outputs_pullback"_a.none(), "kept"_a.none(), "kept_within"_a,
             "logarithm"_a.none(), "pulls_in_python"_a, "A"_a, "b"_a, "c"_a, "times"_a)
        .def("value", value, "x0"_a, "u"_a, "p"_a)
        .def("pull", pull, "x0"_a, "u"_a, "p"_a, "weights"_a)
        .def_rw("again", &PythonArrayRun::again)
        .def_ro("id", &PythonArrayRun::id);
    module.attr("xla_value") = nb::capsule(reinterpret_cast<void*>(value_by_xla), "xla._CUSTOM_CALL_TARGET");
    module.attr("xla_pull") = nb::capsule(reinterpret_cast<void*>(pull_by_xla), "xla._CUSTOM_CALL_TARGET");
}

}  // namespace daedalus
