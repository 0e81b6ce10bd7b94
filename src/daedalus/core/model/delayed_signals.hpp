// Delayed signals: what they were is kept as polynomials, one piece a step, and written into u at the time less the delay.
//
// A piece is kept as its samples at Chebyshev's points, with both ends, and evaluated by the barycentric formula (J.-P.
// Berrut, L. N. Trefethen, SIAM Review 46, 2004): to rounding, however short the piece, where powers of time magnify the
// rounding of samples by 1e5 at degree nine; and two pieces that meet have one value there, unless the signal jumps.
//
// Steps are no longer than the shortest delay, so that the time looked back to is known. Where a signal or one of its
// derivatives jumps, integration stops one delay later too, and so on until the jump is smooth enough: with x' = f(x(t - tau))
// each round through the delay smooths by one derivative (C. T. H. Baker, C. A. H. Paul, D. R. Wille, Advances in
// Computational Mathematics 3, 1995).
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <utility>
#include <vector>

#include "machine/platform.hpp"
#include "model/function.hpp"

namespace daedalus {

// As a run is asked for: what they are, when and where, and what they were before the start, (pieces, degree + 1, signals).
struct DelaySource {
    const Function* signals = nullptr;  // (t, row, u, p) -> all signals
    std::vector<double> delays, starts, ends, samples;
    std::vector<long long> slots;  // where in u
    int degree = 0;
};

struct DelayedSignals {
    Call signals;
    std::vector<double> delays, starts, ends, samples;
    std::vector<long long> slots;
    int degree = 0;             // of the pieces
    std::vector<double> parts;  // where a piece is sampled
    std::vector<double> present;  // the samples of the present step
    const double *step_begin = nullptr, *step_end = nullptr;
    double closest = 0;  // times that differ by less are one
    // Where integration stops, of the run; and jumps on their way, with how often they went through a delay.
    std::vector<double>* stops = nullptr;
    std::vector<unsigned char>* changes = nullptr;
    std::vector<std::pair<double, int>> jumps;

