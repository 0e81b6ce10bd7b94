// Plan, Tableau, Run and Cancel as Python sees them: everything of a run but its numbers, its record, a way to end it.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "methods/explicit/tableau.hpp"
#include "python/python_function.hpp"
#include "run/run.hpp"

namespace daedalus {

// Model, method, tolerances, limits and events, checked once; runs borrow from it and never change it.
struct Plan {
    nb::object model, method, guards, resets, projection, restart, contacts;
    std::vector<double> atol;
    std::vector<long long> directions, actions, occurrences, sides, at_start, levels;
    std::vector<unsigned char> writes, is_read, is_contact, may_slide;
    long long row_size = 0, input_count = 0, parameter_count = 0;
    Request request;  // span, start, inputs and parameters are of each run

    void show(auto&& see) { see(model, method, guards, resets, projection, restart, contacts); }
};

// The tableau of an explicit method.
struct PythonTableau {
    std::shared_ptr<const PreparedTableau> prepared;
    Tableau numbers;
};

// What dense() needs later is owned: the plan, inputs and parameters.
struct PythonRun {
    std::shared_ptr<Record> record;
    nb::object plan, agenda, delays;
    std::vector<nb::object> table_objects;
    std::vector<const Table*> tables;
    std::vector<double> u, p;
    Request request;
    nb::object t, x, dense;

    void show(auto&& see) { see(table_objects, plan, agenda, delays, t, x, dense); }
};

// Set from any thread; the run looks at it between chunks of steps.
struct Cancel {
    std::atomic<bool> flag{false};
};

// A callable of a clock with its memory, of one run; sizes of what it reads and answers are 0 for scalars.
struct PythonSampled {
    Function core;
    nb::object callable, memory, error;
    std::vector<long long> reads, writes;

    void show(auto&& see) { see(callable, memory, error); }
};

struct PythonAgenda {
    std::vector<double> times;
    std::vector<long long> what, rising, scheduled, fired;
    std::vector<SampledSource> calls;
    std::vector<nb::object> owners;
};

struct PythonDelays {
    DelaySource core;
    nb::object signals;
};

// A run that goes on, as whoever looks at it sees it; nothing once the look is over.
struct PythonSoFar {
    const SoFar* now = nullptr;
};

nb::class_<Plan> bind_plan(nb::module_& module);

}  // namespace daedalus
