// Sees that a run with error control no longer gets on: steps near the spacing of numbers, one after the other.
#pragma once

#include <cmath>

#include "state/integration.hpp"

namespace daedalus {

class Crawl {
public:
    explicit Crawl(double t) noexcept : t_(t) {}

    // How many steps may be taken until the next look: it comes after so many steps, whatever the clock says.
    long long until_look(long long steps) const noexcept { return least_steps - (steps - steps_); }

    // Whether the steps since the last look were that short, and what is left would take that many of them.
    bool see(double t, long long steps, double end) noexcept {
        const long long more = steps - steps_;
        if (more < least_steps) return false;
        const double mean = std::fabs(t - t_) / double(more);
        t_ = t, steps_ = steps;
        return mean < spacings * spacing(t) && std::fabs(end - t) > remaining * mean;
    }

private:
    // So many steps are no transient. Steps of so many spacings leave some digits to a run that is short on purpose, far
    // from t = 0: it has not that many left.
    static constexpr long long least_steps = 10000;
    static constexpr double spacings = 1e4, remaining = 1e9;

    double t_;
    long long steps_ = 0;
};

}  // namespace daedalus
