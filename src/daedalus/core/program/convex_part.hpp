// The convex part of a curvature: the nearest symmetric matrix without negative eigenvalues.
//
// A = V Λ Vᵀ becomes V max(Λ, 0) Vᵀ. Most matrices are convex as they are, which a Cholesky factor shows; eigenvalues of
// the others are found by Jacobi's rotations.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace daedalus::programs {

class ConvexPart {
public:
    // Changes a symmetric matrix (n, n) into its convex part; whether it was another.
    bool project(double* a, std::size_t n) {
        if (is_convex(a, n)) return false;
        matrix_.assign(a, a + n * n), vectors_.assign(n * n, 0.0);
        for (std::size_t i = 0; i < n; ++i) vectors_[i * n + i] = 1.0;
        for (int sweep = 0; sweep < most_sweeps && rotate_all(n); ++sweep) {
        }
        std::fill(a, a + n * n, 0.0);
        for (std::size_t k = 0; k < n; ++k) {
            const double value = matrix_[k * n + k];
            if (value <= 0.0) continue;
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t j = 0; j < n; ++j) a[i * n + j] += value * vectors_[i * n + k] * vectors_[j * n + k];
        }
        return true;
    }

private:
    static constexpr int most_sweeps = 30;
    // Eigenvalues above minus this share of the largest entry are rounding.
    static constexpr double rounding = 1e-12;

    // Whether A + ε I has a Cholesky factor.
    bool is_convex(const double* a, std::size_t n) {
        double largest = 0.0;
        for (std::size_t i = 0; i < n * n; ++i) largest = std::max(largest, std::abs(a[i]));
        if (!std::isfinite(largest)) return true;
        const double shift = rounding * largest * static_cast<double>(n);
        matrix_.assign(a, a + n * n);
        for (std::size_t j = 0; j < n; ++j) {
            double pivot = matrix_[j * n + j] + shift;
            for (std::size_t k = 0; k < j; ++k) pivot -= matrix_[j * n + k] * matrix_[j * n + k];
            if (pivot < 0.0) return false;
            const double root = std::sqrt(std::max(pivot, 1e-300));
            for (std::size_t i = j + 1; i < n; ++i) {
                double left = matrix_[i * n + j];
                for (std::size_t k = 0; k < j; ++k) left -= matrix_[i * n + k] * matrix_[j * n + k];
                // A row of which the pivot leaves nothing has nothing beside it either.
                if (pivot <= shift && std::abs(left) > 1e-6 * largest) return false;
                matrix_[i * n + j] = pivot <= shift ? 0.0 : left / root;
            }
            matrix_[j * n + j] = root;
        }
        return true;
    }

    // One rotation for every entry beside the diagonal; whether any was needed.
    bool rotate_all(std::size_t n) {
        bool rotated = false;
        for (std::size_t p = 0; p < n; ++p)
            for (std::size_t q = p + 1; q < n; ++q) {
                const double beside = matrix_[p * n + q], one = matrix_[p * n + p], two = matrix_[q * n + q];
                if (std::abs(beside) <= 1e-15 * (std::abs(one) + std::abs(two)) + 1e-300) continue;
                rotated = true;
                const double theta = 0.5 * (two - one) / beside;
                const double t = (theta >= 0.0 ? 1.0 : -1.0) / (std::abs(theta) + std::sqrt(theta * theta + 1.0));
                const double c = 1.0 / std::sqrt(t * t + 1.0), s = t * c;
                for (std::size_t k = 0; k < n; ++k) turn(matrix_[k * n + p], matrix_[k * n + q], c, s);
                for (std::size_t k = 0; k < n; ++k) turn(matrix_[p * n + k], matrix_[q * n + k], c, s);
                for (std::size_t k = 0; k < n; ++k) turn(vectors_[k * n + p], vectors_[k * n + q], c, s);
            }
        return rotated;
    }

    static void turn(double& one, double& two, double c, double s) {
        const double before = one;
        one = c * before - s * two, two = s * before + c * two;
    }

    std::vector<double> matrix_, vectors_;
};

}  // namespace daedalus::programs
