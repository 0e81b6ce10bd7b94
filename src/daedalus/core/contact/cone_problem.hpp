// Contacts of rigid bodies as a cone complementarity problem, and its solution.
//
// Each contact has an impulse P = (P_n, P_t) and a relative velocity u that is linear in all impulses, with
//
//     0 <= P_n  ⟂  u_n >= bound,      |P_t| <= μ P_n,   P_t = -μ P_n u_t / |u_t| where u_t is not zero
//
// (Signorini and Coulomb). Sweeps solve one contact after the other exactly (block Gauss-Seidel: M. Jean, Comput. Methods
// Appl. Mech. Engrg. 177, 1999), which never needs the matrix. Where they are slow (a load passes one contact a sweep),
// Newton's method on the map of P. Alart and A. Curnier (same journal, 92, 1991) takes over, with a proximal term, so that
// contacts that share their load in many ways do no harm. Where its steps do not lessen the residual, some that cannot go
// astray come between (see convex_steps.hpp), as V. Acary, M. Brémond and O. Huber's comparison of methods suggests
// (Advanced Topics in Nonsmooth Dynamics, 2018): proximal ones were the only ones that solved nearly all problems.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "contact/body_newton.hpp"
#include "contact/convex_steps.hpp"
#include "contact/full_matrix.hpp"
#include "contact/islands.hpp"
#include "contact/linear_law.hpp"
#include "contact/one_contact.hpp"
#include "contact/pushed_bodies.hpp"

namespace daedalus::contact {

struct ConeSolution {
    double residual = 0.0;  // the largest violation, as a velocity
    int sweeps = 0, newton = 0;
    bool converged = true;
};

class ConeProblem : public PushedBodies {
public:
    // Velocities behind the impulses; `twists` holds those without them, impulses of the points are a first guess.
    ConeSolution solve(double tolerance, int most_sweeps, int most_newton, std::size_t largest_newton, int sweeps_at_a_time) {
        ConeSolution told;
        prepare();
        for (const ContactPoint& p : points) {
            push(p, p.impulse);
            if (p.resists_turning()) twist(p, p.twist_impulse);
        }
        for (const JointRow& link : links) pull(link, link.impulse);
        // Of a problem that is hardly more than rounding, rounding is all that is asked.
        scale_ = std::max(scale_, rounding_of_velocities() / tolerance);
        const double wanted = tolerance * scale_;
        for_each_island([&] {
            const ConeSolution found = solve_island(wanted, most_sweeps, most_newton, largest_newton, sweeps_at_a_time);
            told.residual = std::max(told.residual, found.residual);
            told.sweeps += found.sweeps, told.newton += found.newton;
        });
        told.converged = told.residual <= wanted;
        return told;
    }

    double scale() const { return scale_; }

private:
    // Sweeps between looks at the residual and other steps, at most; where sweeps are all there is, they double.
    static constexpr int most_patience = 64;
    // The share of a block that is added to its diagonal in Newton's matrix, which is singular where contacts are
    // redundant: it changes the way to the solution only, by as much in a step. So it is small at the end. Over the
    // velocities of bodies its inverse is the stiffness of a contact: of 16 digits it leaves nine.
    static constexpr double first_held_back = 1e-7, proximal = 1e-9, proximal_of_bodies = 1e-7;
    // Of one step over velocities; by judgement, a tenth of a second.
    static constexpr double most_operations = 2e8;

    // A step of Newton's method is worth it below this share of the residual; so many that are not are taken in a row.
    static constexpr double enough = 0.9;
    static constexpr int patience_of_newton = 6;
    // After one that is not, impulses are held back a hundred times as much (K. Levenberg, Q. Appl. Math. 2, 1944), up to
    // this share of a block: contacts that stick with their friction used up have a singular derivative.
    static constexpr double most_held_back = 1e-2;

    // Steps that cannot go astray come a few at a time, and twice as many where those did not lessen the residual; each
    // to this share of the residual before it, by at most so many equations. Contacts become ten times as stiff each
    // time, and beyond the usual where that does not lessen the residual: a load then has far to go. At the most,
    // rounding is a tenth of what is asked.
    static constexpr int first_convex = 5, most_equations = 40;
    static constexpr double share_of_residual = 0.05, first_stiffness = 1e3, usual_stiffness = 1e5, most_stiffness = 1e7;

    struct ImpulsesSoFar {
        std::vector<Twist> twists;
        std::vector<Vector3> points, turning;
        std::vector<double> links;
    };

    void keep(ImpulsesSoFar& to) const {
        to.twists = twists, to.points.resize(points.size()), to.turning.resize(points.size()), to.links.resize(links.size());
        for (std::size_t k = 0; k < points.size(); ++k) to.points[k] = points[k].impulse, to.turning[k] = points[k].twist_impulse;
        for (std::size_t k = 0; k < links.size(); ++k) to.links[k] = links[k].impulse;
    }
    void go_back(const ImpulsesSoFar& to) {
        twists = to.twists;
        for (std::size_t k = 0; k < points.size(); ++k) points[k].impulse = to.points[k], points[k].twist_impulse = to.turning[k];
        for (std::size_t k = 0; k < links.size(); ++k) links[k].impulse = to.links[k];
    }

    ConeSolution solve_island(double wanted, int most_sweeps, int most_newton, std::size_t largest_newton, int patience) {
        ConeSolution told;
        told.residual = residual();
        stiffness_ = first_stiffness, in_a_row_ = first_convex;
        while (told.residual > wanted && told.sweeps < most_sweeps) {
            for (int k = 0; k < patience && told.sweeps < most_sweeps; ++k, ++told.sweeps) sweep(told.sweeps % 2 == 1);
            told.residual = residual();
            if (told.residual <= wanted) break;
            if (!resist_turning()) told.newton += newton(told.residual, wanted, most_newton - told.newton, largest_newton);
            told.newton += convex_steps(told.residual, wanted, most_newton - told.newton);
            if (!answer_alone() || told.newton >= most_newton) patience = std::min(2 * patience, most_patience);
        }
        return told;
    }

