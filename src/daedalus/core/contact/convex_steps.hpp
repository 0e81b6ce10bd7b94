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
// is taken anew. Unknowns are scaled, v = v₀ + L y with the inverse masses L Lᵀ, so that zeros among those do no harm.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "contact/block_cholesky.hpp"
#include "contact/linear_law.hpp"
#include "contact/rows.hpp"

namespace daedalus::contact {

// The projection onto the cone of friction, and its derivative.
inline Vector3 onto_cone(const Vector3& z, double friction, Matrix3& slope) {
    slope = Matrix3{};
    const double length = norm(z.y, z.z);
    if (friction > 0 && length <= friction * z.x) return slope(0, 0) = slope(1, 1) = slope(2, 2) = 1.0, z;
    if (friction * length <= -z.x) return {};
    const double share = 1.0 / (1.0 + friction * friction), normal = share * (z.x + friction * length);
    slope(0, 0) = share;
    if (!(length > 0)) return {normal, 0, 0};
    const double d[2] = {z.y / length, z.z / length}, along = share * friction * friction, turn = friction * normal / length;
    for (int i = 0; i < 2; ++i) {
        slope(0, i + 1) = slope(i + 1, 0) = share * friction * d[i];
        for (int k = 0; k < 2; ++k) slope(i + 1, k + 1) = along * d[i] * d[k] + turn * ((i == k) - d[i] * d[k]);
    }
    return {normal, friction * normal * d[0], friction * normal * d[1]};
}

class ConvexSteps {
public:
    std::vector<Vector3> changes;      // of the impulses of contacts
    std::vector<double> link_changes;  // of those of joints
    int solved = 0;  // equations, since the structure was arranged

