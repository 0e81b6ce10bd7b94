// The seam for programs that are solved again and again: measured states in, inputs out, all memory settled before.
#include "program/receding.hpp"

#include "python/interpreter_lock.hpp"
#include "python/program/python_program.hpp"

namespace daedalus {

namespace {

using Clock = std::chrono::steady_clock;

// A quadratic program takes at most so many iterations, however much time there is.
constexpr int most_iterations = 60;

struct PythonReceding {
    nb::object program;  // kept alive
    std::unique_ptr<RecedingProgram> core;
    double iteration_seconds = 0.0;  // what an iteration took lately
};

HpipmLibrary hpipm_at(nb::dict addresses) {
    HpipmLibrary library;
    point_at(library.dim_struct, addresses, "d_ocp_qp_dim_strsize");
    point_at(library.dim_memory, addresses, "d_ocp_qp_dim_memsize");
    point_at(library.dim_create, addresses, "d_ocp_qp_dim_create");
    point_at(library.dim_set_all, addresses, "d_ocp_qp_dim_set_all");
    point_at(library.qp_struct, addresses, "d_ocp_qp_strsize");
    point_at(library.qp_memory, addresses, "d_ocp_qp_memsize");
    point_at(library.qp_create, addresses, "d_ocp_qp_create");
    point_at(library.solution_struct, addresses, "d_ocp_qp_sol_strsize");
    point_at(library.solution_memory, addresses, "d_ocp_qp_sol_memsize");
    point_at(library.solution_create, addresses, "d_ocp_qp_sol_create");
    point_at(library.arguments_struct, addresses, "d_ocp_qp_ipm_arg_strsize");
    point_at(library.arguments_memory, addresses, "d_ocp_qp_ipm_arg_memsize");
    point_at(library.arguments_create, addresses, "d_ocp_qp_ipm_arg_create");
    point_at(library.workspace_struct, addresses, "d_ocp_qp_ipm_ws_strsize");
    point_at(library.workspace_memory, addresses, "d_ocp_qp_ipm_ws_memsize");
    point_at(library.workspace_create, addresses, "d_ocp_qp_ipm_ws_create");
    point_at(library.set_default, addresses, "d_ocp_qp_ipm_arg_set_default");
    point_at(library.set_most_iterations, addresses, "d_ocp_qp_ipm_arg_set_iter_max");
    point_at(library.set_argument, addresses, "d_ocp_qp_ipm_arg_set");
    point_at(library.solve, addresses, "d_ocp_qp_ipm_solve");
    point_at(library.get_status, addresses, "d_ocp_qp_ipm_get_status");
    point_at(library.get_iterations, addresses, "d_ocp_qp_ipm_get_iter");
    point_at(library.get_off_steps, addresses, "d_ocp_qp_ipm_get_max_res_eq");
    point_at(library.get_off_bounds, addresses, "d_ocp_qp_ipm_get_max_res_ineq");
    point_at(library.get_u, addresses, "d_ocp_qp_sol_get_u");
    point_at(library.get_x, addresses, "d_ocp_qp_sol_get_x");
    point_at(library.set_bounded_x, addresses, "d_ocp_qp_set_idxbx");
    point_at(library.set_bounded_u, addresses, "d_ocp_qp_set_idxbu");
    const std::pair<HpipmLibrary::Set*, const char*> setters[] = {
        {&library.set_A, "A"}, {&library.set_B, "B"}, {&library.set_b, "b"}, {&library.set_Q, "Q"},
        {&library.set_S, "S"}, {&library.set_R, "R"}, {&library.set_q, "q"}, {&library.set_r, "r"},
        {&library.set_C, "C"}, {&library.set_D, "D"}, {&library.set_low, "lg"}, {&library.set_high, "ug"},
        {&library.set_lower_x, "lbx"}, {&library.set_upper_x, "ubx"}, {&library.set_lower_u, "lbu"},
        {&library.set_upper_u, "ubu"}, {&library.mask_low, "lg_mask"}, {&library.mask_high, "ug_mask"},
        {&library.mask_lower_x, "lbx_mask"}, {&library.mask_upper_x, "ubx_mask"},
        {&library.mask_lower_u, "lbu_mask"}, {&library.mask_upper_u, "ubu_mask"}};
    for (const auto& [pointer, name] : setters) point_at(*pointer, addresses, (std::string("d_ocp_qp_set_") + name).c_str());
    return library;
}

void check_numbers(const std::vector<int>& entries, std::size_t end) {
    for (const int entry : entries)
        if (entry < 0 || entry >= static_cast<int>(end)) throw nb::index_error("a table of a program leaves it");
}

void construct(PythonReceding* self, nb::object program, nb::dict addresses, nb::object p, nb::sequence bounds,
               nb::dict stages, nb::dict tables, double accuracy) {
    const Program& core = nb::cast<PythonProgram&>(program).core;
    RecedingTables own{table_of(tables, "measured"), table_of(tables, "applied"), table_of(tables, "next"),
                       table_of(tables, "tail"),     table_of(tables, "tail_nodes"), table_of(tables, "sums"), 0};
    own.sum_count = own.sums.size() / table_of(stages, "nu").size();
    for (const auto* numbers : {&own.measured, &own.applied, &own.next, &own.tail_nodes, &own.sums})
        check_numbers(*numbers, core.variables);
    check_numbers(own.tail, core.rows);
    if (own.next.size() != core.variables || own.tail.size() != own.tail_nodes.size())
        throw nb::value_error("a table of a program has the wrong size");
    const Doubles values(p);
    if (values.span().size() != core.parameters) throw nb::value_error("wrong number of parameters of a program");
    new (self) PythonReceding{};
    self->program = program;
    self->core = std::make_unique<RecedingProgram>(hpipm_at(addresses), core, values.span(), read_bounds(core, bounds),
                                                   stages_of(core, stages), std::move(own));
    self->core->set_accuracy(accuracy);
}

void check_size(const Doubles& values, std::size_t size) {
    if (values.span().size() != size) throw nb::value_error("an array of a program has the wrong size");
}

void set_point(PythonReceding& self, nb::object x) {
    const Doubles values(x);
    check_size(values, self.core->point().size());
    std::copy(values.span().begin(), values.span().end(), self.core->point().begin());
    self.core->changed();
}

void set_parameters(PythonReceding& self, nb::object p) {
    const Doubles values(p);
    check_size(values, self.core->program().parameters);
    self.core->evaluation().set_parameters(values.data());
    self.core->changed();
}

nb::object applied(PythonReceding& self) {
    RecedingProgram& core = *self.core;
    const std::vector<int>& which = core.tables().applied;
    nb::object found = empty_in_numpy({which.size()});
    const Doubles room(found);
    double* to = const_cast<double*>(room.data());
    for (std::size_t i = 0; i < which.size(); ++i)
        to[i] = core.point()[std::size_t(which[i])] * core.program().scale[std::size_t(which[i])];
    return found;
}

// (0 solved, 1 near, 2 failed; iterations; largest step): of the quadratic program, in at most about so many seconds.
nb::tuple feed_back(PythonReceding& self, nb::object measured, double seconds) {
    const Doubles values(measured);
    check_size(values, self.core->tables().measured.size());
    if (!self.core->prepared()) throw nb::value_error("feedback without preparation");
    int most = most_iterations;
    if (self.iteration_seconds > 0.0 && seconds < most * self.iteration_seconds)
        most = std::max(1, static_cast<int>(seconds / self.iteration_seconds));
    const auto begin = Clock::now();
    const FeedbackNews news = self.core->feed_back(values.data(), most);
    const double taken = std::chrono::duration<double>(Clock::now() - begin).count() / std::max(1, news.iterations);
    self.iteration_seconds = self.iteration_seconds > 0.0 ? 0.8 * self.iteration_seconds + 0.2 * taken : taken;
    return nb::make_tuple(static_cast<int>(news.ending), news.iterations, news.largest_step);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<PythonReceding>(self)->program.ptr());
    return 0;
}

int clear(PyObject* self) {
    PythonReceding* own = nb::inst_ptr<PythonReceding>(self);
    own->core.reset();
    const nb::object program = std::move(own->program);
    return 0;
}

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {0, nullptr}};

}  // namespace

void bind_receding(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<PythonReceding>(module, "RecedingProgram", nb::type_slots(slots))
        .def("__init__", construct, "program"_a, "addresses"_a, "p"_a, "bounds"_a, "stages"_a, "tables"_a, "accuracy"_a)
        .def("set_point", set_point, "x"_a)
        .def("point", [](PythonReceding& self) { return copy_to_numpy(self.core->point()); })
        .def("set_parameters", set_parameters, "p"_a)
        .def("shift", [](PythonReceding& self, double share) { self.core->shift(share); }, "share"_a)
        .def("prepare", [](PythonReceding& self) { return self.core->prepare(); })
        .def("feed_back", feed_back, "measured"_a, "seconds"_a)
        .def("applied", applied);
}

}  // namespace daedalus
