// Linear models and their constraints as Python sees them.
#pragma once

#include "model/linear_model.hpp"
#include "python/python_function.hpp"

namespace daedalus {

struct PythonLinearModel {
    LinearModel core;
    nb::object function;  // kept alive
};

struct PythonProjection {
    ConstraintLevels core;
    nb::object model, positions, velocities, motion, others;  // kept alive
};

}  // namespace daedalus
