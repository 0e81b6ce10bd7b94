// Implicit models and the numbers of implicit methods as Python sees them.
#pragma once

#include <memory>

#include "collocation_table.hpp"
#include "implicit_model.hpp"
#include "implicit_table.hpp"
#include "python_function.hpp"

namespace daedalus {

struct PythonImplicitModel {
    ImplicitModel core;
    nb::object residual, jacobian;  // kept alive
};

}  // namespace daedalus
