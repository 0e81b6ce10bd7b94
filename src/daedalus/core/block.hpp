// Memory of one kind of number whose growth can fail without an exception.
#pragma once

#include <cstdlib>
#include <cstring>

#include "platform.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class Block {
public:
    Block() = default;
    ~Block() { std::free(data_); }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    // Room for `size` zeros, what was there is gone; false when there is no memory, and the block is as it was.
    [[nodiscard]] bool make(long long size) noexcept {
        constexpr std::size_t line = 64;
        const std::size_t bytes = (static_cast<std::size_t>(size) * sizeof(Number) / line + 1) * line;
        void* memory = std::aligned_alloc(line, bytes);
        if (!memory) return false;
        std::memset(memory, 0, bytes);
        std::free(data_);
        data_ = static_cast<Number*>(memory);
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
        Number* data = data_;
        const long long size = size_;
        data_ = other.data_, size_ = other.size_;
        other.data_ = data, other.size_ = size;
    }
    Number* data() noexcept { return data_; }
    const Number* data() const noexcept { return data_; }
    long long size() const noexcept { return size_; }
    Number& operator[](long long i) noexcept { return data_[i]; }
    const Number& operator[](long long i) const noexcept { return data_[i]; }

private:
    Number* data_ = nullptr;
    long long size_ = 0;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
