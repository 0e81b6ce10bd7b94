// The stages of a Radau step by Newton's method on transformed corrections: when it has converged, when it will not.
//
// The control of the simplified method is that of E. Hairer, G. Wanner, Solving Ordinary Differential Equations II,
// section IV.8.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "methods/implicit/newton_outcome.hpp"
#include "methods/radau/radau_rounding.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// The least rate of convergence that is believed before it is seen.
inline constexpr double least_promise = 1e-4;

struct RadauStages : RadauRounding {
    // Simplified Newton; `cut` is by how much the step should shrink where it does not converge.
    static NewtonOutcome solve_stages(Integration& s, RadauState& m, double h, double& cut) noexcept {
        const int most = m.most_iterations;
        const bool fixed = s.fixed_step > 0;
        m.contraction = std::pow(std::fmax(m.contraction, std::numeric_limits<double>::epsilon()), 0.8);
        double before = 0, ratio_before = 0, theta = 0, first = 0;
        for (int round = 1; round <= most; ++round) {
            m.iterations = round;
            ++m.newton;
            if (!residuals(s, m, h)) return NewtonOutcome::not_finite;
            correct(s, m);
            const double size = size_of_change(m);
            if (!std::isfinite(size)) return NewtonOutcome::not_finite;
            if (round == 1) first = size;
            if (round > 1) {
                const double ratio = size / before;
                theta = round == 2 ? ratio : std::sqrt(ratio * ratio_before);
                ratio_before = ratio;
                m.rate_of_newton = theta;
                const bool small = size <= m.rounding || is_noise(s, m, first, size);
                if (theta < 0.99) {
                    m.contraction = theta / (1 - theta);
                    const double left = m.contraction * size * small_power(theta, most - 1 - round) / m.newton_tolerance;
                    if (!fixed && left >= 1 && (!small || round == most)) {
                        if (rounding_explains(s, m, h, size)) return NewtonOutcome::converged;
                        const double excess = std::clamp(left, 1e-4, 20.0);
                        cut = 0.8 * std::pow(excess, -1.0 / (4.0 + std::max(most - 1 - round, 0)));
                        return NewtonOutcome::diverged;
                    }
                } else {
                    cut = 0.5;
                    return small || rounding_explains(s, m, h, size) ? NewtonOutcome::converged
                                                                     : NewtonOutcome::diverged;
                }
            }
            before = std::fmax(size, std::numeric_limits<double>::min());
            DAEDALUS_SIMD
            for (long long i = 0; i < m.method.stages * m.lanes; ++i) m.z[i] -= m.change[i];
            // The rate of the step before may promise too much: behind a quiet time everything moves at once.
            const double promised = round == 1 ? std::fmax(m.contraction, least_promise) : m.contraction;
            if (promised * size <= m.newton_tolerance) {
                if (round == 1) m.rate_of_newton = 0;
                return NewtonOutcome::converged;
            }
        }
        cut = 0.5;
        return NewtonOutcome::diverged;
    }

    // Newton's method with the Jacobian of the end as far as it is known, new for every correction, and corrections that
    // are halved until the next one would be shorter (P. Deuflhard, Newton Methods for Nonlinear Problems, 2004, section
    // 3.3): over a kink the Jacobian at the beginning belongs to the other side, however short the step.
    static NewtonOutcome solve_carefully(Integration& s, RadauState& m, double h) noexcept {
        m.jacobian_known = false;
        if (s.kinked && solve_by_whole(s, m, h)) return arrived(m, 0);
        const long long count = m.method.stages * m.lanes;
        start_values(s, m);
        for (int round = 0; round < most_careful; ++round) {
            if (!factor_end(s, m, h)) return NewtonOutcome::diverged;
            ++m.newton;
            if (!residuals(s, m, h)) return NewtonOutcome::not_finite;
            correct(s, m);
            const double size = size_of_change(m);
            if (!std::isfinite(size)) return NewtonOutcome::not_finite;
            copy(m.change, count, m.kept);
            double part = 1, next = 0;
            for (;; part *= 0.5) {
                if (s.abort_called) return NewtonOutcome::diverged;
                if (part < least_part) {
                    copy(m.kept, count, m.change);
                    const bool noise = is_noise(s, m, size, size) || rounding_explains(s, m, h, size);
                    return noise ? NewtonOutcome::converged : NewtonOutcome::diverged;
                }
                DAEDALUS_SIMD
                for (long long i = 0; i < count; ++i) m.z[i] -= part * m.kept[i];
                ++m.newton;
                const bool finite = residuals(s, m, h);
                if (finite) correct(s, m);
                next = finite ? size_of_change(m) : std::numeric_limits<double>::infinity();
                if (next <= (1 - 0.25 * part) * size || std::fmax(size, next) <= m.newton_tolerance) break;
                DAEDALUS_SIMD
                for (long long i = 0; i < count; ++i) m.z[i] += part * m.kept[i];
            }
            const double theta = next / std::fmax(size, std::numeric_limits<double>::min());
            if (part < 1 || !(theta < 0.5 || next <= m.newton_tolerance)) continue;
            DAEDALUS_SIMD
            for (long long i = 0; i < count; ++i) m.z[i] -= m.change[i];
            if (next * theta > m.newton_tolerance) continue;
            return arrived(m, theta);
        }
        return NewtonOutcome::diverged;
    }

    // The same with whole corrections, which pass a kink where damped ones end at it. Smooth equations do not get them: a
    // correction that has to be damped there leads anywhere, such as over a place where the motion ends.
    static bool solve_by_whole(Integration& s, RadauState& m, double h) noexcept {
        double first = 0;
        start_values(s, m);
        for (int round = 0; round < most_whole && !s.abort_called; ++round) {
            ++m.newton;
            if (!factor_end(s, m, h) || !residuals(s, m, h)) return false;
            correct(s, m);
            const double size = size_of_change(m);
            if (!std::isfinite(size)) return false;
            if (round == 0) first = size;
            DAEDALUS_SIMD
            for (long long i = 0; i < m.method.stages * m.lanes; ++i) m.z[i] -= m.change[i];
            if (size <= m.newton_tolerance || (round > 0 && is_noise(s, m, first, size))) return true;
        }
        return false;
    }

    // Factors with the Jacobian at the end of the step, as far as that is known.
    static bool factor_end(Integration& s, RadauState& m, double h) noexcept {
        const double one = 1;
        add_rows(m.lanes, s.x, &one, 1, m.z + (m.method.stages - 1) * m.lanes, m.stage);
        slope_of(m, m.method.inverse[m.method.stages - 1], h, m.rate);
        return jacobian_at(s, m, s.t_new, m.rate, m.stage) && factor(m, h);
    }

    static NewtonOutcome arrived(RadauState& m, double theta) noexcept {
        m.rate_of_newton = theta, m.contraction = 1, m.iterations = m.most_iterations;
        m.jacobian_known = true, m.jacobian_fresh = false;
        return NewtonOutcome::converged;
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
