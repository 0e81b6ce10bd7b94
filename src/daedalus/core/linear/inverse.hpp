// The inverse of a small matrix of exact coefficients.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

namespace daedalus {

// Of a (size x size) matrix in rows, by Gauss-Jordan elimination with row pivoting; empty where a pivot is this small.
inline std::vector<long double> inverse(std::vector<long double> matrix, int size, long double least_pivot = 0) {
    std::vector<long double> result(matrix.size(), 0.0L);
    for (int i = 0; i < size; ++i) result[i * size + i] = 1;
    for (int pivot = 0; pivot < size; ++pivot) {
        int best = pivot;
        for (int i = pivot; i < size; ++i)
            if (std::fabs(matrix[i * size + pivot]) > std::fabs(matrix[best * size + pivot])) best = i;
        if (std::fabs(matrix[best * size + pivot]) < least_pivot) return {};
        for (int j = 0; j < size; ++j) {
            std::swap(matrix[pivot * size + j], matrix[best * size + j]);
            std::swap(result[pivot * size + j], result[best * size + j]);
        }
        for (int i = 0; i < size; ++i) {
            if (i == pivot) continue;
            const long double factor = matrix[i * size + pivot] / matrix[pivot * size + pivot];
            for (int j = 0; j < size; ++j) {
                matrix[i * size + j] -= factor * matrix[pivot * size + j];
                result[i * size + j] -= factor * result[pivot * size + j];
            }
        }
    }
    for (int i = 0; i < size; ++i)
        for (int j = 0; j < size; ++j) result[i * size + j] /= matrix[i * size + i];
    return result;
}

}  // namespace daedalus
