// The error of variables of index 2 at the end of a BDF run, in equations with kinks.
//
// They are out of the error test: on the way a wrong value, such as a mean over a kink, harms nothing that follows. The
// last one stays, so there it counts: what the equations make of the last difference,
//
//   (alpha dF/dx' + dF/d(x, z)) e = alpha dF/dx' d,
//
// is alpha d in such a variable.
#pragma once

#include <cmath>

#include "methods/bdf/bdf_estimates.hpp"
#include "methods/bdf/bdf_state.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// So much larger than its tolerance z may be: shorter steps gain less than in Radau methods, and rounding errors grow.
inline constexpr double most_of_z_at_end = 30;

// Whether z at the end of this step stays as it is, and may be that of a step over a kink.
inline bool ends_run(const Integration& s, const BdfState& m) noexcept {
    return m.model.deepest == 2 && s.kinked && m.refused_ends < most_refused_ends && s.t_new == s.t1;
}

// Whether the error of a variable without x' of index 2 is too large to stay.
inline bool refuses_end(Integration& s, BdfState& m, const BdfResponse& response) noexcept {
    double* e = m.spare;
    response.pass_on(s, m, m.past.change, e);
    for (long long i = 0; i < m.unknowns; ++i) {
        if (m.past.differential[i] != 0 || m.model.index[static_cast<std::size_t>(i)] < 2) continue;
        const double allowed = s.atol[i] + s.rtol * std::fabs(s.x_new[i]);
        if (std::fabs(m.step.error * e[i]) > most_of_z_at_end * allowed) return true;
    }
    return false;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
