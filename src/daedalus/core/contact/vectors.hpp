// Vectors, matrices and rotations of space, by value.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

namespace daedalus::contact {

// Lengths that nothing is divided by.
inline constexpr double no_length = 1e-300;
// Differences of products below this share of them are rounding.
inline constexpr double rounding = 1e-14;

struct Vector3 {
    double x = 0.0, y = 0.0, z = 0.0;

    double& operator[](int k) { return k == 0 ? x : k == 1 ? y : z; }
    double operator[](int k) const { return k == 0 ? x : k == 1 ? y : z; }
    Vector3& operator+=(const Vector3& b) { return x += b.x, y += b.y, z += b.z, *this; }
    Vector3& operator-=(const Vector3& b) { return x -= b.x, y -= b.y, z -= b.z, *this; }
};

inline Vector3 operator+(Vector3 a, const Vector3& b) { return a += b; }
inline Vector3 operator-(Vector3 a, const Vector3& b) { return a -= b; }
inline Vector3 operator-(const Vector3& a) { return {-a.x, -a.y, -a.z}; }
inline Vector3 operator*(double s, const Vector3& a) { return {s * a.x, s * a.y, s * a.z}; }
inline Vector3 operator*(const Vector3& a, double s) { return s * a; }
inline double dot(const Vector3& a, const Vector3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline double norm(const Vector3& a) { return std::sqrt(dot(a, a)); }
// Of a vector across another; hypot, which minds overflow, takes ten times as long.
inline double norm(double y, double z) { return std::sqrt(y * y + z * z); }
inline Vector3 cross(const Vector3& a, const Vector3& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline Vector3 read3(const double* from) { return {from[0], from[1], from[2]}; }

struct Matrix3 {
    std::array<double, 9> m{};  // row by row

    double operator()(int i, int j) const { return m[static_cast<std::size_t>(3 * i + j)]; }
    double& operator()(int i, int j) { return m[static_cast<std::size_t>(3 * i + j)]; }
    Vector3 column(int j) const { return {(*this)(0, j), (*this)(1, j), (*this)(2, j)}; }
};

inline Vector3 operator*(const Matrix3& a, const Vector3& v) {
    return {a(0, 0) * v.x + a(0, 1) * v.y + a(0, 2) * v.z, a(1, 0) * v.x + a(1, 1) * v.y + a(1, 2) * v.z,
            a(2, 0) * v.x + a(2, 1) * v.y + a(2, 2) * v.z};
}
inline Vector3 turned_back(const Matrix3& a, const Vector3& v) {
    return {a(0, 0) * v.x + a(1, 0) * v.y + a(2, 0) * v.z, a(0, 1) * v.x + a(1, 1) * v.y + a(2, 1) * v.z,
            a(0, 2) * v.x + a(1, 2) * v.y + a(2, 2) * v.z};
}
inline Matrix3 operator*(const Matrix3& a, const Matrix3& b) {
    Matrix3 c;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) c(i, j) = a(i, 0) * b(0, j) + a(i, 1) * b(1, j) + a(i, 2) * b(2, j);
    return c;
}
inline Matrix3 transposed(const Matrix3& a) {
    Matrix3 c;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) c(i, j) = a(j, i);
    return c;
}
inline Matrix3 read9(const double* from) {
    Matrix3 c;
    std::copy(from, from + 9, c.m.begin());
    return c;
}

// The rotation of a quaternion, scalar first; its length does not matter.
inline Matrix3 rotation_of(const double* q) {
    const double w = q[0], x = q[1], y = q[2], z = q[3], s = 2.0 / (w * w + x * x + y * y + z * z);
    Matrix3 r;
    r.m = {1 - s * (y * y + z * z), s * (x * y - w * z),     s * (x * z + w * y),
           s * (x * y + w * z),     1 - s * (x * x + z * z), s * (y * z - w * x),
           s * (x * z - w * y),     s * (y * z + w * x),     1 - s * (x * x + y * y)};
    return r;
}

// Two directions across a third, a right-handed frame with it.
inline void across(const Vector3& n, Vector3& t1, Vector3& t2) {
    const Vector3 other = std::fabs(n.x) < 0.6 ? Vector3{1, 0, 0} : Vector3{0, 1, 0};
    t1 = cross(n, other);
    t1 = (1.0 / norm(t1)) * t1;
    t2 = cross(n, t1);
}

}  // namespace daedalus::contact
