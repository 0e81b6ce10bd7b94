// What the seam refuses: objects that are no functions, empty functions, places out of range, patterns out of order.
#pragma once

#include <string>

#include "python/python_function.hpp"

namespace daedalus {

[[noreturn]] inline void refuse(const std::string& text) { throw nb::value_error(text.c_str()); }

inline const Function& function_of(nb::handle object, const char* role) {
    const PythonFunction* function = nullptr;
    if (!nb::try_cast(object, function) || !function)
        throw nb::type_error((std::string(role) + " must be a Function").c_str());
    return function->core;
}

inline void check_not_empty(const Function& function, const char* role) {
    if (!function.machine_code.load() && !function.interpreter.load() && !function.callback.load())
        refuse(std::string(role) + " is empty: it has neither machine code, nor an interpreter, nor a callable");
}

// One that has these sizes, and something to be evaluated by.
inline const Function& function_of(nb::handle object, const Integers& in, const Integers& out, const char* role) {
    const Function& function = function_of(object, role);
    if (function.size_in != in || function.size_out != out) refuse(std::string(role) + " has the wrong sizes");
    check_not_empty(function, role);
    return function;
}

inline void check_places(const Integers& places, long long end, const std::string& refusal) {
    for (const long long place : places)
        if (place < 0 || place >= end) refuse(refusal);
}

// Compressed columns of a matrix with n rows.
inline void check_columns(const Integers& colind, const Integers& rows, long long columns, long long n,
                          const char* name) {
    const std::string fault = std::string("the pattern of ") + name + " is not in compressed columns: ";
    const auto count = static_cast<long long>(rows.size());
    if (columns < 0 || static_cast<long long>(colind.size()) != columns + 1 || colind.front() != 0 ||
        colind.back() != count)
        refuse(fault + "colind must have n + 1 numbers, from 0 to the number of rows given");
    check_places(rows, n, fault + "rows must be at least 0 and less than n");
    for (std::size_t c = 0; c + 1 < colind.size(); ++c) {
        if (colind[c + 1] < colind[c] || colind[c + 1] > count) refuse(fault + "colind must not decrease");
        for (long long k = colind[c] + 1; k < colind[c + 1]; ++k)
            if (rows[std::size_t(k)] <= rows[std::size_t(k - 1)]) refuse(fault + "the rows of a column must increase");
    }
}

}  // namespace daedalus
