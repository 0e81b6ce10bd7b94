// What an implicit method has to supply: the contract, as rules and as concepts that the compiler checks.
//
// Any implicit method, for 0 = F(t, x', x, z) with w = (x, z) and rows (x, z, x'):
//
//   1. `prepare(s)` is called once, when tolerances and steps are known.
//   2. `first_step(s)` is the length of the first step, positive: first_step_length() of first_step.hpp.
//   3. `attempt(s)` tries the step from s.t to s.t_new and leaves s.x as it is. It gives Status::going and sets s.accepted:
//      with the row at the end in s.x_new and the next length, with its sign, in s.h; or, where the step was refused, with
//      a shorter length in s.h. Any other status ends the run, with s.culprit naming an unknown.
//   4. `take(s)` takes the step to s.t_new whatever its error, at fixed step and where an event cuts a step short, and sets
//      s.taken; where it could not s.x_new is finite or not a number, never stale memory.
//   5. `dense(s)` writes the polynomial of the last step, of `degree(s)` at most, into s.coefficients: coefficient k belongs
//      to ((t - s.t) / h)^k; x' in it is the derivative of x. Where `dense_on_demand` is declared, it is asked for only
//      where somebody looks. `look_between(s)`, where declared, writes it mended between its ends, and is its error there.
//   6. A state's `restarted` says that nothing of the past holds: the method forgets it and puts the flag back.
//   7. `renew_begin(s)`, where declared, is called with every accepted step: it corrects z at the beginning of one behind a
//      jump in a model of higher index.
//   8. `order_of_step(s)`, where declared, is the order of the step just taken: of methods that change it. `degree_of_step(s)`
//      is then the degree of its polynomial, and `derived_columns(s)` the number of x' at the end of a row whose polynomials
//      are those of x, differentiated to the last bit: p c_p / h.
//   9. Nothing is allocated and nothing thrown after the state is made; s.abort_called ends everything soon.
//
// A method of stage increments Z_i = W_i - w, whose tableau A is invertible and whose last stage is the end of the step,
// derives from IncrementStep<M, State> and has 1 to 9 but for `prepare`, `dense` and `degree`. It supplies
//
//  10. a State derived from IncrementState, whose StageCoefficients give the stage equations; `prepare(s)` sets rtol,
//      atol_factor and most_iterations of it, then calls set_newton_tolerance(s, m).
//  11. `factor(m, h)`: the factors of its matrices for a step h with the Jacobian at hand; sets factored and factored_step.
//  12. `correct(s, m)`: turns the residuals of all stages in `change` into corrections, with these factors.
//  13. `raw_estimate(s, m, h, again)`: the residual that the estimate is the response to, in `error`; `again` with the
//      estimate at hand in `error`, which is filtered once more. False where it has no value. Of order `estimate_order(m)`
//      in h.
//  14. `filter(s, m, b)`: the response of the equations to a raw estimate b, in place; `solve_one(s, m, b)`: one solve with
//      (a dF/dx' + dF/dw), a about 1/h, in place.
//  15. `write_middle(s, m, h)`: its polynomial in the middle of the step, the state in `stage` and x' in `rate`.
//  16. `solve_slow(s, m, c, b)`: b = dF/dx' c becomes (a dF/dx' + dF/dw)^-1 a b; `slopes_agree(s, m)`: whether the polynomial
//      is right between the ends as far as slopes tell; `note_estimate(m)`: the filtered estimate is in `error`.
//  17. `share_of_last_stage(m)`: how much more the last stage counts in z of index 2 at the end than in the estimate.
//
// Newton's method and its care over kinks, what rounding leaves, the length of steps, the look inside a step, the last step
// at index 2 and the naming of culprits are written once for all of them.
#pragma once

#include <concepts>

#include "methods/implicit/increment_step.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Rules 1 to 5; rules 6 to 9 are no matter of types.
template <class M>
concept ImplicitMethod = !M::is_explicit && requires(Integration& s) {
    { M::prepare(s) } noexcept;
    { M::first_step(s) } noexcept -> std::same_as<double>;
    { M::attempt(s) } noexcept -> std::same_as<Status>;
    { M::take(s) } noexcept;
    { M::dense(s) } noexcept;
    { M::degree(s) } -> std::same_as<int>;
};

// Rules 10 to 17.
template <class M, class State>
concept IncrementMethod = ImplicitMethod<M> && std::derived_from<M, IncrementStep<M, State>> &&
                          std::derived_from<State, IncrementState> &&
                          requires(Integration& s, State& m, double h, double* b) {
                              { M::factor(m, h) } noexcept -> std::same_as<bool>;
                              { M::correct(s, m) } noexcept;
                              { M::raw_estimate(s, m, h, true) } noexcept -> std::same_as<bool>;
                              { M::estimate_order(m) } -> std::same_as<int>;
                              { M::filter(s, m, b) } noexcept;
                              { M::solve_one(s, m, b) } noexcept;
                              { M::solve_slow(s, m, b, b) } noexcept;
                              { M::slopes_agree(s, m) } noexcept -> std::same_as<bool>;
                              { M::note_estimate(m) } noexcept;
                              { M::write_middle(s, m, h) } noexcept;
                              { M::share_of_last_stage(m) } noexcept -> std::same_as<double>;
                          };

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
