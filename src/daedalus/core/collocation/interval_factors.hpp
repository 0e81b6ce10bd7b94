// LU factors of the matrix of a motion on a mesh of N intervals, with end rows and unknowns of the whole motion.
//
//   interval i:  [X_i  M_i  0  ] (x_i, w_i, x_{i+1}) + [T_i] τ = inner rows      w_i: unknowns inside of the interval
//                [G_i  H_i  E_i]                     + [P_i] τ = its last n rows
//   end rows, as many as x_0 and τ have entries, in all unknowns
//
// w_i are eliminated first, interval by interval. Then x_1 .. x_{N-1} go one after the other with pivots from the rows
// that link x_0 with x_i and x_i with x_{i+1}, so that motions that part fast in either direction of time do no harm
// (S. J. Wright, SIAM J. Sci. Stat. Comput. 13 (1992), 742-764). What is left are x_0, x_N and τ.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace daedalus {

// Elimination with scaled partial pivoting in the first columns of a matrix by rows; multipliers stay below the pivots.
// `order` are the rows that were taken; false: a column without a pivot.
inline bool eliminate_columns(double* a, long long rows, long long pivots, long long columns, long long* order,
                              double* scales, double& sign) noexcept {
    for (long long i = 0; i < rows; ++i) {
        double largest = 0;
        for (long long j = 0; j < columns; ++j) largest = std::max(largest, std::abs(a[i * columns + j]));
        scales[i] = largest > 0 ? 1 / largest : 0, order[i] = i;
    }
    for (long long k = 0; k < pivots; ++k) {
        long long best = k;
        double most = 0;
        for (long long i = k; i < rows; ++i)
            if (const double size = std::abs(a[i * columns + k]) * scales[i]; size > most) most = size, best = i;
        if (!(most > 0) || !std::isfinite(most)) return false;
        if (best != k) {
            std::swap_ranges(a + k * columns, a + (k + 1) * columns, a + best * columns);
            std::swap(scales[k], scales[best]), std::swap(order[k], order[best]), sign = -sign;
        }
        const double* pivot = a + k * columns;
        if (pivot[k] < 0) sign = -sign;
        const double inverse = 1 / pivot[k];
        for (long long i = k + 1; i < rows; ++i) {
            double* row = a + i * columns;
            if (row[k] == 0) continue;
            const double factor = row[k] *= inverse;
            for (long long j = k + 1; j < columns; ++j) row[j] -= factor * pivot[j];
        }
    }
    return true;
}

class IntervalFactors {
public:
    IntervalFactors(long long intervals, long long states, long long inner, long long tail)
        : N_(intervals), n_(states), m_(inner), k_(tail), e_(states + tail) {
        const auto count = [](long long size) { return static_cast<std::size_t>(size); };
        inner_.resize(count(N_ * m_ * (m_ + n_ + k_))), inner_order_.resize(count(N_ * m_));
        joins_.resize(count(N_ * n_ * (m_ + 2 * n_ + k_))), row_scales_.resize(count(N_ * (m_ + n_) + e_));
        ends_.resize(count(e_ * unknowns())), touched_.resize(count(N_));
        sizes_.resize(count(unknowns()));
        chain_.resize(count(N_ * 2 * n_ * chain_width())), chain_order_.resize(count(N_ * 2 * n_));
        end_multipliers_.resize(count(N_ * e_ * n_));
        last_.resize(count((n_ + e_) * (n_ + e_))), last_order_.resize(count(n_ + e_));
        work_.resize(count(std::max(2 * n_, std::max(m_, n_ + e_))));
        moved_.resize(count(N_ * (m_ + n_) + e_)), first_.resize(count(std::max(2 * n_, std::max(m_, n_ + e_))));
    }

    long long unknowns() const noexcept { return N_ * (n_ + m_) + n_ + k_; }
    double sign() const noexcept { return sign_; }

    // block (N, m + n, 2 n + m), tails (N, m + n, k), ends (n + k, unknowns), sizes of the unknowns. False: singular.
    bool factor(const double* block, const double* tails, const double* ends, const double* sizes) noexcept {
        sign_ = 1;
        std::copy(sizes, sizes + unknowns(), sizes_.data());
        for (long long r = 0; r < e_; ++r) {
            double* row = ends_.data() + r * unknowns();
            row_scales_[at(N_ * (m_ + n_) + r)] = scaled(ends + r * unknowns(), sizes, unknowns(), row);
            for (long long j = 0; j < unknowns(); ++j) row[j] *= row_scales_[at(N_ * (m_ + n_) + r)];
        }
        for (long long i = 0; i < N_; ++i)
            if (!condense(i, block + i * (m_ + n_) * (2 * n_ + m_), tails + i * (m_ + n_) * k_)) return false;
        return link();
    }

