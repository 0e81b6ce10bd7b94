// Newton's method where a kept Jacobian leads nowhere: a new one for every correction, followed as far as it helps.
//
// Over a kink the Jacobian at the beginning of a step belongs to the other side, however short the step. Whole corrections
// pass a kink where damped ones end at it (piecewise linear equations: M. Kojima, S. Shindo, J. Oper. Res. Soc. Japan 29,
// 1986), so they are tried first there. Smooth equations do not get them: a correction that has to be damped leads
// anywhere, such as over a place where the motion ends. Junctions get them: their laws are monotone.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "methods/implicit/implicit_state.hpp"
#include "model/damped_newton.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// After so many failures in a row Newton's method takes more care: how many corrections whole, how many in part.
inline constexpr int many_failures = 3, most_whole = 8, most_careful = 12;

// On the way to a kink Newton's method fails again and again, with short steps between that end before it: a failure
// counts twice, a step takes one off, and from here on there is more care.
inline constexpr int strained = 5, most_strain = 8;

inline void note_failure_of_newton(ImplicitState& m) noexcept { m.strain = std::min(m.strain + 2, most_strain); }
inline void note_step(ImplicitState& m, double h) noexcept {
    m.strain -= m.strain > 0;
    m.longest_step = std::fmax(m.longest_step, std::fabs(h));
}

// Whether to take more care, after so many failures in a row.
inline bool takes_care(const Integration& s, const ImplicitState& m, int failures) noexcept {
    return failures >= many_failures || (s.kinked && m.strain >= strained);
}

// What this asks of the equations of a step beside what following a correction does:
//   1. `begin()` puts the unknowns to their start values.
//   2. `factor()` makes the Jacobian and its factor at the end of the step, as far as that is known.
//   3. `correction()` computes a correction there and is its size; infinity where the equations have no value.
//   4. `keep()` makes that the correction that is followed.
//   5. `add_next()` adds the correction that the last test computed, whole.
//   6. `tolerance()` is how large a correction may be that is left.
//   7. `is_noise(first, size)`: corrections of this size, the first having had that one, are rounding errors that shrink
//      no more; `explains(size)`: a closer look at them says so.
template <class E>
concept CarefulEquations = DampedEquations<E> && requires(E& equations, double number) {
    { equations.begin() } noexcept;
    { equations.factor() } noexcept -> std::same_as<bool>;
    { equations.correction() } noexcept -> std::same_as<double>;
    { equations.keep() } noexcept;
    { equations.add_next() } noexcept;
    { equations.tolerance() } noexcept -> std::same_as<double>;
    { equations.is_noise(number, number) } noexcept -> std::same_as<bool>;
    { equations.explains(number) } noexcept -> std::same_as<bool>;
};

template <CarefulEquations E>
inline bool solve_by_whole(E& equations) noexcept {
    double first = 0;
    equations.begin();
    for (int round = 0; round < most_whole && !equations.is_stopped(); ++round) {
        if (!equations.factor()) return false;
        const double size = equations.correction();
        if (!std::isfinite(size)) return false;
        if (round == 0) first = size;
        equations.keep();
        equations.move_to(1);
        if (size <= equations.tolerance() || (round > 0 && equations.is_noise(first, size))) return true;
    }
    return false;
}

// `rate` is that of the last two corrections, 1 where only rounding errors are left of them.
template <CarefulEquations E>
inline NewtonOutcome solve_in_part(E& equations, double& rate) noexcept {
    const double tolerance = equations.tolerance();
    equations.begin();
    for (int round = 0; round < most_careful; ++round) {
        if (!equations.factor()) return NewtonOutcome::singular;
        const double size = equations.correction();
        if (!std::isfinite(size)) return NewtonOutcome::not_finite;
        equations.keep();
        const Followed found = follow_correction(equations, size, 1, halvings_of_step);
        if (equations.is_stopped()) return NewtonOutcome::diverged;
        if (!found.is_shorter) {
            rate = 1;
            const bool noise = equations.is_noise(size, size) || equations.explains(size);
            return noise ? NewtonOutcome::converged : NewtonOutcome::diverged;
        }
        rate = found.next / std::fmax(size, std::numeric_limits<double>::min());
        if (found.part < 1 || !(rate < 0.5 || found.next <= tolerance)) continue;
        equations.add_next();
        if (found.next * rate <= tolerance) return NewtonOutcome::converged;
    }
    return NewtonOutcome::diverged;
}

template <CarefulEquations E>
inline NewtonOutcome solve_with_care(const Integration& s, E& equations, double& rate) noexcept {
    rate = 0;
    if ((s.kinked || s.junctions) && solve_by_whole(equations)) return NewtonOutcome::converged;
    return solve_in_part(equations, rate);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
