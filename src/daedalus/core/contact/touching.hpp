// Where two shapes touch or nearly do: distances, normals and points, by closed forms.
//
// A box and a box: the separating axis of fifteen that parts them most (S. Gottschalk, M. Lin, D. Manocha, SIGGRAPH 1996),
// then the face of one clipped by the sides of the other's (I. Sutherland, G. Hodgman, CACM 17, 1974).
#pragma once

#include <limits>
#include <vector>

#include "contact/vectors.hpp"

namespace daedalus::contact {

// A centre this near to a box, in sizes of both, lies inside it: its way out has no direction of its own.
inline constexpr double inside = 1e-12;
// Capsules lie side by side where the square of the sine between them is below this, a thousandth of a radian.
inline constexpr double side_by_side = 1e-6;
// Shares of a segment that differ by less are one place of it; distances that differ by less are equal. By judgement.
inline constexpr double same_share = 1e-6, same_distance = 1e-9;
// Edges of boxes are parallel where the sine between them is below this: their normal has ten digits then.
inline constexpr double parallel = 1e-6;
// Axes that part boxes by as much, but for this share of their size, are equally good: half the digits of a depth.
inline constexpr double same_depth = 1e-7;
// Corners that are clipped to one point differ by rounding, in sizes of the box.
inline constexpr double same_corner = 1e-10;

enum class ShapeKind : int { plane = 0, sphere = 1, capsule = 2, box = 3, ellipsoid = 4 };

// A shape at its place in the world. Sizes: a sphere's radius; a capsule's radius and the half of its straight part,
// which lies along z; the halves of a box's sides or of an ellipsoid's axes. The matter of a plane is below its z axis.
struct Placed {
    ShapeKind kind = ShapeKind::sphere;
    Vector3 size, at;
    Matrix3 turn;
};

struct Touch {
    Vector3 normal, point;  // the normal points from the first shape to the second
    double gap = 0.0;
};

using Touches = std::vector<Touch>;

inline void add(Touches& out, const Vector3& on_a, const Vector3& on_b, const Vector3& normal, double limit) {
    const double gap = dot(on_b - on_a, normal);
    if (gap <= limit) out.push_back({normal, 0.5 * (on_a + on_b), gap});
}

// Two balls, or points of round shapes; equal centres part upwards.
inline void balls(Touches& out, const Vector3& a, double ra, const Vector3& b, double rb, double limit) {
    const Vector3 way = b - a;
    const double length = norm(way);
    const Vector3 n = length > no_length ? (1.0 / length) * way : Vector3{0, 0, 1};
    add(out, a + ra * n, b - rb * n, n, limit);
}

inline double clamp_one(double s) { return std::clamp(s, -1.0, 1.0); }

// The parameters in [-1, 1] of the nearest points of two segments a ± p and b ± q.
inline void nearest(const Vector3& a, const Vector3& p, const Vector3& b, const Vector3& q, double& s, double& t) {
    const Vector3 r = a - b;
    const double pp = dot(p, p), qq = dot(q, q), pq = dot(p, q), pr = dot(p, r), qr = dot(q, r);
    const double determinant = pp * qq - pq * pq;
    s = determinant > rounding * pp * qq ? clamp_one((pq * qr - qq * pr) / determinant) : 0.0;
    t = qq > 0 ? clamp_one((pq * s + qr) / qq) : 0.0;
    s = pp > 0 ? clamp_one((pq * t - pr) / pp) : 0.0;
}

inline void capsules(Touches& out, const Placed& a, const Placed& b, double limit) {
    const Vector3 p = a.size.y * a.turn.column(2), q = b.size.y * b.turn.column(2);
    const double pp = dot(p, p), qq = dot(q, q), pq = dot(p, q);
    if (pp > 0 && qq > 0 && pp * qq - pq * pq < side_by_side * pp * qq) {
        // Side by side: both ends of what they share.
        const double middle = dot(b.at - a.at, p) / pp, half = std::sqrt(qq / pp);
        const double low = std::max(-1.0, middle - half), high = std::min(1.0, middle + half);
        if (high - low > same_distance) {
            for (const double s : {low, high}) {
                const Vector3 on = a.at + s * p;
                const double t = clamp_one(dot(on - b.at, q) / qq);
                balls(out, on, a.size.x, b.at + t * q, b.size.x, limit);
            }
            return;
        }
    }
    double s, t;
    nearest(a.at, p, b.at, q, s, t);
    balls(out, a.at + s * p, a.size.x, b.at + t * q, b.size.x, limit);
}

// The point of a box that is nearest to a point, both in the coordinates of the box.
inline Vector3 onto_box(const Vector3& point, const Vector3& half) {
    return {std::clamp(point.x, -half.x, half.x), std::clamp(point.y, -half.y, half.y),
            std::clamp(point.z, -half.z, half.z)};
}

// A ball and a box; the normal points from the ball to the box.
inline void ball_and_box(Touches& out, const Vector3& centre, double radius, const Placed& box, double limit) {
    const Vector3 own = turned_back(box.turn, centre - box.at);
    const Vector3 near = onto_box(own, box.size);
    const Vector3 way = near - own;
    const double length = norm(way);
    if (length > inside * (radius + norm(box.size))) {
        const Vector3 n = box.turn * ((1.0 / length) * way);
        add(out, centre + radius * n, box.at + box.turn * near, n, limit);
        return;
    }
    int axis = 0;
    double depth = std::numeric_limits<double>::infinity();
    for (int k = 0; k < 3; ++k)
        if (box.size[k] - std::fabs(own[k]) < depth) axis = k, depth = box.size[k] - std::fabs(own[k]);
    Vector3 out_of{}, face = own;
    out_of[axis] = own[axis] < 0 ? -1.0 : 1.0;
    face[axis] = out_of[axis] * box.size[axis];
    const Vector3 n = box.turn * (-out_of);
    add(out, centre + radius * n, box.at + box.turn * face, n, limit);
}

inline void capsule_and_box(Touches& out, const Placed& a, const Placed& box, double limit) {
    const Vector3 half = a.size.y * a.turn.column(2);
    const auto own = [&](double s) { return turned_back(box.turn, a.at + s * half - box.at); };
    const auto distance = [&](double s) { return norm(own(s) - onto_box(own(s), box.size)); };
    // The distance to a box is convex along the segment: its least value by trisection.
    double low = -1.0, high = 1.0;
    for (int k = 0; k < 80; ++k) {
        const double one = low + (high - low) / 3, two = high - (high - low) / 3;
        if (distance(one) <= distance(two)) high = two;
        else low = one;
    }
    const double s = 0.5 * (low + high);
    // Above a face the segment may lie along it: both ends of what is above it count, too.
    const Vector3 near = own(s), way = near - onto_box(near, box.size);
    int axis = 0;
    for (int k = 1; k < 3; ++k)
        if (std::fabs(way[k]) > std::fabs(way[axis])) axis = k;
    double first = -1.0, last = 1.0;
    const Vector3 centre = own(0.0), along = turned_back(box.turn, half);
    for (int k = 0; k < 3; ++k) {
        if (k == axis) continue;
        if (std::fabs(along[k]) < no_length) {
            if (std::fabs(centre[k]) > box.size[k]) last = -2.0;
            continue;
        }
        const double one = (-box.size[k] - centre[k]) / along[k], two = (box.size[k] - centre[k]) / along[k];
        first = std::max(first, std::min(one, two)), last = std::min(last, std::max(one, two));
    }
    if (last - first < same_share) return ball_and_box(out, a.at + s * half, a.size.x, box, limit);
    ball_and_box(out, a.at + first * half, a.size.x, box, limit);
    ball_and_box(out, a.at + last * half, a.size.x, box, limit);
    if (std::min(s - first, last - s) > same_share || s < first - same_share || s > last + same_share)
        if (distance(s) < std::min(distance(first), distance(last)) - same_distance)
            ball_and_box(out, a.at + s * half, a.size.x, box, limit);
}

inline Vector3 corner(const Placed& box, int k) {
    const Vector3 own{(k & 1) ? box.size.x : -box.size.x, (k & 2) ? box.size.y : -box.size.y,
                      (k & 4) ? box.size.z : -box.size.z};
    return box.at + box.turn * own;
}

// A plane and a ball or a corner of radius zero.
inline void plane_and_ball(Touches& out, const Placed& plane, const Vector3& centre, double radius, double limit) {
    const Vector3 n = plane.turn.column(2);
    const double height = dot(n, centre - plane.at);
    if (height - radius <= limit) out.push_back({n, centre - (0.5 * (height + radius)) * n, height - radius});
}

// A plane and an ellipsoid: the point whose normal is against that of the plane.
inline void plane_and_ellipsoid(Touches& out, const Placed& plane, const Placed& b, double limit) {
    const Vector3 n = plane.turn.column(2), own = turned_back(b.turn, n);
    const Vector3 stretched{b.size.x * own.x, b.size.y * own.y, b.size.z * own.z};
    const double reach = norm(stretched);
    const Vector3 lowest{b.size.x * stretched.x, b.size.y * stretched.y, b.size.z * stretched.z};
    plane_and_ball(out, plane, b.at - (1.0 / reach) * (b.turn * lowest), 0.0, limit);
}

// A ball and an ellipsoid: the foot x of the ball's centre y has x_k = a_k² y_k / (a_k² + t), where t is the largest root
// of Σ (a_k y_k / (a_k² + t))² = 1, found by bisection (D. Eberly, Distance from a point to an ellipsoid, 2013).
inline void ball_and_ellipsoid(Touches& out, const Vector3& centre, double radius, const Placed& b, double limit) {
    const Vector3 y = turned_back(b.turn, centre - b.at);
    int least = 0;
    for (int k = 1; k < 3; ++k)
        if (b.size[k] < b.size[least]) least = k;
    double low = -b.size[least] * b.size[least], high = 0.0;
    for (int k = 0; k < 3; ++k) high = std::max(high, b.size[k] * norm(y));
    for (int step = 0; step < 200 && high - low > rounding * (std::fabs(low) + std::fabs(high)); ++step) {
        const double t = 0.5 * (low + high);
        double sum = 0.0;
        for (int k = 0; k < 3; ++k) {
            const double share = b.size[k] * y[k] / (b.size[k] * b.size[k] + t);
            sum += share * share;
        }
        if (sum > 1) low = t;
        else high = t;
    }
    Vector3 foot, out_of;
    for (int k = 0; k < 3; ++k) {
        const double square = b.size[k] * b.size[k], below = square + high;
        // In the middle of it, the nearest point is at the end of the shortest axis.
        foot[k] = below > rounding * square ? square * y[k] / below : std::copysign(b.size[k], y[k]);
        out_of[k] = foot[k] / square;
    }
    const Vector3 n = b.turn * ((-1.0 / norm(out_of)) * out_of);
    add(out, centre + radius * n, b.at + b.turn * foot, n, limit);
}

struct Clipped {
    std::array<Vector3, 16> points;
    int count = 0;
};

// The part of a polygon where dot(n, x) <= d.
inline void clip(Clipped& polygon, const Vector3& n, double d) {
    Clipped kept;
    for (int k = 0; k < polygon.count; ++k) {
        const Vector3 &p = polygon.points[static_cast<std::size_t>(k)],
                      &q = polygon.points[static_cast<std::size_t>((k + 1) % polygon.count)];
        const double a = dot(n, p) - d, b = dot(n, q) - d;
        if (a <= 0 && kept.count < 16) kept.points[static_cast<std::size_t>(kept.count++)] = p;
        if ((a < 0) != (b < 0) && a != 0 && b != 0 && kept.count < 16)
            kept.points[static_cast<std::size_t>(kept.count++)] = p + (a / (a - b)) * (q - p);
    }
    polygon = kept;
}

// The face of `other` that looks against n, clipped by the sides of the face `axis` of `own`, whose normal n is.
inline void clipped_face(Touches& out, const Placed& own, int axis, const Vector3& n, const Placed& other,
                         bool flipped, double limit) {
    int facing = 0;
    double most = 0.0;
    for (int k = 0; k < 3; ++k) {
        const double along = dot(other.turn.column(k), n);
        if (std::fabs(along) > std::fabs(most)) facing = k, most = along;
    }
    const int u = (facing + 1) % 3, v = (facing + 2) % 3;
    const Vector3 middle = other.at + ((most > 0 ? -1.0 : 1.0) * other.size[facing]) * other.turn.column(facing);
    const Vector3 du = other.size[u] * other.turn.column(u), dv = other.size[v] * other.turn.column(v);
    Clipped polygon;
    polygon.points[0] = middle + du + dv, polygon.points[1] = middle - du + dv;
    polygon.points[2] = middle - du - dv, polygon.points[3] = middle + du - dv;
    polygon.count = 4;
    for (int k = 0; k < 3; ++k)
        if (k != axis)
            for (const double sign : {-1.0, 1.0}) {
                const Vector3 side = sign * own.turn.column(k);
                clip(polygon, side, dot(side, own.at) + own.size[k]);
            }
    const double height = dot(n, own.at) + own.size[axis];
    for (int k = 0; k < polygon.count; ++k) {
        const Vector3& p = polygon.points[static_cast<std::size_t>(k)];
        const double gap = dot(n, p) - height;
        if (gap > limit) continue;
        const Vector3 point = p - (0.5 * gap) * n;
        bool known = false;
        for (const Touch& touch : out) known = known || norm(touch.point - point) < same_corner * own.size[axis];
        if (!known) out.push_back({flipped ? -n : n, point, gap});
    }
}

inline void boxes(Touches& out, const Placed& a, const Placed& b, double limit) {
    const Vector3 way = b.at - a.at;
    const auto reach = [](const Placed& box, const Vector3& n) {
        return box.size.x * std::fabs(dot(box.turn.column(0), n)) + box.size.y * std::fabs(dot(box.turn.column(1), n)) +
               box.size.z * std::fabs(dot(box.turn.column(2), n));
    };
    const double scale = std::min({a.size.x, a.size.y, a.size.z, b.size.x, b.size.y, b.size.z});
    double best = -std::numeric_limits<double>::infinity();
    int kind = -1, axis = 0, other = 0;
    Vector3 normal;
    const auto look = [&](Vector3 n, int own_kind, int i, int j, double preference) {
        if (dot(n, way) < 0) n = -n;
        const double gap = dot(n, way) - reach(a, n) - reach(b, n);
        if (gap > best + preference) best = gap, kind = own_kind, axis = i, other = j, normal = n;
        return gap <= limit;
    };
    // Of axes that are as good the earlier one is kept, so that rounding does not choose.
    const double equal = same_depth * scale;
    for (int k = 0; k < 3; ++k)
        if (!look(a.turn.column(k), 0, k, 0, equal)) return;
    for (int k = 0; k < 3; ++k)
        if (!look(b.turn.column(k), 1, k, 0, equal)) return;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            Vector3 n = cross(a.turn.column(i), b.turn.column(j));
            const double length = norm(n);
            if (length < parallel) continue;
            if (!look((1.0 / length) * n, 2, i, j, equal)) return;
        }
    if (kind == 0) return clipped_face(out, a, axis, normal, b, false, limit);
    if (kind == 1) return clipped_face(out, b, axis, -normal, a, true, limit);
    // An edge of each: those farthest towards the other box.
    Vector3 on_a = a.at, on_b = b.at;
    for (int k = 0; k < 3; ++k) {
        if (k != axis) on_a += (dot(a.turn.column(k), normal) > 0 ? a.size[k] : -a.size[k]) * a.turn.column(k);
        if (k != other) on_b += (dot(b.turn.column(k), normal) > 0 ? -b.size[k] : b.size[k]) * b.turn.column(k);
    }
    const Vector3 p = a.size[axis] * a.turn.column(axis), q = b.size[other] * b.turn.column(other);
    double s, t;
    nearest(on_a, p, on_b, q, s, t);
    add(out, on_a + s * p, on_b + t * q, normal, limit);
}

