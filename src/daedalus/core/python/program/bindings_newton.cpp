// The seam for programs that are solved again near where they were solved: all memory is settled before.
#include "program/active_newton.hpp"
#include "python/interpreter_lock.hpp"
#include "python/program/python_program.hpp"

namespace daedalus {

namespace {

struct PythonNewton {
    nb::object program;  // kept alive
    std::unique_ptr<ActiveNewton> core;

    void show(auto&& see) { see(program); }
    void forget() { core.reset(); }
};

void construct(PythonNewton* self, nb::object program, nb::object position) {
    const Program& core = nb::cast<PythonProgram&>(program).core;
    std::vector<int> places = integers(position, core.variables);
    check_range(places, 2 * core.variables + 2, true);
    new (self) PythonNewton{program, std::make_unique<ActiveNewton>(core, std::move(places))};
}

nb::dict solve(PythonNewton& self, nb::object p, nb::sequence bounds, nb::sequence begin, double tolerance,
               int most_iterations) {
    const PythonProgram& program = nb::cast<PythonProgram&>(self.program);
    const std::vector<double> given = to_vector(Doubles(p));
    const ProgramBounds limits = read_bounds(program.core, bounds);
    ProgramPoint point = read_point(program.core, begin);
    Evaluation evaluation = evaluation_of(program, given);
    ProgramOutcome outcome;
    {
        const LockReleased released;
        outcome = self.core->solve(evaluation, limits, point, tolerance, most_iterations);
    }
    return outcome_as_dict(outcome, point, false);
}

}  // namespace

void bind_newton(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<PythonNewton>(module, "NewtonProgram", nb::type_slots(Collected<PythonNewton>::slots))
        .def("__init__", construct, "program"_a, "position"_a)
        .def("solve", solve, "p"_a, "bounds"_a, "begin"_a, "tolerance"_a, "most_iterations"_a);
    module.attr("large_multiplier") = ActiveNewton::large;
}

}  // namespace daedalus
