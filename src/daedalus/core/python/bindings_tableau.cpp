// The seam for tableaux of explicit methods: their numbers are checked and prepared for stepping.
#include "python/python_run.hpp"

#include <cmath>

#include "python/python_function.hpp"

namespace daedalus {

namespace {

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

}  // namespace

void bind_tableau(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<PythonTableau>(module, "Tableau")
        .def("__init__", construct_tableau, "A"_a, "b"_a, "c"_a, "b_hat"_a = nb::none(), "order"_a = 1,
             "error_order"_a = 0)
        .def_prop_ro("stages", [](const PythonTableau& self) { return self.numbers.b.size(); })
        .def_prop_ro("order", [](const PythonTableau& self) { return self.numbers.order; })
        .def_prop_ro("adaptive", [](const PythonTableau& self) { return !self.numbers.b_hat.empty(); });
}

}  // namespace daedalus
