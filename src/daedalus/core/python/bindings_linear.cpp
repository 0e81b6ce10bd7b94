// The seam for the linear solver, so that it can be tested and timed by itself.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "linear/linear_kernels.hpp"
#include "machine/instruction_set.hpp"
#include "python/checks.hpp"

namespace daedalus {

namespace {

MatrixForm form_named(const std::string& name) {
    if (name == "best" || name == "chosen") return MatrixForm::best;
    if (name == "dense") return MatrixForm::dense;
    if (name == "sparse") return MatrixForm::sparse;
    if (name == "krylov" || name == "multigrid" || name == "block_ilu" || name == "banded") return MatrixForm::krylov;
    throw nb::value_error("form is 'best', 'dense' or 'sparse'");
}

class PythonLinearSolver {
public:
    PythonLinearSolver(long long n, std::vector<long long> colind, std::vector<long long> rows, bool complex,
                       const std::string& form, std::vector<std::int32_t> cells, double dearer, double accuracy)
        : pattern_{n, std::move(colind), std::move(rows)}, complex_(complex), kernels_(DAEDALUS_BEST(linear_kernels(complex))) {
        check_columns(pattern_.colind, pattern_.rows, n, n, "the matrix");
        PreconditionerWish wish;
        wish.dearer = dearer;
        if (!(accuracy > 0 && accuracy < 1)) throw nb::value_error("accuracy is a share between 0 and 1");
        wish.accuracy = accuracy;
        if (form == "multigrid" || form == "chosen") wish.kind = Preconditioning::multigrid;
        if (form == "block_ilu") wish.kind = Preconditioning::block_factors;
        if (form == "banded") wish.kind = Preconditioning::band;
        wish.cells = Shared<const std::vector<std::int32_t>>::make(std::move(cells));
        solver_ = kernels_.make(pattern_, form_named(form), wish);
        if (!solver_) throw std::bad_alloc();
    }
    ~PythonLinearSolver() {
        if (solver_) kernels_.destroy(solver_);
    }
    PythonLinearSolver(const PythonLinearSolver&) = delete;
    PythonLinearSolver& operator=(const PythonLinearSolver&) = delete;

    bool factor(nb::object values, nb::object row_scale, nb::object column_scale) {
        const Doubles numbers(flat(values));
        if (numbers.size() != width() * pattern_.nonzeros())
            throw nb::value_error("expected one value for each nonzero");
        std::copy_n(numbers.data(), numbers.size(), kernels_.values(solver_));
        take(row_scale, row_scale_), take(column_scale, column_scale_);
        factored_ = factor_again();
        return factored_;
    }
    nb::object solve(nb::object b) {
        Storage<double> x = right_hand_side(b);
        kernels_.solve(solver_, x.data());
        nb::object plain = to_numpy(std::move(x), {static_cast<std::size_t>(width() * pattern_.n)});
        return complex_ ? nb::object(plain.attr("view")("complex128")) : plain;
    }
    // The last values factored once more, and b solved again and again.
    double time_factor(long long repetitions) {
        return seconds_per(repetitions, [&] { factored_ = factor_again(); });
    }
    double time_solve(nb::object b, long long repetitions) {
        const Storage<double> given = right_hand_side(b);
        Storage<double> x(given.size());
        return seconds_per(repetitions, [&] {
            std::copy_n(given.data(), given.size(), x.data());
            kernels_.solve(solver_, x.data());
        });
    }
    SolverCounts counts() const { return kernels_.counts(solver_); }

private:
    long long width() const { return complex_ ? 2 : 1; }
    nb::object flat(nb::object numbers) const {
        const nb::module_ numpy = nb::module_::import_("numpy");
        return numpy.attr("ascontiguousarray")(numbers, complex_ ? "complex128" : "float64").attr("view")("float64");
    }
    void take(nb::object scale, std::vector<double>& kept) const {
        kept.clear();
        if (scale.is_none()) return;
        const Doubles numbers(scale);
        if (numbers.size() != pattern_.n) throw nb::value_error("a scale has one number for each row or column");
        kept.assign(numbers.data(), numbers.data() + numbers.size());
    }
    bool factor_again() {
        return kernels_.factor(solver_, row_scale_.empty() ? nullptr : row_scale_.data(),
                               column_scale_.empty() ? nullptr : column_scale_.data());
    }
    Storage<double> right_hand_side(nb::object b) const {
        if (!factored_) throw nb::value_error("there is no factorisation to solve with");
        const Doubles numbers(flat(b));
        if (numbers.size() != width() * pattern_.n) throw nb::value_error("b must have n numbers");
        return Storage<double>(numbers.span());
    }

    Pattern pattern_;
    bool complex_, factored_ = false;
    LinearKernels kernels_;
    void* solver_ = nullptr;
    std::vector<double> row_scale_, column_scale_;
};

}  // namespace

void bind_linear(nb::module_& module) {
    using namespace nb::literals;
    using Solver = PythonLinearSolver;
    module.def("set_factor_threads", [](int count) { factor_threads = count; }, "count"_a);
    nb::class_<Solver>(module, "LinearSolver")
        .def(nb::init<long long, std::vector<long long>, std::vector<long long>, bool, const std::string&,
                      std::vector<std::int32_t>, double, double>(),
             "n"_a, "colind"_a, "rows"_a, "complex"_a = false, "form"_a = "best", "cells"_a = std::vector<std::int32_t>(),
             "dearer"_a = PreconditionerWish().dearer, "accuracy"_a = PreconditionerWish().accuracy)
        .def("factor", &Solver::factor, "values"_a, "row_scale"_a = nb::none(), "column_scale"_a = nb::none())
        .def("solve", &Solver::solve, "b"_a)
        .def("time_factor", &Solver::time_factor, "repetitions"_a)
        .def("time_solve", &Solver::time_solve, "b"_a, "repetitions"_a)
        .def_prop_ro("dense", [](const Solver& self) { return self.counts().dense; })
        .def_prop_ro("iterates", [](const Solver& self) { return self.counts().krylov; })
        .def_prop_ro("factorisations", [](const Solver& self) { return self.counts().factorisations; })
        .def_prop_ro("orderings", [](const Solver& self) { return self.counts().orderings; })
        .def_prop_ro("iterations", [](const Solver& self) { return self.counts().iterations; })
        .def_prop_ro("gave_up", [](const Solver& self) { return self.counts().gave_up; })
        .def_prop_ro("fill", [](const Solver& self) { return self.counts().fill; })
        .def_prop_ro("operations", [](const Solver& self) { return self.counts().operations; });
}

}  // namespace daedalus
