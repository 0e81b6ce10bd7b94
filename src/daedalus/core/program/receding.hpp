// A program solved again and again as its start moves on: real-time iterations.
//
// Between two calls the plan is shifted and the program linearised along it (prepare); a call then takes the measured
// states in and solves one quadratic program in stages (feed back). Its step is taken as far as the merit
//     φ = f + ν Σ |what is missing of the rows|
// falls, in full wherever it can be; ν is large enough for the step to lead downwards (Nocedal, Wright: Numerical
// Optimization, 18.36). Stages whose cost bends downwards somewhere count by the convex part of their curvature.
// Diehl, Bock, Schlöder: A real-time iteration scheme for nonlinear optimization in optimal feedback control (2005).
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

#include "program/convex_part.hpp"
#include "program/hpipm.hpp"
#include "program/ipopt.hpp"
#include "program/stage_places.hpp"

namespace daedalus::programs {

struct FeedbackNews {
    QuadraticEnding ending = QuadraticEnding::failed;
    int iterations = 0;
    double largest_step = 0.0;  // of the scaled variables
    double length = 0.0;        // the share of the step that was taken; 0 where no share of it makes the plan better
};

// Which variables are measured, which are applied, and what each becomes when the plan moves on by one interval.
struct RecedingTables {
    std::vector<int> measured, applied;
    std::vector<int> next;       // for every variable that whose value it takes, itself where it stays
    std::vector<int> tail;       // the rows of the last step, in the order of
    std::vector<int> tail_nodes;  // the states of the last node
};

class RecedingProgram {
public:
    // Numbers that the same controller in C has too (exchange/c_code/controller_in_c.py).
    // A quadratic program takes at most so many iterations, however much time there is.
    static constexpr int most_iterations = 60;
    // How far the last states may move beyond the plan when it is moved on, in scaled variables.
    static constexpr double farthest_tail = 1e3;
    // The share of a predicted gain that a step has to bring, and that of what is missing that counts as such.
    static constexpr double sufficient = 1e-4, decrease = 0.5, least_weight = 1e-3;
    // Steps are halved at most so often; shorter ones than this, in scaled variables, are taken as they are.
    static constexpr int most_cuts = 6;
    static constexpr double settled_step = 1e-6;
    // Added to the curvature by the inputs, as a share of the largest: costs that do not see an input stay solvable.
    static constexpr double least_curvature = 1e-9;

    RecedingProgram(const HpipmLibrary& library, const Program& program, std::span<const double> parameters,
                    ProgramBounds bounds, StageStructure stages, RecedingTables tables)
        : library_(library), evaluation_(program, parameters), bounds_(std::move(bounds)), stages_(std::move(stages)),
          tables_(std::move(tables)), places_(program, stages_), qp_(library_, settled()) {
        point_.resize(program.variables), moved_.resize(program.variables), hessian_.resize(program.hessian_entries);
        none_.resize(program.rows), offset_.resize(tables_.measured.size());
        for (const QuadraticStage& stage : qp_.stages) {
            const auto width = std::size_t(stage.nu + stage.nx) + (steps_.empty() ? tables_.measured.size() : 0);
            steps_.emplace_back(stage.b.size() * width), curves_.emplace_back(width * width);
            rows_.emplace_back(std::size_t(stage.rows) * width), widths_.push_back(width);
        }
    }

    RecedingProgram(const RecedingProgram&) = delete;
    RecedingProgram& operator=(const RecedingProgram&) = delete;

    Evaluation& evaluation() { return evaluation_; }
    std::vector<double>& point() { return point_; }  // scaled
    void changed() { prepared_ = false; }
    // Other bounds, scaled, of variables that have some.
    void set_bounds(ProgramBounds bounds) { bounds_ = std::move(bounds), prepared_ = false; }
    bool prepared() const { return prepared_; }
    const RecedingTables& tables() const { return tables_; }
    const Program& program() const { return evaluation_.program(); }

    // Where a bound is just touched, distance and multiplier both are the root of what is left of their product.
    void set_accuracy(double tolerance) {
        for (const char* name : {"tol_stat", "tol_eq", "tol_ineq"}) qp_.set_number(name, tolerance);
        qp_.set_number("tol_comp", complementary * tolerance);
    }

