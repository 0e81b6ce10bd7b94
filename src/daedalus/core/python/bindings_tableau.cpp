// The seam for tableaux of explicit methods: their numbers are checked and prepared for stepping.
#include "python/python_run.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <string>

#include "methods/explicit/bs3.hpp"
#include "methods/explicit/dop853.hpp"
#include "methods/explicit/dopri5.hpp"
#include "methods/explicit/tsit5.hpp"
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

template <std::size_t columns, std::size_t rows>
nb::list in_rows(const double (&numbers)[rows][columns]) {
    nb::list found;
    for (const auto& row : numbers) found.append(std::vector<double>(row, row + columns));
    return found;
}

template <std::size_t count>
nb::list in_a_row(const double (&numbers)[count]) {
    nb::list found;
    found.append(std::vector<double>(numbers, numbers + count));
    return found;
}

// The numbers of a method that is known when the core is compiled: rows of stages, of error estimates, and of what its
// dense output has beside cubic Hermite interpolation.
template <class T>
nb::dict numbers_of() {
    nb::dict found;
    found["inner"] = T::inner, found["control_order"] = T::control_order;
    found["memory"] = T::memory, found["shrink"] = T::shrink, found["grow"] = T::grow;
    found["stability_edge"] = T::stability_edge;
    found["c"] = in_a_row(T::c)[0], found["a"] = in_rows(T::a);
    if constexpr (requires { T::error5; }) {
        found["error"] = in_a_row(T::error5), found["second_error"] = in_a_row(T::error3);
    } else {
        found["error"] = in_a_row(T::error);
    }
    if constexpr (requires { T::bump; }) found["dense"] = in_a_row(T::bump);
    else if constexpr (requires { T::upper; }) found["dense"] = in_rows(T::upper);
    else found["dense"] = nb::list();
    return found;
}

nb::dict method_numbers(const std::string& name) {
    if (name == "bs3") return numbers_of<Bs3>();
    if (name == "dopri5") return numbers_of<Dopri5>();
    if (name == "tsit5") return numbers_of<Tsit5>();
    if (name == "dop853") return numbers_of<Dop853>();
    throw nb::value_error("there is no such method in the core");
}

}  // namespace

void bind_tableau(nb::module_& module) {
    using namespace nb::literals;
    module.def("method_numbers", method_numbers, "name"_a);
    nb::class_<PythonTableau>(module, "Tableau")
        .def("__init__", construct_tableau, "A"_a, "b"_a, "c"_a, "b_hat"_a = nb::none(), "order"_a = 1,
             "error_order"_a = 0)
        .def_prop_ro("stages", [](const PythonTableau& self) { return self.numbers.b.size(); })
        .def_prop_ro("order", [](const PythonTableau& self) { return self.numbers.order; })
        .def_prop_ro("adaptive", [](const PythonTableau& self) { return !self.numbers.b_hat.empty(); });
}

}  // namespace daedalus
