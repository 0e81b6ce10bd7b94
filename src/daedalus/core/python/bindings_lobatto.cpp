// The seam for methods of momenta: the functions of a step, their patterns and places in, one checked description out.
#include <nanobind/stl/vector.h>

#include "python/checks.hpp"
#include "python/python_models.hpp"

namespace daedalus {

namespace {

Pattern pattern_of(Integers colind, Integers rows, long long n, const char* name) {
    check_columns(colind, rows, n, n, name);
    return {n, std::move(colind), std::move(rows)};
}

void construct(PythonLobattoStep* self, nb::object residual, nb::object jacobian, nb::object landing,
               nb::object masses, nb::object motion, std::vector<double> nodes, std::vector<double> half_way,
               Integers positions, Integers velocities, Integers multipliers, Integers stage_colind,
               Integers stage_rows, Integers saddle_colind, Integers saddle_rows) {
    const auto n = static_cast<long long>(positions.size()), m = static_cast<long long>(multipliers.size());
    const auto s = static_cast<long long>(nodes.size()), size = s * n + (s - 1) * m;
    if (s < 2 || half_way.size() != nodes.size()) refuse("a step has two stages or more");
    if (n < 1 || velocities.size() != positions.size()) refuse("every position has a velocity");
    const Integers at_row = function_of(masses, "masses").size_in;
    if (at_row.size() != 4 || at_row[0] != 1) refuse("masses must map (t, row, u, p)");
    const long long row = at_row[1], u = at_row[2], p = at_row[3];
    if (row < 4 * n + m) refuse("a row has room for positions, velocities, multipliers and derivatives");
    check_places(positions, (row - m) / 2, "positions lie outside a row");
    check_places(velocities, (row - m) / 2, "velocities lie outside a row");
    check_places(multipliers, row - 2 * ((row - m) / 2), "multipliers lie outside a row");
    const Integers at_step{1, 1, row, size, s * u, p};
    LobattoStep step;
    step.residual = &function_of(residual, at_step, {size}, "residual");
    step.jacobian = &function_of(jacobian, at_step, {static_cast<long long>(stage_rows.size())}, "jacobian");
    step.landing = &function_of(landing, at_step, {n, n}, "landing");
    step.masses = &function_of(masses, at_row, {static_cast<long long>(saddle_rows.size()), n, m, m}, "masses");
    step.motion = &function_of(motion, at_row, {n + m}, "motion");
    step.stages = pattern_of(std::move(stage_colind), std::move(stage_rows), size, "the stages");
    step.saddle = pattern_of(std::move(saddle_colind), std::move(saddle_rows), n + m, "the saddle matrix");
    step.nodes = std::move(nodes), step.half_way = std::move(half_way);
    step.positions = std::move(positions), step.velocities = std::move(velocities);
    step.multipliers = std::move(multipliers);
    new (self) PythonLobattoStep{std::move(step), {residual, jacobian, landing, masses, motion}};
}

}  // namespace

void bind_lobatto(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<PythonLobattoStep>(module, "LobattoStep")
        .def("__init__", construct, "residual"_a, "jacobian"_a, "landing"_a, "masses"_a, "motion"_a, "nodes"_a,
             "half_way"_a, "positions"_a, "velocities"_a, "multipliers"_a, "stage_colind"_a, "stage_rows"_a,
             "saddle_colind"_a, "saddle_rows"_a)
        .def_prop_ro("stages", [](const PythonLobattoStep& self) { return self.core.nodes.size(); });
}

}  // namespace daedalus
