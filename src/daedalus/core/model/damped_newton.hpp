// How far to follow a correction of Newton's method: it is halved until the next one would be shorter.
//
//   |A^-1 F(w + part d)| <= (1 - part / 4) |d|,   d = -A^-1 F(w),   part = 1, 1/2, 1/4, ...
//
// The natural monotonicity test with the factor at hand (P. Deuflhard, Newton Methods for Nonlinear Problems, 2004,
// section 3.3, with the factor 1/4 of its codes). What a correction is, how it is measured and where it is kept belongs to the equations.
#pragma once

#include <concepts>
#include <limits>

#include "machine/platform.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// How much shorter the next correction has to be, in parts of this one.
inline constexpr double shortening = 0.25;
// How often a correction is halved. In a step whose length is free a shorter step is the better answer from there on; where
// there is none (a start, a restart, steps of fixed length) twelve halvings tell a long way from no way.
inline constexpr int halvings_of_step = 6, most_halvings = 12;

// What following a correction d asks of equations at w:
//   1. `move_to(part)` puts the unknowns to w + part d, wherever the last call has left them.
//   2. `size_behind()` is the size of the next correction, from there and with the same factor; infinity where the
//      equations have no value.
//   3. `is_small(size, next, part)`: corrections of these sizes are rounding errors, and no test can be asked of them.
//   4. `is_stopped()`: whoever asked no longer wants an answer.
template <class E>
concept DampedEquations = requires(E& equations, double number) {
    { equations.move_to(number) } noexcept;
    { equations.size_behind() } noexcept -> std::same_as<double>;
    { equations.is_small(number, number, number) } noexcept -> std::same_as<bool>;
    { equations.is_stopped() } noexcept -> std::same_as<bool>;
};

// Where a correction was followed to, and the size of the next one there.
struct Followed {
    bool is_shorter = false;
    double part = 1, next = std::numeric_limits<double>::infinity();
};

// Whether the next correction, behind this part of one, is shorter by enough.
inline bool is_shorter(double next, double size, double part) noexcept { return next <= (1 - shortening * part) * size; }

// From `part` of a correction of this size on; where none helps the unknowns are at w again.
template <DampedEquations E>
inline Followed follow_correction(E& equations, double size, double part, int halvings) noexcept {
    Followed found{false, part};
    for (int halving = 0; halving <= halvings && !equations.is_stopped(); ++halving, found.part *= 0.5) {
        equations.move_to(found.part);
        found.next = equations.size_behind();
        found.is_shorter =
            is_shorter(found.next, size, found.part) || equations.is_small(size, found.next, found.part);
        if (found.is_shorter) return found;
    }
    equations.move_to(0);
    return found;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
