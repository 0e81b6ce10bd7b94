// The core without Python, for `make sanitize`: every method, inputs, events, stops and dense output.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <thread>
#include <vector>

#include "implicit_table.hpp"
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
    implicit_tableaux();
    swap_while_running();
    std::printf(failures ? "%d checks failed\n" : "all checks passed\n", failures);
    return failures != 0;
}
