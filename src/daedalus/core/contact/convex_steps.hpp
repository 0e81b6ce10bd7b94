// Steps to the impulses of contacts that cannot go astray, for where Newton's method on the laws themselves does.
//
// With the sliding speeds of the last impulses, s = μ |u_t|, put onto the normal velocities, Coulomb's law is that of a
// convex problem (G. de Saxcé, Z.-Q. Feng, Math. Comput. Modelling 28, 1998):
//
//     ũ = u + (s - bound) n,   P in the cone |P_t| <= μ P_n,   ũ in its dual cone,   P · ũ = 0.
//
// The method of multipliers (R. T. Rockafellar, Math. Oper. Res. 1, 1976) replaces P by its projection onto the cone,
// Π(P - r ũ), with ũ behind those impulses. That is the minimum over all velocities of
//
//     ½ (v - v₀)ᵀ M (v - v₀) + Σ |Π(P - r ũ)|² / 2r,
//
// a convex function with a continuous slope, for which Newton's method with a line search always comes to an end. Then s
// is taken anew. Resistance to rolling and spinning is the same in more directions (V. Acary, F. Bourrier, Nonlinear Dyn.
// 106, 2021): s has its sliding speeds, too, and the cone its limits. Unknowns are scaled, v = v₀ + L y with the inverse masses L Lᵀ, so that zeros among those do no harm.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "contact/block_cholesky.hpp"
#include "contact/false_position.hpp"
#include "contact/linear_law.hpp"
#include "contact/rows.hpp"

namespace daedalus::contact {

// Impulses, or velocities, of a contact: along the normal and across; then moments, or turning, about the normal and
// across, scaled by a length so that all compare.
using Six = std::array<double, 6>;

// How far impulses reach across the normal one, in three groups of directions: friction, spinning, rolling.
struct Cone {
    static constexpr std::size_t begins[4] = {1, 3, 4, 6};
    std::size_t rows = 3, groups = 1;
    double length = 1.0;  // what moments are divided by
    double width[3] = {};

    explicit Cone(const ContactPoint& p) : width{p.friction, 0, 0} {
        if (!p.resists_turning()) return;
        rows = 6, groups = 3, length = length_of_turning(p);
        if (!(length > 0)) rows = 3, groups = 1, length = 1.0;
        else width[1] = p.spinning / length, width[2] = p.rolling / length;
    }

    // The projection of z, and its derivative, which is symmetric: the normal impulse n has the least sum of squares
    // (n - z_n)² + Σ max(0, |z_g| - w_g n)².
    Six onto(const Six& z, Six* slope) const {
        double size[3] = {}, normal = 0.0, share = 1.0;
        bool cut[3] = {};
        for (std::size_t g = 0; g < groups; ++g) {
            for (std::size_t i = begins[g]; i < begins[g + 1]; ++i) size[g] += z[i] * z[i];
            size[g] = std::sqrt(size[g]), cut[g] = size[g] > 0;
        }
        // With fewer groups cut n only grows: those that are not cut at the end have been let go one after the other.
        for (bool goes_on = true; goes_on;) {
            double sum = z[0];
            share = 1.0;
            for (std::size_t g = 0; g < groups; ++g)
                if (cut[g]) sum += width[g] * size[g], share += width[g] * width[g];
            normal = sum / share, goes_on = false;
            for (std::size_t g = 0; g < groups; ++g)
                if (cut[g] && size[g] <= width[g] * normal) cut[g] = false, goes_on = true;
        }
        Six found{}, along{};
        if (slope != nullptr) std::fill(slope, slope + 6, Six{});
        if (!(normal > 0)) return found;
        found[0] = normal, along[0] = 1.0;
        for (std::size_t g = 0; g < groups; ++g)
            for (std::size_t i = begins[g]; i < begins[g + 1]; ++i) {
                found[i] = cut[g] ? width[g] * normal * z[i] / size[g] : z[i];
                along[i] = cut[g] ? width[g] * z[i] / size[g] : 0.0;
            }
        if (slope == nullptr) return found;
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t k = 0; k < rows; ++k) slope[i][k] = along[i] * along[k] / share;
        for (std::size_t g = 0; g < groups; ++g) {
            const double turn = cut[g] ? width[g] * normal / size[g] : 1.0;
            for (std::size_t i = begins[g]; i < begins[g + 1]; ++i)
                for (std::size_t k = begins[g]; k < begins[g + 1]; ++k)
                    slope[i][k] += turn * ((i == k) - (cut[g] ? z[i] * z[k] / (size[g] * size[g]) : 0.0));
        }
        return found;
    }
};

class ConvexSteps {
public:
    std::vector<Vector3> changes, turning_changes;  // of the impulses of contacts, and of their moments
    std::vector<double> link_changes;               // of those of joints
    int solved = 0;  // equations, since the structure was arranged

