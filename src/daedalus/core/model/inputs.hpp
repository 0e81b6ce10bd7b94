// Tabulated inputs: which segment is active, what it writes into u, and where integration has to stop.
//
// A hold table is right-continuous: u(t) = values[j] for times[j] <= t < times[j+1]. A linear one interpolates, a curved
// one is a polynomial in t - times[j] on each segment. Outside its range a table keeps its first or last values. Steps never cross a time of a table, so one segment is active in
// every step and it is found from the step's middle: the left value holds up to the breakpoint, the right one after it.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "machine/platform.hpp"
#include "model/delayed_signals.hpp"

namespace daedalus {

struct Table {
    std::vector<double> times;      // not decreasing
    std::vector<double> values;     // (times, slots) in rows
    std::vector<long long> slots;   // where in u
    bool linear = false;
    long long degree = 0;              // of the polynomials of a curved table
    std::vector<double> coefficients;  // of these: (segments, degree + 1, slots), lowest power first
};

// One table inside a run.
struct ActiveTable {
    const double* times = nullptr;
    const double* values = nullptr;
    const long long* slots = nullptr;
    long long count = 0, width = 0;
    bool linear = false;
    long long degree = 0;
    const double* coefficients = nullptr;
    long long segment = 0;  // how many times lie before the active segment
};

struct Inputs {
    double* u = nullptr;
    double* rates = nullptr;  // u' in the present segment, for models that ask for it
    double *before = nullptr, *rounding = nullptr;  // u just before a stop, and how exactly it is known there
    long long slots = 0;
    ActiveTable* tables = nullptr;
    long long count = 0;
    DelayedSignals* delayed = nullptr;
    bool any_slope = false;  // some table changes inside the present segment, or signals are delayed
};

inline ActiveTable activate(const Table& table) {
    return {table.times.data(),
            table.values.data(),
            table.slots.data(),
            static_cast<long long>(table.times.size()),
            static_cast<long long>(table.slots.size()),
            table.linear,
            table.degree,
            table.coefficients.data(),
            0};
}

// Times that differ by rounding only, such as 3 * 0.1 and 0.3, are one.
inline double closest_times(double t0, double t1) {
    return 8 * std::numeric_limits<double>::epsilon() * std::max(std::fabs(t0), std::fabs(t1));
}

// Where a run has to stop, and at which of these times an input may change.
struct Stops {
    std::vector<double> times;
    std::vector<unsigned char> changes_inputs;
};

// Every time at which a run from t0 to t1 has to stop: those of tables and other known times between, in the run's
// order, and t1. What jumps at t1 has jumped there in a run that goes forward: the next run begins behind it.
inline Stops stop_times(double t0, double t1, std::span<const Table* const> tables, std::span<const double> others) {
    std::vector<std::pair<double, bool>> stops;
    const double low = std::min(t0, t1), high = std::max(t0, t1), sign = t1 < t0 ? -1 : 1;
    const double closest = closest_times(t0, t1);
    const auto add = [&](double time, bool changes) {
        if (time > low && time <= high + closest) stops.emplace_back(time, changes);
    };
    for (const Table* table : tables)
        for (const double time : table->times) add(time, true);
    for (const double time : others) add(time, false);
    const auto earlier = [sign](const auto& a, const auto& b) { return a.first * sign < b.first * sign; };
    if (!std::is_sorted(stops.begin(), stops.end(), earlier)) std::sort(stops.begin(), stops.end(), earlier);
    Stops merged;
    double last = t0;
    bool changes_last = false;
    for (const auto& [stop, changes] : stops) {
        if (std::fabs(t1 - stop) <= closest) {
            changes_last |= changes && t1 > t0;
            continue;
        }
        if (std::fabs(stop - last) > closest) {
            merged.times.push_back(last = stop);
            merged.changes_inputs.push_back(changes);
        } else if (changes && !merged.times.empty()) {
            merged.changes_inputs.back() = 1;
        }
    }
    merged.times.push_back(t1);
    merged.changes_inputs.push_back(changes_last);
    return merged;
}

inline namespace DAEDALUS_ISA {

inline bool has_slope(const ActiveTable& table) {
    return (table.linear || table.degree > 0) && table.segment > 0 && table.segment < table.count;
}

// Chooses the segments around the time `middle` and writes what stays constant in them.
inline void enter_segments(Inputs& inputs, double middle) {
    inputs.any_slope = inputs.delayed != nullptr;
    for (long long k = 0; k < inputs.count; ++k) {
        ActiveTable& table = inputs.tables[k];
        long long low = 0, high = table.count;
        while (low < high) {
            const long long half = (low + high) / 2;
            if (table.times[half] <= middle)
                low = half + 1;
            else
                high = half;
        }
        table.segment = low;
        if (has_slope(table)) {
            inputs.any_slope = true;
            continue;
        }
        const double* row = table.values + (low > 0 ? low - 1 : 0) * table.width;
        for (long long i = 0; i < table.width; ++i) inputs.u[table.slots[i]] = row[i];
    }
}

// The polynomials of the active segment at t, or their derivatives, by Horner's rule.
inline void write_curve(const ActiveTable& table, double t, bool rate, double* out) {
    const double s = t - table.times[table.segment - 1];
    const double* rows = table.coefficients + (table.segment - 1) * (table.degree + 1) * table.width;
    for (long long i = 0; i < table.width; ++i) {
        double sum = 0;
        for (long long k = table.degree; k >= (rate ? 1 : 0); --k)
            sum = sum * s + rows[k * table.width + i] * (rate ? static_cast<double>(k) : 1);
        out[table.slots[i]] = sum;
    }
}

// Writes the tables that change inside their segment, and delayed signals.
DAEDALUS_COLD void write_slopes(Inputs& inputs, double t) {
    if (inputs.delayed) write_delayed(*inputs.delayed, inputs.u, t);
    for (long long k = 0; k < inputs.count; ++k) {
        const ActiveTable& table = inputs.tables[k];
        if (!has_slope(table)) continue;
        if (table.degree > 0) {
            write_curve(table, t, false, inputs.u);
            continue;
        }
        const double begin = table.times[table.segment - 1], end = table.times[table.segment];
        const double part = (t - begin) / (end - begin);
        const double* left = table.values + (table.segment - 1) * table.width;
        const double* right = left + table.width;
        for (long long i = 0; i < table.width; ++i)
            inputs.u[table.slots[i]] = left[i] + part * (right[i] - left[i]);
    }
}

// Writes the slopes of all tables at t in their active segments; inputs without a table keep the rate 0.
inline void write_rates(Inputs& inputs, double t) {
    for (long long k = 0; k < inputs.count; ++k) {
        const ActiveTable& table = inputs.tables[k];
        const bool moves = has_slope(table);
        if (moves && table.degree > 0) {
            write_curve(table, t, true, inputs.rates);
            continue;
        }
        const double* left = moves ? table.values + (table.segment - 1) * table.width : table.values;
        const double length = moves ? table.times[table.segment] - table.times[table.segment - 1] : 1;
        for (long long i = 0; i < table.width; ++i)
            inputs.rates[table.slots[i]] = moves ? (left[table.width + i] - left[i]) / length : 0;
    }
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
