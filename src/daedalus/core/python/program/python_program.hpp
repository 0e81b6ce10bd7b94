// A program as Python sees it, and what its tables and arrays are read by.
#pragma once

#include "program/fatrop.hpp"
#include "python/python_function.hpp"

namespace daedalus {

using namespace programs;
using Table = nb::ndarray<const std::int32_t, nb::c_contig, nb::device::cpu>;

struct PythonProgram {
    Program core;
    std::vector<nb::object> owners;
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

template <class Pointer>
void point_at(Pointer& pointer, nb::dict addresses, const char* name) {
    pointer = reinterpret_cast<Pointer>(nb::cast<std::uintptr_t>(addresses[name]));
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

}  // namespace daedalus
