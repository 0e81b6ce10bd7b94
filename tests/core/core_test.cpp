// The core without Python, for `make sanitize`: every method, inputs, events, stops and dense output.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <thread>
#include <vector>

#include "adjoint.hpp"
#include "bdf_settings.hpp"
#include "implicit_table.hpp"
#include "linear_solver.hpp"
#include "lobatto_step.hpp"
#include "rosenbrock_table.hpp"
#include "run.hpp"

using namespace daedalus;

namespace {

int failures = 0;

#define CHECK(condition)                                                       \
    if (!(condition)) {                                                        \
        std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
        ++failures;                                                            \
    }

bool near(double a, double b, double tolerance) { return std::fabs(a - b) <= tolerance; }

// Model functions: (t, x, u, p) -> result.
int oscillator(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[1][1], res[0][1] = -arg[1][0];
    return 0;
}
int fall(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[1][1], res[0][1] = -9.81;
    return 0;
}
int height(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[1][0];
    return 0;
}
int bounce(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[1][0], res[0][1] = -arg[3][0] * arg[1][1];
    return 0;
}
int driven(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[2][0], res[0][1] = arg[2][1];
    return 0;
}
int square(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = 0, res[0][1] = arg[1][1] * arg[1][1];
    return 0;
}
int nothing(const double**, double**, long long*, double*, int) { return 0; }

// 0 = x' - z, 0 = z + x - u: (t, x', x, z, u, p) -> F; dF/dx' and dF/d(x, z); (..., u') -> dF/du u'.
int relaxing(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[1][0] - arg[3][0], res[0][1] = arg[3][0] + arg[2][0] - arg[4][0];
    return 0;
}
int relaxing_jacobian(const double**, double** res, long long*, double*, int) {
    res[0][0] = 1, res[1][0] = 1, res[1][1] = -1, res[1][2] = 1;
    return 0;
}
int relaxing_drift(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = 0, res[0][1] = -arg[6][0];
    return 0;
}
int below_half(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[1][0] - 0.5;
    return 0;
}
int lift(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[1][0] + 0.5, res[0][1] = 0, res[0][2] = 0;
    return 0;
}
int scaled_turn(const double** arg, double** res, long long*, double*, int) {
    const double speed = arg[3][0];
    res[0][0] = speed * arg[1][1] + arg[2][0], res[0][1] = -speed * arg[1][0];
    return 0;
}
// The transposed derivative of scaled_turn: (t, x, u, p, k) -> weights of x, u, p; then those of halving and of nothing.
int pulled_turn(const double** arg, double** res, long long*, double*, int) {
    const double speed = arg[3][0], *x = arg[1], *k = arg[4];
    res[0][0] = -speed * k[1], res[0][1] = speed * k[0];
    res[1][0] = k[0];
    res[2][0] = k[0] * x[1] - k[1] * x[0];
    return 0;
}
int pulled_half(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = 0.5 * arg[4][0], res[0][1] = 0.5 * arg[4][1], res[1][0] = 0, res[2][0] = 0;
    return 0;
}
int fails(const double**, double**, long long*, double*, int) { return 1; }

struct Model {
    Function function;
    Model(MachineCode code, std::initializer_list<long long> in, long long out) {
        function.name = "model";
        function.size_in = in, function.size_out = {out};
        function.sz_arg = 7, function.sz_res = 2;
        function.machine_code = code;
    }
};

const std::vector<double> one{1e-9, 1e-9};

Request request_for(const Model& model, const std::vector<double>& x0, double t1) {
    Request request;
    request.rhs = &model.function;
    request.x0 = x0, request.t1 = t1, request.rtol = 1e-9, request.atol = one;
    return request;
}

Record run(const Request& request) { return Run(request).execute(nullptr); }

Tableau rk4() {
    const std::vector<double> a{0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 1, 0};
    return {a, {1 / 6., 1 / 3., 1 / 3., 1 / 6.}, {0, 0.5, 0.5, 1}, {}, 4, 0};
}

void check_dense(const Request& request, const Record& record, double tolerance) {
    Status status;
    const DenseRecord dense = make_dense(request, record, status);
    const Pieces pieces{dense.starts.data(), dense.ends.data(), dense.coefficients.data(), dense.count, record.n,
                        dense.degree};
    for (int i = 0; i <= 50; ++i) {
        const double t = request.t1 * i / 50;
        double x[2];
        const long long piece = piece_at(pieces, t);
        CHECK(piece >= 0);
        evaluate_piece(pieces, piece, t, x);
        CHECK(near(x[0], std::cos(t), tolerance) && near(x[1], -std::sin(t), tolerance));
    }
    CHECK(piece_at(pieces, request.t1 * 1.01) < 0);
}

void every_method() {
    const Model model(oscillator, {1, 2, 0, 0}, 2);
    const std::vector<double> x0{1, 0};
    for (const Method method : {Method::bs3, Method::tsit5, Method::dopri5, Method::dop853})
        for (const double t1 : {10.0, -10.0}) {
            Request request = request_for(model, x0, t1);
            request.method = method;
            const Record record = run(request);
            CHECK(record.status == Status::finished);
            CHECK(near(record.step_x.data()[2 * (record.step_count - 1)], std::cos(t1), 1e-6));
            check_dense(request, record, 1e-6);
        }
    const Tableau numbers = rk4();
    const PreparedTableau prepared(numbers);
    Request request = request_for(model, x0, 10);
    request.method = Method::general, request.general = &prepared.method(), request.fixed_step = 0.01;
    const Record record = run(request);
    CHECK(record.steps == 1000 && record.rhs_calls == 4000);
    check_dense(request, record, 1e-8);
}

// An order far above the stages' own only lengthens the construction of the dense output, which is what is exercised.
void raised_dense_output() {
    const Model model(oscillator, {1, 2, 0, 0}, 2);
    const std::vector<double> x0{1, 0};
    Tableau numbers = rk4();
    numbers.order = 9;
    const PreparedTableau prepared(numbers);
    CHECK(prepared.method().degree == 8 && prepared.method().level_count == 5);
    Request request = request_for(model, x0, 2);
    request.method = Method::general, request.general = &prepared.method(), request.fixed_step = 0.01;
    check_dense(request, run(request), 1e-9);
}

void samples() {
    const Model model(oscillator, {1, 2, 0, 0}, 2);
    const std::vector<double> x0{1, 0}, times{0, 0.1, 0.1, 3, 9.99, 10};
    Request request = request_for(model, x0, 10);
    request.save_at = times, request.samples_only = true, request.keep_steps = false, request.method = Method::dop853;
    const Record record = run(request);
    CHECK(record.sample_count == 6 && record.step_count == 0);
    for (int i = 0; i < 6; ++i) CHECK(near(record.sample_x.data()[2 * i], std::cos(times[i]), 1e-7));
}

void inputs() {
    const Model model(driven, {1, 2, 2, 0}, 2);
    const std::vector<double> x0{0, 0}, u{0, 0};
    const Table hold{{0, 1, 2.5}, {1, -2, 3}, {0}, false}, ramp{{0, 1, 3}, {0, 2, -1}, {1}, true};
    const std::vector<const Table*> tables{&hold, &ramp};
    Request request = request_for(model, x0, 4);
    request.u = u, request.tables = tables;
    const Record record = run(request);
    const double* end = record.step_x.data() + 2 * (record.step_count - 1);
    CHECK(near(end[0], 1 - 3 + 4.5, 1e-13) && near(end[1], 1 + 1 - 1, 1e-13));
}

void events() {
    const Model model(fall, {1, 2, 0, 1}, 2), guards(height, {1, 2, 0, 1}, 1), resets(bounce, {1, 2, 0, 1}, 2);
    const std::vector<double> x0{1, 0};
    const std::vector<long long> falling{-1}, cut{1}, stop{2}, once{1};
    for (const double restitution : {0.95, 0.5, 0.01}) {
        const std::vector<double> p{restitution};
        Request request = request_for(model, x0, 30);
        request.p = p, request.guards = &guards.function, request.resets = &resets.function;
        request.directions = falling, request.actions = cut, request.occurrences = once;
        const Record record = run(request);
        CHECK(record.status == Status::chattering);
        CHECK(near(record.event_t.data()[0], std::sqrt(2 / 9.81), 1e-14));
        for (long long i = 0; i < record.step_count; ++i) CHECK(record.step_x.data()[2 * i] > -1e-12);
        request.actions = stop;
        CHECK(run(request).status == Status::event);
    }
}

#include "core_switches.hpp"

void stops() {
    const std::vector<double> x0{0, 1}, bad{NAN, 1}, empty;
    const Model model(square, {1, 2, 0, 0}, 2), none(nothing, {1, 0, 0, 0}, 0);
    const Record pole = run(request_for(model, x0, 2));
    CHECK(pole.status == Status::step_too_small || pole.status == Status::not_finite);
    CHECK(pole.culprit.component == 1 && near(pole.stop_time, 1, 1e-6));
    CHECK(run(request_for(model, bad, 2)).status == Status::not_finite);
    CHECK(run(request_for(model, x0, 0)).step_count == 1);
    CHECK(run(request_for(none, empty, 3)).status == Status::finished);

    Request limited = request_for(model, x0, 0.9);
    limited.max_steps = 3;
    CHECK(run(limited).steps == 3);
    const std::atomic<bool> cancel{true};
    limited = request_for(model, x0, 0.9);
    limited.cancel = &cancel;
    CHECK(run(limited).status == Status::cancelled);
}

// 0 = x' - z, 0 = z + 50 (x - cos t): (t, x', x, z, u, p) -> F; dF/dx' and dF/d(x, z).
int pulled(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[1][0] - arg[3][0];
    res[0][1] = arg[3][0] + 50 * (arg[2][0] - std::cos(arg[0][0])) + (arg[2][0] < -5 ? NAN : 0);
    return 0;
}
int pulled_jacobian(const double**, double** res, long long*, double*, int) {
    res[0][0] = 1, res[1][0] = 50, res[1][1] = -1, res[1][2] = 1;
    return 0;
}
int flat_jacobian(const double**, double** res, long long*, double*, int) {
    res[0][0] = 1, res[1][0] = 50, res[1][1] = 0, res[1][2] = 0;
    return 0;
}
int above_half(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[1][0] - 0.5;
    return 0;
}
int raise_by_half(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[1][0] + 0.5, res[0][1] = 0, res[0][2] = 0;
    return 0;
}

void bdf() {
    Model residual(pulled, {1, 1, 1, 1, 0, 0}, 2), jacobian(pulled_jacobian, {1, 1, 1, 1, 0, 0}, 1);
    for (Function* function : {&residual.function, &jacobian.function}) function->sz_arg = 6, function->sz_res = 2;
    jacobian.function.size_out = {1, 3};
    ImplicitModel model;
    model.residual = &residual.function, model.jacobian = &jacobian.function;
    model.states = 1, model.unknowns = 2;
    model.matrix.n = 2, model.matrix.colind = {0, 2, 4}, model.matrix.rows = {0, 1, 0, 1};
    model.dot_place = {0}, model.all_place = {1, 2, 3}, model.index = {1, 1}, model.level = {0, 0};
    model.has_derivative = {1}, model.constraints = {1};
    const std::vector<double> x0{1, 0, 0}, tolerances{1e-8, 1e-8, 1e-8};
    const auto exact = [](double t) {
        return (2500 * std::cos(t) + 50 * std::sin(t) + std::exp(-50 * t)) / 2501;
    };
    for (int order = 1; order <= bdf_orders; ++order) {
        const BdfSettings settings{order, order % 2 == 0};
        Request request;
        request.implicit = &model, request.implicit_table = &settings, request.implicit_degree = bdf_orders;
        request.method = Method::bdf, request.t1 = 2, request.rtol = 1e-8, request.atol = tolerances, request.x0 = x0;
        const Record record = run(request);
        CHECK(record.status == Status::finished && record.implicit.factorisations < record.steps / 2 + 5);
        const double error = record.step_x.data()[3 * (record.step_count - 1)] - exact(2);
        CHECK(std::fabs(error) < (order == 1 ? 1e-4 : 1e-6));
        const DenseRecord& dense = record.dense;
        const Pieces pieces{dense.starts.data(), dense.ends.data(), dense.coefficients.data(), dense.count, 3,
                            dense.degree};
        double row[3];
        evaluate_piece(pieces, piece_at(pieces, 1.234), 1.234, row);
        CHECK(near(row[0], exact(1.234), order == 1 ? 1e-4 : 1e-6));

        const Model guards(above_half, {1, 3, 0, 0}, 1), resets(raise_by_half, {1, 3, 0, 0}, 3);
        const std::vector<long long> falling{-1}, cut{1}, once{1};
        request.guards = &guards.function, request.resets = &resets.function;
        request.directions = falling, request.actions = cut, request.occurrences = once;
        const Record cut_run = run(request);
        CHECK(cut_run.status == Status::finished && cut_run.event_count > 3);
        CHECK(near(exact(cut_run.event_t.data()[0]), 0.5, order == 1 ? 1e-4 : 1e-6));
    }
    const BdfSettings settings;
    Request request;
    request.implicit = &model, request.implicit_table = &settings, request.implicit_degree = bdf_orders;
    request.method = Method::bdf, request.t1 = 2, request.atol = tolerances;
    const std::vector<double> outside{-6, 0, 0};
    request.x0 = outside;
    CHECK(run(request).status == Status::not_finite);
    request.x0 = x0;
    jacobian.function.machine_code = flat_jacobian;
    const Record singular = run(request);
    CHECK(singular.status == Status::singular && singular.culprit.component == 1);
}

// x1' = x2, 0 = x2' z + x1, z = 1: (t, x', x, z, u, p) -> F, and its Jacobians by x' and by (x, z).
int implicit_oscillator(const double** arg, double** res, long long*, double*, int) {
    const double *rate = arg[1], *x = arg[2], *z = arg[3];
    res[0][0] = rate[0] - x[1], res[0][1] = rate[1] * z[0] + x[0], res[0][2] = z[0] - 1;
    return 0;
}
int implicit_jacobian(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = 1, res[0][1] = arg[3][0];
    res[1][0] = 1, res[1][1] = -1, res[1][2] = arg[1][1], res[1][3] = 1;
    return 0;
}

struct ImplicitOscillator {
    Model residual{implicit_oscillator, {1, 2, 2, 1, 0, 0}, 3}, jacobian{implicit_jacobian, {1, 2, 2, 1, 0, 0}, 2};
    ImplicitModel model;
    ImplicitOscillator() {
        for (Function* function : {&residual.function, &jacobian.function}) function->sz_arg = 6, function->sz_res = 2;
        jacobian.function.size_out = {2, 4};
        model.residual = &residual.function, model.jacobian = &jacobian.function;
        model.states = 2, model.unknowns = 3;
        // Columns: x1 (rows 0 by x', 1), x2 (rows 0, 1 by x'), z (rows 1, 2).
        model.matrix.n = 3, model.matrix.colind = {0, 2, 4, 6}, model.matrix.rows = {0, 1, 0, 1, 1, 2};
        model.dot_place = {0, 3}, model.all_place = {1, 2, 4, 5};
        model.index = {1, 1, 1}, model.level = {0, 0, 0}, model.constraints = {2};
        model.has_derivative = {1, 1};
    }
};

ImplicitTable implicit_table(std::vector<double> a, std::vector<double> b, std::vector<double> c,
                             std::vector<double> b_hat, int order) {
    ImplicitTable table;
    table.stages = static_cast<int>(b.size()), table.order = order, table.control_order = order;
    for (std::size_t j = 0; j < b_hat.size(); ++j) table.error.push_back(b[j] - b_hat[j]);
    // Straight lines between the ends.
    table.x_degree = table.z_degree = 1;
    table.x_weights = b, table.z_weights.assign(b.size() + 1, 0.0), table.z_weights.back() = 1;
    table.a = std::move(a), table.b = std::move(b), table.c = std::move(c);
    complete_table(table);
    return table;
}

void implicit_tableaux() {
    const ImplicitOscillator oscillating;
    const std::vector<double> start{1, 0, 1, 0, -1}, small(5, 1e-9);
    const double r = std::sqrt(3.0) / 6, w = std::sqrt(2.0) / 4, d = 1 - 2 * w;
    const ImplicitTable gauss =
        implicit_table({0.25, 0.25 - r, 0.25 + r, 0.25}, {0.5, 0.5}, {0.5 - r, 0.5 + r}, {0.4, 0.6}, 4);
    const ImplicitTable trbdf2 = implicit_table({0, 0, 0, d, d, 0, w, w, d}, {w, w, d}, {0, 2 * d, 1},
                                                {(1 - w) / 3, (3 * w + 1) / 3, d / 3}, 2);
    CHECK(gauss.groups.size() == 1 && trbdf2.groups.size() == 3 && trbdf2.groups[0].known);
    CHECK(!gauss.ends_in_last_stage && trbdf2.ends_in_last_stage);
    for (const ImplicitTable* table : {&gauss, &trbdf2})
        for (const double step : {0.01, 0.0}) {
            Request request;
            request.implicit = &oscillating.model, request.method = Method::implicit_tableau;
            request.implicit_table = table, request.implicit_degree = table->degree();
            request.x0 = start, request.t1 = 3, request.fixed_step = step, request.rtol = 1e-6, request.atol = small;
            const Record record = run(request);
            CHECK(record.status == Status::finished && (step == 0 || record.steps == 300));
            const double* end = record.step_x.data() + 5 * (record.step_count - 1);
            const double tolerance = step == 0 ? 1e-2 : table == &gauss ? 1e-9 : 1e-4;
            CHECK(near(end[0], std::cos(3), tolerance) && near(end[2], 1, 1e-12) && near(end[4], -end[0], 1e-6));
            CHECK(record.dense.count == record.steps);
        }
}

// A pendulum in Cartesian coordinates by RATTLE: x = (q, v), z = (lambda), unknowns (V1, V2, impulse).
constexpr double weight = 9.81;

int rattle_residual(const double** arg, double** res, long long*, double*, int) {
    const double h = *arg[1], *y = arg[2], *w = arg[3];
    for (int i = 0; i < 2; ++i) {
        const double push = 0.5 * (h * (i ? -weight : 0) + y[i] * w[4]);
        res[0][i] = w[i] - y[2 + i] - push, res[0][2 + i] = w[2 + i] - y[2 + i] - push;
    }
    const double a = y[0] + 0.5 * h * (w[0] + w[2]), b = y[1] + 0.5 * h * (w[1] + w[3]);
    res[0][4] = 0.5 * (a * a + b * b - 1) / h;
    return 0;
}
int rattle_jacobian(const double** arg, double** res, long long*, double*, int) {
    const double h = *arg[1], *y = arg[2], *w = arg[3];
    for (int k = 0; k < 4; ++k) {
        res[0][2 * k] = 1;
        res[0][2 * k + 1] = 0.5 * (y[k % 2] + 0.5 * h * (w[k % 2] + w[k % 2 + 2]));
        res[0][8 + k] = -0.5 * y[k % 2];
    }
    return 0;
}
int rattle_landing(const double** arg, double** res, long long*, double*, int) {
    const double h = *arg[1], *y = arg[2], *w = arg[3];
    for (int i = 0; i < 2; ++i) {
        res[0][i] = y[i] + 0.5 * h * (w[i] + w[2 + i]);
        res[1][i] = y[2 + i] + 0.5 * y[i] * w[4] + h * (i ? -weight : 0);
    }
    return 0;
}
int rattle_masses(const double** arg, double** res, long long*, double*, int) {
    const double* y = arg[1];
    const double saddle[] = {1, y[0], 1, y[1], -y[0], -y[1]};
    std::copy_n(saddle, 6, res[0]);
    res[1][0] = y[2], res[1][1] = y[3];
    res[2][0] = -(y[0] * y[2] + y[1] * y[3]);
    res[3][0] = -0.5 * (y[0] * y[0] + y[1] * y[1] - 1);
    return 0;
}
int rattle_motion(const double** arg, double** res, long long*, double*, int) {
    const double* y = arg[1];
    res[0][0] = 0, res[0][1] = -weight, res[0][2] = -(y[2] * y[2] + y[3] * y[3]);
    return 0;
}
int rattle_bounce(const double** arg, double** res, long long*, double*, int) {
    std::copy_n(arg[1], 9, res[0]);
    // A little off the circle and not along it: the run must bring both back.
    res[0][0] *= 1.001, res[0][2] = -arg[1][2], res[0][3] = 0.1 - arg[1][3];
    return 0;
}

struct StepFunction {
    Function function;
    StepFunction(MachineCode code, std::initializer_list<long long> in, std::initializer_list<long long> out) {
        function.size_in = in, function.size_out = out;
        function.sz_arg = 6, function.sz_res = 4;
        function.machine_code = code;
    }
};

void rattle() {
    const std::initializer_list<long long> at_step{1, 1, 9, 5, 0, 0}, at_row{1, 9, 0, 0};
    const StepFunction residual(rattle_residual, at_step, {5}), jacobian(rattle_jacobian, at_step, {12});
    const StepFunction landing(rattle_landing, at_step, {2, 2}), masses(rattle_masses, at_row, {6, 2, 1, 1});
    const StepFunction motion(rattle_motion, at_row, {3}), unused(nothing, {1, 4, 4, 1, 0, 0}, {5});
    LobattoStep step;
    step.residual = &residual.function, step.jacobian = &jacobian.function, step.landing = &landing.function;
    step.masses = &masses.function, step.motion = &motion.function;
    step.stages = {5, {0, 2, 4, 6, 8, 12}, {0, 4, 1, 4, 2, 4, 3, 4, 0, 1, 2, 3}};
    step.saddle = {3, {0, 2, 4, 6}, {0, 2, 1, 2, 0, 1}};
    step.nodes = {0, 1}, step.half_way = {0.5, 0.5};
    step.positions = {0, 1}, step.velocities = {2, 3}, step.multipliers = {0};
    ImplicitModel model;
    model.residual = model.jacobian = &unused.function;
    model.states = 4, model.unknowns = 5;
    model.matrix = {5, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4}};

