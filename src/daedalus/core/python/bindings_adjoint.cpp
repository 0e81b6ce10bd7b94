// The seam for gradients: pull_back() checks what it is given, releases the GIL and returns the pulled weights.
#include <nanobind/stl/vector.h>

#include "flow/adjoint.hpp"
#include "python/checks.hpp"
#include "python/interpreter_lock.hpp"

namespace daedalus {

namespace {

nb::tuple pull_back(nb::handle rhs, nb::handle pullback, nb::handle projection_pullback, nb::handle a, nb::handle b,
                    nb::handle c, nb::handle times, nb::handle states, nb::handle u, nb::handle p,
                    std::vector<nb::object> tables, Integers blocks, long long block_count,
                    nb::handle weights) {
    const Doubles A(a), B(b), C(c), t(times), x(states), inputs(u), parameters(p), lambda(weights);
    const long long n = lambda.size(), nu = inputs.size(), np = parameters.size(), s = B.size();
    if (s < 1 || A.size() != s * s || C.size() != s) refuse("A must be (s, s), b and c of length s");
    if (t.size() < 1 || x.size() != t.size() * n) refuse("states must be (times, n)");
    if (static_cast<long long>(blocks.size()) != t.size() - 1) refuse("blocks must have one entry a step");
    check_places(blocks, block_count, "blocks has an entry out of range");

    KeptException exception;
    AdjointRequest request;
    request.rhs = &function_of(rhs, {1, n, nu, np}, {n}, "rhs");
    request.pullback = &function_of(pullback, {1, n, nu, np, n}, {n, nu, np}, "pullback");
    if (!projection_pullback.is_none())
        request.projection_pullback =
            &function_of(projection_pullback, {1, n, nu, np, n}, {n, nu, np}, "projection_pullback");
    request.a = A.span(), request.b = B.span(), request.c = C.span();
    request.times = t.span(), request.states = x.span();
    request.u = inputs.span(), request.p = parameters.span();
    std::vector<const Table*> active;
    for (const nb::object& object : tables) {
        if (!nb::isinstance<Table>(object)) throw nb::type_error("tables must be a list of Table");
        active.push_back(&nb::cast<const Table&>(object));
        check_places(active.back()->slots, nu, "a table has a slot beyond the end of u");
    }
    request.tables = active, request.blocks = blocks, request.keeper = &exception;

    Storage<double> out(lambda.span()), u_bar(block_count * nu), p_bar(np);
    std::fill_n(u_bar.data(), block_count * nu, 0.0);
    std::fill_n(p_bar.data(), np, 0.0);
    bool done = false;
    {
        Adjoint adjoint(request);
        const LockReleased released;
        done = adjoint.run(out.data(), u_bar.data(), p_bar.data());
    }
    rethrow(exception);
    if (!done) refuse("a function could not be evaluated");
    return nb::make_tuple(to_numpy(std::move(out), {std::size_t(n)}),
                          to_numpy(std::move(u_bar), {std::size_t(block_count), std::size_t(nu)}),
                          to_numpy(std::move(p_bar), {std::size_t(np)}));
}

}  // namespace

void bind_adjoint(nb::module_& module) {
    using namespace nb::literals;
    module.def("pull_back", pull_back, "rhs"_a, "pullback"_a, "projection_pullback"_a.none(), "A"_a, "b"_a, "c"_a,
               "times"_a, "states"_a, "u"_a, "p"_a, "tables"_a, "blocks"_a, "block_count"_a, "weights"_a);
}

}  // namespace daedalus
