// The core without Python, for `make sanitize`: every method, inputs, events, stops and dense output.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <thread>
#include <vector>

#include "bdf_settings.hpp"
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

struct Model {
    Function function;
    Model(MachineCode code, std::initializer_list<long long> in, long long out) {
        function.name = "model";
        function.size_in = in, function.size_out = {out};
        function.sz_arg = 4, function.sz_res = 1;
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

}  // namespace

int main() {
    every_method();
    raised_dense_output();
    samples();
    inputs();
    events();
    stops();
    bdf();
    swap_while_running();
    std::printf(failures ? "%d checks failed\n" : "all checks passed\n", failures);
    return failures != 0;
}
