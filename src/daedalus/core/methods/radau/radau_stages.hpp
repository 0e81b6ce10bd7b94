// The stages of a Radau step by Newton's method on transformed corrections: when it has converged, when it will not.
//
// The control of the simplified method is that of E. Hairer, G. Wanner, Solving Ordinary Differential Equations II,
// section IV.8.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "methods/implicit/careful_newton.hpp"
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
            move_stages(m, -1, m.change);
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

    // With a new Jacobian for every correction.
    static NewtonOutcome solve_carefully(Integration& s, RadauState& m, double h) noexcept {
        m.jacobian_known = false;
        CarefulStages stages{s, m, h};
        double rate = 0;
        const NewtonOutcome outcome = solve_with_care(s, stages, rate);
        if (outcome == NewtonOutcome::singular) return NewtonOutcome::diverged;
        if (outcome != NewtonOutcome::converged) return outcome;
        m.rate_of_newton = rate, m.contraction = 1, m.iterations = m.most_iterations;
        m.jacobian_known = true, m.jacobian_fresh = false;
        return outcome;
    }

private:
    // The stages as equations that are solved with care.
    struct CarefulStages {
        Integration& s;
        RadauState& m;
        double h;
        double taken = 0;  // the part of the correction in `kept` that z has

        void begin() noexcept { start_values(s, m); }
        bool factor() noexcept {
            const double one = 1;
            add_rows(m.lanes, s.x, &one, 1, m.z + (m.method.stages - 1) * m.lanes, m.stage);
            slope_of(m, m.method.inverse[m.method.stages - 1], h, m.rate);
            return jacobian_at(s, m, s.t_new, m.rate, m.stage) && RadauStages::factor(m, h);
        }
        double correction() noexcept {
            ++m.newton;
            if (!residuals(s, m, h)) return std::numeric_limits<double>::infinity();
            correct(s, m);
            return size_of_change(m);
        }
        void keep() noexcept {
            copy(m.change, m.method.stages * m.lanes, m.kept);
            taken = 0;
        }
        void move_to(double part) noexcept {
            move_stages(m, taken - part, m.kept);
            taken = part;
        }
        double size_behind() noexcept { return correction(); }
        void add_next() noexcept { move_stages(m, -1, m.change); }
        double tolerance() const noexcept { return m.newton_tolerance; }
        bool is_small(double size, double next, double) const noexcept {
            return std::fmax(size, next) <= m.newton_tolerance;
        }
        bool is_stopped() const noexcept { return s.abort_called; }
        bool is_noise(double first, double size) const noexcept {
            return RadauStages::is_noise(s, m, first, size);
        }
        bool explains(double size) noexcept {
            copy(m.kept, m.method.stages * m.lanes, m.change);
            return rounding_explains(s, m, h, size);
        }
    };
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
