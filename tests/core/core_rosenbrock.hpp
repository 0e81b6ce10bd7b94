// Checks of Rosenbrock methods without Python: errors, inputs and events; part of core_test.cpp.
#pragma once

// Rodas3: A. Sandu et al., Benchmarking stiff ODE solvers for atmospheric chemistry problems II, Atmos. Environ. 31 (1997).
RosenbrockCoefficients rodas3() {
    RosenbrockCoefficients method;
    method.stages = 4, method.degree = 1, method.order = 3;
    const double alpha[] = {0, 0, 1, 1}, gamma[] = {0.5, 1.5, 0, 0}, end[] = {2, 0, 1, 1};
    for (int i = 0; i < 4; ++i) method.alpha[i] = alpha[i], method.gamma[i] = gamma[i], method.end[i] = end[i];
    for (int i = 0; i < 4; ++i) method.powers[0][i] = end[i];
    method.a[2][0] = 2, method.a[3][0] = 2, method.a[3][2] = 1;
    method.c[1][0] = 4, method.c[2][0] = 1, method.c[2][1] = -1;
    method.c[3][0] = 1, method.c[3][1] = -1, method.c[3][2] = -8 / 3.;
    method.error[3] = 1;
    return method;
}

void rosenbrock() {
    const Model residual(relaxing, {1, 1, 1, 1, 1, 0}, 2), drift(relaxing_drift, {1, 1, 1, 1, 1, 0, 1}, 2);
    Model jacobian(relaxing_jacobian, {1, 1, 1, 1, 1, 0}, 1);
    jacobian.function.size_out = {1, 3};
    ImplicitModel model;
    model.residual = &residual.function, model.jacobian = &jacobian.function;
    model.states = 1, model.unknowns = 2;
    model.matrix.n = 2, model.matrix.colind = {0, 2, 4}, model.matrix.rows = {0, 1, 0, 1};
    model.dot_row = {0}, model.dot_column = {0};
    model.dot_place = {0}, model.all_place = {1, 2, 3}, model.index = {1, 1}, model.level = {0, 0};
    model.has_derivative = {1}, model.constraints = {1};
    const RosenbrockCoefficients numbers = rodas3();
    const Table ramp{{0, 1, 3}, {0, 2, 2}, {0}, true, 0, {}};
    const std::vector<const Table*> tables{&ramp};
    const std::vector<double> x0{1, -1, -1}, u{0}, tolerances{1e-9, 1e-9, 1e-9};
    Request request;
    request.implicit = &model, request.implicit_method = &numbers, request.implicit_degree = 1;
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
    // Solutions are refined where absolute tolerances ask for digits that the matrix loses.
    const std::vector<double> tiny{1e-25, 1e-25, 1e-25};
    Request refined = request;
    refined.atol = tiny;
    const Record exact = run(refined);
    CHECK(exact.status == Status::finished && near(exact.step_x.data()[3 * (exact.step_count - 1)], end, 1e-7));
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
