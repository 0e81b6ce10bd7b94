// Checks of the eigenvalues of small Hessenberg matrices; part of core_test.cpp.
#pragma once

void small_eigenvalues() {
    using Complex = std::complex<double>;
    const auto has = [](const std::complex<double>* found, int size, Complex wanted, double error) {
        return std::any_of(found, found + size, [&](Complex value) { return std::abs(value - wanted) < error; });
    };
    // The companion of (x - 1) (x + 2.5) (x - 3.25) (x^2 - x + 4.25).
    const double row[] = {2.75, 1.375, -8.0625, 39.46875, -34.53125};
    SmallMatrix<double> companion{};
    for (int k = 0; k < 5; ++k) companion[0][k] = row[k];
    for (int k = 1; k < 5; ++k) companion[k][k - 1] = 1;
    Complex found[most_vectors];
    SmallMatrix<double> turned = companion;
    CHECK(hessenberg_eigenvalues(turned, 5, found));
    for (const Complex wanted : {Complex(1), Complex(-2.5), Complex(3.25), Complex(0.5, 2), Complex(0.5, -2)})
        CHECK(has(found, 5, wanted, 1e-12));
    for (int k = 0; k < 5; ++k) {
        Complex vector[most_vectors];
        CHECK(hessenberg_vector(companion, 5, found[k], vector));
        for (int i = 0; i < 5; ++i) {
            Complex left = -found[k] * vector[i];
            for (int j = 0; j < 5; ++j) left += companion[i][j] * vector[j];
            CHECK(std::abs(left) < 1e-12);
        }
    }
    // Usual shifts go in circles here.
    SmallMatrix<double> cycle{};
    for (int k = 0; k < 4; ++k) cycle[(k + 1) % 4][k] = 1;
    CHECK(hessenberg_eigenvalues(cycle, 4, found));
    for (const Complex wanted : {Complex(1), Complex(-1), Complex(0, 1), Complex(0, -1)})
        CHECK(has(found, 4, wanted, 1e-13));
    // Eigenvalues of ten decades are known to the last digits of the largest.
    SmallMatrix<double> steep{};
    for (int k = 0; k < 4; ++k) steep[k][k] = std::pow(10, -3 * k);
    for (int k = 0; k < 3; ++k) steep[k][k + 1] = 1;
    CHECK(hessenberg_eigenvalues(steep, 4, found));
    for (int k = 0; k < 4; ++k) CHECK(has(found, 4, std::pow(10, -3 * k), 1e-15));
}
