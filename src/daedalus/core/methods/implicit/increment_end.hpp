// The error of variables of index 2 that a last step by a method of stage increments leaves.
#pragma once

#include <cmath>

#include "methods/implicit/last_step.hpp"
#include "methods/implicit/stage_noise.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// By how much the last stage of one variable misses the polynomial through the others.
inline double miss_of_last_stage(const IncrementState& m, long long i) noexcept {
    const StageCoefficients& method = m.stage_numbers;
    const int last = m.stages - 1;
    double miss = m.z[last * m.lanes + i];
    for (int k = 0; k < last; ++k) {
        double weight = 1;
        for (int j = 0; j < last; ++j)
            if (j != k) weight *= (method.c[last] - method.c[j]) / (method.c[k] - method.c[j]);
        miss -= weight * m.z[k * m.lanes + i];
    }
    return miss;
}

// In units of what is allowed, which `noise` widens where it is known. The estimates in `error` are those before they are
// filtered twice; `share` is how much more the last stage counts in z at the end than in them.
inline double error_of_stages_at_end(const Integration& s, const IncrementState& m, double share,
                                     const double* noise) noexcept {
    return largest_error_of_z(m, [&](long long i) {
        const double end = s.x[i] + m.z[(m.stages - 1) * m.lanes + i];
        // Estimates refer to z at the beginning, which is not known behind a jump, and whose own error, left by a kink
        // or by Newton's method before, counts `share` times in them: no shorter step would end with less of it.
        const double miss = std::fabs(miss_of_last_stage(m, i)), estimate = std::fabs(share * m.error[i]);
        const double error = m.stale_time == s.t ? miss : std::fmin(miss, estimate);
        const double allowed = m.atol_factor * s.atol[i] + m.rtol * std::fmax(std::fabs(s.x[i]), std::fabs(end));
        return error / (allowed + (noise ? noise[i] : 0));
    });
}

// The largest error of z, in units of its tolerance and, where that is exceeded, of its rounding errors as well.
template <class M, class State>
inline double error_at_end(Integration& s, State& m, double h) noexcept {
    const double share = M::share_of_last_stage(m), error = error_of_stages_at_end(s, m, share, nullptr);
    if (!(error >= 1) || !stage_residuals(s, m, h)) return error;
    M::correct(s, m);
    double* noise = m.turned;
    return M::sample(s, m, h, noise) ? error_of_stages_at_end(s, m, share, noise) : error;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
