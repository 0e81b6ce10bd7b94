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
#include <limits>

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

// Weights let unknowns of index 2 be anything in steps of femtoseconds, as errors of currents divided by so short a time
// allow. Volts that no junction has are met there: 10^12 of a drive fit every law "within the tolerance", and the current
// that belongs to them fills a capacitor. However short the step, what Newton's method leaves of such unknowns is at most
// this part of their sizes.
inline constexpr double most_left_of_laws = 0.1;

// Whether a correction at w moves the unknowns of index 2 by more than that.
inline bool leads_elsewhere(const ImplicitState& m, const double* correction, const double* w) noexcept {
    double moves = 0, sizes = 0;
    for (long long i = 0; i < m.unknowns; ++i) {
        if (m.model.index[static_cast<std::size_t>(i)] < 2) continue;
        moves += std::fabs(correction[i]), sizes += std::fabs(w[i]);
    }
    return moves > most_left_of_laws * sizes;
}

// Whether a step of length h is short enough for that.
inline bool may_lead_elsewhere(const Integration& s, const ImplicitState& m, double h) noexcept {
    return s.junctions && m.model.higher_index && std::fabs(h) <= longest_of_junction * m.longest_step;
}

// Whether the end of such a step, in x_new, is far from where the laws hold; `off` is room for unknowns. Changes the
// Jacobian and the factor of `solver`.
inline bool ends_elsewhere(Integration& s, ImplicitState& m, double* off) noexcept {
    const double h = s.t_new - s.t, *rate = s.x_new + m.unknowns;
    scale_by_index(m, std::fabs(h));
    if (!jacobian_at(s, m, s.t_new, rate, s.x_new) || !factor_matrix(m, m.solver, 1 / h)) return false;
    if (!residual_at(s, m, s.t_new, rate, s.x_new, off)) return false;
    solve_step_matrix(s, m, m.solver, 1 / h, off);
    return leads_elsewhere(m, off, s.x_new);
}

// One step of implicit Euler of length h to a time, from the row in x_new and into it; `off` is room for unknowns.
inline bool solves_euler(Integration& s, ImplicitState& m, double time, double h, double tolerance, double* off) noexcept {
    double *w = s.x_new, *rate = s.x_new + m.unknowns;
    std::fill(rate, rate + m.states, 0.0);
    scale_by_index(m, std::fabs(h));
    for (int round = 0; round < most_corrections_of_junction && !s.abort_called; ++round) {
        if (!jacobian_at(s, m, time, rate, w) || !factor_matrix(m, m.solver, 1 / h)) return false;
        ++m.newton;
        if (!residual_at(s, m, time, rate, w, off)) return false;
        solve_step_matrix(s, m, m.solver, 1 / h, off);
        const double size = weighted_norm(m, off);
        if (!std::isfinite(size)) return false;
        for (long long i = 0; i < m.unknowns; ++i) w[i] -= off[i];
        // The difference of two states, divided by so short a step, would be rounding errors.
        for (long long i = 0; i < m.states; ++i) rate[i] -= off[i] / h;
        if (size <= tolerance && !leads_elsewhere(m, off, w)) return true;
    }
    return false;
}

