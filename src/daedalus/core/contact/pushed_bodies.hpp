// Bodies that contacts and joints push: their velocities, and how impulses change these.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "contact/rows.hpp"

namespace daedalus::contact {

class PushedBodies {
public:
    std::vector<Resistance> bodies;
    std::vector<Twist> twists;
    std::vector<ContactPoint> points;
    std::vector<JointRow> links;
    // Where joints bring the states a push at one body moves others: the twists of all by unit wrenches, row by row, in
    // the world. Empty where each body answers alone.
    std::vector<double> coupled;

    // The velocity of b's surface against a's: normal, tangential.
    Vector3 velocity(const ContactPoint& p) const {
        Vector3 u;
        if (p.b >= 0) u += at(p.b).v + cross(at(p.b).w, p.arm_b);
        if (p.a >= 0) u -= at(p.a).v + cross(at(p.a).w, p.arm_a);
        u += p.slip;
        return {dot(u, p.n), dot(u, p.t1), dot(u, p.t2)};
    }

    Vector3 velocity_in_world(const ContactPoint& p) const {
        const Vector3 u = velocity(p);
        return u.x * p.n + u.y * p.t1 + u.z * p.t2;
    }

    Vector3 spin(const ContactPoint& p) const {
        Vector3 w;
        if (p.b >= 0) w += at(p.b).w;
        if (p.a >= 0) w -= at(p.a).w;
        return {dot(w, p.n), dot(w, p.t1), dot(w, p.t2)};
    }

protected:
    const Twist& at(int body) const { return twists[static_cast<std::size_t>(body)]; }

    // What a velocity is known to: a residual below it is rounding.
    double rounding_of_velocities() const {
        double most = 0.0;
        const auto look = [&](int body, const Vector3& arm) {
            if (body >= 0) most = std::max(most, norm(at(body).v) + norm(at(body).w) * norm(arm));
        };
        for (const ContactPoint& p : points) look(p.a, p.arm_a), look(p.b, p.arm_b);
        for (const JointRow& link : links)
            for (std::size_t k = 0; k < link.bodies.size(); ++k)
                most = std::max(most, norm(link.linear[k]) * norm(at(link.bodies[k]).v) +
                                          norm(link.angular[k]) * norm(at(link.bodies[k]).w));
        return 8 * std::numeric_limits<double>::epsilon() * most;
    }

    void change(int body, const Vector3& force, const Vector3& moment) {
        if (!coupled.empty()) return change_all(body, force, moment);
        Twist& own = twists[static_cast<std::size_t>(body)];
        const Resistance& r = bodies[static_cast<std::size_t>(body)];
        own.v += {r.inverse_mass.x * force.x, r.inverse_mass.y * force.y, r.inverse_mass.z * force.z};
        own.w += r.inverse_inertia * moment;
    }
    void change_all(int body, const Vector3& force, const Vector3& moment) {
        const double wrench[6] = {force.x, force.y, force.z, moment.x, moment.y, moment.z};
        const std::size_t width = 6 * twists.size(), first = 6 * static_cast<std::size_t>(body);
        for (std::size_t k = 0; k < twists.size(); ++k)
            for (int i = 0; i < 6; ++i) {
                const double* const row = coupled.data() + (6 * k + static_cast<std::size_t>(i)) * width + first;
                double sum = 0.0;
                for (std::size_t j = 0; j < 6; ++j) sum += row[j] * wrench[j];
                (i < 3 ? twists[k].v[i] : twists[k].w[i - 3]) += sum;
            }
    }
    void push(const ContactPoint& p, const Vector3& impulse) {
        const Vector3 force = impulse.x * p.n + impulse.y * p.t1 + impulse.z * p.t2;
        if (p.b >= 0) change(p.b, force, cross(p.arm_b, force));
        if (p.a >= 0) change(p.a, -force, -cross(p.arm_a, force));
    }
    void twist(const ContactPoint& p, const Vector3& impulse) {
        const Vector3 moment = impulse.x * p.n + impulse.y * p.t1 + impulse.z * p.t2;
        if (p.b >= 0) change(p.b, {}, moment);
        if (p.a >= 0) change(p.a, {}, -moment);
    }
    void pull(const JointRow& link, double impulse) {
        for (std::size_t k = 0; k < link.moves.size(); ++k)
            twists[k].v += impulse * link.moves[k].v, twists[k].w += impulse * link.moves[k].w;
        if (!link.moves.empty()) return;
        for (std::size_t k = 0; k < link.bodies.size(); ++k)
            change(link.bodies[k], impulse * link.linear[k], impulse * link.angular[k]);
    }
    double rate(const JointRow& link) const {
        double sum = 0.0;
        for (std::size_t k = 0; k < link.bodies.size(); ++k)
            sum += dot(link.linear[k], at(link.bodies[k]).v) + dot(link.angular[k], at(link.bodies[k]).w);
        return sum;
    }
    // The impulse that brings a row to its target.
    double answer(const JointRow& link) const {
        return link.block > 0 ? link.impulse + (link.target - rate(link)) / link.block : link.limited(0.0);
    }

