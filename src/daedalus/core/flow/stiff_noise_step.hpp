// The transition and the noise of a linear system over a step in which fast motions follow slow ones: collocation.
//
//   Φ' = A Φ,  N' = A N + N Aᵀ + Q      by the Radau IIA method of three stages, order 5 and stage order 3
//
// (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd ed. 1996, table IV.5.6.) Exponentials of mean
// matrices let a fast state follow the mean of what leads it over the step, and its value at the end is what counts.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "flow/gathered_noise.hpp"

namespace daedalus::flows {

// Solves M X = B of full matrices by rows, B with `width` columns, in place; false where M is singular.
inline bool solve_in_place(std::size_t size, std::vector<double>& M, std::size_t width, std::vector<double>& B) {
    for (std::size_t k = 0; k < size; ++k) {
        std::size_t pivot = k;
        for (std::size_t r = k + 1; r < size; ++r)
            if (std::abs(M[r * size + k]) > std::abs(M[pivot * size + k])) pivot = r;
        if (!(std::abs(M[pivot * size + k]) > 0)) return false;
        if (pivot != k) {
            std::swap_ranges(M.begin() + long(k * size), M.begin() + long((k + 1) * size), M.begin() + long(pivot * size));
            std::swap_ranges(B.begin() + long(k * width), B.begin() + long((k + 1) * width), B.begin() + long(pivot * width));
        }
        for (std::size_t r = k + 1; r < size; ++r) {
            const double factor = M[r * size + k] / M[k * size + k];
            if (factor == 0) continue;
            add_row(static_cast<int>(size - k), &M[r * size + k], -factor, &M[k * size + k]);
            add_row(static_cast<int>(width), &B[r * width], -factor, &B[k * width]);
        }
    }
    for (std::size_t k = size; k-- > 0;) {
        for (std::size_t c = 0; c < width; ++c) B[k * width + c] /= M[k * size + k];
        for (std::size_t r = 0; r < k; ++r) add_row(static_cast<int>(width), &B[r * width], -M[r * size + k], &B[k * width]);
    }
    return true;
}

class StiffNoiseSteps {
public:
    explicit StiffNoiseSteps(int n) : n_(static_cast<std::size_t>(n)), packed_(n_ * (n_ + 1) / 2) {}

    // Φ and N of a step, from A and Q at the nodes; false where the stages have no solution.
    bool step(double length, const NoiseSteps::Nodes& at, NoiseStep& out) {
        return transition(length, at, out.transition) && noise(length, at, out.noise);
    }

    static std::array<double, 3> nodes() { return {(4 - std::sqrt(6.0)) / 10, (4 + std::sqrt(6.0)) / 10, 1.0}; }

private:
    static std::array<double, 9> weights() {
        const double r = std::sqrt(6.0);
        return {(88 - 7 * r) / 360, (296 - 169 * r) / 1800, (-2 + 3 * r) / 225,
                (296 + 169 * r) / 1800, (88 + 7 * r) / 360, (-2 - 3 * r) / 225,
                (16 - r) / 36, (16 + r) / 36, 1.0 / 9};
    }

    // (I − h a ⊗ A) stacked Φ = stacked I; the last stage is the end of the step.
    bool transition(double h, const NoiseSteps::Nodes& at, std::vector<double>& out) {
        const std::size_t size = 3 * n_;
        const auto a = weights();
        matrix_.assign(size * size, 0.0), right_.assign(size * n_, 0.0);
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t r = 0; r < n_; ++r) {
                for (std::size_t j = 0; j < 3; ++j)
                    for (std::size_t c = 0; c < n_; ++c)
                        matrix_[(i * n_ + r) * size + j * n_ + c] = -h * a[3 * i + j] * at.A[j][r * n_ + c];
                matrix_[(i * n_ + r) * (size + 1)] += 1;
                right_[(i * n_ + r) * n_ + r] = 1;
            }
        if (!solve_in_place(size, matrix_, n_, right_)) return false;
        out.assign(right_.begin() + long(2 * n_ * n_), right_.end());
        return std::all_of(out.begin(), out.end(), [](double value) { return std::isfinite(value); });
    }

    std::size_t place(std::size_t r, std::size_t c) const { return r >= c ? r * (r + 1) / 2 + c : c * (c + 1) / 2 + r; }

    // The same of N, of which the lower half is unknown.
    bool noise(double h, const NoiseSteps::Nodes& at, std::vector<double>& out) {
        const std::size_t size = 3 * packed_;
        const auto a = weights();
        matrix_.assign(size * size, 0.0), right_.assign(size, 0.0);
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t r = 0; r < n_; ++r)
                for (std::size_t c = 0; c <= r; ++c) {
                    const std::size_t row = i * packed_ + place(r, c);
                    double* own = matrix_.data() + row * size;
                    for (std::size_t j = 0; j < 3; ++j) {
                        const double share = h * a[3 * i + j];
                        right_[row] += share * at.Q[j][r * n_ + c];
                        // (A N + N Aᵀ)_rc = Σ_k A_rk N_kc + N_rk A_ck
                        for (std::size_t k = 0; k < n_; ++k) {
                            own[j * packed_ + place(k, c)] -= share * at.A[j][r * n_ + k];
                            own[j * packed_ + place(r, k)] -= share * at.A[j][c * n_ + k];
                        }
                    }
                    own[row] += 1;
                }
        if (!solve_in_place(size, matrix_, 1, right_)) return false;
        out.resize(n_ * n_);
        for (std::size_t r = 0; r < n_; ++r)
            for (std::size_t c = 0; c < n_; ++c) {
                out[r * n_ + c] = right_[2 * packed_ + place(r, c)];
                if (!std::isfinite(out[r * n_ + c])) return false;
            }
        return true;
    }

    std::size_t n_, packed_;
    std::vector<double> matrix_, right_;
};

}  // namespace daedalus::flows
