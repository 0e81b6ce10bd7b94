// The seam for programs that are solved again and again: measured states in, inputs out, all memory settled before.
#include "program/receding.hpp"

#include "python/interpreter_lock.hpp"
#include "python/program/python_program.hpp"
#include "python/program/solver_addresses.hpp"

namespace daedalus {

namespace {

using Clock = std::chrono::steady_clock;

struct PythonReceding {
    nb::object program;  // kept alive
    std::unique_ptr<RecedingProgram> core;
    double iteration_seconds = 0.0;  // what an iteration took lately
    double length = 1.0;             // the share of the last step that was taken

    void show(auto&& see) { see(program); }
    void forget() { core.reset(); }
};

void construct(PythonReceding* self, nb::object program, nb::dict addresses, nb::object p, nb::sequence bounds,
               nb::dict stages, nb::dict tables, double accuracy) {
    const Program& core = nb::cast<PythonProgram&>(program).core;
    RecedingTables own{table_of(tables, "measured"), table_of(tables, "applied"), table_of(tables, "next"),
                       table_of(tables, "tail"),     table_of(tables, "tail_nodes")};
    for (const auto* numbers : {&own.measured, &own.applied, &own.next, &own.tail_nodes})
        check_range(*numbers, core.variables);
    check_range(own.tail, core.rows);
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
    int most = RecedingProgram::most_iterations;
    if (self.iteration_seconds > 0.0 && seconds < most * self.iteration_seconds)
        most = std::max(1, static_cast<int>(seconds / self.iteration_seconds));
    const auto begin = Clock::now();
    const FeedbackNews news = self.core->feed_back(values.data(), most);
    const double taken = std::chrono::duration<double>(Clock::now() - begin).count() / std::max(1, news.iterations);
    self.iteration_seconds = self.iteration_seconds > 0.0 ? 0.8 * self.iteration_seconds + 0.2 * taken : taken;
    self.length = news.length;
    return nb::make_tuple(static_cast<int>(news.ending), news.iterations, news.largest_step);
}

}  // namespace

void bind_receding(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<PythonReceding>(module, "RecedingProgram", nb::type_slots(Collected<PythonReceding>::slots))
        .def("__init__", construct, "program"_a, "addresses"_a, "p"_a, "bounds"_a, "stages"_a, "tables"_a, "accuracy"_a)
        .def("set_point", set_point, "x"_a)
        .def("point", [](PythonReceding& self) { return copy_to_numpy(self.core->point()); })
        .def("set_parameters", set_parameters, "p"_a)
        .def("set_bounds", [](PythonReceding& self, nb::sequence bounds) {
            self.core->set_bounds(read_bounds(self.core->program(), bounds));
        }, "bounds"_a)
        .def("shift", [](PythonReceding& self, double share) { self.core->shift(share); }, "share"_a)
        .def("prepare", [](PythonReceding& self) { return self.core->prepare(); })
        .def("feed_back", feed_back, "measured"_a, "seconds"_a)
        .def("length", [](const PythonReceding& self) { return self.length; })
        .def("applied", applied);
    nb::dict numbers;
#define DAEDALUS_SHARE(name) numbers[#name] = RecedingProgram::name
    DAEDALUS_SHARE(most_iterations);
    DAEDALUS_SHARE(farthest_tail);
    DAEDALUS_SHARE(sufficient);
    DAEDALUS_SHARE(decrease);
    DAEDALUS_SHARE(least_weight);
    DAEDALUS_SHARE(most_cuts);
    DAEDALUS_SHARE(settled_step);
    DAEDALUS_SHARE(least_curvature);
#undef DAEDALUS_SHARE
    module.attr("receding_numbers") = numbers;
}

}  // namespace daedalus
