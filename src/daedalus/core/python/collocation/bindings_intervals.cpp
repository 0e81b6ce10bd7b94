// Collocation on a mesh: the rows of all intervals with their derivatives, and the solution of their equations.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "collocation/interval_factors.hpp"
#include "model/caller.hpp"
#include "python/interpreter_lock.hpp"
#include "python/python_arrays.hpp"
#include "python/python_function.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace daedalus {
namespace {

using Places = std::pair<Integers, Integers>;  // rows and columns of nonzeros

// F(t, x', x, z, u, p) with its slopes by x', x, z, u, p, at the Gauss points of every interval.
struct IntervalEquations {
    nb::object owner;
    const PythonFunction* function = nullptr;
    long long n = 0, m = 0, s = 0;
    std::vector<Places> places;
    std::vector<double> A, b, c;

    IntervalEquations(nb::object given, long long states, long long algebraic, std::vector<Places> patterns,
                      nb::handle table, nb::handle weights, nb::handle nodes)
        : owner(given), function(nb::cast<const PythonFunction*>(given)), n(states), m(algebraic),
          places(std::move(patterns)), A(to_vector(Doubles(table))), b(to_vector(Doubles(weights))),
          c(to_vector(Doubles(nodes))) {
        s = static_cast<long long>(b.size());
        const Function& core = function->core;
        bool fits = core.size_in.size() == 6 && core.size_out.size() == 6 && places.size() == 5 &&
                    A.size() == b.size() * b.size() && c.size() == b.size() && core.size_in[1] == n &&
                    core.size_in[2] == n && core.size_in[3] == m && core.size_out[0] == n + m && n >= 0 && m >= 0;
        for (std::size_t k = 0; fits && k < places.size(); ++k) {
            const auto& [rows, columns] = places[k];
            fits = rows.size() == columns.size() && static_cast<long long>(rows.size()) == core.size_out[k + 1];
            for (std::size_t j = 0; fits && j < rows.size(); ++j)
                fits = rows[j] >= 0 && rows[j] < n + m && columns[j] >= 0 && columns[j] < core.size_in[k + 1];
        }
        if (!fits) throw nb::value_error("the function, its patterns and the table do not belong together");
    }

    // residual (N, height), block (N, height, width + n), slopes by x (N s, q, n), and by chosen entries of u and p.
    nb::tuple rows(nb::handle mesh, nb::handle unknowns, nb::handle inputs, nb::handle parameters,
                   const Integers& by_u, const Integers& by_p) const {
        const Doubles times(mesh), v(unknowns), u(inputs), p(parameters);
        const Function& core = function->core;
        const long long N = times.size() - 1, q = n + m, height = s * q + n, width = n + s * q, points = N * s;
        const long long nu = core.size_in[4], np = core.size_in[5];
        const long long chosen = static_cast<long long>(by_u.size() + by_p.size());
        bool fits = N >= 1 && v.size() >= N * width + n && p.size() == np && (u.size() == nu || u.size() == points * nu);
        for (const long long k : by_u) fits = fits && k >= 0 && k < nu;
        for (const long long k : by_p) fits = fits && k >= 0 && k < np;
        if (!fits) throw nb::value_error("the mesh, the unknowns, inputs and parameters do not belong together");
        const auto count = [](long long size) { return static_cast<std::size_t>(size); };
        Storage<double> residual(count(N * height)), block(count(N * height * (width + n))), by_x(count(points * q * n)),
            moved(count(points * q * chosen));
        std::fill(residual.data(), residual.data() + N * height, 0.0);
        std::fill(block.data(), block.data() + N * height * (width + n), 0.0);
        std::fill(by_x.data(), by_x.data() + points * q * n, 0.0);
        std::fill(moved.data(), moved.data() + points * q * chosen, 0.0);
        std::vector<std::vector<double>> out;
        for (std::size_t k = 1; k < core.size_out.size(); ++k) out.emplace_back(count(core.size_out[k]));
        std::vector<double> x(count(n));
        std::vector<long long> column_u(count(nu), -1), column_p(count(np), -1);
        for (std::size_t k = 0; k < by_u.size(); ++k) column_u[count(by_u[k])] = static_cast<long long>(k);
        for (std::size_t k = 0; k < by_p.size(); ++k)
            column_p[count(by_p[k])] = static_cast<long long>(by_u.size() + k);
        const bool varying = u.size() != nu;
        KeptException kept;
        int failed = 0;
        {
            const LockReleased released;
            Caller caller(core, &kept);
            Call& call = caller.call();
            for (std::size_t k = 0; k < out.size(); ++k) call.res[k + 1] = out[k].data();
            for (long long i = 0; i < N && !failed; ++i) {
                const double* own = v.data() + i * width;
                const double *inside = own + n, *next = own + width, begin = times.data()[i];
                const double h = times.data()[i + 1] - begin;
                double *row = residual.data() + i * height, *part = block.data() + i * height * (width + n);
                for (long long j = 0; j < s && !failed; ++j) {
                    for (long long d = 0; d < n; ++d) {
                        double sum = 0;
                        for (long long l = 0; l < s; ++l) sum += A[count(j * s + l)] * inside[l * q + d];
                        x[count(d)] = own[d] + h * sum;
                    }
                    const double t = begin + h * c[count(j)];
                    const long long point = i * s + j;
                    call.arg[0] = &t, call.arg[1] = inside + j * q, call.arg[2] = x.data();
                    call.arg[3] = inside + j * q + n, call.arg[4] = u.data() + (varying ? point * nu : 0);
                    call.arg[5] = p.data(), call.res[0] = row + j * q;
                    failed = evaluate(call);
                    double* mine = part + j * q * (width + n);
                    each(0, out, [&](long long r, long long k, double value) { mine[r * (width + n) + n + j * q + k] += value; });
                    each(1, out, [&](long long r, long long k, double value) {
                        mine[r * (width + n) + k] += value;
                        for (long long l = 0; l < s; ++l)
                            mine[r * (width + n) + n + l * q + k] += h * A[count(j * s + l)] * value;
                        by_x.data()[(point * q + r) * n + k] = value;
                    });
                    each(2, out, [&](long long r, long long k, double value) { mine[r * (width + n) + n + j * q + n + k] += value; });
                    each(3, out, [&](long long r, long long k, double value) {
                        if (column_u[count(k)] >= 0) moved.data()[(point * q + r) * chosen + column_u[count(k)]] = value;
                    });
                    each(4, out, [&](long long r, long long k, double value) {
                        if (column_p[count(k)] >= 0) moved.data()[(point * q + r) * chosen + column_p[count(k)]] = value;
                    });
                }
                double *joins = row + s * q, *mine = part + s * q * (width + n);
                for (long long d = 0; d < n; ++d) {
                    double sum = 0;
                    for (long long l = 0; l < s; ++l) {
                        sum += b[count(l)] * inside[l * q + d];
                        mine[d * (width + n) + n + l * q + d] = h * b[count(l)];
                    }
                    joins[d] = own[d] + h * sum - next[d];
                    mine[d * (width + n) + d] = 1, mine[d * (width + n) + width + d] = -1;
                }
            }
        }
        if (failed) {
            raise_kept(kept);
            throw std::runtime_error("the evaluation of " + core.name + " failed");
        }
        return nb::make_tuple(to_numpy(std::move(residual), {count(N), count(height)}),
                              to_numpy(std::move(block), {count(N), count(height), count(width + n)}),
                              to_numpy(std::move(by_x), {count(N), count(s), count(q), count(n)}),
                              to_numpy(std::move(moved), {count(N), count(s), count(q), count(chosen)}));
    }