    // In place; rows as they were given.
    void solve(double* right) noexcept {
        const long long height = m_ + n_, width = n_ + m_, wide = m_ + n_ + k_;
        for (long long r = 0; r < N_ * height + e_; ++r) right[r] *= row_scales_[at(r)];
        double* end_right = right + N_ * height;
        for (long long i = 0; i < N_; ++i) {
            double* own = right + i * height;
            const double* a = inner_.data() + i * m_ * wide;
            const long long* order = inner_order_.data() + i * m_;
            for (long long r = 0; r < m_; ++r) work_[at(r)] = own[order[r]];
            for (long long r = 0; r < m_; ++r) {
                double sum = work_[at(r)];
                for (long long c = 0; c < r; ++c) sum -= a[r * wide + c] * own[c];
                own[r] = sum;
            }
            for (long long r = m_ - 1; r >= 0; --r) {
                double sum = own[r];
                for (long long c = r + 1; c < m_; ++c) sum -= a[r * wide + c] * own[c];
                own[r] = sum / a[r * wide + r];
            }
            const double* join = joins_.data() + i * n_ * join_width();
            for (long long r = 0; r < n_; ++r)
                for (long long c = 0; c < m_; ++c) own[m_ + r] -= join[r * join_width() + c] * own[c];
            if (!touched_[at(i)]) continue;
            for (long long r = 0; r < e_; ++r) {
                const double* row = ends_.data() + r * unknowns() + i * width + n_;
                for (long long c = 0; c < m_; ++c) end_right[r] -= row[c] * own[c];
            }
        }
        walk(right, end_right);
    }

private:
    static std::size_t at(long long k) noexcept { return static_cast<std::size_t>(k); }
    long long join_width() const noexcept { return m_ + 2 * n_ + k_; }
    long long chain_width() const noexcept { return 3 * n_ + k_; }  // x_i, x_0, x_{i+1}, τ

    // The row in sizes of the unknowns, and one over its largest entry.
    static double scaled(const double* given, const double* sizes, long long count, double* row) noexcept {
        double largest = 0;
        for (long long j = 0; j < count; ++j) row[j] = given[j] * sizes[j], largest = std::max(largest, std::abs(row[j]));
        return largest > 0 ? 1 / largest : 1;
    }

