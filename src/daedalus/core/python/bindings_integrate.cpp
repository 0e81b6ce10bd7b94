// The seam for runs: the numbers of one run are checked, the GIL is released, and a Run is handed back.
#include <cmath>
#include <optional>
#include <string_view>

#include "machine/instruction_set.hpp"
#include "python/checks.hpp"
#include "python/interpreter_lock.hpp"
#include "python/python_run.hpp"

namespace daedalus {

namespace {

// Signals, progress and onlookers: served with the GIL between chunks of steps.
class PythonWatch final : public Watch {
public:
    PythonWatch(nb::handle progress, nb::handle onlooker, KeptException& kept)
        : progress_(progress), onlooker_(onlooker), kept_(kept) {}
    Status look(const SoFar& so_far) override {
        const LockTaken taken;
        try {
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            report(so_far.t);
            show(so_far);
            return Status::going;
        } catch (const nb::python_error& error) {
            keep(kept_, error);
            return kept_.interrupted ? Status::interrupted : Status::aborted;
        }
    }
    void report(double t) {
        if (!progress_.is_none()) with_lasting_thread([&] { progress_(t); });
    }

private:
    // What an onlooker is handed goes blank behind the look, whoever may have kept it.
    void show(const SoFar& so_far) {
        if (onlooker_.is_none()) return;
        nb::object seen = nb::cast(PythonSoFar{&so_far});
        struct Over {
            PythonSoFar& seen;
            ~Over() { seen.now = nullptr; }
        } over{nb::cast<PythonSoFar&>(seen)};
        with_lasting_thread([&] { onlooker_(seen); });
    }

