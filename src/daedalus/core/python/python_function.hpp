// Function as Python sees it: owners kept alive, callables called with the GIL, exceptions kept for later.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "model/caller.hpp"
#include "python/python_arrays.hpp"

namespace daedalus {

// Where a run keeps the first exception of its callbacks until the loop has stopped.
struct KeptException {
    PyObject* value = nullptr;
    bool interrupted = false;  // a KeyboardInterrupt: ends the run without an exception
};

// Keeps the exception that was just caught; the GIL is held.
void keep(KeptException& kept, const nb::python_error& error);
// Throws the kept exception, if any.
void rethrow(KeptException& kept);
// That, or a KeyboardInterrupt.
void raise_kept(KeptException& kept);

struct PythonFunction {
    Function core;
    std::vector<nb::object> owners;  // of machine code and interpreters, old ones too
    std::vector<std::unique_ptr<Interpreter>> interpreters;
    nb::object callable;

    void show(auto&& see) { see(callable, owners); }
    void forget() { core.callback = nullptr, core.interpreter = nullptr, core.machine_code = nullptr; }
};

// The seconds that work takes, on the average of many times.
double seconds_per(long long repetitions, auto&& work) {
    if (repetitions < 1) throw nb::value_error("repetitions must be at least 1");
    const auto begin = std::chrono::steady_clock::now();
    for (long long i = 0; i < repetitions; ++i) work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    return taken.count() / static_cast<double>(repetitions);
}

void bind_function(nb::module_& module);
void bind_inputs(nb::module_& module);
void bind_tableau(nb::module_& module);
void bind_integrate(nb::module_& module);
void bind_run(nb::module_& module);
void bind_implicit(nb::module_& module);
void bind_lobatto(nb::module_& module);
void bind_linear(nb::module_& module);
void bind_linear_model(nb::module_& module);
void bind_flow(nb::module_& module);
void bind_adjoint(nb::module_& module);
void bind_array_run(nb::module_& module);
void bind_values(nb::module_& module);
void bind_numbers(nb::module_& module);
void bind_noise(nb::module_& module);
void bind_intervals(nb::module_& module);
void bind_contact(nb::module_& module);
void bind_matching(nb::module_& module);
void bind_order(nb::module_& module);
void bind_program(nb::module_& module);
void bind_receding(nb::module_& module);
void bind_newton(nb::module_& module);
void bind_interrupts(nb::module_& module);
void bind_forks(nb::module_& module);
void bind_memory(nb::module_& module);

}  // namespace daedalus
