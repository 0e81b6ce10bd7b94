// The block that all columns of a model share in Newton's matrix, factored once and solved for all of them.
#pragma once

#include <new>

#include "linear/linear_solver.hpp"
#include "model/implicit_model.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class BlockSolver {
public:
    // For `stages` sets of unknowns at once, whose matrix has this pattern.
    BlockSolver(const Pattern& pattern, const ImplicitModel& model, int stages)
        : solver_(pattern, model.form, model.preconditioner), size_(pattern.n), groups_(static_cast<long long>(model.columns.groups.size())) {
        const bool plain = groups_ == 0;
        if (!one_.make(plain && !is_complex<Number> ? 0 : size_)) throw std::bad_alloc();
        if (plain) return;
        if (!places_.make(groups_ * size_) || !widths_.make(groups_) || !work_.make(size_ * 2 * many_columns))
            throw std::bad_alloc();
        for (long long g = 0; g < groups_; ++g) {
            const ColumnGroup& group = model.columns.groups.data()[g];
            widths_[g] = group.width;
            for (long long i = 0; i < stages * model.block_unknowns(); ++i) {
                const long long stage = i / model.block_unknowns(), k = i % model.block_unknowns();
                const long long other = k - model.block_states();
                places_[g * size_ + i] = stage * model.unknowns + (other < 0 ? group.states_at + k * group.width
                                                                            : group.others_at + other * group.width);
            }
        }
    }
    BlockSolver(const BlockSolver&) = delete;
    BlockSolver& operator=(const BlockSolver&) = delete;

    Number* values() noexcept { return solver_.values(); }
    [[nodiscard]] bool multiply_by(const GivenProduct& product) noexcept { return solver_.multiply_by(product); }
    void weigh_by(const double* weights) noexcept { solver_.weigh_by(weights); }
    double leave(double part) noexcept { return solver_.leave(part); }
    void accept(double error) noexcept { solver_.accept(error); }
    bool factor(const double* row_scale, const double* column_scale) noexcept {
        return solver_.factor(row_scale, column_scale);
    }

    // For the model itself, in place; complex right-hand sides come as two vectors. Of a model without columns this is
    // all, of any other it comes first: it shows whether answers have to be refined.
    void solve_own(double* real, double* imaginary = nullptr) noexcept {
        if (groups_ == 0) return solve_plain(real, imaginary);
        solve_column(places_.data(), real, imaginary, 0);
    }
    // For the columns of one group.
    void solve_group(long long g, double* real, double* imaginary = nullptr) noexcept {
        const long long* place = places_.data() + g * size_;
        long long j = 0;
        while (!solver_.measures() && j < widths_[g]) {
            const long long left = widths_[g] - j;
            if (left > some_columns)
                j += solve_band<many_columns>(place, real, imaginary, j, left);
            else if (left > few_columns)
                j += solve_band<some_columns>(place, real, imaginary, j, left);
            else
                j += solve_band<few_columns>(place, real, imaginary, j, left);
        }
        for (; j < widths_[g]; ++j) solve_column(place, real, imaginary, j);
    }

    const LinearSolver<Number>& one() const noexcept { return solver_; }

private:
    DAEDALUS_INLINE void solve_plain(double* real, double* imaginary) noexcept {
        if constexpr (is_complex<Number>) {
            for (long long i = 0; i < size_; ++i) one_[i] = {real[i], imaginary[i]};
            solver_.solve(one_.data());
            for (long long i = 0; i < size_; ++i) real[i] = one_[i].real(), imaginary[i] = one_[i].imag();
        } else {
            solver_.solve(real);
        }
    }

    void solve_column(const long long* place, double* real, double* imaginary, long long j) noexcept {
        for (long long i = 0; i < size_; ++i) {
            if constexpr (is_complex<Number>)
                one_[i] = {real[place[i] + j], imaginary[place[i] + j]};
            else
                one_[i] = real[place[i] + j];
        }
        solver_.solve(one_.data());
        for (long long i = 0; i < size_; ++i) {
            if constexpr (is_complex<Number>)
                real[place[i] + j] = one_[i].real(), imaginary[place[i] + j] = one_[i].imag();
            else
                real[place[i] + j] = one_[i];
        }
    }

    template <int width>
    long long solve_band(const long long* place, double* real, double* imaginary, long long j, long long left) noexcept {
        const long long count = left < width ? left : width;
        const ColumnBand band{{real + j, imaginary ? imaginary + j : nullptr}, place, count};
        solver_.template solve_band<width>(band, work_.data());
        return count;
    }

    LinearSolver<Number> solver_;
    const long long size_, groups_;
    Block<long long> places_, widths_;  // of the unknowns of each group's first column; columns of each group
    Block<Number> one_;
    Block<double> work_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