    nb::handle progress_, onlooker_;
    KeptException& kept_;
};

void check_sizes(const Plan& plan, const Doubles& x0, const Doubles& u, const Doubles& p) {
    if (x0.size() == plan.row_size && u.size() == plan.input_count && p.size() == plan.parameter_count) return;
    const auto listed = [](long long a, long long b, long long c) {
        return std::string("(") + std::to_string(a) + ", " + std::to_string(b) + ", " + std::to_string(c) + ")";
    };
    refuse("x0, u, p must have the sizes " + listed(plan.row_size, plan.input_count, plan.parameter_count) + ", not " +
           listed(x0.size(), u.size(), p.size()) + (plan.request.implicit ? "; x0 is the row (x, z, x')" : ""));
}

void set_span(Request& request, double t0, double t1) {
    if (!std::isfinite(t0) || !std::isfinite(t1)) refuse("t0 and t1 must be finite");
    if (request.fixed_step > 0 && std::fabs(t1 - t0) / request.fixed_step > 1e15)
        refuse("step is too small for the span");
    request.t0 = t0, request.t1 = t1;
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

void add_tables(nb::handle tables, PythonRun& run) {
    for (const nb::handle object : nb::borrow<nb::iterable>(tables)) {
        if (!nb::isinstance<Table>(object)) throw nb::type_error("tables must be a list of Table");
        const Table& table = nb::cast<const Table&>(object);
        check_places(table.slots, static_cast<long long>(run.u.size()), "a table has a slot beyond the end of u");
        run.tables.push_back(&table);
        run.table_objects.push_back(nb::borrow(object));
    }
    run.request.tables = run.tables;
}

// What is known to happen when; every number must name a guard or a clock of the plan.
void add_agenda(nb::handle object, PythonRun& run) {
    if (!nb::isinstance<PythonAgenda>(object)) throw nb::type_error("agenda must be an Agenda");
    const PythonAgenda& agenda = nb::cast<const PythonAgenda&>(object);
    Request& request = run.request;
    const long long guards = static_cast<long long>(request.directions.size());
    const long long actors = guards - request.switches + request.clocks;
    const char* const beyond = "the agenda has an entry out of range";
    check_places(agenda.what, actors, beyond);
    check_places(agenda.scheduled, guards, beyond), check_places(agenda.fired, guards, beyond);
    if (!agenda.calls.empty() && static_cast<long long>(agenda.calls.size()) != request.clocks)
        refuse("the agenda must have one entry a clock in calls");
    run.agenda = nb::borrow(object);
    request.due_times = agenda.times, request.due_what = agenda.what, request.due_rising = agenda.rising;
    request.scheduled = agenda.scheduled, request.fired = agenda.fired, request.calls = agenda.calls;
}

void add_delays(nb::handle object, PythonRun& run) {
    if (!nb::isinstance<PythonDelays>(object)) throw nb::type_error("delays must be Delays");
    const DelaySource& delays = nb::cast<const PythonDelays&>(object).core;
    const auto n = static_cast<long long>(run.request.x0.size()), nu = static_cast<long long>(run.u.size());
    if (run.request.t1 < run.request.t0) refuse("a run with delays goes forward");
    check_places(delays.slots, nu, "a delayed signal has a slot beyond the end of u");
    if (delays.signals->size_in != Integers{1, n, nu, static_cast<long long>(run.p.size())})
        refuse("the delayed signals must be a function of (t, x, u, p) of the model");
    run.delays = nb::borrow(object);
    run.request.delays = &delays;
}

// Runs without the GIL; exceptions of callbacks come out behind the loop.
void execute(PythonRun& run, nb::handle progress, nb::handle onlooker, const Cancel* cancel) {
    Request& request = run.request;
    KeptException exception;
    PythonWatch watch(progress, onlooker, exception);
    request.cancel = cancel ? &cancel->flag : nullptr;
    request.keeper = &exception;
    {
        Run core(request);
        const LockReleased released;
        run.record = std::make_shared<Record>(core.execute(&watch));
    }
    rethrow(exception);
    if (exception.interrupted)
        run.record->status = Status::interrupted;
    else
        watch.report(run.record->stop_time);
    // What was borrowed for the run only.
    request.keeper = nullptr, request.cancel = nullptr;
    request.x0 = request.save_at = {};
}

PythonRun run_plan(nb::handle_t<Plan> self, double t0, double t1, nb::handle x0, nb::handle u, nb::handle p,
                   nb::handle save_at, nb::handle tables, nb::handle progress, const Cancel* cancel,
                   nb::handle agenda, nb::handle delays, nb::handle onlooker, bool keep_between) {
    const Plan& plan = *nb::inst_ptr<Plan>(self);
    const Doubles start(x0), inputs(u), parameters(p);
    check_sizes(plan, start, inputs, parameters);
    PythonRun run;
    run.plan = nb::borrow(self);
    run.u.assign(inputs.span().begin(), inputs.span().end());
    run.p.assign(parameters.span().begin(), parameters.span().end());
    Request& request = run.request;
    request = plan.request;
    request.x0 = start.span(), request.u = run.u, request.p = run.p;
    set_span(request, t0, t1);
    std::optional<Doubles> samples;
    if (!save_at.is_none()) request.save_at = samples.emplace(save_at).span();
    request.samples_only = !save_at.is_none();
    check_save_at(request);
    if (!keep_between && (!request.samples_only || !onlooker.is_none()))
        refuse("without rows of steps, only save_at has any, and nobody looks on");
    request.keep_between = keep_between;
    if (!tables.is_none()) add_tables(tables, run);
    if (!agenda.is_none()) add_agenda(agenda, run);
    if (!delays.is_none()) add_delays(delays, run);
    execute(run, progress, onlooker, cancel);
    return run;
}

// A plan for one run: what belongs to the run alone is taken out of the options.
nb::object integrate(nb::handle model, nb::handle method, double t0, double t1, nb::handle x0, nb::handle u,
                     nb::handle p, const nb::kwargs& options) {
    nb::dict of_plan, of_run;
    for (const auto [name, value] : options) {
        const std::string_view text = nb::cast<nb::str>(name).c_str();
        const bool once = text == "save_at" || text == "tables" || text == "progress" || text == "cancel" ||
                          text == "agenda" || text == "delays" || text == "onlooker" || text == "keep_between";
        (once ? of_run : of_plan)[name] = value;
    }
    const nb::object plan = nb::type<Plan>()(model, method, **of_plan);
    return plan.attr("run")(t0, t1, x0, u, p, **of_run);
}

}  // namespace

void bind_integrate(nb::module_& module) {
    using namespace nb::literals;
    bind_plan(module).def("run", run_plan, "t0"_a, "t1"_a, "x0"_a, "u"_a, "p"_a, "save_at"_a = nb::none(),
                          "tables"_a = nb::none(), "progress"_a = nb::none(), "cancel"_a = nb::none(),
                          "agenda"_a = nb::none(), "delays"_a = nb::none(), "onlooker"_a = nb::none(),
                          "keep_between"_a = true);
    module.def("integrate", integrate, "model"_a, "method"_a, "t0"_a, "t1"_a, "x0"_a, "u"_a, "p"_a, "options"_a);
    nb::class_<Cancel>(module, "Cancel")
        .def(nb::init<>())
        .def("set", [](Cancel& self) { self.flag.store(true); })
        .def_prop_ro("is_set", [](const Cancel& self) { return self.flag.load(); });
    module.attr("instruction_set") = has_avx2() ? "avx2" : "baseline";
}

}  // namespace daedalus
