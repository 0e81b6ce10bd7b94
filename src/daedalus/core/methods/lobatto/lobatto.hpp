// RATTLE and its relatives of higher order, Lobatto IIIA-IIIB, for mechanics with constraints at fixed step.
//
//   pi(Q_i, V_i) = pi_n + sum_j b^_ij (h f_j + G_j' L_j),  Q_i = q_n + h sum_j a_ij V_j,  c(Q_i) = 0,  i = 2 .. s
//   pi_n+1 = pi_n + sum_j b_j (h f_j + G_j' L_j),  G v_n+1 = -dc/dt
//
// The first line is solved by Newton's method to rounding, the second is linear in v_n+1 and the last impulse:
//   (M -G'; G 0) (v_n+1 - V_s, L_s) = (pi* - pi(q_n+1, V_s), -c'),
// and the same matrix gives accelerations and multipliers at the end of the step. Nothing is projected. H. C. Andersen,
// J. Comput. Phys. 52 (1983); L. O. Jay, SIAM J. Numer. Anal. 33 (1996); E. Hairer, C. Lubich, G. Wanner, Geometric
// Numerical Integration, section VII.1.
#pragma once

#include <algorithm>
#include <cmath>

#include "methods/implicit/implicit_method.hpp"
#include "methods/lobatto/lobatto_stages.hpp"
#include "methods/lobatto/lobatto_step.hpp"
#include "model/caller.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

struct Lobatto {
    static constexpr bool is_explicit = false;
    static LobattoState& of(Integration& s) { return static_cast<LobattoState&>(implicit_of(s)); }
    static int degree(Integration&) { return lobatto_degree; }

    static void prepare(Integration& s) noexcept { of(s).restarted = true; }
    static double first_step(Integration& s) noexcept { return std::fabs(s.t1 - s.t); }

    // There is no error estimate: a step is taken or not.
    static Status attempt(Integration& s) noexcept {
        take(s);
        s.accepted = s.taken;
        if (s.abort_called) return Status::aborted;
        return s.taken ? Status::going : Status::newton_failed;
    }

    static void take(Integration& s) noexcept {
        LobattoState& m = of(s);
        if (m.restarted) forget(m);
        begin_step(s, m);
        s.taken = solve_quickly(s, m) || (!s.abort_called && solve_carefully(s, m));
        s.taken = s.taken && land(s, m);
        if (s.taken) {
            remember(m);
            return;
        }
        ++m.newton_failures;
        forget(m);
        copy(s.x, s.n, s.x_new);
        s.culprit = {m.pair.velocities[static_cast<std::size_t>(worst_velocity(m))], Culprit::What::nothing};
    }

    // Positions by the quintic through positions, velocities and accelerations at both ends; velocities and
    // accelerations are its derivatives, multipliers go straight.
    static void dense(Integration& s) noexcept {
        const LobattoState& m = of(s);
        const double h = s.t_new - s.t;
        double* c = s.coefficients;
        const long long lanes = s.lanes, rates = m.unknowns;
        for (long long i = 0; i < s.n; ++i) {
            c[i] = s.x[i], c[lanes + i] = s.x_new[i] - s.x[i];
            for (int j = 2; j <= lobatto_degree; ++j) c[j * lanes + i] = 0;
        }
        for (long long k = 0; k < m.freedoms; ++k) {
            const long long q = m.pair.positions[static_cast<std::size_t>(k)];
            const long long v = m.pair.velocities[static_cast<std::size_t>(k)], a = rates + v;
            const double bend = 0.5 * h * h * s.x[a], more = 0.5 * h * h * (s.x_new[a] - s.x[a]);
            const double gap = s.x_new[q] - s.x[q] - h * s.x[v] - bend;
            const double turn = h * (s.x_new[v] - s.x[v]) - 2 * bend;
            const double place[lobatto_degree + 1] = {s.x[q],
                                                      h * s.x[v],
                                                      bend,
                                                      10 * gap - 4 * turn + more,
                                                      -15 * gap + 7 * turn - 2 * more,
                                                      6 * gap - 3 * turn + more};
            for (int j = 0; j <= lobatto_degree; ++j) {
                const double first = j < lobatto_degree ? (j + 1) * place[j + 1] / h : 0;
                const double second = j + 1 < lobatto_degree ? (j + 1) * (j + 2) * place[j + 2] / (h * h) : 0;
                c[j * lanes + q] = place[j];
                c[j * lanes + v] = c[j * lanes + rates + q] = first;
                c[j * lanes + a] = second;
            }
        }
    }

private:
    static void forget(LobattoState& m) noexcept {
        m.factored = m.restarted = false;
        m.past_count = 0;
    }

