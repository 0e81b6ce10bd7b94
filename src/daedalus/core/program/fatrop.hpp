// A program with the structure of stages handed to fatrop through its C interface, whose functions are found at run time.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "program/ipopt.hpp"
#include "program/stage_places.hpp"

namespace daedalus::programs {

// The parts of fatrop's C interface (version 1.1) and of BLASFEO's that are used here.
struct FatropDims {
    const int *ux_offs, *g_offs, *dyn_offs, *dyn_eq_offs, *g_ineq_offs, *ineq_offs;
    int max_nu, max_nx, max_ng, max_ngineq, n_ineqs, K;
    const int *nu, *nx, *ng, *ng_ineq;
};
struct FatropStats {
    double seconds[9];
    int counts[5];
    int iterations, return_flag;
};
struct BlasfeoMatrix {  // panel-major
    double *memory, *panels, *diagonal;
    int rows, columns, padded_rows, padded_columns, use_diagonal, size;
};
struct BlasfeoVector {
    double *memory, *entries;
    int size, padded_size, bytes;
};

struct FatropInterface {
    int (*nx)(int, void*), (*nu)(int, void*), (*ng)(int, void*), (*n_stage_params)(int, void*);
    int (*n_global_params)(void*);
    int (*stage_params)(double*, int, void*);
    int (*global_params)(double*, void*);
    int (*ng_ineq)(int, void*);
    int (*horizon)(void*);
    void *babt, *rsqrqt, *ggt, *ggt_ineq, *b, *g, *gineq, *rq, *l;
    int (*bounds)(double*, double*, int, void*);
    int (*initial_x)(double*, int, void*), (*initial_u)(double*, int, void*);
    int (*hessian)(double, const double*, const double*, const double*, const double*, BlasfeoMatrix*,
                   const FatropDims*, void*);
    int (*jacobian)(const double*, const double*, const double*, BlasfeoMatrix*, BlasfeoMatrix*, BlasfeoMatrix*,
                    const FatropDims*, void*);
    int (*violation)(const double*, const double*, const double*, double*, const FatropDims*, void*);
    int (*gradient)(double, const double*, const double*, const double*, double*, const FatropDims*, void*);
    int (*objective)(double, const double*, const double*, const double*, double*, const FatropDims*, void*);
    void* user_data;
};

struct FatropLibrary {
    void* (*create)(FatropInterface*, void (*)(const char*, int), void (*)()) = nullptr;
    int (*solve)(void*) = nullptr;
    int (*set_double)(void*, const char*, double) = nullptr;
    int (*set_int)(void*, const char*, int) = nullptr;
    const BlasfeoVector* (*primal)(void*) = nullptr;
    const BlasfeoVector* (*dual)(void*) = nullptr;
    const FatropDims* (*dims)(void*) = nullptr;
    const FatropStats* (*stats)(void*) = nullptr;
    void (*destroy)(void*) = nullptr;
    void (*pack)(int, int, double*, int, BlasfeoMatrix*, int, int) = nullptr;
};

class FatropRun {
public:
    FatropRun(const FatropLibrary& library, Evaluation& evaluation, const ProgramBounds& bounds,
              const StageStructure& stages, ProgramPoint& point)
        : library_(library), evaluation_(evaluation), bounds_(bounds), stages_(stages), point_(point),
          places_(evaluation.program(), stages) {
        const Program& program = evaluation.program();
        x_.resize(program.variables), multipliers_.resize(program.rows), hessian_.resize(program.hessian_entries);
    }

    ProgramOutcome solve(const SolverOptions& options) {
        ProgramOutcome outcome;
        FatropInterface face = interface();
        void* solver = library_.create(&face, [](const char*, int) {}, []() {});
        for (const auto& [name, value] : options.numbers) library_.set_double(solver, name.c_str(), value);
        for (const auto& [name, value] : options.integers) library_.set_int(solver, name.c_str(), value);
        const int flag = library_.solve(solver);
        const FatropStats& stats = *library_.stats(solver);
        outcome.iterations = stats.iterations;
        outcome.status = broken_ ? -199 : flag;
        if (!broken_) {
            read_primal(library_.primal(solver)->entries, *library_.dims(solver));
            point_.x = x_;
            read_duals(library_.dual(solver)->entries, *library_.dims(solver));
        }
        library_.destroy(solver);
        return outcome;
    }

private:
    using Kind = StagePlaces::Kind;
    using Target = StagePlaces::Target;