    const std::vector<double> x0{1, 0, 0, 0, 0, 0, 0, 0, -weight}, tolerance(9, 1e-9);
    Request request;
    request.implicit = &model, request.implicit_table = &step, request.implicit_degree = 5;
    request.method = Method::lobatto, request.fixed_step = 0.01;
    request.x0 = x0, request.atol = tolerance, request.t1 = 20;
    const Record record = run(request);
    CHECK(record.status == Status::finished && record.steps == 2000 && record.dense.count == 2000);
    double energy = 0, off = 0, across = 0;
    for (long long k = 0; k < record.step_count; ++k) {
        const double* y = record.step_x.data() + 9 * k;
        off = std::max(off, std::fabs(y[0] * y[0] + y[1] * y[1] - 1));
        across = std::max(across, std::fabs(y[0] * y[2] + y[1] * y[3]));
        energy = std::max(energy, std::fabs(0.5 * (y[2] * y[2] + y[3] * y[3]) + weight * y[1]));
    }
    CHECK(off < 1e-14 && across < 1e-13);
    CHECK(energy > 1e-6 && energy < 1e-2);

    // It starts at rest on one side; where it passes the bottom it is turned back by a reset.
    const Model bottom(height, {1, 9, 0, 0}, 1), bounce(rattle_bounce, {1, 9, 0, 0}, 9);
    const std::vector<long long> directions{0}, actions{1}, occurrences{1};
    request.guards = &bottom.function, request.resets = &bounce.function, request.t1 = 2;
    request.directions = directions, request.actions = actions, request.occurrences = occurrences;
    const Record turned = run(request);
    CHECK(turned.status == Status::finished && turned.event_count >= 2);
    for (long long k = 0; k < turned.event_count; ++k) {
        const double* y = turned.event_after.data() + 9 * k;
        CHECK(near(y[0] * y[0] + y[1] * y[1], 1, 1e-14) && near(y[0] * y[2] + y[1] * y[3], 0, 1e-14));
        CHECK(near(y[4], y[1] * weight - y[2] * y[2] - y[3] * y[3], 1e-9));
    }

