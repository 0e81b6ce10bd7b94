// Tableaux of explicit methods as Python sees them.
#pragma once

#include <memory>

#include "methods/explicit/tableau.hpp"

namespace daedalus {

struct PythonTableau {
    std::shared_ptr<const PreparedTableau> prepared;
    Tableau numbers;
};

}  // namespace daedalus
