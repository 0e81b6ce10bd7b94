// The seam for model functions: machine code, interpreters and Python callables behind one class.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "machine/extremes.hpp"
#include "python/collected.hpp"
#include "python/interpreter_lock.hpp"
#include "python/python_function.hpp"

namespace daedalus {

namespace {

// Looked up at import: numpy.empty, and the one array of size zero.
PyObject* make_empty = nullptr;
PyObject* size_zero = nullptr;

// A copy, so that a callable may keep what it is given.
nb::object copy_to_array(const double* values, long long size) {
    if (size == 0) return nb::borrow(size_zero);
    const nb::object length = nb::steal(PyLong_FromLongLong(size));
    nb::object array = nb::steal(PyObject_CallOneArg(make_empty, length.ptr()));
    Py_buffer view;
    if (!array.is_valid() || PyObject_GetBuffer(array.ptr(), &view, PyBUF_CONTIG) != 0) throw nb::python_error();
    std::memcpy(view.buf, values, static_cast<std::size_t>(size) * sizeof(double));
    PyBuffer_Release(&view);
    return array;
}

void store_output(const Function& function, std::size_t k, nb::handle value, double* res) {
    const Doubles numbers(value);
    if (numbers.size() != function.size_out[k])
        throw nb::value_error((function.name + " returned " + std::to_string(numbers.size()) + " values where " +
                               std::to_string(function.size_out[k]) + " were expected")
                                  .c_str());
    if (res && numbers.size() > 0)
        std::memcpy(res, numbers.data(), static_cast<std::size_t>(numbers.size()) * sizeof(double));
}

void call_python(const PythonFunction& function, const double** arg, double** res) {
    const Function& core = function.core;
    nb::object arguments = nb::steal(PyTuple_New(Py_ssize_t(core.size_in.size())));
    for (std::size_t i = 0; i < core.size_in.size(); ++i)
        PyTuple_SET_ITEM(arguments.ptr(), Py_ssize_t(i), copy_to_array(arg[i], core.size_in[i]).release().ptr());
    PyObject* raw = nullptr;
    with_lasting_thread([&] { raw = PyObject_Call(function.callable.ptr(), arguments.ptr(), nullptr); });
    if (!raw) throw nb::python_error();
    const nb::object result = nb::steal(raw);
    if (core.size_out.size() == 1) return store_output(core, 0, result, res[0]);
    const nb::sequence outputs = nb::cast<nb::sequence>(result);
    if (nb::len(outputs) != core.size_out.size())
        throw nb::value_error((core.name + " returned the wrong number of outputs").c_str());
    for (std::size_t k = 0; k < core.size_out.size(); ++k) store_output(core, k, outputs[k], res[k]);
}

// Python errors stop the run: the first one is kept, later calls return at once.
int python_callback(void* context, void* keeper, const double** arg, double** res) {
    auto* kept = static_cast<KeptException*>(keeper);
    if (kept && (kept->value || kept->interrupted)) return aborted;
    const LockTaken taken;
    try {
        call_python(*static_cast<const PythonFunction*>(context), arg, res);
        return 0;
    } catch (nb::python_error& error) {
        if (kept) keep(*kept, error);
    } catch (const nb::builtin_exception& error) {
        PyObject* kind = error.type() == nb::exception_type::type_error ? PyExc_TypeError : PyExc_ValueError;
        if (kept) kept->value = PyObject_CallFunction(kind, "s", error.what());
    } catch (const std::exception& error) {
        if (kept) kept->value = PyObject_CallFunction(PyExc_RuntimeError, "s", error.what());
    }
    return aborted;
}

// The argument arrays of one call or of many: (size,) shared or (N, size) one row a call.
struct Arguments {
    std::vector<std::unique_ptr<Doubles>> arrays;
    std::vector<bool> many;
    long long rows = 1;
    bool any_many = false;

    Arguments() = default;

    // One vector of finite numbers an argument, as arrays of doubles; false where anything else was given.
    bool take_vectors(const Function& function, nb::args given) {
        if (given.size() != function.size_in.size()) return false;
        for (std::size_t i = 0; i < given.size(); ++i) {
            if (!PyObject_CheckBuffer(given[i].ptr())) return false;
            arrays.push_back(std::make_unique<Doubles>(given[i], only_borrowed));
            const Doubles& array = *arrays.back();
            if (array.dimensions() != 1 || array.size() != function.size_in[i]) return false;
            double spread = 0;  // NaN as soon as one number is not finite
            for (const double value : array.span()) spread += value - value;
            if (spread != 0) return false;
            many.push_back(false);
        }
        return true;
    }