    // A step far too long for the motion ends the run with a word.
    const std::vector<double> fast{1, 0, 0, 100, 0, 0, 0, 0, 0};
    request.guards = nullptr, request.resets = nullptr, request.x0 = fast, request.fixed_step = 1;
    const Record stopped = run(request);
    CHECK(stopped.status == Status::newton_failed && stopped.implicit.newton_failures == 1);
}

// Rodas3: A. Sandu et al., Benchmarking stiff ODE solvers for atmospheric chemistry problems II, Atmos. Environ. 31 (1997).
RosenbrockTable rodas3() {
    RosenbrockTable table;
    table.stages = 4, table.degree = 1, table.order = 3;
    const double alpha[] = {0, 0, 1, 1}, gamma[] = {0.5, 1.5, 0, 0}, end[] = {2, 0, 1, 1};
    for (int i = 0; i < 4; ++i) table.alpha[i] = alpha[i], table.gamma[i] = gamma[i], table.end[i] = end[i];
    for (int i = 0; i < 4; ++i) table.powers[0][i] = end[i];
    table.a[2][0] = 2, table.a[3][0] = 2, table.a[3][2] = 1;
    table.c[1][0] = 4, table.c[2][0] = 1, table.c[2][1] = -1;
    table.c[3][0] = 1, table.c[3][1] = -1, table.c[3][2] = -8 / 3.;
    table.error[3] = 1;
    return table;
}