    void read_primal(const double* data, const FatropDims& dims) {
        std::size_t at = 0;
        for (int k = 0; k < dims.K; ++k)
            for (int i = 0; i < stages_.nu[std::size_t(k)] + stages_.nx[std::size_t(k)]; ++i, ++at)
                x_[std::size_t(stages_.order[at])] = data[dims.ux_offs[k] + i];
    }

    template <class Visit>
    void visit(const std::vector<int>& rows, const std::vector<int>& start, const int* offsets, Visit visit) const {
        for (std::size_t k = 0; k + 1 < start.size(); ++k)
            for (int i = start[k]; i < start[k + 1]; ++i)
                visit(rows[std::size_t(i)], offsets[k] + i - start[k]);
    }

    void read_multipliers(const double* data, const FatropDims& dims) {
        std::fill(multipliers_.begin(), multipliers_.end(), 0.0);
        const auto read = [&](int row, int at) {
            if (row >= 0) multipliers_[std::size_t(row)] = data[at];
        };
        visit(stages_.equations, stages_.equation_start, dims.g_offs, read);
        visit(stages_.inequalities, stages_.inequality_start, dims.g_ineq_offs, read);
        visit(stages_.steps, stages_.step_start, dims.dyn_eq_offs,
              [&](int row, int at) { multipliers_[std::size_t(row)] = -data[at]; });
    }

    void read_duals(const double* data, const FatropDims& dims) {
        read_multipliers(data, dims);
        point_.multipliers = multipliers_;
        std::fill(point_.lower_multipliers.begin(), point_.lower_multipliers.end(), 0.0);
        std::fill(point_.upper_multipliers.begin(), point_.upper_multipliers.end(), 0.0);
        const auto read = [&](int row, int at) {
            if (row >= 0) return;
            const auto v = std::size_t(-1 - row);
            (data[at] < 0 ? point_.lower_multipliers : point_.upper_multipliers)[v] = std::abs(data[at]);
        };
        visit(stages_.equations, stages_.equation_start, dims.g_offs, read);
        visit(stages_.inequalities, stages_.inequality_start, dims.g_ineq_offs, read);
    }

    // What is left of a row: of bounds on variables the variable.
    double left(int row, const double* rows) const {
        return row >= 0 ? rows[row] : x_[std::size_t(-1 - row)];
    }
    double lower(int row) const {
        return row >= 0 ? bounds_.row_lower[std::size_t(row)] : bounds_.lower[std::size_t(-1 - row)];
    }
    double upper(int row) const {
        return row >= 0 ? bounds_.row_upper[std::size_t(row)] : bounds_.upper[std::size_t(-1 - row)];
    }

    int violation(const double* data, double* out, const FatropDims& dims) {
        read_primal(data, dims);
        const double* rows = evaluation_.values(x_.data());
        if (!rows) return failed();
        visit(stages_.equations, stages_.equation_start, dims.g_offs,
              [&](int row, int at) { out[at] = left(row, rows) - lower(row); });
        visit(stages_.inequalities, stages_.inequality_start, dims.g_ineq_offs,
              [&](int row, int at) { out[at] = left(row, rows); });
        visit(stages_.steps, stages_.step_start, dims.dyn_eq_offs,
              [&](int row, int at) { out[at] = lower(row) - rows[row]; });
        return 1;
    }

    int jacobian(const double* data, BlasfeoMatrix* steps, BlasfeoMatrix* equations, BlasfeoMatrix* inequalities,
                 const FatropDims& dims) {
        read_primal(data, dims);
        const double* rows = evaluation_.values(x_.data());
        const double* first = rows ? evaluation_.first(x_.data()) : nullptr;
        if (!first) return failed();
        pack(Kind::step, first, stages_.steps, stages_.step_start, steps,
             [&](int row) { return lower(row) - rows[row]; });
        pack(Kind::equation, first, stages_.equations, stages_.equation_start, equations,
             [&](int row) { return left(row, rows) - lower(row); });
        pack(Kind::inequality, first, stages_.inequalities, stages_.inequality_start, inequalities,
             [&](int row) { return left(row, rows); });
        return 1;
    }

