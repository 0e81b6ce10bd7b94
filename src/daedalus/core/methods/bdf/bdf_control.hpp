// Which order and which step BDF takes next, from estimates at the present order and its neighbours.
//
// E_j = sigma_j |difference of order j + 1| estimates what a step of order j leaves behind; the order with the smallest
// (j + 1) E_j = |h^(j+1) w^(j+1)| wins, in doubt the lower one (Brenan, Campbell, Petzold, section 5.2.4; A. C.
// Hindmarsh and others, ACM Trans. Math. Softw. 31 (2005), section 2.3).
#pragma once

#include <algorithm>
#include <cmath>

#include "methods/bdf/bdf_estimates.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Estimates after Newton's method has converged.
struct BdfErrors {
    double test = 0;                // at most 1 in a step that counts
    double lower = 0, present = 0;  // E_(k-1), E_k
    int order = 1;                  // the better one of k and k - 1
    bool order_lowered = false;
    double turned = 1;              // cosine of the angle between the last two differences
    double chosen() const { return order_lowered ? lower : present; }
};

// What controls order and step from one step to the next.
struct BdfControl {
    int order = 1, max_order = bdf_orders;
    bool rising = true;  // order and step rise with every step behind a restart, until an estimate objects
    int failures = 0;    // of the present step
};

inline BdfErrors judge(const BdfCoefficients& c, const BdfSizes& sizes) noexcept {
    const int k = c.order;
    BdfErrors e;
    e.test = c.error * sizes.present;
    e.present = c.sigma[k] * sizes.present;
    e.order = k, e.turned = sizes.turned;
    if (k == 1) return e;
    e.lower = c.sigma[k - 1] * sizes.lower;
    const double now = (k + 1) * e.present, one_lower = k * e.lower;
    const double two_lower = k > 2 ? (k - 1) * c.sigma[k - 2] * sizes.lowest : one_lower;
    e.order_lowered = k > 2 ? std::fmax(one_lower, two_lower) <= now : one_lower <= 0.5 * now;
    if (e.order_lowered) e.order = k - 1;
    return e;
}

// By how much a step of this order may be longer: an error of one half of the tolerance is aimed at.
inline double beside_aim(double error) noexcept { return 2 * error + 1e-4; }
inline double growth_for(double error, int order) noexcept { return std::pow(beside_aim(error), -1.0 / (order + 1)); }

// Whether the difference for the order above has a meaning, so that it may be chosen.
inline bool may_rise(const BdfControl& control, const BdfHistory& past, const BdfCoefficients& c) noexcept {
    return c.order < control.max_order && past.order == c.order && past.even_steps >= c.order;
}

// After an accepted step: sets the order and gives the factor of the step. Few lengths keep factors usable: a step is
// doubled or kept, and shortened only where the estimate asks for it. next: the size of the difference of order k + 2,
// infinite where it is not known.
inline double choose_next(BdfControl& control, const BdfHistory& past, const BdfCoefficients& c, const BdfErrors& e,
                          double next) noexcept {
    const int k = c.order;
    control.failures = 0;
    if (e.order_lowered || k == control.max_order) control.rising = false;
    if (control.rising) {
        if (past.order == 0) return 1;
        control.order = k + 1;
        return 2;
    }
    double error = e.present;
    control.order = k;
    if (e.order_lowered) {
        control.order = k - 1, error = e.lower;
    } else if (std::isfinite(next)) {
        const double higher = next / (k + 2);
        const double now = (k + 1) * e.present, above = (k + 2) * higher, below = k * e.lower;
        if (k > 1 && below <= std::fmin(now, above)) {
            control.order = k - 1, error = e.lower;
        } else if (k > 1 ? above < now : above < 0.5 * now) {
            control.order = k + 1, error = higher;
        }
    }
    // Whether it is 2 or 1 is known without the power.
    const double aimed = beside_aim(error);
    if (aimed <= small_power(0.5, control.order + 1)) return 2;
    return aimed < 1 ? 1 : std::clamp(growth_for(error, control.order), 0.5, 0.9);
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
