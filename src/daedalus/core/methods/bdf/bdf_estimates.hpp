// What a step of BDF leaves behind, at its order and at the neighbours: sizes of differences in units of the tolerance.
//
// Where the derivatives cannot be solved for, a difference d = w - w_pred shows less than the error of the step. The
// formula errs by d in dF/dx' alone, and the equations pass that on to algebraic variables, by
//
//   (alpha dF/dx' + dF/d(x, z)) e = alpha dF/dx' d
//
// (R. Sacks-Davis, Math. Comp. 31, 1977, for ODEs; L. R. Petzold, SIAM J. Sci. Stat. Comput. 3, 1982, for DAEs). With
// steps of one length their own differences hardly hold e, because it was there a step before; the first step of
// another length shows all of it at once, and is rejected. Behind two stages of an amplifier, order and step never got
// away from that: 183 000 steps at rtol 1e-8 in place of 11 000. At index 2 the equations move d onto the constraints
// along the directions of the multipliers, far where these are nearly tangent to the constraints, and the multipliers
// by alpha d: 1 850 000 steps in place of 3 200 for a slider crank with both its constraints, at rtol 1e-9.
#pragma once

#include <algorithm>
#include <cmath>

#include "methods/bdf/bdf_history.hpp"
#include "methods/implicit/column_newton.hpp"
#include "methods/implicit/mass_product.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Sizes of the differences of order k + 1, k and k - 1, where k is the order of the step.
struct BdfSizes {
    double present = 0, lower = 0, lowest = 0;
    double turned = 1;  // cosine of the angle between the last two differences of order k
};

// weights: one over the tolerance, zero for what does not count; share: one over the number that counts.
struct BdfNorm {
    const double* weights;
    double share;
    long long n;

    double operator()(const double* values) const noexcept {
        double sum = 0;
        DAEDALUS_SIMD_SUM(sum)
        for (long long i = 0; i < n; ++i) {
            const double part = values[i] * weights[i];
            sum += part * part;
        }
        return std::sqrt(share * sum);
    }
};

inline BdfSizes sizes_of_differences(const BdfHistory& past, const BdfCoefficients& c, const BdfNorm& norm) noexcept {
    const int k = c.order;
    const double *change = past.change, *last = past.phi[k], *before = past.phi[k > 1 ? k - 1 : 1];
    const double last_scale = c.beta[k], before_scale = k > 1 ? c.beta[k - 1] : 0;
    double sum = 0, sum_lower = 0, sum_lowest = 0, product = 0;
    DAEDALUS_SIMD_SUM(sum, sum_lower, sum_lowest, product)
    for (long long i = 0; i < norm.n; ++i) {
        const double a = change[i] * norm.weights[i];
        const double b = a + last_scale * last[i] * norm.weights[i];
        const double d = b + before_scale * before[i] * norm.weights[i];
        sum += a * a, sum_lower += b * b, sum_lowest += d * d, product += a * b;
    }
    BdfSizes sizes;
    sizes.present = std::sqrt(norm.share * sum), sizes.lower = std::sqrt(norm.share * sum_lower);
    sizes.lowest = std::sqrt(norm.share * sum_lowest);
    const double lengths = std::sqrt(sum_lower * (sum + sum_lower - 2 * product));
    if (lengths > 0) sizes.turned = (sum_lower - product) / lengths;
    return sizes;
}

// A difference of one order becomes that of the order below.
inline void add_scaled(double scale, const double* phi, long long n, double* difference) noexcept {
    DAEDALUS_SIMD
    for (long long i = 0; i < n; ++i) difference[i] += scale * phi[i];
}

// out = the difference of order k + 2.
inline void next_difference(const BdfHistory& past, const BdfCoefficients& c, double* out, long long n) noexcept {
    const double* next = past.phi[c.order + 1];
    const double scale = c.beta[c.order] * c.psi[c.order] / past.psi[c.order];
    DAEDALUS_SIMD
    for (long long i = 0; i < n; ++i) out[i] = past.change[i] - scale * next[i];
}

// The larger one of a difference, whose size is known, and of the error that the equations make of it: polynomials
// between the steps need the first.
struct BdfResponse {
    double factored_alpha, alpha, harmonic;  // alpha h

    double operator()(Integration& s, ImplicitState& m, const BdfNorm& norm, const double* difference, double size,
                      double* e) const noexcept {
        pass_on(s, m, difference, e);
        // A difference d of x is alpha d in a multiplier: 1 / alpha is its step, where weights have h.
        if (m.model.higher_index)
            for (long long i = 0; i < m.unknowns; ++i)
                e[i] /= small_power(harmonic, m.model.index[static_cast<std::size_t>(i)] - 1);
        return std::fmax(norm(e), size);
    }

    // e <- the error that the equations make of a difference.
    void pass_on(Integration& s, ImplicitState& m, const double* difference, double* e) const noexcept {
        // A factor made for another alpha, as in Newton's method.
        multiply_mass(m, alpha * 2 / (1 + alpha / factored_alpha), difference, e);
        m.solver.solve_own(e);
        for (long long g = 1; g < m.group_count; ++g) {
            direct(m, g - 1, e, factored_alpha, difference, -factored_alpha);
            subtract_below(s, m, g - 1, m.point_time, m.point_rate, m.point, e);
            m.solver.solve_group(g, e);
        }
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
