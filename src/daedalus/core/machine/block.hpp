// Memory of one kind of number whose growth can fail without an exception.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "machine/platform.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class Block {
public:
    Block() = default;
    ~Block() { std::free(memory_); }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    // Room for `size` zeros, what was there is gone; false when there is no memory, and the block is as it was.
    [[nodiscard]] bool make(long long size) noexcept {
        // Small pieces come faster from calloc than from aligned_alloc, which keeps none at hand. Large ones are zero as the
        // system gives them, and take memory where they are written only.
        constexpr std::size_t line = 64;
        const std::size_t bytes = (static_cast<std::size_t>(size) * sizeof(Number) / line + 1) * line;
        void* memory = std::calloc(bytes + line, 1);
        if (!memory) return false;
        const std::size_t off = reinterpret_cast<std::uintptr_t>(memory) % line;
        std::free(memory_);
        memory_ = memory;
        data_ = reinterpret_cast<Number*>(static_cast<char*>(memory) + (line - off));
        size_ = size;
        return true;
    }
    // Room for at least `size` numbers, the present ones kept; doubles, so that growing one by one stays cheap.
    [[nodiscard]] bool reserve(long long size) noexcept {
        if (size <= size_) return true;
        const long long room = size > 2 * size_ ? size : 2 * size_;
        Block bigger;
        if (!bigger.make(room)) return false;
        const std::size_t bytes = static_cast<std::size_t>(size_) * sizeof(Number);
        if (bytes > 0) std::memcpy(static_cast<void*>(bigger.data_), data_, bytes);
        swap(bigger);
        return true;
    }
    void swap(Block& other) noexcept {
        std::swap(memory_, other.memory_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }
    Number* data() noexcept { return data_; }
    const Number* data() const noexcept { return data_; }
    long long size() const noexcept { return size_; }
    Number& operator[](long long i) noexcept { return data_[i]; }
    const Number& operator[](long long i) const noexcept { return data_[i]; }

private:
    void* memory_ = nullptr;
    Number* data_ = nullptr;  // in it, at a full line
    long long size_ = 0;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