    Arguments(const Function& function, nb::args given, bool allow_many) {
        if (given.size() != function.size_in.size())
            throw nb::type_error((function.name + " takes " + std::to_string(function.size_in.size()) +
                                  " arguments, " + std::to_string(given.size()) + " were given")
                                     .c_str());
        for (std::size_t i = 0; i < given.size(); ++i) {
            arrays.push_back(std::make_unique<Doubles>(given[i]));
            const Doubles& array = *arrays.back();
            const long long size = function.size_in[i];
            many.push_back(allow_many && array.dimensions() == 2);
            if (many.back()) {
                if (any_many && array.length(0) != rows)
                    throw nb::value_error("arguments have different numbers of rows");
                rows = array.length(0), any_many = true;
            }
            if (array.size() != (many.back() ? rows * size : size))
                throw nb::value_error((function.name + ": argument " + std::to_string(i) + " has " +
                                       std::to_string(array.size()) + " numbers, expected " +
                                       std::to_string(many.back() ? rows * size : size))
                                          .c_str());
        }
    }
    void set(const Function& function, Call& call, long long row) const {
        for (std::size_t i = 0; i < arrays.size(); ++i)
            call.arg[i] = arrays[i]->data() + (many[i] ? row * function.size_in[i] : 0);
    }
};

// Work with a call, without the GIL; it tells whether an evaluation failed.
void without_lock(const Function& function, auto&& work) {
    KeptException kept;
    int failed = 0;
    {
        const LockReleased released;
        Caller caller(function, &kept);
        failed = work(caller.call());
    }
    if (!failed) return;
    raise_kept(kept);
    throw std::runtime_error("the evaluation of " + function.name + " failed");
}

// Room for the outputs of one call or of many.
struct Outputs {
    std::vector<Storage<double>> arrays;

    explicit Outputs(const Function& function, long long rows = 1) {
        for (const long long size : function.size_out) arrays.emplace_back(rows * size);
    }
    void set(const Function& function, Call& call, long long row = 0) {
        for (std::size_t k = 0; k < arrays.size(); ++k) call.res[k] = arrays[k].data() + row * function.size_out[k];
    }
};

nb::tuple evaluate_rows(const PythonFunction& function, const Arguments& arguments, bool allow_many) {
    const Function& core = function.core;
    Outputs outputs(core, arguments.rows);
    without_lock(core, [&](Call& call) {
        int failed = 0;
        for (long long row = 0; row < arguments.rows && !failed; ++row) {
            arguments.set(core, call, row), outputs.set(core, call, row);
            failed = evaluate(call);
        }
        return failed;
    });
    nb::object result = nb::steal(PyTuple_New(Py_ssize_t(core.size_out.size())));
    for (std::size_t k = 0; k < core.size_out.size(); ++k) {
        const auto size = static_cast<std::size_t>(core.size_out[k]);
        const auto rows = static_cast<std::size_t>(arguments.rows);
        nb::object array = allow_many ? to_numpy(std::move(outputs.arrays[k]), {rows, size})
                                      : to_numpy(std::move(outputs.arrays[k]), {size});
        PyTuple_SET_ITEM(result.ptr(), Py_ssize_t(k), array.release().ptr());
    }
    return nb::borrow<nb::tuple>(result);
}

// The lowest and the highest of the first output over many rows; infinities the wrong way round where it has no value.
nb::tuple extremes(const PythonFunction& self, nb::args given) {
    const Function& core = self.core;
    if (core.size_out.empty() || core.size_out.front() < 1)
        throw nb::type_error((core.name + " has no output").c_str());
    const Arguments arguments(core, given, true);
    Outputs outputs(core);
    Extremes found;
    without_lock(core, [&](Call& call) {
        outputs.set(core, call);
        for (long long row = 0; row < arguments.rows; ++row) {
            arguments.set(core, call, row);
            if (const int failed = evaluate(call)) return failed;
            found.see(call.res[0][0]);
        }
        return 0;
    });
    return nb::make_tuple(found.lowest, found.highest);
}

nb::tuple evaluate_once(const PythonFunction& self, nb::args given) {
    return evaluate_rows(self, Arguments(self.core, given, false), false);
}
nb::tuple evaluate_many(const PythonFunction& self, nb::args given) {
    return evaluate_rows(self, Arguments(self.core, given, true), true);
}

// The call that loops make; None leaves it to the caller to read, or refuse, what is no vector of finite numbers.
nb::object evaluate_vectors(const PythonFunction& self, nb::args given) {
    Arguments arguments;
    if (!arguments.take_vectors(self.core, given)) return nb::none();
    return evaluate_rows(self, arguments, false);
}

double time_per_call(const PythonFunction& function, nb::args given, long long repetitions) {
    const Function& core = function.core;
    const Arguments arguments(core, given, false);
    Outputs outputs(core);
    double seconds = 0;
    without_lock(core, [&](Call& call) {
        int failed = 0;
        arguments.set(core, call, 0), outputs.set(core, call);
        seconds = seconds_per(repetitions, [&] { failed |= evaluate(call); });
        return failed;
    });
    return seconds;
}

void construct(PythonFunction* self, std::string name, std::vector<long long> size_in, std::vector<long long> size_out,
               long long sz_arg, long long sz_res, long long sz_iw, long long sz_w) {
    for (const Integers& sizes : {size_in, size_out, Integers{sz_iw, sz_w}})
        for (const long long size : sizes)
            if (size < 0) throw nb::value_error("sizes must not be negative");
    new (self) PythonFunction();
    Function& core = self->core;
    core.name = std::move(name), core.size_in = std::move(size_in), core.size_out = std::move(size_out);
    core.sz_arg = std::max(sz_arg, static_cast<long long>(core.size_in.size()));
    core.sz_res = std::max(sz_res, static_cast<long long>(core.size_out.size()));
    core.sz_iw = sz_iw, core.sz_w = sz_w, core.context = self;
}

void set_machine_code(PythonFunction& self, std::uintptr_t address, nb::object owner) {
    if (!address) throw nb::value_error("the address of machine code must not be 0");
    self.owners.push_back(std::move(owner));
    self.core.machine_code.store(reinterpret_cast<MachineCode>(address), std::memory_order_release);
}

void set_interpreter(PythonFunction& self, std::uintptr_t evaluate_address, int id, nb::object owner,
                     std::uintptr_t checkout_address, std::uintptr_t release_address) {
    if (!evaluate_address) throw nb::value_error("the address of an interpreter must not be 0");
    self.owners.push_back(std::move(owner));
    self.interpreters.push_back(std::make_unique<Interpreter>(
        Interpreter{reinterpret_cast<InterpreterCode>(evaluate_address), id,
                    reinterpret_cast<int (*)(int)>(checkout_address),
                    reinterpret_cast<void (*)(int, int)>(release_address)}));
    self.core.interpreter.store(self.interpreters.back().get(), std::memory_order_release);
}

void set_python(PythonFunction& self, nb::callable callable) {
    if (self.callable.is_valid()) self.owners.push_back(self.callable);
    self.callable = std::move(callable);
    self.core.callback.store(python_callback, std::memory_order_release);
}

const char* kind(const PythonFunction& self) {
    if (self.core.machine_code.load()) return "machine code";
    if (self.core.interpreter.load()) return "interpreter";
    return self.core.callback.load() ? "python" : "empty";
}

}  // namespace

void keep(KeptException& kept, const nb::python_error& error) {
    if (error.matches(PyExc_KeyboardInterrupt))
        kept.interrupted = true;
    else
        kept.value = error.value().inc_ref().ptr();
}

void rethrow(KeptException& kept) {
    if (!kept.value) return;
    PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(kept.value));
    Py_INCREF(type);
    PyErr_Restore(type, kept.value, PyException_GetTraceback(kept.value));
    kept.value = nullptr;
    throw nb::python_error();
}

