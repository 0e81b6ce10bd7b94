// The seam for tables of inputs: times and values are checked once.
#include <nanobind/stl/vector.h>

#include <cmath>

#include "model/inputs.hpp"
#include "python/python_function.hpp"

namespace daedalus {

namespace {

void construct_table(Table* self, nb::object times, nb::object values, std::vector<long long> slots, bool linear) {
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
    new (self) Table{to_vector(t), to_vector(v), std::move(slots), linear};
}

}  // namespace

void bind_inputs(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<Table>(module, "Table")
        .def("__init__", construct_table, "times"_a, "values"_a, "slots"_a, "linear"_a = false);
}

}  // namespace daedalus
