// The seam for tables of inputs, tableaux, cancellation and the evaluation of dense output.
#include "python/python_tables.hpp"

#include <nanobind/stl/vector.h>

#include <cmath>

#include "model/inputs.hpp"
#include "python/python_function.hpp"
#include "state/dense_output.hpp"

namespace daedalus {

namespace {

std::vector<double> to_vector(const Doubles& values) { return {values.data(), values.data() + values.size()}; }

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

void construct_tableau(PythonTableau* self, nb::object a, nb::object b, nb::object c, nb::object b_hat, int order,
                       int error_order) {
    const Doubles matrix(a), weights(b), places(c);
    const long long stages = weights.size();
    if (stages < 1 || matrix.size() != stages * stages || places.size() != stages)
        throw nb::value_error("A must be (s, s), b and c of length s");
    for (long long i = 0; i < stages; ++i)
        for (long long j = i; j < stages; ++j)
            if (matrix.data()[i * stages + j] != 0)
                throw nb::value_error("only explicit tableaux: A must be strictly lower triangular");
    if (places.data()[0] != 0) throw nb::value_error("the first stage of an explicit tableau is at c = 0");
    if (order < 1) throw nb::value_error("the order must be at least 1");
    Tableau numbers{to_vector(matrix), to_vector(weights), to_vector(places), {}, order, error_order};
    if (!b_hat.is_none()) {
        const Doubles other(b_hat);
        if (other.size() != stages) throw nb::value_error("b_hat must have length s");
        numbers.b_hat = to_vector(other);
    }
    for (const auto* list : {&numbers.a, &numbers.b, &numbers.c, &numbers.b_hat})
        for (const double number : *list)
            if (!std::isfinite(number)) throw nb::value_error("the numbers of a tableau must be finite");
    auto prepared = std::make_shared<const PreparedTableau>(numbers);
    new (self) PythonTableau{std::move(prepared), std::move(numbers)};
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
        nb::gil_scoped_release nogil;
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

}  // namespace

void bind_tables(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<Table>(module, "Table")
        .def("__init__", construct_table, "times"_a, "values"_a, "slots"_a, "linear"_a = false);
    nb::class_<PythonTableau>(module, "Tableau")
        .def("__init__", construct_tableau, "A"_a, "b"_a, "c"_a, "b_hat"_a = nb::none(), "order"_a = 1,
             "error_order"_a = 0)
        .def_prop_ro("stages", [](const PythonTableau& self) { return self.numbers.b.size(); })
        .def_prop_ro("order", [](const PythonTableau& self) { return self.numbers.order; })
        .def_prop_ro("adaptive", [](const PythonTableau& self) { return !self.numbers.b_hat.empty(); });
    nb::class_<Cancel>(module, "Cancel")
        .def(nb::init<>())
        .def("set", [](Cancel& self) { self.flag.store(true); })
        .def_prop_ro("is_set", [](const Cancel& self) { return self.flag.load(); });
    module.def("evaluate_dense", evaluate_dense, "starts"_a, "ends"_a, "coefficients"_a, "times"_a);
}

}  // namespace daedalus
