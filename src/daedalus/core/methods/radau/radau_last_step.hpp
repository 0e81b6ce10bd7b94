// The error of variables of index 2 at the end of a run, in equations with kinks.
//
// On the way such errors count h times: a step over a kink leaves a wrong value of z at its end, and the next step, which
// does not depend on it, the right one. The last step has none behind it, so there they count whole.
#pragma once

#include <cmath>

#include "methods/radau/radau_stages.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

struct RadauLastStep : RadauStages {
    // Whether z at the end of this step stays as it is, and may be that of a step over a kink or of the first behind it.
    static bool ends_run(const Integration& s, const RadauState& m) noexcept {
        const bool kink_possible = s.kinked || m.stale_time == s.t;
        return m.model.deepest == 2 && kink_possible && m.refused_ends < most_refused_ends && s.t_new == s.t1;
    }

    // The largest error of z, in units of its tolerance and, where that is exceeded, of its rounding errors as well.
    // `estimates` are those of the step before they are filtered twice.
    static double error_at_end(Integration& s, RadauState& m, double h, const double* estimates) noexcept {
        const double error = largest_error(s, m, estimates, nullptr);
        if (!(error >= 1) || !residuals(s, m, h)) return error;
        correct(s, m);
        double* noise = m.turned;
        return sample_noise(s, m, h, noise) ? largest_error(s, m, estimates, noise) : error;
    }

private:
    static double largest_error(const Integration& s, const RadauState& m, const double* estimates,
                                const double* noise) noexcept {
        const double share = share_of_last_stage(m.method);
        double largest = 0;
        for (long long i = 0; i < m.unknowns; ++i) {
            const auto place = static_cast<std::size_t>(i);
            if (m.model.index[place] < 2 || (i < m.states && m.model.has_derivative[place])) continue;
            const double end = s.x[i] + m.z[(m.method.stages - 1) * m.lanes + i];
            // Estimates refer to z at the beginning, which is not known behind a jump, and whose own error, left by a kink
            // or by Newton's method before, counts `share` times in them: no shorter step would end with less of it.
            const double miss = std::fabs(miss_of_last_stage(m, i)), estimate = std::fabs(share * estimates[i]);
            const double error = m.stale_time == s.t ? miss : std::fmin(miss, estimate);
            const double allowed = m.atol_factor * s.atol[i] + m.rtol * std::fmax(std::fabs(s.x[i]), std::fabs(end));
            largest = std::fmax(largest, error / (allowed + (noise ? noise[i] : 0)));
        }
        return largest;
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
