// The past of a BDF run as modified divided differences, and the coefficients of the next step with fixed leading term.
//
//   psi_i = t_n - t_(n-1-i),   phi_0 = w_n,   phi_i = psi_0 ... psi_(i-1) [w_n, ..., w_(n-i)]
//   w_pred = sum_i beta_i phi_i,   w'_pred = sum_i gamma_i beta_i phi_i,   w' = w'_pred + alpha (w - w_pred)
//
// with alpha = (1 + 1/2 + ... + 1/k) / h whatever the steps before: K. R. Jackson, R. Sacks-Davis, ACM Trans. Math.
// Softw. 6 (1980); K. E. Brenan, S. L. Campbell, L. R. Petzold, Numerical Solution of Initial-Value Problems in
// Differential-Algebraic Equations, section 5.2. The differences stay as they are until the step is over: an attempt
// that fails, or that an event cuts short, leaves nothing to undo.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "methods/bdf/bdf_settings.hpp"
#include "methods/implicit/implicit_state.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Calls work(order) with the order known to the compiler, so that sums over the past are one loop over the unknowns.
template <class Work>
DAEDALUS_INLINE void with_order(int order, Work&& work) noexcept {
    switch (order) {
        case 1: return work(std::integral_constant<int, 1>());
        case 2: return work(std::integral_constant<int, 2>());
        case 3: return work(std::integral_constant<int, 3>());
        case 4: return work(std::integral_constant<int, 4>());
        default: return work(std::integral_constant<int, 5>());
    }
}

// The numbers of one step of an order; i runs from 0 to the order.
struct BdfCoefficients {
    int order = 1;
    double h = 0, alpha = 0;
    double psi[bdf_orders + 1] = {};    // as they will be at the end of the step
    double beta[bdf_orders + 1] = {};   // scale the differences to this step
    double gamma[bdf_orders + 1] = {};  // weights of the predicted derivative
    double sigma[bdf_orders + 1] = {};  // constants of the error estimates
    double error = 0;                   // the larger one of the formula's and the interpolation's error constant
};

inline BdfCoefficients coefficients_of_step(const double (&psi)[bdf_orders + 1], int order, double h) noexcept {
    BdfCoefficients c;
    c.order = order, c.h = h;
    c.beta[0] = c.sigma[0] = 1, c.gamma[0] = 0;
    double fraction = 1, reach = h, harmonic = 0, fractions = 0;
    for (int i = 1; i <= order; ++i) {
        c.psi[i - 1] = reach;
        c.beta[i] = c.beta[i - 1] * reach / psi[i - 1];
        c.gamma[i] = c.gamma[i - 1] + fraction / h;
        harmonic += 1.0 / i;
        fractions += fraction;
        reach = psi[i - 1] + h;
        fraction = h / reach;
        c.sigma[i] = i * c.sigma[i - 1] * fraction;
    }
    c.psi[order] = reach;
    c.alpha = harmonic / h;
    c.error = std::fmax(std::fabs(fraction - harmonic + fractions), fraction);
    return c;
}

struct BdfHistory {
    double* phi[bdf_orders + 1];  // phi[k + 1] holds the last difference w - w_pred, for raising the order
    double* change;               // w - w_pred of the step at hand
    double* differential;         // 1 for unknowns whose derivative stands in an equation, else 0
    double psi[bdf_orders + 1] = {};
    int order = 0;                // of the last step; 0: there was none
    double step = 0;
    int even_steps = 0;           // of equal length and order
};

inline bool same_step(double a, double b, double t) noexcept {
    return std::fabs(a - b) <= 1e-10 * std::fabs(a) + 4 * spacing(t);
}

inline void mark_differential(BdfHistory& past, const ImplicitModel& model) noexcept {
    for (std::size_t column = 0; column < model.has_derivative.size(); ++column)
        past.differential[column] = model.has_derivative[column] ? 1 : 0;
}

// At a restart only w and x' are known.
inline void begin_history(BdfHistory& past, const ImplicitState& m, const double* row, double h) noexcept {
    const long long n = m.unknowns;
    past.order = 0, past.step = 0, past.even_steps = 0;
    past.psi[0] = h;
    copy(row, n, past.phi[0]);
    for (long long i = 0; i < n; ++i) past.phi[1][i] = i < m.states ? h * past.differential[i] * row[n + i] : 0;
}

// Calls work(begin, end) for some unknowns after the other: so much of all differences stays in the cache of one core.
template <class Work>
DAEDALUS_INLINE void for_pieces(long long n, Work&& work) noexcept {
    constexpr long long piece = 1024;
    for (long long begin = 0; begin < n; begin += piece) work(begin, std::min(begin + piece, n));
}

// row = (w_pred, x'_pred), for the unknowns from `begin` to `end`.
inline void predict(const BdfHistory& past, const ImplicitState& m, const BdfCoefficients& c, double* row,
                    long long begin, long long end) noexcept {
    with_order(c.order, [&](auto order) {
        constexpr int k = order;
        const long long n = m.unknowns, nx = std::min(m.states, end);
        double slope[k + 1];
        for (int j = 1; j <= k; ++j) slope[j] = c.gamma[j] * c.beta[j];
        DAEDALUS_SIMD
        for (long long i = begin; i < end; ++i) {
            double sum = past.phi[0][i];
            for (int j = 1; j <= k; ++j) sum += c.beta[j] * past.phi[j][i];
            row[i] = sum;
        }
        DAEDALUS_SIMD
        for (long long i = begin; i < nx; ++i) {
            double sum = 0;
            for (int j = 1; j <= k; ++j) sum += slope[j] * past.phi[j][i];
            row[n + i] = sum;
        }
    });
}

inline void predict(const BdfHistory& past, const ImplicitState& m, const BdfCoefficients& c, double* row) noexcept {
    predict(past, m, c, row, 0, m.unknowns);
}

