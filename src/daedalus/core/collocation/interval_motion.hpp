// A motion on a mesh between its points: its values on another mesh, and by how much it misses the equations.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "collocation/interval_factors.hpp"
#include "collocation/interval_rows.hpp"

namespace daedalus {

// The unknowns of the same motion on another mesh of M intervals over the same span.
inline void move_motion(const IntervalForm& form, const double* times, long long N, const double* v,
                        const double* finer, long long M, double* out) {
    const long long n = form.n, s = form.s, q = form.rows(), width = form.width();
    std::vector<double> values(static_cast<std::size_t>(s)), integrals(static_cast<std::size_t>(s));
    long long i = 0;
    const auto look = [&](double t) {
        while (i + 1 < N && t >= times[i + 1]) ++i;
        form.at_share((t - times[i]) / (times[i + 1] - times[i]), values.data(), integrals.data());
    };
    const auto state = [&](double* x) {
        const double *own = v + i * width, h = times[i + 1] - times[i];
        for (long long d = 0; d < n; ++d) {
            double sum = 0;
            for (long long l = 0; l < s; ++l) sum += integrals[static_cast<std::size_t>(l)] * own[n + l * q + d];
            x[d] = own[d] + h * sum;
        }
    };
    for (long long k = 0; k < M; ++k) {
        double* mine = out + k * width;
        look(finer[k]);
        state(mine);
        for (long long j = 0; j < s; ++j) {
            look(finer[k] + (finer[k + 1] - finer[k]) * form.c[static_cast<std::size_t>(j)]);
            for (long long d = 0; d < q; ++d) {
                double sum = 0;
                for (long long l = 0; l < s; ++l) sum += values[static_cast<std::size_t>(l)] * v[i * width + n + l * q + d];
                mine[n + j * q + d] = sum;
            }
        }
    }
    std::copy(v + N * width, v + N * width + n, out + M * width);
}

// What is left of the equations at shares of every interval, as corrections of x' with x held: (N, T, n), and x there.
class BetweenPoints {
public:
    BetweenPoints(const IntervalForm& form, Call& call)
        : form_(form), call_(call), values_(count(form.s)), integrals_(count(form.s)), inner_(count(form.rows())),
          residual_(count(form.rows())), scales_(count(form.rows())), order_(count(form.rows())),
          matrix_(count(form.rows() * (form.rows() + 1))) {
        const Function& core = *call.function;
        for (std::size_t k = 1; k < core.size_out.size(); ++k) out_.emplace_back(count(core.size_out[k]));
        for (std::size_t k = 0; k < out_.size(); ++k) call.res[k + 1] = out_[k].data();
        call.res[0] = residual_.data();
    }

    // 0, what the function returned, or `singular` where x' and z do not follow from x at a point.
    int write(const DrivenMesh& mesh, const double* v, const double* shares, long long T, double* off, double* x) {
        const long long n = form_.n, s = form_.s, q = form_.rows(), width = form_.width(), nu = call_.function->size_in[4];
        call_.arg[5] = mesh.p;
        for (long long k = 0; k < T; ++k) {
            form_.at_share(shares[k], values_.data(), integrals_.data());
            for (long long i = 0; i < mesh.N; ++i) {
                const double *own = v + i * width, h = mesh.times[i + 1] - mesh.times[i], t = mesh.times[i] + h * shares[k];
                const long long point = i * T + k;
                double* here = x + point * n;
                for (long long d = 0; d < q; ++d) {
                    double value = 0, sum = 0;
                    for (long long l = 0; l < s; ++l) {
                        value += values_[count(l)] * own[n + l * q + d];
                        sum += integrals_[count(l)] * own[n + l * q + d];
                    }
                    inner_[count(d)] = value;
                    if (d < n) here[d] = own[d] + h * sum;
                }
                call_.arg[0] = &t, call_.arg[1] = inner_.data(), call_.arg[2] = here, call_.arg[3] = inner_.data() + n;
                call_.arg[4] = mesh.u + (mesh.varying ? point * nu : 0);
                if (const int failed = evaluate(call_)) return failed;
                if (!correct(off + point * n)) return singular;
            }
        }
        return 0;
    }

    static constexpr int singular = -1000001;  // no function returns this

private:
    static std::size_t count(long long size) noexcept { return static_cast<std::size_t>(size); }

    // [F_x' F_z] d = F, of which the part of x' is written.
    bool correct(double* off) {
        const long long n = form_.n, q = form_.rows(), wide = q + 1;
        std::fill(matrix_.begin(), matrix_.end(), 0.0);
        const auto put = [&](std::size_t k, long long first) {
            const auto& [rows, columns] = form_.places[k];
            for (std::size_t j = 0; j < rows.size(); ++j) matrix_[count(rows[j] * wide + first + columns[j])] = out_[k][j];
        };
        put(0, 0), put(2, n);
        for (long long r = 0; r < q; ++r) matrix_[count(r * wide + q)] = residual_[count(r)];
        double sign = 1;
        if (!eliminate_columns(matrix_.data(), q, q, wide, order_.data(), scales_.data(), sign)) return false;
        for (long long r = q - 1; r >= 0; --r) {
            double& value = matrix_[count(r * wide + q)];
            for (long long c = r + 1; c < q; ++c) value -= matrix_[count(r * wide + c)] * matrix_[count(c * wide + q)];
            value /= matrix_[count(r * wide + r)];
        }
        for (long long r = 0; r < n; ++r) off[r] = matrix_[count(r * wide + q)];
        return true;
    }

    const IntervalForm& form_;
    Call& call_;
    std::vector<double> values_, integrals_, inner_, residual_, scales_;
    std::vector<long long> order_;
    std::vector<double> matrix_;
    std::vector<std::vector<double>> out_;
};

}  // namespace daedalus
