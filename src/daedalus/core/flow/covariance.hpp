// Covariances of a filter: carried along by a map, and made smaller by measurements.
//
//   P⁺ = F P Fᵀ + Q                                                          (over an interval)
//   S = H P Hᵀ + R,  K = P Hᵀ S⁻¹,  P⁺ = (I − K H) P (I − K H)ᵀ + K R Kᵀ     (P. D. Joseph, for a measurement)
#pragma once

#include <cmath>
#include <vector>

namespace daedalus::flows {

// row += factor · other, n numbers; zero factors cost nothing.
inline void add_row(int n, double* __restrict row, double factor, const double* __restrict other) {
    if (factor == 0) return;
    for (int i = 0; i < n; ++i) row[i] += factor * other[i];
}

// F P Fᵀ + Q of a symmetric P, (n, n) by rows; zeros of F cost nothing.
inline void carry_covariance(int n, const double* F, const double* P, const double* Q, std::vector<double>& work,
                             double* out) {
    const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    work.assign(2 * size, 0.0);
    double *product = work.data(), *transposed = work.data() + size;
    for (int r = 0; r < n; ++r)
        for (int j = 0; j < n; ++j) {
            const double factor = F[r * n + j];
            transposed[j * n + r] = factor;
            add_row(n, product + r * n, factor, P + j * n);
        }
    for (int r = 0; r < n; ++r) {
        double* row = out + r * n;
        for (int c = 0; c <= r; ++c) row[c] = Q[r * n + c];
        for (int k = 0; k < n; ++k) add_row(r + 1, row, product[r * n + k], transposed + k * n);
    }
    for (int r = 0; r < n; ++r)
        for (int c = 0; c < r; ++c) out[c * n + r] = out[r * n + c];
}

// Cholesky's factor of a symmetric S, (m, m) by rows, in its lower half; false where S is not positive.
inline bool cholesky(int m, double* S) {
    for (int j = 0; j < m; ++j) {
        for (int r = j; r < m; ++r) {
            double sum = S[r * m + j];
            for (int k = 0; k < j; ++k) sum -= S[r * m + k] * S[j * m + k];
            if (r == j && !(sum > 0)) return false;
            S[r * m + j] = r == j ? std::sqrt(sum) : sum / S[j * m + j];
        }
    }
    return true;
}

// x += K v and P by Joseph's form, for measurements with slopes H (m, n), noise R (m, m) and innovation v (m). What is
// not a number in v was not measured. False where H P Hᵀ + R is not positive.
inline bool take_in(int n, int m, const double* H, const double* R, const double* v, const double* P, double* x,
                    double* out) {
    std::vector<int> seen;
    for (int k = 0; k < m; ++k)
        if (!std::isnan(v[k])) seen.push_back(k);
    const int count = static_cast<int>(seen.size());
    const auto rows = static_cast<std::size_t>(n), measured = static_cast<std::size_t>(count);
    std::vector<double> gain(measured * rows, 0.0), weighed(gain), S(measured * measured);
    std::vector<double> left(rows * rows, 0.0), added(rows * rows, 0.0), work;
    const auto slope = [&](int k) { return H + seen[static_cast<std::size_t>(k)] * n; };
    const auto noise = [&](int k, int c) { return R[seen[static_cast<std::size_t>(k)] * m + seen[static_cast<std::size_t>(c)]]; };
    // Rows of H P, and S; then rows of Kᵀ from S Kᵀ = H P.
    for (int k = 0; k < count; ++k) {
        double* row = gain.data() + k * n;
        for (int j = 0; j < n; ++j) add_row(n, row, slope(k)[j], P + j * n);
        for (int c = 0; c < count; ++c) {
            double sum = noise(k, c);
            for (int j = 0; j < n; ++j) sum += row[j] * slope(c)[j];
            S[static_cast<std::size_t>(k * count + c)] = sum;
        }
    }
    if (!cholesky(count, S.data())) return false;
    for (int k = 0; k < count; ++k) {
        double* row = gain.data() + k * n;
        for (int c = 0; c < k; ++c) add_row(n, row, -S[static_cast<std::size_t>(k * count + c)], gain.data() + c * n);
        for (int i = 0; i < n; ++i) row[i] /= S[static_cast<std::size_t>(k * count + k)];
    }
    for (int k = count - 1; k >= 0; --k) {
        double* row = gain.data() + k * n;
        for (int c = k + 1; c < count; ++c)
            add_row(n, row, -S[static_cast<std::size_t>(c * count + k)], gain.data() + c * n);
        for (int i = 0; i < n; ++i) row[i] /= S[static_cast<std::size_t>(k * count + k)];
        add_row(n, x, v[seen[static_cast<std::size_t>(k)]], row);
    }
    for (int k = 0; k < count; ++k)
        for (int c = 0; c < count; ++c) add_row(n, weighed.data() + k * n, noise(k, c), gain.data() + c * n);
    for (int i = 0; i < n; ++i) {
        left[static_cast<std::size_t>(i * n + i)] = 1;
        for (int k = 0; k < count; ++k) {
            const double factor = gain[static_cast<std::size_t>(k * n + i)];
            add_row(n, left.data() + i * n, -factor, slope(k));
            add_row(n, added.data() + i * n, factor, weighed.data() + k * n);
        }
    }
    carry_covariance(n, left.data(), P, added.data(), work, out);
    return true;
}

}  // namespace daedalus::flows
