// Delayed signals: what they were is kept as polynomials, one piece a step, and written into u at the time less the delay.
//
// Steps are no longer than the shortest delay, so that the time looked back to is known. Where a signal or one of its
// derivatives jumps, integration stops one delay later too, and so on until the jump is smooth enough: with x' = f(x(t - tau))
// each round through the delay smooths by one derivative (C. T. H. Baker, C. A. H. Paul, D. R. Wille, Advances in
// Computational Mathematics 3, 1995).
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "machine/platform.hpp"
#include "model/function.hpp"

namespace daedalus {

// As a run is asked for: what they are, when and where, and what they were before the start, (pieces, degree + 1, signals).
struct DelaySource {
    const Function* signals = nullptr;  // (t, row, u, p) -> all signals
    std::vector<double> delays, starts, ends, coefficients;
    std::vector<long long> slots;  // where in u
    int degree = 0;
};

struct DelayedSignals {
    Call signals;
    std::vector<double> delays, starts, ends, coefficients;
    std::vector<long long> slots;
    int degree = 0, sampled = 0;           // of the pieces, and of those that are made of samples in a step
    std::vector<double> parts, to_powers;  // where a step is sampled, and what makes coefficients of the samples
    std::vector<double> samples;
    double growth = 1;  // of rounding errors, from samples to a value on the piece
    const double *step_begin = nullptr, *step_end = nullptr;
    double closest = 0;  // times that differ by less are one
    // Where integration stops, of the run; and jumps on their way, with how often they went through a delay.
    std::vector<double>* stops = nullptr;
    std::vector<unsigned char>* changes = nullptr;
    std::vector<std::pair<double, int>> jumps;

    long long count() const { return static_cast<long long>(delays.size()); }
    long long pieces() const { return static_cast<long long>(starts.size()); }
};

// A jump counts as smooth behind so many delays.
inline constexpr int smooth_behind = 6;

// Chebyshev's points of [0, 1] with both ends, and the inverse of their powers by elimination with pivots.
inline void prepare_samples(DelayedSignals& d, int degree) {
    d.sampled = degree, d.degree = std::max(d.degree, degree);
    const auto size = static_cast<std::size_t>(degree) + 1;
    d.parts.resize(size);
    for (std::size_t j = 0; j < size; ++j)
        d.parts[j] = degree == 0 ? 1.0 : 0.5 * (1 - std::cos(std::numbers::pi * static_cast<double>(j) / degree));
    std::vector<long double> matrix(size * 2 * size, 0.0L);
    for (std::size_t i = 0; i < size; ++i) {
        long double power = 1;
        for (std::size_t j = 0; j < size; ++j, power *= d.parts[i]) matrix[i * 2 * size + j] = power;
        matrix[i * 2 * size + size + i] = 1;
    }
    for (std::size_t k = 0; k < size; ++k) {
        std::size_t pivot = k;
        for (std::size_t i = k + 1; i < size; ++i)
            if (std::fabs(matrix[i * 2 * size + k]) > std::fabs(matrix[pivot * 2 * size + k])) pivot = i;
        for (std::size_t j = 0; j < 2 * size; ++j) std::swap(matrix[k * 2 * size + j], matrix[pivot * 2 * size + j]);
        const long double whole = matrix[k * 2 * size + k];
        for (std::size_t j = 0; j < 2 * size; ++j) matrix[k * 2 * size + j] /= whole;
        for (std::size_t i = 0; i < size; ++i) {
            const long double share = i == k ? 0 : matrix[i * 2 * size + k];
            for (std::size_t j = 0; j < 2 * size && share != 0; ++j) matrix[i * 2 * size + j] -= share * matrix[k * 2 * size + j];
        }
    }
    d.to_powers.resize(size * size);
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < size; ++j) d.to_powers[i * size + j] = static_cast<double>(matrix[i * 2 * size + size + j]);
    for (const double entry : d.to_powers) d.growth += std::fabs(entry);
    d.samples.resize(size * d.delays.size());
}

// The pieces that there were before, raised to the degree of those to come.
inline void take_pieces(DelayedSignals& d, const std::vector<double>& starts, const std::vector<double>& ends,
                        const std::vector<double>& coefficients, int degree) {
    d.starts = starts, d.ends = ends;
    const auto width = d.delays.size(), from = (static_cast<std::size_t>(degree) + 1) * width;
    const auto to = (static_cast<std::size_t>(d.degree) + 1) * width;
    d.coefficients.assign(starts.size() * to, 0.0);
    for (std::size_t k = 0; k < starts.size(); ++k)
        for (std::size_t i = 0; i < std::min(from, to); ++i) d.coefficients[k * to + i] = coefficients[k * from + i];
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

// The coefficients of a signal on a piece, each count() behind the one before.
inline const double* piece_of(const DelayedSignals& d, long long signal, long long piece) noexcept {
    return d.coefficients.data() + piece * (d.degree + 1) * d.count() + signal;
}

inline double signal_on(const DelayedSignals& d, long long signal, long long piece, double time) noexcept {
    const double begin = d.starts[static_cast<std::size_t>(piece)], length = d.ends[static_cast<std::size_t>(piece)] - begin;
    const double theta = length == 0 ? 0 : (time - begin) / length;
    const double* c = piece_of(d, signal, piece);
    double sum = c[d.degree * d.count()];
    for (int j = d.degree - 1; j >= 0; --j) sum = sum * theta + c[j * d.count()];
    return sum;
}

// Writes what the signals were into u.
DAEDALUS_COLD void write_delayed(const DelayedSignals& d, double* u, double t) noexcept {
    const long long count = d.count();
    for (long long k = 0; k < count; ++k) {
        const double delay = d.delays[static_cast<std::size_t>(k)], time = t - delay;
        u[d.slots[static_cast<std::size_t>(k)]] = signal_on(d, k, piece_behind(d, time, delay), time);
    }
}

// A piece from the samples of a step; growing by halves it costs no allocation in most steps.
inline void push_signals(DelayedSignals& d, double begin, double end) {
    const long long count = d.count();
    const auto first = d.coefficients.size();
    d.starts.push_back(begin), d.ends.push_back(end);
    d.coefficients.resize(first + static_cast<std::size_t>((d.degree + 1) * count), 0.0);
    const int size = d.sampled + 1;
    for (int i = 0; i < size; ++i)
        for (long long k = 0; k < count; ++k) {
            double sum = 0;
            for (int j = 0; j < size; ++j)
                sum += d.to_powers[static_cast<std::size_t>(i * size + j)] * d.samples[static_cast<std::size_t>(j * count + k)];
            d.coefficients[first + static_cast<std::size_t>(i * count + k)] = sum;
        }
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
        if (time >= stops.back() - d.closest) continue;
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
