// Checks of BDF without Python: orders, events with resets, stops; part of core_test.cpp.
#pragma once

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

// 0 = x' - v, 0 = v' + 1e6 (x - cos t): eigenvalues ± 1000 i.
int stiff_spring(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[1][0] - arg[2][1];
    res[0][1] = arg[1][1] + 1e6 * (arg[2][0] - std::cos(arg[0][0]));
    return 0;
}
int stiff_spring_jacobian(const double**, double** res, long long*, double*, int) {
    res[0][0] = 1, res[0][1] = 1, res[1][0] = 1e6, res[1][1] = -1;
    return 0;
}

// Orders above 2 are given up on the imaginary axis.
void bdf_stability() {
    Model residual(stiff_spring, {1, 2, 2, 0, 0, 0}, 2), jacobian(stiff_spring_jacobian, {1, 2, 2, 0, 0, 0}, 2);
    for (Function* function : {&residual.function, &jacobian.function}) function->sz_arg = 6, function->sz_res = 2;
    jacobian.function.size_out = {2, 2};
    ImplicitModel model;
    model.residual = &residual.function, model.jacobian = &jacobian.function;
    model.states = 2, model.unknowns = 2;
    model.matrix.n = 2, model.matrix.colind = {0, 2, 4}, model.matrix.rows = {0, 1, 0, 1};
    model.dot_row = {0, 1}, model.dot_column = {0, 1};
    model.dot_place = {0, 3}, model.all_place = {1, 2}, model.index = {1, 1}, model.level = {0, 0};
    model.has_derivative = {1, 1};
    const std::vector<double> x0{1, 0, 0, 0}, tolerances{1e-6, 1e-6, 1e-6, 1e-6};
    const BdfSettings settings;
    Request request;
    request.implicit = &model, request.implicit_method = &settings, request.implicit_degree = bdf_orders;
    request.method = Method::bdf, request.t1 = 10, request.rtol = 1e-3, request.atol = tolerances, request.x0 = x0;
    const Record record = run(request);
    CHECK(record.status == Status::finished && record.steps < 18000);
    CHECK(near(record.step_x.data()[4 * (record.step_count - 1)], std::cos(10.0), 1e-4));
}

void bdf() {
    Model residual(pulled, {1, 1, 1, 1, 0, 0}, 2), jacobian(pulled_jacobian, {1, 1, 1, 1, 0, 0}, 1);
    for (Function* function : {&residual.function, &jacobian.function}) function->sz_arg = 6, function->sz_res = 2;
    jacobian.function.size_out = {1, 3};
    ImplicitModel model;
    model.residual = &residual.function, model.jacobian = &jacobian.function;
    model.states = 1, model.unknowns = 2;
    model.matrix.n = 2, model.matrix.colind = {0, 2, 4}, model.matrix.rows = {0, 1, 0, 1};
    model.dot_row = {0}, model.dot_column = {0};
    model.dot_place = {0}, model.all_place = {1, 2, 3}, model.index = {1, 1}, model.level = {0, 0};
    model.has_derivative = {1}, model.constraints = {1};
    const std::vector<double> x0{1, 0, 0}, tolerances{1e-8, 1e-8, 1e-8};
    const auto exact = [](double t) {
        return (2500 * std::cos(t) + 50 * std::sin(t) + std::exp(-50 * t)) / 2501;
    };
    for (int order = 1; order <= bdf_orders; ++order) {
        const BdfSettings settings{order, order % 2 == 0};
        Request request;
        request.implicit = &model, request.implicit_method = &settings, request.implicit_degree = bdf_orders;
        request.method = Method::bdf, request.t1 = 2, request.rtol = 1e-8, request.atol = tolerances, request.x0 = x0;
        const Record record = run(request);
        CHECK(record.status == Status::finished && record.implicit.factorisations < record.steps / 2 + 5);
        const double error = record.step_x.data()[3 * (record.step_count - 1)] - exact(2);
        CHECK(std::fabs(error) < (order == 1 ? 1e-4 : 1e-6));
        const DenseRecord& dense = record.dense;
        const Pieces pieces{dense.starts.data(), dense.ends.data(), nullptr, dense.count, 3, dense.degree};
        // A run keeps its pieces packed: the powers that its steps have, and x' as the slope of x.
        const long long piece = piece_at(pieces, 1.234);
        std::vector<double> whole(static_cast<std::size_t>(3 * (dense.degree + 1)));
        write_piece(dense, piece, 3, whole.data());
        const double begin = pieces.starts[piece], length = pieces.ends[piece] - begin;
        double row[3];
        evaluate_polynomial(whole.data(), dense.degree, 3, (1.234 - begin) / length, row);
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
    request.implicit = &model, request.implicit_method = &settings, request.implicit_degree = bdf_orders;
    request.method = Method::bdf, request.t1 = 2, request.atol = tolerances;
    const std::vector<double> outside{-6, 0, 0};
    request.x0 = outside;
    CHECK(run(request).status == Status::not_finite);
    request.x0 = x0;
    // Tolerances below rounding: z = 0 at the start is a difference of numbers near 50.
    const std::vector<double> tiny{1e-25, 1e-25, 1e-25};
    request.atol = tiny, request.rtol = 1e-12;
    CHECK(run(request).status == Status::finished);
    request.atol = tolerances;
    jacobian.function.machine_code = flat_jacobian;
    const Record singular = run(request);
    CHECK(singular.status == Status::singular && singular.culprit.component == 1);
    bdf_stability();
}