    // Time, length, row and the inputs at all stages for the functions of the step.
    static void begin_step(Integration& s, LobattoState& m) noexcept {
        m.time = s.t, m.length = s.t_new - s.t;
        // Times on the grid are rounded; the length of the steps is not, lest energies wander with it.
        const double asked = s.direction * s.fixed_step;
        if (std::fabs(m.length - asked) <= equal_length * s.fixed_step) m.length = asked;
        m.residual_call.arg[2] = m.jacobian_call.arg[2] = m.landing_call.arg[2] = s.x;
        for (std::size_t i = 0; m.input_count > 0 && i < m.pair.nodes.size(); ++i) {
            if (s.inputs.any_slope) write_slopes(s.inputs, s.t + m.pair.nodes[i] * m.length);
            copy(s.inputs.u, m.input_count, m.inputs + static_cast<long long>(i) * m.input_count);
        }
        if (std::fabs(m.length - m.past_step) > equal_length * std::fabs(m.length)) forget(m);
        m.past_step = m.length;
        start_values(s, m);
        set_scales(s, m);
    }

    // The parabola through the last three steps; at first, velocities and multipliers as they are.
    static void start_values(Integration& s, LobattoState& m) noexcept {
        const double *one = m.past[0], *two = m.past[1], *three = m.past[2];
        if (m.past_count == past_steps) {
            for (long long i = 0; i < m.size; ++i) m.start[i] = 3 * (one[i] - two[i]) + three[i];
            return;
        }
        const long long n = m.freedoms, stages = static_cast<long long>(m.pair.nodes.size());
        for (long long i = 0; i < stages; ++i)
            for (long long k = 0; k < n; ++k) {
                const long long place = m.pair.velocities[static_cast<std::size_t>(k)];
                m.start[i * n + k] =
                    s.x[place] + m.pair.half_way[static_cast<std::size_t>(i)] * m.length * s.x[m.unknowns + place];
            }
        for (long long j = 0; j + 1 < stages; ++j)
            for (long long k = 0; k < m.constraints; ++k)
                m.start[stages * n + j * m.constraints + k] =
                    m.length * s.x[m.states + m.pair.multipliers[static_cast<std::size_t>(k)]];
    }

    // Rounding of a velocity: its own, and that of a position seen over one step.
    static void set_scales(Integration& s, LobattoState& m) noexcept {
        const double length = std::fabs(m.length);
        m.largest = 0;
        for (long long k = 0; k < m.freedoms; ++k) {
            const long long q = m.pair.positions[static_cast<std::size_t>(k)];
            const long long v = m.pair.velocities[static_cast<std::size_t>(k)];
            const double scale =
                std::fabs(s.x[v]) + length * std::fabs(s.x[m.unknowns + v]) + (std::fabs(s.x[q]) + s.atol[q]) / length;
            m.inverse_scale[k] = 1 / std::fmax(scale, std::numeric_limits<double>::min());
            m.largest = std::fmax(m.largest, scale);
        }
        m.largest = std::fmax(m.largest, std::numeric_limits<double>::min());
    }

    static void remember(LobattoState& m) noexcept {
        double* oldest = m.past[past_steps - 1];
        for (int k = past_steps - 1; k > 0; --k) m.past[k] = m.past[k - 1];
        m.past[0] = oldest;
        copy(m.w, m.size, m.past[0]);
        m.past_count = std::min(m.past_count + 1, past_steps);
    }

    static bool land(Integration& s, LobattoState& m) noexcept {
        m.landing_call.arg[3] = m.w;
        m.landing_call.res[0] = m.place, m.landing_call.res[1] = m.momentum;
        if (fails(s, m.landing_call)) return false;
        copy(s.x, s.n, s.x_new);
        const double* last = m.w + (static_cast<long long>(m.pair.nodes.size()) - 1) * m.freedoms;
        for (long long k = 0; k < m.freedoms; ++k) {
            s.x_new[m.pair.positions[static_cast<std::size_t>(k)]] = m.place[k];
            s.x_new[m.pair.velocities[static_cast<std::size_t>(k)]] = last[k];
        }
        return settle_velocities(s, m, s.t_new, s.x_new, m.momentum);
    }
};
static_assert(ImplicitMethod<Lobatto>);

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
