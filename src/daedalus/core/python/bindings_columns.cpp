// The seam for columns of derivatives: a checked model of one column becomes one of all of them.
#include <nanobind/stl/array.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "python/checks.hpp"
#include "python/python_models.hpp"

namespace daedalus {

namespace {

long long place_in(const ImplicitModel& model, const ColumnGroup& group, long long k) {
    const long long other = k - model.columns.states;
    return other < 0 ? group.states_at + k * group.width : group.others_at + other * group.width;
}

// An entry for every unknown of one column, as one for every unknown of all columns.
template <class Entry>
void spread(const ImplicitModel& model, std::vector<Entry>& entries) {
    std::vector<Entry> all(static_cast<std::size_t>(model.unknowns));
    for (const ColumnGroup& group : model.columns.groups)
        for (std::size_t k = 0; k < entries.size(); ++k) {
            const auto first = all.begin() + place_in(model, group, static_cast<long long>(k));
            std::fill(first, first + group.width, entries[k]);
        }
    entries = std::move(all);
}

void add_groups(ImplicitModel& model, const std::vector<long long>& widths) {
    ColumnGroups& columns = model.columns;
    columns.states = model.states, columns.unknowns = model.unknowns;
    columns.groups = {{1, 0, 0}};
    for (const long long width : widths) {
        if (width < 1) refuse("columns must be positive numbers");
        columns.groups.push_back({width, 0, 0});
    }
    const long long others = model.unknowns - model.states;
    long long at = 0;
    for (ColumnGroup& group : columns.groups) group.states_at = at, at += model.states * group.width;
    model.states = at;
    for (ColumnGroup& group : columns.groups) group.others_at = at, at += others * group.width;
    model.unknowns = at;
}

// Products as they are given, sorted by rows and with places among all unknowns.
void place(const ImplicitModel& model, const PythonColumnProducts& given, ColumnProducts& out, std::size_t outputs,
           const std::vector<long long>& more_inputs) {
    const ColumnGroups& columns = model.columns;
    if (!nb::isinstance<PythonFunction>(given.function)) throw nb::type_error("products need a Function");
    out.function = &function_of(given.function, "products");
    const std::vector<long long>&in = out.function->size_in, &sizes = out.function->size_out;
    std::vector<long long> expected = {1, columns.states, columns.states, columns.unknowns - columns.states};
    if (in.size() != 6 + more_inputs.size() || !std::equal(expected.begin(), expected.end(), in.begin()) ||
        !std::equal(more_inputs.begin(), more_inputs.end(), in.begin() + 6) || sizes.size() != outputs ||
        (outputs == 2 && sizes[0] != columns.unknowns))
        refuse("a function of products does not have the sizes of the model");
    out.values = sizes.back();
    const auto inside = [](long long k, long long count) { return k >= 0 && k < count; };
    std::vector<std::vector<ColumnTerm>> rows(static_cast<std::size_t>(columns.unknowns));
    for (const auto& [source, row, column, of_rate] : given.terms) {
        if (!inside(source, out.values) || !inside(row, columns.unknowns) ||
            !inside(column, of_rate ? columns.states : columns.unknowns))
            refuse("a term of products is out of range");
        rows[std::size_t(row)].push_back({source, place_in(model, columns.groups[1], column), of_rate != 0});
    }
    out.begin.assign(1, 0);
    for (const std::vector<ColumnTerm>& row : rows) {
        out.terms.insert(out.terms.end(), row.begin(), row.end());
        out.begin.push_back(static_cast<long long>(out.terms.size()));
    }
    for (const auto& [source, row, column, slot] : given.seeds) {
        if (!inside(source, out.values) || !inside(row, columns.unknowns) || slot < -1 || slot >= in[4] ||
            !inside(column, columns.groups[1].width))
            refuse("a seed of products is out of range");
        out.seeds.push_back({place_in(model, columns.groups[1], row) + column, source, slot});
    }
}

// Functions of the model itself, whose values are multiplied with one group of columns.
void read_products(ImplicitModel& model, const std::vector<nb::object>& products) {
    ColumnGroups& columns = model.columns;
    if (products.size() != 3 || products[0].is_none() || columns.groups.size() != 2)
        refuse("columns need products of the residual, below the diagonal and of the drift");
    const auto read = [&](std::size_t k, ColumnProducts& out, std::size_t outputs, const std::vector<long long>& more) {
        if (!products[k].is_none()) place(model, nb::cast<const PythonColumnProducts&>(products[k]), out, outputs, more);
    };
    columns.products = true;
    read(0, columns.residual, 2, {});
    read(1, columns.below, 1, {columns.states, columns.states, columns.unknowns - columns.states});
    read(2, columns.drift, 2, {columns.residual.function->size_in[4]});
    model.residual = columns.residual.function, model.drift = columns.drift.function;
}

// Functions of all columns.
void read_whole(ImplicitModel& model, nb::handle below) {
    const Function& function = function_of(below, "below");
    const long long nx = model.states, nz = model.unknowns - model.states;
    const std::vector<long long>&in = model.residual->size_in, out = {model.unknowns};
    if (in.size() != 6 || in[0] != 1 || in[1] != nx || in[2] != nx || in[3] != nz || model.residual->size_out != out)
        refuse("residual must map (t, xdot, x, z, u, p) of all columns to all equations");
    std::vector<long long> expected = in, drifts = in;
    for (const long long size : {nx, nx, nz}) expected.push_back(size);
    drifts.push_back(in[4]);
    if (function.size_in != expected || function.size_out != out)
        refuse("below must map (t, xdot, x, z, u, p, dxdot, dx, dz) of all columns to all equations");
    if (model.drift && (model.drift->size_in != drifts || model.drift->size_out != out))
        refuse("drift must map (t, xdot, x, z, u, p, udot) of all columns to all equations");
    model.columns.below.function = &function, model.columns.below.values = model.unknowns;
}

}  // namespace

void add_columns(ImplicitModel& model, const std::vector<long long>& widths, const std::vector<nb::object>& products,
                 nb::handle below) {
    add_groups(model, widths);
    if (products.empty())
        read_whole(model, below);
    else
        read_products(model, products);
    const ColumnGroups& columns = model.columns;
    std::vector<int> held(static_cast<std::size_t>(columns.unknowns), 0);
    for (const long long row : model.constraints) held[std::size_t(row)] = 1;
    spread(model, held), spread(model, model.index), spread(model, model.level);
    model.constraints.clear();
    for (std::size_t row = 0; row < held.size(); ++row)
        if (held[row]) model.constraints.push_back(static_cast<long long>(row));
    model.has_derivative.resize(static_cast<std::size_t>(columns.unknowns), 0);
    spread(model, model.has_derivative);
    model.has_derivative.resize(static_cast<std::size_t>(model.states));
}

void bind_columns(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<PythonColumnProducts>(module, "ColumnProducts")
        .def(
            "__init__",
            [](PythonColumnProducts* self, nb::object function, ColumnEntries terms, ColumnEntries seeds) {
                new (self) PythonColumnProducts{std::move(function), std::move(terms), std::move(seeds)};
            },
            "function"_a, "terms"_a, "seeds"_a);
}

}  // namespace daedalus