    // The transposed Jacobian of every stage with what is left of its rows below it.
    template <class Last>
    void pack(Kind kind, const double* first, const std::vector<int>& rows, const std::vector<int>& start,
              BlasfeoMatrix* out, Last last) {
        const std::vector<Target>& targets = places_.jacobian(kind);
        std::vector<std::vector<double>> dense(start.size() - 1);
        for (std::size_t k = 0; k + 1 < start.size(); ++k)
            dense[k].assign(height(k) * std::size_t(start[k + 1] - start[k]), 0.0);
        for (const Target& t : targets)
            dense[std::size_t(t.stage)][std::size_t(t.column) * height(std::size_t(t.stage)) + std::size_t(t.row)] +=
                t.sign * first[t.entry];
        for (std::size_t k = 0; k + 1 < start.size(); ++k) {
            const int count = start[k + 1] - start[k];
            if (count == 0) continue;
            for (int i = 0; i < count; ++i) {
                const int row = rows[std::size_t(start[k] + i)];
                double* column = dense[k].data() + std::size_t(i) * height(k);
                if (row < 0) column[places_.place(std::size_t(-1 - row))] = 1.0;
                column[height(k) - 1] = last(row);
            }
            if (out[k].rows != int(height(k)) || out[k].columns < count) {
                failed();
                return;
            }
            library_.pack(int(height(k)), count, dense[k].data(), int(height(k)), out + k, 0, 0);
        }
    }

    std::size_t height(std::size_t k) const { return std::size_t(stages_.nu[k] + stages_.nx[k] + 1); }

    int hessian(double scale, const double* data, const double* duals, BlasfeoMatrix* out, const FatropDims& dims) {
        read_primal(data, dims), read_multipliers(duals, dims);
        if (!evaluation_.second(x_.data(), scale, multipliers_.data(), hessian_.data())) return failed();
        const double* first = evaluation_.first(x_.data());
        if (!first) return failed();
        std::vector<double> pull = lagrangian_gradient(first, scale, duals, dims);
        std::vector<std::vector<double>> dense(stages_.nu.size());
        for (std::size_t k = 0; k < dense.size(); ++k) dense[k].assign(height(k) * (height(k) - 1), 0.0);
        for (const Target& t : places_.hessian())
            dense[std::size_t(t.stage)][std::size_t(t.column) * height(std::size_t(t.stage)) + std::size_t(t.row)] +=
                hessian_[t.entry];
        std::size_t at = 0;
        for (std::size_t k = 0; k < dense.size(); ++k) {
            for (std::size_t i = 0; i + 1 < height(k); ++i, ++at)
                dense[k][i * height(k) + height(k) - 1] = pull[std::size_t(stages_.order[at])];
            library_.pack(int(height(k)), int(height(k)) - 1, dense[k].data(), int(height(k)), out + k, 0, 0);
        }
        return 1;
    }

    // The gradient of the Lagrangian without the part of x_{k+1} in the steps, which fatrop adds itself.
    std::vector<double> lagrangian_gradient(const double* first, double scale, const double* duals,
                                            const FatropDims& dims) const {
        const Program& program = evaluation_.program();
        std::vector<double> pull(program.variables);
        for (std::size_t i = 0; i < pull.size(); ++i) pull[i] = scale * first[program.jacobian_entries + i];
        for (std::size_t e = 0; e < program.jacobian_entries; ++e) {
            const auto row = std::size_t(program.jacobian_rows[e]), column = std::size_t(program.jacobian_columns[e]);
            const StagePlaces::RowPlace& place = places_.row(row);
            if (place.kind == Kind::step && places_.stage(column) != place.stage) continue;
            pull[column] += multipliers_[row] * first[e];
        }
        const auto add = [&](int row, int at) {
            if (row < 0) pull[std::size_t(-1 - row)] += duals[at];
        };
        visit(stages_.equations, stages_.equation_start, dims.g_offs, add);
        visit(stages_.inequalities, stages_.inequality_start, dims.g_ineq_offs, add);
        return pull;
    }