    // The velocities that one push alone gives.
    template <class Push, class Look>
    void alone_from_rest(Push&& push_it, Look&& look) {
        kept_.swap(twists);
        twists.assign(kept_.size(), Twist{});
        push_it(), look();
        twists.swap(kept_);
    }

    // The velocity at a place of a body by a unit of force at another.
    Vector3 answer(int body, const Vector3& force, const Vector3& moment, const Vector3& arm) const {
        const Resistance& r = bodies[static_cast<std::size_t>(body)];
        return Vector3{r.inverse_mass.x * force.x, r.inverse_mass.y * force.y, r.inverse_mass.z * force.z} +
               cross(r.inverse_inertia * moment, arm);
    }

    void prepare() {
        scale_ = 0.0;
        for (ContactPoint& p : points) {
            if (coupled.empty()) set_blocks(p);
            else set_coupled_blocks(p);
            const Vector3 u = velocity(p);
            // A contact that may stay open says nothing about the size of the problem.
            if (u.x < p.bound) scale_ = std::max(scale_, norm(u - Vector3{p.bound, 0, 0}));
        }
        for (JointRow& link : links) {
            link.block = 0.0;
            if (!coupled.empty() || !link.moves.empty())
                alone_from_rest([&] { pull(link, 1.0); }, [&] { link.block = rate(link); });
            else
                for (std::size_t k = 0; k < link.bodies.size(); ++k) {
                    const Resistance& r = bodies[static_cast<std::size_t>(link.bodies[k])];
                    const Vector3& l = link.linear[k];
                    link.block += r.inverse_mass.x * l.x * l.x + r.inverse_mass.y * l.y * l.y +
                                  r.inverse_mass.z * l.z * l.z + dot(link.angular[k], r.inverse_inertia * link.angular[k]);
                }
            const double off = rate(link) - link.target, most = link.block * (off > 0 ? -link.low : link.high);
            if (most > 0) scale_ = std::max(scale_, std::min(std::fabs(off), most));
        }
        if (scale_ == 0.0) scale_ = 1e-300;
    }

    void set_blocks(ContactPoint& p) const {
        const Vector3 frame[3] = {p.n, p.t1, p.t2};
        for (int j = 0; j < 3; ++j) {
            Vector3 u;
            if (p.b >= 0) u += answer(p.b, frame[j], cross(p.arm_b, frame[j]), p.arm_b);
            if (p.a >= 0) u += answer(p.a, frame[j], cross(p.arm_a, frame[j]), p.arm_a);
            for (int i = 0; i < 3; ++i) p.block(i, j) = dot(u, frame[i]);
        }
        Vector3 w;
        if (p.b >= 0) w += bodies[static_cast<std::size_t>(p.b)].inverse_inertia * p.n;
        if (p.a >= 0) w += bodies[static_cast<std::size_t>(p.a)].inverse_inertia * p.n;
        p.spin_block = dot(w, p.n);
        p.roll_block = 0.0;
        for (const Vector3& t : {p.t1, p.t2}) {
            Vector3 turn;
            if (p.b >= 0) turn += bodies[static_cast<std::size_t>(p.b)].inverse_inertia * t;
            if (p.a >= 0) turn += bodies[static_cast<std::size_t>(p.a)].inverse_inertia * t;
            p.roll_block = std::max(p.roll_block, dot(turn, t));
        }
    }

    void set_coupled_blocks(ContactPoint& p) {
        Vector3 turned;
        for (int j = 0; j < 3; ++j) {
            Vector3 unit;
            unit[j] = 1.0;
            alone_from_rest([&] { push(p, unit); }, [&] {
                const Vector3 u = velocity(p) - slip_in_frame(p);
                for (int i = 0; i < 3; ++i) p.block(i, j) = u[i];
            });
            alone_from_rest([&] { twist(p, unit); }, [&] { turned[j] = spin(p)[j]; });
        }
        p.spin_block = turned.x, p.roll_block = std::max(turned.y, turned.z);
    }

    static Vector3 slip_in_frame(const ContactPoint& p) { return {dot(p.slip, p.n), dot(p.slip, p.t1), dot(p.slip, p.t2)}; }

    double scale_ = 0.0;    // of the velocities that a problem is about

private:
    std::vector<Twist> kept_;
};

}  // namespace daedalus::contact