// Where two shapes are closer than a limit; the kind of the first is not behind that of the second.
inline void touches(Touches& out, const Placed& a, const Placed& b, double limit) {
    if (a.kind == ShapeKind::plane) {
        if (b.kind == ShapeKind::sphere) plane_and_ball(out, a, b.at, b.size.x, limit);
        else if (b.kind == ShapeKind::capsule)
            for (const double end : {-1.0, 1.0})
                plane_and_ball(out, a, b.at + (end * b.size.y) * b.turn.column(2), b.size.x, limit);
        else if (b.kind == ShapeKind::box)
            for (int k = 0; k < 8; ++k) plane_and_ball(out, a, corner(b, k), 0.0, limit);
        else if (b.kind == ShapeKind::ellipsoid) plane_and_ellipsoid(out, a, b, limit);
    } else if (a.kind == ShapeKind::sphere) {
        if (b.kind == ShapeKind::sphere) balls(out, a.at, a.size.x, b.at, b.size.x, limit);
        else if (b.kind == ShapeKind::capsule) {
            const Vector3 half = b.size.y * b.turn.column(2);
            const double length = dot(half, half);
            const double t = length > 0 ? clamp_one(dot(a.at - b.at, half) / length) : 0.0;
            balls(out, a.at, a.size.x, b.at + t * half, b.size.x, limit);
        } else if (b.kind == ShapeKind::ellipsoid) ball_and_ellipsoid(out, a.at, a.size.x, b, limit);
        else ball_and_box(out, a.at, a.size.x, b, limit);
    } else if (a.kind == ShapeKind::capsule) {
        if (b.kind == ShapeKind::capsule) capsules(out, a, b, limit);
        else capsule_and_box(out, a, b, limit);
    } else boxes(out, a, b, limit);
}

}  // namespace daedalus::contact
