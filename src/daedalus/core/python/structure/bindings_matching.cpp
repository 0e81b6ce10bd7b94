// The seam for pairs of rows and columns: equations and the unknowns they are solved for.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdlib>

#include "linear/matching.hpp"
#include "python/interpreter_lock.hpp"
#include "python/python_function.hpp"

namespace daedalus {

namespace {

using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const std::int64_t> span_of(const Integers& values) { return {values.data(), values.size()}; }

// Sums of so many costs, and a few such sums together, are exact.
constexpr long long largest_sum = 1LL << 58;

struct Pairs {
    std::vector<long long> columns, row_prices, column_prices;
    long long phases = 0, searches = 0, visits = 0, alone = 0;
};

nb::object to_integers(const std::vector<long long>& values) {
    auto* memory = new std::vector<std::int64_t>(values.begin(), values.end());
    nb::capsule owner(memory, [](void* p) noexcept { delete static_cast<std::vector<std::int64_t>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, std::int64_t>(memory->data(), {memory->size()}, owner));
}

void check(long long rows, long long columns, const Integers& row, const Integers& column) {
    if (rows < 0 || columns < 0) throw nb::value_error("the numbers of rows and columns must not be negative");
    if (row.size() != column.size()) throw nb::value_error("rows and columns of the entries must be equally many");
    for (std::size_t k = 0; k < row.size(); ++k)
        if (row.data()[k] < 0 || row.data()[k] >= rows || column.data()[k] < 0 || column.data()[k] >= columns)
            throw nb::value_error("an entry lies outside the pattern");
}

Pairs maximum_matching(long long rows, long long columns, Integers row, Integers column) {
    check(rows, columns, row, column);
    const LockReleased released;
    const auto graph = BipartiteGraph::of(rows, columns, span_of(row), span_of(column));
    const Matching found = most_pairs(graph);
    return {found.column_of(), {}, {}, found.phases(), 0, found.visits(), 0};
}

// Where not all rows can have a column, each may have one of its own, which costs more than all edges together.
Pairs cheapest(const BipartiteGraph& graph, long long alone) {
    const Matching most = most_pairs(graph);
    const bool full = most.pairs() == graph.rows;
    const BipartiteGraph wide = full ? BipartiteGraph{} : with_own_columns(graph, alone);
    CheapestPairs found(full ? graph : wide);
    found.run();
    Pairs pairs{found.matching().column_of(),
                found.row_price(),
                found.column_price(),
                most.phases() + found.matching().phases(),
                found.searches(),
                most.visits() + found.visits(),
                alone};
    for (long long& column : pairs.columns)
        if (column >= graph.columns) column = Matching::none;
    pairs.column_prices.resize(static_cast<std::size_t>(graph.columns));
    return pairs;
}

Pairs cheapest_matching(long long rows, long long columns, Integers row, Integers column, Integers cost) {
    check(rows, columns, row, column);
    if (cost.size() != row.size()) throw nb::value_error("there must be one cost an entry");
    long long sum = 0;
    for (const std::int64_t c : span_of(cost)) {
        if (c >= largest_sum || c <= -largest_sum || (sum += std::llabs(c)) >= largest_sum)
            throw nb::value_error("the costs are too large to be added exactly");
    }
    const LockReleased released;
    return cheapest(BipartiteGraph::of(rows, columns, span_of(row), span_of(column), span_of(cost)), sum + 1);
}

}  // namespace

void bind_matching(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<Pairs>(module, "Pairs")
        .def_prop_ro("columns", [](const Pairs& self) { return to_integers(self.columns); })
        .def_prop_ro("row_prices", [](const Pairs& self) { return to_integers(self.row_prices); })
        .def_prop_ro("column_prices", [](const Pairs& self) { return to_integers(self.column_prices); })
        .def_ro("alone", &Pairs::alone)
        .def_ro("phases", &Pairs::phases)
        .def_ro("searches", &Pairs::searches)
        .def_ro("visits", &Pairs::visits);
    module.def("maximum_matching", maximum_matching, "row_count"_a, "column_count"_a, "rows"_a, "columns"_a);
    module.def("cheapest_matching", cheapest_matching, "row_count"_a, "column_count"_a, "rows"_a, "columns"_a,
               "costs"_a);
}

}  // namespace daedalus
