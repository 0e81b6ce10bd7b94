// Full Newton on a group of stages: derivatives K_i of x and values Z_i of z are the unknowns, every matrix is new.
//
// Corrections are followed as far as they help (model/damped_newton.hpp). The one that the test computed is added at the
// end, so a linear model costs one matrix a step.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "methods/implicit/blame.hpp"
#include "methods/implicit/column_newton.hpp"
#include "methods/implicit/implicit_state.hpp"
#include "methods/implicit_tableau/implicit_tableau.hpp"
#include "methods/implicit_tableau/stage_pattern.hpp"
#include "model/damped_newton.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

struct FreeStagePattern {
    void operator()(const StagePattern* pattern) const noexcept { free_stage_pattern(pattern); }
};

// Matrix of a group of several stages; a single stage uses the model's own.
struct GroupMatrix {
    std::unique_ptr<const StagePattern, FreeStagePattern> pattern;
    std::unique_ptr<BlockSolver<double>> solver;
};

inline int largest_group(const ImplicitTableau& tableau) noexcept {
    int largest = 1;
    for (const StageGroup& group : tableau.groups) largest = std::max(largest, group.count);
    return largest;
}

struct StageState : ImplicitState {
    const ImplicitTableau& tableau;
    const long long most;                     // stages in the largest group
    std::unique_ptr<GroupMatrix[]> matrices;  // one a group
    double* rows;                    // (stages + 1, unknowns): (K_i, Z_i); the last row is the end of the step
    double* base;                    // (most, states): x at the stages of a group without what the group adds
    double* residuals;               // (most, unknowns) each: at the present unknowns,
    double* change;                  // Newton's correction,
    double* trial;                   // unknowns to be tested,
    double* next;                    // the correction there
    double* stage;                   // one state (x, z)
    double* error;                   // the estimate
    double* group_rows;              // scales of a higher-index model, repeated for every stage
    double* group_columns;
    double tolerance = 1;            // of what is left in the unknowns, in weighted norm
    double rounding = 0;             // corrections below this that do not shrink are rounding
    int most_rounds = 30;
    int halvings = most_halvings;    // of one correction
    bool strained = false;           // a correction had to be damped, or left more than a quarter of itself
    double step = 0;

    StageState(const ImplicitModel& m, const ImplicitCalls& calls, const ImplicitTableau& t)
        : ImplicitState(m, calls),
          tableau(t),
          most(largest_group(t)),
          matrices(std::make_unique<GroupMatrix[]>(t.groups.size())) {
        const long long n = m.unknowns;
        rows = memory.carve((t.stages + 1) * n), base = memory.carve(most * m.states);
        residuals = memory.carve(most * n), change = memory.carve(most * n);
        trial = memory.carve(most * n), next = memory.carve(most * n);
        group_rows = memory.carve(most * n), group_columns = memory.carve(most * n);
        stage = memory.carve(n), error = memory.carve(n);
        for (std::size_t g = 0; g < t.groups.size(); ++g) {
            if (t.groups[g].count < 2) continue;
            matrices[g].pattern.reset(make_stage_pattern(m, t, t.groups[g]));
            matrices[g].solver =
                std::make_unique<BlockSolver<double>>(matrices[g].pattern->matrix, m, t.groups[g].count);
        }
    }
};

// The stages that one Newton iteration solves for: a group of the tableau, or the end of the step, where x is known.
struct Stages {
    int first = 0, count = 1;
    bool known = false;
    const GroupMatrix* matrix = nullptr;
};

inline BlockSolver<double>& solver_of(StageState& m, const Stages& part) noexcept {
    return part.matrix && part.matrix->solver ? *part.matrix->solver : m.solver;
}

inline double stage_time(const Integration& s, const StageState& m, int i) noexcept {
    const double c = i < m.tableau.stages ? m.tableau.c[static_cast<std::size_t>(i)] : 1;
    return c == 1 ? s.t_new : s.t + c * (s.t_new - s.t);
}

inline double coupling(const StageState& m, const Stages& part, int i, int j) noexcept {
    return part.known ? 0 : m.tableau.entry(part.first + i, part.first + j);
}

