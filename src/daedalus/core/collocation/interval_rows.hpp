// The rows of a motion on a mesh and their derivatives: equations at the points of each interval, then its end.
//
//   0 = F(t, x', x_i + h Σ a x', z, u, p) at the points,   x_{i+1} = x_i + h Σ b x'
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "model/caller.hpp"

namespace daedalus {

using Places = std::pair<std::vector<long long>, std::vector<long long>>;  // rows and columns of nonzeros

// F with its slopes by x', x, z, u, p, of n states and m algebraic variables, and the s points of an interval.
struct IntervalForm {
    long long n = 0, m = 0, s = 0;
    std::vector<Places> places;
    std::vector<double> A, b, c;
    std::vector<double> polynomials;  // of each point: 1 there, 0 at the others; highest power first

    long long rows() const noexcept { return n + m; }
    long long width() const noexcept { return n + s * rows(); }   // unknowns of an interval
    long long height() const noexcept { return s * rows() + n; }  // its rows

    // The polynomials and their integrals from the beginning at a share of an interval.
    void at_share(double share, double* values, double* integrals) const noexcept {
        for (long long j = 0; j < s; ++j) {
            double value = 0, integral = 0;
            for (long long k = 0; k < s; ++k) {
                const double coefficient = polynomials[static_cast<std::size_t>(j * s + k)];
                value = value * share + coefficient;
                integral = integral * share + coefficient / static_cast<double>(s - k);
            }
            values[j] = value, integrals[j] = integral * share;
        }
    }
};

// A mesh of N intervals with what drives the model there; u at every point of the mesh, or one for all.
struct DrivenMesh {
    const double* times;
    long long N;
    const double* u;
    bool varying;
    const double* p;
};

class IntervalRows {
public:
    // by_u, by_p: the inputs and parameters whose derivatives are wanted.
    IntervalRows(const IntervalForm& form, Call& call, const std::vector<long long>& by_u,
                 const std::vector<long long>& by_p)
        : form_(form), call_(call), chosen_(static_cast<long long>(by_u.size() + by_p.size())),
          x_(static_cast<std::size_t>(form.n)) {
        const Function& core = *call.function;
        for (std::size_t k = 1; k < core.size_out.size(); ++k) out_.emplace_back(count(core.size_out[k]));
        for (std::size_t k = 0; k < out_.size(); ++k) call.res[k + 1] = out_[k].data();
        column_u_.assign(count(core.size_in[4]), -1), column_p_.assign(count(core.size_in[5]), -1);
        for (std::size_t k = 0; k < by_u.size(); ++k) column_u_[count(by_u[k])] = static_cast<long long>(k);
        for (std::size_t k = 0; k < by_p.size(); ++k)
            column_p_[count(by_p[k])] = static_cast<long long>(by_u.size() + k);
    }

    // residual (N, height), block (N, height, width + n), slopes by x (N s, q, n), and by what was chosen (N s, q, k).
    int write(const DrivenMesh& mesh, const double* v, double* residual, double* block, double* by_x, double* moved) {
        const long long n = form_.n, s = form_.s, q = form_.rows(), width = form_.width(), height = form_.height();
        const long long points = mesh.N * s, nu = call_.function->size_in[4];
        std::fill(residual, residual + mesh.N * height, 0.0);
        std::fill(block, block + mesh.N * height * (width + n), 0.0);
        if (by_x) std::fill(by_x, by_x + points * q * n, 0.0);
        std::fill(moved, moved + points * q * chosen_, 0.0);
        call_.arg[5] = mesh.p;
        for (long long i = 0; i < mesh.N; ++i) {
            const double *own = v + i * width, *inside = own + n, begin = mesh.times[i];
            const double h = mesh.times[i + 1] - begin;
            double *row = residual + i * height, *part = block + i * height * (width + n);
            for (long long j = 0; j < s; ++j) {
                for (long long d = 0; d < n; ++d) {
                    double sum = 0;
                    for (long long l = 0; l < s; ++l) sum += form_.A[count(j * s + l)] * inside[l * q + d];
                    x_[count(d)] = own[d] + h * sum;
                }
                const double t = begin + h * form_.c[count(j)];
                const long long point = i * s + j;
                call_.arg[0] = &t, call_.arg[1] = inside + j * q, call_.arg[2] = x_.data();
                call_.arg[3] = inside + j * q + n, call_.arg[4] = mesh.u + (mesh.varying ? point * nu : 0);
                call_.res[0] = row + j * q;
                if (const int failed = evaluate(call_)) return failed;
                place(h, j, part + j * q * (width + n), by_x ? by_x + point * q * n : nullptr, moved + point * q * chosen_);
            }
            join(h, own, row + s * q, part + s * q * (width + n));
        }
        return 0;
    }

private:
    static std::size_t count(long long size) noexcept { return static_cast<std::size_t>(size); }

    void each(std::size_t k, auto&& see) const {
        const auto& [rows, columns] = form_.places[k];
        for (std::size_t j = 0; j < rows.size(); ++j) see(rows[j], columns[j], out_[k][j]);
    }

    // The slopes at point j of an interval, in its rows.
    void place(double h, long long j, double* mine, double* by_x, double* moved) const {
        const long long n = form_.n, s = form_.s, q = form_.rows(), whole = form_.width() + n;
        each(0, [&](long long r, long long k, double value) { mine[r * whole + n + j * q + k] += value; });
        each(1, [&](long long r, long long k, double value) {
            mine[r * whole + k] += value;
            for (long long l = 0; l < s; ++l) mine[r * whole + n + l * q + k] += h * form_.A[count(j * s + l)] * value;
            if (by_x) by_x[r * n + k] = value;
        });
        each(2, [&](long long r, long long k, double value) { mine[r * whole + n + j * q + n + k] += value; });
        each(3, [&](long long r, long long k, double value) {
            if (column_u_[count(k)] >= 0) moved[r * chosen_ + column_u_[count(k)]] = value;
        });
        each(4, [&](long long r, long long k, double value) {
            if (column_p_[count(k)] >= 0) moved[r * chosen_ + column_p_[count(k)]] = value;
        });
    }

    void join(double h, const double* own, double* joins, double* mine) const {
        const long long n = form_.n, s = form_.s, q = form_.rows(), width = form_.width(), whole = width + n;
        const double *inside = own + n, *next = own + width;
        for (long long d = 0; d < n; ++d) {
            double sum = 0;
            for (long long l = 0; l < s; ++l) {
                sum += form_.b[count(l)] * inside[l * q + d];
                mine[d * whole + n + l * q + d] = h * form_.b[count(l)];
            }
            joins[d] = own[d] + h * sum - next[d];
            mine[d * whole + d] = 1, mine[d * whole + width + d] = -1;
        }
    }

    const IntervalForm& form_;
    Call& call_;
    long long chosen_;
    std::vector<double> x_;
    std::vector<std::vector<double>> out_;
    std::vector<long long> column_u_, column_p_;
};

}  // namespace daedalus
