// The linear solver, compiled once for each instruction set (DAEDALUS_ISA).
#include "linear/linear_kernels.hpp"

#include "linear/linear_solver.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template class PivotOrder<double>;
template class PivotOrder<Complex>;
template class ShortFactors<double>;
template class ShortFactors<Complex>;
template class RowFactors<double>;
template class RowFactors<Complex>;
template class KrylovSolver<double>;
template class KrylovSolver<Complex>;
template class FrontFactors<double>;
template class FrontFactors<Complex>;
template class SparseLu<double>;
template class SparseLu<Complex>;
template class DenseLu<double>;
template class DenseLu<Complex>;
template class LinearSolver<double>;
template class LinearSolver<Complex>;

namespace {

template <class Number>
struct Plain {
    using Solver = LinearSolver<Number>;

    static void* make(const Pattern& pattern, MatrixForm form, const PreconditionerWish& wish) noexcept {
        try {
            return new Solver(pattern, form, wish);
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
    }
    static void destroy(void* solver) noexcept { delete static_cast<Solver*>(solver); }
    static double* values(void* solver) noexcept {
        return reinterpret_cast<double*>(static_cast<Solver*>(solver)->values());
    }
    static bool factor(void* solver, const double* row_scale, const double* column_scale) noexcept {
        return static_cast<Solver*>(solver)->factor(row_scale, column_scale);
    }
    static void solve(void* solver, double* b) noexcept {
        static_cast<Solver*>(solver)->solve(reinterpret_cast<Number*>(b));
    }
    static SolverCounts counts(const void* solver) noexcept {
        return static_cast<const Solver*>(solver)->counts();
    }
    static LinearKernels all() noexcept { return {make, destroy, values, factor, solve, counts}; }
};

}  // namespace

LinearKernels linear_kernels(bool complex) noexcept { return complex ? Plain<Complex>::all() : Plain<double>::all(); }

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
