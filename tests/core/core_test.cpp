// The core without Python, for `make sanitize`: every method, inputs, events, stops and dense output.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <thread>
#include <vector>

#include "linear_solver.hpp"
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

// A pendulum as a linear model: x'' = -2 l x, y'' = -2 l y - g, and l from the second derivative of x^2 + y^2 = 1.
int pendulum_matrix(const double** arg, double** res, long long*, double*, int) {
    const double *x = arg[1], gravity = arg[3][0];
    const double values[]{1, 1, 1, 2 * x[0], 1, 2 * x[1], 2 * x[0], 2 * x[1]};
    std::copy(std::begin(values), std::end(values), res[0]);
    res[1][0] = x[2], res[1][1] = x[3], res[1][2] = 0, res[1][3] = -gravity;
    res[1][4] = -2 * (x[2] * x[2] + x[3] * x[3]);
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
    // At the centre the matrix is singular.
    const std::vector<double> centre{0, 0, 0, 0};
    Request request;
    request.linear = &model, request.x0 = centre, request.p = gravity, request.t1 = 1;
    CHECK(run(request).status == Status::singular);
}

}  // namespace

int main() {
    every_method();
    raised_dense_output();
    samples();
    inputs();
    events();
    stops();
    swap_while_running();
    every_linear_system();
    linear_models();
    std::printf(failures ? "%d checks failed\n" : "all checks passed\n", failures);
    return failures != 0;
}