    // The structure of contacts and joints that keep their places in the following steps.
    void arrange(const std::vector<Resistance>& bodies, const std::vector<ContactPoint>& points, const std::vector<JointRow>& links) {
        solved = 0, place_.assign(bodies.size(), -1), roots_.clear(), parts_.clear(), starts_.assign(1, 0), cones_.clear();
        std::vector<std::pair<int, int>> pairs;
        const auto place = [&](int body) {
            int& own = place_[static_cast<std::size_t>(body)];
            if (own < 0) own = static_cast<int>(roots_.size()), roots_.push_back(root_of(bodies[static_cast<std::size_t>(body)]));
            return own;
        };
        const auto close = [&] {
            for (std::size_t i = starts_.back(); i < parts_.size(); ++i)
                for (std::size_t k = starts_.back(); k < i; ++k)
                    if (parts_[i].body != parts_[k].body) pairs.push_back({parts_[i].body, parts_[k].body});
            starts_.push_back(parts_.size());
        };
        for (const ContactPoint& p : points) {
            const Vector3 frame[3] = {p.n, p.t1, p.t2};
            const Cone& cone = cones_.emplace_back(p);
            for (const bool second : {true, false}) {
                const int body = second ? p.b : p.a;
                if (body < 0) continue;
                ScaledRows part;
                part.body = place(body);
                const MassRoot& root = roots_[static_cast<std::size_t>(part.body)];
                const double sign = second ? 1.0 : -1.0;
                for (std::size_t i = 0; i < 3; ++i) part.set(i, root, sign * frame[i], sign * cross(second ? p.arm_b : p.arm_a, frame[i]));
                for (std::size_t i = 3; i < cone.rows; ++i) part.set(i, root, {}, (sign * cone.length) * frame[i - 3]);
                parts_.push_back(part);
            }
            close();
        }
        for (const JointRow& link : links) {
            for (std::size_t k = 0; k < link.bodies.size(); ++k) {
                ScaledRows part;
                part.body = place(link.bodies[k]);
                part.set(0, roots_[static_cast<std::size_t>(part.body)], link.linear[k], link.angular[k]);
                parts_.push_back(part);
            }
            close();
        }
        matrix_.arrange(roots_.size(), pairs);
    }

    // One step of the method of multipliers: `changes` of impulses that have moved bodies to the velocities u, the turning
    // of contacts, and rates.
    // stiffness: r in units of a contact's own; small: a velocity that need not be better known; false where nothing came.
    bool step(const std::vector<ContactPoint>& points, const std::vector<Vector3>& u, const std::vector<Vector3>& turning,
              const std::vector<JointRow>& links, const std::vector<double>& rates, double stiffness, double small,
              int most) {
        const std::size_t n = BlockCholesky::side * roots_.size();
        y_.assign(n, 0.0), given_.assign(n, 0.0);
        // The scaled velocities behind the impulses so far.
        set_aims(points, u, turning, stiffness);
        for (std::size_t k = 0; k < points.size(); ++k) push(k, cones_[k].rows, before_[k], given_);
        for (std::size_t k = 0; k < links.size(); ++k) push(points.size() + k, 1, {links[k].impulse}, given_);
        for (int k = 0;; ++k) {
            look(points, links, rates, stiffness);
            if (fastest(slope_) <= small || k == most) break;
            by_ = slope_;
            ++solved;
            if (!matrix_.factor()) return false;
            matrix_.solve(by_);
            double down = 0.0;
            for (std::size_t i = 0; i < n; ++i) down -= slope_[i] * by_[i];
            if (!(down < 0)) break;
            const double share = share_along(links, stiffness, down);
            for (std::size_t i = 0; i < n; ++i) y_[i] -= share * by_[i];
        }
        changes.clear(), turning_changes.clear(), link_changes.clear();
        for (std::size_t k = 0; k < points.size(); ++k) {
            Six by = pushes_[k];
            for (std::size_t i = 0; i < 6; ++i) by[i] -= before_[k][i];
            changes.push_back({by[0], by[1], by[2]});
            turning_changes.push_back(cones_[k].length * Vector3{by[3], by[4], by[5]});
        }
        for (std::size_t k = 0; k < links.size(); ++k) link_changes.push_back(pushes_[points.size() + k][0] - links[k].impulse);
        return true;
    }

private:
    static constexpr int most_looks = 20;
    static constexpr double flat = 0.1;

    // L of inverse masses L Lᵀ.
    struct MassRoot {
        Vector3 linear;
        Matrix3 angular;
    };
    // A body's part in the velocities of a contact, over its scaled unknowns.
    struct ScaledRows {
        int body = -1;
        double rows[6][BlockCholesky::side] = {};

