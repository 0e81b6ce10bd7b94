// Radau IIA with s stages, for 0 = F(t, x', x, z): collocation by a transformed simplified Newton method.
//
//   F(t + c_i h, (1/h) sum_j a'_ij Z_j, w + Z_i) = 0,   w_new = w + Z_s,   a' = A^-1
//
// E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.8; J. Comput. Appl. Math. 111 (1999).
#pragma once

#include <algorithm>
#include <cmath>

#include "methods/implicit/implicit_method.hpp"
#include "methods/radau/radau_state.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// A jump of z that is larger, in units of the tolerance, is none of rounding.
inline constexpr double fitting_slope = 10;

struct Radau : IncrementStep<Radau, RadauState> {
    static int degree(Integration& s) { return of(s).stages + 1; }
    static int estimate_order(const RadauState& m) { return m.stages + 1; }

    static void prepare(Integration& s) noexcept {
        RadauState& m = of(s);
        // The estimate has order s + 1 and the method 2 s: a looser internal tolerance gives the error asked for.
        if (s.fixed_step > 0) {
            // The rtol asked for has no meaning then, and a coarse one must not make atol vanish.
            m.rtol = 1e-15, m.atol_factor = 1e-15 / std::clamp(s.rtol, 1e-12, 1e-6);
            m.most_iterations = 30;
        } else {
            // At index 3 positions have order s + 1 only, and nothing is gained; with three stages the error of
            // multipliers is the square root of that of positions.
            const double share = m.model.deepest > 2 ? (m.stages == 3 ? 0.15 : 0.3) : 0;
            m.rtol = share > 0 ? share * s.rtol : 0.03 * std::pow(s.rtol, (m.stages + 1.0) / (2.0 * m.stages));
            m.atol_factor = s.rtol > 0 ? m.rtol / s.rtol : 1;
            m.most_iterations = 7 + 2 * std::max(m.stages - 3, 0);
        }
        set_newton_tolerance(s, m);
    }

    static Complex pair_factor(const CollocationCoefficients& method, int k, double h) noexcept {
        return {method.alpha[k] / h, method.beta[k] / h};
    }

    // One real matrix where the number of stages is odd, and one a pair of complex eigenvalues.
    static bool factor(RadauState& m, double h) noexcept {
        const CollocationCoefficients& method = m.method;
        scale_by_index(m, std::fabs(h));
        m.factored = !method.has_real || factor_matrix(m, m.solver, method.gamma / h);
        for (int k = 0; k < method.pairs && m.factored; ++k)
            m.factored = factor_matrix(m, *m.pairs[k], pair_factor(method, k, h));
        m.factored_step = h;
        if (!m.factored) ++m.singular;
        return m.factored;
    }

    // Transform, solve the real and the complex parts, transform back.
    static void correct(Integration& s, RadauState& m) noexcept {
        const CollocationCoefficients& method = m.method;
        const double h = m.factored_step;
        multiply(m, method.to, m.change, m.turned);
        if (method.has_real) solve_step_matrix(s, m, m.solver, method.gamma / h, m.turned);
        int row = method.has_real;
        for (int k = 0; k < method.pairs; ++k, row += 2)
            solve_step_matrix(s, m, *m.pairs[k], pair_factor(method, k, h), m.turned + row * m.lanes,
                              m.turned + (row + 1) * m.lanes);
        multiply(m, method.from, m.turned, m.change);
    }

    // The difference to a formula of order s that uses x'_n too.
    static bool raw_estimate(Integration& s, RadauState& m, double h, bool again) noexcept {
        slope_of(m, m.method.error, -m.method.weight * h, m.rate);
        if (!again) return residual_at(s, m, s.t, m.rate, s.x, m.error);
        for (long long i = 0; i < m.unknowns; ++i) m.stage[i] = s.x[i] - m.error[i];
        return residual_at(s, m, s.t, m.rate, m.stage, m.error);
    }

    // A kink may lie just before the last stage.
    static double share_of_last_stage(const RadauState& m) noexcept {
        const CollocationCoefficients& method = m.method;
        const int last = m.stages - 1;
        const double estimated = method.error[last] * (method.has_real ? 1 / method.weight : method.alpha[0]);
        return std::fabs(method.inverse[last][last] / estimated);
    }

    static void filter(Integration& s, RadauState& m, double* error) noexcept {
        const CollocationCoefficients& method = m.method;
        solve_one(s, m, error);
        if (method.has_real) return;
        for (long long i = 0; i < m.unknowns; ++i)
            error[i] = method.weight * (method.alpha[0] * error[i] - method.beta[0] * m.stage[i]);
    }

    static bool has_no_factors(Integration& s) noexcept { return !of(s).method.has_real; }

    // With the real matrix, or the first complex one, whose imaginary part is left in `stage`.
    static void solve_one(Integration& s, RadauState& m, double* b) noexcept {
        const double h = m.factored_step;
        if (m.method.has_real) return solve_step_matrix(s, m, m.solver, m.method.gamma / h, b);
        for (long long i = 0; i < m.lanes; ++i) m.stage[i] = 0;
        solve_step_matrix(s, m, *m.pairs[0], pair_factor(m.method, 0, h), b, m.stage);
    }

    // With the products of dF/dx' and c in `out`.
    static void solve_slow(Integration& s, RadauState& m, const double* c, double* out) noexcept {
        const double h = m.factored_step, a = m.method.gamma / h;
        if (m.method.has_real) {
            for (long long i = 0; i < m.unknowns; ++i) out[i] *= a;
            return solve_step_matrix(s, m, m.solver, a, out, c, -a);
        }
        solve_one(s, m, out);
        for (long long i = 0; i < m.unknowns; ++i)
            out[i] = (m.method.alpha[0] * out[i] - m.method.beta[0] * m.stage[i]) / h;
    }

