// A nonlinear program as a sum of small functions, each mapped over many places, and of a linear part.
//
// With w = scale * (what a solver changes) and parameters p, every block gathers its arguments from (w, p), calls its
// compiled function, and adds weighted results to rows of g or to the objective; derivatives likewise:
//     f, g_i = linear + sum over blocks and places of weight * result.
// Patterns and places are settled beforehand, so that an evaluation neither searches nor allocates.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "model/caller.hpp"
#include "program/running_cost.hpp"

namespace daedalus::programs {

// One function at `count` places; tables hold one row a place. Where a function has several inputs, these are parts of v
// in turn; of several outputs those that are wanted stand behind each other.
struct MappedBlock {
    const Function* value = nullptr;   // (v) -> results
    const Function* first = nullptr;   // (v) -> nonzeros of the Jacobian
    const Function* second = nullptr;  // (v, multipliers) -> nonzeros of the Hessian; may be missing
    RunningCost running;               // in the place of `second`: the cost along the way, for Gauss and Newton
    std::vector<char> first_wanted, second_wanted;  // outputs that are wanted, one flag each
    std::size_t multiplier_input = 1;               // which input of `second` the multipliers are
    std::size_t count = 0, arguments = 0, results = 0, first_entries = 0, second_entries = 0;
    std::vector<int> sources;          // of the arguments, in (w, p)
    std::vector<int> rows;             // of g; as many as g has rows means the objective
    std::vector<double> weights;       // of the results
    std::vector<int> first_places;     // among the nonzeros of the Jacobian, then in the gradient; -1: not asked for
    std::vector<double> first_factors;
    std::vector<int> second_places;    // among the nonzeros of the Hessian; -1: not asked for
    std::vector<double> second_factors;
};

// An entry of the linear part: row (as many as g has rows means the objective), column, coefficient and its place.
struct LinearEntry {
    int row = 0, column = 0, place = 0;
    double coefficient = 0.0;  // of the scaled variable
};

struct Program {
    std::size_t variables = 0, parameters = 0, rows = 0, jacobian_entries = 0, hessian_entries = 0;
    std::vector<double> scale;
    std::vector<int> jacobian_rows, jacobian_columns, hessian_rows, hessian_columns;
    std::vector<LinearEntry> linear;
    std::vector<MappedBlock> blocks;
};

// The functions of a program for one thread, at one value of the parameters; what was computed last is kept.
class Evaluation {
public:
    Evaluation(const Program& program, std::span<const double> parameters)
        : program_(program), point_(program.variables, 0.0), source_(program.variables + program.parameters),
          rows_(program.rows + 1), derivatives_(program.jacobian_entries + program.variables) {
        std::copy(parameters.begin(), parameters.end(), source_.begin() + std::ptrdiff_t(program.variables));
        std::size_t longest = 1;
        for (const MappedBlock& block : program.blocks) {
            longest = std::max({longest, block.arguments, block.results, block.first_entries, block.second_entries});
            Callers& own = callers_.emplace_back();
            own.value = caller(block.value), own.first = caller(block.first), own.second = caller(block.second);
            if (!block.running.curvature) continue;
            own.second = caller(block.running.curvature), own.curvature = std::make_unique<IntervalCurvature>(block.running);
            own.ends.resize(block.count * block.results), own.slopes.resize(block.count * block.first_entries);
        }
        arguments_.resize(longest), multipliers_.resize(longest), results_.resize(longest);
    }

    // The rows of g and then the objective, or null where a function failed.
    const double* values(const double* x) {
        move_to(x);
        if (has_values_) return rows_.data();
        std::fill(rows_.begin(), rows_.end(), 0.0);
        for (const LinearEntry& entry : program_.linear)
            rows_[std::size_t(entry.row)] += entry.coefficient * x[entry.column];
        for (std::size_t b = 0; b < program_.blocks.size(); ++b)
            if (!add_values(program_.blocks[b], callers_[b])) return nullptr;
        has_values_ = true;
        return rows_.data();
    }

    // The nonzeros of the Jacobian and then the gradient, or null where a function failed.
    const double* first(const double* x) {
        move_to(x);
        if (has_first_) return derivatives_.data();
        std::fill(derivatives_.begin(), derivatives_.end(), 0.0);
        for (const LinearEntry& entry : program_.linear) derivatives_[std::size_t(entry.place)] += entry.coefficient;
        for (std::size_t b = 0; b < program_.blocks.size(); ++b)
            if (!add_first(program_.blocks[b], callers_[b])) return nullptr;
        has_first_ = true;
        return derivatives_.data();
    }

    // Adds nothing to what it finds: `out` becomes the lower half of the Hessian of factor * f + multipliers * g.
    bool second(const double* x, double factor, const double* multipliers, double* out) {
        move_to(x);
        std::fill(out, out + program_.hessian_entries, 0.0);
        for (std::size_t b = 0; b < program_.blocks.size(); ++b) {
            const MappedBlock& block = program_.blocks[b];
            if (block.running.curvature) {
                if (!values(x) || !first(x) || !add_running(block, callers_[b], factor, out)) return false;
            } else if (block.second_entries &&
                       !add_second(block, callers_[b].second->call(), factor, multipliers, out)) {
                return false;
            }
        }
        return true;
    }