        void set(std::size_t i, const MassRoot& root, const Vector3& linear, const Vector3& angular) {
            const Vector3 turn = turned_back(root.angular, angular);
            for (int k = 0; k < 3; ++k) rows[i][k] = linear[k] * root.linear[k], rows[i][3 + k] = turn[k];
        }
    };

    static MassRoot root_of(const Resistance& r) {
        MassRoot root;
        for (int k = 0; k < 3; ++k) root.linear[k] = std::sqrt(r.inverse_mass[k]);
        // Without the rows in which it is zero: those of a planar body, or of a particle.
        for (int j = 0; j < 3; ++j) {
            double pivot = r.inverse_inertia(j, j);
            for (int k = 0; k < j; ++k) pivot -= root.angular(j, k) * root.angular(j, k);
            if (!(pivot > rounding * r.inverse_inertia(j, j))) continue;
            root.angular(j, j) = std::sqrt(pivot);
            for (int i = j + 1; i < 3; ++i) {
                double sum = r.inverse_inertia(i, j);
                for (int k = 0; k < j; ++k) sum -= root.angular(i, k) * root.angular(j, k);
                root.angular(i, j) = sum / root.angular(j, j);
            }
        }
        return root;
    }

    // Impulses, with moments scaled, and the velocities that they have come from, with what sliding adds to the normal one.
    void set_aims(const std::vector<ContactPoint>& points, const std::vector<Vector3>& u, const std::vector<Vector3>& turning,
                  double stiffness) {
        before_.resize(points.size()), ahead_.resize(points.size()), stiff_.resize(points.size());
        for (std::size_t k = 0; k < points.size(); ++k) {
            const ContactPoint& p = points[k];
            const Cone& cone = cones_[k];
            const Vector3 t = (1.0 / cone.length) * p.twist_impulse, w = cone.length * turning[k];
            before_[k] = {p.impulse.x, p.impulse.y, p.impulse.z}, ahead_[k] = {u[k].x, u[k].y, u[k].z};
            ahead_[k][0] += cone.width[0] * norm(u[k].y, u[k].z) - p.bound;
            if (cone.rows > 3) {
                for (int i = 0; i < 3; ++i) before_[k][static_cast<std::size_t>(3 + i)] = t[i], ahead_[k][static_cast<std::size_t>(3 + i)] = w[i];
                ahead_[k][0] += cone.width[1] * std::fabs(w.x) + cone.width[2] * norm(w.y, w.z);
            }
            stiff_[k] = stiffness * step_of_map(p);
        }
    }

    void push(std::size_t row, std::size_t rows, const Six& impulse, std::vector<double>& to) const {
        for (std::size_t k = starts_[row]; k < starts_[row + 1]; ++k) {
            double* const own = &to[BlockCholesky::side * static_cast<std::size_t>(parts_[k].body)];
            for (std::size_t i = 0; i < rows; ++i)
                for (std::size_t j = 0; j < BlockCholesky::side; ++j) own[j] += parts_[k].rows[i][j] * impulse[i];
        }
    }

    Six moved(std::size_t row, std::size_t rows, const std::vector<double>& y) const {
        Six u{};
        for (std::size_t k = starts_[row]; k < starts_[row + 1]; ++k) {
            const double* const own = &y[BlockCholesky::side * static_cast<std::size_t>(parts_[k].body)];
            for (std::size_t i = 0; i < rows; ++i)
                for (std::size_t j = 0; j < BlockCholesky::side; ++j) u[i] += parts_[k].rows[i][j] * own[j];
        }
        return u;
    }

    // How far to go along -by_: where the slope along it has fallen to a share of what it is at the beginning.
    double share_along(const std::vector<JointRow>& links, double stiffness, double down) {
        const std::size_t count = cones_.size();
        across_.resize(count + links.size());
        for (std::size_t k = 0; k < count + links.size(); ++k) across_[k] = moved(k, k < count ? cones_[k].rows : 1, by_);
        double first = 0.0, bend = 0.0;
        for (std::size_t i = 0; i < y_.size(); ++i) first -= by_[i] * (y_[i] + given_[i]), bend += by_[i] * by_[i];
        const auto slope_at = [&](double share) {
            double slope = first + share * bend;
            for (std::size_t k = 0; k < count; ++k) {
                Six aim = aims_[k];
                for (std::size_t i = 0; i < cones_[k].rows; ++i) aim[i] += share * stiff_[k] * across_[k][i];
                const Six own = cones_[k].onto(aim, nullptr);
                for (std::size_t i = 0; i < cones_[k].rows; ++i) slope += own[i] * across_[k][i];
            }
            for (std::size_t k = 0; k < links.size(); ++k) {
                if (!(links[k].block > 0)) continue;
                const double along = across_[count + k][0];
                slope += links[k].limited(aims_[count + k][0] + share * stiffness / links[k].block * along) * along;
            }
            return slope;
        };
        const double whole = slope_at(1.0);
        if (whole <= flat * -down) return 1.0;
        FalsePosition bracket{0.0, 1.0, down, whole};
        for (int k = 0; k < most_looks; ++k) {
            const double s = bracket.next(), value = slope_at(s);
            if (std::fabs(value) <= flat * -down) return s;
            bracket.take(s, value);
        }
        return bracket.low > 0 ? bracket.low : bracket.high;
    }