void rosenbrock() {
    const Model residual(relaxing, {1, 1, 1, 1, 1, 0}, 2), drift(relaxing_drift, {1, 1, 1, 1, 1, 0, 1}, 2);
    Model jacobian(relaxing_jacobian, {1, 1, 1, 1, 1, 0}, 1);
    jacobian.function.size_out = {1, 3};
    ImplicitModel model;
    model.residual = &residual.function, model.jacobian = &jacobian.function;
    model.states = 1, model.unknowns = 2;
    model.matrix.n = 2, model.matrix.colind = {0, 2, 4}, model.matrix.rows = {0, 1, 0, 1};
    model.dot_place = {0}, model.all_place = {1, 2, 3}, model.index = {1, 1}, model.level = {0, 0};
    model.has_derivative = {1}, model.constraints = {1};
    const RosenbrockTable numbers = rodas3();
    const Table ramp{{0, 1, 3}, {0, 2, 2}, {0}, true};
    const std::vector<const Table*> tables{&ramp};
    const std::vector<double> x0{1, -1, -1}, u{0}, tolerances{1e-9, 1e-9, 1e-9};
    Request request;
    request.implicit = &model, request.implicit_table = &numbers, request.implicit_degree = 1;
    request.method = Method::rosenbrock, request.t1 = 2, request.rtol = 1e-9, request.atol = tolerances;
    request.x0 = x0, request.u = u, request.tables = tables;
    // x = 2 (t - 1) + 3 exp(-t) up to t = 1, then towards 2.
    const double end = 2 + (3 * std::exp(-1) - 2) * std::exp(-1);
    for (const Function* moves : {&drift.function, static_cast<const Function*>(nullptr)}) {
        model.drift = moves;
        const Record record = run(request);
        const double* last = record.step_x.data() + 3 * (record.step_count - 1);
        CHECK(record.status == Status::finished && record.implicit.jacobians >= record.steps);
        CHECK(near(last[0], end, 1e-7) && near(last[1], 2 - end, 1e-7) && near(last[2], 2 - end, 1e-7));
    }
    Request fixed = request;
    fixed.fixed_step = 0.01;
    CHECK(run(fixed).steps == 200);
    const Model guards(below_half, {1, 3, 1, 0}, 1), resets(lift, {1, 3, 1, 0}, 3);
    const std::vector<long long> falling{-1}, cut{1}, once{1};
    const std::vector<const Table*> none;
    Request events = request;
    events.tables = none, events.guards = &guards.function, events.resets = &resets.function;
    events.directions = falling, events.actions = cut, events.occurrences = once;
    const Record record = run(events);
    CHECK(record.status == Status::finished && record.event_count == 2);
    CHECK(near(record.event_t.data()[0], std::log(2), 1e-7) && near(record.event_t.data()[1], 2 * std::log(2), 1e-7));
}