    // The plan moved on by a share of an interval; behind its end the last inputs stay.
    void shift(double share) {
        prepared_ = false;
        for (; share > 0.0; share -= 1.0) {
            for (std::size_t i = 0; i < point_.size(); ++i) moved_[i] = point_[std::size_t(tables_.next[i])];
            // A tail that runs away is left where the plan ends.
            const double* rows = evaluation_.values(moved_.data());
            for (std::size_t i = 0; rows && i < tables_.tail.size(); ++i)
                if (const double step = rows[tables_.tail[i]]; std::abs(step) < farthest_tail)
                    moved_[std::size_t(tables_.tail_nodes[i])] -= step;
            const double part = std::min(share, 1.0);
            for (std::size_t i = 0; i < point_.size(); ++i) point_[i] += part * (moved_[i] - point_[i]);
        }
    }

    // Linearises along the plan.
    bool prepare() {
        prepared_ = false;
        const double* rows = evaluation_.values(point_.data());
        const double* first = rows ? evaluation_.first(point_.data()) : nullptr;
        if (!first || !evaluation_.second(point_.data(), 1.0, none_.data(), hessian_.data())) return false;
        spread(first);
        for (std::size_t k = 0; k < curves_.size(); ++k) convex_.project(curves_[k].data(), widths_[k]);
        for (std::size_t k = 0; k < qp_.stages.size(); ++k) write_stage(k, rows, first);
        prepared_ = true;
        return true;
    }

    // Takes the measured states in, solves, and moves the plan; without a solution the plan stays as it was.
    FeedbackNews feed_back(const double* measured, int most_iterations) {
        FeedbackNews news;
        for (std::size_t i = 0; i < offset_.size(); ++i) {
            const auto v = std::size_t(tables_.measured[i]);
            offset_[i] = measured[i] / program().scale[v] - point_[v];
        }
        take_in();
        news.ending = qp_.solve(most_iterations, acceptable);
        news.iterations = qp_.iterations();
        news.largest_step = largest_step();
        if (!std::isfinite(news.largest_step)) news.ending = QuadraticEnding::failed;
        if (news.ending != QuadraticEnding::failed) news.length = move(news.largest_step);
        prepared_ = false;
        return news;
    }

private:
    // What a step may leave of the conditions and still be applied, in scaled variables.
    static constexpr double acceptable = 1e-4;
    // The part of the accuracy that products of distances to bounds and multipliers are left with.
    static constexpr double complementary = 1e-4;

    static bool among(const std::vector<int>& list, int variable) {
        return std::find(list.begin(), list.end(), variable) != list.end();
    }
    bool is_measured(int variable) const { return among(tables_.measured, variable); }

    // The stages of the quadratic program: measured states are known and are none of its variables.
    std::vector<QuadraticStage> settled() {
        std::vector<QuadraticStage> found(stages_.nu.size());
        std::size_t at = 0;
        place_.assign(program().variables, -1);
        for (std::size_t k = 0; k < found.size(); ++k) {
            int states = 0;
            const auto nu = stages_.nu[k], nx = stages_.nx[k];
            for (int i = 0; i < nu + nx; ++i, ++at) {
                const int v = stages_.order[at];
                if (i < nu) place_[std::size_t(v)] = i;
                if (i >= nu && !(k == 0 && is_measured(v))) place_[std::size_t(v)] = nu + states++;
            }
            if (k == 0)
                for (std::size_t i = 0; i < tables_.measured.size(); ++i)
                    place_[std::size_t(tables_.measured[i])] = nu + states + int(i);
            own_rows_.emplace_back();
            collect(stages_.equations, stages_.equation_start, k, nu, found[k]);
            collect(stages_.inequalities, stages_.inequality_start, k, nu, found[k]);
            const int next = k + 1 < found.size() ? stages_.nx[k + 1] : 0;
            found[k].settle(nu, states, int(own_rows_[k].size()), next);
            const auto room = [](std::vector<double>& values, const std::vector<int>& of) { values.assign(of.size(), 0.0); };
            room(found[k].lower_u, found[k].bounded_u), room(found[k].upper_u, found[k].bounded_u);
            room(found[k].lower_x, found[k].bounded_x), room(found[k].upper_x, found[k].bounded_x);
        }
        row_at_.assign(program().rows, -1);
        for (const std::vector<int>& rows : own_rows_)
            for (std::size_t i = 0; i < rows.size(); ++i) row_at_[std::size_t(rows[i])] = int(i);
        return found;
    }

