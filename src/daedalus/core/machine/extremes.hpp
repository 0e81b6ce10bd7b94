// The lowest and the highest of numbers that come one after the other; what is not a number does not count.
#pragma once

#include <limits>

namespace daedalus {

struct Extremes {
    double lowest = std::numeric_limits<double>::infinity();
    double highest = -std::numeric_limits<double>::infinity();

    void see(double value) noexcept {
        if (value < lowest) lowest = value;
        if (value > highest) highest = value;
    }
};

}  // namespace daedalus
