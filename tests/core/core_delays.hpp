// Checks of delayed signals without Python: a relay that sees its state late, far from zero; part of core_test.cpp.
#pragma once

// x' = -1 while the mode says that x was above the level, 1 elsewhere.
int by_late_mode(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = 1 - 2 * arg[3][0];
    return 0;
}
int late_above(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[2][0] - 1000;
    return 0;
}
int first_state(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = arg[1][0];
    return 0;
}

void delays() {
    const Model model(by_late_mode, {1, 1, 1, 1}, 1), guard(late_above, {1, 1, 1, 1}, 1), signal(first_state, {1, 1, 1, 1}, 1);
    const std::vector<double> x0{1000.25}, u{1000.25}, p{1};
    const std::vector<long long> both{0}, cut{1}, once{1};
    for (const Method method : {Method::tsit5, Method::dop853})
        for (const int degree : {0, 2, 9}) {
            // What it was before the start: constant, by one sample, three, or more than a step has.
            DelaySource source;
            source.signals = &signal.function, source.degree = degree, source.slots = {0};
            source.delays = {0.1}, source.starts = {-0.2}, source.ends = {0};
            source.samples.assign(static_cast<std::size_t>(degree) + 1, 1000.25);
            Request request = request_for(model, x0, 4);
            request.u = u, request.p = p, request.switches = 1, request.method = method, request.delays = &source;
            request.guards = &guard.function, request.directions = both, request.actions = cut, request.occurrences = once;
            const Record record = run(request);
            // Down for 0.35, to and fro between -0.1 and 0.1, and 0.05 up from -0.1 behind the last of 19 turns.
            CHECK(record.status == Status::finished && record.turns == 19);
            CHECK(near(record.step_x.data()[record.step_count - 1], 1000 - 0.05, 1e-9));
            const long long pieces = static_cast<long long>(record.signal_starts.size());
            CHECK(static_cast<long long>(record.signal_samples.size()) == pieces * (record.signal_degree + 1));
            CHECK(record.signal_samples.back() == record.step_x.data()[record.step_count - 1]);
        }
}
