// The impulse of a single contact: Signorini's law and Coulomb's cone, solved exactly.
#pragma once

#include "contact/false_position.hpp"
#include "contact/vectors.hpp"

namespace daedalus::contact {

// P with u = given + w P in the law of contact, u_n counted from the bound.
inline Vector3 impulse_of_one(const Matrix3& w, double friction, const Vector3& given) {
    if (given.x >= 0 || !(w(0, 0) > 0)) return {};
    if (!(friction > 0)) return {-given.x / w(0, 0), 0, 0};
    // Sliding with u_t = -s P_t: (W_tt + s) P_t + W_tn P_n = -given_t and W_nn P_n + W_nt P_t = -given_n.
    const auto sliding = [&](double s) {
        const double a = w(1, 1) - w(1, 0) * w(0, 1) / w(0, 0) + s, b = w(1, 2) - w(1, 0) * w(0, 2) / w(0, 0);
        const double c = w(2, 1) - w(2, 0) * w(0, 1) / w(0, 0), d = w(2, 2) - w(2, 0) * w(0, 2) / w(0, 0) + s;
        const double e = -given.y + w(1, 0) * given.x / w(0, 0), f = -given.z + w(2, 0) * given.x / w(0, 0);
        const double size = std::max(std::fabs(a), std::fabs(d)), determinant = a * d - b * c;
        Vector3 t;
        if (determinant > rounding * size * size)
            t = {0, (e * d - b * f) / determinant, (a * f - c * e) / determinant};
        else if (a >= d && a > 0) t = {0, e / a, 0};
        else if (d > 0) t = {0, 0, f / d};
        t.x = (-given.x - w(0, 1) * t.y - w(0, 2) * t.z) / w(0, 0);
        return t;
    };
    const auto excess = [&](const Vector3& t) { return norm(t.y, t.z) - friction * t.x; };
    const Vector3 sticking = sliding(0.0);
    if (excess(sticking) <= 0) return sticking;
    double low = 0.0, high = w(1, 1) + w(2, 2);
    double at_low = excess(sticking), at_high = excess(sliding(high));
    for (int k = 0; k < 200 && at_high > 0; ++k) low = high, at_low = at_high, high *= 4, at_high = excess(sliding(high));
    if (at_high > 0) return {-given.x / w(0, 0), 0, 0};
    FalsePosition bracket{low, high, at_low, at_high};
    for (int k = 0; k < 100 && bracket.high - bracket.low > 1e-15 * bracket.high; ++k) {
        double s = bracket.next();
        if (!(s > bracket.low && s < bracket.high)) s = 0.5 * (bracket.low + bracket.high);
        const double value = excess(sliding(s));
        if (value == 0) bracket.low = bracket.high = s;
        else bracket.take(s, value);
    }
    Vector3 found = sliding(bracket.high);
    // On the cone to the last bit.
    const double length = norm(found.y, found.z), most = friction * found.x;
    if (length > 0) found.y *= most / length, found.z *= most / length;
    return found;
}

}  // namespace daedalus::contact
