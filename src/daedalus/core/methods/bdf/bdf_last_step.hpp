// The error of variables of index 2 that a last step of BDF leaves, which are out of its error test on the way.
//
// It is what the equations make of the last difference d, alpha d in such a variable; see bdf_estimates.hpp.
#pragma once

#include <cmath>

#include "methods/bdf/bdf_estimates.hpp"
#include "methods/bdf/bdf_state.hpp"
#include "methods/implicit/last_step.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// So much larger than its tolerance z may be: shorter steps gain less than in Radau methods, and rounding errors grow.
inline constexpr double most_of_z_at_end = 30;

// Whether the error of a variable without x' of index 2 is too large to stay.
inline bool refuses_end(Integration& s, BdfState& m, const BdfResponse& response) noexcept {
    double* e = m.spare;
    response.pass_on(s, m, m.past.change, e);
    const double error = largest_error_of_z(m, [&](long long i) {
        return std::fabs(m.step.error * e[i]) / (s.atol[i] + s.rtol * std::fabs(s.x_new[i]));
    });
    return error > most_of_z_at_end;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
