// Contacts of rigid bodies as a cone complementarity problem, and its solution.
//
// Each contact has an impulse P = (P_n, P_t) and a relative velocity u that is linear in all impulses, with
//
//     0 <= P_n  ⟂  u_n >= bound,      |P_t| <= μ P_n,   P_t = -μ P_n u_t / |u_t| where u_t is not zero
//
// (Signorini and Coulomb). Sweeps solve one contact after the other exactly (block Gauss-Seidel: M. Jean, Comput. Methods
// Appl. Mech. Engrg. 177, 1999), which never needs the matrix. Where they are slow (a load passes one contact a sweep),
// Newton's method on the map of P. Alart and A. Curnier (same journal, 92, 1991) takes over, with a proximal term, so that
// contacts that share their load in many ways do no harm, and goes back to sweeps where steps do not lessen the residual.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "contact/body_newton.hpp"
#include "contact/full_matrix.hpp"
#include "contact/islands.hpp"
#include "contact/linear_law.hpp"
#include "contact/one_contact.hpp"

namespace daedalus::contact {

struct ConeSolution {
    double residual = 0.0;  // the largest violation, as a velocity
    int sweeps = 0, newton = 0;
    bool converged = true;
};

class ConeProblem {
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

    // Velocities behind the impulses; `twists` holds those without them, impulses of the points are a first guess.
    ConeSolution solve(double tolerance, int most_sweeps, int most_newton, std::size_t largest_newton) {
        ConeSolution told;
        prepare();
        for (const ContactPoint& p : points) {
            push(p, p.impulse);
            if (p.rolling > 0 || p.spinning > 0) twist(p, p.twist_impulse), twisted_ = true;
        }
        for (const JointRow& link : links) pull(link, link.impulse);
        // Of a problem that is hardly more than rounding, rounding is all that is asked.
        scale_ = std::max(scale_, rounding_of_velocities() / tolerance);
        const double wanted = tolerance * scale_;
        for_each_island([&] {
            const ConeSolution found = solve_island(wanted, most_sweeps, most_newton, largest_newton);
            told.residual = std::max(told.residual, found.residual);
            told.sweeps += found.sweeps, told.newton += found.newton;
        });
        told.converged = told.residual <= wanted;
        return told;
    }

    double scale() const { return scale_; }

private:
    // Sweeps before the residual is looked at for the first time.
    static constexpr int first_patience = 20;
    // The share of a block that is added to its diagonal in Newton's matrix, which is singular where contacts are
    // redundant: far above rounding, and it changes the way to the solution only, not the solution.
    static constexpr double proximal = 1e-9;
    // The same over velocities, where its inverse is the stiffness of a contact: of 16 digits it leaves nine, and the way
    // to the solution shrinks by it, times what a load has to pass through, in every step.
    static constexpr double proximal_of_bodies = 1e-7;
    // Of one step over velocities; by judgement, a tenth of a second.
    static constexpr double most_operations = 2e8;

    // A step of Newton's method is worth it below this share of the residual; so many that are not are taken in a row.
    static constexpr double enough = 0.9;
    static constexpr int patience_of_newton = 4;
    // After one that is not, impulses are held back a hundred times as much (K. Levenberg, Q. Appl. Math. 2, 1944), up to
    // this share of a block: contacts that stick with their friction used up have a singular derivative.
    static constexpr double most_held_back = 1e-2;

    struct ImpulsesSoFar {
        std::vector<Twist> twists;
        std::vector<ContactPoint> points;
        std::vector<JointRow> links;
    };

    const Twist& at(int body) const { return twists[static_cast<std::size_t>(body)]; }

    ConeSolution solve_island(double wanted, int most_sweeps, int most_newton, std::size_t largest_newton) {
        ConeSolution told;
        told.residual = residual();
        int patience = first_patience;
        while (told.residual > wanted && told.sweeps < most_sweeps) {
            for (int k = 0; k < patience && told.sweeps < most_sweeps; ++k, ++told.sweeps) sweep(told.sweeps % 2 == 1);
            told.residual = residual();
            if (told.residual <= wanted) break;
            if (!twisted_) told.newton += newton(told.residual, wanted, most_newton - told.newton, largest_newton);
            patience = std::min(2 * patience, 64);
        }
        return told;
    }

