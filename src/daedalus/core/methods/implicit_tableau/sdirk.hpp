// Singly diagonally implicit Runge-Kutta pairs that end in their last stage, for 0 = F(t, x', x, z): one matrix a step.
//
//   F(t + c_i h, (1/h) sum_(j<=i) a'_ij Z_j, w + Z_i) = 0,   w_new = w + Z_s,   a' = A^-1,  a'_ii = 1 / gamma
//
// The linear system of all stages is lower triangular in blocks with M / (h gamma) + dF/dw on the diagonal, M = dF/dx', so
// corrections follow one after the other with one factor. The estimate sum_i e_i Z_i, e = (b - b_hat) A^-1, is filtered by
// (M / (h gamma) + dF/dw)^-1 M / (h gamma), which takes away what stiff components add to it (E. Hairer, G. Wanner, Solving
// Ordinary Differential Equations II, section IV.8; M. E. Hosea, L. F. Shampine, Appl. Numer. Math. 20 (1996)).
#pragma once

#include <algorithm>
#include <cmath>

#include "methods/implicit/implicit_method.hpp"
#include "methods/implicit/mass_product.hpp"
#include "methods/implicit_tableau/implicit_tableau.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

struct SdirkState : IncrementState {
    const ImplicitTableau& tableau;
    StageCoefficients numbers;              // the polynomial in them is that of x
    double z_powers[most_stages][most_stages] = {};  // and this one that of z
    double estimate[most_stages] = {};      // weights of the increments
    const int z_degree;

    SdirkState(const ImplicitModel& m, const ImplicitCalls& calls, const ImplicitTableau& t)
        : IncrementState(m, calls, numbers, t.stages), tableau(t), z_degree(std::min(t.z_degree, most_stages)) {
        const double ends[] = {0, 1};
        between = between_nodes(ends, 2, t.degree());
        numbers.stages = stages;
        for (int i = 0; i < stages; ++i) numbers.c[i] = t.c[static_cast<std::size_t>(i)];
        invert();
        for (int p = 0; p < t.x_degree; ++p) write_in_increments(t.x_weights.data() + p * stages, numbers.powers[p]);
        write_in_increments(t.error.data(), estimate);
        for (int p = 0; p < z_degree; ++p)
            for (int j = 0; j <= stages; ++j)
                z_powers[p][std::min(j, stages - 1)] += t.z_weights[static_cast<std::size_t>(p * (stages + 1) + j)];
    }

    double factor_of(double h) const noexcept { return 1 / (tableau.gamma * h); }

private:
    // A^-1 column by column, downwards.
    void invert() noexcept {
        for (int j = 0; j < stages; ++j)
            for (int i = j; i < stages; ++i) {
                double sum = i == j ? 1 : 0;
                for (int k = j; k < i; ++k) sum -= tableau.entry(i, k) * numbers.inverse[k][j];
                numbers.inverse[i][j] = sum / tableau.entry(i, i);
            }
    }
    // Weights of the stage derivatives, h times, as weights of the increments.
    void write_in_increments(const double* weights, double* out) const noexcept {
        for (int i = 0; i < stages; ++i)
            for (int j = i; j < stages; ++j) out[i] += weights[j] * numbers.inverse[j][i];
    }
};

struct Sdirk : IncrementStep<Sdirk, SdirkState> {
    static int degree(Integration& s) { return of(s).tableau.degree(); }
    static int estimate_order(const SdirkState& m) { return m.tableau.control_order; }

    static void prepare(Integration& s) noexcept {
        SdirkState& m = of(s);
        const bool fixed = s.fixed_step > 0;
        // As for Radau methods: the rtol asked for has no meaning at fixed step.
        m.rtol = fixed ? 1e-15 : s.rtol;
        m.atol_factor = fixed ? 1e-15 / std::clamp(s.rtol, 1e-12, 1e-6) : 1;
        m.most_iterations = fixed ? 30 : 7;
        set_newton_tolerance(s, m);
    }

    static bool factor(SdirkState& m, double h) noexcept {
        scale_by_index(m, std::fabs(h));
        m.factored = factor_matrix(m, m.solver, m.factor_of(h));
        m.factored_step = h;
        if (!m.factored) ++m.singular;
        return m.factored;
    }

