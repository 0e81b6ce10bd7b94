// A mode of the solution that grows faster than steps resolve it, as a run tells of it.
#pragma once

namespace daedalus {

struct GrowingMode {
    enum class Growth {
        none,
        rest,      // the state stands still on an unstable rest
        followed,  // steps are kept short, so that it is resolved
        passed,    // it was followed until rounding errors would have shown, and is not met
    };

    Growth kind = Growth::none;
    double time = 0;
    double rate = 0, frequency = 0;  // the real and the imaginary part of lambda, 1/s
    long long component = -1;        // the state that it moves most, in units of the tolerance
};

}  // namespace daedalus
