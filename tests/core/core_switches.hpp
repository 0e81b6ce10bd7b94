// Checks of modes without Python: many turns in one run, their dense output, and sliding; part of core_test.cpp.
#pragma once

// x1' = 1 while sin 3t > 0, x2' = the opposite: the mode is the only parameter.
int by_mode(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[3][0], res[0][1] = 1 - 2 * arg[3][0];
    return 0;
}
int sine(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = std::sin(3 * arg[0][0]);
    return 0;
}
int second(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[1][1];
    return 0;
}

void switches() {
    const Model model(by_mode, {1, 2, 0, 1}, 2), wave(sine, {1, 2, 0, 1}, 1), surface(second, {1, 2, 0, 1}, 1);
    const std::vector<double> x0{0, 1}, p{0};
    const std::vector<long long> both{0}, cut{1}, once{1};
    const double pi = std::acos(-1.0), half = pi / 3;
    Request request = request_for(model, x0, 200 * half);
    request.p = p, request.switches = 1, request.max_step = 0.4, request.guards = &wave.function;
    request.directions = both, request.actions = cut, request.occurrences = once;
    const Record record = run(request);
    CHECK(record.status == Status::finished && record.event_count == 0);
    CHECK(record.turns >= 200 && record.held_count >= 200);
    CHECK(near(record.step_x.data()[2 * (record.step_count - 1)], 100 * half, 1e-9));
    request.guards = nullptr;
    Status status;
    const DenseRecord dense = make_dense(request, record, status);
    const Pieces pieces{dense.starts.data(), dense.ends.data(), dense.coefficients.data(), dense.count, 2, dense.degree};
    for (int i = 0; i < 100; ++i) {
        double x[2];
        evaluate_piece(pieces, piece_at(pieces, (2 * i + 0.5) * half), (2 * i + 0.5) * half, x);
        CHECK(near(x[0], (i + 0.5) * half, 1e-9) && near(x[1], 1 - 0.5 * half, 1e-9));
    }

    request.guards = &surface.function, request.t1 = 5;
    const Record sliding = run(request);
    CHECK(sliding.status == Status::chattering && sliding.last_turned == 0 && near(sliding.stop_time, 1, 1e-9));
    CHECK(p[0] == 0);
}
