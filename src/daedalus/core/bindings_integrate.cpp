// The seam for runs: integrate() checks what it is given, releases the GIL, and hands back a Run.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <optional>

#include "python_implicit.hpp"
#include "python_linear.hpp"
#include "python_run.hpp"
#include "python_tables.hpp"

namespace daedalus {

namespace {

[[noreturn]] void refuse(const std::string& text) { throw nb::value_error(text.c_str()); }

// Signals, progress: served with the GIL between chunks of steps.
class PythonWatch final : public Watch {
public:
    PythonWatch(nb::object progress, KeptException& kept) : progress_(std::move(progress)), kept_(kept) {}
    Status look(double t) override {
        nb::gil_scoped_acquire gil;
        try {
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            report(t);
            return Status::going;
        } catch (const nb::python_error& error) {
            keep(kept_, error);
            return kept_.interrupted ? Status::interrupted : Status::aborted;
        }
    }
    void report(double t) {
        if (!progress_.is_none()) progress_(t);
    }

private:
    nb::object progress_;
    KeptException& kept_;
};

// Guards and resets of a linear model may take its solution (x', z) as a fifth argument.
void check_model_function(const Function& function, const Request& request, long long outputs, const char* role,
                          bool after_solve = false) {
    std::vector<long long> expected{1, static_cast<long long>(request.x0.size()),
                                    static_cast<long long>(request.u.size()),
                                    static_cast<long long>(request.p.size())};
    if (after_solve && request.linear && function.size_in.size() == 5) expected.push_back(request.linear->unknowns);
    if (function.size_in != expected || function.size_out.size() != 1 || function.size_out[0] != outputs) {
        std::string text = std::string(role) + " must map (t, x, u, p) of sizes (";
        for (std::size_t i = 0; i < 4; ++i) text += (i ? ", " : "") + std::to_string(expected[i]);
        refuse(text + ") to " + std::to_string(outputs) + " values");
    }
    if (!function.machine_code.load() && !function.interpreter.load() && !function.callback.load())
        refuse(std::string(role) + " is empty: it has neither machine code, nor an interpreter, nor a callable");
}

void check_sizes(const std::vector<long long>& sizes, const Request& request, const char* role) {
    if (sizes[1] != static_cast<long long>(request.x0.size()) ||
        sizes[2] != static_cast<long long>(request.u.size()) || sizes[3] != static_cast<long long>(request.p.size()))
        refuse(std::string("x, u or p has the wrong size for ") + role);
}

const Function& model_function(nb::handle object, const char* role) {
    const PythonFunction* function = nullptr;
    if (!nb::try_cast(object, function) || !function)
        throw nb::type_error((std::string(role) + " must be a Function").c_str());
    return function->core;
}

void choose_linear_model(const LinearModel& model, Request& request) {
    check_sizes(model.function->size_in, request, "the linear model");
    request.linear = &model;
}

// The right-hand side of an explicit model, a linear model, or an implicit model, whose rows are (x, z, x').
void choose_model(nb::handle model, Ingredients& kept) {
    Request& request = kept.request;
    const auto n = static_cast<long long>(request.x0.size());
    if (nb::isinstance<PythonLinearModel>(model))
        return choose_linear_model(nb::cast<const PythonLinearModel&>(model).core, request);
    if (!nb::isinstance<PythonImplicitModel>(model)) {
        request.rhs = &model_function(model, "rhs");
        return check_model_function(*request.rhs, request, n, "rhs");
    }
    const ImplicitModel& implicit = nb::cast<const PythonImplicitModel&>(model).core;
    const std::vector<long long>& sizes = implicit.residual->size_in;
    if (n != implicit.unknowns + implicit.states) refuse("the start of an implicit model is (x, z, x')");
    if (sizes[4] != static_cast<long long>(request.u.size()) || sizes[5] != static_cast<long long>(request.p.size()))
        refuse("u or p has the wrong size for the implicit model");
    request.implicit = &implicit;
}

double positive(const std::optional<double>& value, double otherwise, const char* name) {
    if (!value) return otherwise;
    if (!(*value > 0)) refuse(std::string(name) + " must be positive");
    return *value;
}

void choose_lobatto(const LobattoStep& step, Request& request) {
    const std::vector<long long>& sizes = step.masses->size_in;
    if (request.fixed_step <= 0) refuse("a method of momenta needs a step");
    if (sizes[1] != static_cast<long long>(request.x0.size()) || sizes[2] != static_cast<long long>(request.u.size()) ||
        sizes[3] != static_cast<long long>(request.p.size()))
        refuse("x0, u or p has the wrong size for the step");
    request.method = Method::lobatto;
    request.implicit_table = &step, request.implicit_degree = 5;
}

void choose_implicit_method(nb::handle method, Ingredients& kept) {
    Request& request = kept.request;
    kept.tableau = nb::borrow(method);
    if (nb::isinstance<RosenbrockTable>(method)) {
        const RosenbrockTable& table = nb::cast<const RosenbrockTable&>(method);
        request.method = Method::rosenbrock;
        request.implicit_table = &table, request.implicit_degree = table.degree;
        return;
    }
    if (nb::isinstance<BdfSettings>(method)) {
        if (request.fixed_step > 0) refuse("BDF chooses its steps itself: step must be None; limit them with max_step");
        request.method = Method::bdf;
        request.implicit_table = &nb::cast<const BdfSettings&>(method), request.implicit_degree = bdf_orders;
        return;
    }
    if (nb::isinstance<ImplicitTable>(method)) {
        const ImplicitTable& table = nb::cast<const ImplicitTable&>(method);
        if (table.error.empty() && request.fixed_step <= 0) refuse("a tableau without b_hat needs a step");
        request.method = Method::implicit_tableau;
        request.implicit_table = &table, request.implicit_degree = table.degree();
        return;
    }
    if (nb::isinstance<PythonLobattoStep>(method))
        return choose_lobatto(nb::cast<const PythonLobattoStep&>(method).core, request);
    if (!nb::isinstance<CollocationTable>(method)) refuse("an implicit model needs an implicit method");
    const CollocationTable& table = nb::cast<const CollocationTable&>(method);
    request.method = Method::radau;
    request.implicit_table = &table, request.implicit_degree = table.stages + 1;
}

void choose_method(nb::handle method, Ingredients& kept) {
    Request& request = kept.request;
    if (request.implicit) return choose_implicit_method(method, kept);
    if (nb::isinstance<PythonTableau>(method)) {
        const PythonTableau& tableau = nb::cast<const PythonTableau&>(method);
        kept.tableau = nb::borrow(method);
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

void check_save_at(const Request& request) {
    const double sign = request.t1 < request.t0 ? -1 : 1;
    double last = request.t0;
    for (const double time : request.save_at) {
        if (!((time - last) * sign >= 0 && (request.t1 - time) * sign >= 0))
            refuse("save_at must run from t0 to t1 in order");
        last = time;
    }
}

void add_guards(nb::handle guards, nb::handle resets, long long switches, Ingredients& kept) {
    Request& request = kept.request;
    if (guards.is_none()) {
        if (!resets.is_none()) refuse("resets need guards");
        if (switches != 0) refuse("switches need guards");
        return;
    }
    const Function& function = model_function(guards, "guards");
    const long long count = function.size_out.size() == 1 ? function.size_out[0] : -1;
    check_model_function(function, request, count, "guards", true);
    const auto fill = [&](std::vector<long long>& list, long long otherwise, long long low, long long high,
                          const char* name) {
        if (list.empty()) list.assign(static_cast<std::size_t>(count), otherwise);
        if (static_cast<long long>(list.size()) != count) refuse(std::string(name) + " must have one entry a guard");
        for (const long long entry : list)
            if (entry < low || entry > high) refuse(std::string(name) + " has an entry out of range");
    };
    fill(kept.directions, 0, -1, 1, "directions");
    fill(kept.actions, 0, 0, 2, "actions");
    fill(kept.occurrences, 1, 1, std::numeric_limits<long long>::max(), "occurrences");
    request.directions = kept.directions, request.actions = kept.actions, request.occurrences = kept.occurrences;
    if (switches < 0 || switches > count || switches > static_cast<long long>(request.p.size()))
        refuse("switches must be a number of guards, each with a mode at the end of p");
    request.switches = switches;
    if (count == 0) return;
    kept.guards = nb::borrow(guards);
    request.guards = &function;
    if (resets.is_none()) return;
    const Function& reset_function = model_function(resets, "resets");
    const long long reset_size = (count - switches) * static_cast<long long>(request.x0.size());
    check_model_function(reset_function, request, reset_size, "resets", true);
    kept.resets = nb::borrow(resets);
    request.resets = &reset_function;
}

void add_projection(nb::handle projection, Ingredients& kept) {
    if (projection.is_none()) return;
    Request& request = kept.request;
    if (nb::isinstance<PythonProjection>(projection)) {
        const ConstraintLevels& levels = nb::cast<const PythonProjection&>(projection).core;
        check_sizes(levels.model->function->size_in, request, "the projection");
        if (request.implicit) refuse("implicit models take no projection of this kind");
        if (request.linear && request.linear->matrix.rows != levels.model->matrix.rows)
            refuse("the projection belongs to another linear model");
        kept.projection = nb::borrow(projection);
        request.levels = &levels;
        return;
    }
    const Function& function = model_function(projection, "projection");
    check_model_function(function, kept.request, static_cast<long long>(kept.request.x0.size()), "projection");
    kept.projection = nb::borrow(projection);
    kept.request.projection = &function;
}

void add_restart(nb::handle restart, Ingredients& kept) {
    if (restart.is_none()) return;
    if (!kept.request.implicit) refuse("only implicit models take a restart");
    const Function& function = model_function(restart, "restart");
    check_model_function(function, kept.request, static_cast<long long>(kept.request.x0.size()), "restart");
    kept.restart = nb::borrow(restart);
    kept.request.restart = &function;
}

void add_tables(const std::vector<nb::object>& tables, Ingredients& kept) {
    for (const nb::object& object : tables) {
        if (!nb::isinstance<Table>(object)) throw nb::type_error("tables must be a list of Table");
        const Table& table = nb::cast<const Table&>(object);
        for (const long long slot : table.slots)
            if (slot >= static_cast<long long>(kept.u.size())) refuse("a table has a slot beyond the end of u");
        kept.tables.push_back(&table);
    }
    kept.table_objects = tables;
    kept.request.tables = kept.tables;
}

std::vector<double> tolerances(nb::handle atol, double rtol, long long n) {
    if (!(rtol >= 0) || std::isinf(rtol)) refuse("rtol must be a number, not negative");
    std::vector<double> result(static_cast<std::size_t>(n), 1e-9);
    if (!atol.is_none()) {
        const Doubles given(atol);
        if (given.size() != n && given.size() != 1) refuse("atol must have one entry a state");
        for (long long i = 0; i < n; ++i) result[static_cast<std::size_t>(i)] = given.data()[given.size() == 1 ? 0 : i];
    }
    for (const double entry : result)
        if (!(entry >= 0) || entry + rtol == 0) refuse("atol must not be negative, and not zero together with rtol");
    return result;
}

using OptionalNumber = std::optional<double>;

void set_limits(Request& request, OptionalNumber step, OptionalNumber first_step, OptionalNumber max_step,
                std::optional<long long> max_steps, OptionalNumber time_limit) {
    const double infinity = std::numeric_limits<double>::infinity();
    request.fixed_step = positive(step, 0, "step");
    if (request.fixed_step > 0 && std::fabs(request.t1 - request.t0) / request.fixed_step > 1e15)
        refuse("step is too small for the span");
    request.first_step = positive(first_step, 0, "first_step");
    request.max_step = positive(max_step, infinity, "max_step");
    request.time_limit = positive(time_limit, infinity, "time_limit");
    request.max_steps = max_steps.value_or(std::numeric_limits<long long>::max());
    if (request.max_steps < 0) refuse("max_steps must not be negative");
}

// Runs without the GIL; exceptions of callbacks come out behind the loop.
void execute(PythonRun& run, const nb::object& progress, const Cancel* cancel) {
    Request& request = run.ingredients->request;
    KeptException exception;
    PythonWatch watch(progress, exception);
    request.cancel = cancel ? &cancel->flag : nullptr;
    request.keeper = &exception;
    {
        Run core(request);
        nb::gil_scoped_release nogil;
        run.record = std::make_shared<Record>(core.execute(&watch));
    }
    rethrow(exception);
    if (exception.interrupted) run.record->status = Status::interrupted;
    watch.report(run.record->stop_time);
    // What was borrowed for the run only.
    request.keeper = nullptr, request.cancel = nullptr;
    request.x0 = request.atol = request.save_at = {};
}

PythonRun integrate(nb::handle rhs, nb::handle method, double t0, double t1, nb::handle x0, nb::handle u, nb::handle p,
                    double rtol, nb::handle atol, OptionalNumber step, OptionalNumber first_step,
                    OptionalNumber max_step, std::optional<long long> max_steps, OptionalNumber time_limit,
                    nb::handle save_at, std::vector<nb::object> tables, nb::handle guards,
                    std::vector<long long> directions, std::vector<long long> actions,
                    std::vector<long long> occurrences, nb::handle resets, nb::handle projection, nb::handle restart,
                    long long switches, bool keep_steps, bool watch_stiffness, nb::object progress, const Cancel* cancel) {
    PythonRun run;
    run.ingredients = std::make_unique<Ingredients>();
    Ingredients& kept = *run.ingredients;
    Request& request = kept.request;
    const Doubles start(x0), inputs(u), parameters(p);

    if (!std::isfinite(t0) || !std::isfinite(t1)) refuse("t0 and t1 must be finite");
    request.t0 = t0, request.t1 = t1;
    kept.u.assign(inputs.span().begin(), inputs.span().end());
    kept.p.assign(parameters.span().begin(), parameters.span().end());
    request.x0 = start.span(), request.u = kept.u, request.p = kept.p;
    kept.rhs = nb::borrow(rhs);
    choose_model(rhs, kept);

    set_limits(request, step, first_step, max_step, max_steps, time_limit);
    choose_method(method, kept);
    const std::vector<double> absolute = tolerances(atol, rtol, start.size());
    request.rtol = rtol, request.atol = absolute;
    std::optional<Doubles> samples;
    if (!save_at.is_none()) request.save_at = samples.emplace(save_at).span();
    request.samples_only = run.samples_only = !save_at.is_none();
    request.keep_steps = keep_steps, request.watch_stiffness = watch_stiffness;
    check_save_at(request);

    kept.directions = std::move(directions);
    kept.actions = std::move(actions);
    kept.occurrences = std::move(occurrences);
    add_guards(guards, resets, switches, kept);
    add_projection(projection, kept);
    add_restart(restart, kept);
    add_tables(tables, kept);
    execute(run, progress, cancel);
    return run;
}

}  // namespace

void bind_integrate(nb::module_& module) {
    using namespace nb::literals;
    module.def("integrate", integrate, "rhs"_a, "method"_a, "t0"_a, "t1"_a, "x0"_a, "u"_a, "p"_a, nb::kw_only(),
               "rtol"_a = 1e-6, "atol"_a = nb::none(), "step"_a = nb::none(), "first_step"_a = nb::none(),
               "max_step"_a = nb::none(), "max_steps"_a = nb::none(), "time_limit"_a = nb::none(),
               "save_at"_a = nb::none(), "tables"_a = nb::list(), "guards"_a = nb::none(), "directions"_a = nb::list(),
               "actions"_a = nb::list(), "occurrences"_a = nb::list(), "resets"_a = nb::none(),
               "projection"_a = nb::none(), "restart"_a = nb::none(), "switches"_a = 0, "keep_steps"_a = true, "watch_stiffness"_a = false,
               "progress"_a = nb::none(), "cancel"_a = nb::none());
    module.attr("instruction_set") = has_avx2() ? "avx2" : "baseline";
}

}  // namespace daedalus
