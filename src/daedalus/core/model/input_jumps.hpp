// Which inputs jump at a stop of a run, and which pass it smoothly.
//
// Either side of a stop has a formula of its own: the segment of a table or the piece of a history that ends there, and the
// one that begins. Where the signal does not jump they agree but for rounding, and a guard that this carries across zero
// has not passed it. What is below the bound of the rounding errors (N. J. Higham, Accuracy and Stability of Numerical
// Algorithms, 2002, section 5.1 for Horner's rule) is no jump; a true one as small as that is found in the step behind.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "machine/platform.hpp"
#include "model/inputs.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// The rounding error of a polynomial whose terms add up to `size` in absolute values.
inline double polynomial_rounding(long long degree, double size) noexcept {
    return 2 * static_cast<double>(degree + 2) * std::numeric_limits<double>::epsilon() * size;
}

// Of each slot of a table the rounding error at the end of the active segment.
inline void note_table_rounding(const ActiveTable& table, double t, double* rounding) noexcept {
    const bool inside = table.segment > 0 && table.segment < table.count;
    const double* left = table.values + (table.segment > 0 ? table.segment - 1 : 0) * table.width;
    const double way = inside ? std::fabs(t - table.times[table.segment - 1]) : 0;
    for (long long i = 0; i < table.width; ++i) {
        double size = std::fabs(left[i]) + (inside ? std::fabs(left[table.width + i]) : 0);
        if (inside && table.degree > 0) {
            const double* c = table.coefficients + (table.segment - 1) * (table.degree + 1) * table.width + i;
            size = 0;
            for (long long k = table.degree; k >= 0; --k) size = size * way + std::fabs(c[k * table.width]);
        }
        rounding[table.slots[i]] = polynomial_rounding(std::max(table.degree, 1LL), size);
    }
}

// The rounding error of a delayed signal on a piece, that of its times included (N. J. Higham, IMA Journal of Numerical
// Analysis 24, 2004, for the barycentric formula; Lebesgue's constant of these points is below 3).
inline double piece_rounding(const DelayedSignals& d, long long signal, long long piece) noexcept {
    const double* samples = piece_of(d, signal, piece);
    double size = std::fabs(*samples), slope = 0;
    for (std::size_t j = 1; j < d.parts.size(); ++j) {
        samples += d.count();
        size = std::max(size, std::fabs(*samples));
        slope = std::max(slope, std::fabs(*samples - samples[-d.count()]) / (d.parts[j] - d.parts[j - 1]));
    }
    const auto at = static_cast<std::size_t>(piece);
    const double length = std::fabs(d.ends[at] - d.starts[at]);
    const double rounding = (6 * d.degree + 5) * std::numeric_limits<double>::epsilon() * size;
    return rounding + (length > 0 ? d.closest * slope / length : 0);
}

// Before the segments at t change: what inputs are at the end of the present ones, and how exactly that is known.
inline void keep_before(Inputs& inputs, double t) noexcept {
    if (inputs.any_slope) write_slopes(inputs, t);
    std::copy_n(inputs.u, inputs.slots, inputs.before);
    std::fill_n(inputs.rounding, inputs.slots, 0.0);
    for (long long k = 0; k < inputs.count; ++k) note_table_rounding(inputs.tables[k], t, inputs.rounding);
    if (!inputs.delayed) return;
    const DelayedSignals& d = *inputs.delayed;
    for (long long k = 0; k < d.count(); ++k) {
        const double time = t - d.delays[static_cast<std::size_t>(k)];
        const long long after = piece_from(d, time), before = meets_piece(d, after, time) ? after - 1 : after;
        const auto slot = d.slots[static_cast<std::size_t>(k)];
        inputs.before[slot] = signal_on(d, k, before, time);
        inputs.rounding[slot] = piece_rounding(d, k, before) + piece_rounding(d, k, after);
    }
}

// Whether any input jumped at a stop, with u as it is behind it; a table without values tells of what jumps by itself.
inline bool inputs_jumped(Inputs& inputs, double t) noexcept {
    if (inputs.any_slope) write_slopes(inputs, t);
    bool any = false;
    for (long long k = 0; k < inputs.count; ++k) any |= inputs.tables[k].width == 0;
    for (long long k = 0; k < inputs.slots; ++k) any |= !(std::fabs(inputs.u[k] - inputs.before[k]) <= inputs.rounding[k]);
    return any;
}

// With u as it is behind a stop: what did not jump there is put back as it was before, for guards to be judged with, and
// `before` keeps the later values. Whether anything jumped.
inline bool put_back(Inputs& inputs) noexcept {
    bool any = false;
    for (long long k = 0; k < inputs.slots; ++k) {
        const double later = inputs.u[k], earlier = inputs.before[k];
        const bool jumps = !(std::fabs(later - earlier) <= inputs.rounding[k]);
        any |= jumps;
        inputs.u[k] = jumps ? later : earlier;
        inputs.before[k] = later;
    }
    return any;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