    // Whether the slope at the beginning is that of the polynomial; at the end it always is. The slope there has the error of
    // the step before, which with an even number of stages has the same sign as that of this one, and may hide it.
    static bool slopes_agree(const Integration& s, const RadauState& m) noexcept {
        if (mass_may_be_singular(m.model) || !m.method.has_real) return false;
        const double part = reach_of_slopes / m.method.weight, h = s.t_new - s.t;
        for (long long i = 0; i < m.states; ++i)
            if (const double stiff = raw_of(s, m, h, i) - m.slow[static_cast<std::size_t>(i)];
                !(part * std::fabs(stiff) * m.between_weights[i] <= worth_looking))
                return false;
        return true;
    }

    static void write_middle(Integration& s, RadauState& m, double h) noexcept {
        double place[most_stages] = {}, slope[most_stages] = {}, power = 1;
        for (int j = 0; j < m.stages; ++j, power *= 0.5)
            for (int k = 0; k < m.stages; ++k) {
                place[k] += 0.5 * power * m.method.powers[j][k];
                slope[k] += (j + 1) * power * m.method.powers[j][k];
            }
        add_rows_twice(m.lanes, s.x, place, 1 / h, slope, m.stages, m.z, m.stage, m.rate);
    }

    // What of the estimate belongs to slow components, with its sign.
    static void note_estimate(RadauState& m) noexcept {
        for (long long i = 0; i < m.unknowns; ++i) m.slow[static_cast<std::size_t>(i)] = -m.error[i];
        m.estimate_known = true;
    }

    // The polynomial through the stages, and x' as its derivative. At index 1 the slopes of the stages and the one at
    // the beginning give slow components with one order more, and these still end at w_new: the weight of the first node is
    // zero. In stiff components the slope at the beginning is an error of x_n magnified.
    static void dense(Integration& s) noexcept {
        RadauState& m = of(s);
        const CollocationCoefficients& method = m.method;
        const long long n = m.unknowns, nx = m.states;
        const int stages = method.stages;
        const double h = s.t_new - s.t;
        double* c = s.coefficients;
        copy(s.x, n, c);
        multiply(m, method.powers, m.z, m.turned);
        for (int j = 0; j <= stages; ++j) {
            double* row = c + (j + 1) * s.lanes;
            for (long long i = 0; i < n; ++i) row[i] = j < stages ? m.turned[j * m.lanes + i] : 0;
        }
        if (!m.model.higher_index) {
            if (!m.estimate_known) find_slow(s, m, h);
            for (int j = 0; j <= stages; ++j) {
                const double weight = method.slope[j] / method.weight;
                for (long long i = 0; i < n; ++i) c[(j + 1) * s.lanes + i] += weight * m.slow[static_cast<std::size_t>(i)];
            }
        }
        for (int j = 0; j <= stages; ++j)
            for (long long i = 0; i < nx; ++i) c[j * s.lanes + n + i] = (j + 1) / h * c[(j + 1) * s.lanes + i];
        for (long long i = 0; i < nx; ++i) c[(stages + 1) * s.lanes + n + i] = 0;
    }

    // Where z jumped at the beginning, its value there is the one that the polynomial through the stages alone begins
    // with. Variables of index 1 that have not jumped keep theirs, which is exact.
    static void renew_begin(Integration& s) noexcept {
        RadauState& m = of(s);
        if (m.stale_time != s.t || s.t_new == s.t) return;
        const int stages = m.method.stages;
        double product = -1;
        for (int k = 0; k < stages; ++k) product *= -m.method.c[k];
        for (long long i = 0; i < m.unknowns; ++i) {
            const auto place = static_cast<std::size_t>(i);
            if (i < m.states && m.model.has_derivative[place]) continue;
            double highest = 0;
            for (int k = 0; k < stages; ++k) highest += m.method.powers[stages - 1][k] * m.z[k * m.lanes + i];
            const double jump = product * highest;
            if (m.model.index[place] < 2 && std::fabs(jump) * m.weights[i] <= fitting_slope) continue;
            s.x[i] += jump;
            for (int k = 0; k < stages; ++k) m.z[k * m.lanes + i] -= jump;
        }
        copy(s.x, m.unknowns, m.begin);
        keep_later_values(s);
        s.dense_known = false;
    }

private:
    // The same where the step was taken without an estimate.
    static void find_slow(Integration& s, RadauState& m, double h) noexcept {
        double *raw = m.kept, *slow = m.slow.data();
        for (long long i = 0; i < m.unknowns; ++i)
            raw[i] = i < m.states && m.model.has_derivative[static_cast<std::size_t>(i)] ? raw_of(s, m, h, i) : 0;
        multiply_mass(m, 1, raw, slow);
        solve_slow(s, m, raw, slow);
        m.estimate_known = true;
    }

    static double raw_of(const Integration& s, const RadauState& m, double h, long long i) noexcept {
        double raw = m.method.weight * h * s.x[m.unknowns + i];
        for (int k = 0; k < m.method.stages; ++k) raw += m.method.error[k] * m.z[k * m.lanes + i];
        return raw;
    }

    static void multiply(const RadauState& m, const double (&matrix)[most_stages][most_stages], const double* in,
                         double* out) noexcept {
        for (int k = 0; k < m.stages; ++k) add_rows(m.lanes, nullptr, matrix[k], m.stages, in, out + k * m.lanes);
    }
};
static_assert(ImplicitMethod<Radau> && IncrementMethod<Radau, RadauState>);

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
