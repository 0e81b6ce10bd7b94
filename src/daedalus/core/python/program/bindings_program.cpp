// The seam for nonlinear programs: tables in, values and derivatives out, and the solvers that are given them.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "program/fatrop.hpp"
#include "python/interpreter_lock.hpp"
#include "python/program/python_program.hpp"
#include "python/program/solver_addresses.hpp"

namespace daedalus {

namespace {

const Function* function_of(PythonProgram& self, nb::handle object) {
    if (object.is_none()) return nullptr;
    self.owners.push_back(nb::borrow(object));
    return &nb::cast<PythonFunction&>(object).core;
}

std::vector<char> flags(nb::handle object, const Function& function) {
    const Table table = nb::cast<Table>(object);
    if (table.size() != function.size_out.size()) throw nb::value_error("one flag for every output is needed");
    return {table.data(), table.data() + table.size()};
}

std::size_t wanted_entries(const Function& function, const std::vector<char>& wanted) {
    std::size_t count = 0;
    for (std::size_t k = 0; k < wanted.size(); ++k)
        if (wanted[k]) count += static_cast<std::size_t>(function.size_out[k]);
    return count;
}

// running: None, or (curvature, rows, columns, states, inputs).
void read_running_cost(PythonProgram& self, nb::handle given, MappedBlock& block) {
    if (given.is_none()) return;
    const auto parts = nb::cast<nb::sequence>(given);
    RunningCost& cost = block.running;
    cost.curvature = function_of(self, parts[0]);
    const auto entries = static_cast<std::size_t>(cost.curvature->size_out.at(0));
    cost.rows = integers(parts[1], entries), cost.columns = integers(parts[2], entries);
    cost.states = nb::cast<std::size_t>(parts[3]), cost.inputs = nb::cast<std::size_t>(parts[4]);
    if (cost.curvature->size_out.size() != 2 ||
        static_cast<std::size_t>(cost.curvature->size_out[1]) != cost.states * cost.size())
        throw nb::value_error("the curvature of a running cost comes with the slopes of the rates");
    check_range(cost.rows, cost.size()), check_range(cost.columns, cost.size());
}

void add_block(PythonProgram& self, nb::dict given) {
    Program& core = self.core;
    MappedBlock block;
    block.value = function_of(self, given["value"]);
    block.first = function_of(self, given["first"]);
    block.second = function_of(self, given["second"]);
    read_running_cost(self, given["running"], block);
    if (!block.value || !block.first) throw nb::value_error("a block needs its function and the first derivatives");
    block.count = nb::cast<std::size_t>(given["count"]);
    block.first_wanted = flags(given["first_wanted"], *block.first);
    if (block.second) block.second_wanted = flags(given["second_wanted"], *block.second);
    block.multiplier_input = nb::cast<std::size_t>(given["multiplier_input"]);
    for (const long long size : block.value->size_in) block.arguments += static_cast<std::size_t>(size);
    block.results = static_cast<std::size_t>(block.value->size_out.at(0));
    block.first_entries = wanted_entries(*block.first, block.first_wanted);
    block.second_entries = block.second ? wanted_entries(*block.second, block.second_wanted) : 0;
    if (block.running.curvature) {
        block.second_entries = block.running.entries();
        block.running.slopes = integers(given["slopes"], block.first_entries);
        check_range(block.running.slopes, block.running.states * block.running.size(), true);
    }
    block.sources = integers(given["sources"], block.count * block.arguments);
    block.rows = integers(given["rows"], block.count * block.results);
    block.weights = numbers(given["weights"], block.count * block.results);
    block.first_places = integers(given["first_places"], block.count * block.first_entries);
    block.first_factors = numbers(given["first_factors"], block.count * block.first_entries);
    block.second_places = integers(given["second_places"], block.count * block.second_entries);
    block.second_factors = numbers(given["second_factors"], block.count * block.second_entries);
    check_range(block.sources, core.variables + core.parameters);
    check_range(block.rows, core.rows + 1);
    check_range(block.first_places, core.jacobian_entries + core.variables, true);
    check_range(block.second_places, core.hessian_entries, true);
    core.blocks.push_back(std::move(block));
}

void construct_program(PythonProgram* self, std::size_t parameters, std::size_t rows, nb::object scale,
                       nb::object jacobian_rows, nb::object jacobian_columns, nb::object hessian_rows,
                       nb::object hessian_columns) {
    new (self) PythonProgram{};
    Program& core = self->core;
    core.scale = to_vector(Doubles(scale));
    core.variables = core.scale.size(), core.parameters = parameters, core.rows = rows;
    core.jacobian_entries = nb::cast<Table>(jacobian_rows).size();
    core.hessian_entries = nb::cast<Table>(hessian_rows).size();
    core.jacobian_rows = integers(jacobian_rows, core.jacobian_entries);
    core.jacobian_columns = integers(jacobian_columns, core.jacobian_entries);
    core.hessian_rows = integers(hessian_rows, core.hessian_entries);
    core.hessian_columns = integers(hessian_columns, core.hessian_entries);
}

void set_linear(PythonProgram& self, nb::object rows, nb::object columns, nb::object places, nb::object values) {
    Program& core = self.core;
    const Doubles coefficients(values);
    const auto size = static_cast<std::size_t>(coefficients.size());
    const std::vector<int> row = integers(rows, size), column = integers(columns, size), place = integers(places, size);
    check_range(row, core.rows + 1), check_range(column, core.variables);
    check_range(place, core.jacobian_entries + core.variables);
    core.linear.clear();
    for (std::size_t k = 0; k < size; ++k) core.linear.push_back({row[k], column[k], place[k], coefficients.data()[k]});
}

nb::object values(const PythonProgram& self, nb::object x, nb::object p) {
    const std::vector<double> at = numbers(x, self.core.variables), given = to_vector(Doubles(p));
    Evaluation evaluation = evaluation_of(self, given);
    const double* found = evaluation.values(at.data());
    return found ? copy_to_numpy({found, self.core.rows + 1}) : nb::none();
}

nb::object first(const PythonProgram& self, nb::object x, nb::object p) {
    const std::vector<double> at = numbers(x, self.core.variables), given = to_vector(Doubles(p));
    Evaluation evaluation = evaluation_of(self, given);
    const double* found = evaluation.first(at.data());
    return found ? copy_to_numpy({found, self.core.jacobian_entries + self.core.variables}) : nb::none();
}

nb::object second(const PythonProgram& self, nb::object x, nb::object p, double factor, nb::object multipliers) {
    const std::vector<double> at = numbers(x, self.core.variables), given = to_vector(Doubles(p));
    const std::vector<double> weights = numbers(multipliers, self.core.rows);
    Evaluation evaluation = evaluation_of(self, given);
    std::vector<double> out(self.core.hessian_entries);
    return evaluation.second(at.data(), factor, weights.data(), out.data()) ? copy_to_numpy(out) : nb::none();
}

SolverOptions read_options(nb::dict given) {
    SolverOptions options;
    for (auto [name, value] : given) {
        const auto key = nb::cast<std::string>(name);
        if (PyUnicode_Check(value.ptr()))
            options.texts.emplace_back(key, nb::cast<std::string>(value));
        else if (PyFloat_Check(value.ptr()))
            options.numbers.emplace_back(key, nb::cast<double>(value));
        else
            options.integers.emplace_back(key, nb::cast<int>(value));
    }
    return options;
}

// Tells Python of every iteration, looks for Ctrl-C, and keeps an exception until the solver has ended.
struct PythonListener {
    nb::object callable;
    KeptException kept;

