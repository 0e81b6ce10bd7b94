// Checks of RATTLE without Python: a pendulum, its energy, events and stops; part of core_test.cpp.
#pragma once

// A pendulum in Cartesian coordinates by RATTLE: x = (q, v), z = (lambda), unknowns (V1, V2, impulse).
constexpr double weight = 9.81;

int lobatto_residual(const double** arg, double** res, long long*, double*, int) {
    const double h = *arg[1], *y = arg[2], *w = arg[3];
    for (int i = 0; i < 2; ++i) {
        const double push = 0.5 * (h * (i ? -weight : 0) + y[i] * w[4]);
        res[0][i] = w[i] - y[2 + i] - push, res[0][2 + i] = w[2 + i] - y[2 + i] - push;
    }
    const double a = y[0] + 0.5 * h * (w[0] + w[2]), b = y[1] + 0.5 * h * (w[1] + w[3]);
    res[0][4] = 0.5 * (a * a + b * b - 1) / h;
    return 0;
}
int lobatto_jacobian(const double** arg, double** res, long long*, double*, int) {
    const double h = *arg[1], *y = arg[2], *w = arg[3];
    for (int k = 0; k < 4; ++k) {
        res[0][2 * k] = 1;
        res[0][2 * k + 1] = 0.5 * (y[k % 2] + 0.5 * h * (w[k % 2] + w[k % 2 + 2]));
        res[0][8 + k] = -0.5 * y[k % 2];
    }
    return 0;
}
int lobatto_landing(const double** arg, double** res, long long*, double*, int) {
    const double h = *arg[1], *y = arg[2], *w = arg[3];
    for (int i = 0; i < 2; ++i) {
        res[0][i] = y[i] + 0.5 * h * (w[i] + w[2 + i]);
        res[1][i] = y[2 + i] + 0.5 * y[i] * w[4] + h * (i ? -weight : 0);
    }
    return 0;
}
int lobatto_masses(const double** arg, double** res, long long*, double*, int) {
    const double* y = arg[1];
    const double saddle[] = {1, y[0], 1, y[1], -y[0], -y[1]};
    std::copy_n(saddle, 6, res[0]);
    res[1][0] = y[2], res[1][1] = y[3];
    res[2][0] = -(y[0] * y[2] + y[1] * y[3]);
    res[3][0] = -0.5 * (y[0] * y[0] + y[1] * y[1] - 1);
    return 0;
}
int lobatto_motion(const double** arg, double** res, long long*, double*, int) {
    const double* y = arg[1];
    res[0][0] = 0, res[0][1] = -weight, res[0][2] = -(y[2] * y[2] + y[3] * y[3]);
    return 0;
}
int lobatto_bounce(const double** arg, double** res, long long*, double*, int) {
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

void lobatto() {
    const std::initializer_list<long long> at_step{1, 1, 9, 5, 0, 0}, at_row{1, 9, 0, 0};
    const StepFunction residual(lobatto_residual, at_step, {5}), jacobian(lobatto_jacobian, at_step, {12});
    const StepFunction landing(lobatto_landing, at_step, {2, 2}), masses(lobatto_masses, at_row, {6, 2, 1, 1});
    const StepFunction motion(lobatto_motion, at_row, {3}), unused(nothing, {1, 4, 4, 1, 0, 0}, {5});
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
    request.implicit = &model, request.implicit_method = &step, request.implicit_degree = 5;
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
    const Model bottom(height, {1, 9, 0, 0}, 1), bounce(lobatto_bounce, {1, 9, 0, 0}, 9);
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
