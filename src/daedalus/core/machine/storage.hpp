// A growing array of numbers whose memory can be handed on without a copy.
#pragma once

#include <cstdlib>
#include <new>
#include <span>
#include <utility>

#include "machine/large_pages.hpp"

namespace daedalus {

template <class Number>
class Storage {
public:
    Storage() = default;
    explicit Storage(long long size) { grow(size); }
    explicit Storage(std::span<const Number> values) : Storage(static_cast<long long>(values.size())) {
        for (std::size_t i = 0; i < values.size(); ++i) data_[i] = values[i];
    }
    ~Storage() { std::free(data_); }
    Storage(Storage&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Storage& operator=(Storage&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }

    void grow(long long size) {
        if (!try_grow(size)) throw std::bad_alloc();
    }
    // False where there is no memory; what there was stays.
    [[nodiscard]] bool try_grow(long long size) noexcept {
        const std::size_t bytes = static_cast<std::size_t>(size > 0 ? size : 1) * sizeof(Number);
        auto* memory = static_cast<Number*>(std::realloc(data_, bytes));
        if (!memory) return data_ && size <= size_;
        data_ = memory;
        size_ = size;
        prefer_large_pages(data_, bytes);
        return true;
    }
    Number* data() { return data_; }
    const Number* data() const { return data_; }
    long long size() const { return size_; }
    Number* release() {
        size_ = 0;
        return std::exchange(data_, nullptr);
    }

private:
    Number* data_ = nullptr;
    long long size_ = 0;
};

}  // namespace daedalus
