// How Newton's method ended on the equations of a step.
#pragma once

namespace daedalus {

enum class NewtonOutcome { converged, diverged, not_finite, singular };

}  // namespace daedalus
