// Plain numbers by name into a vector, as a run in a loop reads its start, inputs and parameters: no detour over NumPy.
#include <algorithm>
#include <cmath>

#include "python/python_arrays.hpp"
#include "python/python_function.hpp"

namespace nb = nanobind;

namespace daedalus {
namespace {

using Target = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A float or a plain int; false for everything else, bool among it.
bool read_number(PyObject* value, double& number) {
    if (PyFloat_Check(value)) {
        number = PyFloat_AS_DOUBLE(value);
        return true;
    }
    if (!PyLong_CheckExact(value)) return false;
    number = PyLong_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();  // too large for a double
        return false;
    }
    return true;
}

// The entries of a list or tuple of as many numbers as the place has.
bool write_sequence(PyObject* values, double* target, Py_ssize_t size) {
    if (PySequence_Fast_GET_SIZE(values) != size) return false;
    PyObject** const items = PySequence_Fast_ITEMS(values);
    for (Py_ssize_t k = 0; k < size; ++k)
        if (!read_number(items[k], target[k])) return false;
    return true;
}

// The entries of an array of doubles, whatever its strides.
bool write_array(PyObject* values, double* target, Py_ssize_t size) {
    if (!PyObject_CheckBuffer(values)) return false;
    Py_buffer view;
    if (PyObject_GetBuffer(values, &view, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) {
        PyErr_Clear();
        return false;
    }
    const bool fits = view.ndim == 1 && view.shape[0] == size && view.format != nullptr && view.format[0] == 'd' &&
                      view.format[1] == '\0';
    if (fits) {
        const char* entry = static_cast<const char*>(view.buf);
        for (Py_ssize_t k = 0; k < size; ++k, entry += view.strides[0])
            target[k] = *reinterpret_cast<const double*>(entry);
    }
    PyBuffer_Release(&view);
    return fits;
}

// One value into its place; a single number fills a vector. `size` is 0 for a scalar.
bool write_value(PyObject* value, double* target, Py_ssize_t size) {
    double number = 0.0;
    if (read_number(value, number)) {
        std::fill_n(target, size == 0 ? 1 : size, number);
        return true;
    }
    if (size == 0) return false;
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) return write_sequence(value, target, size);
    return write_array(value, target, size);
}

// How many entries were written, or -1 where anything is out of the ordinary: the caller then looks closer.
// `places` maps a name to (first entry, size, 0 for a scalar).
long write_plain(Target target, nb::dict places, nb::dict values) {
    double* const data = target.data();
    const auto entries = static_cast<Py_ssize_t>(target.shape(0));
    PyObject *name = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    long written = 0;
    while (PyDict_Next(values.ptr(), &position, &name, &value)) {
        PyObject* const place = PyDict_GetItemWithError(places.ptr(), name);
        if (place == nullptr) {
            PyErr_Clear();
            return -1;
        }
        const Py_ssize_t first = PyLong_AsSsize_t(PyTuple_GET_ITEM(place, 0));
        const Py_ssize_t size = PyLong_AsSsize_t(PyTuple_GET_ITEM(place, 1));
        const Py_ssize_t count = size == 0 ? 1 : size;
        if (first < 0 || first + count > entries || !write_value(value, data + first, size)) return -1;
        written += static_cast<long>(count);
    }
    for (Py_ssize_t k = 0; k < entries; ++k)
        if (!std::isfinite(data[k])) return -1;
    return written;
}

}  // namespace

void bind_values(nb::module_& module) {
    module.def("write_plain", &write_plain, nb::arg("target"), nb::arg("places"), nb::arg("values"));
}

}  // namespace daedalus
