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

// The word of an ending, as Python compares it.
inline const char* status_name(Status status) {
    switch (status) {
        case Status::finished: return "finished";
        case Status::event: return "event";
        case Status::interrupted: return "interrupted";
        case Status::cancelled: return "cancelled";
        case Status::step_limit: return "step_limit";
        case Status::memory_limit: return "memory_limit";
        case Status::time_limit: return "time_limit";
        case Status::step_too_small: return "step_too_small";
        case Status::not_finite: return "not_finite";
        case Status::chattering: return "chattering";
        case Status::newton_failed: return "newton_failed";
        case Status::singular: return "singular";
        case Status::rounding: return "rounding";
        case Status::inconsistent: return "inconsistent";
        case Status::stiff: return "stiff";
        case Status::not_projected: return "not_projected";
        case Status::conflict: return "conflict";
        case Status::endless: return "endless";
        case Status::call_failed: return "call_failed";
        default: return "unknown";
    }
}

nb::class_<Plan> bind_plan(nb::module_& module);

}  // namespace daedalus