    // Rows of a stage, and bounds on its variables.
    void collect(const std::vector<int>& rows, const std::vector<int>& start, std::size_t k, int nu, QuadraticStage& stage) {
        for (int i = start[k]; i < start[k + 1]; ++i) {
            const int row = rows[std::size_t(i)];
            if (row >= 0) {
                own_rows_[k].push_back(row);
            } else if (!is_measured(-1 - row)) {
                const int place = place_[std::size_t(-1 - row)];
                (place < nu ? stage.bounded_u : stage.bounded_x).push_back(place < nu ? place : place - nu);
                (place < nu ? bounded_u_ : bounded_x_).resize(stages_.nu.size());
                (place < nu ? bounded_u_ : bounded_x_)[k].push_back(-1 - row);
            }
        }
    }

    // Derivatives as dense matrices of the stages, column by column.
    void spread(const double* first) {
        for (std::size_t k = 0; k < widths_.size(); ++k) {
            std::fill(steps_[k].begin(), steps_[k].end(), 0.0), std::fill(curves_[k].begin(), curves_[k].end(), 0.0);
            std::fill(rows_[k].begin(), rows_[k].end(), 0.0);
        }
        const Program& own = program();
        const auto column = [&](std::size_t entry) {
            return std::size_t(place_[std::size_t(own.jacobian_columns[entry])]);
        };
        for (const StagePlaces::Target& t : places_.jacobian(StagePlaces::Kind::step)) {
            const auto k = std::size_t(t.stage);
            steps_[k][column(t.entry) * qp_.stages[k].b.size() + std::size_t(t.column)] += t.sign * first[t.entry];
        }
        for (const auto kind : {StagePlaces::Kind::equation, StagePlaces::Kind::inequality})
            for (const StagePlaces::Target& t : places_.jacobian(kind)) {
                const auto k = std::size_t(t.stage), row = std::size_t(own.jacobian_rows[t.entry]);
                rows_[k][column(t.entry) * own_rows_[k].size() + std::size_t(row_at_[row])] += first[t.entry];
            }
        for (std::size_t e = 0; e < own.hessian_entries; ++e) {
            const auto row = std::size_t(own.hessian_rows[e]), other = std::size_t(own.hessian_columns[e]);
            const auto k = std::size_t(places_.stage(row)), width = widths_[k];
            const auto i = std::size_t(place_[row]), j = std::size_t(place_[other]);
            curves_[k][i * width + j] += hessian_[e];
            if (i != j) curves_[k][j * width + i] += hessian_[e];
        }
    }

