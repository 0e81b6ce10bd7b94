// One explicit Runge-Kutta step of a method whose numbers are known when this is compiled.
//
//   k_i = f(t + c_i h, x + h sum_j a_ij k_j),   x_new = x + h sum_j b_j k_j
//
// The sums are unrolled over the stages, zeros left out, and run over all components in vector lanes.
#pragma once

#include <cmath>
#include <utility>

#include "machine/lanes.hpp"
#include "state/integration.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Constant weights of the slopes: at(j) belongs to row j of k.
template <class T, int row>
struct StageWeights {
    static constexpr std::size_t count = row;
    static constexpr double at(std::size_t j) { return T::a[row][j]; }
};
template <class T>
struct ErrorWeights {
    static constexpr std::size_t count = T::inner + 1;
    static constexpr double at(std::size_t j) { return T::error[j]; }
};
template <class T, int which>
struct CombinedErrorWeights {
    static constexpr std::size_t count = T::inner;
    static constexpr double at(std::size_t j) { return which == 5 ? T::error5[j] : T::error3[j]; }
};
template <class T>
struct BumpWeights {
    static constexpr std::size_t count = T::rows;
    static constexpr double at(std::size_t j) { return T::bump[j]; }
};
template <class T, int part>
struct UpperWeights {
    static constexpr std::size_t count = T::rows;
    static constexpr double at(std::size_t j) { return T::upper[part][j]; }
};

// sum_j Weights::at(j) k_j of one component, zeros left out.
template <class Weights>
DAEDALUS_INLINE double weighted(const double* k, long long lanes, long long component) noexcept {
    return [&]<std::size_t... j>(std::index_sequence<j...>) {
        const double* slope = k + component;
        double sum = 0;
        ((Weights::at(j) != 0 ? void(sum += Weights::at(j) * slope[static_cast<long long>(j) * lanes]) : void()), ...);
        return sum;
    }(std::make_index_sequence<Weights::count>());
}

// out = x + h * (weights * k). The last slope was written a moment ago, number by number.
template <class Weights>
DAEDALUS_INLINE void combine(double h, const double* x, const double* k, long long lanes, double* out) noexcept {
    constexpr std::size_t last = Weights::count - 1;
    for (long long i = 0; i < lanes; i += wide) {
        const double* slope = k + i;
        Wide sum{};
        [&]<std::size_t... j>(std::index_sequence<j...>) {
            ((Weights::at(j) != 0 ? void(sum += Weights::at(j) * *lanes_at(slope + static_cast<long long>(j) * lanes))
                                  : void()),
             ...);
        }(std::make_index_sequence<last>());
        Wide fresh;
        read_fresh(slope + static_cast<long long>(last) * lanes, fresh);
        *lanes_at(out + i) = *lanes_at(x + i) + h * (sum + Weights::at(last) * fresh);
    }
}

template <class T>
struct Named {
    static constexpr bool is_explicit = true;
    static constexpr double memory = T::memory, shrink = T::shrink, grow = T::grow;
    static constexpr double stability_edge = T::stability_edge;
    static constexpr int degree(const Integration&) { return T::degree; }
    static constexpr int control_order(const Integration&) { return T::control_order; }
    static constexpr bool error_needs_end(const Integration&) { return T::error_needs_end; }
    static double* end_slope(const Integration& s) { return s.k + T::inner * s.lanes; }

    // The stages and x_new; the slope at (t, x) is in row 0 already.
    static void take(Integration& s) noexcept {
        with_lanes(s.lanes, [&](auto known) {
            const long long lanes = known.count(s.lanes);
            const double h = s.t_new - s.t;
            stages<1, T::inner>(s, h, lanes);
            combine<StageWeights<T, T::inner>>(h, s.x, s.k, lanes, s.x_new);
        });
    }

