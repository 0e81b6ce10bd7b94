// Tables, tableaux and cancellation as Python sees them.
#pragma once

#include <atomic>
#include <memory>

#include "methods/explicit/tableau.hpp"

namespace daedalus {

struct PythonTableau {
    std::shared_ptr<const PreparedTableau> prepared;
    Tableau numbers;
};

struct Cancel {
    std::atomic<bool> flag{false};
};

}  // namespace daedalus
