// The seam for what a run is given from outside: tables of inputs, code of clocks, and what is known to happen when.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "model/inputs.hpp"
#include "python/collected.hpp"
#include "python/python_run.hpp"

namespace daedalus {

namespace {

void construct_table(Table* self, nb::object times, nb::object values, std::vector<long long> slots, bool linear,
                     nb::object coefficients) {
    const Doubles t(times), v(values);
    const auto width = static_cast<long long>(slots.size());
    if (t.size() == 0) throw nb::value_error("a table needs at least one time");
    if (v.size() != t.size() * width) throw nb::value_error("values must have the shape (times, slots)");
    for (long long i = 0; i < t.size(); ++i) {
        if (!std::isfinite(t.data()[i])) throw nb::value_error("the times of a table must be finite");
        if (i > 0 && t.data()[i] < t.data()[i - 1]) throw nb::value_error("the times of a table must not decrease");
    }
    for (const long long slot : slots)
        if (slot < 0) throw nb::value_error("slots must not be negative");
    long long degree = 0;
    std::vector<double> powers;
    if (!coefficients.is_none()) {
        const Doubles c(coefficients);
        const long long each = (t.size() - 1) * width;
        if (each == 0 || c.size() % each != 0 || c.size() < 2 * each)
            throw nb::value_error("coefficients must have the shape (times - 1, degree + 1, slots)");
        degree = c.size() / each - 1, powers = to_vector(c);
    }
    new (self) Table{to_vector(t), to_vector(v), std::move(slots), linear, degree, std::move(powers)};
}

nb::object read_value(const double* from, long long size) {
    return size == 0 ? nb::float_(*from) : copy_to_numpy({from, static_cast<std::size_t>(size)});
}

// One answer into its place: a number, or as many as the target has entries (0: a scalar).
void write_answer(nb::handle answer, long long size, double* to) {
    if (PyFloat_CheckExact(answer.ptr()) && size == 0) {
        *to = PyFloat_AS_DOUBLE(answer.ptr());
        return;
    }
    const Doubles numbers(answer);
    const long long entries = size == 0 ? 1 : size;
    if (numbers.size() != entries && numbers.size() != 1)
        throw nb::value_error(("an answer has " + std::to_string(numbers.size()) + " numbers, expected " +
                               std::to_string(entries))
                                  .c_str());
    for (long long k = 0; k < entries; ++k) to[k] = numbers.data()[numbers.size() == 1 ? 0 : k];
}

// f(t, (values, ...), memory) -> ((answers, ...), memory)
void call_code(PythonSampled& self, double t, const double* values, double* answers) {
    nb::object arguments = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(self.reads.size())));
    for (std::size_t k = 0; k < self.reads.size(); ++k) {
        PyTuple_SET_ITEM(arguments.ptr(), static_cast<Py_ssize_t>(k), read_value(values, self.reads[k]).release().ptr());
        values += self.reads[k] == 0 ? 1 : self.reads[k];
    }
    const nb::object answer = self.callable(t, arguments, self.memory);
    if (!PyTuple_Check(answer.ptr()) || PyTuple_GET_SIZE(answer.ptr()) != 2)
        throw nb::type_error("the code of a clock returns ((values, ...), memory)");
    const nb::handle given = PyTuple_GET_ITEM(answer.ptr(), 0);
    const nb::object listed = nb::steal(PySequence_Fast(given.ptr(), "the code of a clock returns ((values, ...), memory)"));
    if (!listed.is_valid()) throw nb::python_error();
    if (PySequence_Fast_GET_SIZE(listed.ptr()) != static_cast<Py_ssize_t>(self.writes.size()))
        throw nb::value_error(("the code of a clock returned " + std::to_string(PySequence_Fast_GET_SIZE(listed.ptr())) +
                               " values, expected " + std::to_string(self.writes.size()))
                                  .c_str());
    for (std::size_t k = 0; k < self.writes.size(); ++k) {
        write_answer(PySequence_Fast_GET_ITEM(listed.ptr(), static_cast<Py_ssize_t>(k)), self.writes[k], answers);
        answers += self.writes[k] == 0 ? 1 : self.writes[k];
    }
    self.memory = nb::borrow(PyTuple_GET_ITEM(answer.ptr(), 1));
}

// What the code raises is kept; it ends the run with what was computed.
int sampled_callback(void* context, void*, const double** arg, double** res) {
    nb::gil_scoped_acquire gil;
    PythonSampled& self = *static_cast<PythonSampled*>(context);
    try {
        call_code(self, arg[0][0], arg[1], res[0]);
        return 0;
    } catch (nb::python_error& error) {
        self.error = nb::borrow(error.value());
    } catch (const std::exception& error) {
        self.error = nb::handle(PyExc_ValueError)(error.what());
    }
    return 1;
}