    // The RMS norm of the error estimate in units of the tolerance; not finite where anything of the step is not.
    static double error(const Integration& s) noexcept {
        if (s.cases > 1) return largest_norm(s);
        return with_lanes(s.lanes, [&](auto known) { return error_norm(s, known.count(s.lanes)); });
    }

    // The estimate of one component in units of its tolerance, to name the culprit.
    static double error_of(const Integration& s, long long i) noexcept {
        const double scale = s.atol[i] + s.rtol * std::fmax(std::fabs(s.x[i]), std::fabs(s.x_new[i]));
        if constexpr (requires { T::error5; })
            return std::fabs(weighted<CombinedErrorWeights<T, 5>>(s.k, s.lanes, i)) / scale;
        else
            return std::fabs(weighted<ErrorWeights<T>>(s.k, s.lanes, i)) / scale;
    }

    // The coefficients of the dense output; the slope at the end is in row `inner` already. All parts vanish with the
    // step, so that their rounding errors do, and only small integers multiply them (Hairer, Norsett, Wanner: cubic
    // Hermite plus a bump theta^2 (1 - theta)^2 in section II.6, plus four upper parts in section II.10).
    static void dense(Integration& s) noexcept {
        const long long lanes = Lanes<0>::count(s.lanes);
        const double h = s.t_new - s.t;
        stages<T::inner + 1, T::rows>(s, h, lanes);
        const double *k = s.k, *end = end_slope(s), *x = s.x, *x_new = s.x_new;
        double* c = s.coefficients;
        DAEDALUS_SIMD
        for (long long i = 0; i < lanes; ++i) {
            const double change = x_new[i] - x[i], first = h * k[i], last = h * end[i];
            c[i] = x[i];
            c[lanes + i] = first;
            c[2 * lanes + i] = 3 * change - 2 * first - last;
            c[3 * lanes + i] = first + last - 2 * change;
            if constexpr (requires { T::bump; }) {
                const double bump = h * weighted<BumpWeights<T>>(k, lanes, i);
                c[2 * lanes + i] += bump;
                c[3 * lanes + i] -= 2 * bump;
                c[4 * lanes + i] = bump;
            }
            if constexpr (requires { T::upper; }) {
                // theta^2 (1 - theta)^2 (f3 + theta (f4 + (1 - theta) (f5 + theta f6))), multiplied out.
                const double f3 = h * weighted<UpperWeights<T, 0>>(k, lanes, i);
                const double f4 = h * weighted<UpperWeights<T, 1>>(k, lanes, i);
                const double f5 = h * weighted<UpperWeights<T, 2>>(k, lanes, i);
                const double f6 = h * weighted<UpperWeights<T, 3>>(k, lanes, i);
                c[2 * lanes + i] += f3;
                c[3 * lanes + i] += f4 + f5 - 2 * f3;
                c[4 * lanes + i] = f3 - 2 * f4 - 3 * f5 + f6;
                c[5 * lanes + i] = f4 + 3 * f5 - 3 * f6;
                c[6 * lanes + i] = 3 * f6 - f5;
                c[7 * lanes + i] = -f6;
            }
        }
    }

