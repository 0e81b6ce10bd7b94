// Where the derivatives of a program go in the matrices of its stages, for solvers that go through these one by one.
//
// A stage k has variables (u_k, x_k), rows of its own that are equations or lie between bounds, and rows that take it to
// the next, 0 = x_{k+1} - F_k(u_k, x_k). Which variable and row of the program is which is settled beforehand.
#pragma once

#include <vector>

#include "program/program.hpp"

namespace daedalus::programs {

// The stages of a program: rows of variables are numbered from 0, bounds on variable v as rows by -1 - v.
struct StageStructure {
    std::vector<int> nu, nx;                 // K each
    std::vector<int> order;                  // (u_0, x_0, u_1, x_1, …): numbers of variables
    std::vector<int> equations, inequalities, steps;          // rows, stage by stage
    std::vector<int> equation_start, inequality_start, step_start;  // K + 1 each (steps: K)
};

class StagePlaces {
public:
    enum class Kind { equation, inequality, step };
    struct RowPlace {
        Kind kind = Kind::equation;
        int stage = -1, column = 0;
    };
    // Where a nonzero goes: of a row's derivative the variable's place is `row`, the row's own `column`.
    struct Target {
        std::size_t entry;
        int stage, row, column;
        double sign;
    };

    StagePlaces(const Program& program, const StageStructure& stages) {
        place_.resize(program.variables), stage_of_.resize(program.variables), rows_.resize(program.rows);
        std::size_t at = 0;
        for (std::size_t k = 0; k < stages.nu.size(); ++k)
            for (int i = 0; i < stages.nu[k] + stages.nx[k]; ++i, ++at) {
                place_[std::size_t(stages.order[at])] = i, stage_of_[std::size_t(stages.order[at])] = int(k);
            }
        settle(stages.equations, stages.equation_start, Kind::equation);
        settle(stages.inequalities, stages.inequality_start, Kind::inequality);
        settle(stages.steps, stages.step_start, Kind::step);
        place_jacobian(program), place_hessian(program);
    }

    int place(std::size_t variable) const { return place_[variable]; }  // among (u_k, x_k)
    int stage(std::size_t variable) const { return stage_of_[variable]; }
    const RowPlace& row(std::size_t row) const { return rows_[row]; }
    // Steps count as F_k, without the part of x_{k+1}.
    const std::vector<Target>& jacobian(Kind kind) const { return targets_[std::size_t(kind)]; }
    const std::vector<Target>& hessian() const { return curved_; }  // both halves

private:
    void settle(const std::vector<int>& rows, const std::vector<int>& start, Kind kind) {
        for (std::size_t k = 0; k + 1 < start.size(); ++k)
            for (int i = start[k]; i < start[k + 1]; ++i)
                if (rows[std::size_t(i)] >= 0) rows_[std::size_t(rows[std::size_t(i)])] = {kind, int(k), i - start[k]};
    }

    void place_jacobian(const Program& program) {
        for (std::size_t e = 0; e < program.jacobian_entries; ++e) {
            const RowPlace& row = rows_[std::size_t(program.jacobian_rows[e])];
            const auto column = std::size_t(program.jacobian_columns[e]);
            if (row.kind == Kind::step && stage_of_[column] != row.stage) continue;  // x_{k+1} itself
            const double sign = row.kind == Kind::step ? -1.0 : 1.0;
            targets_[std::size_t(row.kind)].push_back({e, row.stage, place_[column], row.column, sign});
        }
    }

    void place_hessian(const Program& program) {
        for (std::size_t e = 0; e < program.hessian_entries; ++e) {
            const auto row = std::size_t(program.hessian_rows[e]), column = std::size_t(program.hessian_columns[e]);
            const int stage = stage_of_[row];
            curved_.push_back({e, stage, place_[row], place_[column], 1.0});
            if (row != column) curved_.push_back({e, stage, place_[column], place_[row], 1.0});
        }
    }

    std::vector<int> place_, stage_of_;
    std::vector<RowPlace> rows_;
    std::vector<Target> targets_[3], curved_;
};

}  // namespace daedalus::programs
