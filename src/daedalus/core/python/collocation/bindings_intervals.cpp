// Collocation on a mesh: the rows of all intervals with their derivatives, and the solution of their equations.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "collocation/interval_factors.hpp"
#include "collocation/interval_motion.hpp"
#include "collocation/interval_rows.hpp"
#include "collocation/interval_search.hpp"
#include "python/interpreter_lock.hpp"
#include "python/python_arrays.hpp"
#include "python/python_function.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace daedalus {
namespace {

// F(t, x', x, z, u, p) with its slopes by x', x, z, u, p, at points of every interval.
struct IntervalEquations {
    nb::object owner;
    const PythonFunction* function = nullptr;
    IntervalForm form;

    IntervalEquations(nb::object given, long long states, long long algebraic, std::vector<Places> patterns,
                      nb::handle table, nb::handle weights, nb::handle nodes, nb::handle polynomials)
        : owner(given), function(nb::cast<const PythonFunction*>(given)) {
        form.n = states, form.m = algebraic, form.places = std::move(patterns), form.A = to_vector(Doubles(table));
        form.b = to_vector(Doubles(weights)), form.c = to_vector(Doubles(nodes));
        form.polynomials = to_vector(Doubles(polynomials)), form.s = static_cast<long long>(form.b.size());
        const Function& core = function->core;
        const long long n = form.n, m = form.m;
        const auto& places = form.places;
        bool fits = core.size_in.size() == 6 && core.size_out.size() == 6 && places.size() == 5 &&
                    form.A.size() == form.b.size() * form.b.size() && form.c.size() == form.b.size() &&
                    form.polynomials.size() == form.A.size() && core.size_in[1] == n && core.size_in[2] == n &&
                    core.size_in[3] == m && core.size_out[0] == n + m && n >= 0 && m >= 0;
        for (std::size_t k = 0; fits && k < places.size(); ++k) {
            const auto& [rows, columns] = places[k];
            fits = rows.size() == columns.size() && static_cast<long long>(rows.size()) == core.size_out[k + 1] &&
                   are_inside(rows, n + m) && are_inside(columns, core.size_in[k + 1]);
        }
        if (!fits) throw nb::value_error("the function, its patterns and the table do not belong together");
    }

    static bool are_inside(const Integers& positions, long long size) {
        return std::all_of(positions.begin(), positions.end(), [size](long long k) { return k >= 0 && k < size; });
    }

    // Whether there is a motion on the mesh, and inputs at so many points or once.
    bool fits(const Doubles& times, const Doubles& v, const Doubles& u, const Doubles& p, long long points) const {
        const long long N = times.size() - 1, nu = function->core.size_in[4], np = function->core.size_in[5];
        return N >= 1 && v.size() >= N * form.width() + form.n && p.size() == np &&
               (u.size() == nu || u.size() == N * points * nu);
    }

    DrivenMesh driven(const Doubles& times, const Doubles& u, const double* p) const {
        return {times.data(), times.size() - 1, u.data(), u.size() != function->core.size_in[4], p};
    }

    [[noreturn]] void tell(KeptException& kept) const {
        raise_kept(kept);
        throw std::runtime_error("the evaluation of " + function->core.name + " failed");
    }

    // residual (N, height), block (N, height, width + n), slopes by x (N s, q, n), and by chosen entries of u and p.
    nb::tuple rows(nb::handle mesh, nb::handle unknowns, nb::handle inputs, nb::handle parameters,
                   const Integers& by_u, const Integers& by_p) const {
        const Doubles times(mesh), v(unknowns), u(inputs), p(parameters);
        const Function& core = function->core;
        if (!fits(times, v, u, p, form.s) || !are_inside(by_u, core.size_in[4]) || !are_inside(by_p, core.size_in[5]))
            throw nb::value_error("the mesh, the unknowns, inputs and parameters do not belong together");
        const auto count = [](long long size) { return static_cast<std::size_t>(size); };
        const long long N = times.size() - 1, q = form.rows(), points = N * form.s;
        const long long chosen = static_cast<long long>(by_u.size() + by_p.size()), whole = form.width() + form.n;
        Storage<double> residual(count(N * form.height())), block(count(N * form.height() * whole)),
            by_x(count(points * q * form.n)), moved(count(points * q * chosen));
        KeptException kept;
        int failed = 0;
        {
            const LockReleased released;
            Caller caller(core, &kept);
            IntervalRows writer(form, caller.call(), by_u, by_p);
            failed = writer.write(driven(times, u, p.data()), v.data(), residual.data(), block.data(), by_x.data(), moved.data());
        }
        if (failed) tell(kept);
        return nb::make_tuple(to_numpy(std::move(residual), {count(N), count(form.height())}),
                              to_numpy(std::move(block), {count(N), count(form.height()), count(whole)}),
                              to_numpy(std::move(by_x), {count(N), count(form.s), count(q), count(form.n)}),
                              to_numpy(std::move(moved), {count(N), count(form.s), count(q), count(chosen)}));
    }

