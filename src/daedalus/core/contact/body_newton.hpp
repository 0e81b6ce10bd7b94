// One step of Newton's method for contacts and joints over the velocities of their bodies.
//
// Laws A ΔP + B Δu = c give the impulses ΔP = A⁻¹ (c - B Δu), and with W the inverse masses and J the velocities of
// contacts by those of bodies, Δu = J Δv,
//
//     (1 + W Jᵀ A⁻¹ B J) Δv = W Jᵀ A⁻¹ c.
//
// There are six unknowns a body however many contacts it has, and only bodies that touch share entries: ordered by
// E. Cuthill's and J. McKee's method (Proc. 24th ACM National Conference, 1969) the matrix is a band.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "contact/linear_law.hpp"

namespace daedalus::contact {

class BodyNewton {
public:
    // What a law's impulse and a joint's are changed by; `false` where it takes more operations than allowed, or a pivot
    // vanishes. `active` are the contacts that may push; laws and the places of twists belong to them.
    bool solve(const std::vector<Resistance>& bodies, const std::vector<ContactPoint>& points,
               const std::vector<std::size_t>& active, const std::vector<LinearLaw>& laws,
               const std::vector<JointRow>& links, const std::vector<LinearLaw>& link_laws, double most_operations) {
        order_bodies(bodies.size(), points, active, links);
        const double n = static_cast<double>(6 * old_.size()), half = static_cast<double>(half_);
        if (old_.empty() || 2.0 * n * half * half > most_operations) return false;
        matrix_.assign(6 * old_.size() * width_, 0.0), right_.assign(6 * old_.size(), 0.0);
        for (std::size_t i = 0; i < right_.size(); ++i) at(i, i) = 1.0;
        answers_.clear();
        for (std::size_t k = 0; k < active.size(); ++k) add_point(bodies, points[active[k]], laws[k]);
        for (std::size_t k = 0; k < links.size(); ++k) add_link(bodies, links[k], link_laws[k]);
        if (!eliminate()) return false;
        changes.clear();
        for (std::size_t k = 0; k < active.size(); ++k) changes.push_back(change_of(points[active[k]], answers_[k]));
        link_changes.clear();
        for (std::size_t k = 0; k < links.size(); ++k) link_changes.push_back(change_of(links[k], answers_[active.size() + k]));
        return true;
    }

    std::vector<Vector3> changes;      // of the impulses of active contacts
    std::vector<double> link_changes;  // of those of joints

private:
    // ΔP = given - stiffness Δu.
    struct Answer {
        Matrix3 stiffness;
        Vector3 given;
    };
    // A body's part in the velocities of a contact, row by row: Δu_i = linear_i · Δv + angular_i · Δω.
    struct Part {
        int body = -1;
        Vector3 linear[3], angular[3];
    };

    // -- the order of bodies -----------------------------------------------------------------------------------

    void order_bodies(std::size_t count, const std::vector<ContactPoint>& points, const std::vector<std::size_t>& active,
                      const std::vector<JointRow>& links) {
        // Of all bodies only those of the last problem have to be forgotten.
        for (const int body : old_) near_[static_cast<std::size_t>(body)].clear(), place_[static_cast<std::size_t>(body)] = unknown;
        near_.resize(count), place_.resize(count, unknown), old_.clear(), starts_.clear();
        const auto join = [&](int a, int b) {
            for (const int k : {a, b})
                if (k >= 0 && place_[static_cast<std::size_t>(k)] == unknown)
                    place_[static_cast<std::size_t>(k)] = waiting, starts_.push_back(k);
            if (a >= 0 && b >= 0 && a != b)
                near_[static_cast<std::size_t>(a)].push_back(b), near_[static_cast<std::size_t>(b)].push_back(a);
        };
        for (const std::size_t k : active) join(points[k].a, points[k].b);
        for (const JointRow& link : links)
            for (const int one : link.bodies)
                for (const int two : link.bodies) join(one, two);
        for (const int body : starts_) {
            auto& own = near_[static_cast<std::size_t>(body)];
            std::sort(own.begin(), own.end());
            own.erase(std::unique(own.begin(), own.end()), own.end());
        }
        const auto fewer = [&](int a, int b) {
            return near_[static_cast<std::size_t>(a)].size() < near_[static_cast<std::size_t>(b)].size();
        };
        std::stable_sort(starts_.begin(), starts_.end(), fewer);
        for (const int start : starts_) take_group(start, fewer);
        std::size_t far = 0;
        for (std::size_t k = 0; k < old_.size(); ++k)
            for (const int other : near_[static_cast<std::size_t>(old_[k])]) {
                const std::size_t to = static_cast<std::size_t>(place_[static_cast<std::size_t>(other)]);
                far = std::max(far, to > k ? to - k : k - to);
            }
        half_ = 6 * (far + 1) - 1, width_ = 3 * half_ + 1;
    }

