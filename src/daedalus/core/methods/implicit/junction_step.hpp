// A short step over the instant at which a junction stops to conduct, where a method's own step fails.
//
//   F(t_new, d / h, w + d) = 0    (implicit Euler, a new Jacobian for every correction, corrections whole)
//
// An inductor in series with a diode ends its current within femtoseconds: over 1e-12 A the voltage falls by hundreds of
// volts. Stages before and behind that instant have slopes that differ by ten decades, so no Jacobian serves them all,
// however short the step, and no polynomial follows z. One stage has one Jacobian, and since the laws are monotone and
// convex its whole corrections arrive. z may jump; the step is taken where x stays, within its tolerance, on the line along
// its slope at the beginning.
#pragma once

#include <algorithm>
#include <cmath>

#include "methods/implicit/column_newton.hpp"
#include "methods/implicit/implicit_state.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// How many corrections it may take; how far x may be off that line, and may move along it, in units of the tolerance; how
// long it may be, in parts of the longest step: over a period of a source everything may seem to stay.
inline constexpr int most_corrections_of_junction = 60;
inline constexpr double most_bend = 0.3, most_way_of_junction = 10, longest_of_junction = 1e-4;

// The largest distance of w from the state along the slope at the beginning, `way` on.
inline double off_line(const Integration& s, const ImplicitState& m, const double* w, double way) noexcept {
    double largest = 0;
    for (long long i = 0; i < m.states; ++i)
        if (m.model.has_derivative[static_cast<std::size_t>(i)])
            largest = std::fmax(largest, std::fabs(w[i] - s.x[i] - way * s.x[m.unknowns + i]) * m.weights[i]);
    return largest;
}

// The row at t_new in x_new; `off` is room for unknowns.
inline bool solves_junction_end(Integration& s, ImplicitState& m, double tolerance, double* off) noexcept {
    const double h = s.t_new - s.t;
    double *w = s.x_new, *rate = s.x_new + m.unknowns;
    copy(s.x, m.unknowns, w);
    std::fill(rate, rate + m.states, 0.0);
    scale_by_index(m, std::fabs(h));
    for (int round = 0; round < most_corrections_of_junction && !s.abort_called; ++round) {
        if (!jacobian_at(s, m, s.t_new, rate, w) || !factor_matrix(m, m.solver, 1 / h)) return false;
        ++m.newton;
        if (!residual_at(s, m, s.t_new, rate, w, off)) return false;
        solve_step_matrix(s, m, m.solver, 1 / h, off);
        const double size = weighted_norm(m, off);
        if (!std::isfinite(size)) return false;
        for (long long i = 0; i < m.unknowns; ++i) w[i] -= off[i];
        // The difference of two states, divided by so short a step, would be rounding errors.
        for (long long i = 0; i < m.states; ++i) rate[i] -= off[i] / h;
        if (size <= tolerance) return off_line(s, m, w, h) <= most_bend;
    }
    return false;
}

// Such a step in the place of the one to t_new, where that is short. It is as long as x allows, up to the instant at which
// the current would be another: a step that ends too early leaves the next one where this one began. Sets t_new; changes
// the factor of `solver`.
inline bool solves_junction_step(Integration& s, ImplicitState& m, double tolerance, double* off) noexcept {
    const double end = s.t_new, longest = longest_of_junction * m.longest_step;
    const double way = off_line(s, m, s.x, end - s.t);
    if (!s.junctions || std::fabs(end - s.t) > longest || !(way <= most_way_of_junction)) return false;
    const double length = std::fmin(longest, std::fabs(end - s.t) * most_bend / std::fmax(way, 1e-300));
    const double left = std::fabs(interval_end(s) - s.t);
    for (const double h : {length, 0.1 * length}) {
        if (h <= std::fabs(end - s.t) || 2 * h > left) continue;
        s.t_new = s.t + s.direction * h;
        if (solves_junction_end(s, m, tolerance, off)) return true;
    }
    s.t_new = end;
    return solves_junction_end(s, m, tolerance, off);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