    // Corrections of x' at shares of every interval, (N, T, n), and x there; None where they are not determined.
    nb::object missed(nb::handle mesh, nb::handle unknowns, nb::handle inputs, nb::handle parameters,
                      nb::handle shares) const {
        const Doubles times(mesh), v(unknowns), u(inputs), p(parameters), at(shares);
        const auto N = static_cast<std::size_t>(std::max(times.size() - 1, 0LL)), T = static_cast<std::size_t>(at.size()),
                   n = static_cast<std::size_t>(form.n);
        if (!fits(times, v, u, p, at.size()))
            throw nb::value_error("the mesh, the unknowns, inputs and parameters do not belong together");
        Storage<double> off(N * T * n), x(N * T * n);
        KeptException kept;
        int failed = 0;
        {
            const LockReleased released;
            Caller caller(function->core, &kept);
            BetweenPoints between(form, caller.call());
            failed = between.write(driven(times, u, p.data()), v.data(), at.data(), at.size(), off.data(), x.data());
        }
        if (failed == BetweenPoints::singular) return nb::none();
        if (failed) tell(kept);
        return nb::make_tuple(to_numpy(std::move(off), {N, T, n}), to_numpy(std::move(x), {N, T, n}));
    }

    // The unknowns of the same motion on another mesh.
    nb::object moved(nb::handle mesh, nb::handle unknowns, nb::handle finer) const {
        const Doubles times(mesh), v(unknowns), other(finer);
        const long long N = times.size() - 1, M = other.size() - 1;
        if (N < 1 || M < 1 || v.size() < N * form.width() + form.n)
            throw nb::value_error("the meshes and the unknowns do not belong together");
        const auto size = static_cast<std::size_t>(M * form.width() + form.n);
        Storage<double> out(size);
        move_motion(form, times.data(), N, v.data(), other.data(), M, out.data());
        return to_numpy(std::move(out), {size});
    }
};

// Newton's method for the equations of a motion, with the arrays that it looks at.
struct PythonSearch {
    nb::object owner, end_owner;
    std::vector<double> times, u, p, numbers;
    KeptException kept;
    Caller caller, end_caller;
    std::unique_ptr<IntervalSearch> search;

