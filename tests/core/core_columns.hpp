// Checks of columns of derivatives without Python: many right-hand sides on one factor, and runs; part of core_test.cpp.
#pragma once

// Columns with the factors of one matrix, `count` of them at once, against one after the other.
template <class Number, int width>
void banded_columns(const Pattern& pattern, MatrixForm form, long long count) {
    LinearSolver<Number> solver(pattern, form);
    fill(pattern, 0.1, 3, solver.values());
    const long long n = pattern.n, stride = count + 3;
    const std::vector<double> scale(static_cast<std::size_t>(n), 8.0);
    CHECK(solver.factor(scale.data(), nullptr));
    std::vector<Number> one(static_cast<std::size_t>(n), Number(1));
    solver.solve(one.data());
    CHECK(!solver.measures());
    std::vector<double> real(static_cast<std::size_t>(n * stride)), imaginary(real.size());
    for (std::size_t k = 0; k < real.size(); ++k) real[k] = std::sin(1.0 + k), imaginary[k] = std::cos(2.0 + 3.0 * k);
    const std::vector<double> before = real, other = imaginary;
    std::vector<long long> place;
    for (long long i = 0; i < n; ++i) place.push_back(i * stride);
    Block<double> work;
    CHECK(work.make(n * 2 * width));
    solver.template solve_band<width>({{real.data(), imaginary.data()}, place.data(), count}, work.data());
    for (long long j = 0; j < stride; ++j) {
        const auto at = [&](long long i) { return static_cast<std::size_t>(i * stride + j); };
        for (long long i = 0; i < n; ++i) {
            if constexpr (is_complex<Number>)
                one[static_cast<std::size_t>(i)] = {before[at(i)], other[at(i)]};
            else
                one[static_cast<std::size_t>(i)] = before[at(i)];
        }
        // What stands behind the columns stays.
        if (j < count) solver.solve(one.data());
        for (long long i = 0; i < n; ++i) {
            const Number found = one[static_cast<std::size_t>(i)];
            CHECK(near(real[at(i)], std::real(found), 1e-11 * (1 + magnitude(found))));
            if constexpr (is_complex<Number>)
                CHECK(near(imaginary[at(i)], std::imag(found), 1e-11 * (1 + magnitude(found))));
        }
    }
    CHECK(solver.factorisations == 1);
}

void many_right_sides() {
    for (const MatrixForm form : {MatrixForm::dense, MatrixForm::sparse})
        for (const Pattern& pattern : {chain_pattern(1), chain_pattern(5), chain_pattern(40), band_pattern(90, 24)}) {
            for (const long long count : {1, 3, 4}) {
                banded_columns<double, few_columns>(pattern, form, count);
                banded_columns<Complex, few_columns>(pattern, form, count);
            }
            for (const long long count : {5, 8}) {
                banded_columns<double, some_columns>(pattern, form, count);
                banded_columns<Complex, some_columns>(pattern, form, count);
            }
            for (const long long count : {5, 15, 16}) {
                banded_columns<double, many_columns>(pattern, form, count);
                banded_columns<Complex, many_columns>(pattern, form, count);
            }
        }
}

// 0 = x' + p z, 0 = z - x^2, so x = x0 / (1 + p x0 t); S by p and by x0. Values: F_x', F_x, F_z twice, F_p.
int decaying_slopes(const double** arg, double** res, long long*, double*, int) {
    const double x = arg[2][0], z = arg[3][0], p = arg[5][0];
    res[0][0] = arg[1][0] + p * z, res[0][1] = z - x * x;
    res[1][0] = 1, res[1][1] = -2 * x, res[1][2] = p, res[1][3] = 1, res[1][4] = z;
    return 0;
}
int decaying_jacobian(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = 1, res[1][0] = -2 * arg[2][0], res[1][1] = arg[5][0], res[1][2] = 1;
    return 0;
}
// What changes of x and z change in F_x and F_p.
int decaying_below(const double** arg, double** res, long long*, double*, int) {
    res[0][0] = -2 * arg[7][0], res[0][1] = arg[8][0];
    return 0;
}

