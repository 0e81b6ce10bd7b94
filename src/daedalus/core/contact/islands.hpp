// Which contacts and rows belong together: those of bodies that touch each other, or that rows join.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

#include "contact/rows.hpp"

namespace daedalus::contact {

struct Island {
    std::vector<std::size_t> points, links;  // places among all
};

// The islands of some bodies, in the order of their first contact; none where a row moves all bodies at once.
inline std::vector<Island> islands_of(const std::vector<ContactPoint>& points, const std::vector<JointRow>& links,
                                      std::size_t bodies) {
    std::vector<std::size_t> parent(bodies);
    std::iota(parent.begin(), parent.end(), std::size_t{0});
    const auto root = [&](int body) {
        std::size_t k = static_cast<std::size_t>(body);
        while (parent[k] != k) k = parent[k] = parent[parent[k]];
        return k;
    };
    for (const ContactPoint& p : points)
        if (p.a >= 0 && p.b >= 0) parent[root(p.a)] = root(p.b);
    for (const JointRow& link : links) {
        if (!link.moves.empty() || link.bodies.empty()) return {};
        for (const int body : link.bodies) parent[root(link.bodies.front())] = root(body);
    }
    constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> place(bodies, none);
    std::vector<Island> found;
    const auto island = [&](int body) -> Island& {
        std::size_t& at = place[root(body)];
        if (at == none) at = found.size(), found.emplace_back();
        return found[at];
    };
    for (std::size_t k = 0; k < points.size(); ++k) island(points[k].b >= 0 ? points[k].b : points[k].a).points.push_back(k);
    for (std::size_t k = 0; k < links.size(); ++k) island(links[k].bodies.front()).links.push_back(k);
    return found;
}

}  // namespace daedalus::contact
