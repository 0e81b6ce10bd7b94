// How well the polynomial of a step meets the equations inside the step.
//
// Stages meet equations without a derivative exactly, whatever lies between them, and an estimate that compares two formulas
// at the end does not see how much a long step leaves out there (compare G. Steinebach, Rosenbrock methods within
// OrdinaryDiffEq.jl, 2024). A step of Newton's method in the middle, from the polynomial that the dense output has, tells how
// far z is off. Equations without time have nothing to leave out, and are looked into for the sake of guards only. Where
// values between the steps may be asked for, more is looked at: look_between.hpp.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>

#include "methods/implicit/implicit_state.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Inside a step the dense output may be off by this many tolerances: over the stiff problems of the catalogue such steps are
// what their ends ask for anyway. A step much shorter than the last one, by this factor, is held up by a kink, and leaves
// nothing out; and what is left at the end of a step as well, up to this factor, is rounding.
inline constexpr double most_inside = 10, shortest_looked_into = 0.01, above_rounding = 10;

// What a look inside asks of a step:
//   1. `write_middle()` puts the polynomial's state in the middle and its x' where `correct_middle` finds them.
//   2. `correct_middle(off)` and `correct_end(off)` make a step of Newton's method from there, and from the end of the step,
//      with the factor at hand; false where the equations have no value.
template <class L>
concept LookedInto = requires(L& step, double* off) {
    { step.write_middle() } noexcept;
    { step.correct_middle(off) } noexcept -> std::same_as<bool>;
    { step.correct_end(off) } noexcept -> std::same_as<bool>;
};

// Whether a step of this length is worth a look.
inline bool worth_a_look(const Integration& s, const ImplicitState& m, double h, double usual) noexcept {
    if (m.model.higher_index || (m.model.autonomous && s.guards.count == 0)) return false;
    return std::fabs(h) >= shortest_looked_into * usual;
}

// The error in the middle, in units of what is allowed there; 0 where it is as large at the end, by rounding, and where the
// equations have no value there. What is beyond 1 is left in `error`.
template <LookedInto L>
inline double error_inside_of(ImplicitState& m, L&& step, double* off, double* error) noexcept {
    step.write_middle();
    const double inside = step.correct_middle(off) ? weighted_norm(m, off) / most_inside : 0;
    if (!(inside > 1)) return inside;
    if (!std::isfinite(inside)) return 0;
    copy(off, m.unknowns, error);
    if (!step.correct_end(off) || inside < above_rounding * weighted_norm(m, off) / most_inside) return 0;
    return inside;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
