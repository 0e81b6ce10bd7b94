// Implicit models and the numbers of implicit methods as Python sees them.
#pragma once

#include <memory>
#include <vector>

#include "bdf_settings.hpp"
#include "collocation_table.hpp"
#include "implicit_model.hpp"
#include "implicit_table.hpp"
#include "lobatto_step.hpp"
#include "python_function.hpp"
#include "rosenbrock_table.hpp"

namespace daedalus {

struct PythonImplicitModel {
    ImplicitModel core;
    nb::object residual, jacobian, drift;  // kept alive
};

struct PythonLobattoStep {
    LobattoStep core;
    std::vector<nb::object> functions;  // kept alive
};

void bind_rosenbrock(nb::module_& module);

}  // namespace daedalus
