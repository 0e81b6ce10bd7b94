// NumPy arrays in and out without needless copies.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "machine/storage.hpp"

namespace daedalus {

namespace nb = nanobind;

using Integers = std::vector<long long>;

inline constexpr struct OnlyBorrowed {} only_borrowed;

// A vector or matrix of doubles read from any Python object; borrowed where it already is contiguous float64.
class Doubles {
public:
    Doubles() = default;
    explicit Doubles(nb::handle object) {
        if (borrow(object)) return;
        PyErr_Clear();
        if (object.is_none()) throw nb::type_error("expected an array of numbers, not None");
        converted_ = nb::module_::import_("numpy").attr("ascontiguousarray")(object, "float64");
        if (!borrow(converted_)) throw nb::type_error("expected an array of numbers");
    }
    // Empty, without dimensions, where it is not contiguous float64.
    Doubles(nb::handle object, OnlyBorrowed) {
        if (!borrow(object)) PyErr_Clear();
    }
    ~Doubles() {
        if (held_) PyBuffer_Release(&view_);
    }
    Doubles(const Doubles&) = delete;
    Doubles& operator=(const Doubles&) = delete;

    const double* data() const { return static_cast<const double*>(view_.buf); }
    long long size() const { return held_ ? static_cast<long long>(view_.len / Py_ssize_t(sizeof(double))) : 0; }
    int dimensions() const { return held_ ? view_.ndim : 0; }
    long long length(int axis) const { return static_cast<long long>(view_.shape[axis]); }
    std::span<const double> span() const { return {data(), static_cast<std::size_t>(size())}; }

private:
    bool borrow(nb::handle object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) return false;
        if (view_.format && std::strcmp(view_.format, "d") == 0) return held_ = true;
        PyBuffer_Release(&view_);
        return false;
    }

    Py_buffer view_{};
    bool held_ = false;
    nb::object converted_;
};

inline std::vector<double> to_vector(const Doubles& values) { return {values.data(), values.data() + values.size()}; }

// A new array without a value.
inline nb::object empty_in_numpy(std::initializer_list<std::size_t> shape) {
    static const nb::object* const make = new nb::object(nb::module_::import_("numpy").attr("empty"));  // never freed
    nb::object lengths = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
    Py_ssize_t axis = 0;
    for (const std::size_t length : shape) PyTuple_SET_ITEM(lengths.ptr(), axis++, PyLong_FromSize_t(length));
    return (*make)(lengths);
}

// A few numbers are copied: a new array costs less than one that looks into memory of another owner.
inline nb::object few_in_numpy(const double* memory, std::initializer_list<std::size_t> shape) {
    constexpr std::size_t few = 1024;
    std::size_t count = 1;
    for (const std::size_t length : shape) count *= length;
    if (count > few) return {};
    nb::object array = empty_in_numpy(shape);
    const Doubles place(array);
    if (count > 0) std::memcpy(const_cast<double*>(place.data()), memory, count * sizeof(double));
    return array;
}

// The array takes over the memory.
inline nb::object to_numpy(Storage<double>&& storage, std::initializer_list<std::size_t> shape) {
    if (nb::object array = few_in_numpy(storage.data(), shape); array.is_valid()) return array;
    double* memory = storage.release();
    nb::capsule owner(memory, [](void* pointer) noexcept { std::free(pointer); });
    return nb::cast(nb::ndarray<nb::numpy, double>(memory, shape, owner));
}

// The array looks into memory that `owner` keeps alive.
template <class Owner>
nb::object view_in_numpy(const std::shared_ptr<Owner>& owner, double* memory,
                         std::initializer_list<std::size_t> shape) {
    if (nb::object array = few_in_numpy(memory, shape); array.is_valid()) return array;
    nb::capsule keeper(new std::shared_ptr<Owner>(owner),
                       [](void* pointer) noexcept { delete static_cast<std::shared_ptr<Owner>*>(pointer); });
    return nb::cast(nb::ndarray<nb::numpy, double>(memory, shape, keeper));
}

inline nb::object copy_to_numpy(std::span<const double> values, std::initializer_list<std::size_t> shape) {
    return to_numpy(Storage<double>(values), shape);
}

inline nb::object copy_to_numpy(std::span<const double> values) { return copy_to_numpy(values, {values.size()}); }

}  // namespace daedalus
