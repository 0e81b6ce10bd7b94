// The seam between Python and the integrator core.
#include <nanobind/nanobind.h>

NB_MODULE(_core, module) { module.doc() = "The integrator core."; }
