// Lists of indices, one a line, in one piece of memory; a list that outgrows its room moves to the end.
#pragma once

#include <cstdint>

#include "machine/block.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Nothing beside the indices.
struct NoValue {};

template <class Value>
class GrowingLines {
public:
    struct Entry {
        std::int32_t index;
        [[no_unique_address]] Value value;
    };

    [[nodiscard]] bool make(long long lines, long long entries) noexcept {
        used_ = 0;
        return begin_.make(lines) && count_.make(lines) && room_.make(lines) && entries_.make(2 * entries + lines);
    }
    // Lines are opened one after the other before the first entry is added.
    void open(std::int32_t line, std::int32_t room) noexcept {
        begin_[line] = used_, count_[line] = 0, room_[line] = room;
        used_ += room;
    }
    [[nodiscard]] bool add(std::int32_t line, Entry entry) noexcept {
        if (count_[line] == room_[line] && !move_to_end(line)) return false;
        entries_[begin_[line] + count_[line]++] = entry;
        return true;
    }
    // The last entry takes the place of the one removed.
    void remove_at(std::int32_t line, std::int32_t place) noexcept {
        Entry* list = of(line);
        list[place] = list[--count_[line]];
    }
    // The place of an index in a line that has it.
    std::int32_t find(std::int32_t line, std::int32_t index) const noexcept {
        const Entry* list = entries_.data() + begin_[line];
        std::int32_t place = 0;
        while (list[place].index != index) ++place;
        return place;
    }
    Entry* of(std::int32_t line) noexcept { return entries_.data() + begin_[line]; }
    std::int32_t count(std::int32_t line) const noexcept { return count_[line]; }

private:
    bool move_to_end(std::int32_t line) noexcept {
        const std::int32_t room = 2 * room_[line] + 2;
        if (!entries_.reserve(used_ + room)) return false;
        for (std::int32_t i = 0; i < count_[line]; ++i) entries_[used_ + i] = entries_[begin_[line] + i];
        begin_[line] = used_, room_[line] = room;
        used_ += room;
        return true;
    }

    long long used_ = 0;
    Block<long long> begin_;
    Block<std::int32_t> count_, room_;
    Block<Entry> entries_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