    static void correct(Integration& s, SdirkState& m) noexcept {
        double *coupled = m.stage, *product = m.turned;
        for (int i = 0; i < m.stages; ++i) {
            double* row = m.change + i * m.lanes;
            if (i > 0) {
                double weights[most_stages];
                for (int j = 0; j < i; ++j) weights[j] = m.numbers.inverse[i][j] / m.factored_step;
                add_rows(m.lanes, nullptr, weights, i, m.change, coupled);
                multiply_mass(m, 1, coupled, product);
                for (long long k = 0; k < m.unknowns; ++k) row[k] -= product[k];
            }
            solve_one(s, m, row, i > 0 ? coupled : nullptr, 1);
        }
    }

    // M / (h gamma) times the difference of the two solutions, which is left in `stage`. It is filtered once: stages of order
    // 1 follow a fast transient badly, and an estimate that is filtered twice lets long steps over it behind a switch.
    static bool raw_estimate(Integration&, SdirkState& m, double h, bool again) noexcept {
        if (again) return false;
        add_rows(m.lanes, nullptr, m.estimate, m.stages, m.z, m.stage);
        multiply_mass(m, m.factor_of(h), m.stage, m.error);
        return true;
    }

    // The raw estimate is a change of x' too.
    static void filter(Integration& s, SdirkState& m, double* b) noexcept {
        solve_one(s, m, b, m.stage, -m.factor_of(m.factored_step));
    }

    static void solve_one(Integration& s, SdirkState& m, double* b, const double* other = nullptr,
                          double factor = 0) noexcept {
        solve_step_matrix(s, m, m.solver, m.factor_of(m.factored_step), b, other, factor);
    }

    static void solve_slow(Integration& s, SdirkState& m, const double* c, double* out) noexcept {
        const double a = m.factor_of(m.factored_step);
        for (long long i = 0; i < m.unknowns; ++i) out[i] *= a;
        solve_one(s, m, out, c, -a);
    }

    static bool slopes_agree(const Integration& s, const SdirkState& m) noexcept {
        return daedalus::slopes_agree(s, m, m.tableau.degree());
    }

    static void note_estimate(SdirkState&) noexcept {}

    // The coefficient of the last stage in the estimate, as the one in its slope is 1 / gamma.
    static double share_of_last_stage(const SdirkState& m) noexcept { return 1 / std::fabs(m.estimate[m.stages - 1]); }

    static void write_middle(Integration& s, SdirkState& m, double h) noexcept {
        double place[most_stages] = {}, slope[most_stages] = {}, z_place[most_stages] = {}, half = 0.5;
        for (int p = 0; p < m.tableau.degree(); ++p, half *= 0.5)
            for (int k = 0; k < m.stages; ++k) {
                place[k] += half * m.numbers.powers[p][k];
                slope[k] += 2 * (p + 1) * half * m.numbers.powers[p][k];
                z_place[k] += half * m.z_powers[p][k];
            }
        add_rows_twice(m.lanes, s.x, place, 1 / h, slope, m.stages, m.z, m.stage, m.rate);
        for (long long i = m.states; i < m.unknowns; ++i) {
            m.stage[i] = s.x[i];
            for (int k = 0; k < m.stages; ++k) m.stage[i] += z_place[k] * m.z[k * m.lanes + i];
        }
    }

    // x from the stage derivatives, z from the values at the stages; x' is the derivative of the polynomial of x.
    static void dense(Integration& s) noexcept {
        SdirkState& m = of(s);
        const long long n = m.unknowns, nx = m.states;
        const int degree = m.tableau.degree();
        const double h = s.t_new - s.t;
        double* c = s.coefficients;
        copy(s.x, n, c);
        for (int p = 0; p < degree; ++p) {
            double* row = c + (p + 1) * s.lanes;
            for (long long i = 0; i < n; ++i) {
                const double* weights = i < nx ? m.numbers.powers[p] : m.z_powers[p];
                row[i] = 0;
                for (int k = 0; k < m.stages; ++k) row[i] += weights[k] * m.z[k * m.lanes + i];
            }
            for (long long i = 0; i < nx; ++i) c[p * s.lanes + n + i] = (p + 1) / h * row[i];
        }
        for (long long i = 0; i < nx; ++i) c[degree * s.lanes + n + i] = 0;
    }
};
static_assert(IncrementMethod<Sdirk, SdirkState>);

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
