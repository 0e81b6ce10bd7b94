// Puts pivots in an order in which neighbours have work of the same shape, without more fill.
//
// A pivot waits for those that change its row or its column: that gives it a level (of the elimination tree, where the
// matrix is symmetric). Pivots of one level can change places; sorted by the lengths of their columns and rows they form
// runs. A chain or a mesh has a few shapes, thousands of times.
#pragma once

#include <algorithm>

#include "linear/pivot_order.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// So many pivots one after the other, each with `lower` rows to eliminate from and `upper` further columns.
struct PivotRun {
    std::int32_t count = 0, lower = 0, upper = 0;
};

class PivotRuns {
public:
    // The steps of an elimination in their new order, as steps(), and the runs in it; false: no memory.
    [[nodiscard]] bool find(std::int32_t n, const Elimination& e) noexcept {
        if (!level_.reserve(n) || !step_.reserve(n) || !find_levels(n, e)) return false;
        const auto lower = [&](std::int32_t k) { return e.lower_begin[k + 1] - e.lower_begin[k]; };
        const auto upper = [&](std::int32_t k) { return e.upper_begin[k + 1] - e.upper_begin[k]; };
        for (std::int32_t k = 0; k < n; ++k) step_[k] = k;
        std::sort(step_.data(), step_.data() + n, [&](std::int32_t a, std::int32_t b) {
            if (level_[a] != level_[b]) return level_[a] < level_[b];
            if (upper(a) != upper(b)) return upper(a) < upper(b);
            return lower(a) != lower(b) ? lower(a) < lower(b) : a < b;
        });
        count_ = 0;
        for (std::int32_t k = 0; k < n; ++k) {
            const auto below = static_cast<std::int32_t>(lower(step_[k])), behind = static_cast<std::int32_t>(upper(step_[k]));
            if (count_ == 0 || runs_[count_ - 1].lower != below || runs_[count_ - 1].upper != behind) {
                if (!runs_.reserve(count_ + 1)) return false;
                runs_[count_++] = {0, below, behind};
            }
            ++runs_[count_ - 1].count;
        }
        return true;
    }

    const std::int32_t* steps() const noexcept { return step_.data(); }
    const PivotRun* begin() const noexcept { return runs_.data(); }
    const PivotRun* end() const noexcept { return runs_.data() + count_; }

private:
    bool find_levels(std::int32_t n, const Elimination& e) noexcept {
        Block<std::int32_t> of_row, of_column;
        if (!of_row.make(n) || !of_column.make(n)) return false;
        for (std::int32_t k = 0; k < n; ++k) {
            const std::int32_t level = std::max(of_row[e.pivot_row[k]], of_column[e.pivot_column[k]]);
            level_[k] = level;
            for (long long p = e.lower_begin[k]; p < e.lower_begin[k + 1]; ++p)
                of_row[e.lower_rows[p]] = std::max(of_row[e.lower_rows[p]], level + 1);
            for (long long q = e.upper_begin[k]; q < e.upper_begin[k + 1]; ++q)
                of_column[e.upper_columns[q]] = std::max(of_column[e.upper_columns[q]], level + 1);
        }
        return true;
    }

    long long count_ = 0;
    Block<std::int32_t> level_, step_;
    Block<PivotRun> runs_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
