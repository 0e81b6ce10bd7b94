// The coefficients of a stiffly accurate Rosenbrock method, ready for the core.
#pragma once

namespace daedalus {

inline constexpr int most_rosenbrock_stages = 8, most_rosenbrock_degree = 5;

// In the variables that save products with the Jacobian (Hairer, Wanner, Solving Ordinary Differential Equations II,
// IV.7): W_i = w + sum_j a_ij k_j, w_new = w + sum_j end_j k_j, and the error is sum_j error_j k_j.
struct RosenbrockCoefficients {
    int stages = 0, degree = 0, order = 0;
    double alpha[most_rosenbrock_stages] = {};
    double gamma[most_rosenbrock_stages] = {};  // sums of the rows; the first one is the diagonal entry
    double a[most_rosenbrock_stages][most_rosenbrock_stages] = {};
    double c[most_rosenbrock_stages][most_rosenbrock_stages] = {};
    double end[most_rosenbrock_stages] = {}, error[most_rosenbrock_stages] = {};
    double powers[most_rosenbrock_degree][most_rosenbrock_stages] = {};  // coefficient j + 1 is sum_i powers_ji k_i
    // The dense output at the middle of a step: w + sum_i middle_i k_i, and h times its slope, sum_i middle_slope_i k_i.
    double middle[most_rosenbrock_stages] = {}, middle_slope[most_rosenbrock_stages] = {};
};

// What follows from the other numbers.
inline void complete(RosenbrockCoefficients& method) noexcept {
    for (int i = 0; i < method.stages; ++i) {
        double power = 1;
        method.middle[i] = method.middle_slope[i] = 0;
        for (int j = 0; j < method.degree; ++j, power *= 0.5) {
            method.middle[i] += 0.5 * power * method.powers[j][i];
            method.middle_slope[i] += (j + 1) * power * method.powers[j][i];
        }
    }
}

}  // namespace daedalus
