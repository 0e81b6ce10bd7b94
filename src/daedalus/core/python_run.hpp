// Run as Python sees it: the record of a run and what its dense output is made of.
#pragma once

#include <memory>
#include <vector>

#include "python_function.hpp"
#include "run.hpp"

namespace daedalus {

// What dense() needs later: the request's function, method and inputs, owned.
struct Ingredients {
    nb::object rhs, tableau, guards, resets, projection, restart;
    std::vector<nb::object> table_objects;
    std::vector<const Table*> tables;
    std::vector<double> u, p;
    std::vector<long long> directions, actions, occurrences;
    Request request;
};

struct PythonRun {
    std::shared_ptr<Record> record;
    std::unique_ptr<Ingredients> ingredients;
    nb::object t, x, dense;
    bool samples_only = false;
};

}  // namespace daedalus
