// The error of variables of index 2 that a last step by a Radau method leaves.
#pragma once

#include <cmath>

#include "methods/implicit/last_step.hpp"
#include "methods/radau/radau_stages.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

struct RadauLastStep : RadauStages {
    // The largest error of z, in units of its tolerance and, where that is exceeded, of its rounding errors as well.
    // `estimates` are those of the step before they are filtered twice.
    static double error_at_end(Integration& s, RadauState& m, double h, const double* estimates) noexcept {
        const double error = largest_error(s, m, estimates, nullptr);
        if (!(error >= 1) || !residuals(s, m, h)) return error;
        correct(s, m);
        double* noise = m.turned;
        return sample(s, m, h, noise) ? largest_error(s, m, estimates, noise) : error;
    }

private:
    static double largest_error(const Integration& s, const RadauState& m, const double* estimates,
                                const double* noise) noexcept {
        const double share = share_of_last_stage(m.method);
        return largest_error_of_z(m, [&](long long i) {
            const double end = s.x[i] + m.z[(m.method.stages - 1) * m.lanes + i];
            // Estimates refer to z at the beginning, which is not known behind a jump, and whose own error, left by a kink
            // or by Newton's method before, counts `share` times in them: no shorter step would end with less of it.
            const double miss = std::fabs(miss_of_last_stage(m, i)), estimate = std::fabs(share * estimates[i]);
            const double error = m.stale_time == s.t ? miss : std::fmin(miss, estimate);
            const double allowed = m.atol_factor * s.atol[i] + m.rtol * std::fmax(std::fabs(s.x[i]), std::fabs(end));
            return error / (allowed + (noise ? noise[i] : 0));
        });
    }

    // How much more the last stage counts in z at the end than in the estimate: a kink may lie just before it.
    static double share_of_last_stage(const CollocationCoefficients& method) noexcept {
        const int last = method.stages - 1;
        const double estimated = method.error[last] * (method.has_real ? 1 / method.weight : method.alpha[0]);
        return std::fabs(method.inverse[last][last] / estimated);
    }

    // By how much the last stage of one variable misses the polynomial through the others.
    static double miss_of_last_stage(const RadauState& m, long long i) noexcept {
        const CollocationCoefficients& method = m.method;
        const int last = method.stages - 1;
        double miss = m.z[last * m.lanes + i];
        for (int k = 0; k < last; ++k) {
            double weight = 1;
            for (int j = 0; j < last; ++j)
                if (j != k) weight *= (method.c[last] - method.c[j]) / (method.c[k] - method.c[j]);
            miss -= weight * m.z[k * m.lanes + i];
        }
        return miss;
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
