// Checks of modes without Python: many turns in one run, their dense output, and sliding; part of core_test.cpp.
#pragma once

// Every state of a guard under everything that happens to it.
void states_of_a_guard() {
    using Happening = Guard::Happening;
    using State = Guard::State;
    const auto made = [](State state) {
        Guard guard;
        if (state == State::armed) guard.on(Happening::sees, -2);
        if (state == State::waking) guard.on(Happening::meets, -3), guard.on(Happening::rests, 0.5);
        if (state == State::resting) guard.on(Happening::rests, 0.5);
        if (state == State::scheduled) guard.on(Happening::is_timed);
        return guard;
    };
    struct Row {
        State from;
        Happening what;
        double value;
        State to;
        double reference, floor;
    };
    const Row table[] = {
        {State::armed, Happening::sees, 4, State::armed, 4, 0},
        {State::armed, Happening::sees, 0, State::resting, 0, 0},
        {State::armed, Happening::rests, 0.1, State::resting, 0, 0.1},
        {State::armed, Happening::meets, 7, State::armed, -2, 0},
        {State::armed, Happening::rests_inside, 0.2, State::armed, -2, 0.2},
        {State::resting, Happening::sees, 4, State::armed, 4, 0},
        {State::resting, Happening::sees, 0, State::resting, 0, 0.5},
        {State::resting, Happening::rests, 0.1, State::resting, 0, 0.1},
        {State::resting, Happening::meets, 7, State::waking, 0, 0.5},
        {State::waking, Happening::sees, 4, State::armed, 4, 0},
        {State::waking, Happening::sees, 0, State::waking, 0, 0.5},
        {State::waking, Happening::goes_on, 0, State::resting, 0, 0.5},
        {State::scheduled, Happening::sees, 4, State::scheduled, 4, 0},
        {State::scheduled, Happening::rests, 0.1, State::scheduled, 0, 0.1},
    };
    for (const Row& row : table) {
        Guard guard = made(row.from);
        CHECK(guard.state() == row.from);
        guard.on(row.what, row.value);
        CHECK(guard.state() == row.to && guard.reference() == row.reference && guard.floor() == row.floor);
    }
    Guard guard = made(State::resting);
    guard.on(Happening::foresees, 0.7);
    CHECK(guard.state() == State::resting && guard.ahead() == 0.7 && !guard.has_sign());
    guard.on(Happening::passes_step);
    CHECK(guard.state() == State::armed && guard.reference() == 0.7 && guard.floor() == 0);
}

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

// Twelve modes beside two discrete variables: x1' = how many of them are on, of guards 3t - 1, 3t - 2, ...
constexpr int many = 12;
int count_of_modes(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[3][0] + arg[3][1];
    for (int k = 0; k < many; ++k) res[0][0] += arg[3][2 + k];
    return 0;
}
int stairs(const double** arg, double** res, long long*, double*, int) {
    for (int k = 0; k < many; ++k) res[0][k] = 3 * arg[0][0] - k - 1;
    return 0;
}

// The dense output is made without guards: the memory for it must not be counted with them.
void dense_of_many_switches() {
    const Model model(count_of_modes, {1, 1, 0, many + 2}, 1), guards(stairs, {1, 1, 0, many + 2}, many);
    const std::vector<double> x0{0}, p(many + 2, 0.0);
    const std::vector<long long> both(many, 0), cut(many, 1), once(many, 1);
    const std::vector<unsigned char> is_read(2, 1);
    Request request = request_for(model, x0, 5);
    request.p = p, request.switches = many, request.discretes = 2, request.is_read = is_read;
    request.guards = &guards.function, request.directions = both, request.actions = cut, request.occurrences = once;
    const Record record = run(request);
    CHECK(record.status == Status::finished && record.turns == many);
    request.guards = nullptr;
    Status status;
    const DenseRecord dense = make_dense(request, record, status);
    const Pieces pieces{dense.starts.data(), dense.ends.data(), dense.coefficients.data(), dense.count, 1, dense.degree};
    for (double t = 0.01; t < 5; t += 0.1) {
        double expected = 0, x = 0;
        for (int k = 1; k <= many; ++k) expected += std::fmax(t - k / 3.0, 0.0);
        evaluate_piece(pieces, piece_at(pieces, t), t, &x);
        CHECK(near(x, expected, 1e-9));
    }
}
