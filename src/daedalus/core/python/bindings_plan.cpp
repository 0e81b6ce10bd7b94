// The seam for plans: what does not change from run to run, checked once.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>

#include "python/checks.hpp"
#include "python/collected.hpp"
#include "python/python_models.hpp"
#include "python/python_run.hpp"

namespace daedalus {

namespace {

// Guards and resets of a linear model may take its solution (x', z) as a fifth argument.
void check_model_function(const Function& function, const Plan& plan, long long outputs, const char* role,
                          bool after_solve = false) {
    std::vector<long long> expected{1, plan.row_size, plan.input_count, plan.parameter_count};
    const LinearModel* linear = plan.request.linear;
    if (after_solve && linear && function.size_in.size() == 5) expected.push_back(linear->size());
    if (function.size_in != expected || function.size_out.size() != 1 || function.size_out[0] != outputs) {
        std::string text = std::string(role) + " must map (t, x, u, p) of sizes (";
        for (std::size_t i = 0; i < 4; ++i) text += (i ? ", " : "") + std::to_string(expected[i]);
        refuse(text + ") to " + std::to_string(outputs) + " values");
    }
    check_not_empty(function, role);
}

void check_sizes(const std::vector<long long>& sizes, const Plan& plan, const char* role) {
    if (sizes[1] != plan.row_size || sizes[2] != plan.input_count || sizes[3] != plan.parameter_count)
        refuse(std::string("x, u or p of the model has the wrong size for ") + role);
}

void set_sizes(Plan& plan, long long rows, long long inputs, long long parameters) {
    plan.row_size = rows, plan.input_count = inputs, plan.parameter_count = parameters;
}

// The right-hand side of an explicit model, a linear model, or an implicit model, whose rows are (x, z, x').
void choose_model(nb::handle model, Plan& plan) {
    Request& request = plan.request;
    plan.model = nb::borrow(model);
    if (nb::isinstance<PythonLinearModel>(model)) {
        request.linear = &nb::cast<const PythonLinearModel&>(model).core;
        const std::vector<long long>& sizes = request.linear->function->size_in;
        return set_sizes(plan, sizes[1], sizes[2], sizes[3]);
    }
    if (nb::isinstance<PythonImplicitModel>(model)) {
        request.implicit = &nb::cast<const PythonImplicitModel&>(model).core;
        const std::vector<long long>& sizes = request.implicit->residual->size_in;
        return set_sizes(plan, request.implicit->unknowns + request.implicit->states, sizes[4], sizes[5]);
    }
    request.rhs = &function_of(model, "rhs");
    const std::vector<long long>& sizes = request.rhs->size_in;
    if (sizes.size() == 4) set_sizes(plan, sizes[1], sizes[2], sizes[3]);
    check_model_function(*request.rhs, plan, plan.row_size, "rhs");
}

double positive(const std::optional<double>& value, double otherwise, const char* name) {
    if (!value) return otherwise;
    if (!(*value > 0)) refuse(std::string(name) + " must be positive");
    return *value;
}

void choose_lobatto(const LobattoStep& step, Plan& plan) {
    if (plan.request.fixed_step <= 0) refuse("a method of momenta needs a step");
    check_sizes(step.masses->size_in, plan, "the step");
    plan.request.method = Method::lobatto;
    plan.request.implicit_method = &step, plan.request.implicit_degree = 5;
}

void choose_implicit_method(nb::handle method, Plan& plan) {
    Request& request = plan.request;
    plan.method = nb::borrow(method);
    if (!request.implicit->columns.groups.empty() && nb::isinstance<PythonLobattoStep>(method))
        refuse("a method of momenta takes no columns of derivatives");
    if (nb::isinstance<RosenbrockCoefficients>(method)) {
        const RosenbrockCoefficients& coefficients = nb::cast<const RosenbrockCoefficients&>(method);
        request.method = Method::rosenbrock;
        request.implicit_method = &coefficients, request.implicit_degree = coefficients.degree;
        return;
    }
    if (nb::isinstance<BdfSettings>(method)) {
        if (request.fixed_step > 0) refuse("BDF chooses its steps itself: step must be None; limit them with max_step");
        request.method = Method::bdf;
        request.implicit_method = &nb::cast<const BdfSettings&>(method), request.implicit_degree = bdf_orders;
        return;
    }
    if (nb::isinstance<ImplicitTableau>(method)) {
        const ImplicitTableau& tableau = nb::cast<const ImplicitTableau&>(method);
        if (tableau.error.empty() && request.fixed_step <= 0) refuse("a tableau without b_hat needs a step");
        request.method = tableau.one_matrix_a_step ? Method::sdirk : Method::implicit_tableau;
        request.implicit_method = &tableau, request.implicit_degree = tableau.degree();
        return;
    }
    if (nb::isinstance<PythonLobattoStep>(method))
        return choose_lobatto(nb::cast<const PythonLobattoStep&>(method).core, plan);
    if (!nb::isinstance<CollocationCoefficients>(method)) refuse("an implicit model needs an implicit method");
    const CollocationCoefficients& coefficients = nb::cast<const CollocationCoefficients&>(method);
    request.method = Method::radau;
    request.implicit_method = &coefficients, request.implicit_degree = coefficients.stages + 1;
}

void choose_method(nb::handle method, Plan& plan) {
    Request& request = plan.request;
    if (request.implicit) return choose_implicit_method(method, plan);
    if (nb::isinstance<PythonTableau>(method)) {
        const PythonTableau& tableau = nb::cast<const PythonTableau&>(method);
        plan.method = nb::borrow(method);
        request.method = Method::general;
        request.general = &tableau.prepared->method();
        if (!request.general->has_error && request.fixed_step <= 0) refuse("a tableau without b_hat needs a step");
        return;
    }
    if (!nb::isinstance<nb::str>(method)) throw nb::type_error("method must be a name or a Tableau");
    const std::string name = nb::cast<std::string>(method);
    if (name == "tsit5") request.method = Method::tsit5;
    else if (name == "dopri5") request.method = Method::dopri5;
    else if (name == "dop853") request.method = Method::dop853;
    else if (name == "bs3") request.method = Method::bs3;
    else refuse("unknown method '" + name + "'; known: tsit5, dopri5, dop853, bs3, or a Tableau");
}

// Rows of events, then of clocks: x and the discrete variables behind each.
void add_resets(nb::handle resets, long long events, Plan& plan) {
    Request& request = plan.request;
    const long long width = plan.row_size + request.discretes, rows = events + request.clocks;
    if (!plan.writes.empty() && static_cast<long long>(plan.writes.size()) != rows * width)
        refuse("writes must have one entry for each row and column of the resets");
    request.writes = plan.writes;
    if (resets.is_none()) return;
    const Function& function = function_of(resets, "resets");
    check_model_function(function, plan, rows * width, "resets", true);
    plan.resets = nb::borrow(resets);
    request.resets = &function;
}

// Discrete variables and clocks: how many there are, which are read, and who comes behind whom.
void set_clocks(Plan& plan, long long discretes, std::vector<unsigned char> is_read, std::vector<long long> levels,
                std::vector<unsigned char> writes, bool from_start) {
    Request& request = plan.request;
    plan.is_read = std::move(is_read), plan.levels = std::move(levels), plan.writes = std::move(writes);
    if (discretes < 0 || discretes > plan.parameter_count) refuse("discretes must be a number of entries of p");
    if (static_cast<long long>(plan.is_read.size()) != discretes) refuse("is_read must have one entry a discrete variable");
    request.discretes = discretes, request.clocks = static_cast<long long>(plan.levels.size());
    request.is_read = plan.is_read, request.clock_levels = plan.levels, request.from_start = from_start;
}

void add_guards(nb::handle guards, nb::handle resets, long long switches, Plan& plan) {
    Request& request = plan.request;
    if (guards.is_none()) {
        if (!resets.is_none() && request.clocks == 0) refuse("resets need guards or clocks");
        if (switches != 0) refuse("switches need guards");
        return add_resets(resets, 0, plan);
    }
    const Function& function = function_of(guards, "guards");
    const long long count = function.size_out.size() == 1 ? function.size_out[0] : -1;
    check_model_function(function, plan, count, "guards", true);
    const auto fill = [&](std::vector<long long>& list, long long otherwise, long long low, long long high,
                          const char* name) {
        if (list.empty()) list.assign(static_cast<std::size_t>(count), otherwise);
        if (static_cast<long long>(list.size()) != count) refuse(std::string(name) + " must have one entry a guard");
        for (const long long entry : list)
            if (entry < low || entry > high) refuse(std::string(name) + " has an entry out of range");
    };
    fill(plan.directions, 0, -1, 1, "directions");
    fill(plan.actions, 0, 0, 2, "actions");
    fill(plan.occurrences, 1, 1, std::numeric_limits<long long>::max(), "occurrences");
    fill(plan.sides, 0, 0, 2, "sides");
    fill(plan.at_start, 0, 0, 1, "at_start");
    request.sides = plan.sides, request.at_start = plan.at_start;
    request.directions = plan.directions, request.actions = plan.actions, request.occurrences = plan.occurrences;
    if (switches < 0 || switches > count || switches > plan.parameter_count)
        refuse("switches must be a number of guards, each with a mode at the end of p");
    request.switches = switches;
    add_resets(resets, count - switches, plan);
    if (count == 0) return;
    plan.guards = nb::borrow(guards);
    request.guards = &function;
}

void add_projection(nb::handle projection, Plan& plan) {
    if (projection.is_none()) return;
    Request& request = plan.request;
    plan.projection = nb::borrow(projection);
    if (nb::isinstance<PythonProjection>(projection)) {
        const ConstraintLevels& levels = nb::cast<const PythonProjection&>(projection).core;
        check_sizes(levels.model->function->size_in, plan, "the projection");
        request.levels = &levels;
        return;
    }
    const Function& function = function_of(projection, "projection");
    check_model_function(function, plan, plan.row_size, "projection");
    request.projection = &function;
}

void add_restart(nb::handle restart, Plan& plan) {
    if (restart.is_none()) return;
    if (!plan.request.resets) refuse("a restart needs resets");
    const Function& function = function_of(restart, "restart");
    const std::vector<long long> expected{1, plan.row_size,         plan.input_count, plan.parameter_count,
                                          1, plan.request.discretes};
    if (function.size_in != expected || function.size_out != std::vector<long long>{plan.row_size, plan.row_size})
        refuse("restart must map (t, row, u, p, event, held before it) to a row and to the row before it");
    plan.restart = nb::borrow(restart);
    plan.request.restart = &function;
}

// What decides the modes and impulses of contacts, and which guards of events are theirs.
void add_contacts(nb::handle contacts, std::vector<unsigned char> is_contact, Plan& plan) {
    if (contacts.is_none()) return;
    Request& request = plan.request;
    const auto events = static_cast<long long>(plan.directions.size()) - request.switches;
    if (!request.resets || static_cast<long long>(is_contact.size()) != events)
        refuse("contacts need resets, and is_contact one entry an event");
    const Function& function = function_of(contacts, "contacts");
    const std::vector<long long> expected{1, plan.row_size, plan.input_count, plan.parameter_count, 1 + events};
    if (function.size_in != expected || function.size_out != std::vector<long long>{plan.row_size + request.discretes})
        refuse("contacts must map (t, row, u, p, given) to a row and discrete variables");
    plan.is_contact = std::move(is_contact);
    plan.contacts = nb::borrow(contacts);
    request.contacts = &function, request.is_contact = plan.is_contact;
}

void set_tolerances(nb::handle atol, double rtol, Plan& plan) {
    if (!(rtol >= 0) || std::isinf(rtol)) refuse("rtol must be a number, not negative");
    plan.atol.assign(static_cast<std::size_t>(plan.row_size), 1e-9);
    if (!atol.is_none()) {
        const Doubles given(atol);
        if (given.size() != plan.row_size && given.size() != 1) refuse("atol must have one entry a state");
        for (std::size_t i = 0; i < plan.atol.size(); ++i) plan.atol[i] = given.data()[given.size() == 1 ? 0 : i];
    }
    for (const double entry : plan.atol)
        if (!(entry >= 0) || entry + rtol == 0) refuse("atol must not be negative, and not zero together with rtol");
    plan.request.rtol = rtol, plan.request.atol = plan.atol;
}

using OptionalNumber = std::optional<double>;

void set_limits(Request& request, OptionalNumber step, OptionalNumber first_step, OptionalNumber max_step,
                std::optional<long long> max_steps, OptionalNumber time_limit) {
    const double infinity = std::numeric_limits<double>::infinity();
    request.fixed_step = positive(step, 0, "step");
    request.first_step = positive(first_step, 0, "first_step");
    request.max_step = positive(max_step, infinity, "max_step");
    request.time_limit = positive(time_limit, infinity, "time_limit");
    request.max_steps = max_steps.value_or(std::numeric_limits<long long>::max());
    if (request.max_steps < 0) refuse("max_steps must not be negative");
}

void make_plan(Plan* place, nb::handle model, nb::handle method, double rtol, nb::handle atol, OptionalNumber step,
               OptionalNumber first_step, OptionalNumber max_step, std::optional<long long> max_steps,
               OptionalNumber time_limit, nb::handle guards, std::vector<long long> directions,
               std::vector<long long> actions, std::vector<long long> occurrences, nb::handle resets,
               nb::handle projection, nb::handle restart, long long switches, bool keep_steps, double watch_stiffness,
               bool kinked, bool junctions, bool moving_mass, std::optional<long long> memory_limit, std::vector<long long> sides,
               std::vector<long long> at_start, long long discretes, std::vector<unsigned char> is_read,
               std::vector<long long> levels, std::vector<unsigned char> writes, bool from_start,
               nb::handle contacts, std::vector<unsigned char> is_contact, std::vector<unsigned char> may_slide,
               bool rows_at_jumps, long long cases) {
    Plan& plan = *new (place) Plan;
    try {
        choose_model(model, plan);
        set_limits(plan.request, step, first_step, max_step, max_steps, time_limit);
        choose_method(method, plan);
        set_tolerances(atol, rtol, plan);
        plan.request.keep_steps = keep_steps, plan.request.rows_at_jumps = rows_at_jumps;
        plan.request.watch_stiffness = watch_stiffness;
        if (cases < 1 || plan.row_size % cases != 0 || (cases > 1 && !plan.request.rhs))
            refuse("cases must divide the number of states of an explicit model");
        plan.request.cases = cases;
        plan.request.kinked = kinked, plan.request.junctions = junctions, plan.request.moving_mass = moving_mass;
        if (memory_limit) plan.request.memory_limit = *memory_limit;
        plan.directions = std::move(directions);
        plan.actions = std::move(actions);
        plan.occurrences = std::move(occurrences);
        plan.sides = std::move(sides), plan.at_start = std::move(at_start);
        set_clocks(plan, discretes, std::move(is_read), std::move(levels), std::move(writes), from_start);
        add_guards(guards, resets, switches, plan);
        add_projection(projection, plan);
        add_restart(restart, plan);
        add_contacts(contacts, std::move(is_contact), plan);
        if (!may_slide.empty() && static_cast<long long>(may_slide.size()) != switches)
            refuse("may_slide must have one entry a switch");
        plan.may_slide = std::move(may_slide), plan.request.may_slide = plan.may_slide;
    } catch (...) {
        place->~Plan();
        throw;
    }
}

}  // namespace

nb::class_<Plan> bind_plan(nb::module_& module) {
    using namespace nb::literals;
    return nb::class_<Plan>(module, "Plan", nb::type_slots(Collected<Plan>::slots))
        .def("__init__", make_plan, "model"_a, "method"_a, nb::kw_only(), "rtol"_a = 1e-6, "atol"_a = nb::none(),
             "step"_a = nb::none(), "first_step"_a = nb::none(), "max_step"_a = nb::none(), "max_steps"_a = nb::none(),
             "time_limit"_a = nb::none(), "guards"_a = nb::none(), "directions"_a = nb::list(), "actions"_a = nb::list(),
             "occurrences"_a = nb::list(), "resets"_a = nb::none(), "projection"_a = nb::none(),
             "restart"_a = nb::none(), "switches"_a = 0, "keep_steps"_a = true, "watch_stiffness"_a = 0.0,
             "kinked"_a = false, "junctions"_a = false, "moving_mass"_a = false, "memory_limit"_a = nb::none(), "sides"_a = nb::list(), "at_start"_a = nb::list(),
             "discretes"_a = 0, "is_read"_a = nb::list(), "levels"_a = nb::list(), "writes"_a = nb::list(),
             "from_start"_a = false, "contacts"_a = nb::none(), "is_contact"_a = nb::list(),
             "may_slide"_a = nb::list(), "rows_at_jumps"_a = false, "cases"_a = 1);
}

}  // namespace daedalus
