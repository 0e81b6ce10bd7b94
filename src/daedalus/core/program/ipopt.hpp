// A program handed to IPOPT through its C interface, whose functions are found at run time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "program/program.hpp"

namespace daedalus::programs {

// Addresses of IPOPT's C interface (version 3.14, double precision, 32-bit indices).
struct IpoptLibrary {
    using Problem = void*;
    using Objective = bool (*)(int, double*, bool, double*, void*);
    using Rows = bool (*)(int, double*, bool, int, double*, void*);
    using Jacobian = bool (*)(int, double*, bool, int, int, int*, int*, double*, void*);
    using Hessian = bool (*)(int, double*, bool, double, int, double*, bool, int, int*, int*, double*, void*);
    using Iteration = bool (*)(int, int, double, double, double, double, double, double, double, double, int, void*);

    Problem (*create)(int, double*, double*, int, double*, double*, int, int, int, Objective, Rows, Objective, Jacobian,
                      Hessian) = nullptr;
    void (*release)(Problem) = nullptr;
    bool (*set_text)(Problem, char*, char*) = nullptr;
    bool (*set_number)(Problem, char*, double) = nullptr;
    bool (*set_integer)(Problem, char*, int) = nullptr;
    bool (*set_iteration)(Problem, Iteration) = nullptr;
    int (*solve)(Problem, double*, double*, double*, double*, double*, double*, void*) = nullptr;
    bool (*current)(Problem, bool, int, double*, double*, double*, int, double*, double*) = nullptr;
};

// What a solver tells of an iteration; the answer is whether to go on.
struct IterationNews {
    int iteration = 0;
    double objective = 0.0, violation = 0.0, stationarity = 0.0;
};
using Listener = std::function<bool(const IterationNews&)>;

struct ProgramBounds {
    std::vector<double> lower, upper, row_lower, row_upper;
};

// Where a search begins and, afterwards, where it ended.
struct ProgramPoint {
    std::vector<double> x, rows, multipliers, lower_multipliers, upper_multipliers;
    double objective = 0.0;
};

struct ProgramOutcome {
    int status = 0, iterations = 0;
    bool has_best = false;
    std::vector<double> best;  // the iterate with the least violation; among feasible ones that of least objective
    IterationNews best_news;
};

struct SolverOptions {
    std::vector<std::pair<std::string, std::string>> texts;
    std::vector<std::pair<std::string, double>> numbers;
    std::vector<std::pair<std::string, int>> integers;
};

namespace ipopt_calls {

struct Session {
    Evaluation& evaluation;
    const IpoptLibrary& library;
    const Listener& listener;
    ProgramOutcome& outcome;
    double feasible;
    IpoptLibrary::Problem problem = nullptr;
    std::vector<double> seen;
};

/// The factorisation behind IPOPT reads outside of its tables where an entry is not a number.
inline bool all_finite(const double* entries, std::size_t count) {
    return std::all_of(entries, entries + count, [](double entry) { return std::isfinite(entry); });
}

inline Session& session(void* user) { return *static_cast<Session*>(user); }

inline bool objective(int, double* x, bool, double* value, void* user) {
    Evaluation& at = session(user).evaluation;
    const double* rows = at.values(x);
    if (!rows) return false;
    *value = rows[at.program().rows];
    return std::isfinite(*value);
}

inline bool gradient(int, double* x, bool, double* out, void* user) {
    Evaluation& at = session(user).evaluation;
    const double* found = at.first(x);
    if (found) std::copy_n(found + at.program().jacobian_entries, at.program().variables, out);
    return found != nullptr && all_finite(out, std::size_t(at.program().variables));
}

inline bool rows(int, double* x, bool, int count, double* out, void* user) {
    const double* found = session(user).evaluation.values(x);
    if (found) std::copy_n(found, count, out);
    return found != nullptr;
}

inline bool jacobian(int, double* x, bool, int, int count, int* row, int* column, double* out, void* user) {
    Evaluation& at = session(user).evaluation;
    if (!out) {
        std::copy_n(at.program().jacobian_rows.begin(), count, row);
        std::copy_n(at.program().jacobian_columns.begin(), count, column);
        return true;
    }
    const double* found = at.first(x);
    if (found) std::copy_n(found, count, out);
    return found != nullptr && all_finite(out, std::size_t(count));
}

inline bool hessian(int, double* x, bool, double factor, int, double* multipliers, bool, int count, int* row,
                    int* column, double* out, void* user) {
    Evaluation& at = session(user).evaluation;
    if (!out) {
        std::copy_n(at.program().hessian_rows.begin(), count, row);
        std::copy_n(at.program().hessian_columns.begin(), count, column);
        return true;
    }
    return at.second(x, factor, multipliers, out) && all_finite(out, std::size_t(count));
}

inline void keep_best(Session& s, const IterationNews& news) {
    ProgramOutcome& outcome = s.outcome;
    const IterationNews& best = outcome.best_news;
    const bool feasible = news.violation <= s.feasible, was_feasible = best.violation <= s.feasible;
    const bool better = feasible ? !was_feasible || news.objective < best.objective : news.violation < best.violation;
    if (outcome.has_best && !better) return;
    const int n = int(s.evaluation.program().variables), m = int(s.evaluation.program().rows);
    if (!s.library.current(s.problem, false, n, s.seen.data(), nullptr, nullptr, m, nullptr, nullptr)) return;
    outcome.best = s.seen, outcome.best_news = news, outcome.has_best = true;
}

inline bool iteration(int mode, int count, double f, double primal, double dual, double, double, double, double, double,
                      int, void* user) {
    Session& s = session(user);
    const IterationNews news{count, f, primal, dual};
    s.outcome.iterations = count;
    if (mode == 0) keep_best(s, news);
    return s.listener ? s.listener(news) : true;
}

}  // namespace ipopt_calls

// IPOPT's search from a point; the point becomes where it ended.
inline ProgramOutcome run_ipopt(const IpoptLibrary& library, Evaluation& evaluation, ProgramBounds& bounds,
                                ProgramPoint& point, const SolverOptions& options, const Listener& listener,
                                double feasible) {
    const Program& program = evaluation.program();
    ProgramOutcome outcome;
    ipopt_calls::Session session{evaluation, library, listener, outcome, feasible, nullptr, {}};
    session.seen.resize(program.variables);
    const auto problem = library.create(
        int(program.variables), bounds.lower.data(), bounds.upper.data(), int(program.rows), bounds.row_lower.data(),
        bounds.row_upper.data(), int(program.jacobian_entries), int(program.hessian_entries), 0, ipopt_calls::objective,
        ipopt_calls::rows, ipopt_calls::gradient, ipopt_calls::jacobian, ipopt_calls::hessian);
    outcome.status = -11;
    if (!problem) return outcome;
    session.problem = problem;
    bool known = true;
    for (auto [name, value] : options.texts) known &= library.set_text(problem, name.data(), value.data());
    for (auto [name, value] : options.numbers) known &= library.set_number(problem, name.data(), value);
    for (auto [name, value] : options.integers) known &= library.set_integer(problem, name.data(), value);
    known &= library.set_iteration(problem, ipopt_calls::iteration);
    outcome.status = known ? library.solve(problem, point.x.data(), point.rows.data(), &point.objective,
                                           point.multipliers.data(), point.lower_multipliers.data(),
                                           point.upper_multipliers.data(), &session)
                           : -12;
    library.release(problem);
    return outcome;
}

}  // namespace daedalus::programs
