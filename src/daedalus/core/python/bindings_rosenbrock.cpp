// The seam for the coefficients of Rosenbrock methods.
#include <algorithm>
#include <cmath>

#include "python/checks.hpp"
#include "python/python_models.hpp"

namespace daedalus {

namespace {

void read_row(const double* numbers, int count, double* out) {
    for (int i = 0; i < count; ++i) {
        if (!std::isfinite(numbers[i])) refuse("a Rosenbrock method has an entry that is not finite");
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
void check_stiffly_accurate(const RosenbrockCoefficients& method) {
    const int last = method.stages - 1;
    bool holds = method.end[last] == 1 && method.alpha[last] == 1 && method.gamma[last] == 0;
    for (int j = 0; j < last; ++j) holds = holds && method.end[j] == method.a[last][j];
    if (!holds) refuse("a Rosenbrock method must be stiffly accurate");
}

void construct(RosenbrockCoefficients* self, nb::object alpha, nb::object gamma, nb::object a, nb::object c,
               nb::object end, nb::object error, nb::object powers, int order) {
    RosenbrockCoefficients method;
    const long long stages = Doubles(alpha).size();
    if (stages < 1 || stages > most_rosenbrock_stages) refuse("a Rosenbrock method has 1 to 8 stages");
    if (order < 1) refuse("the order must be positive");
    method.stages = static_cast<int>(stages), method.order = order;
    read_vector(alpha, method.stages, method.alpha, "alpha");
    read_vector(gamma, method.stages, method.gamma, "gamma");
    read_lower(a, method.stages, method.a, "a");
    read_lower(c, method.stages, method.c, "c");
    read_vector(end, method.stages, method.end, "end");
    read_vector(error, method.stages, method.error, "error");
    if (!(method.gamma[0] > 0)) refuse("the first gamma must be positive");
    if (method.alpha[0] != 0) refuse("the first alpha must be zero");
    check_stiffly_accurate(method);
    const Doubles dense(powers);
    method.degree = static_cast<int>(dense.size() / stages);
    if (dense.size() % stages != 0 || method.degree < 1 || method.degree > most_rosenbrock_degree)
        refuse("powers must be (degree, s) with a degree from 1 to 5");
    for (int j = 0; j < method.degree; ++j) read_row(dense.data() + j * stages, method.stages, method.powers[j]);
    complete(method);
    new (self) RosenbrockCoefficients(method);
}

}  // namespace

void bind_rosenbrock(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<RosenbrockCoefficients>(module, "Rosenbrock")
        .def("__init__", construct, "alpha"_a, "gamma"_a, "a"_a, "c"_a, "end"_a, "error"_a, "powers"_a, "order"_a)
        .def_prop_ro("stages", [](const RosenbrockCoefficients& self) { return self.stages; })
        .def_prop_ro("order", [](const RosenbrockCoefficients& self) { return self.order; });
}

}  // namespace daedalus