    // Some steps of Newton's method, and how many. A step that changes which contacts are open or slide may raise the
    // residual before the next ones lessen it, so that a few of those are taken; the best impulses stay.
    int newton(double& best, double wanted, int most, std::size_t largest) {
        int steps = 0;
        ImpulsesSoFar kept{twists, points, links};
        bool lost = false;
        held_back_ = 1.0;
        double now = best;
        for (int worse = 0; steps < most && best > wanted && worse <= patience_of_newton; ++steps) {
            now = newton_step(now, largest);
            if (now < 0) break;
            lost = !(now < enough * best);
            worse = lost ? worse + 1 : 0;
            held_back_ = lost ? 100 * held_back_ : std::max(held_back_ / 100, 1.0);
            if (!lost) best = now, kept = {twists, points, links};
        }
        if (lost) twists = kept.twists, points = kept.points, links = kept.links;
        return steps;
    }

    // Solves for bodies that touch each other, or that rows join, apart from all others: `points` and `links` are theirs.
    template <class Solve>
    void for_each_island(Solve&& solve_it) {
        const std::vector<Island> islands = coupled.empty() ? islands_of(points, links, twists.size()) : std::vector<Island>{};
        if (islands.size() < 2) return solve_it();
        std::vector<ContactPoint> all_points;
        std::vector<JointRow> all_links;
        all_points.swap(points), all_links.swap(links);
        for (const Island& own : islands) {
            points.clear(), links.clear();
            for (const std::size_t k : own.points) points.push_back(all_points[k]);
            for (const std::size_t k : own.links) links.push_back(all_links[k]);
            solve_it();
            for (std::size_t k = 0; k < points.size(); ++k) all_points[own.points[k]] = points[k];
            for (std::size_t k = 0; k < links.size(); ++k) all_links[own.links[k]] = links[k];
        }
        points.swap(all_points), links.swap(all_links);
    }

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

