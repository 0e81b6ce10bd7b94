// What a run does at its start, behind its steps and at its end, alike for every method: compiled once, in
// between_steps_kernels.cpp, it asks the method through s.method.
#pragma once

#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// The first row, the first segments of inputs and the first modes; the slope is not known yet.
Status enter_run(Integration& s) noexcept;

// What happens at the start.
Status happen_first(Integration& s) noexcept;

// Looks for events in the accepted step and cuts it at the first that interrupts it. False where the step does not stand:
// the run ends with the status, or goes on with a shorter step.
bool look_for_events(Integration& s, bool& cut, Status& status) noexcept;

// Keeps what the delayed signals were in the step that is about to end.
void keep_signals(Integration& s) noexcept;

// What happens where a step has ended: the events that cut it, the next interval behind a stop.
Status happen_behind_step(Integration& s, bool cut) noexcept;

// The first combination of sides of the switches that rest in which a step leads on.
bool choose_modes(Integration& s) noexcept;

// Moves the end of an accepted step onto the constraints; a guard that fired rests where that put it.
Status keep_constraints(Integration& s) noexcept;
Status project_end(Integration& s, bool cut) noexcept;

// Moves the end of an attempted step onto the constraints, so that its slope serves the error test and the next step: the
// estimate changes by a term of higher order. Where that fails, the step is judged as it is.
void keep_end(Integration& s) noexcept;

// Whether the equations of an implicit model still determine all unknowns at the end of a run.
bool is_regular_at_end(Integration& s) noexcept;

// z and x' of a row that follow from t and x; false where none were found.
bool make_consistent(Integration& s, double* row) noexcept;

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
