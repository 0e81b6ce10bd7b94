// Modes that grow and that a step does not resolve: implicit methods damp them in silence.
//
// Far in the right half plane the stability function of an L-stable method is small, |R(h lambda)| < 1, though the solution
// grows like exp(lambda t): a long step puts the state onto an unstable rest or an unstable slow motion, and no estimate
// of its error shows it (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, sections IV.3 and IV.8).
//
// The factors of a step find such modes at little cost. Of B = (a F_x' + F_w)^-1 a F_x' the eigenvalues are
//   mu = a / (a - lambda),   lambda = a (1 - 1/mu),
// those of modes that decay in the disc around 1/2. Arnoldi's method with few vectors finds the others, best of all those
// near to a; all of them where the states are no more than its vectors. A mode of |lambda| > a is not resolved: a is the pole
// of R, or as large as that. Such a step is refused where the state moves, and steps stay short enough until the mode is
// gone. A state that stands still on an unstable rest stays there: the run tells of it.
//
// Where every equation has one derivative of its own, x' = f, no mode grows faster than the logarithmic norms of J = df/dx,
//   Re lambda <= max_i (J_ii + sum_(j != i) |J_ij|),   Re lambda <= max_j (J_jj + sum_(i != j) |J_ij|)
// (G. Söderlind, BIT 46, 2006): diffusion and what decays are seen to have none without a search.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "methods/implicit/mass_product.hpp"
#include "methods/step_control.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// How often is looked: behind so many steps that took so many evaluations for each solution of a look, which is a fifth of
// their work at most where steps are cheap, where steps have become so much longer, and where they no longer resolve a
// growing mode that the last look found.
inline constexpr int steps_between_looks = 10;
inline constexpr long long evaluations_a_solution = 6;
inline constexpr double longer_since_look = 3;
// A mode that moves with the solution counts where it grows rather than turns: frozen coefficients of what turns say
// little about its growth. At rest they say all, to rounding.
inline constexpr double grows_in_motion = 0.3, grows_at_rest = 1e-4;
// What is left of the run has to let it grow by so many powers of e.
inline constexpr double worth_telling = 3;
// Errors of an eigenvalue that is believed, relative to it; below the size of mu rounding decides, sooner at a higher index.
inline constexpr double error_of_mode = 0.02, least_mu = 1e-8, least_mu_of_higher_index = 1e-3;
// What iterations leave of a solution in a search, where they measure corrections: mu of a mode that grows 1e4 times faster
// than steps resolve is known to a hundredth then. Such a solution takes as long as so many corrections of two digits.
inline constexpr double left_by_iterations = 1e-6;
inline constexpr long long corrections_a_solution = 3;
// A mode is one of the matrix with this factor, too, in units of |lambda|.
inline constexpr double shift_to_confirm = 1.5;
// The state moves by so many tolerances, and masses on a mode may change by this part.
inline constexpr double moved_in_tolerances = 10, masses_may_change = 0.5;
// Steps that follow a mode are this part of the longest that resolve it.
inline constexpr double part_to_follow = 0.25;
// Rounding errors grow to the size of everything in so many powers of e: a mode that has not shown by then is not met.
inline constexpr double longest_pursuit = 45;
inline constexpr int most_pursuits = 3;
// Where a method has no real factors: about the size of the poles of two stages of Radau, sqrt(6) / h.
inline constexpr double pole_without_factors = 2.45;
// A state that moves by less in a step, in units of its tolerance or of its last digit, is at rest.
inline constexpr double rest_in_tolerances = 1e-4, rest_in_digits = 64;

// B v in units of the tolerance, of the model's own states alone: B does not feel the other unknowns.
inline void apply_step_matrix(ImplicitState& m, const double* v, double* out) noexcept {
    ModeSearch& search = m.modes;
    const long long nx = m.model.block_states();
    double *raw = search.raw, *full = search.full;
    for (long long i = 0; i < nx; ++i) raw[i] = v[i] / search.weights[i];
    multiply_mass(m, search.factor, raw, full);
    m.solver.solve_own(full);
    for (long long i = 0; i < nx; ++i) out[i] = full[i] * search.weights[i];
}