    // The structure of contacts and joints that keep their places in the following steps.
    void arrange(const std::vector<Resistance>& bodies, const std::vector<ContactPoint>& points, const std::vector<JointRow>& links) {
        solved = 0, place_.assign(bodies.size(), -1), roots_.clear(), parts_.clear(), starts_.assign(1, 0);
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
            for (const bool second : {true, false}) {
                const int body = second ? p.b : p.a;
                if (body < 0) continue;
                ScaledRows part;
                part.body = place(body);
                for (int i = 0; i < 3; ++i) {
                    const double sign = second ? 1.0 : -1.0;
                    part.set(i, roots_[static_cast<std::size_t>(part.body)], sign * frame[i], sign * cross(second ? p.arm_b : p.arm_a, frame[i]));
                }
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

    // One step of the method of multipliers: `changes` of impulses that have moved bodies to the velocities u and rates.
    // stiffness: r in units of a contact's own; small: a velocity that need not be better known; false where nothing came.
    bool step(const std::vector<ContactPoint>& points, const std::vector<Vector3>& u, const std::vector<JointRow>& links,
              const std::vector<double>& rates, double stiffness, double small, int most) {
        const std::size_t n = BlockCholesky::side * roots_.size();
        y_.assign(n, 0.0), given_.assign(n, 0.0);
        // The scaled velocities behind the impulses so far.
        for (std::size_t k = 0; k < points.size(); ++k) push(k, 3, points[k].impulse, given_);
        for (std::size_t k = 0; k < links.size(); ++k) push(points.size() + k, 1, {links[k].impulse, 0, 0}, given_);
        for (int k = 0;; ++k) {
            look(points, u, links, rates, stiffness, y_, slope_, true);
            if (fastest(slope_) <= small || k == most) break;
            by_ = slope_;
            ++solved;
            if (!matrix_.factor()) return false;
            matrix_.solve(by_);
            double down = 0.0;
            for (std::size_t i = 0; i < n; ++i) down -= slope_[i] * by_[i];
            if (!(down < 0)) break;
            const double share = share_along(points, links, stiffness, down);
            for (std::size_t i = 0; i < n; ++i) y_[i] -= share * by_[i];
        }
        changes.clear(), link_changes.clear();
        for (std::size_t k = 0; k < points.size(); ++k) changes.push_back(pushes_[k] - points[k].impulse);
        for (std::size_t k = 0; k < links.size(); ++k) link_changes.push_back(pushes_[points.size() + k].x - links[k].impulse);
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
        double rows[3][BlockCholesky::side] = {};

        void set(int i, const MassRoot& root, const Vector3& linear, const Vector3& angular) {
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

    void push(std::size_t row, int rows, const Vector3& impulse, std::vector<double>& to) const {
        for (std::size_t k = starts_[row]; k < starts_[row + 1]; ++k) {
            double* const own = &to[BlockCholesky::side * static_cast<std::size_t>(parts_[k].body)];
            for (int i = 0; i < rows; ++i)
                for (std::size_t j = 0; j < BlockCholesky::side; ++j) own[j] += parts_[k].rows[i][j] * impulse[i];
        }
    }

    Vector3 moved(std::size_t row, int rows, const std::vector<double>& y) const {
        Vector3 u;
        for (std::size_t k = starts_[row]; k < starts_[row + 1]; ++k) {
            const double* const own = &y[BlockCholesky::side * static_cast<std::size_t>(parts_[k].body)];
            for (int i = 0; i < rows; ++i)
                for (std::size_t j = 0; j < BlockCholesky::side; ++j) u[i] += parts_[k].rows[i][j] * own[j];
        }
        return u;
    }

    // How far to go along -by_: where the slope along it has fallen to a share of what it is at the beginning.
    double share_along(const std::vector<ContactPoint>& points, const std::vector<JointRow>& links, double stiffness, double down) {
        const std::size_t count = points.size();
        across_.resize(count + links.size());
        for (std::size_t k = 0; k < count; ++k) across_[k] = -1.0 * moved(k, 3, by_);
        for (std::size_t k = 0; k < links.size(); ++k) across_[count + k] = -1.0 * moved(count + k, 1, by_);
        double first = 0.0, bend = 0.0;
        for (std::size_t i = 0; i < y_.size(); ++i) first -= by_[i] * (y_[i] + given_[i]), bend += by_[i] * by_[i];
        const auto slope_at = [&](double share) {
            double slope = first + share * bend;
            Matrix3 unused;
            for (std::size_t k = 0; k < count; ++k) {
                const double r = stiffness * step_of_map(points[k]);
                slope -= dot(onto_cone(aims_[k] - (share * r) * across_[k], points[k].friction, unused), across_[k]);
            }
            for (std::size_t k = 0; k < links.size(); ++k) {
                if (!(links[k].block > 0)) continue;
                const double along = across_[count + k].x;
                slope -= links[k].limited(aims_[count + k].x - share * stiffness / links[k].block * along) * along;
            }
            return slope;
        };
        double low = 0.0, high = 1.0, at_low = down, at_high = slope_at(1.0);
        if (at_high <= flat * -down) return 1.0;
        // False position with halved weights, as for one contact.
        int side = 0;
        for (int k = 0; k < most_looks; ++k) {
            const double s = (low * at_high - high * at_low) / (at_high - at_low), value = slope_at(s);
            if (std::fabs(value) <= flat * -down) return s;
            if (value > 0) {
                high = s, at_high = value;
                if (side == 1) at_low *= 0.5;
                side = 1;
            } else {
                low = s, at_low = value;
                if (side == -1) at_high *= 0.5;
                side = -1;
            }
        }
        return low > 0 ? low : high;
    }

    // Of a scaled slope, the largest velocity that it stands for.
    double fastest(const std::vector<double>& slope) const {
        double most = 0.0;
        for (std::size_t k = 0; k < roots_.size(); ++k)
            for (int i = 0; i < 3; ++i)
                most = std::max(most, std::fabs(roots_[k].linear[i] * slope[BlockCholesky::side * k + static_cast<std::size_t>(i)]));
        return most;
    }

    // The function's value and slope at velocities y beyond the present ones; with_matrix: its second derivative, too.
    double look(const std::vector<ContactPoint>& points, const std::vector<Vector3>& u, const std::vector<JointRow>& links,
                const std::vector<double>& rates, double stiffness, const std::vector<double>& y, std::vector<double>& slope,
                bool with_matrix) {
        const std::size_t n = y.size();
        slope.resize(n), pushes_.resize(points.size() + links.size()), aims_.resize(points.size() + links.size());
        double value = 0.0;
        for (std::size_t i = 0; i < n; ++i) slope[i] = y[i] + given_[i], value += 0.5 * slope[i] * slope[i];
        if (with_matrix) {
            matrix_.clear();
            BlockCholesky::Block unit{};
            for (std::size_t i = 0; i < BlockCholesky::side; ++i) unit[(BlockCholesky::side + 1) * i] = 1.0;
            for (std::size_t k = 0; k < roots_.size(); ++k) matrix_.add(static_cast<int>(k), static_cast<int>(k), unit);
        }
        for (std::size_t k = 0; k < points.size(); ++k) {
            const ContactPoint& p = points[k];
            const double r = stiffness * step_of_map(p);
            Vector3 ahead = u[k] + moved(k, 3, y);
            ahead.x += p.friction * norm(u[k].y, u[k].z) - p.bound;
            Matrix3 bend;
            aims_[k] = p.impulse - r * ahead;
            pushes_[k] = onto_cone(aims_[k], p.friction, bend);
            value += 0.5 * dot(pushes_[k], pushes_[k]) / r;
            push(k, 3, -pushes_[k], slope);
            if (with_matrix && bend(0, 0) != 0) add(k, 3, bend, r);
        }
        for (std::size_t k = 0; k < links.size(); ++k) {
            const JointRow& link = links[k];
            const std::size_t row = points.size() + k;
            if (!(link.block > 0)) {
                pushes_[row] = {link.impulse, 0, 0};
                continue;
            }
            const double r = stiffness / link.block, wanted = link.impulse - r * (rates[k] + moved(row, 1, y).x - link.target);
            aims_[row] = {wanted, 0, 0};
            const double own = link.limited(wanted);
            pushes_[row] = {own, 0, 0};
            value += (0.5 * own * own + own * (wanted - own)) / r;
            push(row, 1, -pushes_[row], slope);
            Matrix3 bend;
            bend(0, 0) = 1.0;
            if (with_matrix && own == wanted) add(row, 1, bend, r);
        }
        return value;
    }

    void add(std::size_t row, int rows, const Matrix3& bend, double r) {
        for (std::size_t k = starts_[row]; k < starts_[row + 1]; ++k) {
            double bent[3][BlockCholesky::side] = {};
            for (int i = 0; i < rows; ++i)
                for (int m = 0; m < rows; ++m)
                    for (std::size_t j = 0; j < BlockCholesky::side; ++j) bent[i][j] += r * bend(i, m) * parts_[k].rows[m][j];
            for (std::size_t l = starts_[row]; l < starts_[row + 1]; ++l) {
                if (l > k && parts_[l].body != parts_[k].body) continue;  // the matrix is symmetric
                BlockCholesky::Block block{};
                for (int i = 0; i < rows; ++i)
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
    std::vector<Vector3> pushes_, aims_, across_;
    std::vector<double> y_, given_, slope_, by_, next_;
};

}  // namespace daedalus::contact