// A step on its way into the past, where its numbers are already.
struct BdfTakenStep {
    BdfCoefficients c;
    const double* change;
    double* unproven;  // the difference that a slope nobody gave at the restart says nothing about, or none
};

inline BdfTakenStep advance_history(BdfHistory& past, const BdfCoefficients& c, int max_order) noexcept {
    BdfTakenStep taken{c, past.change, nullptr};
    if (c.order < max_order) {
        std::swap(past.change, past.phi[c.order + 1]);
        if (past.order == 0) taken.unproven = past.phi[c.order + 1];
    }
    std::copy(c.psi, c.psi + bdf_orders + 1, past.psi);
    past.order = c.order, past.step = c.h;
    return taken;
}

// Its differences follow, for the unknowns from `begin` to `end`; it ended at `row`.
inline void advance_differences(BdfHistory& past, const BdfTakenStep& taken, const double* row, long long begin,
                                long long end) noexcept {
    with_order(taken.c.order, [&](auto order) {
        constexpr int k = order;
        DAEDALUS_SIMD
        for (long long i = begin; i < end; ++i) {
            double sum = taken.change[i];
            for (int j = k; j > 0; --j) {
                sum += taken.c.beta[j] * past.phi[j][i];
                past.phi[j][i] = sum;
            }
            past.phi[0][i] = row[i];
        }
    });
    if (taken.unproven)
        for (long long i = begin; i < end; ++i) taken.unproven[i] *= past.differential[i];
}

// Calls work(number) for the numbers from first to last, each known to the compiler.
template <int first, int last, class Work>
DAEDALUS_INLINE void for_each(Work&& work) noexcept {
    if constexpr (first <= last) {
        work(std::integral_constant<int, first>());
        for_each<first + 1, last>(work);
    }
}

// The polynomial of degree k through the new point and the k before it, as weights of theta^p over the step: with the
// new differences phi_j it is sum_j phi_j prod_(i<j) (t - t_(n-i)) / psi_i.
template <int k>
struct BdfPolynomial {
    double change[k + 1];       // weights of the change in theta^p, p > 0
    double past[k + 1][k + 1];  // of the old differences from p on

    explicit BdfPolynomial(const BdfCoefficients& c) noexcept {
        double basis[k + 1][k + 1];  // coefficients of theta^p, p <= j, in the factor of phi_j
        basis[0][0] = 1;
        for_each<1, k>([&](auto j) {
            const double shift = j == 1 ? -c.h : c.psi[j > 1 ? j - 2 : 0] - c.h, scale = 1 / c.psi[j - 1];
            basis[j][0] = scale * shift * basis[j - 1][0];
            for_each<1, j - 1>([&](auto p) {
                basis[j][p] = scale * (shift * basis[j - 1][p] + c.h * basis[j - 1][p - 1]);
            });
            basis[j][j] = scale * c.h * basis[j - 1][j - 1];
        });
        // New differences are sums of the change and the old ones from j on: gather the weights of those.
        for_each<1, k>([&](auto p) {
            double sum = 0;
            for_each<p, k>([&](auto j) { sum += basis[j][p], past[p][j] = sum * c.beta[j]; });
            change[p] = sum;
        });
    }

    // The coefficients of unknown i from theta on; at theta = 0 it is where it was.
    DAEDALUS_INLINE void at(const BdfHistory& history, long long i, double (&value)[k + 1]) const noexcept {
        for_each<1, k>([&](auto p) {
            double sum = change[p] * history.change[i];
            for_each<p, k>([&](auto j) { sum += past[p][j] * history.phi[j][i]; });
            value[p] = sum;
        });
    }
};

// out <- coefficients of theta^p for a row (x, z, x').
inline void interpolate(const BdfHistory& past, const ImplicitState& m, const BdfCoefficients& c, double* out,
                        long long lanes) noexcept {
    const long long n = m.unknowns, nx = m.states;
    copy(past.phi[0], n, out);
    for (int p = c.order; p <= bdf_orders; ++p)
        for (long long i = p > c.order ? 0 : n; i < n + nx; ++i) out[p * lanes + i] = 0;
    // Clang takes no variables by reference through two functions into a loop of independent iterations.
    with_order(c.order, [&, out, lanes, n, nx](auto order) {
        constexpr int k = order;
        const BdfPolynomial<k> polynomial(c);
        double slope[k + 1];
        for (int p = 1; p <= k; ++p) slope[p] = p / c.h;
        DAEDALUS_SIMD
        for (long long i = 0; i < nx; ++i) {
            double value[k + 1];
            polynomial.at(past, i, value);
            for_each<1, k>([&](auto p) {
                out[p * lanes + i] = value[p];
                out[(p - 1) * lanes + n + i] = slope[p] * value[p];
            });
        }
        DAEDALUS_SIMD
        for (long long i = nx; i < n; ++i) {
            double value[k + 1];
            polynomial.at(past, i, value);
            for_each<1, k>([&](auto p) { out[p * lanes + i] = value[p]; });
        }
    });
}

// out <- the same for the unknowns alone, (order + 1, unknowns).
inline void interpolate_unknowns(const BdfHistory& past, const ImplicitState& m, const BdfCoefficients& c,
                                 double* out) noexcept {
    const long long n = m.unknowns;
    copy(past.phi[0], n, out);
    with_order(c.order, [&, out, n](auto order) {
        constexpr int k = order;
        const BdfPolynomial<k> polynomial(c);
        DAEDALUS_SIMD
        for (long long i = 0; i < n; ++i) {
            double value[k + 1];
            polynomial.at(past, i, value);
            for_each<1, k>([&](auto p) { out[p * n + i] = value[p]; });
        }
    });
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