inline double dot_of(long long n, const double* a, const double* b) noexcept {
    double sum = 0;
    DAEDALUS_SIMD_SUM(sum)
    for (long long i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

// Takes the directions of some vectors out of another one, and adds the parts to `parts`. Twice: what is left of earlier
// directions is of the size of rounding then (L. Giraud, J. Langou, M. Rozloznik, Comput. Math. Appl. 50, 2005).
inline void make_orthogonal(long long n, const double* basis, int count, double* next, double* parts) noexcept {
    // So much of all vectors stays in the cache of one core.
    constexpr long long piece = 1024;
    for (int again = 0; again < 2; ++again) {
        double found[most_vectors] = {};
        for (long long from = 0; from < n; from += piece)
            for (int k = 0; k < count; ++k) found[k] += dot_of(std::min(piece, n - from), basis + k * n + from, next + from);
        for (long long from = 0; from < n; from += piece) {
            const long long size = std::min(piece, n - from);
            for (int k = 0; k < count; ++k) {
                const double part = found[k], *direction = basis + k * n + from;
                double* out = next + from;
                DAEDALUS_SIMD
                for (long long i = 0; i < size; ++i) out[i] -= part * direction[i];
            }
        }
        for (int k = 0; k < count; ++k) parts[k] += found[k];
    }
}

// out = sum_j weight(j) v_j
template <class Weight>
inline void combine(long long n, const double* basis, int count, double* out, Weight&& weight) noexcept {
    for (long long i = 0; i < n; ++i) out[i] = 0;
    for (int j = 0; j < count; ++j) {
        const double part = weight(j), *direction = basis + j * n;
        DAEDALUS_SIMD
        for (long long i = 0; i < n; ++i) out[i] += part * direction[i];
    }
}

inline bool normalise(long long n, double* v) noexcept {
    const double size = std::sqrt(dot_of(n, v, v));
    if (!(size > 0) || !std::isfinite(size)) return false;
    for (long long i = 0; i < n; ++i) v[i] /= size;
    return true;
}

// The first vector: what the last search left, and something of everything.
inline bool begin_search(ImplicitState& m) noexcept {
    ModeSearch& search = m.modes;
    const long long nx = m.model.block_states();
    double* first = search.basis;
    for (long long i = 0; i < nx; ++i) {
        search.seed = search.seed * 6364136223846793005ULL + 1442695040888963407ULL;
        const double random = static_cast<double>(search.seed >> 11) * 0x1p-52 - 1;
        first[i] = (search.kept_known ? search.kept[i] * std::sqrt(static_cast<double>(nx)) : 0) + 0.3 * random;
    }
    // Unknowns that no derivative determines leave the range of B, those of a higher index in more turns.
    for (int turn = 0; turn < m.model.deepest; ++turn) {
        apply_step_matrix(m, first, search.next);
        copy(search.next, nx, first);
        if (!normalise(nx, first)) return false;
    }
    return true;
}

// Whether B y = mu y, measured.
inline bool is_mode(ImplicitState& m, std::complex<double> mu, const double* real, const double* imaginary) noexcept {
    const long long nx = m.model.block_states();
    double *moved = m.modes.basis, *turned = m.modes.basis + nx;
    apply_step_matrix(m, real, moved);
    apply_step_matrix(m, imaginary, turned);
    double off = 0, all = 0;
    for (long long i = 0; i < nx; ++i) {
        const std::complex<double> y(real[i], imaginary[i]), image(moved[i], turned[i]);
        off += std::norm(image - mu * y), all += std::norm(y);
    }
    return std::sqrt(off) <= error_of_mode * std::abs(mu) * std::sqrt(all);
}

// Whether masses on a mode stay as they are when the state moves by some tolerances: those that vanish there have no rates.
inline bool masses_are_known(Integration& s, ImplicitState& m, const double* real, const double* imaginary) noexcept {
    const long long nx = m.model.block_states();
    ModeSearch& search = m.modes;
    double *as_is = m.beside_point, *moved = as_is + m.unknowns, *w = moved + m.unknowns, *const own = m.dot;
    set_time(s, s.t);
    bool known = true;
    for (const double side : {1.0, -1.0}) {
        copy(s.x, m.unknowns, w);
        for (long long i = 0; i < nx; ++i) w[i] += side * (i % 2 ? -moved_in_tolerances : moved_in_tolerances) / search.weights[i];
        m.jacobian.arg[1] = s.x + m.unknowns, m.jacobian.arg[2] = w, m.jacobian.arg[3] = w + m.states;
        m.jacobian.res[0] = search.slopes, m.jacobian.res[1] = search.slopes + m.model.dot_place.size();
        if (fails(s, m.jacobian)) continue;
        double off = 0, all = 0;
        for (const double* part : {real, imaginary}) {
            for (long long i = 0; i < nx; ++i) search.raw[i] = part[i] / search.weights[i];
            multiply_mass(m, 1.0, search.raw, as_is);
            m.dot = search.slopes;
            multiply_mass(m, 1.0, search.raw, moved);
            m.dot = own;
            for (long long i = 0; i < nx; ++i)
                off += (moved[i] - as_is[i]) * (moved[i] - as_is[i]), all += as_is[i] * as_is[i];
        }
        known = known && std::sqrt(off) <= masses_may_change * std::sqrt(all);
    }
    return known;
}

// Whether some growth rate may exceed a size, by the last Jacobian; so it is where the equations are not of this form.
inline bool may_grow_faster(const Integration& s, ImplicitState& m, double size) noexcept {
    const ImplicitModel& model = m.model;
    ModeSearch& search = m.modes;
    if (search.bounded_jacobian == m.jacobians && search.fastest <= size) return false;
    const Pattern& pattern = model.matrix;
    const long long n = m.unknowns;
    if (m.group_count > 0 || mass_may_be_singular(model)) return true;
    // Of each equation: which derivative it has, and minus one over its factor.
    double *state_of = m.modes.raw, *by = m.modes.full, *rows = m.modes.next;
    for (long long i = 0; i < n; ++i) by[i] = 0;
    for (long long k = 0; k < n; ++k) {
        const std::int32_t row = model.dot_row[static_cast<std::size_t>(k)];
        if (by[row] != 0 || m.dot[k] == 0) return true;
        by[row] = -s.direction / m.dot[k], state_of[row] = model.dot_column[static_cast<std::size_t>(k)];
    }
    const long long *place = model.all_place.data(), *ends = pattern.colind.data() + 1, *row_of = pattern.rows.data();
    const auto count = static_cast<long long>(model.all_place.size());
    // Calls work(row, part) for the entries of a column, with those off the diagonal by their size.
    const auto each = [&](long long& k, long long column, auto&& work) {
        for (const double own = static_cast<double>(column); k < count && place[k] < ends[column]; ++k) {
            const long long row = row_of[place[k]];
            const double slope = by[row] * m.all[k];
            work(row, state_of[row] == own ? slope : std::fabs(slope));
        }
    };
    // The largest sum is kept with its Jacobian. One that is not a number is no bound.
    const auto is_bound = [&](double largest) {
        if (!(largest <= size)) return false;
        search.bounded_jacobian = m.jacobians, search.fastest = largest;
        return true;
    };
    const double nothing = -std::numeric_limits<double>::infinity(), unknown = std::numeric_limits<double>::quiet_NaN();
    double largest = nothing;
    for (long long k = 0, column = 0; column < n && largest <= size; ++column) {
        double sum = 0;
        each(k, column, [&](long long, double part) { sum += part; });
        largest = sum <= largest ? largest : sum;
    }
    if (is_bound(largest)) return false;
    for (long long i = 0; i < n; ++i) rows[i] = 0;
    for (long long k = 0, column = 0; column < n; ++column)
        each(k, column, [&](long long row, double part) { rows[row] += part; });
    largest = nothing;
    for (long long i = 0; i < n; ++i) largest = rows[i] <= largest ? largest : rows[i] > largest ? rows[i] : unknown;
    return !is_bound(largest);
}

// Fills `mode` and gives true where a growing mode is found: the fastest one of more than a size, by the factors at hand.
inline bool find_growing_mode(Integration& s, ImplicitState& m, double least_growth, double least_size,
                              GrowingMode& mode) noexcept {
    ModeSearch& search = m.modes;
    const long long nx = m.model.block_states();
    const int most = static_cast<int>(std::min<long long>(nx, most_vectors));
    const double a = search.factor;
    for (long long i = 0; i < nx; ++i) search.weights[i] = 1 / (s.atol[i] + s.rtol * std::fabs(s.x[i]));
    if (!begin_search(m)) return false;
    SmallMatrix<double> hessenberg{};
    int size = 0;
    double beyond = 0;
    while (size < most) {
        double* next = search.basis + (size + 1) * nx;
        apply_step_matrix(m, search.basis + size * nx, next);
        const double before = std::sqrt(dot_of(nx, next, next));
        if (!std::isfinite(before)) return false;
        double parts[most_vectors] = {};
        make_orthogonal(nx, search.basis, size + 1, next, parts);
        for (int k = 0; k <= size; ++k) hessenberg[k][size] = parts[k];
        beyond = std::sqrt(dot_of(nx, next, next));
        ++size;
        if (!(beyond > 1e-12 * before) || size == most) break;
        hessenberg[size][size - 1] = beyond;
        for (long long i = 0; i < nx; ++i) next[i] /= beyond;
    }
    std::complex<double> found[most_vectors];
    SmallMatrix<double> reduced = hessenberg;
    if (!hessenberg_eigenvalues(reduced, size, found)) return false;
    const double least = m.model.higher_index ? least_mu_of_higher_index : least_mu;
    const double left = std::fabs(s.t1 - s.t);
    // The fastest growing one that is believed; for the next search, the one farthest out of the disc of those that decay.
    double fastest = 0, farthest = 0;
    std::complex<double> vector[most_vectors], best[most_vectors], outermost[most_vectors];
    std::complex<double> best_mu = 0;
    for (int k = 0; k < size; ++k) {
        const std::complex<double> mu = found[k];
        const double out = std::abs(2.0 * mu - 1.0);
        if (std::abs(mu) < least || !(out > 1)) continue;
        const std::complex<double> lambda = a * (1.0 - 1.0 / mu);
        const bool grows = lambda.real() * s.direction > least_growth * std::abs(lambda) && lambda.imag() >= 0 &&
                           std::fabs(lambda.real()) * left > worth_telling;
        const bool faster = grows && std::abs(lambda) > (std::abs(lambda) > least_size ? fastest : search.resolved);
        if (!(out > farthest) && !faster) continue;
        if (!hessenberg_vector(hessenberg, size, mu, vector)) continue;
        if (out > farthest) {
            farthest = out;
            std::copy(vector, vector + size, outermost);
        }
        if (!faster || !(beyond * std::abs(vector[size - 1]) <= error_of_mode * std::abs(mu))) continue;
        if (!(std::abs(lambda) > least_size)) {
            search.resolved = std::abs(lambda);
            continue;
        }
        fastest = std::abs(lambda), best_mu = mu;
        std::copy(vector, vector + size, best);
    }
    if (farthest > 0) {
        combine(nx, search.basis, size, search.kept, [&](int j) { return outermost[j].real() + outermost[j].imag(); });
        search.kept_known = normalise(nx, search.kept);
    }
    if (fastest == 0) return false;
    // Measured once more, without the recursion.
    double *real = search.next, *imaginary = search.kept + nx;
    combine(nx, search.basis, size, real, [&](int j) { return best[j].real(); });
    combine(nx, search.basis, size, imaginary, [&](int j) { return best[j].imag(); });
    if (!is_mode(m, best_mu, real, imaginary)) return false;
    const std::complex<double> lambda = a * (1.0 - 1.0 / best_mu);
    double largest = 0;
    for (long long i = 0; i < nx; ++i)
        if (const double moves = std::hypot(real[i], imaginary[i]); moves > largest) largest = moves, mode.component = i;
    mode.time = s.t, mode.rate = std::fabs(lambda.real()), mode.frequency = lambda.imag();
    // Of higher index B is far from normal, and nearly everything is nearly a mode of one such matrix: not of two.
    search.factor = std::copysign(shift_to_confirm * std::abs(lambda), a);
    const bool confirmed = factor_matrix(m, m.solver, search.factor) &&
                           is_mode(m, search.factor / (search.factor - lambda), real, imaginary);
    search.factor = a;
    return factor_matrix(m, m.solver, a) && confirmed && masses_are_known(s, m, real, imaginary);
}

inline bool stands_still(const Integration& s, const ImplicitState& m) noexcept {
    for (long long i = 0; i < m.model.block_states(); ++i) {
        const double size = std::fabs(s.x[i]), moved = std::fabs(s.x_new[i] - s.x[i]);
        const double rest = rest_in_tolerances * (s.atol[i] + s.rtol * size);
        if (moved > std::fmax(rest, rest_in_digits * std::numeric_limits<double>::epsilon() * size)) return false;
    }
    return true;
}

// Factors that a step has left, or new ones where the method has none of this kind.
inline bool factors_for_modes(ImplicitState& m, double h, bool has_none) noexcept {
    if (has_none) {
        const double a = pole_without_factors / h;
        scale_by_index(m, std::fabs(h));
        m.solver_factor = factor_matrix(m, m.solver, a) ? a : 0;
    }
    m.modes.factor = m.solver_factor;
    return m.solver_factor != 0;
}

// While modes are searched, iterations solve to more digits than corrections need: as many as a small mu shows in.
class IterationsForModes {
public:
    explicit IterationsForModes(ImplicitState& m) noexcept : solver_(m.solver), usual_(solver_.leave(left_by_iterations)) {
        if (usual_ == 0) solver_.leave(0);
    }
    ~IterationsForModes() {
        if (usual_ > 0) solver_.leave(usual_);
    }
    IterationsForModes(const IterationsForModes&) = delete;
    IterationsForModes& operator=(const IterationsForModes&) = delete;

private:
    BlockSolver<double>& solver_;
    const double usual_;
};

// Whether a step is too long for a growing mode that the last look found resolved.
inline bool no_longer_resolves(const ImplicitState& m, double h, bool has_none) noexcept {
    return m.modes.resolved > std::fabs(has_none ? pole_without_factors / h : m.solver_factor);
}

// Whether a step that was accepted has stepped over a growing mode; a shorter length is in s.h then.
inline bool steps_over_growth(Integration& s, ImplicitState& m, bool has_none) noexcept {
    ModeSearch& search = m.modes;
    const double h = s.t_new - s.t;
    const bool follows = search.longest > 0;
    search.followed += follows ? search.rate * std::fabs(h) : 0;
    const long long vectors = std::min<long long>(m.model.block_states(), most_vectors) + m.model.deepest;
    const long long solutions = vectors * (m.solver.one().iterates() ? corrections_a_solution : 1);
    const bool paid = s.rhs_calls - search.evaluations >= evaluations_a_solution * solutions || follows;
    const bool longer = std::fabs(h) > longer_since_look * search.looked_at || no_longer_resolves(m, h, has_none);
    const bool due = (++search.steps >= steps_between_looks && paid) || longer;
    if (!due || search.pursuits > most_pursuits || m.model.block_states() == 0) return false;
    const IterationsForModes sharper(m);
    if (!factors_for_modes(m, h, has_none)) return false;
    search.steps = 0, search.evaluations = s.rhs_calls, search.looked_at = std::fabs(h), search.resolved = 0;
    const bool rests = stands_still(s, m);
    GrowingMode mode;
    const double least_size = rests || follows ? 0 : std::fmax(std::fabs(search.factor), 2 * search.passed);
    const double least_growth = rests ? grows_at_rest : grows_in_motion, left = std::fabs(s.t1 - s.t);
    const bool may_grow = may_grow_faster(s, m, std::fmax(least_growth * least_size, worth_telling / left));
    if (!may_grow || !find_growing_mode(s, m, least_growth, least_size, mode)) {
        search.longest = 0;
        return false;
    }
    const double size = std::hypot(mode.rate, mode.frequency);
    if (rests) {
        mode.kind = GrowingMode::Growth::rest;
        if (search.told.kind == GrowingMode::Growth::none) search.told = mode;
        search.longest = 0;
        return false;
    }
    const double pole = std::fabs(search.factor * h), longest = part_to_follow * pole / size;
    // Followed for long, and steps would like to be longer: it is not met.
    if (follows && search.followed > longest_pursuit && std::fabs(h) >= 0.5 * search.longest) {
        search.longest = 0, search.passed = size, ++search.pursuits;
        search.told.kind = GrowingMode::Growth::passed;
        return false;
    }
    if (follows) {
        search.longest = longest, search.rate = mode.rate;
        return false;
    }
    // Times that steps would have to tell apart are one: nothing can follow it.
    if (longest < fewest_spacings * spacing(s.t)) return false;
    search.longest = longest, search.rate = mode.rate, search.followed = 0;
    mode.kind = GrowingMode::Growth::followed;
    if (search.told.kind != GrowingMode::Growth::followed) search.told = mode;
    ++s.rejected;
    m.restarted = true;
    s.accepted = false;
    s.h = std::copysign(longest, h);
    return true;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
