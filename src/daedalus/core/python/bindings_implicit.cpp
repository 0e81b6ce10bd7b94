// The seam for implicit models: functions, patterns and indices in, one checked description out.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "python/checks.hpp"
#include "python/interpreter_lock.hpp"
#include "python/python_models.hpp"
#include "run/run.hpp"

namespace daedalus {

namespace {

// One pattern that holds both Jacobians, and where their nonzeros stand in it.
void unite(ImplicitModel& model, const Integers& dot_colind, const Integers& dot_rows, const Integers& all_colind,
           const Integers& all_rows) {
    Pattern& matrix = model.matrix;
    matrix.n = model.unknowns;
    matrix.colind.assign(1, 0);
    model.dot_place.resize(dot_rows.size()), model.all_place.resize(all_rows.size());
    for (long long c = 0; c < model.unknowns; ++c) {
        long long a = all_colind[std::size_t(c)], d = c < model.states ? dot_colind[std::size_t(c)] : 0;
        const long long a_end = all_colind[std::size_t(c) + 1], d_end = c < model.states ? dot_colind[std::size_t(c) + 1] : 0;
        while (a < a_end || d < d_end) {
            const long long row_a = a < a_end ? all_rows[std::size_t(a)] : model.unknowns;
            const long long row_d = d < d_end ? dot_rows[std::size_t(d)] : model.unknowns;
            const long long place = matrix.nonzeros();
            matrix.rows.push_back(std::min(row_a, row_d));
            if (row_a <= row_d) model.all_place[std::size_t(a++)] = place;
            if (row_d > row_a) continue;
            model.dot_row.push_back(static_cast<std::int32_t>(row_d)), model.dot_column.push_back(static_cast<std::int32_t>(c));
            model.dot_place[std::size_t(d++)] = place;
        }
        matrix.colind.push_back(matrix.nonzeros());
    }
}

// The inputs of a drift are those of the residual, and u'.
void check_drift(const ImplicitModel& model) {
    Integers expected = model.residual->size_in;
    expected.push_back(expected[4]);
    if (model.drift->size_in != expected || model.drift->size_out != model.residual->size_out)
        refuse("drift must map (t, xdot, x, z, u, p, udot) to the size of the residual");
}

void check_sizes(const Function& function, const ImplicitModel& model, const Integers& outputs, const char* role) {
    const Integers& in = function.size_in;
    if (in.size() != 6 || in[0] != 1 || in[1] != model.states || in[2] != model.states ||
        in[3] != model.unknowns - model.states || function.size_out != outputs)
        refuse(std::string(role) + " must map (t, xdot, x, z, u, p) to the sizes of the patterns");
}

std::vector<int> small_numbers(const Integers& given, long long n, int otherwise, long long low, const char* name) {
    if (given.empty()) return std::vector<int>(static_cast<std::size_t>(n), otherwise);
    if (static_cast<long long>(given.size()) != n) refuse(std::string(name) + " must have one entry an unknown");
    std::vector<int> result;
    for (const long long entry : given) {
        if (entry < low || entry > 20) refuse(std::string(name) + " has an entry out of range");
        result.push_back(static_cast<int>(entry));
    }
    return result;
}

// 1 for every place in a list.
std::vector<char> marked(const Integers& list, long long size) {
    std::vector<char> marks(static_cast<std::size_t>(size));
    for (const long long entry : list) marks[static_cast<std::size_t>(entry)] = 1;
    return marks;
}

// The same model, with its linear systems solved in another way.
// What Python gives as a preconditioner: prepare(slopes, gamma) and apply(r), each False where it cannot.
bool prepare_given(void* context, const double* slopes, double gamma) noexcept {
    const LockTaken lock;
    try {
        const nb::handle own(static_cast<PyObject*>(context));
        const auto count = nb::cast<std::size_t>(own.attr("nonzeros"));
        Storage<double> values(count);
        std::copy_n(slopes, count, values.data());
        return nb::cast<bool>(own.attr("prepare")(to_numpy(std::move(values), {count}), gamma));
    } catch (...) {
        return false;
    }
}

bool apply_given(void* context, double* r) noexcept {
    const LockTaken lock;
    try {
        const nb::handle own(static_cast<PyObject*>(context));
        const auto count = nb::cast<std::size_t>(own.attr("unknowns"));
        Storage<double> values(count);
        std::copy_n(r, count, values.data());
        const nb::object found = own.attr("apply")(to_numpy(std::move(values), {count}));
        if (found.is_none()) return false;
        const Doubles numbers(found);
        if (static_cast<std::size_t>(numbers.size()) != count) return false;
        std::copy_n(numbers.data(), count, r);
        return true;
    } catch (...) {
        return false;
    }
}

PythonImplicitModel with_linear(const PythonImplicitModel& self, const std::string& form, nb::object preconditioner,
                                double accuracy, std::vector<std::int32_t> cells, nb::object product, double correction) {
    if (!(accuracy > 0 && accuracy < 1)) refuse("an accuracy lies between 0 and 1");
    if (!(correction >= 0 && correction < 1)) refuse("the accuracy of a correction lies between 0 and 1");
    if (!cells.empty() && static_cast<long long>(cells.size()) != self.core.unknowns) refuse("each unknown has one cell");
    PythonImplicitModel other = self;
    if (!product.is_none()) {
        Integers expected = self.core.residual->size_in;
        expected.insert(expected.end(), expected.begin() + 1, expected.begin() + 4);
        other.core.product = &function_of(product, "product"), other.product = product;
        if (other.core.product->size_in != expected || other.core.product->size_out != Integers{self.core.unknowns})
            refuse("product must map (t, xdot, x, z, u, p, vdot, vx, vz) to one number an equation");
    }
    PreconditionerWish& wish = other.core.preconditioner;
    wish = {};
    wish.accuracy = accuracy, wish.correction = correction;
    if (nb::isinstance<nb::str>(preconditioner)) {
        const auto name = nb::cast<std::string>(preconditioner);
        if (name == "amg") wish.kind = Preconditioning::multigrid;
        if (name == "block_ilu") wish.kind = Preconditioning::block_factors;
        if (name == "banded") wish.kind = Preconditioning::band;
        wish.cells = Shared<const std::vector<std::int32_t>>::make(std::move(cells));
    } else if (!preconditioner.is_none()) {
        wish.kind = Preconditioning::given;
        wish.given = {preconditioner.ptr(), prepare_given, apply_given};
        other.preconditioner = preconditioner;
    }
    if (form == "dense")
        other.core.form = MatrixForm::dense;
    else if (form == "sparse")
        other.core.form = MatrixForm::sparse;
    else if (form == "krylov")
        other.core.form = MatrixForm::krylov;
    else if (form == "best")
        other.core.form = MatrixForm::best;
    else
        refuse("linear systems are solved dense, sparse or by krylov");
    return other;
}

// Constraints in which nothing but states with a derivative stands.
void find_state_constraints(ImplicitModel& model) {
    std::vector<char>& of_states = model.is_state_constraint;
    of_states.assign(static_cast<std::size_t>(model.unknowns), 0);
    for (const long long row : model.constraints) of_states[static_cast<std::size_t>(row)] = 1;
    for (long long c = 0; c < model.unknowns; ++c) {
        const auto column = static_cast<std::size_t>(c);
        if (c < model.states && model.has_derivative[column]) continue;
        for (long long k = model.matrix.colind[column]; k < model.matrix.colind[column + 1]; ++k)
            of_states[static_cast<std::size_t>(model.matrix.rows[static_cast<std::size_t>(k)])] = 0;
    }
    for (const long long row : model.constraints)
        if (of_states[static_cast<std::size_t>(row)]) model.state_constraints.push_back(row);
}

// `dependent` are states whose derivative has the coefficient zero with the parameters of the run, `held` the equations
// that are free of derivatives then. With `columns` all sizes and patterns are those of one column.
void construct_model(PythonImplicitModel* self, nb::object residual, nb::object jacobian, long long states,
                     long long unknowns, Integers dot_colind, Integers dot_rows, Integers all_colind,
                     Integers all_rows, Integers index, Integers level, nb::object drift, Integers dependent,
                     Integers held, Integers columns, long long zeros, std::vector<nb::object> products,
                     nb::object below, bool autonomous, Integers curved, nb::object charged,
                     nb::object charged_jacobian, Integers charged_rows, bool constant_slopes) {
    if (states < 0 || unknowns < states) refuse("there are more states than unknowns");
    check_columns(dot_colind, dot_rows, states, unknowns, "dF/dx'");
    check_columns(all_colind, all_rows, unknowns, unknowns, "dF/d(x, z)");
    ImplicitModel model;
    model.states = states, model.unknowns = unknowns;
    model.residual = &function_of(residual, "residual"), model.jacobian = &function_of(jacobian, "jacobian");
    if (columns.empty()) check_sizes(*model.residual, model, {unknowns}, "residual");
    check_sizes(*model.jacobian, model, {(long long)dot_rows.size(), (long long)all_rows.size()}, "jacobian");
    if (!drift.is_none()) {
        model.drift = &function_of(drift, "drift");
        if (columns.empty()) check_drift(model);
    }
    if (!charged.is_none()) {
        model.charged = &function_of(charged, "charged");
        model.charged_jacobian = &function_of(charged_jacobian, "charged_jacobian");
        check_sizes(*model.charged, model, {unknowns, unknowns}, "charged");
        const auto dots = static_cast<long long>(dot_rows.size());
        check_sizes(*model.charged_jacobian, model, {dots, static_cast<long long>(all_rows.size()), dots}, "charged_jacobian");
        check_places(charged_rows, unknowns, "charged_rows has an entry out of range");
        model.charged_rows.assign(charged_rows.begin(), charged_rows.end());
    }
    model.index = small_numbers(index, unknowns, 1, 1, "index");
    model.level = small_numbers(level, unknowns, 0, 0, "level");
    for (const int k : model.index) model.deepest = std::max(model.deepest, k);
    model.higher_index = model.deepest > 1, model.autonomous = autonomous;
    model.constant_slopes = constant_slopes && columns.empty();
    unite(model, dot_colind, dot_rows, all_colind, all_rows);
    check_places(dependent, states, "dependent has an entry out of range");
    check_places(held, unknowns, "held has an entry out of range");
    check_places(curved, unknowns, "curved has an entry out of range");
    if (columns.empty()) model.curved.assign(curved.begin(), curved.end());
    const std::vector<char> with_derivative = marked(dot_rows, unknowns), is_held = marked(held, unknowns),
                            is_dependent = marked(dependent, states);
    for (std::size_t row = 0; row < static_cast<std::size_t>(unknowns); ++row)
        if (!with_derivative[row] || is_held[row]) model.constraints.push_back(static_cast<long long>(row));
    for (std::size_t c = 0; c < static_cast<std::size_t>(states); ++c)
        model.has_derivative.push_back(dot_colind[c + 1] > dot_colind[c] && !is_dependent[c]);
    if (columns.empty()) find_state_constraints(model);
    if (!columns.empty()) add_columns(model, columns, products, below);
    if (zeros < 0 || zeros > model.unknowns) refuse("zeros is out of range");
    model.columns.zeros = zeros;
    products.push_back(below);
    new (self) PythonImplicitModel{std::move(model), std::move(residual), std::move(jacobian), std::move(drift),
                                   std::move(products)};
    self->charged = std::move(charged), self->charged_jacobian = std::move(charged_jacobian);
}

void read_matrix(nb::handle object, int rows, int stages, double (*out)[most_stages]) {
    const Doubles numbers(object);
    if (numbers.size() != rows * stages) refuse("the matrices of a collocation method must be (s, s)");
    for (int i = 0; i < rows; ++i) std::copy_n(numbers.data() + i * stages, stages, out[i]);
}

void read_row(nb::handle object, int count, double* out) {
    const Doubles numbers(object);
    if (numbers.size() != count) refuse("a row of a collocation method has the wrong length");
    std::copy_n(numbers.data(), count, out);
}

void construct_collocation(CollocationCoefficients* self, nb::object c, nb::object inverse, nb::object from,
                           nb::object to, nb::object gamma, nb::object alpha, nb::object beta, nb::object powers,
                           nb::object slope, nb::object better, double weight, nb::object error) {
    CollocationCoefficients method;
    const long long stages = Doubles(c).size();
    if (stages < 1 || stages > most_stages) refuse("a collocation method has 1 to 9 stages");
    method.stages = static_cast<int>(stages), method.pairs = method.stages / 2;
    method.has_real = method.stages % 2 == 1;
    read_row(c, method.stages, method.c);
    read_matrix(inverse, method.stages, method.stages, method.inverse);
    read_matrix(from, method.stages, method.stages, method.from);
    read_matrix(to, method.stages, method.stages, method.to);
    read_matrix(powers, method.stages, method.stages, method.powers);
    read_matrix(better, method.stages + 1, method.stages, method.better);
    if (method.has_real) read_row(gamma, 1, &method.gamma);
    read_row(alpha, method.pairs, method.alpha);
    read_row(beta, method.pairs, method.beta);
    read_row(error, method.stages, method.error);
    read_row(slope, method.stages + 1, method.slope);
    method.weight = weight;
    new (self) CollocationCoefficients(method);
}

// z and x' of a row made consistent with x; None where none were found.
nb::object consistent(const PythonImplicitModel& self, double t, nb::handle row, nb::handle u, nb::handle p,
                      double rtol, nb::handle atol) {
    const Doubles start(row), inputs(u), parameters(p), absolute(atol);
    const Function& residual = *self.core.residual;
    if (start.size() != self.core.unknowns + self.core.states || inputs.size() != residual.size_in[4] ||
        parameters.size() != residual.size_in[5] || absolute.size() != start.size())
        refuse("consistent: a vector has the wrong size");
    KeptException kept;
    CollocationCoefficients method;
    method.stages = 1, method.has_real = true;
    Request request;
    request.implicit = &self.core, request.implicit_method = &method, request.implicit_degree = 1;
    request.method = Method::radau;
    request.t0 = request.t1 = t;
    request.x0 = start.span(), request.u = inputs.span(), request.p = parameters.span(), request.atol = absolute.span();
    request.rtol = rtol, request.keeper = &kept;
    const Kernels kernels = choose_kernels(request.method);
    Storage<double> out(start.span());
    bool found = false;
    {
        const LockReleased released;
        Workspace workspace(request, kernels);
        found = kernels.consistent(workspace.state(), out.data());
    }
    rethrow(kept);
    return found ? to_numpy(std::move(out), {static_cast<std::size_t>(start.size())}) : nb::none();
}

// Rows of one run made consistent one after another, as `consistent` does; one that no search leads to stays. What rates
// make of their states in a step of this length is what counts of them.
nb::object consistent_rows(const PythonImplicitModel& self, nb::handle times, nb::handle rows, nb::handle u, nb::handle p,
                           double rtol, nb::handle atol, double step) {
    const Doubles given_times(times), start(rows), inputs(u), parameters(p), absolute(atol);
    const Function& residual = *self.core.residual;
    const long long count = given_times.size(), width = self.core.unknowns + self.core.states, slots = residual.size_in[4];
    if (start.size() != count * width || inputs.size() != count * slots || parameters.size() != residual.size_in[5] ||
        absolute.size() != width)
        refuse("consistent_rows: a vector has the wrong size");
    Storage<double> out(start.span());
    if (count == 0) return to_numpy(std::move(out), {0, static_cast<std::size_t>(width)});
    KeptException kept;
    CollocationCoefficients method;
    method.stages = 1, method.has_real = true;
    Request request;
    request.implicit = &self.core, request.implicit_method = &method, request.implicit_degree = 1;
    request.method = Method::radau;
    request.t0 = request.t1 = given_times.data()[0];
    request.x0 = start.span().first(static_cast<std::size_t>(width));
    request.u = inputs.span().first(static_cast<std::size_t>(slots));
    request.p = parameters.span(), request.atol = absolute.span(), request.rtol = rtol, request.keeper = &kept;
    const Kernels kernels = choose_kernels(request.method);
    {
        const LockReleased released;
        Workspace workspace(request, kernels);
        Integration& s = workspace.state();
        s.last_step = step;
        for (long long k = 0; k < count && !s.abort_called; ++k) {
            s.t = given_times.data()[k];
            std::copy_n(inputs.data() + k * slots, slots, s.inputs.u);
            kernels.consistent(s, out.data() + k * width);
        }
    }
    rethrow(kept);
    return to_numpy(std::move(out), {static_cast<std::size_t>(count), static_cast<std::size_t>(width)});
}

void construct_bdf(BdfSettings* self, int max_order, bool algebraic_in_error_test) {
    if (max_order < 1 || max_order > bdf_orders) refuse("max_order must be 1 to 5");
    new (self) BdfSettings{max_order, algebraic_in_error_test};
}

std::vector<double> numbers_of(nb::handle object, long long count, const char* name) {
    const Doubles given(object);
    if (given.size() != count) refuse(std::string(name) + " must have " + std::to_string(count) + " entries");
    for (long long i = 0; i < count; ++i)
        if (!std::isfinite(given.data()[i])) refuse("the numbers of a tableau must be finite");
    return {given.data(), given.data() + count};
}

// Rows of weights for theta, theta^2, ...
int read_weights(nb::handle object, long long columns, std::vector<double>& out, const char* name) {
    const Doubles given(object);
    if (given.dimensions() != 2 || given.length(1) != columns || given.length(0) < 1 || given.length(0) > 40)
        refuse(std::string(name) + " must be (degree, " + std::to_string(columns) + ")");
    out = numbers_of(object, given.size(), name);
    return static_cast<int>(given.length(0));
}

void construct_tableau(ImplicitTableau* self, nb::object a, nb::object b, nb::object c, nb::object x_dense,
                       nb::object z_dense, nb::object b_hat, int order, int error_order) {
    ImplicitTableau tableau;
    const long long stages = Doubles(b).size();
    if (stages < 1 || stages > 1000) refuse("a tableau has 1 to 1000 stages");
    if (order < 1) refuse("the order must be at least 1");
    tableau.stages = static_cast<int>(stages), tableau.order = order;
    tableau.a = numbers_of(a, stages * stages, "A");
    tableau.b = numbers_of(b, stages, "b"), tableau.c = numbers_of(c, stages, "c");
    tableau.x_degree = read_weights(x_dense, stages, tableau.x_weights, "x_dense");
    tableau.z_degree = read_weights(z_dense, stages + 1, tableau.z_weights, "z_dense");
    if (!b_hat.is_none()) {
        tableau.error = numbers_of(b_hat, stages, "b_hat");
        for (std::size_t j = 0; j < tableau.error.size(); ++j) tableau.error[j] = tableau.b[j] - tableau.error[j];
    }
    tableau.control_order = std::max(1, std::min(order, error_order > 0 ? error_order : order - 1) + 1);
    complete(tableau);
    new (self) ImplicitTableau(std::move(tableau));
}

}  // namespace

void bind_implicit(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<PythonImplicitModel>(module, "ImplicitModel")
        .def("with_linear", with_linear, "form"_a, "preconditioner"_a = nb::none(), "accuracy"_a = 1e-9,
             "cells"_a = std::vector<std::int32_t>(), "product"_a = nb::none(), "correction"_a = 0.0)
        .def_prop_ro("order_searches", [](const PythonImplicitModel& self) { return self.core.matrix.order->searches.load(); })
        .def("__init__", construct_model, "residual"_a, "jacobian"_a, "states"_a, "unknowns"_a, "dot_colind"_a,
             "dot_rows"_a, "all_colind"_a, "all_rows"_a, "index"_a = nb::list(), "level"_a = nb::list(),
             "drift"_a = nb::none(), "dependent"_a = nb::list(), "held"_a = nb::list(), "columns"_a = nb::list(),
             "zeros"_a = 0, "products"_a = nb::list(), "below"_a = nb::none(), "autonomous"_a = false,
             "curved"_a = nb::list(), "charged"_a = nb::none(), "charged_jacobian"_a = nb::none(),
             "charged_rows"_a = nb::list(), "constant_slopes"_a = false)
        .def("consistent", consistent, "t"_a, "row"_a, "u"_a, "p"_a, "rtol"_a = 1e-9, "atol"_a)
        .def("consistent_rows", consistent_rows, "t"_a, "rows"_a, "u"_a, "p"_a, "rtol"_a, "atol"_a, "step"_a);
    nb::class_<CollocationCoefficients>(module, "Collocation")
        .def("__init__", construct_collocation, "c"_a, "inverse"_a, "from_"_a, "to"_a, "gamma"_a, "alpha"_a, "beta"_a,
             "powers"_a, "slope"_a, "better"_a, "weight"_a, "error"_a)
        .def_prop_ro("stages", [](const CollocationCoefficients& self) { return self.stages; });
    bind_rosenbrock(module);
    bind_columns(module);
    nb::class_<BdfSettings>(module, "Bdf")
        .def("__init__", construct_bdf, "max_order"_a = bdf_orders, "algebraic_in_error_test"_a = true)
        .def_ro("max_order", &BdfSettings::max_order)
        .def_ro("algebraic_in_error_test", &BdfSettings::algebraic_in_error_test);
    nb::class_<ImplicitTableau>(module, "ImplicitTableau")
        .def("__init__", construct_tableau, "A"_a, "b"_a, "c"_a, "x_dense"_a, "z_dense"_a, "b_hat"_a = nb::none(),
             "order"_a = 1, "error_order"_a = 0)
        .def_prop_ro("stages", [](const ImplicitTableau& self) { return self.stages; })
        .def_prop_ro("order", [](const ImplicitTableau& self) { return self.order; })
        .def_prop_ro("adaptive", [](const ImplicitTableau& self) { return !self.error.empty(); })
        .def_prop_ro("groups", [](const ImplicitTableau& self) {
            std::vector<int> counts;
            for (const StageGroup& group : self.groups) counts.push_back(group.known ? 0 : group.count);
            return counts;
        });
}

}  // namespace daedalus
