// Whether the orders above 2 are worth having: near the imaginary axis they are not stable, and steps stay short.
//
// Undamped oscillations that matter to nobody (an elastic beam, waves on a grid) grow with orders 3 to 5 as soon as a
// step is long enough, up to the tolerance, and the step is shortened again: it stays near the limit of stability for
// ever, whatever the tolerance (A. C. Hindmarsh, Detecting stability barriers in BDF solvers, in: J. R. Cash, I.
// Gladwell (eds), Computational Ordinary Differential Equations, 1992). Orders 1 and 2 are A-stable and damp them.
// Differences that turn from step to step raise the suspicion; then order 2 is tried for some steps, and kept where it
// gets on faster. The other way is tried now and then as well, after longer and longer times.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace daedalus {

inline namespace DAEDALUS_ISA {

inline constexpr int stable_order = 2;

class BdfStability {
public:
    // After every attempt: its order and length, where it has led to (unmoved by a failure), and the cosine of the
    // angle between the last two differences of that order. True where the largest order has to change to largest().
    bool count(int order, double h, double t, double turned) noexcept {
        ++attempts_;
        shortest_ = std::fmin(shortest_, std::fabs(h)), longest_ = std::fmax(longest_, std::fabs(h));
        if (order > stable_order) turning_ += 0.02 * (turned - turning_), ++high_;
        // The higher orders would only stir up again what has died away.
        if (phase_ == Phase::back && std::fabs(h) < 0.7 * pace_before_) return close(0, t);
        if (attempts_ == ignored()) settled_ = t;
        if (attempts_ < length()) return false;
        const double pace = std::fabs(t - settled_) / static_cast<double>(attempts_ - ignored());
        return close(pace, t);
    }
    int largest(int wanted) const noexcept {
        return phase_ == Phase::all || phase_ == Phase::back ? wanted : std::min(wanted, stable_order);
    }

    // The past holds no longer.
    void restart(double t) noexcept {
        if (phase_ == Phase::trial) phase_ = Phase::all;
        if (phase_ == Phase::back) phase_ = Phase::limited;
        begin(t);
        pace_before_ = 0;
    }

private:
    // all: every order may be used; trial: order 2 at most, to see; limited: that was better; back: all, to see.
    enum class Phase { all, trial, limited, back };
    static constexpr long long trial_length = 200, back_length = 200;
    static constexpr double turns = 0.85;  // the cosine where a period has eleven steps

    long long length() const noexcept {
        if (phase_ == Phase::trial) return trial_length;
        if (phase_ == Phase::back) return back_length;
        return phase_ == Phase::all ? wait_ : stay_;
    }
    // The first half of a phase is on its way to a step of its own.
    long long ignored() const noexcept { return length() / 2; }
    void begin(double t) noexcept {
        attempts_ = high_ = 0, begun_ = settled_ = t;
        shortest_ = std::numeric_limits<double>::infinity(), longest_ = 0;
    }

    bool close(double pace, double t) noexcept {
        const Phase before = phase_;
        if (phase_ == Phase::all) {
            const bool steady = longest_ < 5 * shortest_ && pace < 1.5 * pace_before_ && pace_before_ < 1.5 * pace;
            const bool stuck = steady && turning_ < turns && 10 * high_ > 9 * attempts_;
            if (stuck) phase_ = Phase::trial;
        } else if (phase_ == Phase::trial) {
            // Oscillations may take long to die away: as long as steps grow the trial goes on.
            const double first = std::fabs(settled_ - begun_) / static_cast<double>(ignored());
            if (pace > 2 * pace_before_) phase_ = Phase::limited, wait_ = first_wait;
            else if (pace < 1.25 * first) phase_ = Phase::all, wait_ *= 2;
        } else if (phase_ == Phase::limited) {
            phase_ = Phase::back;
        } else {
            phase_ = pace > pace_before_ ? Phase::all : Phase::limited;
            stay_ = phase_ == Phase::all ? first_stay : 2 * stay_;
        }
        if (phase_ != before || phase_ == Phase::all) turning_ = 1;
        if (before == Phase::all || before == Phase::limited) pace_before_ = pace;
        begin(t);
        return phase_ != before;
    }

    static constexpr long long first_wait = 200, first_stay = 600;
    Phase phase_ = Phase::all;
    long long attempts_ = 0, high_ = 0, wait_ = first_wait, stay_ = first_stay;
    double shortest_ = std::numeric_limits<double>::infinity(), longest_ = 0;
    double begun_ = 0, settled_ = 0, pace_before_ = 0, turning_ = 1;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