    const Program& program() const { return program_; }

    // Other values of the parameters; what was computed is computed anew.
    void set_parameters(const double* parameters) {
        std::copy_n(parameters, program_.parameters, source_.begin() + std::ptrdiff_t(program_.variables));
        has_values_ = false, has_first_ = false;
    }

private:
    static constexpr std::size_t no_multipliers = static_cast<std::size_t>(-1);

    struct Callers {
        std::unique_ptr<Caller> value, first, second;
        std::unique_ptr<IntervalCurvature> curvature;
        std::vector<double> ends, slopes;  // of blocks with a running cost: what was computed last, place by place
    };

    static std::unique_ptr<Caller> caller(const Function* function) {
        return function ? std::make_unique<Caller>(*function) : nullptr;
    }

    void move_to(const double* x) {
        const std::size_t n = program_.variables;
        if (moved_ && std::memcmp(x, point_.data(), n * sizeof(double)) == 0) return;
        std::copy(x, x + n, point_.begin());
        for (std::size_t i = 0; i < n; ++i) source_[i] = program_.scale[i] * x[i];
        moved_ = true, has_values_ = false, has_first_ = false;
    }

    void gather(const MappedBlock& block, std::size_t place) {
        const int* from = block.sources.data() + place * block.arguments;
        for (std::size_t k = 0; k < block.arguments; ++k) arguments_[k] = source_[std::size_t(from[k])];
    }

    // Inputs are parts of v in turn, but for the multipliers; outputs that are not wanted are not computed.
    void connect(Call& call, std::size_t multiplier_input, const std::vector<char>& wanted) {
        const Function& function = *call.function;
        const double* argument = arguments_.data();
        for (std::size_t i = 0; i < function.size_in.size(); ++i) {
            const bool own = i != multiplier_input;
            call.arg[i] = own ? argument : multipliers_.data();
            if (own) argument += function.size_in[i];
        }
        double* result = results_.data();
        for (std::size_t i = 0; i < function.size_out.size(); ++i) {
            const bool use = wanted.empty() || wanted[i];
            call.res[i] = use ? result : nullptr;
            if (use) result += function.size_out[i];
        }
    }

    bool add_values(const MappedBlock& block, Callers& own) {
        Call& call = own.value->call();
        connect(call, no_multipliers, {});
        for (std::size_t place = 0; place < block.count; ++place) {
            gather(block, place);
            if (evaluate(call) != 0) return false;
            const int* rows = block.rows.data() + place * block.results;
            const double* weights = block.weights.data() + place * block.results;
            for (std::size_t k = 0; k < block.results; ++k) rows_[std::size_t(rows[k])] += weights[k] * results_[k];
            if (own.curvature) std::copy_n(results_.data(), block.results, own.ends.data() + place * block.results);
        }
        return true;
    }

    bool add_first(const MappedBlock& block, Callers& own) {
        Call& call = own.first->call();
        connect(call, no_multipliers, block.first_wanted);
        for (std::size_t place = 0; place < block.count; ++place) {
            gather(block, place);
            if (evaluate(call) != 0) return false;
            const std::size_t begin = place * block.first_entries;
            scatter(block.first_places.data() + begin, block.first_factors.data() + begin, block.first_entries,
                    derivatives_.data());
            if (own.curvature) std::copy_n(results_.data(), block.first_entries, own.slopes.data() + begin);
        }
        return true;
    }

    bool add_second(const MappedBlock& block, Call& call, double factor, const double* multipliers, double* out) {
        connect(call, block.multiplier_input, block.second_wanted);
        const int objective = int(program_.rows);
        for (std::size_t place = 0; place < block.count; ++place) {
            gather(block, place);
            const int* rows = block.rows.data() + place * block.results;
            const double* weights = block.weights.data() + place * block.results;
            for (std::size_t k = 0; k < block.results; ++k)
                multipliers_[k] = weights[k] * (rows[k] == objective ? factor : multipliers[rows[k]]);
            if (evaluate(call) != 0) return false;
            const std::size_t begin = place * block.second_entries;
            scatter(block.second_places.data() + begin, block.second_factors.data() + begin, block.second_entries, out);
        }
        return true;
    }

    bool add_running(const MappedBlock& block, Callers& own, double factor, double* out) {
        for (std::size_t place = 0; place < block.count; ++place) {
            gather(block, place);
            if (!own.curvature->hessian(own.second->call(), arguments_.data(), own.ends.data() + place * block.results,
                                        own.slopes.data() + place * block.first_entries, results_.data()))
                return false;
            for (std::size_t k = 0; k < block.second_entries; ++k) results_[k] *= factor;
            const std::size_t begin = place * block.second_entries;
            scatter(block.second_places.data() + begin, block.second_factors.data() + begin, block.second_entries, out);
        }
        return true;
    }

    void scatter(const int* places, const double* factors, std::size_t count, double* out) const {
        for (std::size_t k = 0; k < count; ++k)
            if (places[k] >= 0) out[places[k]] += factors[k] * results_[k];
    }

    const Program& program_;
    std::vector<Callers> callers_;
    std::vector<double> point_, source_, rows_, derivatives_, arguments_, multipliers_, results_;
    bool moved_ = false, has_values_ = false, has_first_ = false;
};

}  // namespace daedalus::programs
