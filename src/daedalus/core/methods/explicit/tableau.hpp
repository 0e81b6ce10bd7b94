// Any explicit Runge-Kutta method by its tableau, prepared for stepping: zeros left out, dense output built.
//
// Dense output of order p: cubic Hermite up to order 4; above, the interpolant is raised one degree at a time by
// evaluating the right-hand side on the present one (Enright, Jackson, Norsett, Thomsen: Interpolants for Runge-Kutta
// formulas, ACM Transactions on Mathematical Software 12 (1986) 193-218).
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "linear/inverse.hpp"

namespace daedalus {

// The numbers as one writes them: a is strictly lower triangular in rows; b_hat is empty without an error estimate.
struct Tableau {
    std::vector<double> a, b, c, b_hat;
    int order = 1, error_order = 0;
};

struct WeightRow {
    const int* column = nullptr;
    const double* weight = nullptr;
    int count = 0;
};

// Raises the interpolant to `degree`: coefficients 1..degree = weights * (x1 - x0, h f0, h f1, h f at the nodes).
struct HermiteLevel {
    int degree = 0;
    const double* nodes = nullptr;
    const double* weights = nullptr;
};

// What the stepper reads; rows are 0..inner-1 stages, `inner` the slope at the end, then slopes at the nodes.
struct GeneralMethod {
    int inner = 0, rows = 0, degree = 3, order = 1, control_order = 1;
    bool has_error = false, error_needs_end = false;
    const double* c = nullptr;
    const WeightRow* stage = nullptr;  // stage[inner] holds the weights b of the step, stage[inner + 1] the error's
    const HermiteLevel* levels = nullptr;
    int level_count = 0;
};

// Owns the memory behind a GeneralMethod.
class PreparedTableau {
public:
    explicit PreparedTableau(const Tableau& tableau) : c_(tableau.c) {
        const int stages = static_cast<int>(tableau.b.size());
        // First same as last: the last stage is the slope at the end of the step.
        const double* last_row = tableau.a.data() + (stages - 1) * stages;
        const bool last_is_end = std::equal(tableau.b.begin(), tableau.b.end(), last_row);
        const bool reuses_last = stages > 1 && c_.back() == 1 && last_is_end;
        const int inner = reuses_last ? stages - 1 : stages;
        std::vector<double> error;
        for (std::size_t i = 0; i < tableau.b_hat.size(); ++i) error.push_back(tableau.b[i] - tableau.b_hat[i]);

        for (int row = 0; row < inner; ++row) add_row(tableau.a.data() + row * stages, row);
        add_row(tableau.b.data(), inner);
        add_row(error.data(), static_cast<int>(error.size()));
        for (std::size_t i = 0; i + 1 < starts_.size(); ++i)
            rows_.push_back({columns_.data() + starts_[i], weights_.data() + starts_[i], starts_[i + 1] - starts_[i]});

        method_.inner = inner;
        method_.order = tableau.order;
        method_.has_error = !error.empty();
        method_.error_needs_end = reuses_last && method_.has_error && error.back() != 0;
        const int estimate = tableau.error_order > 0 ? tableau.error_order : tableau.order - 1;
        method_.control_order = std::max(1, std::min(tableau.order, estimate) + 1);
        method_.c = c_.data();
        method_.stage = rows_.data();
        prepare_dense();
    }
    PreparedTableau(const PreparedTableau&) = delete;
    PreparedTableau& operator=(const PreparedTableau&) = delete;

    const GeneralMethod& method() const { return method_; }

private:
    void add_row(const double* weights, int count) {
        if (starts_.empty()) starts_.push_back(0);
        for (int j = 0; j < count; ++j)
            if (weights[j] != 0) columns_.push_back(j), weights_.push_back(weights[j]);
        starts_.push_back(static_cast<int>(columns_.size()));
    }

    void prepare_dense() {
        method_.degree = std::max(3, method_.order - 1);
        method_.rows = method_.inner + 1 + method_.degree - 3;
        for (int degree = 4; degree <= method_.degree; ++degree) {
            // Off-centre nodes (i - 0.4) / (count + 1): symmetric ones make the conditions dependent for odd counts;
            // the largest sum of weights with this choice stays below 1.04.
            const int count = degree - 3;
            std::vector<double> nodes;
            for (int i = 1; i <= count; ++i) nodes.push_back((i - 0.4) / (count + 1));
            std::vector<long double> conditions(static_cast<std::size_t>(degree) * degree, 0.0L);
            for (int j = 0; j < degree; ++j) {
                conditions[0 * degree + j] = 1;                      // x(1) = x1
                conditions[1 * degree + j] = j == 0;                 // x'(0) = h f0
                conditions[2 * degree + j] = j + 1;                  // x'(1) = h f1
                for (int i = 0; i < count; ++i)                      // x'(node) = h f(node)
                    conditions[(3 + i) * degree + j] = (j + 1) * std::pow(static_cast<long double>(nodes[i]), j);
            }
            node_lists_.push_back(std::move(nodes));
            const std::vector<long double> weights = inverse(std::move(conditions), degree);
            weight_lists_.emplace_back(weights.begin(), weights.end());
            levels_.push_back({degree, node_lists_.back().data(), weight_lists_.back().data()});
        }
        method_.levels = levels_.data();
        method_.level_count = static_cast<int>(levels_.size());
    }

    std::vector<double> c_, weights_;
    std::vector<int> columns_, starts_;
    std::vector<WeightRow> rows_;
    std::vector<std::vector<double>> node_lists_, weight_lists_;
    std::vector<HermiteLevel> levels_;
    GeneralMethod method_;
};

}  // namespace daedalus