    void each(std::size_t k, const std::vector<std::vector<double>>& out, auto&& see) const {
        const auto& [rows_of, columns_of] = places[k];
        for (std::size_t j = 0; j < rows_of.size(); ++j) see(rows_of[j], columns_of[j], out[k][j]);
    }
};

// Factors, or None of a singular matrix; `inner` rows of every interval are those at its points.
nb::object factored(nb::handle block, nb::handle tails, nb::handle ends, nb::handle sizes, long long inner) {
    const Doubles a(block), t(tails), e(ends), v(sizes);
    if (a.dimensions() != 3 || t.dimensions() != 3 || e.dimensions() != 2)
        throw nb::value_error("expected rows of intervals, their tails and end rows");
    const long long N = a.length(0), n = a.length(1) - inner, k = t.length(2);
    auto made = std::make_unique<IntervalFactors>(std::max(N, 1LL), std::max(n, 0LL), std::max(inner, 0LL), k);
    const bool fits = N >= 1 && n >= 0 && inner >= 0 && a.length(2) == 2 * n + inner && t.length(0) == N &&
                      t.length(1) == n + inner && e.length(0) == n + k && e.length(1) == made->unknowns() &&
                      v.size() == made->unknowns();
    if (!fits) throw nb::value_error("rows, tails, end rows and sizes do not belong together");
    bool done = false;
    {
        const LockReleased released;
        done = made->factor(a.data(), t.data(), e.data(), v.data());
    }
    if (!done) return nb::none();
    return nb::cast(made.release(), nb::rv_policy::take_ownership);
}

nb::object solved(IntervalFactors& self, nb::handle right) {
    const Doubles given(right);
    const auto count = static_cast<std::size_t>(self.unknowns());
    if (given.size() != self.unknowns()) throw nb::value_error("the right-hand side has another length");
    Storage<double> v(count);
    std::copy(given.data(), given.data() + count, v.data());
    {
        const LockReleased released;
        self.solve(v.data());
    }
    return to_numpy(std::move(v), {count});
}

}  // namespace

void bind_intervals(nb::module_& module) {
    nb::class_<IntervalEquations>(module, "IntervalEquations")
        .def(nb::init<nb::object, long long, long long, std::vector<Places>, nb::handle, nb::handle, nb::handle>(),
             "function"_a, "states"_a, "algebraic"_a, "places"_a, "A"_a, "b"_a, "c"_a)
        .def("rows", &IntervalEquations::rows, "mesh"_a, "unknowns"_a, "u"_a, "p"_a, "by_u"_a, "by_p"_a);
    nb::class_<IntervalFactors>(module, "IntervalFactors")
        .def("solve", &solved, "right"_a)
        .def_prop_ro("sign", &IntervalFactors::sign);
    module.def("interval_factors", &factored, "block"_a, "tails"_a, "ends"_a, "sizes"_a, "inner"_a);
}

}  // namespace daedalus
