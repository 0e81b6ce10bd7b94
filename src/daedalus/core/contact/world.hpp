// Bodies with shapes: which of them are close, and the cone problem of their contacts.
#pragma once

#include "contact/close_boxes.hpp"
#include "contact/cone_problem.hpp"
#include "contact/touching.hpp"

namespace daedalus::contact {

struct Shape {
    ShapeKind kind = ShapeKind::sphere;
    int body = -1;
    Vector3 size, at;
    Matrix3 turn;
};

// What a contact obeys.
struct Law {
    double friction = 0.0, restitution = 0.0, rolling = 0.0, spinning = 0.0;
    Vector3 slip;
};

struct World {
    std::vector<Vector3> inverse_mass;
    std::vector<Matrix3> inverse_inertia;  // in the frame of each body
    std::vector<Shape> shapes;
    std::vector<Law> laws;
    std::vector<int> law_of;  // shape by shape: which law, -1 where they pass through each other
    std::vector<Matrix3> turns;
    ConeProblem problem;

    // Places every body and finds all contacts that are closer than a limit, those from before as first guesses.
    void place(const double* poses, double limit) {
        const std::size_t count = inverse_mass.size();
        turns.resize(count);
        problem.bodies.resize(count);
        std::vector<Vector3> centres(count);
        for (std::size_t k = 0; k < count; ++k) {
            const double* const pose = poses + 7 * k;
            turns[k] = rotation_of(pose + 3);
            centres[k] = read3(pose);
            problem.bodies[k] = {inverse_mass[k], turns[k] * inverse_inertia[k] * transposed(turns[k])};
        }
        placed_.resize(shapes.size());
        for (std::size_t k = 0; k < shapes.size(); ++k) {
            const Shape& s = shapes[k];
            placed_[k] = {s.kind, s.size, s.at, s.turn};
            if (s.body >= 0) {
                const std::size_t b = static_cast<std::size_t>(s.body);
                placed_[k].at = centres[b] + turns[b] * s.at;
                placed_[k].turn = turns[b] * s.turn;
            }
        }
        before_.swap(problem.points);
        problem.points.clear();
        look_for_pairs(limit);
        for (const auto& [i, j] : pairs_) touch(i, j, centres, limit);
    }

    long long pairs() const { return static_cast<long long>(pairs_.size()); }
    long long tests() const { return close_.tests; }

private:
    std::vector<Placed> placed_;
    std::vector<std::pair<int, int>> pairs_;
    std::vector<ContactPoint> before_;
    std::vector<Vector3> low_, high_;
    std::vector<int> bounded_, planes_;
    CloseBoxes close_;
    Touches touches_;

    static Vector3 reach(const Placed& s) {
        if (s.kind == ShapeKind::sphere) return {s.size.x, s.size.x, s.size.x};
        Vector3 r;
        if (s.kind == ShapeKind::ellipsoid) {
            for (int i = 0; i < 3; ++i)
                r[i] = std::hypot(s.size.x * s.turn(i, 0), s.size.y * s.turn(i, 1), s.size.z * s.turn(i, 2));
            return r;
        }
        for (int i = 0; i < 3; ++i)
            r[i] = s.kind == ShapeKind::capsule
                       ? s.size.x + s.size.y * std::fabs(s.turn(i, 2))
                       : s.size.x * std::fabs(s.turn(i, 0)) + s.size.y * std::fabs(s.turn(i, 1)) +
                             s.size.z * std::fabs(s.turn(i, 2));
        return r;
    }

    int law(std::size_t i, std::size_t j) const { return law_of[i * shapes.size() + j]; }

