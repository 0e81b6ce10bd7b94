// Checks of implicit tableaux without Python: fixed steps and embedded pairs; part of core_test.cpp.
#pragma once

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
        model.dot_row = {0, 1}, model.dot_column = {0, 1};
        model.index = {1, 1, 1}, model.level = {0, 0, 0}, model.constraints = {2};
        model.has_derivative = {1, 1};
    }
};

ImplicitTableau implicit_tableau(std::vector<double> a, std::vector<double> b, std::vector<double> c,
                             std::vector<double> b_hat, int order) {
    ImplicitTableau tableau;
    tableau.stages = static_cast<int>(b.size()), tableau.order = order, tableau.control_order = order;
    for (std::size_t j = 0; j < b_hat.size(); ++j) tableau.error.push_back(b[j] - b_hat[j]);
    // Straight lines between the ends.
    tableau.x_degree = tableau.z_degree = 1;
    tableau.x_weights = b, tableau.z_weights.assign(b.size() + 1, 0.0), tableau.z_weights.back() = 1;
    tableau.a = std::move(a), tableau.b = std::move(b), tableau.c = std::move(c);
    complete(tableau);
    return tableau;
}

void implicit_tableaux() {
    const ImplicitOscillator oscillating;
    const std::vector<double> start{1, 0, 1, 0, -1}, small(5, 1e-9);
    const double r = std::sqrt(3.0) / 6, w = std::sqrt(2.0) / 4, d = 1 - 2 * w;
    const ImplicitTableau gauss =
        implicit_tableau({0.25, 0.25 - r, 0.25 + r, 0.25}, {0.5, 0.5}, {0.5 - r, 0.5 + r}, {0.4, 0.6}, 4);
    const ImplicitTableau trbdf2 = implicit_tableau({0, 0, 0, d, d, 0, w, w, d}, {w, w, d}, {0, 2 * d, 1},
                                                {(1 - w) / 3, (3 * w + 1) / 3, d / 3}, 2);
    // Alexander's pair of two stages has one diagonal entry: one matrix serves both, and many steps.
    const ImplicitTableau sdirk2 = implicit_tableau({d, 0, 1 - d, d}, {1 - d, d}, {d, 1}, {0.4, 0.6}, 2);
    CHECK(sdirk2.one_matrix_a_step && !gauss.one_matrix_a_step && !trbdf2.one_matrix_a_step);
    CHECK(gauss.groups.size() == 1 && trbdf2.groups.size() == 3 && trbdf2.groups[0].known);
    CHECK(!gauss.ends_in_last_stage && trbdf2.ends_in_last_stage);
    for (const ImplicitTableau* tableau : {&gauss, &trbdf2, &sdirk2})
        for (const double step : {0.01, 0.0}) {
            Request request;
            request.implicit = &oscillating.model, request.method = tableau == &sdirk2 ? Method::sdirk : Method::implicit_tableau;
            request.implicit_method = tableau, request.implicit_degree = tableau->degree();
            request.x0 = start, request.t1 = 3, request.fixed_step = step, request.rtol = 1e-6, request.atol = small;
            const Record record = run(request);
            CHECK(record.status == Status::finished && (step == 0 || record.steps == 300));
            const double* end = record.step_x.data() + 5 * (record.step_count - 1);
            const double tolerance = step == 0 ? 1e-2 : tableau == &gauss ? 1e-9 : 1e-4;
            CHECK(near(end[0], std::cos(3), tolerance) && near(end[2], 1, 1e-12) && near(end[4], -end[0], 1e-6));
            CHECK(record.dense.count == record.steps);
        }
}
