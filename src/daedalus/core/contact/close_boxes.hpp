// Which of many boxes along the axes overlap: each is compared with those in cells beside its own.
//
// Cells are as large as the largest box, so that the work grows with the number of boxes where these are spread in space
// (M. P. Allen, D. J. Tildesley, Computer Simulation of Liquids, 1987, section 5.3). The few that are much larger than
// others are compared with all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "contact/vectors.hpp"

namespace daedalus::contact {

class CloseBoxes {
public:
    long long tests = 0;  // comparisons of two boxes in the last search

    // Calls `meet(i, j)` for each two of some boxes that overlap; low and high are the corners of all.
    template <class Meet>
    void find(const std::vector<int>& which, const std::vector<Vector3>& low, const std::vector<Vector3>& high, Meet&& meet) {
        tests = 0;
        const double cell = sort_by_size(which, low, high);
        const auto compare = [&](int i, int j) {
            ++tests;
            const std::size_t a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
            for (int k = 0; k < 3; ++k)
                if (low[a][k] > high[b][k] || low[b][k] > high[a][k]) return;
            meet(i, j);
        };
        for (std::size_t a = 0; a < large_.size(); ++a) {
            for (std::size_t b = a + 1; b < large_.size(); ++b) compare(large_[a], large_[b]);
            for (const BoxInCell& small : small_) compare(large_[a], small.which);
        }
        for (BoxInCell& own : small_) {
            const std::size_t k = static_cast<std::size_t>(own.which);
            for (int axis = 0; axis < 3; ++axis) own.at[axis] = cell_of(0.5 * (low[k][axis] + high[k][axis]), cell);
        }
        std::sort(small_.begin(), small_.end());
        for (std::size_t a = 0; a < small_.size(); ++a) {
            // Behind it in its own column of cells, and in the four columns ahead.
            const BoxInCell& own = small_[a];
            for (std::size_t b = a + 1; b < small_.size() && within(small_[b], own, 0, 0); ++b)
                compare(own.which, small_[b].which);
            for (const auto& [x, y] : {std::pair{0, 1}, std::pair{1, -1}, std::pair{1, 0}, std::pair{1, 1}}) {
                const BoxInCell first{{own.at[0] + x, own.at[1] + y, own.at[2] - 1}, -1};
                for (auto b = std::lower_bound(small_.begin(), small_.end(), first);
                     b != small_.end() && within(*b, own, x, y); ++b)
                    compare(own.which, b->which);
            }
        }
    }

private:
    // Boxes of this many times the usual size are large; by judgement.
    static constexpr double much_larger = 4.0;
    // Cells beyond this are one: nothing that touches is there.
    static constexpr double last_cell = 1e15;

    struct BoxInCell {
        std::int64_t at[3];
        int which;
        bool operator<(const BoxInCell& other) const {
            for (int k = 0; k < 3; ++k)
                if (at[k] != other.at[k]) return at[k] < other.at[k];
            return which < other.which;
        }
    };

    static bool within(const BoxInCell& other, const BoxInCell& own, int x, int y) {
        return other.at[0] == own.at[0] + x && other.at[1] == own.at[1] + y && other.at[2] <= own.at[2] + 1;
    }

    static std::int64_t cell_of(double place, double cell) {
        const double at = std::floor(place / cell);
        return at > -last_cell && at < last_cell ? static_cast<std::int64_t>(at) : 0;
    }

    // Parts boxes into large ones and others; the size of the largest of these.
    double sort_by_size(const std::vector<int>& which, const std::vector<Vector3>& low, const std::vector<Vector3>& high) {
        const auto size = [&](int i) {
            const Vector3 across = high[static_cast<std::size_t>(i)] - low[static_cast<std::size_t>(i)];
            return std::max({across.x, across.y, across.z});
        };
        sizes_.clear(), small_.clear(), large_.clear();
        for (const int i : which) sizes_.push_back(size(i));
        if (sizes_.empty()) return 1.0;
        const auto middle = sizes_.begin() + static_cast<std::ptrdiff_t>(sizes_.size() / 2);
        std::nth_element(sizes_.begin(), middle, sizes_.end());
        const double most = much_larger * *middle;
        double cell = 0.0;
        for (const int i : which) {
            const double own = size(i);
            if (!(own <= most)) large_.push_back(i);
            else small_.push_back({{0, 0, 0}, i}), cell = std::max(cell, own);
        }
        return cell > 0 ? cell : 1.0;
    }

    std::vector<BoxInCell> small_;
    std::vector<int> large_;
    std::vector<double> sizes_;
};

}  // namespace daedalus::contact
