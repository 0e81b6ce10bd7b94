// The stages of a step by Newton's method with kept factors: when it has converged, when it will not.
//
// The control is that of E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.8.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "methods/implicit/careful_newton.hpp"
#include "methods/implicit/stage_noise.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// The least rate of convergence that is believed before it is seen.
inline constexpr double least_promise = 1e-4;
// Corrections that shrink by less do not converge.
inline constexpr double no_convergence = 0.99;
// How much of the tolerance the last correction may be, at most; at higher index a tenth of that. Where corrections below
// the third stop shrinking, rounding errors are left; at fixed step, in units of 1e-15, below the fourth.
inline constexpr double most_left = 0.03, part_at_higher_index = 0.1, small_correction = 2e-2, small_if_fixed = 1e4;
// What a rate is believed to be in the next step, as a power of it, and how much a step is cut, by what would be left after
// the last round: between these bounds, less this margin (radau5).
inline constexpr double memory_of_rate = 0.8, least_excess = 1e-4, most_excess = 20, margin_of_cut = 0.8;

template <class M, class State>
struct StageNewton : StageNoise<M, State> {
    // How exact the stages have to be: Hairer and Wanner's choice in units of the tolerance. Fixed steps are solved to
    // rounding.
    static void set_newton_tolerance(const Integration& s, State& m) noexcept {
        const double floor = 10 * std::numeric_limits<double>::epsilon() / m.rtol;
        m.newton_tolerance = std::fmax(floor, std::fmin(most_left, std::sqrt(m.rtol)));
        // A constraint violated by d makes velocities jump by d/h and multipliers by d/h^2 in the next step.
        if (m.model.higher_index) m.newton_tolerance = std::fmax(floor, part_at_higher_index * m.newton_tolerance);
        if (s.fixed_step > 0) m.newton_tolerance = 1;
        m.rounding = s.fixed_step > 0 ? small_if_fixed : std::fmax(m.newton_tolerance, small_correction);
    }

    // `cut` is by how much the step should shrink where it does not converge.
    static NewtonOutcome solve_stages(Integration& s, State& m, double h, double& cut) noexcept {
        const int most = m.most_iterations;
        m.charges.next_time = std::numeric_limits<double>::quiet_NaN();
        const bool fixed = s.fixed_step > 0;
        // Behind a stop steps are short: what this one leaves of charges would be a large current there.
        const bool sharp = m.charges.in_step && s.t_new == interval_end(s);
        m.contraction = std::pow(std::fmax(m.contraction, std::numeric_limits<double>::epsilon()), memory_of_rate);
        double before = 0, ratio_before = 0, theta = 0, first = 0;
        for (int round = 1; round <= most; ++round) {
            m.iterations = round;
            ++m.newton;
            if (!stage_residuals(s, m, h)) return NewtonOutcome::not_finite;
            if (m.charges.in_step) copy(m.charges.of_stage(m.stages - 1), m.unknowns, m.charges.last);
            M::correct(s, m);
            const double size = size_of_change(m);
            if (!std::isfinite(size)) return NewtonOutcome::not_finite;
            if (round == 1) first = size;
            if (round > 1) {
                const double ratio = size / before;
                theta = round == 2 ? ratio : std::sqrt(ratio * ratio_before);
                ratio_before = ratio;
                m.rate_of_newton = theta;
                const bool small = size <= m.rounding || M::is_noise(s, m, first, size);
                if (theta < no_convergence) {
                    m.contraction = theta / (1 - theta);
                    const double left = m.contraction * size * small_power(theta, most - 1 - round) / m.newton_tolerance;
                    if (!fixed && left >= 1 && (!small || round == most)) {
                        if (M::rounding_explains(s, m, h, size)) return NewtonOutcome::converged;
                        const double excess = std::clamp(left, least_excess, most_excess);
                        cut = margin_of_cut * std::pow(excess, -1.0 / (4.0 + std::max(most - 1 - round, 0)));
                        return NewtonOutcome::diverged;
                    }
                } else {
                    cut = 0.5;
                    return small || M::rounding_explains(s, m, h, size) ? NewtonOutcome::converged
                                                                        : NewtonOutcome::diverged;
                }
            }
            before = std::fmax(size, std::numeric_limits<double>::min());
            move_stages(m, -1, m.change);
            // The rate of the step before may promise too much: behind a quiet time everything moves at once.
            const double promised = round == 1 ? std::fmax(m.contraction, least_promise) : m.contraction;
            const double left = promised * size / m.newton_tolerance;
            if (left <= 1 && (!sharp || left <= left_of_charges || round == most)) {
                if (round == 1) m.rate_of_newton = 0;
                end_charges(s, m, m.charges, m.change + (m.stages - 1) * m.lanes, m.z + (m.stages - 1) * m.lanes);
                return NewtonOutcome::converged;
            }
        }
        cut = 0.5;
        return NewtonOutcome::diverged;
    }

    // With a new Jacobian for every correction.
    static NewtonOutcome solve_carefully(Integration& s, State& m, double h) noexcept {
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
        State& m;
        double h;
        double taken = 0;  // the part of the correction in `kept` that z has

        void begin() noexcept { start_stages(s, m); }
        bool factor() noexcept {
            const double one = 1;
            add_rows(m.lanes, s.x, &one, 1, m.z + (m.stages - 1) * m.lanes, m.stage);
            slope_of(m, m.stage_numbers.inverse[m.stages - 1], h, m.rate);
            return jacobian_at(s, m, s.t_new, m.rate, m.stage, m.charges.in_step) && M::factor(m, h);
        }
        double correction() noexcept {
            ++m.newton;
            if (!stage_residuals(s, m, h)) return std::numeric_limits<double>::infinity();
            M::correct(s, m);
            return size_of_change(m);
        }
        void keep() noexcept {
            copy(m.change, m.stages * m.lanes, m.kept);
            taken = 0;
        }
        void move_to(double part) noexcept {
            if (taken != 0) move_stages(m, taken, m.kept);
            if (part != 0) move_stages(m, -part, m.kept);
            taken = part;
        }
        double size_behind() noexcept { return correction(); }
        void add_next() noexcept { move_stages(m, -1, m.change); }
        double tolerance() const noexcept { return m.newton_tolerance; }
        bool is_small(double size, double next, double) const noexcept {
            return std::fmax(size, next) <= m.newton_tolerance;
        }
        bool is_stopped() const noexcept { return s.abort_called; }
        bool is_noise(double first, double size) const noexcept { return M::is_noise(s, m, first, size); }
        bool explains(double size) noexcept {
            copy(m.kept, m.stages * m.lanes, m.change);
            return M::rounding_explains(s, m, h, size);
        }
    };
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
