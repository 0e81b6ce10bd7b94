// Noise by its place: paths of Wiener processes of many seeds at once.
#include <span>
#include <utility>

#include "noise/wiener_path.hpp"
#include "python/interpreter_lock.hpp"
#include "python/python_arrays.hpp"
#include "python/python_function.hpp"

namespace nb = nanobind;

namespace daedalus {
namespace {

using Seeds = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using Factors = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Nodes = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

WienerPath::TimeLevel level_of(std::int64_t level, const Factors& factors) {
    if (factors.shape(0) == 0) throw nb::value_error("a level has the factor of its longest cells");
    return {level, {factors.data(), factors.shape(0)}};
}

void increments(Seeds seeds, std::uint64_t stream, std::int64_t level, Factors factors, std::int64_t first, Rows out) {
    if (out.shape(0) != seeds.shape(0)) throw nb::value_error("one row a seed");
    const std::size_t count = out.shape(1);
    const WienerPath::TimeLevel tree = level_of(level, factors);
    if (count == 0) return;
    const LockReleased free;
    WienerPath path(stream);
    for (std::size_t k = 0; k < seeds.shape(0); ++k) {
        path.choose(seeds.data()[k]);
        path.increments(tree, first, count, out.data() + k * count);
    }
}

void points(Seeds seeds, std::uint64_t stream, std::int64_t level, Factors factors, Nodes nodes, Rows out) {
    if (out.shape(0) != seeds.shape(0) || out.shape(1) != nodes.shape(0)) throw nb::value_error("one row a seed");
    const std::size_t count = out.shape(1);
    const WienerPath::TimeLevel tree = level_of(level, factors);
    const LockReleased free;
    WienerPath path(stream);
    for (std::size_t k = 0; k < seeds.shape(0); ++k) {
        path.choose(seeds.data()[k]);
        path.points(tree, {nodes.data(), count}, out.data() + k * count);
    }
}

void normals(Seeds seeds, std::uint64_t stream, std::int64_t level, std::int64_t first, Rows out) {
    if (out.shape(0) != seeds.shape(0)) throw nb::value_error("one row a seed");
    const LockReleased free;
    WienerPath path(stream);
    for (std::size_t k = 0; k < seeds.shape(0); ++k) {
        path.choose(seeds.data()[k]);
        path.normals(level, first, out.shape(1), out.data() + k * out.shape(1));
    }
}

nb::tuple as_tuple(std::span<const double> values) {
    nb::list found;
    for (const double value : values) found.append(value);
    return nb::tuple(found);
}

// What kernels need to draw the same numbers.
void bind_numbers_of_noise(nb::module_& module) {
    nb::dict quantiles, philox;
    const std::pair<const char*, const Rational*> every[] = {
        {"middle", &QUANTILE_MIDDLE}, {"side", &QUANTILE_SIDE}, {"far", &QUANTILE_FAR}};
    for (const auto& [name, rational] : every) {
        quantiles[name] = nb::make_tuple(as_tuple(rational->over), as_tuple(rational->under));
    }
    quantiles["edges"] = nb::make_tuple(MIDDLE, SQUARED_MIDDLE, SIDE_FROM, FAR_FROM);
    philox["factors"] = nb::make_tuple(Philox::FIRST, Philox::SECOND);
    philox["steps"] = nb::make_tuple(Philox::SEED_STEP, Philox::STREAM_STEP);
    philox["rounds"] = Philox::ROUNDS;
    philox["origin"] = WienerPath::ORIGIN;
    module.attr("bridge_numbers") = nb::make_tuple(as_tuple(WienerPath::SHARES), as_tuple(WienerPath::SPREADS));
    module.attr("quantile_numbers") = quantiles;
    module.attr("philox_numbers") = philox;
    module.attr("logarithm_numbers") = as_tuple(LOGARITHM);
}

}  // namespace

void bind_noise(nb::module_& module) {
    bind_numbers_of_noise(module);
    module.def("wiener_increments", &increments, nb::arg("seeds"), nb::arg("stream"), nb::arg("level"),
               nb::arg("factors"), nb::arg("first"), nb::arg("out"), "Increments over cells of a level, one row a seed.");
    module.def("wiener_points", &points, nb::arg("seeds"), nb::arg("stream"), nb::arg("level"), nb::arg("factors"),
               nb::arg("nodes"), nb::arg("out"), "The path at the beginnings of cells of a level, one row a seed.");
    module.def("normal_numbers", &normals, nb::arg("seeds"), nb::arg("stream"), nb::arg("level"), nb::arg("first"),
               nb::arg("out"), "Standard normal numbers by their place, one row a seed.");
}

}  // namespace daedalus