void raise_kept(KeptException& kept) {
    rethrow(kept);
    if (!kept.interrupted) return;
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
}

void bind_function(nb::module_& module) {
    using namespace nb::literals;
    const nb::object empty = nb::module_::import_("numpy").attr("empty");
    make_empty = nb::object(empty).release().ptr();
    size_zero = empty(0).release().ptr();
    nb::class_<PythonFunction>(module, "Function", nb::type_slots(Collected<PythonFunction>::slots),
                               nb::is_weak_referenceable())
        .def("__init__", construct, "name"_a, "size_in"_a, "size_out"_a, "sz_arg"_a = 0, "sz_res"_a = 0, "sz_iw"_a = 0,
             "sz_w"_a = 0)
        .def("set_machine_code", set_machine_code, "address"_a, "owner"_a.none())
        .def("set_interpreter", set_interpreter, "eval_address"_a, "id"_a, "owner"_a.none(), "checkout_address"_a = 0,
             "release_address"_a = 0)
        .def("set_python", set_python, "callable"_a)
        .def_prop_ro("kind", kind)
        .def_prop_ro("name", [](const PythonFunction& self) { return self.core.name; })
        .def_prop_ro("size_in", [](const PythonFunction& self) { return self.core.size_in; })
        .def_prop_ro("size_out", [](const PythonFunction& self) { return self.core.size_out; })
        .def_prop_ro("address", [](const PythonFunction& self) {
            return reinterpret_cast<std::uintptr_t>(self.core.machine_code.load());
        })
        .def("__call__", evaluate_once)
        .def("evaluate_many", evaluate_many)
        .def("evaluate_vectors", evaluate_vectors)
        .def("extremes", extremes)
        .def("time_per_call", time_per_call, "arguments"_a, nb::kw_only(), "repetitions"_a = 1000);
}

}  // namespace daedalus