void swap_while_running() {
    Model model(oscillator, {1, 2, 0, 0}, 2);
    const std::vector<double> x0{1, 0};
    Request request = request_for(model, x0, 100);
    request.fixed_step = 1e-3, request.keep_steps = false;
    std::thread other([&] {
        for (int i = 0; i < 1000; ++i) model.function.machine_code.store(oscillator);
    });
    CHECK(run(request).steps == 100000);
    other.join();
}

// A chain of masses between constraints, with an empty diagonal in every third row: [[M, G'], [G, 0]].
Pattern chain_pattern(long long links) {
    Pattern pattern;
    pattern.n = 3 * links;
    for (long long c = 0; c < pattern.n; ++c) {
        pattern.colind.push_back(pattern.nonzeros());
        for (long long i = std::max(0LL, c - 3); i <= std::min(pattern.n - 1, c + 3); ++i)
            if ((i == c && c % 3 != 2) || (i != c && (i % 3 == 2) != (c % 3 == 2))) pattern.rows.push_back(i);
    }
    pattern.colind.push_back(pattern.nonzeros());
    return pattern;
}

// So many neighbours on both sides: rows of the factors are long.
Pattern band_pattern(long long size, long long neighbours) {
    Pattern pattern;
    pattern.n = size;
    for (long long c = 0; c < size; ++c) {
        pattern.colind.push_back(pattern.nonzeros());
        for (long long i = std::max(0LL, c - neighbours); i <= std::min(size - 1, c + neighbours); ++i)
            pattern.rows.push_back(i);
    }
    pattern.colind.push_back(pattern.nonzeros());
    return pattern;
}

