// The law of a contact near an impulse and a velocity as a linear relation of their changes.
//
//     A ΔP + B Δu = c
//
// is the derivative of the map of P. Alart and A. Curnier: the contact is open, sticks or slides as it does there.
#pragma once

#include "contact/rows.hpp"

namespace daedalus::contact {

struct LinearLaw {
    Matrix3 impulse, velocity;  // A, B
    Vector3 right;              // c
};

// The length of the map's step along velocities, in impulses.
inline double step_of_map(const ContactPoint& p) { return 3.0 / (p.block(0, 0) + p.block(1, 1) + p.block(2, 2)); }

// The length at which a moment turns bodies as fast as a force moves them there: turning times it is a velocity.
inline double length_of_turning(const ContactPoint& p) {
    const double turned = std::max(p.spin_block, p.roll_block);
    return turned > 0 ? 1.0 / std::sqrt(step_of_map(p) * turned) : 0.0;
}

// proximal: what is added to a diagonal of A that is zero, so that impulses of redundant contacts change least.
inline LinearLaw law_near(const ContactPoint& p, const Vector3& u, double proximal) {
    LinearLaw law;
    const double r = step_of_map(p), pressed = p.impulse.x - r * (u.x - p.bound);
    const auto hold = [&](int i, double target) {
        law.velocity(i, i) = r, law.impulse(i, i) = proximal, law.right[i] = r * target;
    };
    const auto let_go = [&](int i) { law.impulse(i, i) = 1.0, law.right[i] = -p.impulse[i]; };
    if (pressed <= 0) return let_go(0), let_go(1), let_go(2), law;
    hold(0, p.bound - u.x);
    if (!(p.friction > 0)) return let_go(1), let_go(2), law;
    const double y = p.impulse.y - r * u.y, z = p.impulse.z - r * u.z;
    const double length = norm(y, z), cone = p.friction * pressed;
    if (length <= cone) return hold(1, -u.y), hold(2, -u.z), law;
    // Sliding: P_t is the cone's radius along (y, z), which turns and grows with P and u.
    const double d[2] = {y / length, z / length}, ratio = cone / length;
    for (int i = 0; i < 2; ++i) {
        for (int m = 0; m < 2; ++m) {
            const double turn = ratio * ((i == m) - d[i] * d[m]);
            law.impulse(i + 1, m + 1) = (i == m ? 1.0 + proximal : 0.0) - turn;
            law.velocity(i + 1, m + 1) = r * turn;
        }
        law.impulse(i + 1, 0) = -d[i] * p.friction;
        law.velocity(i + 1, 0) = r * d[i] * p.friction;
        law.right[i + 1] = cone * d[i] - p.impulse[i + 1];
    }
    return law;
}

}  // namespace daedalus::contact
