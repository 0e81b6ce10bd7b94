// How long the next step is: a PI controller, and a first guess from the size of the solution and its slopes.
#pragma once

#include <algorithm>
#include <cmath>

#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Below, errors count as this: growth is limited anyway, and the controller's memory stays meaningful (dopri5: 1e-4).
inline constexpr double smallest_error = 1e-4;
// No error counts as less: its logarithm stays finite.
inline constexpr double smallest_counted = 1e-10;
// Aim below the tolerance, so that most steps are accepted (Hairer, Norsett, Wanner, section II.4).
inline constexpr double safety = 0.9;
// A step shorter than this many spacings of t cannot resolve anything.
inline constexpr double fewest_spacings = 10;
// A step with anything not finite is tried again this much shorter: domain edges need large cuts.
inline constexpr double cut_if_not_finite = 0.25;

inline double interval_end(const Integration& s) { return s.stops[s.stop_next]; }

// Gustafsson's controller in Hairer's form: h_new = h safety err^-(1/k - 0.75 beta) err_before^beta.
template <class M>
inline double growth_after_acceptance(Integration& s, double error) noexcept {
    const double exponent = 1.0 / M::control_order(s) - 0.75 * M::memory;
    // Seven digits are plenty for a factor, and the quicker functions.
    const double log_error = std::log(static_cast<float>(error > smallest_counted ? error : smallest_counted));
    const double wish = std::exp(static_cast<float>(M::memory * s.log_error_before - exponent * log_error));
    double factor = std::clamp(safety * wish, M::shrink, M::grow);
    if (s.after_rejection && factor > 1) factor = 1;
    s.log_error_before = log_error > std::log(smallest_error) ? log_error : std::log(smallest_error);
    s.after_rejection = false;
    return factor;
}

template <class M>
inline double shrinkage_after_rejection(const Integration& s, double error) noexcept {
    const double exponent = 1.0 / M::control_order(s) - 0.75 * M::memory;
    return std::clamp(safety * std::pow(error, -exponent), M::shrink, 1.0);
}

// Forgets the past: the solution's derivatives may have jumped.
inline void restart_control(Integration& s) noexcept {
    s.log_error_before = std::log(smallest_error);
    s.after_rejection = false;
}

// RMS norm in units of the tolerance.
inline double scaled_norm(const Integration& s, const double* values, const double* minus) noexcept {
    double sum = 0;
    for (long long i = 0; i < s.n; ++i) {
        const double part = (values[i] - (minus ? minus[i] : 0)) / (s.atol[i] + s.rtol * std::fabs(s.x[i]));
        sum += part * part;
    }
    return std::sqrt(sum / static_cast<double>(s.n > 0 ? s.n : 1));
}

// Hairer, Norsett, Wanner, section II.4: an Euler step estimates the second derivative; costs one evaluation.
template <class M>
inline double first_step_size(Integration& s) noexcept {
    const double longest = std::min(std::fabs(s.stops[0] - s.t), s.max_step);
    const double size = scaled_norm(s, s.x, nullptr), slope = scaled_norm(s, s.k, nullptr);
    double guess = size < 1e-5 || slope < 1e-5 ? 1e-6 : 0.01 * size / slope;
    guess = std::clamp(guess, 1e-12 * longest, longest);
    double* probe_slope = M::end_slope(s);
    for (long long i = 0; i < s.lanes; ++i) s.stage[i] = s.x[i] + s.direction * guess * s.k[i];
    slope_at(s, s.t + s.direction * guess, s.stage, probe_slope);
    const double curvature = scaled_norm(s, probe_slope, s.k) / guess;
    // Where the probe leaves the domain of the model, start very small.
    if (!std::isfinite(curvature)) return 1e-3 * guess;
    const double largest = std::max(slope, curvature);
    const double wish = largest <= 1e-15 ? std::max(1e-6, 1e-3 * guess)
                                         : std::pow(0.01 / largest, 1.0 / M::control_order(s));
    return std::clamp(std::min(100 * guess, wish), 1e-12 * longest, longest);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