    bool condense(long long i, const double* block, const double* tails) noexcept {
        const long long wide = m_ + n_ + k_, whole = 2 * n_ + m_, width = n_ + m_;
        const double *here = sizes_.data() + i * width, *inside = here + n_, *next = inside + m_;
        const double* behind = sizes_.data() + N_ * width + n_;
        double* a = inner_.data() + i * m_ * wide;
        double* join = joins_.data() + i * n_ * join_width();
        for (long long r = 0; r < m_ + n_; ++r) {
            const bool is_inner = r < m_;
            double* row = is_inner ? a + r * wide : join + (r - m_) * join_width();
            const double *given = block + r * whole, *tail = tails + r * k_;
            for (long long c = 0; c < m_; ++c) row[c] = given[n_ + c] * inside[c];
            for (long long c = 0; c < n_; ++c) row[m_ + c] = given[c] * here[c];
            double* rest = row + m_ + n_;
            if (!is_inner) {
                for (long long c = 0; c < n_; ++c) rest[c] = given[width + c] * next[c];
                rest += n_;
            }
            for (long long c = 0; c < k_; ++c) rest[c] = tail[c] * behind[c];
            const long long count = is_inner ? wide : join_width();
            double largest = 0;
            for (long long c = 0; c < count; ++c) largest = std::max(largest, std::abs(row[c]));
            const double scale = largest > 0 ? 1 / largest : 1;
            for (long long c = 0; c < count; ++c) row[c] *= scale;
            row_scales_[at(i * (m_ + n_) + r)] = scale;
        }
        if (!eliminate_columns(a, m_, m_, wide, inner_order_.data() + i * m_, work_.data(), sign_)) return false;
        // w_i = ... - S (x_i, τ), S in the last columns.
        for (long long r = m_ - 1; r >= 0; --r) {
            double* row = a + r * wide;
            for (long long c = r + 1; c < m_; ++c)
                if (const double factor = row[c]; factor != 0)
                    for (long long j = m_; j < wide; ++j) row[j] -= factor * a[c * wide + j];
            const double inverse = 1 / row[r];
            for (long long j = m_; j < wide; ++j) row[j] *= inverse;
        }
        for (long long r = 0; r < n_; ++r) {
            double* row = join + r * join_width();
            for (long long c = 0; c < m_; ++c)
                if (const double factor = row[c]; factor != 0) {
                    const double* s = a + c * wide + m_;
                    for (long long j = 0; j < n_; ++j) row[m_ + j] -= factor * s[j];
                    for (long long j = 0; j < k_; ++j) row[m_ + 2 * n_ + j] -= factor * s[n_ + j];
                }
        }
        touched_[at(i)] = 0;
        for (long long r = 0; r < e_; ++r) {
            double* row = ends_.data() + r * unknowns();
            double *own = row + i * width, *tail = row + N_ * width + n_;
            for (long long c = 0; c < m_; ++c)
                if (const double factor = own[n_ + c]; factor != 0) {
                    touched_[at(i)] = 1;
                    const double* s = a + c * wide + m_;
                    for (long long j = 0; j < n_; ++j) own[j] -= factor * s[j];
                    for (long long j = 0; j < k_; ++j) tail[j] -= factor * s[n_ + j];
                }
        }
        return true;
    }

    // Eliminates x_1 .. x_{N-1}, then factors what is left.
    bool link() noexcept {
        const long long wide = chain_width(), width = n_ + m_, jw = join_width();
        std::vector<double>& left = first_rows_;
        left.assign(at(n_ * (2 * n_ + k_)), 0.0);  // of x_0, x_i, τ
        for (long long r = 0; r < n_; ++r)
            std::copy(joins_.data() + r * jw + m_, joins_.data() + (r + 1) * jw, left.data() + r * (2 * n_ + k_));
        for (long long i = 1; i < N_; ++i) {
            double* a = chain_.data() + i * 2 * n_ * wide;
            std::fill(a, a + 2 * n_ * wide, 0.0);
            const double* join = joins_.data() + i * n_ * jw;
            for (long long r = 0; r < n_; ++r) {
                const double *one = left.data() + r * (2 * n_ + k_), *other = join + r * jw + m_;
                double *up = a + r * wide, *down = a + (n_ + r) * wide;
                std::copy(one + n_, one + 2 * n_, up), std::copy(one, one + n_, up + n_);
                std::copy(one + 2 * n_, one + 2 * n_ + k_, up + 3 * n_);
                std::copy(other, other + n_, down), std::copy(other + n_, other + 2 * n_ + k_, down + 2 * n_);
            }
            if (!eliminate_columns(a, 2 * n_, n_, wide, chain_order_.data() + i * 2 * n_, work_.data(), sign_)) return false;
            for (long long r = 0; r < n_; ++r) {
                const double* row = a + (n_ + r) * wide;
                std::copy(row + n_, row + wide, left.data() + r * (2 * n_ + k_));
            }
            for (long long r = 0; r < e_; ++r) {
                double *row = ends_.data() + r * unknowns(), *own = row + i * width;
                double* factors = end_multipliers_.data() + (i * e_ + r) * n_;
                for (long long c = 0; c < n_; ++c) {
                    const double* pivot = a + c * wide;
                    const double factor = factors[c] = own[c] / pivot[c];
                    if (factor == 0) continue;
                    for (long long j = c + 1; j < n_; ++j) own[j] -= factor * pivot[j];
                    for (long long j = 0; j < n_; ++j) {
                        row[j] -= factor * pivot[n_ + j];
                        row[(i + 1) * width + j] -= factor * pivot[2 * n_ + j];
                    }
                    for (long long j = 0; j < k_; ++j) row[N_ * width + n_ + j] -= factor * pivot[3 * n_ + j];
                }
            }
        }
        const long long size = n_ + e_;
        for (long long r = 0; r < n_; ++r)
            std::copy(left.data() + r * (2 * n_ + k_), left.data() + (r + 1) * (2 * n_ + k_), last_.data() + r * size);
        for (long long r = 0; r < e_; ++r) {
            const double* row = ends_.data() + r * unknowns();
            double* own = last_.data() + (n_ + r) * size;
            std::copy(row, row + n_, own), std::copy(row + N_ * width, row + N_ * width + n_ + k_, own + n_);
        }
        return eliminate_columns(last_.data(), size, size, size, last_order_.data(), work_.data(), sign_);
    }

