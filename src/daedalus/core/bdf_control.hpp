// Which order and which step BDF takes next, from estimates at the present order and its neighbours.
//
// E_j = sigma_j |difference of order j + 1| estimates what a step of order j leaves behind; the order with the smallest
// (j + 1) E_j = |h^(j+1) w^(j+1)| wins, in doubt the lower one (Brenan, Campbell, Petzold, section 5.2.4; A. C.
// Hindmarsh and others, ACM Trans. Math. Softw. 31 (2005), section 2.3).
#pragma once

#include <algorithm>
#include <cmath>

#include "bdf_history.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Estimates after Newton's method has converged.
struct BdfErrors {
    double test = 0;                // at most 1 in a step that counts
    double lower = 0, present = 0;  // E_(k-1), E_k
    int order = 1;                  // the better one of k and k - 1
    bool order_lowered = false;
    double chosen() const { return order_lowered ? lower : present; }
};

// What controls order and step from one step to the next.
struct BdfControl {
    int order = 1, max_order = bdf_orders;
    bool rising = true;  // order and step rise with every step behind a restart, until an estimate objects
    // In models of higher index a change of order alone moves the solution by more than the estimates say: below this
    // part of the tolerance they are not heard while the order rises.
    double deaf_below = 0;
    int failures = 0;    // of the present step
};

// weights: one over the tolerance, zero for what does not count; share: one over the number that counts.
inline BdfErrors estimate_errors(const BdfHistory& past, const BdfCoefficients& c, const double* weights, double share,
                                 long long n) noexcept {
    const int k = c.order;
    const double *change = past.change, *last = past.phi[k], *before = past.phi[k > 1 ? k - 1 : 1];
    const double last_scale = c.beta[k], before_scale = k > 1 ? c.beta[k - 1] : 0;
    double sum = 0, sum_lower = 0, sum_lowest = 0;
    DAEDALUS_SIMD_SUM(sum, sum_lower, sum_lowest)
    for (long long i = 0; i < n; ++i) {
        const double a = change[i] * weights[i];
        const double b = a + last_scale * last[i] * weights[i];
        const double d = b + before_scale * before[i] * weights[i];
        sum += a * a, sum_lower += b * b, sum_lowest += d * d;
    }
    BdfErrors e;
    const double size = std::sqrt(share * sum);
    e.test = c.error * size;
    e.present = c.sigma[k] * size;
    e.order = k;
    if (k == 1) return e;
    e.lower = c.sigma[k - 1] * std::sqrt(share * sum_lower);
    const double now = (k + 1) * e.present, one_lower = k * e.lower;
    const double two_lower = k > 2 ? (k - 1) * c.sigma[k - 2] * std::sqrt(share * sum_lowest) : one_lower;
    e.order_lowered = k > 2 ? std::fmax(one_lower, two_lower) <= now : one_lower <= 0.5 * now;
    if (e.order_lowered) e.order = k - 1;
    return e;
}

// By how much a step of this order may be longer: an error of one half of the tolerance is aimed at.
inline double growth_for(double error, int order) noexcept { return std::pow(2 * error + 1e-4, -1.0 / (order + 1)); }

// After an accepted step: sets the order and gives the factor of the step. Few lengths keep factors usable: a step is
// doubled or kept, and shortened only where the estimate asks for it.
inline double choose_next(BdfControl& control, const BdfHistory& past, const BdfCoefficients& c, const BdfErrors& e,
                          const double* weights, double share, long long n) noexcept {
    const int k = c.order;
    control.failures = 0;
    if ((e.order_lowered && e.test >= control.deaf_below) || k == control.max_order) control.rising = false;
    if (control.rising) {
        if (past.order == 0) return 1;
        control.order = k + 1;
        return 2;
    }
    double error = e.present;
    control.order = k;
    if (e.order_lowered) {
        control.order = k - 1, error = e.lower;
    } else if (k < control.max_order && past.order == k && past.even_steps >= k) {
        const double* next = past.phi[k + 1];
        const double scale = c.beta[k] * c.psi[k] / past.psi[k];
        double sum = 0;
        DAEDALUS_SIMD_SUM(sum)
        for (long long i = 0; i < n; ++i) {
            const double part = (past.change[i] - scale * next[i]) * weights[i];
            sum += part * part;
        }
        const double higher = std::sqrt(share * sum) / (k + 2);
        const double now = (k + 1) * e.present, above = (k + 2) * higher, below = k * e.lower;
        if (k > 1 && below <= std::fmin(now, above)) {
            control.order = k - 1, error = e.lower;
        } else if (k > 1 ? above < now : above < 0.5 * now) {
            control.order = k + 1, error = higher;
        }
    }
    const double growth = growth_for(error, control.order);
    if (growth >= 2) return 2;
    return growth > 1 ? 1 : std::clamp(growth, 0.5, 0.9);
}

// After an error that is too large; behind two failures the past is not trusted.
inline double choose_after_rejection(BdfControl& control, const BdfErrors& e, bool first) noexcept {
    control.rising = false;
    ++control.failures;
    control.order = control.failures > 2 ? 1 : e.order;
    if (control.failures > 1) return 0.25;
    return std::clamp(0.9 * growth_for(e.chosen(), control.order), first ? 0.01 : 0.25, 0.9);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