    bool operator()(const IterationNews& news) {
        const LockTaken taken;
        try {
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            if (callable.is_none()) return true;
            return nb::cast<bool>(callable(news.iteration, news.objective, news.violation, news.stationarity));
        } catch (nb::python_error& error) {
            keep(kept, error);
            return false;
        }
    }
};

nb::dict ipopt(const PythonProgram& self, nb::dict addresses, nb::object p, nb::sequence bounds, nb::sequence begin,
               nb::dict options, nb::object listener, double feasible) {
    const std::vector<double> given = to_vector(Doubles(p));
    const IpoptLibrary library = ipopt_at(addresses);
    ProgramBounds limits = read_bounds(self.core, bounds);
    ProgramPoint point = read_point(self.core, begin);
    const SolverOptions chosen = read_options(options);
    PythonListener told{listener, {}};
    Evaluation evaluation = evaluation_of(self, given);
    ProgramOutcome outcome;
    {
        const LockReleased released;
        const Listener reference = std::ref(told);
        outcome = run_ipopt(library, evaluation, limits, point, chosen, reference, feasible);
    }
    rethrow(told.kept);
    return outcome_as_dict(outcome, point, told.kept.interrupted);
}

nb::dict fatrop(const PythonProgram& self, nb::dict addresses, nb::object p, nb::sequence bounds, nb::sequence begin,
                nb::dict tables, nb::dict options) {
    const std::vector<double> given = to_vector(Doubles(p));
    const FatropLibrary library = fatrop_at(addresses);
    const ProgramBounds limits = read_bounds(self.core, bounds);
    const StageStructure stages = stages_of(self.core, tables);
    ProgramPoint point = read_point(self.core, begin);
    const SolverOptions chosen = read_options(options);
    Evaluation evaluation = evaluation_of(self, given);
    ProgramOutcome outcome;
    {
        const LockReleased released;
        outcome = FatropRun(library, evaluation, limits, stages, point).solve(chosen);
    }
    return outcome_as_dict(outcome, point, false);
}

}  // namespace

void bind_program(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<PythonProgram>(module, "Program", nb::type_slots(Collected<PythonProgram>::slots))
        .def("__init__", construct_program, "parameters"_a, "rows"_a, "scale"_a, "jacobian_rows"_a,
             "jacobian_columns"_a, "hessian_rows"_a, "hessian_columns"_a)
        .def("add_block", add_block, "block"_a)
        .def("set_linear", set_linear, "rows"_a, "columns"_a, "places"_a, "values"_a)
        .def("values", values, "x"_a, "p"_a)
        .def("first", first, "x"_a, "p"_a)
        .def("second", second, "x"_a, "p"_a, "factor"_a, "multipliers"_a)
        .def("ipopt", ipopt, "addresses"_a, "p"_a, "bounds"_a, "begin"_a, "options"_a, "listener"_a.none(),
             "feasible"_a)
        .def("fatrop", fatrop, "addresses"_a, "p"_a, "bounds"_a, "begin"_a, "tables"_a, "options"_a);
}

}  // namespace daedalus
