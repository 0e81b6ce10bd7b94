// The middle of a Radau step, for the look inside it.
#pragma once

#include <cmath>

#include "methods/implicit/look_inside.hpp"
#include "methods/radau/radau_corrections.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// The polynomial in the middle of a step, corrected with the factor at hand.
struct MiddleOfRadau : RadauCorrections {
    Integration& s;
    RadauState& m;
    double h;

    MiddleOfRadau(Integration& run, RadauState& state, double step) : s(run), m(state), h(step) {}

    void write_middle() noexcept {
        const CollocationCoefficients& method = m.method;
        double place[most_stages] = {}, slope[most_stages] = {}, power = 1;
        for (int j = 0; j < method.stages; ++j, power *= 0.5)
            for (int k = 0; k < method.stages; ++k) {
                place[k] += 0.5 * power * method.powers[j][k];
                slope[k] += (j + 1) * power * method.powers[j][k];
            }
        add_rows_twice(m.lanes, s.x, place, 1 / h, slope, method.stages, m.z, m.stage, m.rate);
    }
    bool correct_middle(double* off) noexcept { return correct_from(s.t + 0.5 * h, off); }
    bool correct_end(double* off) noexcept {
        const int last = m.method.stages - 1;
        const double one = 1;
        add_rows(m.lanes, s.x, &one, 1, m.z + last * m.lanes, m.stage);
        slope_of(m, m.method.inverse[last], h, m.rate);
        return correct_from(s.t_new, off);
    }

private:
    // With the real matrix, or the first complex one.
    bool correct_from(double t, double* off) noexcept {
        if (!residual_at(s, m, t, m.rate, m.stage, off)) return false;
        const CollocationCoefficients& method = m.method;
        const double factored = m.factored_step;
        if (method.has_real) {
            solve_step_matrix(s, m, m.solver, method.gamma / factored, off);
            return true;
        }
        double* imaginary = m.stage;
        for (long long i = 0; i < m.lanes; ++i) imaginary[i] = 0;
        solve_step_matrix(s, m, *m.pairs[0], pair_factor(method, 0, factored), off, imaginary);
        return true;
    }
};

// Nothing is to be seen without equations that have no derivative.
inline double error_inside(Integration& s, RadauState& m, double h) noexcept {
    if (m.first && !m.after_failure) m.usual_step = std::fabs(h);
    if (m.model.constraints.empty() || !worth_a_look(s, m, h, m.usual_step)) return 0;
    return error_inside_of(m, MiddleOfRadau{s, m, h}, m.turned, m.error);
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