    // The condensed rows forwards, x_0, x_N and τ, then all others backwards; `right` becomes the solution.
    void walk(double* right, double* end_right) noexcept {
        const long long height = m_ + n_, width = n_ + m_, wide = chain_width(), size = n_ + e_;
        double *stacked = work_.data(), *d = first_.data();
        std::copy(right + m_, right + m_ + n_, d);
        for (long long i = 1; i < N_; ++i) {
            const double *a = chain_.data() + i * 2 * n_ * wide, *factors = end_multipliers_.data() + i * e_ * n_;
            const long long* order = chain_order_.data() + i * 2 * n_;
            double* own = right + i * height + m_;
            for (long long r = 0; r < 2 * n_; ++r) stacked[r] = order[r] < n_ ? d[order[r]] : own[order[r] - n_];
            for (long long r = 0; r < 2 * n_; ++r)
                for (long long c = 0; c < std::min(r, n_); ++c) stacked[r] -= a[r * wide + c] * stacked[c];
            std::copy(stacked, stacked + n_, own), std::copy(stacked + n_, stacked + 2 * n_, d);
            for (long long r = 0; r < e_; ++r)
                for (long long c = 0; c < n_; ++c) end_right[r] -= factors[r * n_ + c] * own[c];
        }
        for (long long r = 0; r < size; ++r) {
            const long long from = last_order_[at(r)];
            stacked[r] = from < n_ ? d[from] : end_right[from - n_];
        }
        const double* last = last_.data();
        for (long long r = 0; r < size; ++r)
            for (long long c = 0; c < r; ++c) stacked[r] -= last[r * size + c] * stacked[c];
        for (long long r = size - 1; r >= 0; --r) {
            for (long long c = r + 1; c < size; ++c) stacked[r] -= last[r * size + c] * stacked[c];
            stacked[r] /= last[r * size + r];
        }
        const double *x0 = stacked, *tau = stacked + 2 * n_;
        double* v = moved_.data();
        std::copy(x0, x0 + n_, v), std::copy(stacked + n_, stacked + size, v + N_ * width);
        for (long long i = N_ - 1; i >= 1; --i) {
            const double *a = chain_.data() + i * 2 * n_ * wide, *next = v + (i + 1) * width;
            const double* own = right + i * height + m_;
            double* x = v + i * width;
            for (long long r = n_ - 1; r >= 0; --r) {
                const double* row = a + r * wide;
                double sum = own[r];
                for (long long c = r + 1; c < n_; ++c) sum -= row[c] * x[c];
                for (long long c = 0; c < n_; ++c) sum -= row[n_ + c] * x0[c] + row[2 * n_ + c] * next[c];
                for (long long c = 0; c < k_; ++c) sum -= row[3 * n_ + c] * tau[c];
                x[r] = sum / row[r];
            }
        }
        for (long long i = 0; i < N_; ++i) {
            const double *a = inner_.data() + i * m_ * (m_ + n_ + k_), *x = v + i * width;
            for (long long r = 0; r < m_; ++r) {
                const double* s = a + r * (m_ + n_ + k_) + m_;
                double sum = right[i * height + r];
                for (long long c = 0; c < n_; ++c) sum -= s[c] * x[c];
                for (long long c = 0; c < k_; ++c) sum -= s[n_ + c] * tau[c];
                v[i * width + n_ + r] = sum;
            }
        }
        for (long long j = 0; j < unknowns(); ++j) right[j] = v[j] * sizes_[at(j)];
    }

    long long N_, n_, m_, k_, e_;
    double sign_ = 1;
    std::vector<double> inner_, joins_, ends_, row_scales_, sizes_, chain_, end_multipliers_, last_, work_, moved_, first_,
        first_rows_;
    std::vector<long long> inner_order_, chain_order_, last_order_;
    std::vector<char> touched_;
};

}  // namespace daedalus
