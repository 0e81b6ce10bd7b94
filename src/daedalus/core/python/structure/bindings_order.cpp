// The seam for passes over the rows of an evaluation.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "model/evaluation_order.hpp"
#include "python/interpreter_lock.hpp"
#include "python/python_function.hpp"

namespace daedalus {

namespace {

template <class Number>
using Column = nb::ndarray<const Number, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Number>
std::span<const Number> span_of(const Column<Number>& values) {
    return {values.data(), values.size()};
}

template <class Number>
nb::object to_array(std::vector<Number> values) {
    auto* memory = new std::vector<Number>(std::move(values));
    nb::capsule owner(memory, [](void* p) noexcept { delete static_cast<std::vector<Number>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, Number>(memory->data(), {memory->size()}, owner));
}

// Columns of one length, whose rows read earlier ones.
EvaluationOrder checked(const Column<std::int32_t>& first, const Column<std::int32_t>& second,
                        const Column<std::uint8_t>& reads) {
    const EvaluationOrder rows{span_of(first), span_of(second), span_of(reads)};
    if (rows.second.size() != rows.size() || rows.reads.size() != rows.size())
        throw nb::value_error("columns must be equally long");
    if (!rows.is_in_order()) throw nb::value_error("a row must read earlier rows");
    return rows;
}

void check_length(std::size_t given, const EvaluationOrder& rows) {
    if (given != rows.size()) throw nb::value_error("columns must be equally long");
}

nb::object writers(Column<std::int32_t> writes, Column<std::int32_t> reads) {
    if (writes.size() != reads.size()) throw nb::value_error("columns must be equally long");
    return to_array(last_writers(span_of(writes), span_of(reads)));
}

nb::object depths(Column<std::int32_t> first, Column<std::int32_t> second, Column<std::uint8_t> reads) {
    return to_array(row_depths(checked(first, second, reads)));
}

using Marked = std::vector<std::uint8_t> (*)(const EvaluationOrder&, std::vector<std::uint8_t>);

template <Marked marked>
nb::object marks(Column<std::int32_t> first, Column<std::int32_t> second, Column<std::uint8_t> reads,
                 Column<std::uint8_t> from) {
    const EvaluationOrder rows = checked(first, second, reads);
    check_length(from.size(), rows);
    return to_array(marked(rows, {from.data(), from.data() + from.size()}));
}

nb::object pieces(Column<std::int32_t> first, Column<std::int32_t> second, Column<std::uint8_t> reads,
                  Column<std::uint8_t> chosen) {
    const EvaluationOrder rows = checked(first, second, reads);
    check_length(chosen.size(), rows);
    return to_array(connected_rows(rows, span_of(chosen)));
}

nb::object shapes(Column<std::int32_t> first, Column<std::int32_t> second, Column<std::uint8_t> reads,
                  Column<std::int32_t> operation, Column<std::int64_t> leaf, Column<std::uint8_t> is_root,
                  std::uint64_t kept) {
    const EvaluationOrder rows = checked(first, second, reads);
    for (const std::size_t size : {operation.size(), leaf.size(), is_root.size()}) check_length(size, rows);
    TreeShapes found = tree_shapes(rows, span_of(operation), span_of(leaf), span_of(is_root), kept);
    return nb::make_tuple(to_array(std::move(found.shape)), to_array(std::move(found.level)));
}

}  // namespace

void bind_order(nb::module_& module) {
    using namespace nb::literals;
    module.def("last_writers", writers, "writes"_a, "reads"_a);
    module.def("row_depths", depths, "first"_a, "second"_a, "reads"_a);
    module.def("dependent_rows", marks<dependent_rows>, "first"_a, "second"_a, "reads"_a, "from_rows"_a);
    module.def("needed_rows", marks<needed_rows>, "first"_a, "second"_a, "reads"_a, "from_rows"_a);
    module.def("connected_rows", pieces, "first"_a, "second"_a, "reads"_a, "chosen"_a);
    module.def("tree_shapes", shapes, "first"_a, "second"_a, "reads"_a, "operation"_a, "leaf"_a, "is_root"_a, "kept"_a);
}

}  // namespace daedalus
