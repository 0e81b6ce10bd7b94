// A block of doubles, taken once and carved into the vectors that a method needs.
#pragma once

#include <cstdlib>
#include <cstring>
#include <new>

#include "machine/platform.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

class Arena {
public:
    explicit Arena(long long count) {
        constexpr std::size_t line = 64;
        const std::size_t bytes = (static_cast<std::size_t>(count) * sizeof(double) / line + 1) * line;
        memory_ = static_cast<double*>(std::aligned_alloc(line, bytes));
        if (!memory_) throw std::bad_alloc();
        std::memset(memory_, 0, bytes);
        next_ = memory_;
    }
    ~Arena() { std::free(memory_); }
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    double* carve(long long count) {
        double* part = next_;
        next_ += count;
        return part;
    }

private:
    double* memory_ = nullptr;
    double* next_ = nullptr;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
