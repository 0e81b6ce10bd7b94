// The slots by which Python's garbage collector sees what an object holds: callables often lead back to it.
#pragma once

#include <utility>
#include <vector>

#include "python/python_arrays.hpp"

namespace daedalus {

// An owner shows what it holds, objects and lists of them, by `void show(auto&& see) { see(one, another, list); }`.
// Where it has `forget()`, that lets go of what points into them before they are gone.
template <class Owner>
struct Collected {
    static int traverse(PyObject* self, visitproc visit, void* arg) {
        Py_VISIT(Py_TYPE(self));
        if (!nb::inst_ready(self)) return 0;
        int stop = 0;
        const auto see = [&](nb::handle held) {
            if (!stop && held) stop = visit(held.ptr(), arg);
        };
        nb::inst_ptr<Owner>(self)->show([&](const auto&... held) { (each(held, see), ...); });
        return stop;
    }
    static int clear(PyObject* self) {
        Owner& owner = *nb::inst_ptr<Owner>(self);
        if constexpr (requires { owner.forget(); }) owner.forget();
        owner.show([](auto&... held) { (void(std::exchange(held, {})), ...); });
        return 0;
    }
    static inline PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                                         {Py_tp_clear, reinterpret_cast<void*>(clear)},
                                         {0, nullptr}};

private:
    static void each(nb::handle held, const auto& see) { see(held); }
    static void each(const std::vector<nb::object>& held, const auto& see) {
        for (const nb::object& one : held) see(one);
    }
};

}  // namespace daedalus
