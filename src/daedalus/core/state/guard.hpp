// A guard along a run as a state machine, and what a run keeps of all its guards.
//
//            sees a value    sees zero    rests
//   armed      armed           resting      resting
//   resting    armed           resting      resting
//   waking     armed           waking       waking
//
// A guard that rests is waking from the moment it meets a reset, which may send it back. Judged, it goes on or is sent back;
// then it wakes until it has left zero, or until something else moves.
// What time alone decides is scheduled and stays so.
#pragma once

#include <cmath>
#include <limits>

#include "model/function.hpp"

namespace daedalus {

// A zero of a guard that was located in a step.
struct Root {
    long long guard = 0;
    double theta = 0;
    bool rising = false;
    bool acts = false, moving = false;  // interrupts the step; the slopes of x tell where its guard is going
    bool contrary = false;  // a switch or contact that rested on zero leaves it to the side where it must not be
};

// One guard along a run. It changes its state by `on` and nowhere else.
class Guard {
public:
    enum class State {
        armed,      // its sign is known: a change of it fires
        resting,    // it stands on zero, to rounding, and has no sign until it is above its floor
        waking,     // the same behind a reset that may have sent it back
        scheduled,  // time alone decides it: its zeros are on the agenda
    };
    enum class Happening {
        sees,          // a value whose sign is trusted; at zero it rests, above the floor that it has
        rests,         // on zero; the value is its floor
        rests_inside,  // the same within a step, which begins with its reference
        foresees,      // the value that it has at the end of the step
        passes_step,   // the step stands: it sees what it foresaw
        meets,         // its reset, at this rate
        returns,       // its reset has sent it back, or stopped it
        goes_on,       // the rate that it met its reset at counts no longer: it has left zero, or another event acted
        is_timed,
    };

    State state() const noexcept { return state_; }
    // The last value with a trusted sign, at the beginning of a step; 0 while it rests.
    double reference() const noexcept { return reference_; }
    // The reference behind this step, should it stand.
    double ahead() const noexcept { return ahead_; }
    // Above this value it wakes.
    double floor() const noexcept { return floor_; }
    // Rate with which it met its reset; 0 once that counts no longer.
    double heading() const noexcept { return heading_; }
    // Its reset is known to have sent it back or stopped it, and it has not left zero since.
    bool has_returned() const noexcept { return returned_; }
    bool has_sign() const noexcept { return reference_ != 0; }
    bool is_above_floor(double value) const noexcept { return std::fabs(value) > floor_; }
    // Whether its value at the end of a step has another sign than at the last one, while it rests and neither is trusted.
    bool turns_while_resting(double value) noexcept {
        const bool turns = value * resting_ <= 0 && value != resting_;
        resting_ = value;
        return turns;
    }
    bool rests_at(double value) const noexcept { return !has_sign() && std::fabs(value) <= floor_; }

    void on(Happening what, double value = 0) noexcept {
        switch (what) {
            case Happening::foresees: ahead_ = value; return;
            case Happening::passes_step: value = ahead_; [[fallthrough]];
            case Happening::sees:
                if (value != 0 && returned_) heading_ = 0, returned_ = false;
                reference_ = value, floor_ = value == 0 ? floor_ : 0, resting_ = value == 0 ? resting_ : 0;
                break;
            case Happening::rests: reference_ = 0, floor_ = value; break;
            case Happening::rests_inside: floor_ = value; return;
            case Happening::meets: heading_ = value, returned_ = false; break;
            case Happening::returns: returned_ = true; return;
            case Happening::goes_on: heading_ = 0, returned_ = false; break;
            case Happening::is_timed: state_ = State::scheduled; return;
        }
        if (state_ == State::scheduled) return;
        state_ = has_sign() ? State::armed : heading_ != 0 ? State::waking : State::resting;
    }

    // What it is, which no run changes.
    enum class Side { none, holds, fails };  // of a condition: whether it holds at zero
    enum class Surface { none, of_states, of_unknowns };  // that a switch may slide along: of x, t and u alone, or of z too
    long long direction = 0;   // -1 falling, +1 rising, 0 both, along the run
    long long action = 0;      // 0 record, 1 cut and reset, 2 the same and stop
    long long occurrence = 1;  // at which action 2 stops
    Side side = Side::none;
    Surface surface = Surface::none;
    bool at_start = false;     // a condition that counts as becoming true where it holds at the start
    bool is_contact = false;

    // How the run begins for it: it fired at this moment in the run before, or it is zero and fires where it moves.
    enum class Begins { elsewhere, fired, at_zero } begins = Begins::elsewhere;

    // Along the run.
    double met = 0;         // of a switch or contact: its floor where it last crossed zero
    double noise = 0;       // below it a guard on delayed signals has no sign; 0 for others
    long long seen = 0;     // how often it has fired
    long long returns = 0;  // of a switch, how often it was led back to zero since it was last away from it
    bool located = false;   // of a switch: the motion has led it to a turn since modes were last recorded