    int gradient(double scale, const double* data, double* out, const FatropDims& dims) {
        read_primal(data, dims);
        const double* first = evaluation_.first(x_.data());
        if (!first) return failed();
        std::size_t at = 0;
        for (int k = 0; k < dims.K; ++k)
            for (int i = 0; i < stages_.nu[std::size_t(k)] + stages_.nx[std::size_t(k)]; ++i, ++at)
                out[dims.ux_offs[k] + i] =
                    scale * first[evaluation_.program().jacobian_entries + std::size_t(stages_.order[at])];
        return 1;
    }

    int objective(double scale, const double* data, double* out, const FatropDims& dims) {
        read_primal(data, dims);
        const double* rows = evaluation_.values(x_.data());
        if (!rows) return failed();
        *out = scale * rows[evaluation_.program().rows];
        return 1;
    }

    int failed() {
        broken_ = true;
        return 1;
    }

    static FatropRun& self(void* user) { return *static_cast<FatropRun*>(user); }

    FatropInterface interface() {
        FatropInterface face{};
        face.nx = [](int k, void* u) { return self(u).stages_.nx[std::min(std::size_t(k), self(u).stages_.nx.size() - 1)]; };
        face.nu = [](int k, void* u) { return self(u).stages_.nu[std::size_t(k)]; };
        face.ng = [](int k, void* u) { return count(self(u).stages_.equation_start, k); };
        face.ng_ineq = [](int k, void* u) { return count(self(u).stages_.inequality_start, k); };
        face.n_stage_params = [](int, void*) { return 0; };
        face.n_global_params = [](void*) { return 0; };
        face.stage_params = [](double*, int, void*) { return 0; };
        face.global_params = [](double*, void*) { return 0; };
        face.horizon = [](void* u) { return int(self(u).stages_.nu.size()); };
        face.bounds = [](double* low, double* high, int k, void* u) {
            const FatropRun& run = self(u);
            const int begin = run.stages_.inequality_start[std::size_t(k)];
            for (int i = 0; i < count(run.stages_.inequality_start, k); ++i) {
                const int row = run.stages_.inequalities[std::size_t(begin + i)];
                low[i] = run.lower(row), high[i] = run.upper(row);
            }
            return 0;
        };
        face.initial_u = [](double* out, int k, void* u) { return self(u).initial(out, k, false); };
        face.initial_x = [](double* out, int k, void* u) { return self(u).initial(out, k, true); };
        face.hessian = [](double s, const double* x, const double* l, const double*, const double*, BlasfeoMatrix* out,
                          const FatropDims* d, void* u) { return self(u).hessian(s, x, l, out, *d); };
        face.jacobian = [](const double* x, const double*, const double*, BlasfeoMatrix* a, BlasfeoMatrix* g,
                           BlasfeoMatrix* i, const FatropDims* d, void* u) { return self(u).jacobian(x, a, g, i, *d); };
        face.violation = [](const double* x, const double*, const double*, double* out, const FatropDims* d, void* u) {
            return self(u).violation(x, out, *d);
        };
        face.gradient = [](double s, const double* x, const double*, const double*, double* out, const FatropDims* d,
                           void* u) { return self(u).gradient(s, x, out, *d); };
        face.objective = [](double s, const double* x, const double*, const double*, double* out, const FatropDims* d,
                            void* u) { return self(u).objective(s, x, out, *d); };
        face.user_data = this;
        return face;
    }

    static int count(const std::vector<int>& start, int k) {
        return start[std::size_t(k) + 1] - start[std::size_t(k)];
    }

    int initial(double* out, int k, bool states) const {
        std::size_t begin = 0;
        for (std::size_t i = 0; i < std::size_t(k); ++i) begin += std::size_t(stages_.nu[i] + stages_.nx[i]);
        const auto skipped = states ? std::size_t(stages_.nu[std::size_t(k)]) : 0;
        const auto size = std::size_t(states ? stages_.nx[std::size_t(k)] : stages_.nu[std::size_t(k)]);
        for (std::size_t i = 0; i < size; ++i) out[i] = point_.x[std::size_t(stages_.order[begin + skipped + i])];
        return 0;
    }

    const FatropLibrary& library_;
    Evaluation& evaluation_;
    const ProgramBounds& bounds_;
    const StageStructure& stages_;
    ProgramPoint& point_;
    std::vector<double> x_, multipliers_, hessian_;
    StagePlaces places_;
    bool broken_ = false;
};

}  // namespace daedalus::programs
