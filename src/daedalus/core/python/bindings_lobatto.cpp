// The seam for methods of momenta: the functions of a step, their patterns and places in, one checked description out.
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "python/python_implicit.hpp"

namespace daedalus {

namespace {

[[noreturn]] void refuse(const std::string& text) { throw nb::value_error(text.c_str()); }

Pattern pattern_of(Integers colind, Integers rows, long long n, const char* name) {
    bool fits = static_cast<long long>(colind.size()) == n + 1 && colind.front() == 0 &&
                colind.back() == static_cast<long long>(rows.size()) && std::is_sorted(colind.begin(), colind.end());
    for (const long long row : rows) fits = fits && row >= 0 && row < n;
    for (std::size_t c = 0; fits && c + 1 < colind.size(); ++c)
        for (long long k = colind[c] + 1; k < colind[c + 1]; ++k)
            fits = fits && rows[std::size_t(k)] > rows[std::size_t(k - 1)];
    if (!fits) refuse(std::string("the pattern of ") + name + " is not in compressed columns");
    return {n, std::move(colind), std::move(rows)};
}

void check_sizes(const Function& function, const Integers& in, const Integers& out, const char* role) {
    if (function.size_in != in || function.size_out != out)
        refuse(std::string(role) + " does not have the sizes of a step");
    if (!function.machine_code.load() && !function.interpreter.load() && !function.callback.load())
        refuse(std::string(role) + " is empty: it has neither machine code, nor an interpreter, nor a callable");
}

void check_places(const Integers& places, long long end, const char* name) {
    for (const long long place : places)
        if (place < 0 || place >= end) refuse(std::string(name) + " lie outside a row");
}

const Function* function_of(nb::handle object) {
    const PythonFunction* function = nullptr;
    if (!nb::try_cast(object, function) || !function) throw nb::type_error("a step is made of Functions");
    return &function->core;
}

void construct(PythonLobattoStep* self, nb::object residual, nb::object jacobian, nb::object landing,
               nb::object masses, nb::object motion, std::vector<double> nodes, std::vector<double> half_way,
               Integers positions, Integers velocities, Integers multipliers, Integers stage_colind,
               Integers stage_rows, Integers saddle_colind, Integers saddle_rows) {
    const auto n = static_cast<long long>(positions.size()), m = static_cast<long long>(multipliers.size());
    const auto s = static_cast<long long>(nodes.size()), size = s * n + (s - 1) * m;
    if (s < 2 || half_way.size() != nodes.size()) refuse("a step has two stages or more");
    if (n < 1 || velocities.size() != positions.size()) refuse("every position has a velocity");
    LobattoStep step;
    step.residual = function_of(residual), step.jacobian = function_of(jacobian), step.landing = function_of(landing);
    step.masses = function_of(masses), step.motion = function_of(motion);
    if (step.masses->size_in.size() != 4) refuse("masses must map (t, row, u, p)");
    const long long row = step.masses->size_in[1], u = step.masses->size_in[2], p = step.masses->size_in[3];
    if (row < 4 * n + m) refuse("a row has room for positions, velocities, multipliers and derivatives");
    check_places(positions, (row - m) / 2, "positions");
    check_places(velocities, (row - m) / 2, "velocities");
    check_places(multipliers, row - 2 * ((row - m) / 2), "multipliers");
    const Integers at_step{1, 1, row, size, s * u, p}, at_row{1, row, u, p};
    check_sizes(*step.residual, at_step, {size}, "residual");
    check_sizes(*step.jacobian, at_step, {static_cast<long long>(stage_rows.size())}, "jacobian");
    check_sizes(*step.landing, at_step, {n, n}, "landing");
    check_sizes(*step.masses, at_row, {static_cast<long long>(saddle_rows.size()), n, m, m}, "masses");
    check_sizes(*step.motion, at_row, {n + m}, "motion");
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
