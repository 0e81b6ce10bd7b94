// The limits of events: what is one moment, what is zero, how closely a step is looked at, and where each number comes from.
//
// Numbers that follow from rounding or from each other say how. The others are choices: effort, or a part of a whole that is
// far from both what a tolerance tells and what rounding leaves; none is fitted to a model. Lanes read them from here.
#pragma once

#include "methods/implicit/rounding_noise.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// -- what is nothing ---------------------------------------------------------------------------------------------------

// A part of a whole that is none: a time in the run or in a step (one moment; contacts come to rest before their flights are
// as short), a rate beside the one before, what a guard changes by beside its size. A choice between the tolerances of runs
// (1e-3 to 1e-8) and what rounding leaves of a difference (1e-13).
inline constexpr double negligible = 1e-9;
// Rounding of a guard, in units of its largest value in a stretch.
inline constexpr double touch_level = noise_margin * last_digit;
// Two times, or a value and zero, are told apart at this many of their rounding errors: both have one, and so has what they
// are told by. A guard that was zero is away from it where it is told apart from all that was told apart from zero.
inline constexpr double told_apart = 4, away_from_zero = told_apart * told_apart;
// A switch that leaves zero is located where it is this part of the value it is next looked at with: 4096 last digits of it,
// a sign beyond doubt, in a time that no step sees.
inline constexpr double leaving_level = 1e-12;
// A zero this part of t1 behind the end of a run, by rounding, is at its end: some hundred spacings, what as many steps leave
// in a time that is summed up.
inline constexpr double end_reach = 1e-13;
// An error of z at the end of a step is below this part of what a guard on it changes by in the step: Newton's method ends
// there.
inline constexpr double solved_share = 1e-3;

// -- how closely a step is looked at -------------------------------------------------------------------------------------

// Looks in a step: as many as determine a polynomial of degree five, that of most dense outputs.
inline constexpr int guard_samples = 6;
// Room for the zeros in a step, at least.
inline constexpr long long fewest_roots = 64;
// Where the polynomial through the samples does not foretell a guard in between to this part of their spread, it is faster
// than the steps: each half of the time is looked at, this many times over (2^7 times as closely: effort).
inline constexpr double foretold = 0.05;
inline constexpr int most_splits = 7;
// Where that is looked at, in samples: no period divides all of them.
inline constexpr double foretelling[] = {0.43, 1.37, 3.43, 5.71};
// A resting guard is looked at from where times are told apart, each time this much later, as flights may be very short.
// The shortest is where t is zero and has no spacing.
inline constexpr double wake_ratio = told_apart, shortest_look = 1e-20;
// Looks at a dip that may reach zero between two samples, each by a parabola through those before it, and at a rate, each
// over another length: successive parabolas gain a third more digits each time, so that six reach all of them.
inline constexpr int most_closer_looks = 6;
// Corrections of a located time by redoing the step, since the dense output is less exact than it: each by the secant rule.
inline constexpr int cut_corrections = 4;

// -- over what length a slope is taken -----------------------------------------------------------------------------------

// Just beside a place on a step, in parts of it: the cube of this, which a central difference leaves, is negligible.
inline constexpr double beside_part = 1e-3;
// The rate behind a reset, in parts of the step, and in spacings of t: below 64 of these a difference has no two digits.
inline constexpr double slope_look = 0.1, shortest_chord = 64;
// By how much a look at a rate grows at a time: six of these reach from rounding to a thousandth of the step.
inline constexpr double look_ratio = 32;
// By which part values are moved to see what rounding does to a guard: the root of the last digit.
inline constexpr double probe_share = 1e-8;

// -- chattering -----------------------------------------------------------------------------------------------------------

// Negligible intervals that shrank this often in a row (bouncing that comes to rest), or this many events in a row without
// leaving such an interval (switching to and fro; of switches most_rounds): patience, no physics.
inline constexpr long long most_shrinking = 5, most_crowded = 1000;

// -- restarts -------------------------------------------------------------------------------------------------------------

// Rounds of a Newton method: one that halves its error in each has all digits by then.
inline constexpr int most_corrections = 50;
// Converged where a correction is this small in units of the tolerance, or below the tolerance and shrinks no more:
// rounding errors are left then.
inline constexpr double consistent_enough = 1e-3, rounding_enough = 1;
// A correction with the same factor is taken where it is so much shorter than the one before: a digit each.
inline constexpr double much_shorter = 0.1;
// Last digits of its terms that an equation may leave where corrections do not shrink: constants inside of a law, as the
// 0.7 V of a junction at 1 mV, are not among the terms. It is 1e-12 of them.
inline constexpr double rounded_digits = 4096;
// A restart by steps of no time worth mentioning, in parts of the last step, or of the run where there was none: an error of
// implicit Euler in it is the square of this.
inline constexpr double short_part = 1e-6;

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