    void write_stage(std::size_t k, const double* rows, const double* first) {
        QuadraticStage& stage = qp_.stages[k];
        const auto nu = std::size_t(stage.nu), nx = std::size_t(stage.nx), next = stage.b.size(), width = widths_[k];
        const std::size_t count = own_rows_[k].size();
        std::copy_n(steps_[k].data(), next * nu, stage.B.data());
        std::copy_n(steps_[k].data() + next * nu, next * nx, stage.A.data());
        std::copy_n(rows_[k].data(), count * nu, stage.D.data());
        std::copy_n(rows_[k].data() + count * nu, count * nx, stage.C.data());
        double largest = 1e-12;
        for (std::size_t i = 0; i < nu + nx; ++i) largest = std::max(largest, curves_[k][i * width + i]);
        for (std::size_t j = 0; j < nu; ++j) {
            std::copy_n(curves_[k].data() + j * width, nu, stage.R.data() + j * nu);
            stage.R[j * nu + j] += least_curvature * largest;
        }
        for (std::size_t j = 0; j < nx; ++j) {
            std::copy_n(curves_[k].data() + (nu + j) * width, nu, stage.S.data() + j * nu);
            std::copy_n(curves_[k].data() + (nu + j) * width + nu, nx, stage.Q.data() + j * nx);
        }
        if (k + 1 < qp_.stages.size())
            for (std::size_t i = 0; i < next; ++i) {
                const auto row = std::size_t(stages_.steps[std::size_t(stages_.step_start[k]) + i]);
                stage.b[i] = bounds_.row_lower[row] - rows[row];
            }
        for (std::size_t i = 0; i < count; ++i) {
            const auto row = std::size_t(own_rows_[k][i]);
            stage.low[i] = bounds_.row_lower[row] - rows[row], stage.high[i] = bounds_.row_upper[row] - rows[row];
        }
        const double* gradient = first + program().jacobian_entries;
        const std::size_t begin = begins_at(k);
        for (std::size_t i = 0; i < std::size_t(stages_.nu[k] + stages_.nx[k]); ++i) {
            const auto v = std::size_t(stages_.order[begin + i]), place = std::size_t(place_[v]);
            if (place >= nu + nx) continue;
            (place < nu ? stage.r[place] : stage.q[place - nu]) = gradient[v];
        }
        write_bounds(k, bounded_u_, stage.lower_u, stage.upper_u), write_bounds(k, bounded_x_, stage.lower_x, stage.upper_x);
        if (k > 0) qp_.hand_over(k);
    }

    void write_bounds(std::size_t k, const std::vector<std::vector<int>>& bounded, std::vector<double>& lower,
                      std::vector<double>& upper) {
        for (std::size_t i = 0; i < lower.size(); ++i) {
            const auto v = std::size_t(bounded[k][i]);
            lower[i] = bounds_.lower[v] - point_[v], upper[i] = bounds_.upper[v] - point_[v];
        }
    }

    std::size_t begins_at(std::size_t k) const {
        std::size_t begin = 0;
        for (std::size_t i = 0; i < k; ++i) begin += std::size_t(stages_.nu[i] + stages_.nx[i]);
        return begin;
    }

    // What the measured states change in the first stage: everything beside them moves by their known step.
    void take_in() {
        QuadraticStage& stage = qp_.stages[0];
        const auto nu = std::size_t(stage.nu), nx = std::size_t(stage.nx), next = stage.b.size(), width = widths_[0];
        const std::size_t count = own_rows_[0].size();
        for (std::size_t m = 0; m < offset_.size(); ++m) {
            const std::size_t column = nu + nx + m;
            for (std::size_t i = 0; i < next; ++i) stage.b[i] += steps_[0][column * next + i] * offset_[m];
            for (std::size_t i = 0; i < nu; ++i) stage.r[i] += curves_[0][column * width + i] * offset_[m];
            for (std::size_t i = 0; i < nx; ++i) stage.q[i] += curves_[0][column * width + nu + i] * offset_[m];
            for (std::size_t i = 0; i < count; ++i) {
                const double moved = rows_[0][column * count + i] * offset_[m];
                stage.low[i] -= moved, stage.high[i] -= moved;
            }
        }
        qp_.hand_over(0);
    }

    template <class Visit>
    void visit_steps(Visit visit) const {
        std::size_t at = 0;
        for (std::size_t k = 0; k < qp_.stages.size(); ++k) {
            const QuadraticStage& stage = qp_.stages[k];
            for (int i = 0; i < stages_.nu[k] + stages_.nx[k]; ++i, ++at) {
                const auto v = std::size_t(stages_.order[at]), place = std::size_t(place_[v]);
                const auto nu = std::size_t(stage.nu), nx = std::size_t(stage.nx);
                if (place < nu + nx) visit(v, place < nu ? stage.step_u[place] : stage.step_x[place - nu]);
            }
        }
        for (std::size_t i = 0; i < offset_.size(); ++i) visit(std::size_t(tables_.measured[i]), offset_[i]);
    }

    double largest_step() const {
        double largest = 0.0;
        bool finite = true;
        visit_steps([&](std::size_t, double step) {
            largest = std::max(largest, std::abs(step)), finite &= std::isfinite(step);
        });
        return finite ? largest : std::numeric_limits<double>::quiet_NaN();
    }

