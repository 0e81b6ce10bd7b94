// What a run by a method of stage increments keeps from one step to the next.
#pragma once

#include "methods/implicit/implicit_state.hpp"
#include "methods/implicit/stage_coefficients.hpp"
#include "methods/implicit/step_charges.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

struct IncrementState : ImplicitState {
    const StageCoefficients& stage_numbers;
    const int stages;
    const long long lanes;  // of a vector of unknowns
    double* z;         // (stages, lanes): increments of the stages
    double* before;    // (stages, lanes): those of the last step, for starting values
    double* change;    // (stages, lanes): Newton's correction, before that residuals
    double* turned;    // (stages, lanes): room for solves, and for what belongs to no step
    double* kept;      // (stages, lanes): the correction that a damped one is part of
    double* stage;     // one state (x, z)
    double* rate;      // one derivative x'
    double* error;     // the estimate
    double* begin;     // the state that the last step began at
    double* largest;   // the largest sizes met at fixed step, which Newton's accuracy refers to
    double* noise;     // what rounding leaves of corrections, times the power of h that errors count by
    double* defect;    // by how much equations without x' are violated at the beginning, where that is kept
    StepCharges charges;

    bool jacobian_known = false, jacobian_fresh = false, factored = false;
    int failures = 0;  // of Newton's method in a row
    int refusals = 0;  // of steps from one time, because of their error
    double kept_part = 0;      // how much of that is kept, 0 for nothing
    double defect_error = 0;  // the error, in units of what is allowed, of a step that keeps nothing of it
    bool defect_known = false, noise_known = false;
    bool estimate_known = false;  // of the present step, as dense output has use for it
    long long noisiest = -1;  // the unknown whose rounding errors are far above its tolerance, where Newton's method fails
    double factored_step = 0;
    double rate_of_newton = 1, contraction = 1;  // theta of the last solve, and theta / (1 - theta)
    int iterations = 0;
    // The last step: whether there is one, whether it is still in z, its beginning and its length.
    bool step_known = false, step_in_z = false;
    double step_time = 0, step_length = 0;
    // Of the last accepted step, for the predictive controller.
    bool first = true, after_failure = false;
    double accepted_step = 0, accepted_error = 1;
    double usual_step = 0;  // the length of the last accepted step, or of the first one tried
    double rtol = 0, atol_factor = 1, newton_tolerance = 0;
    double rounding = 0;  // corrections below this that stop shrinking are rounding errors
    int most_iterations = 7;

    IncrementState(const ImplicitModel& m, const ImplicitCalls& calls, const StageCoefficients& numbers, int count)
        : ImplicitState(m, calls),
          stage_numbers(numbers),
          stages(count),
          lanes(padded(m.unknowns)) {
        for (double** rows : {&z, &before, &change, &turned, &kept}) *rows = memory.carve(count * lanes);
        for (double** row : {&stage, &rate, &error, &begin, &largest, &noise, &defect}) *row = memory.carve(lanes);
        charges.make(memory, m, count);
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
