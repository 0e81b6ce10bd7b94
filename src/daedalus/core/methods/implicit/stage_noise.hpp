// Where corrections of stages stop shrinking: whether rounding errors explain that, and tolerances that allow for them.
#pragma once

#include <algorithm>
#include <cmath>

#include "methods/implicit/rounding_noise.hpp"
#include "methods/implicit/stage_equations.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Corrections of this size, in units of the tolerance, may be left where rounding errors are as large; those that began
// above it have to have fallen to the second part of that.
inline constexpr double most_noise = 0.3, fallen_part = 1e-4;
// A tolerance is not widened by more: what rounding leaves then is not the answer that was asked for.
inline constexpr double most_widening = 1000;
// What the noise counts after one more step.
inline constexpr double noise_decay = 0.99;

// M is a method of increments, see implicit_method.hpp, and State what it keeps.
template <class M, class State>
struct StageNoise {
    // Whether corrections that do not shrink are rounding errors: of the largest state, in the smallest tolerance.
    static bool is_noise(const Integration& s, const IncrementState& m, double first, double size) noexcept {
        if (size > most_noise || (first > most_noise && size > fallen_part * first)) return false;
        return size <= coarse_noise(s, m, m.states);
    }

    // Of the largest of the first unknowns, in the smallest tolerance of them.
    static double coarse_noise(const Integration& s, const IncrementState& m, long long count) noexcept {
        double largest = 0, weight = 0;
        for (long long i = 0; i < count; ++i) {
            largest = std::fmax(largest, std::fabs(s.x[i]));
            weight = std::fmax(weight, m.weights[i]);
        }
        return coarse_digits * last_digit * largest * weight;
    }

    // Whether the corrections in `change`, which stopped shrinking at this size, are no more than a sample of the noise
    // at the stages; the weights allow for it then. `noisiest` is the unknown that has too much of it.
    static bool rounding_explains(Integration& s, State& m, double h, double size) noexcept {
        if (s.fixed_step > 0 || size > coarse_noise(s, m, m.unknowns)) return false;
        if (!sample(s, m, h, m.error)) return false;
        double sum = 0, worst = 0;
        long long noisiest = 0;
        for (long long i = 0; i < m.unknowns; ++i) {
            const double part = m.error[i] * m.weights[i];
            sum += part * part;
            if (part > worst) worst = part, noisiest = i;
        }
        if (!(size * size * static_cast<double>(std::max(m.model.counted(), 1LL)) <= sum)) return false;
        if (worst > most_widening) {
            m.noisiest = noisiest;
            return false;
        }
        for (long long i = 0; i < m.unknowns; ++i) m.noise[i] = m.error[i] * index_power(m, i, h);
        widen(m, h);
        return true;
    }

    // noise <- a sample for each unknown, with its margin, by what residuals at stages moved by a spacing change the
    // correction in `change`; that is kept. Every stage is a sample. False where they are not finite.
    static bool sample(Integration& s, State& m, double h, double* noise) noexcept {
        const long long count = m.stages * m.lanes;
        copy(m.change, count, m.kept);
        bool finite = stage_residuals(s, m, h, [&](int k, double& t, double* stage) {
            t *= 1 + last_digit;
            move_by_digits(stage, m.unknowns, last_digit, k, m.stages, stage);
        });
        if (finite) {
            M::correct(s, m);
            for (long long i = 0; i < count; ++i) m.change[i] -= m.kept[i];
            for (long long i = 0; i < m.unknowns; ++i) noise[i] = 0;
            finite = sample_noise(m.unknowns, m.stages, [&](int k) { return m.change + k * m.lanes; }, noise);
            for (long long i = 0; i < m.unknowns; ++i) noise[i] *= noise_margin;
        }
        copy(m.kept, count, m.change);
        return finite;
    }

    // Tolerances are widened by the noise that was met last.
    static void widen(IncrementState& m, double h) noexcept {
        m.noise_known = true;
        for (long long i = 0; i < m.unknowns; ++i) m.weights[i] /= 1 + m.noise[i] / index_power(m, i, h) * m.weights[i];
    }

    static void widen_if_noisy(IncrementState& m, double h) noexcept {
        if (m.noise_known) widen(m, h);
    }

    static void let_noise_decay(IncrementState& m) noexcept {
        if (!m.noise_known) return;
        for (long long i = 0; i < m.unknowns; ++i) m.noise[i] *= noise_decay;
    }

private:
    // Errors of a variable of index k count h^(k-1) times, and rounding errors of what it follows from are as much larger.
    static double index_power(const IncrementState& m, long long i, double h) noexcept {
        if (!m.model.higher_index) return 1;
        return small_power(std::fabs(h), m.model.index[static_cast<std::size_t>(i)] - 1);
    }
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