template <class Number>
void fill(const Pattern& pattern, double spread, unsigned seed, Number* values) {
    for (long long p = 0; p < pattern.nonzeros(); ++p) {
        seed = seed * 1664525u + 1013904223u;
        const double unit = seed / 4294967296.0, size = (1 + unit) * std::pow(10, spread * (unit - 0.5));
        if constexpr (is_complex<Number>)
            values[p] = {size * std::cos(9 * unit), size * std::sin(9 * unit)};
        else
            values[p] = seed & 1024 ? size : -size;
    }
}

template <class Number>
void linear_systems(MatrixForm form) {
    // Chains have short factors, the band has long ones.
    for (const Pattern& pattern : {chain_pattern(1), chain_pattern(2), chain_pattern(5), chain_pattern(9),
                                   chain_pattern(40), band_pattern(90, 24)}) {
        LinearSolver<Number> solver(pattern, form);
        ColumnTable table;
        BackwardError<Number> error;
        CHECK(table.make(pattern) && error.make(table));
        std::vector<Number> b(static_cast<std::size_t>(pattern.n), Number(1)), x;
        std::vector<double> scale(b.size(), 8.0);
        for (const double spread : {0.0, 0.1, 4.0, 8.0, 0.0})
            for (unsigned seed = 1; seed < 6; ++seed) {
                fill(pattern, spread, seed, solver.values());
                CHECK(solver.factor(seed & 1 ? scale.data() : nullptr, seed & 2 ? scale.data() : nullptr));
                for (int i = 0; i < 2; ++i) {
                    x = b;
                    solver.solve(x.data());
                    CHECK(error.measure(solver.values(), x.data(), b.data()) < 1e-11);
                }
            }
        solver.values()[pattern.nonzeros() - 1] = NAN;
        CHECK(!solver.factor(nullptr, nullptr));
        for (long long p = 0; p < pattern.nonzeros(); ++p) solver.values()[p] = 0;
        CHECK(!solver.factor(nullptr, nullptr));
        CHECK(solver.factorisations == 27 && solver.orderings <= 27);
        if (form == MatrixForm::sparse)
            CHECK((solver.operations() <= ShortFactors<Number>::operations_a_place * solver.fill()) == (pattern.n != 90));
    }
}