    // All bodies that hang together with one, the nearest first, those with few neighbours before others.
    template <class Fewer>
    void take_group(int start, const Fewer& fewer) {
        if (place_[static_cast<std::size_t>(start)] >= 0) return;
        const std::size_t first = old_.size();
        std::vector<int> next;
        const auto take = [&](int body) {
            place_[static_cast<std::size_t>(body)] = static_cast<int>(old_.size()), old_.push_back(body);
        };
        take(start);
        for (std::size_t k = first; k < old_.size(); ++k) {
            next.clear();
            for (const int other : near_[static_cast<std::size_t>(old_[k])])
                if (place_[static_cast<std::size_t>(other)] < 0) next.push_back(other);
            std::stable_sort(next.begin(), next.end(), fewer);
            for (const int other : next) take(other);
        }
    }

    // -- the matrix --------------------------------------------------------------------------------------------

    double& at(std::size_t i, std::size_t j) { return matrix_[i * width_ + j + half_ - i]; }

    std::size_t first_row(int body) const {
        return 6 * static_cast<std::size_t>(place_[static_cast<std::size_t>(body)]);
    }

    static Answer answer_of(const LinearLaw& law) {
        // A has its normal row alone in the first line, and two by two below.
        const Matrix3& a = law.impulse;
        const double determinant = a(1, 1) * a(2, 2) - a(1, 2) * a(2, 1);
        Matrix3 inverse;
        inverse(0, 0) = 1.0 / a(0, 0);
        inverse(1, 1) = a(2, 2) / determinant, inverse(2, 2) = a(1, 1) / determinant;
        inverse(1, 2) = -a(1, 2) / determinant, inverse(2, 1) = -a(2, 1) / determinant;
        for (int i = 1; i < 3; ++i)
            inverse(i, 0) = -(inverse(i, 1) * a(1, 0) + inverse(i, 2) * a(2, 0)) * inverse(0, 0);
        return {inverse * law.velocity, inverse * law.right};
    }

    static Part part_of(const ContactPoint& p, bool second) {
        const Vector3 frame[3] = {p.n, p.t1, p.t2};
        const double sign = second ? 1.0 : -1.0;
        Part part;
        part.body = second ? p.b : p.a;
        for (int i = 0; i < 3; ++i)
            part.linear[i] = sign * frame[i], part.angular[i] = sign * cross(second ? p.arm_b : p.arm_a, frame[i]);
        return part;
    }

    // One row of a joint, the first of three.
    static Part part_of(const JointRow& link, std::size_t k) {
        Part part;
        part.body = link.bodies[k], part.linear[0] = link.linear[k], part.angular[0] = link.angular[k];
        return part;
    }

    void add_point(const std::vector<Resistance>& bodies, const ContactPoint& p, const LinearLaw& law) {
        parts_.clear();
        for (const bool second : {true, false})
            if ((second ? p.b : p.a) >= 0) parts_.push_back(part_of(p, second));
        add(bodies, answer_of(law), 3);
    }

    void add_link(const std::vector<Resistance>& bodies, const JointRow& link, const LinearLaw& law) {
        parts_.clear();
        for (std::size_t k = 0; k < link.bodies.size(); ++k) parts_.push_back(part_of(link, k));
        Answer own;
        own.stiffness(0, 0) = law.velocity(0, 0) / law.impulse(0, 0), own.given.x = law.right.x / law.impulse(0, 0);
        add(bodies, own, 1);
    }

