// Python functions that C code calls and whose errors it drops: an interrupt that falls into one is raised behind it.
#include "python/collected.hpp"
#include "python/interpreter_lock.hpp"
#include "python/python_function.hpp"

namespace daedalus {

namespace {

struct Sheltered {
    nb::object function;
    void show(auto&& see) { see(function); }
};

int raise_kept(void* kept) {
    PyObject* exception = static_cast<PyObject*>(kept);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
    Py_DECREF(exception);
    return -1;
}

// Where no room is left for it the exception is raised at once, as if nothing sheltered the function.
void raise_later(const nb::python_error& error) {
    PyObject* exception = error.value().inc_ref().ptr();
    if (Py_AddPendingCall(raise_kept, exception) != 0) raise_kept(exception);
}

// What is no Exception, such as KeyboardInterrupt, comes from outside the function: that is done all the same.
nb::object call(const Sheltered& self, const nb::args& given, const nb::kwargs& named) {
    for (;;) {
        PyObject* result = PyObject_Call(self.function.ptr(), given.ptr(), named.ptr());
        if (result) return nb::steal(result);
        nb::python_error error;
        if (error.matches(PyExc_Exception)) throw error;
        result = PyObject_Call(self.function.ptr(), given.ptr(), named.ptr());
        if (!result) continue;
        raise_later(error);
        if (PyErr_Occurred()) {
            Py_DECREF(result);
            throw nb::python_error();
        }
        return nb::steal(result);
    }
}

}  // namespace

void bind_interrupts(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<Sheltered>(module, "Sheltered", nb::type_slots(Collected<Sheltered>::slots))
        .def("__init__", [](Sheltered* place, nb::object function) { new (place) Sheltered{std::move(function)}; },
             "function"_a)
        .def("__call__", call, "given"_a, "named"_a);
}

}  // namespace daedalus
