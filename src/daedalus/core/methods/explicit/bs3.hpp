// Bs3: the 3(2) pair of Bogacki and Shampine, for crude tolerances; the fourth stage is the next step's first.
//
// Constants from Bogacki, Shampine: A 3(2) pair of Runge-Kutta formulas, Applied Mathematics Letters 2 (1989) 321-325.
#pragma once

namespace daedalus {

struct Bs3 {
    static constexpr int order = 3;
    static constexpr int inner = 3;          // stages of the step itself; row `inner` is the slope at its end
    static constexpr int rows = 4;
    static constexpr int degree = 3;         // cubic Hermite
    static constexpr int control_order = 3;  // the estimate behaves like h^3
    static constexpr double memory = 0.04;   // beta of the PI controller, as for dopri5
    static constexpr double shrink = 0.2, grow = 10.0;
    static constexpr double stability_edge = 1e300;  // no two slopes at the end to tell stiffness from
    static constexpr bool error_needs_end = true;

    static constexpr double c[rows] = {0, 0.5, 0.75, 1};
    // Row `inner` holds the weights b of the step.
    static constexpr double a[rows][inner] = {{0}, {0.5}, {0, 0.75}, {2.0 / 9, 1.0 / 3, 4.0 / 9}};
    static constexpr double error[rows] = {-5.0 / 72, 1.0 / 12, 1.0 / 9, -1.0 / 8};
};

}  // namespace daedalus