    PythonSearch(nb::object equations, nb::handle mesh, nb::handle unknowns, nb::handle inputs, nb::handle parameters,
                 Integers free, nb::object conditions, nb::handle constants, Integers nodes, Places places,
                 nb::handle nominal, nb::handle limits)
        : owner(equations), end_owner(conditions), times(to_vector(Doubles(mesh))), u(to_vector(Doubles(inputs))),
          p(to_vector(Doubles(parameters))), numbers(to_vector(Doubles(constants))), caller(own().function->core, &kept),
          end_caller(nb::cast<const PythonFunction*>(conditions)->core, &kept) {
        const IntervalForm& form = own().form;
        const Function &core = own().function->core, &end = nb::cast<const PythonFunction*>(conditions)->core;
        const Doubles v(unknowns), sizes(nominal), bounds(limits);
        const auto n = form.n, N = static_cast<long long>(times.size()) - 1, k = static_cast<long long>(free.size());
        const long long count = N * form.width() + n + k;
        const bool fits = own().fits(Doubles(mesh), v, Doubles(inputs), Doubles(parameters), form.s) &&
                          IntervalEquations::are_inside(free, core.size_in[5]) && v.size() == count &&
                          sizes.size() == count && bounds.size() == 4 && end.size_in.size() == 3 &&
                          end.size_in[2] == static_cast<long long>(numbers.size()) && end.size_out.size() == 2 && end.size_in[0] == static_cast<long long>(nodes.size()) * n &&
                          end.size_in[1] == k && end.size_out[0] == n + k &&
                          IntervalEquations::are_inside(nodes, N + 1) && places.first.size() == places.second.size() &&
                          static_cast<long long>(places.first.size()) == end.size_out[1] &&
                          IntervalEquations::are_inside(places.first, n + k) &&
                          IntervalEquations::are_inside(places.second, count);
        if (!fits) throw nb::value_error("the mesh, the unknowns and the conditions do not belong together");
        const double* given = bounds.data();
        end_caller.call().arg[2] = numbers.data();
        const DrivenMesh driven{times.data(), N, u.data(), static_cast<long long>(u.size()) != core.size_in[4], p.data()};
        search = std::make_unique<IntervalSearch>(
            form, caller.call(), end_caller.call(), driven, p.data(), std::move(free),
            EndRows{std::move(nodes), std::move(places), n + k},
            SearchLimits{given[0], given[1], given[2], given[3]}, v.data(), sizes.data());
    }

    const IntervalEquations& own() const { return *nb::cast<const IntervalEquations*>(owner); }

    bool begin() {
        bool finite = false;
        {
            const LockReleased released;
            finite = search->begin();
        }
        if (search->failed) own().tell(kept);
        return finite;
    }

    std::string advance() {
        IntervalSearch::SearchProgress outcome{};
        {
            const LockReleased released;
            outcome = search->advance();
        }
        switch (outcome) {
            case IntervalSearch::SearchProgress::advanced: return "advanced";
            case IntervalSearch::SearchProgress::converged: return "converged";
            case IntervalSearch::SearchProgress::stuck: return "stuck";
            case IntervalSearch::SearchProgress::irregular: return "irregular";
            default: own().tell(kept);
        }
    }

    static nb::object copied(const std::vector<double>& values) {
        Storage<double> out(values.size());
        std::copy(values.begin(), values.end(), out.data());
        return to_numpy(std::move(out), {values.size()});
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
        .def(nb::init<nb::object, long long, long long, std::vector<Places>, nb::handle, nb::handle, nb::handle,
                      nb::handle>(),
             "function"_a, "states"_a, "algebraic"_a, "places"_a, "A"_a, "b"_a, "c"_a, "polynomials"_a)
        .def("rows", &IntervalEquations::rows, "mesh"_a, "unknowns"_a, "u"_a, "p"_a, "by_u"_a, "by_p"_a)
        .def("missed", &IntervalEquations::missed, "mesh"_a, "unknowns"_a, "u"_a, "p"_a, "shares"_a)
        .def("moved", &IntervalEquations::moved, "mesh"_a, "unknowns"_a, "finer"_a);
    nb::class_<PythonSearch>(module, "IntervalSearch")
        .def(nb::init<nb::object, nb::handle, nb::handle, nb::handle, nb::handle, Integers, nb::object, nb::handle, Integers,
                      Places, nb::handle, nb::handle>(),
             "equations"_a, "mesh"_a, "unknowns"_a, "u"_a, "p"_a, "free"_a, "conditions"_a, "constants"_a, "nodes"_a,
             "places"_a, "nominal"_a, "limits"_a)
        .def("begin", &PythonSearch::begin)
        .def("advance", &PythonSearch::advance)
        .def_prop_ro("values", [](const PythonSearch& self) { return PythonSearch::copied(self.search->values); })
        .def_prop_ro("scaled", [](const PythonSearch& self) { return PythonSearch::copied(self.search->scaled()); })
        .def_prop_ro("damping", [](const PythonSearch& self) { return self.search->damping; });
    nb::class_<IntervalFactors>(module, "IntervalFactors")
        .def("solve", &solved, "right"_a)
        .def_prop_ro("sign", &IntervalFactors::sign);
    module.def("interval_factors", &factored, "block"_a, "tails"_a, "ends"_a, "sizes"_a, "inner"_a);
}

}  // namespace daedalus
