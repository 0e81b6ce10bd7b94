// A program as Python sees it, and what its tables and arrays are read by.
#pragma once

#include "program/fatrop.hpp"
#include "python/collected.hpp"
#include "python/python_function.hpp"

namespace daedalus {

using namespace programs;
using Table = nb::ndarray<const std::int32_t, nb::c_contig, nb::device::cpu>;

struct PythonProgram {
    Program core;
    std::vector<nb::object> owners;

    void show(auto&& see) { see(owners); }
    void forget() { core.blocks.clear(); }
};

inline std::vector<int> integers(nb::handle object, std::size_t size) {
    const Table table = nb::cast<Table>(object);
    if (table.size() != size) throw nb::value_error("a table of a program has the wrong size");
    return {table.data(), table.data() + table.size()};
}

inline std::vector<double> numbers(nb::handle object, std::size_t size) {
    const Doubles values(object);
    if (static_cast<std::size_t>(values.size()) != size)
        throw nb::value_error("an array of a program has the wrong size");
    return to_vector(values);
}

inline ProgramBounds read_bounds(const Program& core, nb::sequence given) {
    return {numbers(given[0], core.variables), numbers(given[1], core.variables), numbers(given[2], core.rows),
            numbers(given[3], core.rows)};
}

inline std::vector<int> table_of(nb::dict tables, const char* name) {
    const Table table = nb::cast<Table>(tables[name]);
    return {table.data(), table.data() + table.size()};
}

inline StageStructure stages_of(const Program& core, nb::dict tables) {
    StageStructure stages{table_of(tables, "nu"),         table_of(tables, "nx"),
                          table_of(tables, "order"),      table_of(tables, "equation"),
                          table_of(tables, "inequality"), table_of(tables, "step"),
                          table_of(tables, "equation_start"), table_of(tables, "inequality_start"),
                          table_of(tables, "step_start")};
    if (stages.order.size() != core.variables) throw nb::value_error("every variable belongs to one stage");
    std::size_t rows = stages.steps.size();
    for (const int row : stages.equations) rows += row >= 0;
    for (const int row : stages.inequalities) rows += row >= 0;
    if (rows != core.rows) throw nb::value_error("every row belongs to one stage");
    return stages;
}

// Numbers of a table lie below `end`, and are not negative, or -1 where that stands for none.
inline void check_range(const std::vector<int>& entries, std::size_t end, bool or_none = false) {
    for (const int entry : entries)
        if (entry < (or_none ? -1 : 0) || entry >= static_cast<int>(end))
            throw nb::index_error("a table of a program leaves it");
}

inline Evaluation evaluation_of(const PythonProgram& self, const std::vector<double>& parameters) {
    if (parameters.size() != self.core.parameters) throw nb::value_error("wrong number of parameters of a program");
    return Evaluation(self.core, parameters);
}

inline nb::object optional(bool there, const std::vector<double>& values) {
    return there ? copy_to_numpy(values) : nb::none();
}

inline nb::dict outcome_as_dict(const ProgramOutcome& outcome, const ProgramPoint& point, bool interrupted) {
    nb::dict found;
    found["status"] = outcome.status, found["iterations"] = outcome.iterations, found["interrupted"] = interrupted;
    found["x"] = copy_to_numpy(point.x), found["rows"] = copy_to_numpy(point.rows);
    found["objective"] = point.objective, found["multipliers"] = copy_to_numpy(point.multipliers);
    found["lower_multipliers"] = copy_to_numpy(point.lower_multipliers);
    found["upper_multipliers"] = copy_to_numpy(point.upper_multipliers);
    found["best"] = optional(outcome.has_best, outcome.best);
    return found;
}

// begin: x, multipliers of the rows, of the lower and of the upper bounds.
inline ProgramPoint read_point(const Program& core, nb::sequence begin) {
    ProgramPoint point;
    point.x = numbers(begin[0], core.variables), point.multipliers = numbers(begin[1], core.rows);
    point.lower_multipliers = numbers(begin[2], core.variables);
    point.upper_multipliers = numbers(begin[3], core.variables);
    point.rows.resize(core.rows);
    return point;
}

}  // namespace daedalus
