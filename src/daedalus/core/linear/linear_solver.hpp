// Solves A x = b for one pattern and many values: the linear algebra under every implicit method.
//
// Small or full matrices are eliminated densely, others sparsely. The first answer of every factorisation is
// measured; a bad one is refined,
//   x <- x + A^-1 (b - A x),
// and so is every further answer of that factorisation (Skeel 1980; Arioli, Demmel, Duff 1989), as are all of one in
// which entries grew. If kept pivots are to blame, they are chosen again on the present values; if entries grow with new
// ones as well, by a stricter rule. What is no answer then, either, is given as not a number. On request systems are
// solved by iteration instead, and so are large ones whose factors would cost more, where a model allows for it.
#pragma once

#include <limits>
#include <new>
#include <utility>

#include "linear/backward_error.hpp"
#include "linear/dense_lu.hpp"
#include "linear/krylov_solver.hpp"
#include "linear/matrix_form.hpp"
#include "linear/sparse_lu.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class LinearSolver {
public:
    explicit LinearSolver(const Pattern& pattern, MatrixForm form = MatrixForm::best, const PreconditionerWish& wish = {})
        : dense_(form == MatrixForm::best ? better_dense(pattern)
                                         : form == MatrixForm::dense && pattern.n <= largest_dense),
          krylov_(form == MatrixForm::krylov),
          undecided_(form == MatrixForm::best && wish.kind == Preconditioning::multigrid && !dense_),
          wish_(wish) {
        if (!matrix_.make(pattern) || !values_.make(matrix_.nonzeros) || !right_.make(matrix_.n) ||
            !first_answer_.make(matrix_.n) ||
            !(dense_ ? dense_lu_.make(matrix_) : error_.make(matrix_) && sparse_lu_.make(matrix_)) ||
            (krylov_ && !krylov_solver_.make(matrix_, wish)))
            throw std::bad_alloc();
    }
    LinearSolver(const LinearSolver&) = delete;
    LinearSolver& operator=(const LinearSolver&) = delete;

    // The nonzeros in the order of the pattern, to be filled before factor() and left alone until the next factor().
    Number* values() noexcept { return values_.data(); }

    // Factors R A C, with diagonal scales R and C (none: ones). False: singular, not finite, or no memory for pivots.
    bool factor(const double* row_scale, const double* column_scale) noexcept {
        ++factorisations;
        if (undecided_)
            decide();
        else if (chosen_ && krylov_)
            judge();
        if (krylov_ && krylov_solver_.factor(values_.data())) {
            row_scale_ = row_scale, column_scale_ = column_scale, measuring_ = false;
            return true;
        }
        if (krylov_) give_up();
        return factor_directly(row_scale, column_scale);
    }

    // A x = b in place, after a factorisation that succeeded.
    void solve(Number* b) noexcept {
        if (krylov_)
            iterate(b);
        else if (measuring_)
            solve_measured(b);
        else
            substitute(b);
    }

    // Iterations multiply by this from now on; the values that are factored precondition them. False: no memory.
    [[nodiscard]] bool multiply_by(const GivenProduct& product) noexcept {
        return !krylov_ || krylov_solver_.multiply_by(product);
    }

    // Iterations measure corrections by these weights, from the next factorisation on; nullptr: residuals.
    void weigh_by(const double* weights) noexcept { krylov_solver_.weigh_by(weights); }

    // Iterations leave this part of the error of a correction from now on, where they measure corrections; gives the part
    // that they left until now.
    double leave(double part) noexcept { return std::exchange(krylov_solver_.wish.correction, part); }

    // Answers with this backward error are good enough, from the next factorisation on; one of rounding always is.
    void accept(double error) noexcept { acceptable = larger(error, rounding); }

    // A X = B in place, for some columns at once, where answers are known to be good; `y` has room for n rows of them.
    template <int width>
    void solve_band(const ColumnBand& band, double* y) noexcept {
        if (dense_)
            dense_lu_.template solve_band<width>(band, y);
        else
            sparse_lu_.template solve_band<width>(band, y);
    }

    // Whether answers of this factorisation have to be measured, and so come one by one: before the first one, and where
    // that was bad; iterations always.
    bool measures() const noexcept { return measuring_ || krylov_; }
    bool dense() const noexcept { return dense_; }
    bool iterates() const noexcept { return krylov_; }
    // Nonzeros of L and U, and the multiplications with subtraction that made them.
    long long fill() const noexcept {
        return krylov_ ? krylov_solver_.nonzeros() : dense_ ? dense_lu_.fill() : sparse_lu_.fill();
    }
    long long operations() const noexcept { return dense_ ? dense_lu_.operations() : sparse_lu_.operations(); }
    SolverCounts counts() const noexcept {
        return {factorisations, orderings, fill(), operations(), dense_, krylov_, krylov_solver_.iterations, gave_up_,
                dense_ || krylov_ ? 0 : sparse_lu_.band()};
    }

    long long factorisations = 0, orderings = 0;
    // Rounding alone stays below this; above it, refinement has something to gain. Whoever needs less may say so.
    static constexpr double rounding = 64 * std::numeric_limits<double>::epsilon();
    double acceptable = rounding;

