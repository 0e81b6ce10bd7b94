// Equations with a full matrix, row by row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace daedalus::contact {

// Gauss with row pivoting, in place; false where the matrix is singular.
inline bool eliminate(std::vector<double>& matrix, std::vector<double>& right) {
    const std::size_t n = right.size();
    for (std::size_t c = 0; c < n; ++c) {
        std::size_t pivot = c;
        for (std::size_t i = c + 1; i < n; ++i)
            if (std::fabs(matrix[i * n + c]) > std::fabs(matrix[pivot * n + c])) pivot = i;
        if (!(std::fabs(matrix[pivot * n + c]) > 0)) return false;
        if (pivot != c) {
            std::swap_ranges(&matrix[pivot * n], &matrix[pivot * n] + n, &matrix[c * n]);
            std::swap(right[pivot], right[c]);
        }
        const double* const top = &matrix[c * n];
        for (std::size_t i = c + 1; i < n; ++i) {
            double* const line = &matrix[i * n];
            const double factor = line[c] / top[c];
            if (factor == 0) continue;
            for (std::size_t j = c; j < n; ++j) line[j] -= factor * top[j];
            right[i] -= factor * right[c];
        }
    }
    for (std::size_t c = n; c-- > 0;) {
        double sum = right[c];
        for (std::size_t j = c + 1; j < n; ++j) sum -= matrix[c * n + j] * right[j];
        right[c] = sum / matrix[c * n + c];
        if (!std::isfinite(right[c])) return false;
    }
    return true;
}

}  // namespace daedalus::contact
