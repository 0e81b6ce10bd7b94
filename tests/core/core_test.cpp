// The core without Python, for `make sanitize`: every method, inputs, events, stops and dense output.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <thread>
#include <vector>

#include "flow/adjoint.hpp"
#include "linear/linear_solver.hpp"
#include "linear/matching.hpp"
#include "machine/hessenberg_eigenvalues.hpp"
#include "methods/bdf/bdf_settings.hpp"
#include "methods/implicit_tableau/implicit_tableau.hpp"
#include "methods/lobatto/lobatto_step.hpp"
#include "methods/rosenbrock/rosenbrock_coefficients.hpp"
#include "model/damped_newton.hpp"
#include "run/run.hpp"

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
    const Table hold{{0, 1, 2.5}, {1, -2, 3}, {0}, false, 0, {}}, ramp{{0, 1, 3}, {0, 2, -1}, {1}, true, 0, {}};
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

#include "core_delays.hpp"
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

#include "core_bdf.hpp"
#include "core_damped.hpp"
#include "core_eigenvalues.hpp"
#include "core_implicit_tableaux.hpp"
#include "core_lobatto.hpp"
#include "core_rosenbrock.hpp"

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

#include "core_linear.hpp"
#include "core_columns.hpp"
#include "core_matching.hpp"

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
    const Table table{{0.0}, {1.0}, {0}, false, 0, {}};
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
    states_of_a_guard();
    switches();
    dense_of_many_switches();
    delays();
    stops();
    rosenbrock();
    bdf();
    implicit_tableaux();
    followed_corrections();
    small_eigenvalues();
    adjoint();
    swap_while_running();
    every_linear_system();
    columns();
    linear_models();
    matchings();
    lobatto();
    std::printf(failures ? "%d checks failed\n" : "all checks passed\n", failures);
    return failures != 0;
}