    // At an instant.
    double rate = 0;        // where the step was cut, just before
    bool led = false;       // the motion has led it to zero there, and it has not jumped over it
    double written = 0;     // where it fired: behind its reset, before z and x' were solved for again
    double trusted = 0;     // its sign before a round
    // Before a reset, at values that obey the equations (NaN where the model tells none), and how far they have moved it:
    // the end of a step has errors in z, which a reset takes back.
    double renewed = std::numeric_limits<double>::quiet_NaN(), renewal = 0;
    // Whether a reset that leaves it at this value has moved it by less than such an error.
    bool is_left_at(double value) const noexcept { return std::fabs(value - renewed) <= std::fabs(renewal); }

private:
    State state_ = State::resting;
    bool returned_ = false;
    double reference_ = 0, ahead_ = 0, floor_ = 0, heading_ = 0, resting_ = 0;
};

// What is located in one step.
struct Roots {
    Root* each = nullptr;  // in order of time
    long long count = 0, capacity = 0;
    long long early = 0;    // so many of them belong inside the step, the others happen together at its end
    bool overflow = false;  // more happens in a step than can be told from it
    long long fallen = -1;  // a guard that its reset sent back and that is found behind zero, and where
    double fallen_theta = 0;

    Root& operator[](long long place) const noexcept { return each[place]; }

    void add(Root root) noexcept {
        if (count == capacity) {
            overflow = true;
            return;
        }
        long long place = count++;
        for (; place > 0 && each[place - 1].theta > root.theta; --place) each[place] = each[place - 1];
        each[place] = root;
    }
};

// What the model is asked about guards, and about what follows where they fire.
struct GuardCalls {
    Call values, resets, restart, contacts;
    bool has_resets = false;
    // What lies behind a reset is asked of the model: (t, row before, u, p, event, held before) -> row, and the row before
    // as it obeys the equations.
    bool has_restart = false;
    double event = 0;
    double* renewed = nullptr;  // that row
    bool has_contacts = false;  // modes and impulses of contacts are asked of the model
    double *given = nullptr, *settled = nullptr;  // the last argument of it, and its answer
    // Functions of x' and z too, which a linear model solves for first.
    bool values_after_solve = false, resets_after_solve = false;
    double* slope = nullptr;  // x' where guards or resets need a solve
};

// What is assigned at an instant, round by round. A row of it: n states, then the discrete variables, which lie before the
// modes in p.
struct Assigned {
    long long width = 0, discretes = 0;
    double* reset_rows = nullptr;            // (events and clocks, width)
    const unsigned char* writes = nullptr;   // (events and clocks, width); without it all that changes
    const unsigned char* is_read = nullptr;  // which discrete variables equations or guards read
    double* held = nullptr;                  // discrete variables, then modes
    double* new_values = nullptr;            // (width) of one round
    double* row_before = nullptr;            // (width) before the round
    long long* writer = nullptr;             // (width) who has assigned in this round, -1 nobody
};

// The last guards are switches of the equations: each has a mode among the parameters, 1 above zero and 0 elsewhere.
struct Switches {
    long long count = 0;
    double* modes = nullptr;
    long long turns = 0, last_turned = -1;  // located switches, and which was the last
    // When combinations of modes were last tried, since no step led away.
    double trial_time = std::numeric_limits<double>::quiet_NaN();
};

// The pace of cutting events, to tell chattering.
struct Pace {
    double last_time = std::numeric_limits<double>::quiet_NaN();
    double last_interval = std::numeric_limits<double>::infinity();
    long long shrinking = 0, crowded = 0;
    // The same between resets, whatever turns in the flights between them.
    double last_reset = std::numeric_limits<double>::quiet_NaN();
    double last_flight = std::numeric_limits<double>::infinity();
    long long shorter = 0;
};

// The guards of a run.
struct Guards {
    long long count = 0;
    Guard* each = nullptr;
    GuardCalls calls;
    Roots roots;
    Assigned assigned;
    Switches switches;
    Pace pace;

    // Values of all of them.
    double* now = nullptr;      // one evaluation
    double* before = nullptr;   // just before a reset
    double* samples = nullptr;  // (samples in a step, count)
    double* shifted = nullptr;  // (2, count) where a delayed signal is moved by its rounding error, to learn their noise
    double noise_begin = std::numeric_limits<double>::quiet_NaN();  // the step it was learned for, and its end
    double noise_end = std::numeric_limits<double>::quiet_NaN();

    bool any_sides = false;       // of conditions
    bool from_start = false;      // a guard that is zero at the start and moves fires
    bool headings_judged = true;

    long long first_switch() const noexcept { return count - switches.count; }
};

}  // namespace daedalus