private:
    DAEDALUS_INLINE bool factor_directly(const double* row_scale, const double* column_scale) noexcept {
        const bool done = dense_ ? dense_lu_.factor(values_.data(), row_scale, column_scale)
                                 : sparse_lu_.factor(values_.data(), row_scale, column_scale);
        measuring_ = dense_ || !done || !sparse_lu_.stable();
        orderings = dense_ ? dense_lu_.orderings : sparse_lu_.orderings;
        return done;
    }

    // What a way takes, in nanoseconds; their ratios count. Measured on reactions on a torus, 32 to 128 cells a side: an
    // operation of factors 0.16 (large fronts) to 0.37, an entry of them in a solution 2.1 to 2.4; an entry of the matrix
    // 50 in what multigrid sets up, and 8 in an iteration.
    double cost_of_factors(double solutions) const noexcept {
        return 0.2 * static_cast<double>(sparse_lu_.operations()) + 2.2 * static_cast<double>(sparse_lu_.fill()) * solutions;
    }
    double cost_of_iterations(double iterations) const noexcept {
        return static_cast<double>(matrix_.nonzeros) * (50 + 8 * iterations);
    }
    // What a factorisation of bdf serves, in the same runs: so many corrections, of so many iterations each.
    static constexpr double usual_solutions = 4, usual_iterations = 5;
    static constexpr int rounds_to_judge = 5;

    // Iterations where factors would take longer; what they would take is known by structure.
    DAEDALUS_COLD void decide() noexcept {
        undecided_ = false;
        // Nobody asked for iterations: where they are many, factors are the better way after all.
        wish_.most_restarts = 2;
        if (sparse_lu_.predicted_operations() == 0) return;
        const double iterations = cost_of_iterations(usual_solutions * usual_iterations);
        chosen_ = cost_of_factors(usual_solutions) > wish_.dearer * iterations && krylov_solver_.make(matrix_, wish_);
        krylov_ = chosen_;
    }
    // Where iterations turn out to be so many that factors would have taken less, factors take over.
    DAEDALUS_COLD void judge() noexcept {
        // Each solution takes what preconditions once more than it has iterations.
        const long long taken = krylov_solver_.iterations - judged_iterations_ + solutions_;
        spent_ += cost_of_iterations(static_cast<double>(taken));
        spared_cost_ += cost_of_factors(static_cast<double>(solutions_));
        judged_iterations_ = krylov_solver_.iterations, solutions_ = 0;
        if (++rounds_ >= rounds_to_judge && spent_ > spared_cost_) give_up();
    }

    // Iterations go nowhere: from here on factors solve.
    DAEDALUS_COLD void give_up() noexcept { krylov_ = false, gave_up_ = true; }
    DAEDALUS_COLD void iterate(Number* b) noexcept {
        for (std::int32_t i = 0; i < matrix_.n; ++i) right_[i] = b[i];
        ++solutions_;
        if (krylov_solver_.solve(b)) return;
        give_up();
        for (std::int32_t i = 0; i < matrix_.n; ++i) b[i] = right_[i];
        if (factor_directly(row_scale_, column_scale_)) return solve_measured(b);
        for (std::int32_t i = 0; i < matrix_.n; ++i) b[i] = std::numeric_limits<double>::quiet_NaN();
    }

    // Above this, kept pivots are to blame.
    static constexpr double alarming = 1e-11;
    static constexpr int most_refinements = 3;
    // Where new pivots are no better, the matrix is to blame: so many answers are refined only, and no pivots chosen.
    static constexpr int no_better = 256;
    // Choosing pivots of a sparse matrix takes as long as so many refined answers (16 to 90 unknowns of circuits: 20 to 135 us
    // beside 0.5 to 3): kept ones that refinement makes up for serve until they have cost as much.
    static constexpr int refined_a_choice = 40;

    // Above this, not even half of the digits of what was asked for are left: that is no answer.
    static constexpr double wrong = 1.5e-8;

    bool is_wrong(double omega) const noexcept { return !(omega <= larger(wrong, acceptable)); }
    bool is_alarming(double omega) const noexcept { return !(omega <= larger(alarming, acceptable)); }

    DAEDALUS_INLINE void substitute(Number* b) noexcept {
        if (dense_)
            dense_lu_.solve(b);
        else
            sparse_lu_.solve(b);
    }

    // The backward error of x as the answer to right_; b - A x is in residual() then.
    double measure(const Number* x) noexcept {
        return dense_ ? dense_lu_.measure(x, right_.data()) : error_.measure(values_.data(), x, right_.data());
    }
    Number* residual() noexcept { return dense_ ? dense_lu_.residual() : error_.residual(); }

    DAEDALUS_COLD void solve_measured(Number* b) noexcept {
        bool says_something = false;  // nothing is good as the answer to nothing
        for (std::int32_t i = 0; i < matrix_.n; ++i) right_[i] = b[i], says_something |= magnitude(b[i]) > 0;
        substitute(b);
        double omega = measure(b);
        measuring_ = !(omega <= acceptable) || !says_something || !(dense_ || sparse_lu_.calm());
        if (omega <= acceptable) return;
        const bool fresh = dense_ ? dense_lu_.fresh() : sparse_lu_.fresh();
        const bool spared = spared_ > 0, pivots_to_blame = is_alarming(omega) && !fresh && !spared;
        spared_ = fresh && is_alarming(omega) ? no_better : spared_ - 1;
        omega = refine(b, omega);
        if (pivots_to_blame && omega <= acceptable) {
            if (dense_) return dense_lu_.forget_pivots();
            if (++refined_ < refined_a_choice) return;
            refined_ = 0;
            return sparse_lu_.forget_pivots();
        }
        // Refinement on stale pivots was not enough: new ones, here and now.
        if (pivots_to_blame || (!fresh && is_wrong(omega))) {
            const Number* values = values_.data();
            omega = solve_again(b, omega, dense_ ? dense_lu_.choose_again(values) : sparse_lu_.choose_again(values));
        }
        // Entries grow with pivots chosen by rows; of the strictest ones nothing better can be had.
        if (is_wrong(omega) || (is_alarming(omega) && (fresh || !spared))) omega = solve_strictly(b, omega);
        if (!is_wrong(omega)) return;
        for (std::int32_t i = 0; i < matrix_.n; ++i) b[i] = std::numeric_limits<double>::quiet_NaN();
    }

    // The answer with new pivots, if they could be chosen; the one there is, if it is the better one.
    double solve_again(Number* x, double omega, bool chosen) noexcept {
        orderings = dense_ ? dense_lu_.orderings : sparse_lu_.orderings;
        if (!chosen) return omega;
        for (std::int32_t i = 0; i < matrix_.n; ++i) first_answer_[i] = x[i], x[i] = right_[i];
        substitute(x);
        double now = measure(x);
        if (is_alarming(now)) spared_ = no_better;
        now = refine(x, now);
        if (now <= omega) return now;
        for (std::int32_t i = 0; i < matrix_.n; ++i) x[i] = first_answer_[i];
        return omega;
    }

    // With pivots that let nothing grow; full matrices have such ones among the sparse ones.
    double solve_strictly(Number* x, double omega) noexcept {
        if (dense_ && is_wrong(omega) && error_.make(matrix_) && sparse_lu_.make(matrix_)) {
            dense_ = false;
            omega = solve_again(x, omega, sparse_lu_.factor_strictly(values_.data(), nullptr, nullptr));
            dense_ = is_wrong(omega);
        } else if (!dense_ && !(sparse_lu_.strict() && sparse_lu_.fresh())) {
            return solve_again(x, omega, sparse_lu_.choose_strictly(values_.data()));
        }
        return omega;
    }

    // Up to three steps, as long as each halves the error at least; gives the error reached.
    double refine(Number* x, double omega) noexcept {
        for (int step = 0; step < most_refinements && !(omega <= acceptable); ++step) {
            Number* correction = residual();
            substitute(correction);
            for (std::int32_t i = 0; i < matrix_.n; ++i) x[i] += correction[i];
            const double before = omega;
            omega = measure(x);
            if (!(omega < 0.5 * before)) break;
        }
        return omega;
    }

    CompactPattern matrix_;
    bool dense_ = true, krylov_ = false, undecided_ = false, chosen_ = false, gave_up_ = false,
         measuring_ = true;
    PreconditionerWish wish_;
    const double *row_scale_ = nullptr, *column_scale_ = nullptr;  // of the last factorisation
    int spared_ = 0;
    int refined_ = 0;  // answers that kept pivots were to blame for, since pivots were chosen for that reason
    // Of iterations that nobody asked for: since the last factorisation, and what they and factors in their place cost.
    long long solutions_ = 0, judged_iterations_ = 0;
    int rounds_ = 0;
    double spent_ = 0, spared_cost_ = 0;
    Block<Number> values_, right_, first_answer_;
    DenseLu<Number> dense_lu_;
    SparseLu<Number> sparse_lu_;
    BackwardError<Number> error_;
    KrylovSolver<Number> krylov_solver_;
};

// Compiled once for each instruction set, in linear_kernels.cpp; short functions may still become part of their callers.
extern template class PivotOrder<double>;
extern template class PivotOrder<Complex>;
extern template class ShortFactors<double>;
extern template class ShortFactors<Complex>;
extern template class RowFactors<double>;
extern template class RowFactors<Complex>;
extern template class KrylovSolver<double>;
extern template class KrylovSolver<Complex>;
extern template class FrontFactors<double>;
extern template class FrontFactors<Complex>;
extern template class SparseLu<double>;
extern template class SparseLu<Complex>;
extern template class DenseLu<double>;
extern template class DenseLu<Complex>;
extern template class LinearSolver<double>;
extern template class LinearSolver<Complex>;

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