    // h |lambda| as two evaluations at the end of the step show it, and the cosine between the differences of slopes and
    // of states: -1 for damping, 0 for an oscillation. A component that passes zero counts by its change in the step, since
    // its weight would make |lambda| look larger than it is. The slope at the end is in row `inner` already.
    static Stiffness stiffness(Integration& s) noexcept {
        const double h = s.t_new - s.t;
        const long long lanes = Lanes<0>::count(s.lanes);
        combine<StageWeights<T, T::inner - 1>>(h, s.x, s.k, lanes, s.stage);
        const double *last = s.k + (T::inner - 1) * lanes, *end = end_slope(s);
        double slopes = 0, states = 0, product = 0;
        for (long long i = 0; i < s.n; ++i) {
            const double extent = std::fmax(std::fabs(s.x_new[i]), std::fabs(h * s.k[i]));
            const double weight = 1 / (s.atol[i] + s.rtol * extent);
            const double slope = (end[i] - last[i]) * weight, state = (s.x_new[i] - s.stage[i]) * weight;
            slopes += slope * slope, states += state * state, product += slope * state;
        }
        if (!(states > 0) || !(slopes > 0)) return {};
        return {std::fabs(h) * std::sqrt(slopes / states), s.direction * product / std::sqrt(slopes * states)};
    }

private:
    template <int row, int end>
    DAEDALUS_INLINE static void stages(Integration& s, double h, long long lanes) noexcept {
        if constexpr (row < end) {
            combine<StageWeights<T, row>>(h, s.x, s.k, lanes, s.stage);
            slope_at(s, s.t + T::c[row] * h, s.stage, s.k + row * lanes);
            stages<row + 1, end>(s, h, lanes);
        }
    }

    // The same of the case that has the largest.
    static double largest_norm(const Integration& s) noexcept {
        const double h = std::fabs(s.t_new - s.t), n = static_cast<double>(s.n / s.cases);
        double largest = 0;
        for (long long c = 0; c < s.cases; ++c) {
            double sum = 0, sum_low = 0;
            for (long long i = c; i < s.n; i += s.cases) {
                const double high = error_of(s, i);
                sum += high * high + 0 * s.x_new[i];
                if constexpr (requires { T::error3; }) {
                    const double scale = s.atol[i] + s.rtol * std::fmax(std::fabs(s.x[i]), std::fabs(s.x_new[i]));
                    const double low = weighted<CombinedErrorWeights<T, 3>>(s.k, s.lanes, i) / scale;
                    sum_low += low * low;
                }
            }
            double norm = h * std::sqrt(sum / n);
            if constexpr (requires { T::error3; }) {
                const double both = sum + 0.01 * sum_low;
                norm = both == 0 ? 0 : h * sum / std::sqrt(both * n);
            }
            if (!(norm <= largest)) largest = norm;
            if (!std::isfinite(largest)) break;
        }
        return largest;
    }

    DAEDALUS_INLINE static double error_norm(const Integration& s, long long lanes) noexcept {
        const double *k = s.k, *x = s.x, *x_new = s.x_new, *atol = s.atol;
        const double rtol = s.rtol, h = std::fabs(s.t_new - s.t), n = static_cast<double>(s.n > 0 ? s.n : 1);
        double sum = 0, sum_low = 0, finite = 0;
        if constexpr (requires { T::error5; }) {
            DAEDALUS_SIMD_SUM(sum, sum_low, finite)
            for (long long i = 0; i < lanes; ++i) {
                const double before = std::fabs(x[i]), after = std::fabs(x_new[i]);
                const double scale = 1 / (atol[i] + rtol * (before > after ? before : after));
                const double high = scale * weighted<CombinedErrorWeights<T, 5>>(k, lanes, i);
                const double low = scale * weighted<CombinedErrorWeights<T, 3>>(k, lanes, i);
                sum += high * high;
                sum_low += low * low;
                finite += 0 * x_new[i];
            }
            // E5^2 / sqrt(E5^2 + 0.01 E3^2) behaves like h^8 (Hairer, Norsett, Wanner, section II.10).
            const double both = sum + 0.01 * sum_low;
            return (both == 0 ? 0 : h * sum / std::sqrt(both * n)) + finite;
        } else {
            DAEDALUS_SIMD_SUM(sum, finite)
            for (long long i = 0; i < lanes; ++i) {
                const double before = std::fabs(x[i]), after = std::fabs(x_new[i]);
                const double scale = atol[i] + rtol * (before > after ? before : after);
                const double part = weighted<ErrorWeights<T>>(k, lanes, i) / scale;
                sum += part * part;
                finite += 0 * x_new[i];
            }
            return h * std::sqrt(sum / n) + finite;
        }
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
