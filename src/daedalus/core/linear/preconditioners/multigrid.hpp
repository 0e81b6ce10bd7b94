// Algebraic multigrid by smoothed aggregation (P. Vaněk, J. Mandel, M. Brezina, Computing 56, 1996).
//
// Unknowns that are strongly coupled are put together, P = (I - ω D^-1 A_F) T takes one value for each such aggregate back
// to all of its unknowns, and the coarse matrix is P^T A P, again and again. A_F is A without its weak entries, which are
// added to the diagonal. Aggregates join unknowns of one kind, those that have the same place in their cells of a field.
// Rows come scaled to the size of one; P^T takes them as they were, so that coarse matrices of symmetric ones are symmetric.
// On every level ILU(0) smooths before the coarse correction: it keeps the unknowns of a cell together, which are coupled
// to each other and not to those of other cells. Smoothing behind it too takes half as long again as it saves: measured on
// diffusion, transport and reactions. Strength compares the entries beside the diagonal, so that aggregates do not change
// with the step of a run and are chosen once.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "linear/preconditioners/equal_rows.hpp"
#include "linear/preconditioners/incomplete_factors.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
struct SparseRows {
    std::int32_t rows = 0, columns = 0;
    std::vector<std::int32_t> begin{0}, column;
    std::vector<Number> values;

    Number row_times(std::int32_t i, const Number* x) const noexcept {
        Number sum(0);
        for (std::int32_t p = begin[i]; p < begin[i + 1]; ++p) sum += product(values[p], x[column[p]]);
        return sum;
    }
    void multiply(const Number* x, Number* out) const noexcept {
        for (std::int32_t i = 0; i < rows; ++i) out[i] = row_times(i, x);
    }
    // Its transpose, with rows that count as often as `sizes` says; a result that has its pattern keeps it.
    void transpose_into(const std::vector<double>& sizes, SparseRows& t) const {
        if (t.column.empty()) {
            t.rows = columns, t.columns = rows;
            t.begin.assign(static_cast<std::size_t>(columns) + 1, 0);
            t.column.resize(column.size()), t.values.resize(values.size());
            for (const std::int32_t c : column) ++t.begin[c + 1];
            for (std::int32_t c = 0; c < columns; ++c) t.begin[c + 1] += t.begin[c];
        }
        std::vector<std::int32_t> next(t.begin.begin(), t.begin.end() - 1);
        for (std::int32_t i = 0; i < rows; ++i)
            for (std::int32_t p = begin[i]; p < begin[i + 1]; ++p) {
                const std::int32_t at = next[column[p]]++;
                t.column[at] = i, t.values[at] = scaled(values[p], sizes[i]);
            }
    }
    // result = this times other, row by row (F. G. Gustavson, ACM TOMS 4, 1978), with columns that rise. A result that has
    // its pattern keeps it.
    void multiply_into(const SparseRows& other, SparseRows& result) const {
        if (result.column.empty()) result.take_pattern(*this, other);
        std::vector<std::int32_t> place(static_cast<std::size_t>(other.columns));
        std::fill(result.values.begin(), result.values.end(), Number(0));
        for (std::int32_t i = 0; i < rows; ++i) {
            for (std::int32_t p = result.begin[i]; p < result.begin[i + 1]; ++p) place[result.column[p]] = p;
            for (std::int32_t p = begin[i]; p < begin[i + 1]; ++p)
                for (std::int32_t q = other.begin[column[p]]; q < other.begin[column[p] + 1]; ++q)
                    result.values[place[other.column[q]]] += product(values[p], other.values[q]);
        }
    }

private:
    void take_pattern(const SparseRows& left, const SparseRows& right) {
        rows = left.rows, columns = right.columns;
        begin.assign(1, 0), column.clear();
        begin.reserve(static_cast<std::size_t>(rows) + 1);
        std::vector<std::int32_t> row_of(static_cast<std::size_t>(columns), -1);
        for (std::int32_t i = 0; i < rows; ++i) {
            for (std::int32_t p = left.begin[i]; p < left.begin[i + 1]; ++p)
                for (std::int32_t q = right.begin[left.column[p]]; q < right.begin[left.column[p] + 1]; ++q)
                    if (const std::int32_t c = right.column[q]; row_of[c] != i) row_of[c] = i, column.push_back(c);
            std::sort(column.begin() + begin.back(), column.end());
            begin.push_back(static_cast<std::int32_t>(column.size()));
        }
        values.resize(column.size());
    }
};