    Vector3 spin(const ContactPoint& p) const {
        Vector3 w;
        if (p.b >= 0) w += at(p.b).w;
        if (p.a >= 0) w -= at(p.a).w;
        return {dot(w, p.n), dot(w, p.t1), dot(w, p.t2)};
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
        scale_ = 0.0, twisted_ = false;
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

    void sweep(bool backwards) {
        for (JointRow& link : links) {
            if (!(link.block > 0)) continue;
            double by = (link.target - rate(link)) / link.block;
            if (link.has_limits()) by = link.limited(link.impulse + by) - link.impulse;
            link.impulse += by;
            pull(link, by);
        }
        const std::size_t count = points.size();
        for (std::size_t k = 0; k < count; ++k) one_contact(points[backwards ? count - 1 - k : k]);
        if (twisted_)
            for (ContactPoint& p : points) one_twist(p);
    }

    // The exact answer of one contact to what the others do.
    void one_contact(ContactPoint& p) {
        const Vector3 u = velocity(p), old = p.impulse, given = u - p.block * old;
        const Vector3 fresh = impulse_of_one(p.block, p.friction, {given.x - p.bound, given.y, given.z});
        const Vector3 by = fresh - old;
        if (by.x == 0 && by.y == 0 && by.z == 0) return;
        p.impulse = fresh;
        push(p, by);
    }

    void one_twist(ContactPoint& p) {
        const Vector3 w = spin(p), old = p.twist_impulse;
        Vector3 fresh = old;
        if (p.spinning > 0 && p.spin_block > 0) {
            const double most = p.spinning * p.impulse.x;
            fresh.x = std::clamp(old.x - w.x / p.spin_block, -most, most);
        }
        if (p.rolling > 0 && p.roll_block > 0) {
            const double most = p.rolling * p.impulse.x;
            fresh.y = old.y - w.y / p.roll_block, fresh.z = old.z - w.z / p.roll_block;
            const double length = std::hypot(fresh.y, fresh.z);
            if (length > most) fresh.y *= most / length, fresh.z *= most / length;
        }
        p.twist_impulse = fresh;
        twist(p, fresh - old);
    }

    // How far the map of Alart and Curnier is from zero, as a velocity.
    double residual() const {
        double most = 0.0;
        for (const ContactPoint& p : points) {
            const double r = step_of_map(p);
            const Vector3 u = velocity(p);
            const double pressed = std::max(0.0, p.impulse.x - r * (u.x - p.bound));
            most = std::max(most, std::fabs(p.impulse.x - pressed) / r);
            if (!(p.friction > 0)) continue;
            double y = p.impulse.y - r * u.y, z = p.impulse.z - r * u.z;
            const double length = std::hypot(y, z), cone = p.friction * pressed;
            if (length > cone) y *= cone / length, z *= cone / length;
            most = std::max(most, std::hypot(p.impulse.y - y, p.impulse.z - z) / r);
            if (p.rolling > 0 && p.roll_block > 0) {
                const Vector3 w = spin(p);
                double a = p.twist_impulse.y - w.y / p.roll_block, b = p.twist_impulse.z - w.z / p.roll_block;
                const double turn = std::hypot(a, b), held = p.rolling * pressed;
                if (turn > held) a *= held / turn, b *= held / turn;
                most = std::max(most, std::hypot(p.twist_impulse.y - a, p.twist_impulse.z - b) * p.roll_block * norm(p.arm_b));
            }
        }
        for (const JointRow& link : links)
            most = std::max(most, link.has_limits() ? std::fabs(link.limited(answer(link)) - link.impulse) * link.block
                                                    : std::fabs(rate(link) - link.target));
        return most;
    }

    // One step of Newton's method; the residual behind it, negative where there is none. Contacts that stay open are left
    // out. Small problems are solved over impulses, others over the velocities of bodies.
    double newton_step(double before, std::size_t largest) {
        active_.clear();
        for (std::size_t k = 0; k < points.size(); ++k) {
            const ContactPoint& p = points[k];
            if (p.impulse.x != 0 || p.impulse.x - step_of_map(p) * (velocity(p).x - p.bound) > 0) active_.push_back(k);
        }
        const std::size_t contacts = active_.size(), n = 3 * contacts + links.size();
        if (n == 0) return -1.0;
        if (n <= largest ? !over_impulses(n) : !over_velocities()) return -1.0;
        const ImpulsesSoFar before_it{twists, points, links};
        double least = std::numeric_limits<double>::infinity(), best_share = 1.0;
        const auto take = [&](double share) {
            for (std::size_t k = 0; k < contacts; ++k) {
                const Vector3 by = share * Vector3{right_[3 * k], right_[3 * k + 1], right_[3 * k + 2]};
                points[active_[k]].impulse += by;
                push(points[active_[k]], by);
            }
            for (std::size_t k = 0; k < links.size(); ++k) {
                links[k].impulse += share * right_[3 * contacts + k];
                pull(links[k], share * right_[3 * contacts + k]);
            }
            return residual();
        };
        for (double share = 1.0; share > 0.1; share *= 0.5) {
            const double after = take(share);
            if (after < enough * before) return after;
            if (after < least) least = after, best_share = share;
            twists = before_it.twists, points = before_it.points, links = before_it.links;
        }
        return std::isfinite(least) ? take(best_share) : -1.0;
    }

    double held_back(double share) const { return std::min(share * held_back_, most_held_back); }

    // The law of a row of a joint, as contacts have theirs.
    LinearLaw law_of(const JointRow& link, double share) const {
        LinearLaw law;
        const double wanted = link.has_limits() ? answer(link) : 0.0;
        if (link.has_limits() && wanted != link.limited(wanted))
            law.impulse(0, 0) = link.block, law.right.x = link.block * (link.limited(wanted) - link.impulse);
        else law.impulse(0, 0) = share * link.block, law.velocity(0, 0) = 1.0, law.right.x = link.target - rate(link);
        return law;
    }

    // The step over impulses, into `right_`: the matrix is full.
    bool over_impulses(std::size_t n) {
        const std::size_t contacts = active_.size();
        delassus(n);
        jacobian_.assign(n * n, 0.0), right_.assign(n, 0.0);
        const auto write = [&](std::size_t first, std::size_t rows, const LinearLaw& law) {
            for (std::size_t i = 0; i < rows; ++i) {
                double* const line = jacobian_.data() + (first + i) * n;
                for (std::size_t m = 0; m < rows; ++m) {
                    const double by = law.velocity(static_cast<int>(i), static_cast<int>(m));
                    const double* const own = delassus_.data() + (first + m) * n;
                    if (by != 0)
                        for (std::size_t j = 0; j < n; ++j) line[j] += by * own[j];
                    line[first + m] += law.impulse(static_cast<int>(i), static_cast<int>(m));
                }
                right_[first + i] = law.right[static_cast<int>(i)];
            }
        };
        for (std::size_t k = 0; k < contacts; ++k)
            write(3 * k, 3, law_near(points[active_[k]], velocity(points[active_[k]]), held_back(proximal)));
        for (std::size_t k = 0; k < links.size(); ++k) write(3 * contacts + k, 1, law_of(links[k], proximal));
        return eliminate(jacobian_, right_);
    }

    // The same over the velocities of bodies, where each of them answers alone.
    bool over_velocities() {
        if (!coupled.empty()) return false;
        laws_.clear(), link_laws_.clear();
        for (const std::size_t k : active_) laws_.push_back(law_near(points[k], velocity(points[k]), held_back(proximal_of_bodies)));
        for (const JointRow& link : links) {
            if (!link.moves.empty() || !(link.block > 0)) return false;
            link_laws_.push_back(law_of(link, proximal_of_bodies));
        }
        if (!by_bodies_.solve(bodies, points, active_, laws_, links, link_laws_, most_operations)) return false;
        right_.clear();
        for (const Vector3& by : by_bodies_.changes) right_.insert(right_.end(), {by.x, by.y, by.z});
        right_.insert(right_.end(), by_bodies_.link_changes.begin(), by_bodies_.link_changes.end());
        return true;
    }

    // Velocities by unit impulses, all active contacts and links.
    void delassus(std::size_t n) {
        delassus_.assign(n * n, 0.0);
        const std::vector<Twist> kept = twists;
        const std::size_t contacts = active_.size();
        std::fill(twists.begin(), twists.end(), Twist{});
        for (std::size_t j = 0; j < n; ++j) {
            const ContactPoint* const own = j < 3 * contacts ? &points[active_[j / 3]] : nullptr;
            const JointRow* const link = own != nullptr ? nullptr : &links[j - 3 * contacts];
            if (own != nullptr) {
                Vector3 unit;
                unit[static_cast<int>(j % 3)] = 1.0;
                push(*own, unit);
            } else pull(*link, 1.0);
            for (std::size_t k = 0; k < contacts; ++k) {
                const ContactPoint& p = points[active_[k]];
                const Vector3 u = velocity(p) - slip_in_frame(p);
                for (int i = 0; i < 3; ++i) delassus_[(3 * k + static_cast<std::size_t>(i)) * n + j] = u[i];
            }
            for (std::size_t k = 0; k < links.size(); ++k) delassus_[(3 * contacts + k) * n + j] = rate(links[k]);
            if (!coupled.empty() || (link != nullptr && !link->moves.empty())) {
                std::fill(twists.begin(), twists.end(), Twist{});
            } else if (own != nullptr) {
                if (own->a >= 0) twists[static_cast<std::size_t>(own->a)] = {};
                if (own->b >= 0) twists[static_cast<std::size_t>(own->b)] = {};
            } else
                for (const int body : link->bodies) twists[static_cast<std::size_t>(body)] = {};
        }
        twists = kept;
    }

    static Vector3 slip_in_frame(const ContactPoint& p) { return {dot(p.slip, p.n), dot(p.slip, p.t1), dot(p.slip, p.t2)}; }

    BodyNewton by_bodies_;
    std::vector<LinearLaw> laws_, link_laws_;
    std::vector<double> jacobian_, delassus_, right_;
    std::vector<std::size_t> active_;
    std::vector<Twist> kept_;
    double scale_ = 0.0, held_back_ = 1.0;
    bool twisted_ = false;

};

}  // namespace daedalus::contact