// (x, z) at stage i of the part, where its unknowns are u.
inline void state_at_stage(StageState& m, const Stages& part, int i, const double* u) noexcept {
    const long long n = m.unknowns, nx = m.states;
    copy(m.base + i * nx, nx, m.stage);
    for (int j = 0; j < part.count; ++j) {
        const double factor = m.step * coupling(m, part, i, j);
        if (factor == 0) continue;
        for (long long k = 0; k < nx; ++k) m.stage[k] += factor * u[j * n + k];
    }
    copy(u + i * n + nx, n - nx, m.stage + nx);
}

inline bool stage_residuals(Integration& s, StageState& m, const Stages& part, const double* u, double* out) noexcept {
    for (int i = 0; i < part.count; ++i) {
        state_at_stage(m, part, i, u);
        const double* rate = u + i * m.unknowns;
        if (!residual_at(s, m, stage_time(s, m, part.first + i), rate, m.stage, out + i * m.unknowns)) return false;
    }
    return true;
}

// delta_ij (dF/dx' | dF/dz) + h a_ij dF/dx into the matrix, from the Jacobians at stage i.
inline void scatter_row(StageState& m, const Stages& part, int i, double* values) noexcept {
    const ImplicitModel& model = m.model;
    const long long first_z = model.matrix.colind[static_cast<std::size_t>(model.block_states())];
    const auto alls = static_cast<long long>(model.all_place.size());
    const auto dots = static_cast<long long>(model.dot_place.size());
    const long long nonzeros = model.matrix.nonzeros();
    for (int j = 0; j < part.count; ++j) {
        const double factor = m.step * coupling(m, part, i, j);
        const std::int32_t* place =
            part.count > 1 ? part.matrix->pattern->place.data() + (i * part.count + j) * nonzeros : nullptr;
        const auto at = [&](long long k) { return place ? place[k] : k; };
        for (long long k = 0; k < alls; ++k) {
            const long long here = model.all_place[static_cast<std::size_t>(k)];
            if (here >= first_z) {
                if (i == j) values[at(here)] += m.all[k];
            } else if (factor != 0) {
                values[at(here)] += factor * m.all[k];
            }
        }
        if (i != j) continue;
        for (long long k = 0; k < dots; ++k) values[at(model.dot_place[static_cast<std::size_t>(k)])] += m.dot[k];
    }
}

// Jacobians at every stage, and the factors of their matrix.
inline bool linearise(Integration& s, StageState& m, const Stages& part, const double* u) noexcept {
    BlockSolver<double>& solver = solver_of(m, part);
    const long long n = m.unknowns;
    double* values = solver.values();
    const long long nonzeros = part.count > 1 ? part.matrix->pattern->matrix.nonzeros() : m.model.matrix.nonzeros();
    for (long long k = 0; k < nonzeros; ++k) values[k] = 0;
    for (int i = 0; i < part.count; ++i) {
        state_at_stage(m, part, i, u);
        if (!jacobian_at(s, m, stage_time(s, m, part.first + i), u + i * n, m.stage)) return false;
        scatter_row(m, part, i, values);
    }
    ++m.factorisations;
    if (!m.model.higher_index) return solver.factor(nullptr, nullptr);
    // K is larger than x by 1/h.
    scale_by_index(m, std::fabs(m.step));
    const long long block = m.model.block_unknowns();
    for (int i = 0; i < part.count; ++i)
        for (long long k = 0; k < block; ++k) {
            m.group_rows[i * block + k] = m.row_scale[k];
            m.group_columns[i * block + k] = k < m.model.block_states() ? m.column_scale[k] / std::fabs(m.step) : m.column_scale[k];
        }
    return solver.factor(m.group_rows, m.group_columns);
}

// RMS over the stages: h K counts like x.
inline double stage_norm(const StageState& m, const Stages& part, const double* values) noexcept {
    double sum = 0;
    for (int i = 0; i < part.count; ++i)
        for (long long k = 0; k < m.unknowns; ++k) {
            const double entry = values[i * m.unknowns + k] * m.weights[k] * (k < m.states ? m.step : 1);
            sum += entry * entry;
        }
    const long long size = part.count * m.model.counted();
    return std::sqrt(sum / static_cast<double>(size > 0 ? size : 1));
}

// The variable in which some stage's correction is largest.
inline long long worst_of_stages(const StageState& m, const Stages& part, const double* values) noexcept {
    long long worst = -1;
    double largest = -1;
    for (int i = 0; i < part.count; ++i)
        for (long long k = 0; k < m.unknowns; ++k) {
            const double entry = std::fabs(values[i * m.unknowns + k] * m.weights[k] * (k < m.states ? m.step : 1));
            if (entry > largest) largest = entry, worst = k;
        }
    return worst;
}

