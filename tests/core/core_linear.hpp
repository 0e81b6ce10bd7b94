// Checks of linear systems and linear models without Python: dense and sparse, real and complex; part of core_test.cpp.
#pragma once

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
        CompactPattern compact;
        BackwardError<Number> error;
        CHECK(compact.make(pattern) && error.make(compact));
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
