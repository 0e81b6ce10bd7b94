// The seam for the numbers of Rosenbrock methods.
#include <algorithm>
#include <cmath>

#include "python/python_arrays.hpp"
#include "python/python_implicit.hpp"

namespace daedalus {

namespace {

[[noreturn]] void refuse(const std::string& text) { throw nb::value_error(text.c_str()); }

void read_row(const double* numbers, int count, double* out) {
    for (int i = 0; i < count; ++i) {
        if (!std::isfinite(numbers[i])) refuse("a Rosenbrock table has an entry that is not finite");
        out[i] = numbers[i];
    }
}

void read_vector(nb::handle object, int count, double* out, const char* name) {
    const Doubles numbers(object);
    if (numbers.size() != count) refuse(std::string(name) + " must have one entry a stage");
    read_row(numbers.data(), count, out);
}

// Strictly below the diagonal; the rest must be zero.
void read_lower(nb::handle object, int stages, double (&out)[most_rosenbrock_stages][most_rosenbrock_stages],
                const char* name) {
    const Doubles numbers(object);
    if (numbers.size() != stages * stages) refuse(std::string(name) + " must be (s, s)");
    for (int i = 0; i < stages; ++i) {
        read_row(numbers.data() + i * stages, stages, out[i]);
        for (int j = i; j < stages; ++j)
            if (out[i][j] != 0) refuse(std::string(name) + " must be strictly lower triangular");
    }
}

// The derivative at the end relies on this: w_new = W_s + k_s at t + h, with nothing of dF/dt in the last stage.
void check_stiffly_accurate(const RosenbrockTable& table) {
    const int last = table.stages - 1;
    bool holds = table.end[last] == 1 && table.alpha[last] == 1 && table.gamma[last] == 0;
    for (int j = 0; j < last; ++j) holds = holds && table.end[j] == table.a[last][j];
    if (!holds) refuse("a Rosenbrock table must be stiffly accurate");
}

void construct(RosenbrockTable* self, nb::object alpha, nb::object gamma, nb::object a, nb::object c, nb::object end,
               nb::object error, nb::object powers, int order) {
    RosenbrockTable table;
    const long long stages = Doubles(alpha).size();
    if (stages < 1 || stages > most_rosenbrock_stages) refuse("a Rosenbrock table has 1 to 8 stages");
    if (order < 1) refuse("the order must be positive");
    table.stages = static_cast<int>(stages), table.order = order;
    read_vector(alpha, table.stages, table.alpha, "alpha");
    read_vector(gamma, table.stages, table.gamma, "gamma");
    read_lower(a, table.stages, table.a, "a");
    read_lower(c, table.stages, table.c, "c");
    read_vector(end, table.stages, table.end, "end");
    read_vector(error, table.stages, table.error, "error");
    if (!(table.gamma[0] > 0)) refuse("the first gamma must be positive");
    if (table.alpha[0] != 0) refuse("the first alpha must be zero");
    check_stiffly_accurate(table);
    const Doubles dense(powers);
    table.degree = static_cast<int>(dense.size() / stages);
    if (dense.size() % stages != 0 || table.degree < 1 || table.degree > most_rosenbrock_degree)
        refuse("powers must be (degree, s) with a degree from 1 to 5");
    for (int j = 0; j < table.degree; ++j) read_row(dense.data() + j * stages, table.stages, table.powers[j]);
    complete(table);
    new (self) RosenbrockTable(table);
}

}  // namespace

void bind_rosenbrock(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<RosenbrockTable>(module, "Rosenbrock")
        .def("__init__", construct, "alpha"_a, "gamma"_a, "a"_a, "c"_a, "end"_a, "error"_a, "powers"_a, "order"_a)
        .def_prop_ro("stages", [](const RosenbrockTable& self) { return self.stages; })
        .def_prop_ro("order", [](const RosenbrockTable& self) { return self.order; });
}

}  // namespace daedalus
