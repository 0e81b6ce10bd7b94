// Contacts of rigid bodies and rows of joints, as a cone problem has them.
#pragma once

#include <limits>
#include <vector>

#include "contact/vectors.hpp"

namespace daedalus::contact {

struct Twist {
    Vector3 v, w;  // of the centre of mass, and angular, both in the world
};

// What resists a change of velocity: inverse masses along the axes of the world, and the inverse inertia there.
struct Resistance {
    Vector3 inverse_mass;
    Matrix3 inverse_inertia;
};

struct ContactPoint {
    int a = -1, b = -1;  // bodies, -1 for the ground
    Vector3 n, t1, t2, arm_a, arm_b, place;
    double gap = 0.0, friction = 0.0, rolling = 0.0, spinning = 0.0;
    Vector3 slip;                // velocity of the surface of b against that of a
    int law = -1, first = -1, second = -1;  // whose contact, and which shapes
    double bound = 0.0;
    Vector3 impulse;             // normal, tangential
    Vector3 twist_impulse;       // spinning, rolling
    Matrix3 block;               // velocity by a unit of impulse
    double spin_block = 0.0, roll_block = 0.0;

    bool resists_turning() const { return rolling > 0 || spinning > 0; }
};

// One row of a joint: what it says of the bodies' velocities is zero, or `target`. A row whose impulse has limits holds
// as long as that stays between them: 0 and ∞ for a stop, ± h f for dry friction.
struct JointRow {
    std::vector<int> bodies;
    std::vector<Vector3> linear, angular;  // coefficients, of the angular velocity in the world
    double target = 0.0, impulse = 0.0, block = 0.0;
    double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
    // The velocities by a unit impulse, body by body; empty where that acts along the coefficients.
    std::vector<Twist> moves;

    bool has_limits() const { return std::isfinite(low) || std::isfinite(high); }
    double limited(double given) const { return std::clamp(given, low, high); }
};

}  // namespace daedalus::contact
