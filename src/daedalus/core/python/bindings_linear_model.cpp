// The seam for linear models: x' and z at many points, and states moved onto constraints.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>

#include "python/checks.hpp"
#include "python/interpreter_lock.hpp"
#include "python/python_models.hpp"
#include "run/kernel_choice.hpp"

namespace daedalus {

namespace {

// Unknown and known places together must be those of (x'; z), each once.
void check_unknowns(const LinearModel& model) {
    if (model.solved.empty() && model.known.empty()) return;
    Integers places = model.solved;
    places.insert(places.end(), model.known.begin(), model.known.end());
    std::sort(places.begin(), places.end());
    bool fits = static_cast<long long>(model.solved.size()) == model.unknowns;
    for (std::size_t k = 0; k < places.size(); ++k) fits = fits && places[k] == static_cast<long long>(k);
    if (!fits) refuse("solved and known must be the places of x' and z, each once");
}

void construct_model(PythonLinearModel* self, nb::object function, long long states, long long unknowns,
                     Integers colind, Integers rows, Integers solved, Integers known) {
    LinearModel model;
    model.function = &function_of(function, "function");
    model.states = states, model.unknowns = unknowns;
    model.matrix = {unknowns, std::move(colind), std::move(rows)};
    model.solved = std::move(solved), model.known = std::move(known);
    if (states < 0 || unknowns < 0 || model.size() < states) refuse("there are more states than unknowns");
    check_columns(model.matrix.colind, model.matrix.rows, unknowns, unknowns, "the matrix");
    check_unknowns(model);
    const Integers &in = model.function->size_in, &out = model.function->size_out;
    Integers expected{model.matrix.nonzeros(), unknowns};
    if (!model.known.empty()) expected.push_back(static_cast<long long>(model.known.size()));
    if (in.size() != 4 || in[0] != 1 || in[1] != states || out != expected)
        refuse("function must map (t, x, u, p) to the nonzeros of the matrix, the right side and what is known");
    new (self) PythonLinearModel{std::move(model), std::move(function)};
}

// A function of the model's arguments; `more` is the size of a fifth one.
const Function* level_function(nb::handle object, const char* role, const LinearModel& model, long long outputs,
                               long long more = -1) {
    if (object.is_none()) return nullptr;
    const Function& function = function_of(object, role);
    Integers expected = model.function->size_in;
    if (more >= 0) expected.push_back(more);
    if (function.size_in != expected || function.size_out != Integers{outputs})
        refuse(std::string(role) + " does not fit the model");
    return &function;
}

void construct_projection(PythonProjection* self, nb::object model, nb::object positions, Integers position_rows,
                          nb::object velocities, Integers velocity_rows, nb::object motion, nb::object others,
                          nb::object nominal) {
    ConstraintLevels levels;
    const LinearModel& linear = nb::cast<const PythonLinearModel&>(model).core;
    levels.model = &linear;
    levels.positions = level_function(positions, "positions", linear, (long long)position_rows.size());
    levels.velocities = level_function(velocities, "velocities", linear, (long long)velocity_rows.size());
    levels.motion = level_function(motion, "motion", linear, linear.states, linear.states);
    levels.others = level_function(others, "others", linear, linear.states);
    if (!position_rows.empty() && (!levels.positions || !levels.motion)) refuse("positions need a function and a motion");
    if (!velocity_rows.empty() && !levels.velocities) refuse("velocities need a function");
    for (const Integers* rows : {&position_rows, &velocity_rows})
        check_places(*rows, linear.unknowns, "a row is not one of the matrix");
    levels.position_rows = std::move(position_rows), levels.velocity_rows = std::move(velocity_rows);
    const Doubles sizes(nominal);
    if (sizes.size() != linear.states) refuse("nominal must have one entry a state");
    levels.nominal.assign(sizes.span().begin(), sizes.span().end());
    for (const double size : levels.nominal)
        if (!(size > 0)) refuse("nominal must be positive");
    new (self) PythonProjection{std::move(levels),     std::move(model),  std::move(positions),
                                std::move(velocities), std::move(motion), std::move(others)};
}

// The points of many evaluations, and one linear system that goes through them.
class Points {
public:
    Points(const LinearModel& model, const ConstraintLevels* levels, nb::handle t, nb::handle x, nb::handle u,
           nb::handle p, KeptException& kept)
        : t_(t), x_(x), u_(u), p_(p), states_(model.states), kernels_(choose_linear_model_kernels()) {
        rows = t_.size();
        inputs_ = model.function->size_in[2];
        many_inputs_ = inputs_ > 0 && u_.size() != inputs_;
        parameters_ = model.function->size_in[3];
        many_parameters_ = parameters_ > 0 && p_.size() != parameters_;
        if (x_.size() != rows * states_) refuse("x must have one row a time");
        if (many_inputs_ && u_.size() != rows * inputs_) refuse("u must have one row, or one row a time");
        if (many_parameters_ ? p_.size() != rows * parameters_ : p_.size() != parameters_)
            refuse("p must have one row, or one row a time");
        LevelCalls calls;
        if (levels) {
            calls.positions = connect(levels->positions, kept), calls.velocities = connect(levels->velocities, kept);
            calls.motion = connect(levels->motion, kept), calls.others = connect(levels->others, kept);
        }
        system = kernels_.make(model, connect(model.function, kept), levels, calls, 0);
        if (!system) throw std::bad_alloc();
    }
    ~Points() { kernels_.destroy(system); }
    Points(const Points&) = delete;
    Points& operator=(const Points&) = delete;

