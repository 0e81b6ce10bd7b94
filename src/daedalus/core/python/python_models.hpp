// Implicit and linear models, constraints and the numbers of implicit methods as Python sees them.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "methods/bdf/bdf_settings.hpp"
#include "methods/implicit_tableau/implicit_tableau.hpp"
#include "methods/lobatto/lobatto_step.hpp"
#include "methods/radau/collocation_coefficients.hpp"
#include "methods/rosenbrock/rosenbrock_coefficients.hpp"
#include "model/implicit_model.hpp"
#include "model/linear_model.hpp"
#include "python/python_function.hpp"

namespace daedalus {

struct PythonImplicitModel {
    ImplicitModel core;
    nb::object residual, jacobian, drift;  // kept alive
    std::vector<nb::object> products;
    nb::object preconditioner = nb::none(), product = nb::none(), charged = nb::none(), charged_jacobian = nb::none();
};

struct PythonLinearModel {
    LinearModel core;
    nb::object function;  // kept alive
};

struct PythonProjection {
    ConstraintLevels core;
    nb::object model, positions, velocities, motion, others;  // kept alive
};

struct PythonLobattoStep {
    LobattoStep core;
    std::vector<nb::object> functions;  // kept alive
};

using ColumnEntries = std::vector<std::array<long long, 4>>;

// A function of the model, and where its values stand. Terms: which value, its row, the unknown it is multiplied with
// and whether that is a derivative. Seeds: which value, its row, its column, and the input it is multiplied with (-1:
// none).
struct PythonColumnProducts {
    nb::object function;
    ColumnEntries terms, seeds;
};

// A model of one column with groups of columns of derivatives: by products of the residual, below the diagonal and of the
// drift, each of which but the first may be None; or by functions of all columns.
void add_columns(ImplicitModel& model, const std::vector<long long>& widths, const std::vector<nb::object>& products,
                 nb::handle below);

void bind_columns(nb::module_& module);
void bind_rosenbrock(nb::module_& module);

}  // namespace daedalus