// What corrections of group g change in the equations of later groups, stage by stage; linearised at u.
inline void subtract_below_stages(Integration& s, StageState& m, const Stages& part, long long g, const double* u,
                                  double* out) noexcept {
    const long long n = m.unknowns;
    for (int i = 0; i < part.count; ++i) {
        direct(m, g, out + i * n, 1, nullptr, 0);
        for_places(m.model, g, [&](long long begin, long long end) {
            for (long long k = begin; k < end && k < m.states; ++k) {
                double sum = 0;
                for (int j = 0; j < part.count; ++j) sum += coupling(m, part, i, j) * out[j * n + k];
                m.direction[k] = m.step * sum;
            }
        });
        state_at_stage(m, part, i, u);
        subtract_below(s, m, g, stage_time(s, m, part.first + i), u + i * n, m.stage, out + i * n);
    }
}

inline void correction(Integration& s, StageState& m, const Stages& part, const double* u, const double* residuals,
                       double* out) noexcept {
    const long long size = part.count * m.unknowns;
    for (long long k = 0; k < size; ++k) out[k] = -residuals[k];
    solver_of(m, part).solve_own(out);
    for (long long g = 1; g < m.group_count; ++g) {
        subtract_below_stages(s, m, part, g - 1, u, out);
        solver_of(m, part).solve_group(g, out);
    }
}

// The equations of a part of the stages at u, with the correction in `change` that is followed as far as it helps.
struct DampedPart {
    Integration& s;
    StageState& m;
    const Stages& part;
    double* u;
    const long long size;
    bool finite = true;  // whether the residuals of the last trial are

    void move_to(double share) noexcept {
        for (long long k = 0; k < size; ++k) m.trial[k] = u[k] + share * m.change[k];
    }
    double size_behind() noexcept {
        finite = stage_residuals(s, m, part, m.trial, m.residuals);
        if (!finite) return std::numeric_limits<double>::infinity();
        correction(s, m, part, u, m.residuals, m.next);
        return stage_norm(m, part, m.next);
    }
    bool is_small(double length, double, double share) const noexcept {
        return finite && share == 1 && length <= m.rounding;
    }
    bool is_stopped() const noexcept { return s.abort_called; }
};

// Moves the unknowns of the part to a solution; on failure `s.culprit` names the variable that moved most.
inline NewtonOutcome solve_part(Integration& s, StageState& m, const Stages& part) noexcept {
    const long long size = part.count * m.unknowns;
    double* u = m.rows + part.first * m.unknowns;
    s.culprit = {};
    if (!stage_residuals(s, m, part, u, m.residuals)) {
        long long entry = 0;
        if (first_not_finite(m.residuals, size, entry)) s.culprit = {entry % m.unknowns, Culprit::What::derivative};
        return NewtonOutcome::not_finite;
    }
    DampedPart stages{s, m, part, u, size};
    double damping = 1;
    for (int round = 0; round < m.most_rounds; ++round) {
        ++m.newton;
        if (!linearise(s, m, part, u)) return NewtonOutcome::singular;
        correction(s, m, part, u, m.residuals, m.change);
        const double length = stage_norm(m, part, m.change);
        if (!std::isfinite(length)) return NewtonOutcome::singular;
        s.culprit = {worst_of_stages(m, part, m.change), Culprit::What::nothing};
        const Followed found = follow_correction(stages, length, damping, m.halvings);
        if (s.abort_called) return NewtonOutcome::not_finite;
        m.strained |= found.part < damping;
        if (!found.is_shorter) return stages.finite ? NewtonOutcome::diverged : NewtonOutcome::not_finite;
        copy(m.trial, size, u);
        if (found.part == 1) {
            // Corrections of this size that do not shrink are noise.
            if (!is_shorter(found.next, length, 1)) return NewtonOutcome::converged;
            const double theta = length > 0 ? found.next / length : 0;
            m.strained |= theta > 0.25 && length > m.rounding;
            if (theta / (1 - theta) * found.next <= m.tolerance) {
                for (long long k = 0; k < size; ++k) u[k] += m.next[k];
                return NewtonOutcome::converged;
            }
        }
        damping = std::fmin(1.0, 2 * found.part);
    }
    return NewtonOutcome::diverged;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
