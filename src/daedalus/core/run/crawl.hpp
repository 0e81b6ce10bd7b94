// Sees that a run with error control no longer gets on: steps near the spacing of numbers, one after the other, or steps in
// which nothing moves and of which the rest of the way would take a billion.
#pragma once

#include <cmath>
#include <vector>

#include "methods/implicit/implicit_state.hpp"
#include "state/integration.hpp"

namespace daedalus {

class Crawl {
public:
    explicit Crawl(Integration& s) : t_(s.t), x_(s.x, s.x + states(s)) {}

    // How many steps may be taken until the next look: it comes after so many steps, whatever the clock says.
    long long until_look(long long steps) const noexcept { return least_steps - (steps - steps_); }

    // Whether the steps since the last look were that short, and what is left would take that many of them.
    bool see(Integration& s) noexcept {
        const long long more = s.steps - steps_;
        if (more < least_steps) return false;
        const double mean = std::fabs(s.t - t_) / double(more), end = s.stops[s.stop_count - 1];
        rests_ = mean < wanted * s.max_step;
        for (std::size_t i = 0; i < x_.size(); ++i) {
            const double moved = std::fabs(s.x[i] - x_[i]);
            rests_ &= moved <= s.atol[i] + s.rtol * std::fabs(s.x[i]);
            x_[i] = s.x[i];
        }
        t_ = s.t, steps_ = s.steps;
        return (rests_ || mean < spacings * spacing(s.t)) && std::fabs(end - s.t) > remaining * mean;
    }

    // Whether nothing moved in the steps that `see` saw last.
    bool rests() const noexcept { return rests_; }

private:
    static std::size_t states(Integration& s) {
        return static_cast<std::size_t>(s.implicit ? implicit_of(s).states : s.n);
    }

    // So many steps are no transient. Steps of so many spacings leave some digits to a run that is short on purpose, far
    // from t = 0: it has not that many left.
    static constexpr long long least_steps = 10000;
    static constexpr double spacings = 1e4, remaining = 1e9;
    // Steps that are short because they were asked to be are nearly as long as allowed.
    static constexpr double wanted = 0.5;

    double t_;
    std::vector<double> x_;
    long long steps_ = 0;
    bool rests_ = false;
};

}  // namespace daedalus