void every_linear_system() {
    for (const MatrixForm form : {MatrixForm::dense, MatrixForm::sparse}) {
        linear_systems<double>(form);
        linear_systems<Complex>(form);
    }
}

#include "core_columns.hpp"

// A pendulum as a linear model: x'' = -2 l x, y'' = -2 l y - g, and l from the second derivative of x^2 + y^2 = 1.
int pendulum_matrix(const double** arg, double** res, long long*, double*, int) {
    const double *x = arg[1], gravity = arg[3][0];
    const double values[]{1, 1, 1, 2 * x[0], 1, 2 * x[1], 2 * x[0], 2 * x[1]};
    std::copy(std::begin(values), std::end(values), res[0]);
    res[1][0] = x[2], res[1][1] = x[3], res[1][2] = 0, res[1][3] = -gravity;
    res[1][4] = -2 * (x[2] * x[2] + x[3] * x[3]);
    return 0;
}
// The same without its first two rows, which need no solve.
int short_pendulum_matrix(const double** arg, double** res, long long*, double*, int) {
    const double *x = arg[1], gravity = arg[3][0];
    const double values[]{1, 2 * x[0], 1, 2 * x[1], 2 * x[0], 2 * x[1]};
    std::copy(std::begin(values), std::end(values), res[0]);
    res[1][0] = 0, res[1][1] = -gravity, res[1][2] = -2 * (x[2] * x[2] + x[3] * x[3]);
    res[2][0] = x[2], res[2][1] = x[3];
    return 0;
}
int rod_length(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[1][0] * arg[1][0] + arg[1][1] * arg[1][1] - 1;
    return 0;
}
int rod_speed(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = 2 * (arg[1][0] * arg[1][2] + arg[1][1] * arg[1][3]);
    return 0;
}
int rod_motion(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[4][2], res[0][1] = arg[4][3], res[0][2] = res[0][3] = 0;
    return 0;
}
int weak_rod(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[4][4] - 5;
    return 0;
}
int kick(const double** arg, double** res, long long*, double*, int) {
    for (int i = 0; i < 4; ++i) res[0][i] = (i < 2 ? 1.2 : 0.9) * arg[1][i];
    return 0;
}

