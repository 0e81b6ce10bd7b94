// Tsit5: the 5(4) pair of Tsitouras, efficient at moderate tolerances; the seventh stage is the next step's first.
//
// Constants from Tsitouras: Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption,
// Computers and Mathematics with Applications 62 (2011) 770-775; dense output: the paper's interpolant of order 4.
#pragma once

namespace daedalus {

struct Tsit5 {
    static constexpr int order = 5;
    static constexpr int inner = 6;          // stages of the step itself; row `inner` is the slope at its end
    static constexpr int rows = 7;
    static constexpr int degree = 4;
    static constexpr int control_order = 5;  // the estimate behaves like h^5
    static constexpr double memory = 0.04;   // beta of the PI controller, as for dopri5
    static constexpr double shrink = 0.2, grow = 10.0;
    static constexpr double stability_edge = 3.25;  // where stability ends on the negative real axis, nearly
    static constexpr bool error_needs_end = true;

    static constexpr double c[rows] = {0, 0.161, 0.327, 0.9, 0.9800255409045097, 1, 1};
    // Row `inner` holds the weights b of the step.
    static constexpr double a[rows][inner] = {
        {0},
        {0.161},
        {-0.008480655492356989, 0.335480655492357},
        {2.8971530571054935, -6.359448489975075, 4.3622954328695815},
        {5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525},
        {5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383},
        {0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774}};
    // b - b_hat; the paper's last entry has the wrong sign.
    static constexpr double error[rows] = {0.00178001105222577714, 0.0008164344596567469, -0.007880878010261995,
                                           0.1447110071732629,     -0.5823571654525552,   0.45808210592918697,
                                           -1.0 / 66.0};
    // The coefficients of theta^4: cubic Hermite interpolation plus this bump is the paper's interpolant.
    static constexpr double bump[rows] = {-1.0530884977290216, 0.1017,
                                          2.490627285651253,   -16.548102889244902,
                                          47.37952196281928,   -34.87065786149661,
                                          2.5};
};

}  // namespace daedalus
