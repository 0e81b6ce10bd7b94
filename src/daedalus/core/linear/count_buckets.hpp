// Lines (rows or columns) kept by how many entries they have, so that the shortest are found without a search.
#pragma once

#include <cstdint>

#include "machine/block.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

class CountBuckets {
public:
    static constexpr std::int32_t none = -1;

    [[nodiscard]] bool make(long long lines) noexcept {
        if (!first_.make(lines + 1) || !next_.make(lines) || !before_.make(lines) || !bucket_.make(lines)) return false;
        for (long long count = 0; count <= lines; ++count) first_[count] = none;
        for (long long line = 0; line < lines; ++line) bucket_[line] = none;
        return true;
    }
    void add(std::int32_t line, std::int32_t count) noexcept {
        const std::int32_t old = first_[count];
        first_[count] = line, next_[line] = old, before_[line] = none, bucket_[line] = count;
        if (old != none) before_[old] = line;
    }
    // A line that is in no bucket is left alone.
    void remove(std::int32_t line) noexcept {
        if (bucket_[line] == none) return;
        const std::int32_t next = next_[line], before = before_[line];
        if (before == none)
            first_[bucket_[line]] = next;
        else
            next_[before] = next;
        if (next != none) before_[next] = before;
        bucket_[line] = none;
    }
    std::int32_t first(long long count) const noexcept { return first_[count]; }
    std::int32_t next(std::int32_t line) const noexcept { return next_[line]; }

private:
    Block<std::int32_t> first_, next_, before_, bucket_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