    // Whether some contacts resist rolling or spinning, which Newton's steps on the laws themselves leave out.
    bool resist_turning() const {
        return std::any_of(points.begin(), points.end(), [](const ContactPoint& p) { return p.resists_turning(); });
    }

    // Whether each body answers to its own pushes alone.
    bool answer_alone() const {
        return coupled.empty() && std::all_of(links.begin(), links.end(), [](const JointRow& link) { return link.moves.empty(); });
    }

    // Some steps of Newton's method, and how many. A step that changes which contacts are open or slide may raise the
    // residual before the next ones lessen it, so that a few of those are taken; the best impulses stay.
    int newton(double& best, double wanted, int most, std::size_t largest) {
        int steps = 0;
        keep(kept_);
        bool lost = false;
        held_back_ = first_held_back;
        double now = best;
        for (int worse = 0; steps < most && best > wanted && worse <= patience_of_newton; ++steps) {
            now = newton_step(now, largest);
            if (now < 0) break;
            lost = !(now < enough * best);
            worse = lost ? worse + 1 : 0;
            held_back_ = lost ? std::min(100 * held_back_, most_held_back) : held_back_ / 100;
            if (!lost) best = now, keep(kept_);
        }
        if (lost) go_back(kept_);
        return steps;
    }

    // Some steps that cannot go astray, and how many equations they solved; the best impulses stay.
    int convex_steps(double& best, double wanted, int most) {
        if (!(best > wanted) || most <= 0 || !answer_alone()) return 0;
        convex_.arrange(bodies, points, links);
        keep(kept_);
        std::vector<Vector3> u(points.size()), turning(points.size());
        std::vector<double> rates(links.size());
        bool lost = false;
        double now = best;
        const double first = best;
        for (int k = 0; k < in_a_row_ && best > wanted && convex_.solved < most; ++k) {
            for (std::size_t i = 0; i < points.size(); ++i) u[i] = velocity(points[i]), turning[i] = spin(points[i]);
            for (std::size_t i = 0; i < links.size(); ++i) rates[i] = rate(links[i]);
            const double small = std::max(0.1 * wanted, share_of_residual * now);
            if (!convex_.step(points, u, turning, links, rates, stiffness_, small, most_equations)) break;
            for (std::size_t i = 0; i < points.size(); ++i) {
                points[i].impulse += convex_.changes[i], push(points[i], convex_.changes[i]);
                if (!points[i].resists_turning()) continue;
                points[i].twist_impulse += convex_.turning_changes[i], twist(points[i], convex_.turning_changes[i]);
            }
            for (std::size_t i = 0; i < links.size(); ++i)
                links[i].impulse += convex_.link_changes[i], pull(links[i], convex_.link_changes[i]);
            const double before = now;
            now = residual();
            lost = !(now < best);
            if (!lost) best = now, keep(kept_);
            if (stiffness_ < usual_stiffness || !(now < enough * before)) stiffness_ = std::min(10 * stiffness_, most_stiffness);
        }
        if (lost) go_back(kept_);
        if (!(best < enough * first)) in_a_row_ *= 2;
        return convex_.solved;
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
        for (ContactPoint& p : points)
            if (p.resists_turning()) one_twist(p);
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
            const double length = norm(fresh.y, fresh.z);
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
            if (p.resists_turning()) most = std::max(most, length_of_turning(p) * off_in_turning(p, pressed));
            if (!(p.friction > 0)) continue;
            double y = p.impulse.y - r * u.y, z = p.impulse.z - r * u.z;
            const double length = norm(y, z), cone = p.friction * pressed;
            if (length > cone) y *= cone / length, z *= cone / length;
            most = std::max(most, norm(p.impulse.y - y, p.impulse.z - z) / r);
        }
        for (const JointRow& link : links)
            most = std::max(most, link.has_limits() ? std::fabs(link.limited(answer(link)) - link.impulse) * link.block
                                                    : std::fabs(rate(link) - link.target));
        return most;
    }

    // The same of the resistance to rolling and spinning, as an angular velocity.
    double off_in_turning(const ContactPoint& p, double pressed) const {
        const Vector3 w = spin(p), old = p.twist_impulse;
        double most = 0.0;
        if (p.spinning > 0 && p.spin_block > 0)
            most = std::fabs(old.x - std::clamp(old.x - w.x / p.spin_block, -p.spinning * pressed, p.spinning * pressed)) * p.spin_block;
        if (p.rolling > 0 && p.roll_block > 0) {
            double y = old.y - w.y / p.roll_block, z = old.z - w.z / p.roll_block;
            const double turn = norm(y, z), held = p.rolling * pressed;
            if (turn > held) y *= held / turn, z *= held / turn;
            most = std::max(most, norm(old.y - y, old.z - z) * p.roll_block);
        }
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
        keep(before_);
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
            go_back(before_);
        }
        return std::isfinite(least) ? take(best_share) : -1.0;
    }

    double held_back(double least) const { return std::max(held_back_, least); }

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


    BodyNewton by_bodies_;
    ConvexSteps convex_;
    std::vector<LinearLaw> laws_, link_laws_;
    std::vector<double> jacobian_, delassus_, right_;
    std::vector<std::size_t> active_;
    ImpulsesSoFar kept_, before_;
    double held_back_ = first_held_back, stiffness_ = first_stiffness;
    int in_a_row_ = first_convex;
};

}  // namespace daedalus::contact