void construct_sampled(PythonSampled* place, nb::callable callable, nb::object memory, std::vector<long long> reads,
                       std::vector<long long> writes) {
    PythonSampled& self = *new (place) PythonSampled();
    self.callable = std::move(callable), self.memory = std::move(memory);
    self.reads = std::move(reads), self.writes = std::move(writes);
    long long values = 0, answers = 0;
    for (const long long size : self.reads) values += size == 0 ? 1 : size;
    for (const long long size : self.writes) answers += size == 0 ? 1 : size;
    Function& core = self.core;
    core.name = "code of a clock", core.size_in = {1, values}, core.size_out = {answers};
    core.sz_arg = 2, core.sz_res = 1, core.context = place;
    core.callback.store(sampled_callback);
}

void construct_agenda(PythonAgenda* place, nb::handle times, std::vector<long long> what, std::vector<long long> rising,
                      std::vector<long long> scheduled, std::vector<long long> fired, nb::list calls) {
    PythonAgenda& self = *new (place) PythonAgenda();
    const Doubles given(times);
    self.times.assign(given.span().begin(), given.span().end());
    self.what = std::move(what), self.rising = std::move(rising);
    self.scheduled = std::move(scheduled), self.fired = std::move(fired);
    if (self.what.size() != self.times.size() || self.rising.size() != self.times.size())
        throw nb::value_error("times, what and rising must have one length");
    for (const nb::handle entry : calls) {
        SampledSource& source = self.calls.emplace_back();
        if (entry.is_none()) continue;
        const nb::tuple parts = nb::cast<nb::tuple>(entry);
        source.reads = &nb::cast<const PythonFunction&>(parts[0]).core;
        source.code = &nb::cast<const PythonSampled&>(parts[1]).core;
        source.targets = nb::cast<std::vector<long long>>(parts[2]);
        self.owners.push_back(nb::borrow(entry));
    }
}

// What signals were before the start: pieces (k, degree + 1, signals).
void construct_delays(PythonDelays* place, nb::object signals, std::vector<double> delays, std::vector<long long> slots,
                      nb::object starts, nb::object ends, nb::object samples) {
    const Doubles begin(starts), end(ends), numbers(samples);
    const auto count = static_cast<long long>(delays.size());
    const Function& function = nb::cast<const PythonFunction&>(signals).core;
    if (count == 0 || static_cast<long long>(slots.size()) != count || function.size_out.size() != 1 ||
        function.size_out[0] != count)
        throw nb::value_error("signals, delays and slots must have one length");
    if (numbers.dimensions() != 3 || numbers.length(0) < 1 || numbers.length(1) < 1 || numbers.length(2) != count ||
        begin.size() != numbers.length(0) || end.size() != numbers.length(0))
        throw nb::value_error("expected starts (k,), ends (k,), samples (k, degree + 1, signals)");
    for (const double delay : delays)
        if (!(delay > 0) || !std::isfinite(delay)) throw nb::value_error("delays must be positive");
    for (const long long slot : slots)
        if (slot < 0) throw nb::value_error("slots must not be negative");
    PythonDelays& self = *new (place) PythonDelays();
    self.signals = std::move(signals);
    self.core = {&function, std::move(delays), to_vector(begin), to_vector(end), to_vector(numbers), std::move(slots),
                 static_cast<int>(numbers.length(1) - 1)};
}

}  // namespace

void bind_inputs(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<Table>(module, "Table")
        .def("__init__", construct_table, "times"_a, "values"_a, "slots"_a, "linear"_a = false,
             "coefficients"_a = nb::none());
    nb::class_<PythonSampled>(module, "SampledCode", nb::type_slots(Collected<PythonSampled>::slots))
        .def("__init__", construct_sampled, "callable"_a, "memory"_a.none(), "reads"_a, "writes"_a)
        .def_prop_ro("error", [](const PythonSampled& self) { return self.error.is_valid() ? self.error : nb::none(); })
        .def_prop_ro("memory", [](const PythonSampled& self) { return self.memory; });
    nb::class_<PythonDelays>(module, "Delays")
        .def("__init__", construct_delays, "signals"_a, "delays"_a, "slots"_a, "starts"_a, "ends"_a, "samples"_a);
    nb::class_<PythonAgenda>(module, "Agenda")
        .def("__init__", construct_agenda, "times"_a, "what"_a, "rising"_a, "scheduled"_a, "fired"_a, "calls"_a);
}

}  // namespace daedalus
