// The module daedalus._core: the seam between Python and the integrator core.
#include "machine/instruction_set.hpp"
#include "python/python_function.hpp"

namespace nb = nanobind;

NB_MODULE(_core, module) {
    if (!daedalus::runs_here())
        throw nb::import_error("this build of daedalus is for processors with AVX2 and FMA, which this one has not. "
                               "Build it again here: `make clean setup`, or `pip install` from a wheel.");
    nb::set_leak_warnings(false);  // objects alive when the interpreter ends are no concern of users
    module.doc() = "The integrator core.";
    daedalus::bind_function(module);
    daedalus::bind_inputs(module);
    daedalus::bind_tableau(module);
    daedalus::bind_implicit(module);
    daedalus::bind_lobatto(module);
    daedalus::bind_run(module);
    daedalus::bind_integrate(module);
    daedalus::bind_linear(module);
    daedalus::bind_linear_model(module);
    daedalus::bind_flow(module);
    daedalus::bind_adjoint(module);
    daedalus::bind_array_run(module);
    daedalus::bind_values(module);
    daedalus::bind_numbers(module);
    daedalus::bind_noise(module);
    daedalus::bind_intervals(module);
    daedalus::bind_contact(module);
    daedalus::bind_matching(module);
    daedalus::bind_order(module);
    daedalus::bind_program(module);
    daedalus::bind_receding(module);
    daedalus::bind_newton(module);
    daedalus::bind_interrupts(module);
    daedalus::bind_forks(module);
    daedalus::bind_memory(module);
}