template <class Number>
class Multigrid {
public:
    // Cells by their numbers, one for each unknown; none: all unknowns are of one kind. False: no memory.
    [[nodiscard]] bool make(const std::vector<std::int32_t>& cells) noexcept {
        try {
            std::vector<std::int32_t> met;
            kinds_.clear();
            for (const std::int32_t cell : cells) {
                if (static_cast<std::size_t>(cell) >= met.size()) met.resize(static_cast<std::size_t>(cell) + 1, 0);
                kinds_.push_back(met[cell]++);
            }
        } catch (const std::bad_alloc&) {
            return false;
        }
        return true;
    }

    // The levels for a matrix whose rows were multiplied by `scale`, to the size of one; false where it has none, or where
    // there is no memory. finest: the matrix itself where it has equal rows, which outlives this.
    bool factor(std::int32_t n, const std::int32_t* begin, const std::int32_t* column, const Number* values,
                const double* scale, const EqualRows<Number>* finest = nullptr) noexcept {
        finest_ = finest;
        try {
            return build(n, begin, column, values, scale);
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

    // One cycle, in place.
    void solve(Number* b) noexcept { cycle(0, b); }

    long long nonzeros() const noexcept {
        long long sum = 0;
        for (const auto& level : levels_) sum += static_cast<long long>(level->matrix.values.size());
        return sum;
    }

private:
    struct Level {
        SparseRows<Number> matrix, up, down;  // A, P and P^T
        IncompleteFactors<Number> smoother;
        SparseRows<Number> product;      // A P
        std::vector<double> sizes;       // of the rows before they were scaled
        std::vector<std::int32_t> kind, aggregate, shares;  // shares: where each entry of A counts in P
        std::vector<Number> inverses;                     // one over the diagonal of A_F, 0 where that has none
        std::int32_t aggregates = 0;
        std::vector<Number> x, rest, coarse;
    };

    // A matrix of the last level is small; aggregates that hardly join anything end the levels before.
    static constexpr std::int32_t smallest = 64;
    static constexpr int most_levels = 20;
    static constexpr double strong = 0.25, joins_little = 0.7;

    bool build(std::int32_t n, const std::int32_t* begin, const std::int32_t* column, const Number* values,
               const double* scale) {
        const bool again = !levels_.empty();
        if (!again) levels_.push_back(std::make_unique<Level>());
        SparseRows<Number>& fine = levels_[0]->matrix;
        fine.values.assign(values, values + begin[n]);
        if (!again) {
            fine.rows = fine.columns = n;
            fine.begin.assign(begin, begin + n + 1), fine.column.assign(column, column + begin[n]);
            levels_[0]->sizes.resize(static_cast<std::size_t>(n)), levels_[0]->kind = kinds_;
        }
        for (std::int32_t i = 0; i < n; ++i) levels_[0]->sizes[i] = 1 / scale[i];
        for (std::size_t k = 0;; ++k) {
            Level& own = *levels_[k];
            const SparseRows<Number>& a = own.matrix;
            if (!again && !own.smoother.make(a.rows, a.begin.data(), a.column.data())) return false;
            if (!own.smoother.factor(a.values.data())) return false;
            if (!again) {
                own.x.resize(a.rows), own.rest.resize(a.rows);
                choose_aggregates(own);
                own.coarse.resize(own.aggregates);
                if (own.aggregates > 0) share_out(own);
            }
            if (own.aggregates == 0) return true;
            prolong(own), own.up.transpose_into(own.sizes, own.down);
            if (levels_.size() == k + 1) levels_.push_back(std::make_unique<Level>());
            Level& next = *levels_[k + 1];
            if (!again && !kinds_.empty()) {
                next.kind.resize(static_cast<std::size_t>(own.aggregates));
                for (std::int32_t i = 0; i < a.rows; ++i) next.kind[own.aggregate[i]] = own.kind[i];
            }
            a.multiply_into(own.up, own.product);
            own.down.multiply_into(own.product, next.matrix);
            if (!normalise(next, own.down)) return false;
        }
    }

    // Rows of the coarse matrix, and with them of P^T, to the size of one.
    static bool normalise(Level& coarse, SparseRows<Number>& down) {
        SparseRows<Number>& a = coarse.matrix;
        coarse.sizes.resize(static_cast<std::size_t>(a.rows));
        for (std::int32_t i = 0; i < a.rows; ++i) {
            double largest = 0;
            for (std::int32_t p = a.begin[i]; p < a.begin[i + 1]; ++p) largest = larger(magnitude(a.values[p]), largest);
            if (!(largest > 0) || !std::isfinite(largest)) return false;
            coarse.sizes[i] = largest;
            for (std::int32_t p = a.begin[i]; p < a.begin[i + 1]; ++p) a.values[p] = scaled(a.values[p], 1 / largest);
            for (std::int32_t p = down.begin[i]; p < down.begin[i + 1]; ++p)
                down.values[p] = scaled(down.values[p], 1 / largest);
        }
        return true;
    }

    static bool are_alike(const Level& own, std::int32_t i, std::int32_t j) noexcept {
        return own.kind.empty() || own.kind[i] == own.kind[j];
    }

    // The smallest size that counts as strong, row by row.
    static std::vector<double> limits(const Level& own) {
        const SparseRows<Number>& a = own.matrix;
        std::vector<double> limit(static_cast<std::size_t>(a.rows), 0.0);
        for (std::int32_t i = 0; i < a.rows; ++i) {
            for (std::int32_t p = a.begin[i]; p < a.begin[i + 1]; ++p)
                if (a.column[p] != i && are_alike(own, i, a.column[p]))
                    limit[i] = larger(limit[i], strong * magnitude(a.values[p]));
        }
        return limit;
    }

    // Unknowns with all their strong neighbours first; then neighbours of aggregates; what is left stays alone.
    void choose_aggregates(Level& own) const {
        const SparseRows<Number>& a = own.matrix;
        const std::int32_t n = a.rows;
        own.aggregate.assign(static_cast<std::size_t>(n), -1), own.aggregates = 0;
        if (n <= smallest || levels_.size() >= most_levels) return;
        const std::vector<double> limit = limits(own);
        const auto is_strong = [&](std::int32_t i, std::int32_t p) {
            return a.column[p] != i && limit[i] > 0 && magnitude(a.values[p]) >= limit[i] &&
                   are_alike(own, i, a.column[p]);
        };
        std::int32_t count = 0;
        for (std::int32_t i = 0; i < n; ++i) {
            bool free = own.aggregate[i] < 0;
            for (std::int32_t p = a.begin[i]; p < a.begin[i + 1] && free; ++p)
                free = !is_strong(i, p) || own.aggregate[a.column[p]] < 0;
            if (!free) continue;
            for (std::int32_t p = a.begin[i]; p < a.begin[i + 1]; ++p)
                if (is_strong(i, p)) own.aggregate[a.column[p]] = count;
            own.aggregate[i] = count++;
        }
        std::vector<std::int32_t> joined(own.aggregate);
        for (std::int32_t i = 0; i < n; ++i) {
            double largest = 0;
            for (std::int32_t p = a.begin[i]; own.aggregate[i] < 0 && p < a.begin[i + 1]; ++p)
                if (is_strong(i, p) && own.aggregate[a.column[p]] >= 0 && magnitude(a.values[p]) > largest)
                    largest = magnitude(a.values[p]), joined[i] = own.aggregate[a.column[p]];
        }
        for (std::int32_t i = 0; i < n; ++i)
            if (joined[i] < 0) joined[i] = count++;
        own.aggregate = std::move(joined);
        if (count <= joins_little * n) own.aggregates = count;
    }

    // The pattern of P: each row has the aggregates of what it is coupled to.
    static void share_out(Level& own) {
        const SparseRows<Number>& a = own.matrix;
        SparseRows<Number>& up = own.up;
        up.rows = a.rows, up.columns = own.aggregates;
        own.shares.resize(a.column.size()), own.inverses.resize(static_cast<std::size_t>(a.rows));
        for (std::int32_t i = 0; i < a.rows; ++i) {
            for (std::int32_t p = a.begin[i]; p < a.begin[i + 1]; ++p) up.column.push_back(own.aggregate[a.column[p]]);
            const auto first = up.column.begin() + up.begin.back();
            std::sort(first, up.column.end());
            up.column.erase(std::unique(first, up.column.end()), up.column.end());
            for (std::int32_t p = a.begin[i]; p < a.begin[i + 1]; ++p)
                own.shares[p] = static_cast<std::int32_t>(
                    std::lower_bound(first, up.column.end(), own.aggregate[a.column[p]]) - up.column.begin());
            up.begin.push_back(static_cast<std::int32_t>(up.column.size()));
        }
        up.values.resize(up.column.size());
    }

    static void prolong(Level& own) {
        const SparseRows<Number>& a = own.matrix;
        const std::vector<double> limit = limits(own);
        double norm = 0;
        for (std::int32_t i = 0; i < a.rows; ++i) {
            Number middle(0);
            double around = 0;
            for (std::int32_t p = a.begin[i]; p < a.begin[i + 1]; ++p) {
                const bool keeps = is_kept(own, limit, i, p);
                if (keeps)
                    around += magnitude(a.values[p]);
                else if (are_alike(own, i, a.column[p]))
                    middle += a.values[p];
            }
            const double size = magnitude(middle);
            own.inverses[i] = size > 0 ? reciprocal(middle) : Number(0);
            norm = larger(norm, size > 0 ? 1 + around / size : 0);
        }
        // The norm is at least the spectral radius of D^-1 A_F.
        const double omega = norm > 0 ? 4.0 / 3.0 / norm : 0;
        std::fill(own.up.values.begin(), own.up.values.end(), Number(0));
        for (std::int32_t i = 0; i < a.rows; ++i) {
            const bool fits = magnitude(own.inverses[i]) > 0;
            for (std::int32_t p = a.begin[i]; p < a.begin[i + 1]; ++p) {
                Number& share = own.up.values[own.shares[p]];
                if (a.column[p] == i)
                    share += Number(fits ? 1 - omega : 1);
                else if (fits && is_kept(own, limit, i, p))
                    share = difference(share, scaled(product(a.values[p], own.inverses[i]), omega));
            }
        }
    }
    static bool is_kept(const Level& own, const std::vector<double>& limit, std::int32_t i, std::int32_t p) noexcept {
        const std::int32_t j = own.matrix.column[p];
        return j != i && magnitude(own.matrix.values[p]) >= limit[i] && are_alike(own, i, j);
    }

    void cycle(std::size_t k, Number* b) noexcept {
        Level& own = *levels_[k];
        const std::int32_t n = own.matrix.rows;
        Number *x = own.x.data(), *rest = own.rest.data();
        own.smoother.solve(b, x);
        if (own.aggregates > 0) {
            subtract(k, b);
            own.down.multiply(rest, own.coarse.data());
            cycle(k + 1, own.coarse.data());
            for (std::int32_t i = 0; i < n; ++i) b[i] = x[i] + own.up.row_times(i, own.coarse.data());
            return;
        }
        // On the last level a few rounds are as good as an exact solution.
        for (int round = 0; round < 3; ++round) {
            subtract(k, b);
            own.smoother.solve(rest);
            for (std::int32_t i = 0; i < n; ++i) x[i] += rest[i];
        }
        for (std::int32_t i = 0; i < n; ++i) b[i] = x[i];
    }
    // rest = b - A x
    void subtract(std::size_t k, const Number* b) noexcept {
        Level& own = *levels_[k];
        Number* rest = own.rest.data();
        if (k == 0 && finest_)
            return finest_->multiply(own.x.data(), [&](std::int32_t i, Number sum) { rest[i] = difference(b[i], sum); });
        for (std::int32_t i = 0; i < own.matrix.rows; ++i)
            own.rest[i] = difference(b[i], own.matrix.row_times(i, own.x.data()));
    }

    const EqualRows<Number>* finest_ = nullptr;
    std::vector<std::int32_t> kinds_;
    std::vector<std::unique_ptr<Level>> levels_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