    long long count() const { return static_cast<long long>(delays.size()); }
};

// A jump counts as smooth behind so many delays.
inline constexpr int smooth_behind = 6;

// Chebyshev's points of [0, 1] with both ends.
inline std::vector<double> sampled_parts(int degree) {
    std::vector<double> parts(static_cast<std::size_t>(degree) + 1);
    for (std::size_t j = 0; j < parts.size(); ++j)
        parts[j] = degree == 0 ? 1.0 : 0.5 * (1 - std::cos(std::numbers::pi * static_cast<double>(j) / degree));
    return parts;
}

inline namespace DAEDALUS_ISA {

// The piece for a time that is looked back to; of two that meet there the later one.
inline long long piece_from(const DelayedSignals& d, double time) noexcept {
    const auto later = std::upper_bound(d.starts.begin(), d.starts.end(), time + d.closest);
    return std::max<long long>(0, later - d.starts.begin() - 1);
}

// Whether a piece begins at this time, behind another one.
inline bool meets_piece(const DelayedSignals& d, long long piece, double time) noexcept {
    return piece > 0 && std::fabs(d.starts[static_cast<std::size_t>(piece)] - time) <= d.closest;
}

// The same for the present step: of two that meet at a time which it looks back to, the one on whose side it lies. A step
// that ends where they meet reads the earlier one all along, however short it is.
inline long long piece_behind(const DelayedSignals& d, double time, double delay) noexcept {
    const long long piece = piece_from(d, time);
    if (!meets_piece(d, piece, time)) return piece;
    const double meeting = d.starts[static_cast<std::size_t>(piece)] + delay;
    return std::fabs(*d.step_end - meeting) < std::fabs(*d.step_begin - meeting) ? piece - 1 : piece;
}

// The samples of a signal on a piece, each count() behind the one before.
inline const double* piece_of(const DelayedSignals& d, long long signal, long long piece) noexcept {
    return d.samples.data() + piece * (d.degree + 1) * d.count() + signal;
}

// The polynomial through samples, `stride` apart, at a part of its piece. The weights of these points are 1, -1, 1, ..., and
// half of that at both ends (H. E. Salzer, The Computer Journal 15, 1972).
inline double through_samples(const std::vector<double>& parts, const double* samples, long long stride,
                              double theta) noexcept {
    const std::size_t last = parts.size() - 1;
    double above = 0, below = 0, sign = 1;
    for (std::size_t j = 0; j <= last; ++j, sign = -sign) {
        const double gap = theta - parts[j], sample = samples[static_cast<long long>(j) * stride];
        if (gap == 0) return sample;
        const double weight = (j == 0 || j == last ? 0.5 : 1.0) * sign / gap;
        above += weight * sample, below += weight;
    }
    return above / below;
}

// Beside a piece, by the rounding of times, its end counts: behind a short one its polynomial is noise.
inline double signal_on(const DelayedSignals& d, long long signal, long long piece, double time) noexcept {
    const double begin = d.starts[static_cast<std::size_t>(piece)], length = d.ends[static_cast<std::size_t>(piece)] - begin;
    const double theta = length == 0 ? 0 : std::clamp((time - begin) / length, 0.0, 1.0);
    return through_samples(d.parts, piece_of(d, signal, piece), d.count(), theta);
}

// The pieces that there were before, sampled where those to come are.
DAEDALUS_COLD void take_pieces(DelayedSignals& d, const std::vector<double>& starts, const std::vector<double>& ends,
                               const std::vector<double>& samples, int degree) {
    const std::size_t numbers = starts.size() * (static_cast<std::size_t>(degree) + 1) * d.delays.size();
    if (ends.size() != starts.size() || samples.size() != numbers)
        throw std::length_error("the pieces of delayed signals have sizes that contradict each other");
    d.starts = starts, d.ends = ends;
    if (degree == d.degree) {
        d.samples = samples;
        return;
    }
    const std::vector<double> parts = sampled_parts(degree);
    const auto width = d.delays.size(), rows = parts.size();
    d.samples.clear();
    for (std::size_t piece = 0; piece < starts.size(); ++piece)
        for (const double part : d.parts)
            for (std::size_t k = 0; k < width; ++k)
                d.samples.push_back(through_samples(parts, samples.data() + piece * rows * width + k, d.count(), part));
}

// Writes what the signals were into u.
DAEDALUS_COLD void write_delayed(const DelayedSignals& d, double* u, double t) noexcept {
    const long long count = d.count();
    for (long long k = 0; k < count; ++k) {
        const double delay = d.delays[static_cast<std::size_t>(k)], time = t - delay;
        u[d.slots[static_cast<std::size_t>(k)]] = signal_on(d, k, piece_behind(d, time, delay), time);
    }
}

// The present step as one piece more; growing by halves it costs no allocation in most steps.
inline void push_signals(DelayedSignals& d, double begin, double end) {
    d.starts.push_back(begin), d.ends.push_back(end);
    d.samples.insert(d.samples.end(), d.present.begin(), d.present.end());
}

// How often the jump that the run stops at has gone through a delay; 0 for one that begins here. It is taken off the list.
inline int passed_delays(DelayedSignals& d, double t) {
    int found = 0;
    for (std::size_t k = 0; k < d.jumps.size();) {
        if (d.jumps[k].first > t + d.closest) {
            ++k;
            continue;
        }
        if (std::fabs(d.jumps[k].first - t) <= d.closest) found = found == 0 ? d.jumps[k].second : std::min(found, d.jumps[k].second);
        d.jumps.erase(d.jumps.begin() + static_cast<std::ptrdiff_t>(k));
    }
    return found;
}

// Integration stops one delay behind a jump at t; `next`: the first stop that is still to come.
inline void stop_behind(DelayedSignals& d, double t, int passed, long long next) {
    if (passed >= smooth_behind) return;
    for (const double delay : d.delays) {
        const double time = t + delay;
        std::vector<double>& stops = *d.stops;
        if (time > stops.back() + d.closest) continue;
        const auto place = std::lower_bound(stops.begin() + next, stops.end(), time - d.closest);
        const auto k = place - stops.begin();
        if (std::fabs(*place - time) <= d.closest)
            (*d.changes)[static_cast<std::size_t>(k)] = 1;
        else {
            d.changes->insert(d.changes->begin() + k, 1);
            stops.insert(place, time);
        }
        d.jumps.emplace_back(stops[static_cast<std::size_t>(k)], passed + 1);
    }
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