void linear_models() {
    Model matrix(pendulum_matrix, {1, 4, 0, 1}, 8), length(rod_length, {1, 4, 0, 1}, 1), speed(rod_speed, {1, 4, 0, 1}, 1);
    Model motion(rod_motion, {1, 4, 0, 1, 4}, 4), weak(weak_rod, {1, 4, 0, 1, 5}, 1), jump(kick, {1, 4, 0, 1}, 4);
    matrix.function.size_out = {8, 5}, matrix.function.sz_res = 2;
    motion.function.sz_arg = weak.function.sz_arg = 5;
    LinearModel model{&matrix.function, 4, 5, {5, {0, 1, 2, 4, 6, 8}, {0, 1, 2, 4, 3, 4, 2, 3}}};
    ConstraintLevels levels{&model, &length.function, &speed.function, &motion.function, nullptr, {4}, {4}, {1, 1, 1, 1}};
    const std::vector<double> x0{1, 0, 0, 0}, gravity{9.81}, small(4, 1e-10);
    const std::vector<long long> any{0}, cut{1}, first{1};
    for (const Method method : {Method::tsit5, Method::dop853})
        for (const bool events : {false, true}) {
            Request request;
            request.linear = &model, request.levels = &levels, request.method = method;
            request.x0 = x0, request.p = gravity, request.t1 = 5, request.rtol = 1e-8, request.atol = small;
            if (events) request.guards = &weak.function, request.resets = &jump.function;
            if (events) request.directions = any, request.actions = cut, request.occurrences = first;
            const Record record = run(request);
            CHECK(record.status == Status::finished && record.implicit.factorisations > record.steps);
            CHECK((record.event_count > 0) == events);
            for (long long row = 0; row < record.step_count; ++row) {
                const double* x = record.step_x.data() + 4 * row;
                CHECK(near(x[0] * x[0] + x[1] * x[1], 1, 1e-14) && near(x[0] * x[2] + x[1] * x[3], 0, 1e-13));
            }
            Status status;
            CHECK(make_dense(request, record, status).count > 0 && status == Status::finished);
        }
    Model less(short_pendulum_matrix, {1, 4, 0, 1}, 6);
    less.function.size_out = {6, 3, 2}, less.function.sz_res = 3;
    LinearModel smaller{&less.function, 4, 3, {3, {0, 2, 4, 6}, {0, 2, 1, 2, 0, 1}}, {2, 3, 4}, {0, 1}};
    ConstraintLevels same{&smaller, &length.function, &speed.function, &motion.function, nullptr, {2}, {2}, {1, 1, 1, 1}};
    Request whole, part;
    for (Request* request : {&whole, &part})
        request->x0 = x0, request->p = gravity, request->t1 = 5, request->rtol = 1e-8, request->atol = small;
    whole.linear = &model, whole.levels = &levels, part.linear = &smaller, part.levels = &same;
    const Record by_five = run(whole), by_three = run(part);
    CHECK(by_five.steps == by_three.steps);
    for (int i = 0; i < 4; ++i)
        CHECK(near(by_five.step_x.data()[4 * (by_five.step_count - 1) + i],
                   by_three.step_x.data()[4 * (by_three.step_count - 1) + i], 1e-12));
    // At the centre the matrix is singular.
    const std::vector<double> centre{0, 0, 0, 0};
    Request request;
    request.linear = &model, request.x0 = centre, request.p = gravity, request.t1 = 1;
    CHECK(run(request).status == Status::singular);
}

struct Pullback {
    Function function;
    explicit Pullback(MachineCode code) {
        function.size_in = {1, 2, 1, 1, 2}, function.size_out = {2, 1, 1};
        function.sz_arg = 5, function.sz_res = 3;
        function.machine_code = code;
    }
};

// One Euler step: x + h (p x1 + u, -p x0); its derivative can be written down.
void adjoint() {
    const Model model(scaled_turn, {1, 2, 1, 1}, 2);
    const Pullback pulled(pulled_turn), half(pulled_half), broken(fails);
    const std::vector<double> a{0}, b{1}, c{0}, times{0, 0.5, 0.75}, u{0}, p{2};
    const std::vector<double> x{1, 0, 1.5, -1, 1.5, -1.75};
    const std::vector<long long> blocks{0, 1};
    const Table table{{0.0}, {1.0}, {0}, false};
    const std::vector<const Table*> tables{&table};
    AdjointRequest request;
    request.rhs = &model.function, request.pullback = &pulled.function;
    request.a = a, request.b = b, request.c = c, request.times = times, request.states = x;
    request.u = u, request.p = p, request.tables = tables, request.blocks = blocks;
    std::vector<double> lambda{1, 0}, u_bar(2, 0.0), p_bar(1, 0.0);
    CHECK(Adjoint(request).run(lambda.data(), u_bar.data(), p_bar.data()));
    // Back over the second step (h = 0.25), then over the first (h = 0.5).
    CHECK(near(lambda[0], 0.5, 1e-15) && near(lambda[1], 1.5, 1e-15));
    CHECK(near(u_bar[1], 0.25, 1e-15) && near(u_bar[0], 0.5, 1e-15));
    CHECK(near(p_bar[0], 0.25 * -1 - 0.5 * 0.5 * 1, 1e-15));

    request.projection_pullback = &half.function;
    lambda = {1, 0}, u_bar = {0, 0}, p_bar = {0};
    CHECK(Adjoint(request).run(lambda.data(), u_bar.data(), p_bar.data()));
    CHECK(near(lambda[0], 0.125, 1e-15) && near(lambda[1], 0.375, 1e-15));
    request.pullback = &broken.function;
    CHECK(!Adjoint(request).run(lambda.data(), u_bar.data(), p_bar.data()));
}

}  // namespace

int main() {
    every_method();
    raised_dense_output();
    samples();
    inputs();
    events();
    switches();
    stops();
    rosenbrock();
    bdf();
    implicit_tableaux();
    adjoint();
    swap_while_running();
    every_linear_system();
    columns();
    linear_models();
    rattle();
    std::printf(failures ? "%d checks failed\n" : "all checks passed\n", failures);
    return failures != 0;
}
