// How far the polynomial of an explicit step is off between its ends.
//
// With e what the polynomial p is off by, its defect p' - f(t, p) is e' - J e. Where values and slopes are right at both ends,
// e is theta^2 (1 - theta)^2 times something smooth, and |e| at most about a third of the largest |h e'|
// (Hairer, Norsett, Wanner: Solving Ordinary Differential Equations I, section II.6; W. H. Enright, ACM TOMS 12 (1986)).
// The estimate of the ends does not see e: a step that stability limits has stages which the ends cancel and p does not.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "state/dense_output.hpp"
#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Between its ends a step may be off by this many tolerances, as its ends may: e is seen at some places only, and times with
// many derivatives between them it was measured to be three times as large (Pleiades, closed forms at rtol 1e-8).
inline constexpr double most_of_defect = 1;
// Where defects are looked at: one of these sees an even e, the others an odd one, early or late in the step.
inline constexpr double looks_at_defect[] = {0.25, 0.5, 0.8};
inline constexpr double reach_of_defect = 1.0 / 3;
// theta^j is about this far, times 4^-j, from the polynomials of a lower degree that agree with it at both ends, in value and
// slope (Chebyshev; exact for j = 4). A polynomial whose two highest parts are below what is allowed is not looked at.
inline constexpr double far_from_lower = 16;
// Shorter steps that do not make the defect smaller by this factor are in vain: rounding errors, or a kink that is not located.
inline constexpr double worth_shortening = 0.5;

inline double allowed_between(const Integration& s, long long i) noexcept {
    const double size = std::fmax(std::fabs(s.x[i]), std::fabs(s.x_new[i]));
    return most_of_defect * (s.atol[i] + s.rtol * size);
}

inline bool highest_parts_count(const Integration& s, int degree) noexcept {
    const double *highest = s.coefficients + degree * s.lanes, *next = highest - s.lanes;
    const double part = std::ldexp(far_from_lower, -2 * degree);
    for (long long i = 0; i < s.n; ++i)
        if (!(part * std::fmax(std::fabs(highest[i]), 4 * std::fabs(next[i])) <= allowed_between(s, i))) return true;
    return false;
}

// The error of the polynomial in s.coefficients, in units of what is allowed; infinite where the slopes have no value.
inline double error_of_defect(Integration& s, int degree) noexcept {
    if (!highest_parts_count(s, degree)) return 0;
    const double h = s.t_new - s.t;
    double largest = 0;
    for (const double theta : looks_at_defect) {
        evaluate_polynomial(s.coefficients, degree, s.lanes, theta, s.stage);
        slope_at(s, s.t + theta * h, s.stage, s.defect);
        for (long long i = 0; i < s.n; ++i) {
            double slope = degree * s.coefficients[degree * s.lanes + i];
            for (int j = degree - 1; j >= 1; --j) slope = slope * theta + j * s.coefficients[j * s.lanes + i];
            const double off = reach_of_defect * std::fabs(slope - h * s.defect[i]) / allowed_between(s, i);
            if (!(off <= largest)) largest = std::isfinite(off) ? off : std::numeric_limits<double>::infinity();
        }
    }
    return largest;
}

// Whether the polynomial of a step is judged: over kinks that are not located none is right.
inline bool judges_defects(const Integration& s) noexcept {
    return s.fixed_step <= 0 && !(s.kinked && s.guards.switches.count == 0);
}

// Where a shorter step would not help, the error does not count.
inline double counted_defect(Integration& s, double error) noexcept {
    if (!(error > 1)) return error;
    const bool in_vain = s.refused_time == s.t && !(error < worth_shortening * s.refused_defect);
    s.refused_time = s.t, s.refused_defect = error;
    return in_vain ? 0 : error;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