    // W Jᵀ (given - stiffness J Δv) of one law with some rows.
    void add(const std::vector<Resistance>& bodies, const Answer& law, int rows) {
        answers_.push_back(law);
        for (const Part& one : parts_) {
            const Resistance& r = bodies[static_cast<std::size_t>(one.body)];
            double moved[6][3] = {};  // W Jᵀ
            for (int i = 0; i < rows; ++i) {
                const Vector3 turn = r.inverse_inertia * one.angular[i];
                for (int k = 0; k < 3; ++k) moved[k][i] = r.inverse_mass[k] * one.linear[i][k], moved[3 + k][i] = turn[k];
            }
            const std::size_t row = first_row(one.body);
            for (int k = 0; k < 6; ++k)
                for (int i = 0; i < rows; ++i) right_[row + static_cast<std::size_t>(k)] += moved[k][i] * law.given[i];
            for (const Part& two : parts_) {
                const std::size_t column = first_row(two.body);
                double stiff[3][6] = {};  // stiffness J
                for (int i = 0; i < rows; ++i)
                    for (int j = 0; j < rows; ++j)
                        for (int k = 0; k < 3; ++k) {
                            stiff[i][k] += law.stiffness(i, j) * two.linear[j][k];
                            stiff[i][3 + k] += law.stiffness(i, j) * two.angular[j][k];
                        }
                for (std::size_t k = 0; k < 6; ++k)
                    for (std::size_t m = 0; m < 6; ++m) {
                        double sum = 0.0;
                        for (int i = 0; i < rows; ++i) sum += moved[k][i] * stiff[i][m];
                        at(row + k, column + m) += sum;
                    }
            }
        }
    }

    // -- its solution ------------------------------------------------------------------------------------------

    // Gauss with row pivoting inside the band, in place: `right_` becomes Δv.
    bool eliminate() {
        const std::size_t n = right_.size();
        for (std::size_t c = 0; c < n; ++c) {
            const std::size_t last_row = std::min(c + half_, n - 1), last = std::min(c + 2 * half_, n - 1);
            std::size_t pivot = c;
            for (std::size_t i = c + 1; i <= last_row; ++i)
                if (std::fabs(at(i, c)) > std::fabs(at(pivot, c))) pivot = i;
            if (!(std::fabs(at(pivot, c)) > 0) || !std::isfinite(at(pivot, c))) return false;
            if (pivot != c) {
                std::swap_ranges(&at(pivot, c), &at(pivot, c) + (last - c + 1), &at(c, c));
                std::swap(right_[pivot], right_[c]);
            }
            const double* const top = &at(c, c);
            for (std::size_t i = c + 1; i <= last_row; ++i) {
                double* const line = &at(i, c);
                const double factor = line[0] / top[0];
                if (factor == 0) continue;
                for (std::size_t j = 0; j <= last - c; ++j) line[j] -= factor * top[j];
                right_[i] -= factor * right_[c];
            }
        }
        for (std::size_t c = n; c-- > 0;) {
            double sum = right_[c];
            for (std::size_t j = c + 1; j <= std::min(c + 2 * half_, n - 1); ++j) sum -= at(c, j) * right_[j];
            right_[c] = sum / at(c, c);
            if (!std::isfinite(right_[c])) return false;
        }
        return true;
    }

    double along(const Part& part, int i) const {
        const double* const v = right_.data() + first_row(part.body);
        return dot(part.linear[i], read3(v)) + dot(part.angular[i], read3(v + 3));
    }
    Vector3 change_of(const ContactPoint& p, const Answer& law) const {
        Vector3 u;
        for (const bool second : {true, false})
            if ((second ? p.b : p.a) >= 0) {
                const Part part = part_of(p, second);
                for (int i = 0; i < 3; ++i) u[i] += along(part, i);
            }
        return law.given - law.stiffness * u;
    }
    double change_of(const JointRow& link, const Answer& law) const {
        double rate = 0.0;
        for (std::size_t k = 0; k < link.bodies.size(); ++k) rate += along(part_of(link, k), 0);
        return law.given.x - law.stiffness(0, 0) * rate;
    }

    std::vector<std::vector<int>> near_;
    static constexpr int unknown = -1, waiting = -2;  // bodies without a place in the matrix
    std::vector<int> place_, old_, starts_;           // of each body in the matrix; the body at a place
    std::vector<Part> parts_;
    std::vector<Answer> answers_;
    std::vector<double> matrix_, right_;
    std::size_t half_ = 0, width_ = 0;
};

}  // namespace daedalus::contact
