// The coefficients that every method of stage increments has: where its stages are, their slopes, and a polynomial.
#pragma once

namespace daedalus {

inline constexpr int most_stages = 9;

// Stage increments Z_i = W_i - w_n; stage derivatives (1/h) sum_j inverse_ij Z_j; the last stage is the end of the step.
struct StageCoefficients {
    int stages = 0;
    double c[most_stages] = {};
    double inverse[most_stages][most_stages] = {};
    double powers[most_stages][most_stages] = {};  // coefficient j + 1 of the polynomial is sum_i powers_ji Z_i
};

}  // namespace daedalus
