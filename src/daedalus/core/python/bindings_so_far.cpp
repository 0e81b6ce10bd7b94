// The seam for a look at a run that goes on: some of its rows, as many as are asked for, and what was delayed.
#include <algorithm>

#include "python/python_run.hpp"

namespace daedalus {

nb::object signals_in_numpy(const std::vector<double>& starts, const std::vector<double>& ends,
                            const std::vector<double>& coefficients, int degree) {
    const std::size_t count = starts.size(), rows = static_cast<std::size_t>(degree) + 1;
    const std::size_t width = count == 0 ? 0 : coefficients.size() / (count * rows);
    return nb::make_tuple(copy_to_numpy(starts), copy_to_numpy(ends),
                          copy_to_numpy(coefficients, {count, rows, width}));
}

namespace {

const SoFar& present(const PythonSoFar& self) {
    if (!self.now) throw nb::value_error("the look at this run is over: take what is needed of it at once");
    return *self.now;
}

// Every k-th row and the last one; k is a power of two, so that rows seen once are seen again or not at all.
nb::object rows_so_far(const PythonSoFar& self, long long most) {
    const SoFar& now = present(self);
    const Rows& steps = now.recorder.steps;
    const HeldRows& held = now.recorder.held;
    long long stride = 1;
    while ((steps.count - 1) / stride + 2 > std::max(most, 2LL)) stride *= 2;
    std::vector<long long> chosen;
    for (long long row = 0; row < steps.count; row += stride) chosen.push_back(row);
    if (!chosen.empty() && chosen.back() != steps.count - 1) chosen.push_back(steps.count - 1);

    const std::size_t count = chosen.size(), n = static_cast<std::size_t>(now.n);
    const std::size_t width = held.count > 0 ? static_cast<std::size_t>(now.held_width) : 0;
    const auto size = static_cast<long long>(count);
    Storage<double> t(size), x(size * now.n), values(static_cast<long long>(count * width));
    for (std::size_t k = 0; k < count; ++k) {
        t.data()[k] = steps.t[chosen[k]];
        copy(steps.x + chosen[k] * now.n, now.n, x.data() + k * n);
        if (width == 0) continue;
        const long long marks = std::upper_bound(held.row, held.row + held.count, chosen[k]) - held.row;
        const long long mark = std::max(marks - 1, 0LL);
        copy(held.values + mark * now.held_width, now.held_width, values.data() + k * width);
    }
    return nb::make_tuple(to_numpy(std::move(t), {count}), to_numpy(std::move(x), {count, n}),
                          to_numpy(std::move(values), {count, width}));
}

nb::object signals_so_far(const PythonSoFar& self) {
    const DelayedSignals* delayed = present(self).delayed;
    if (!delayed) return signals_in_numpy({}, {}, {}, 0);
    return signals_in_numpy(delayed->starts, delayed->ends, delayed->coefficients, delayed->degree);
}

}  // namespace

void bind_so_far(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<PythonSoFar>(module, "SoFar")
        .def_prop_ro("time", [](const PythonSoFar& self) { return present(self).t; })
        .def("rows", rows_so_far, "most"_a)
        .def_prop_ro("signals", signals_so_far);
}

}  // namespace daedalus