    // Boxes around the shapes that overlap, and those that reach a plane.
    void look_for_pairs(double limit) {
        const std::size_t count = shapes.size();
        low_.resize(count), high_.resize(count);
        pairs_.clear(), bounded_.clear(), planes_.clear();
        for (std::size_t k = 0; k < count; ++k) {
            if (placed_[k].kind == ShapeKind::plane) {
                planes_.push_back(static_cast<int>(k));
                continue;
            }
            const Vector3 r = reach(placed_[k]), more{0.5 * limit, 0.5 * limit, 0.5 * limit};
            low_[k] = placed_[k].at - r - more, high_[k] = placed_[k].at + r + more;
            bounded_.push_back(static_cast<int>(k));
        }
        const auto add = [&](int i, int j) {
            if (law(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) >= 0) pairs_.emplace_back(std::min(i, j), std::max(i, j));
        };
        close_.find(bounded_, low_, high_, add);
        for (const int plane : planes_) {
            const Placed& p = placed_[static_cast<std::size_t>(plane)];
            const Vector3 n = p.turn.column(2);
            for (const int i : bounded_) {
                const Vector3 r = reach(placed_[static_cast<std::size_t>(i)]);
                const double most = r.x * std::fabs(n.x) + r.y * std::fabs(n.y) + r.z * std::fabs(n.z);
                if (dot(n, placed_[static_cast<std::size_t>(i)].at - p.at) - most <= limit) add(i, plane);
            }
        }
        std::sort(pairs_.begin(), pairs_.end());
    }

    void touch(int i, int j, const std::vector<Vector3>& centres, double limit) {
        if (shapes[static_cast<std::size_t>(i)].kind > shapes[static_cast<std::size_t>(j)].kind) std::swap(i, j);
        const std::size_t one = static_cast<std::size_t>(i), two = static_cast<std::size_t>(j);
        touches_.clear();
        touches(touches_, placed_[one], placed_[two], limit);
        const int which = law(one, two);
        const Law& own = laws[static_cast<std::size_t>(which)];
        for (const Touch& found : touches_) {
            ContactPoint p;
            p.a = shapes[one].body, p.b = shapes[two].body, p.first = i, p.second = j, p.law = which;
            p.n = found.normal, p.gap = found.gap, p.place = found.point;
            across(p.n, p.t1, p.t2);
            if (p.a >= 0) p.arm_a = p.place - centres[static_cast<std::size_t>(p.a)];
            if (p.b >= 0) p.arm_b = p.place - centres[static_cast<std::size_t>(p.b)];
            p.friction = own.friction, p.rolling = own.rolling, p.spinning = own.spinning;
            p.slip = slipping(own.slip, p.n, i < j);
            warm(p);
            problem.points.push_back(p);
        }
    }

    // The velocity of a surface along itself; written for the pair in the order of its shapes.
    static Vector3 slipping(const Vector3& slip, const Vector3& n, bool in_order) {
        const Vector3 along = slip - dot(slip, n) * n;
        return in_order ? along : -along;
    }

    // The impulse that the nearest contact of the same shapes had. Contacts stand in the order of their pairs of shapes.
    void warm(ContactPoint& p) const {
        const auto pair_of = [](const ContactPoint& one) { return std::minmax({one.first, one.second}); };
        const auto pair = pair_of(p);
        double nearest = std::numeric_limits<double>::infinity();
        const ContactPoint* kept = nullptr;
        for (auto old = std::lower_bound(before_.begin(), before_.end(), pair,
                                         [&](const ContactPoint& one, const auto& two) { return pair_of(one) < two; });
             old != before_.end() && pair_of(*old) == pair; ++old)
            if (norm(old->place - p.place) < nearest) nearest = norm(old->place - p.place), kept = &*old;
        if (kept == nullptr || nearest > 0.1 * (norm(p.arm_a) + norm(p.arm_b))) return;
        const Vector3 force = kept->impulse.x * kept->n + kept->impulse.y * kept->t1 + kept->impulse.z * kept->t2;
        p.impulse = {std::max(0.0, dot(force, p.n)), dot(force, p.t1), dot(force, p.t2)};
        p.twist_impulse = kept->twist_impulse;
    }
};

}  // namespace daedalus::contact
