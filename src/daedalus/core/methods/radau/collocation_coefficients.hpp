// The coefficients of a collocation method whose last stage is the end of the step (Radau IIA), ready for the core.
#pragma once

#include "methods/implicit/stage_coefficients.hpp"

namespace daedalus {

inline constexpr int most_pairs = 4;

// The inverse of A becomes to * inverse * from = diag(gamma, blocks (alpha -beta; beta alpha)), so the stages are solved in
// real and complex parts of the size of the model (Butcher 1976, Bickart 1977).
struct CollocationCoefficients : StageCoefficients {
    int pairs = 0;
    bool has_real = false;
    double from[most_stages][most_stages] = {}, to[most_stages][most_stages] = {};
    double gamma = 0, alpha[most_pairs] = {}, beta[most_pairs] = {};
    // The polynomial with the slope at the beginning interpolated too, one degree more: h x'_n times slope_j, plus the sum.
    double slope[most_stages + 1] = {}, better[most_stages + 1][most_stages] = {};
    // The estimate weight x'_n h + sum_i error_i Z_i has order `stages`; it is filtered by the real factor, or where
    // there is none by the first complex one.
    double weight = 0, error[most_stages] = {};
};

}  // namespace daedalus
