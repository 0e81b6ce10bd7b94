// Dopri5: the 5(4) pair of Dormand and Prince; the seventh stage is the next step's first.
//
// Constants from Dormand, Prince: A family of embedded Runge-Kutta formulae, Journal of Computational and Applied
// Mathematics 6 (1980) 19-26. Dense output of order 4: Shampine 1986, as printed by Hairer, Norsett, Wanner:
// Solving Ordinary Differential Equations I, 2nd edition, section II.6.
#pragma once

namespace daedalus {

struct Dopri5 {
    static constexpr int order = 5;
    static constexpr int inner = 6;          // stages of the step itself; row `inner` is the slope at its end
    static constexpr int rows = 7;
    static constexpr int degree = 4;
    static constexpr int control_order = 5;  // the estimate behaves like h^5
    static constexpr double memory = 0.04;   // beta of the PI controller: the default of Hairer's code
    static constexpr double shrink = 0.2, grow = 10.0;
    static constexpr double stability_edge = 3.25;  // as in Hairer's code
    static constexpr bool error_needs_end = true;

    static constexpr double c[rows] = {0, 0.2, 0.3, 0.8, 8.0 / 9, 1, 1};
    // Row `inner` holds the weights b of the step.
    static constexpr double a[rows][inner] = {
        {0},
        {0.2},
        {3.0 / 40, 9.0 / 40},
        {44.0 / 45, -56.0 / 15, 32.0 / 9},
        {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
        {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
        {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}};
    static constexpr double error[rows] = {71.0 / 57600,      0,          -71.0 / 16695, 71.0 / 1920,
                                           -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
    static constexpr double bump[rows] = {-12715105075.0 / 11282082432.0,
                                          0,
                                          87487479700.0 / 32700410799.0,
                                          -10690763975.0 / 1880347072.0,
                                          701980252875.0 / 199316789632.0,
                                          -1453857185.0 / 822651844.0,
                                          69997945.0 / 29380423.0};
};

}  // namespace daedalus