    // What is missing of the rows, all together.
    double missing(const double* rows) const {
        double sum = 0.0;
        for (std::size_t i = 0; i < program().rows; ++i)
            sum += std::max({0.0, bounds_.row_lower[i] - rows[i], rows[i] - bounds_.row_upper[i]});
        return sum;
    }

    // What the quadratic program says of the objective along its step.
    double predicted() const {
        double sum = 0.0;
        for (const QuadraticStage& stage : qp_.stages) {
            const auto nu = std::size_t(stage.nu), nx = std::size_t(stage.nx);
            for (std::size_t i = 0; i < nu; ++i) {
                double bent = 0.0;
                for (std::size_t j = 0; j < nu; ++j) bent += 0.5 * stage.R[j * nu + i] * stage.step_u[j];
                for (std::size_t j = 0; j < nx; ++j) bent += stage.S[j * nu + i] * stage.step_x[j];
                sum += stage.step_u[i] * (stage.r[i] + bent);
            }
            for (std::size_t i = 0; i < nx; ++i) {
                double bent = 0.0;
                for (std::size_t j = 0; j < nx; ++j) bent += 0.5 * stage.Q[j * nx + i] * stage.step_x[j];
                sum += stage.step_x[i] * (stage.q[i] + bent);
            }
        }
        return sum;
    }

    void place(double length) {
        std::copy(point_.begin(), point_.end(), moved_.begin());
        visit_steps([&](std::size_t v, double step) { moved_[v] += length * step; });
        // What is measured is known, however long the step is.
        for (std::size_t i = 0; i < offset_.size(); ++i) {
            const auto v = std::size_t(tables_.measured[i]);
            moved_[v] = point_[v] + offset_[i];
        }
    }

    // The merit at a share of the step, with its two parts; infinite where a function has no value.
    double merit(double length, double& objective, double& missed) {
        place(length);
        const double* rows = evaluation_.values(moved_.data());
        objective = rows ? rows[program().rows] : std::numeric_limits<double>::infinity();
        missed = rows ? missing(rows) : std::numeric_limits<double>::infinity();
        const double found = objective + weight_ * missed;
        return std::isfinite(found) ? found : std::numeric_limits<double>::infinity();
    }

    // Moves the plan by the longest share of the step that makes it better; 0 where none does, and the plan stays.
    double move(double largest) {
        double objective = 0.0, missed = 0.0;
        merit(0.0, objective, missed);
        const double change = predicted();
        weight_ *= 0.5;
        if (missed > 0.0) weight_ = std::max(weight_, std::max(change, 0.0) / ((1.0 - decrease) * missed));
        weight_ = std::max(weight_, least_weight * std::abs(change) / std::max(missed, 1.0));
        const double before = objective + weight_ * missed;
        const double rounding = 1e-9 * (std::abs(objective) + weight_ * missed) + 1e-12;
        const double gain = std::max(0.0, weight_ * missed - change);
        double length = 1.0;
        for (int cut = 0; cut <= most_cuts; ++cut, length *= 0.5) {
            double own = 0.0, left = 0.0;
            const double after = merit(length, own, left);
            if (!std::isfinite(before) ? std::isfinite(after)
                                       : after <= before - sufficient * length * gain + rounding || (largest < settled_step && cut == 0)) {
                std::swap(point_, moved_);
                return length;
            }
        }
        return 0.0;
    }

    HpipmLibrary library_;
    Evaluation evaluation_;
    ProgramBounds bounds_;
    StageStructure stages_;
    RecedingTables tables_;
    StagePlaces places_;
    std::vector<int> place_;                   // of a variable in its stage: inputs, states, measured states
    std::vector<std::vector<int>> own_rows_;   // of the stages
    std::vector<int> row_at_;
    std::vector<std::vector<int>> bounded_u_, bounded_x_;
    StageQp qp_;
    std::vector<double> point_, moved_, hessian_, none_, offset_;
    std::vector<std::vector<double>> steps_, curves_, rows_;
    std::vector<std::size_t> widths_;
    double weight_ = 0.0;  // of what is missing, in the merit
    ConvexPart convex_;
    bool prepared_ = false;
};

}  // namespace daedalus::programs