    const double* go_to(long long row) {
        time_ = t_.data()[row];
        for (Call* call : calls_) {
            call->arg[2] = u_.data() + (many_inputs_ ? row * inputs_ : 0);
            call->arg[3] = p_.data() + (many_parameters_ ? row * parameters_ : 0);
        }
        return x_.data() + row * states_;
    }
    const LinearModelKernels& kernels() const { return kernels_; }

    long long rows = 0;
    void* system = nullptr;

private:
    // Copies of a call share its argument list, so that later changes reach all of them.
    Call connect(const Function* function, KeptException& kept) {
        if (!function) return {};
        callers_.push_back(std::make_unique<Caller>(*function, &kept));
        Call& call = callers_.back()->call();
        call.arg[0] = &time_, call.arg[2] = u_.data(), call.arg[3] = p_.data();
        calls_.push_back(&call);
        return call;
    }

    Doubles t_, x_, u_, p_;
    long long states_, inputs_ = 0, parameters_ = 0;
    bool many_inputs_ = false, many_parameters_ = false;
    double time_ = 0;
    LinearModelKernels kernels_;
    std::vector<std::unique_ptr<Caller>> callers_;
    std::vector<Call*> calls_;
};

nb::tuple evaluate_many(const PythonLinearModel& self, nb::handle t, nb::handle x, nb::handle u, nb::handle p) {
    const LinearModel& model = self.core;
    KeptException kept;
    Points points(model, nullptr, t, x, u, p, kept);
    const long long algebraic = model.size() - model.states;
    Storage<double> slopes(points.rows * model.states), others(points.rows * algebraic);
    {
        const LockReleased released;
        const double* solution = points.kernels().solution(points.system);
        bool going = true;
        for (long long row = 0; row < points.rows && going; ++row) {
            const Solved outcome = points.kernels().solve(points.system, points.go_to(row));
            going = outcome != Solved::aborted;
            const double nothing = std::numeric_limits<double>::quiet_NaN();
            for (long long i = 0; i < model.states; ++i)
                slopes.data()[row * model.states + i] = outcome == Solved::done ? solution[i] : nothing;
            for (long long i = 0; i < algebraic; ++i)
                others.data()[row * algebraic + i] = outcome == Solved::done ? solution[model.states + i] : nothing;
        }
    }
    raise_kept(kept);
    const auto rows = static_cast<std::size_t>(points.rows);
    return nb::make_tuple(to_numpy(std::move(slopes), {rows, std::size_t(model.states)}),
                          to_numpy(std::move(others), {rows, std::size_t(algebraic)}));
}

// States on the constraints; NaN where there is no way to them.
nb::tuple project_many(const PythonProjection& self, nb::handle t, nb::handle x, nb::handle u, nb::handle p) {
    const LinearModel& model = *self.core.model;
    KeptException kept;
    Points points(model, &self.core, t, x, u, p, kept);
    Storage<double> projected(points.rows * model.states);
    {
        const LockReleased released;
        bool going = true;
        for (long long row = 0; row < points.rows && going; ++row) {
            double* out = projected.data() + row * model.states;
            std::copy_n(points.go_to(row), model.states, out);
            const Projected outcome = points.kernels().project(points.system, out, true);
            going = outcome != Projected::aborted;
            if (outcome != Projected::done) std::fill_n(out, model.states, std::numeric_limits<double>::quiet_NaN());
        }
    }
    raise_kept(kept);
    return nb::make_tuple(to_numpy(std::move(projected), {std::size_t(points.rows), std::size_t(model.states)}));
}

nb::dict work(const PythonLinearModel& self, nb::handle t, nb::handle x, nb::handle u, nb::handle p) {
    KeptException kept;
    Points points(self.core, nullptr, t, x, u, p, kept);
    for (long long row = 0; row < points.rows; ++row) points.kernels().solve(points.system, points.go_to(row));
    raise_kept(kept);
    const SolverCounts counts = points.kernels().counts(points.system);
    nb::dict found;
    found["factorisations"] = counts.factorisations, found["orderings"] = counts.orderings;
    found["fill"] = counts.fill, found["operations"] = counts.operations, found["dense"] = counts.dense;
    return found;
}

PythonLinearModel with_function(const PythonLinearModel& self, nb::object function) {
    PythonLinearModel other{self.core, function};
    other.core.function = &function_of(function, "function");
    if (other.core.function->size_in != self.core.function->size_in ||
        other.core.function->size_out != self.core.function->size_out)
        refuse("the other function has other sizes");
    return other;
}

}  // namespace

void bind_linear_model(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<PythonLinearModel>(module, "LinearModel")
        .def("__init__", construct_model, "function"_a, "states"_a, "unknowns"_a, "colind"_a, "rows"_a,
             "solved"_a = Integers(), "known"_a = Integers())
        .def_prop_ro("function", [](const PythonLinearModel& self) { return self.function; })
        .def_prop_ro("states", [](const PythonLinearModel& self) { return self.core.states; })
        .def_prop_ro("unknowns", [](const PythonLinearModel& self) { return self.core.unknowns; })
        .def("with_function", with_function, "function"_a)
        .def("evaluate_many", evaluate_many, "t"_a, "x"_a, "u"_a, "p"_a)
        .def("work", work, "t"_a, "x"_a, "u"_a, "p"_a);
    nb::class_<PythonProjection>(module, "Projection")
        .def("__init__", construct_projection, "model"_a, "positions"_a.none(), "position_rows"_a,
             "velocities"_a.none(), "velocity_rows"_a, "motion"_a.none(), "others"_a.none(), "nominal"_a)
        .def("evaluate_many", project_many, "t"_a, "x"_a, "u"_a, "p"_a);
}

}  // namespace daedalus