// The row at t_new in x_new; `off` is room for unknowns.
inline bool solves_junction_end(Integration& s, ImplicitState& m, double tolerance, double* off) noexcept {
    const double h = s.t_new - s.t;
    copy(s.x, m.unknowns, s.x_new);
    return solves_euler(s, m, s.t_new, h, tolerance, off) && off_line(s, m, s.x_new, h) <= most_bend;
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

// A layer that the spacing of time does not resolve: behind a switch that closes, the 10 pF of a diode are charged through
// 10 mOhm within 1e-13 s, and 8 ms after the start two times are 2e-18 s apart. States move there, to where they rest.
//
// Some steps of implicit Euler lead over it, since they damp what is much faster than they are. They count where steps half
// as long end at the same row, within the tolerance: then nothing depends on what happened inside. Lengths grow from the
// spacing of time on.
inline constexpr int steps_of_layer = 6;
inline constexpr double first_layer = 256, growth_of_layer = 4;  // spacings of time, from length to length
inline constexpr double most_apart = 0.5;                        // of both rows, in units of the tolerance

inline bool settles(Integration& s, ImplicitState& m, double length, int parts, double tolerance, double* off) noexcept {
    copy(s.x, m.unknowns, s.x_new);
    for (int k = 1; k <= parts; ++k)
        if (!solves_euler(s, m, s.t + k * (length / parts), length / parts, tolerance, off)) return false;
    return true;
}

// Where one layer passes into the next without a rest between them, as the charge of a diode decays by its own current, steps
// follow the states themselves, in a time of their own that begins at zero: Euler's by h and two by h / 2, and the straight line
// through both at h = 0. They end where time itself resolves steps as long.
inline constexpr double resolved_again = 1024;  // spacings of time
inline constexpr long long most_steps_in_layer = 100'000;
inline constexpr double least_cut = 0.2, most_growth_in_layer = 4, share_of_cut = 0.9;

// How far the states of x_new are from those of another row, in units of the tolerance.
inline double states_apart(const Integration& s, const ImplicitState& m, const double* other) noexcept {
    double apart = 0;
    for (long long i = 0; i < m.states; ++i) {
        if (!m.model.has_derivative[static_cast<std::size_t>(i)]) continue;
        const double unit = std::fmax(1 / m.weights[i], s.rtol * std::fabs(s.x_new[i]));
        const double off = std::fabs(s.x_new[i] - other[i]) / unit;
        if (!(off <= apart)) apart = off;
    }
    return apart;
}

// The row behind a layer in x_new, and how long it took; zero where there is none.
inline double marches_through_layer(Integration& s, ImplicitState& m, double longest, double tolerance, double* off) noexcept {
    double passed = 0, h = spacing(s.t);
    copy(s.x, m.unknowns, m.layer_begin);
    for (long long k = 0; k < most_steps_in_layer && passed < longest && !s.abort_called; ++k) {
        const double step = s.direction * h;
        copy(m.layer_begin, m.unknowns, s.x_new);
        bool solved = solves_euler(s, m, s.t, step, tolerance, off);
        copy(s.x_new, m.unknowns, m.spare_row);
        copy(m.layer_begin, m.unknowns, s.x_new);
        for (int half = 0; half < 2; ++half) solved = solved && solves_euler(s, m, s.t, 0.5 * step, tolerance, off);
        const double apart = solved ? states_apart(s, m, m.spare_row) : std::numeric_limits<double>::infinity();
        if (!(apart <= 1)) {
            h *= std::isfinite(apart) ? std::fmax(least_cut, share_of_cut / std::sqrt(apart)) : least_cut;
            if (passed + h == passed) return 0;
            continue;
        }
        copy(s.x_new, m.unknowns, m.layer_begin);
        for (long long i = 0; i < m.states; ++i)
            if (m.model.has_derivative[static_cast<std::size_t>(i)]) m.layer_begin[i] += s.x_new[i] - m.spare_row[i];
        passed += h;
        // The last row has no part of a straight line in it, so that it obeys all equations.
        if (h >= resolved_again * spacing(s.t)) return passed;
        h *= std::fmin(most_growth_in_layer, share_of_cut / std::sqrt(std::fmax(apart, 1e-6)));
    }
    return 0;
}

// Such steps where a method's own would be shorter than time resolves. Sets t_new; changes the factor of `solver`.
inline bool solves_layer(Integration& s, ImplicitState& m, double tolerance, double* off) noexcept {
    if (!s.junctions) return false;
    const double end = s.t_new, longest = std::fmin(longest_of_junction * m.longest_step, 0.5 * std::fabs(interval_end(s) - s.t));
    for (double h = first_layer * spacing(s.t); h <= longest && !s.abort_called; h *= growth_of_layer) {
        const double length = s.direction * h;
        if (!settles(s, m, length, steps_of_layer, tolerance, off)) continue;
        copy(s.x_new, m.unknowns, m.spare_row);
        if (!settles(s, m, length, 2 * steps_of_layer, tolerance, off)) continue;
        double apart = 0;
        for (long long i = 0; i < m.unknowns; ++i) {
            // A voltage that was near zero is told by the tolerance of what it has become.
            const double unit = std::fmax(1 / m.weights[i], s.rtol * std::fabs(s.x_new[i]));
            apart = std::fmax(apart, std::fabs(s.x_new[i] - m.spare_row[i]) / unit);
        }
        // Where states stay it is no layer: unknowns that jump alone have come to the end of a solution.
        if (!(apart <= most_apart) || off_line(s, m, s.x_new, 0) <= most_bend) continue;
        s.t_new = s.t + length;
        return true;
    }
    double passed = marches_through_layer(s, m, longest, tolerance, off);
    if (off_line(s, m, s.x_new, 0) <= most_bend) passed = 0;
    s.t_new = passed > 0 ? s.t + s.direction * std::fmax(passed, spacing(s.t)) : end;
    return passed > 0;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
