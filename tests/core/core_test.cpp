// The core without Python, for `make sanitize`: every method, inputs, events, stops and dense output.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <thread>
#include <vector>

#include "bdf_settings.hpp"
#include "implicit_table.hpp"
#include "linear_solver.hpp"
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
    for (const long long links : {1, 2, 5, 9, 40}) {
        const Pattern pattern = chain_pattern(links);
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
    }
}

void every_linear_system() {
    for (const MatrixForm form : {MatrixForm::dense, MatrixForm::sparse}) {
        linear_systems<double>(form);
        linear_systems<Complex>(form);
    }
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
    swap_while_running();
    every_linear_system();
    std::printf(failures ? "%d checks failed\n" : "all checks passed\n", failures);
    return failures != 0;
}