struct Decaying {
    Model slopes{decaying_slopes, {1, 1, 1, 1, 0, 1}, 2}, jacobian{decaying_jacobian, {1, 1, 1, 1, 0, 1}, 1};
    Model below{decaying_below, {1, 1, 1, 1, 0, 1, 1, 1, 1}, 2};
    ImplicitModel model;
    // Rows are x, S of x, z, S of z, then the derivatives of the states.
    explicit Decaying(long long width) {
        for (Function* function : {&slopes.function, &jacobian.function, &below.function})
            function->sz_arg = 9, function->sz_res = 2;
        model.residual = &slopes.function, model.jacobian = &jacobian.function;
        model.states = 1 + width, model.unknowns = 2 + 2 * width;
        model.matrix.n = 2, model.matrix.colind = {0, 2, 4}, model.matrix.rows = {0, 1, 0, 1};
        model.dot_row = {0}, model.dot_column = {0};
        model.dot_place = {0}, model.all_place = {1, 2, 3};
        const auto all = static_cast<std::size_t>(model.unknowns);
        model.index.assign(all, 1), model.level.assign(all, 0), model.has_derivative.assign(all / 2, 1);
        for (long long k = model.states; k < model.unknowns; ++k) model.constraints.push_back(k);
        ColumnGroups& columns = model.columns;
        columns.states = 1, columns.unknowns = 2, columns.products = true;
        columns.groups = {{1, 0, 1 + width}, {width, 1, 2 + width}};
        const long long x = 1, z = 2 + width;
        columns.residual = {&slopes.function, 5, {0, 2, 4}, {{0, x, true}, {2, z, false}, {1, x, false}, {3, z, false}},
                            {{x, 4, -1}}};
        columns.below = {&below.function, 2, {0, 0, 1}, {{0, x, false}}, {{x, 1, -1}}};
    }
};

void check_decay(const Request& given, long long width, double tolerance) {
    const double t = 2, p = 0.7, x0 = 1.5;
    const auto w = static_cast<std::size_t>(width), states = 1 + w;
    // The first column is by p, every other one by x0.
    std::vector<double> row(3 * states, 0.0), tolerances(3 * states, 1e-10);
    row[0] = x0, row[states] = x0 * x0, row[2 * states] = -p * x0 * x0, row[2 * states + 1] = -x0 * x0;
    for (std::size_t j = 1; j < w; ++j) row[1 + j] = 1, row[states + 1 + j] = 2 * x0, row[2 * states + 1 + j] = -2 * p * x0;
    const std::vector<double> parameters{p};
    Request request = given;
    request.x0 = row, request.atol = tolerances, request.p = parameters, request.t1 = t;
    const Record record = run(request);
    CHECK(record.status == Status::finished);
    const double* end = record.step_x.data() + 3 * static_cast<long long>(states) * (record.step_count - 1);
    const double base = 1 + p * x0 * t;
    CHECK(near(end[0], x0 / base, tolerance) && near(end[1], -x0 * x0 * t / (base * base), tolerance));
    for (std::size_t j = 1; j < w; ++j) {
        CHECK(near(end[1 + j], 1 / (base * base), tolerance));
        CHECK(near(end[states + 1 + j], 2 * end[0] * end[1 + j], 100 * tolerance));
    }
}

void columns() {
    many_right_sides();
    const double r = std::sqrt(3.0) / 6;
    const ImplicitTableau gauss =
        implicit_tableau({0.25, 0.25 - r, 0.25 + r, 0.25}, {0.5, 0.5}, {0.5 - r, 0.5 + r}, {}, 4);
    for (const long long width : {1, 4, 21}) {
        const Decaying decaying(width);
        Request request;
        request.implicit = &decaying.model, request.rtol = 1e-8;
        const BdfSettings settings;
        request.method = Method::bdf, request.implicit_method = &settings, request.implicit_degree = bdf_orders;
        check_decay(request, width, 1e-5);
        request.method = Method::implicit_tableau, request.implicit_method = &gauss;
        request.implicit_degree = gauss.degree(), request.fixed_step = 0.01;
        check_decay(request, width, 1e-9);
    }
}