    // Of a scaled slope, the largest velocity that it stands for.
    double fastest(const std::vector<double>& slope) const {
        double most = 0.0;
        for (std::size_t k = 0; k < roots_.size(); ++k)
            for (int i = 0; i < 3; ++i)
                most = std::max(most, std::fabs(roots_[k].linear[i] * slope[BlockCholesky::side * k + static_cast<std::size_t>(i)]));
        return most;
    }

    // The function's slope at the velocities y_ beyond the present ones, and its second derivative.
    void look(const std::vector<ContactPoint>& points, const std::vector<JointRow>& links, const std::vector<double>& rates,
              double stiffness) {
        const std::size_t n = y_.size();
        slope_.resize(n), pushes_.resize(points.size() + links.size()), aims_.resize(points.size() + links.size());
        for (std::size_t i = 0; i < n; ++i) slope_[i] = y_[i] + given_[i];
        matrix_.clear();
        BlockCholesky::Block unit{};
        for (std::size_t i = 0; i < BlockCholesky::side; ++i) unit[(BlockCholesky::side + 1) * i] = 1.0;
        for (std::size_t k = 0; k < roots_.size(); ++k) matrix_.add(static_cast<int>(k), static_cast<int>(k), unit);
        Six bend[6];
        for (std::size_t k = 0; k < points.size(); ++k) {
            const std::size_t rows = cones_[k].rows;
            const Six moves = moved(k, rows, y_);
            for (std::size_t i = 0; i < rows; ++i) aims_[k][i] = before_[k][i] - stiff_[k] * (ahead_[k][i] + moves[i]);
            pushes_[k] = cones_[k].onto(aims_[k], bend);
            take_off(k, rows, pushes_[k]);
            if (bend[0][0] != 0) add(k, rows, bend, stiff_[k]);
        }
        for (std::size_t k = 0; k < links.size(); ++k) {
            const JointRow& link = links[k];
            const std::size_t row = points.size() + k;
            if (!(link.block > 0)) {
                pushes_[row] = {link.impulse};
                continue;
            }
            const double r = stiffness / link.block, wanted = link.impulse - r * (rates[k] + moved(row, 1, y_)[0] - link.target);
            const double own = link.limited(wanted);
            aims_[row] = {wanted}, pushes_[row] = {own};
            take_off(row, 1, pushes_[row]);
            bend[0][0] = 1.0;
            if (own == wanted) add(row, 1, bend, r);
        }
    }

    void take_off(std::size_t row, std::size_t rows, Six impulse) {
        for (double& one : impulse) one = -one;
        push(row, rows, impulse, slope_);
    }

    void add(std::size_t row, std::size_t rows, const Six* bend, double r) {
        for (std::size_t k = starts_[row]; k < starts_[row + 1]; ++k) {
            double bent[6][BlockCholesky::side] = {};
            for (std::size_t i = 0; i < rows; ++i)
                for (std::size_t m = 0; m < rows; ++m)
                    for (std::size_t j = 0; j < BlockCholesky::side; ++j) bent[i][j] += r * bend[i][m] * parts_[k].rows[m][j];
            for (std::size_t l = starts_[row]; l < starts_[row + 1]; ++l) {
                if (l > k && parts_[l].body != parts_[k].body) continue;  // the matrix is symmetric
                BlockCholesky::Block block{};
                for (std::size_t i = 0; i < rows; ++i)
                    for (std::size_t a = 0; a < BlockCholesky::side; ++a)
                        for (std::size_t b = 0; b < BlockCholesky::side; ++b)
                            block[BlockCholesky::side * a + b] += parts_[l].rows[i][a] * bent[i][b];
                matrix_.add(parts_[l].body, parts_[k].body, block);
            }
        }
    }

    BlockCholesky matrix_;
    std::vector<int> place_;
    std::vector<MassRoot> roots_;
    std::vector<ScaledRows> parts_;
    std::vector<std::size_t> starts_;
    std::vector<Cone> cones_;
    std::vector<Six> before_, ahead_, pushes_, aims_, across_;
    std::vector<double> stiff_, y_, given_, slope_, by_;
};

}  // namespace daedalus::contact
