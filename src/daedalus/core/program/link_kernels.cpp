// Links of a chain eliminated one by one, compiled once for each instruction set (DAEDALUS_ISA).
//
// With R v = 0 solved for as many z as its rank allows (basic ones, z_b = S (z_o, c, 1)), the form over the rest is
//     M' = M_rr + M_rb S + Sᵀ M_br + Sᵀ M_bb S,
// whose minimum over the open z_o is a Cholesky factorisation, and what remains is a form of (c, 1): the recursion of
// Riccati with conditions (L. Vanroye, A. Sathya, J. De Schutter, W. Decré: FATROP, IROS 2023).
#include "program/link_kernels.hpp"

#include <cmath>

namespace daedalus {

inline namespace DAEDALUS_ISA {

namespace {

// A row is pivoted in its turn while elimination has left it more than this share of its size, else when the others
// are done, largest first.
constexpr double in_turn = 1e-2;
// What is left of a row below this share is rounding: half way from the last digit to entries of short intervals.
constexpr double nothing = 1e-10;
// A curvature of which so little is left by the steps before it is none.
constexpr double no_curvature = 1e-12;

void add(double factor, const double* from, double* to, long long count) noexcept {
#pragma omp simd
    for (long long i = 0; i < count; ++i) to[i] += factor * from[i];
}

double dot(const double* one, const double* two, long long count) noexcept {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (long long i = 0; i < count; ++i) sum += one[i] * two[i];
    return sum;
}

long long largest(const double* row, long long count) noexcept {
    long long place = 0;
    double size = 0.0;
    for (long long i = 0; i < count; ++i)
        if (const double here = std::abs(row[i]); here > size) size = here, place = i;
    return place;
}

struct LinkElimination {
    LinkNumbers& link;
    long long stride = link.stride;

    double* row(long long i) const noexcept { return link.conditions + i * stride; }
    double* form(long long i) const noexcept { return link.form + i * stride; }
    double* basic(long long i) const noexcept { return link.basics + i * stride; }
    double* slope(long long i) const noexcept { return link.slopes + i * stride; }
    double* reduced(long long i) const noexcept { return link.reduced + i * stride; }

    // Takes out of row i what pivots from..rank determine.
    void clear(long long i, long long from) const noexcept {
        for (long long j = from; j < link.rank; ++j) {
            const double *pivot = row(link.pivot_row[j]), at = row(i)[link.pivot_column[j]];
            if (at == 0.0) continue;
            const double ratio = at / pivot[link.pivot_column[j]];
            link.ratios[i * stride + j] = ratio;
            add(-ratio, pivot, row(i), link.width());
            row(i)[link.pivot_column[j]] = 0.0;
        }
    }

    void pivot(long long i, long long column) const noexcept {
        link.pivot_row[link.rank] = int(i), link.pivot_column[link.rank] = int(column), ++link.rank;
    }

    void solve_rows() const noexcept {
        link.rank = 0, link.left_rows = 0;
        for (long long i = 0; i < link.rows; ++i) {
            for (long long j = 0; j < link.z; ++j) link.ratios[i * stride + j] = 0.0;
            const double size = std::abs(row(i)[largest(row(i), link.width() - 1)]);
            link.sizes[i] = size > 0.0 ? size : 1.0;
            clear(i, 0);
            const long long column = largest(row(i), link.z);
            if (i < link.own_rows && std::abs(row(i)[column]) > in_turn * size)
                pivot(i, column);
            else
                link.left[link.left_rows++] = int(i);
        }
        for (long long k = 0; k < link.left_rows; ++k) clear_behind(link.left[k]);
        while (link.left_rows > 0 && link.rank < link.z && pivot_largest()) {
        }
        for (long long k = 0; k < link.left_rows; ++k)
            for (long long j = 0; j < link.z; ++j) row(link.left[k])[j] = 0.0;
    }

    // Pivots that came after a row was looked at.
    void clear_behind(long long i) const noexcept {
        for (long long j = 0; j < link.rank; ++j)
            if (row(i)[link.pivot_column[j]] != 0.0) return clear(i, j);
    }

    bool pivot_largest() const noexcept {
        long long best = -1, column = 0;
        double size = nothing;
        for (long long k = 0; k < link.left_rows; ++k) {
            const long long i = link.left[k], at = largest(row(i), link.z);
            const double here = std::abs(row(i)[at]) / link.sizes[i];
            if (here > size) size = here, best = k, column = at;
        }
        if (best < 0) return false;
        pivot(link.left[best], column);
        for (long long k = best; k + 1 < link.left_rows; ++k) link.left[k] = link.left[k + 1];
        --link.left_rows;
        for (long long k = 0; k < link.left_rows; ++k) clear(link.left[k], link.rank - 1);
        return true;
    }

    // The columns that are not basic, and the basic variables as sums of them.
    void back_substitute() const noexcept {
        long long count = 0;
        for (long long j = 0; j < link.width(); ++j) link.others[count++] = int(j);
        for (long long j = 0; j < link.rank; ++j) link.others[link.pivot_column[j]] = -1;
        count = 0;
        for (long long j = 0; j < link.width(); ++j)
            if (link.others[j] >= 0) link.others[count++] = link.others[j];
        for (long long j = link.rank - 1; j >= 0; --j) {
            const double* from = row(link.pivot_row[j]);
            double* to = basic(j);
            for (long long q = 0; q < count; ++q) to[q] = from[link.others[q]];
            for (long long l = j + 1; l < link.rank; ++l)
                if (const double at = from[link.pivot_column[l]]; at != 0.0) add(at, basic(l), to, count);
            const double inverse = -1.0 / from[link.pivot_column[j]];
            for (long long q = 0; q < count; ++q) to[q] *= inverse;
        }
    }

    // M' into `reduced`.
    void reduce() const noexcept {
        const long long count = link.kept();
        for (long long q = 0; q < count; ++q) {
            const double* from = form(link.others[q]);
            double* to = reduced(q);
            for (long long r = 0; r < count; ++r) to[r] = from[link.others[r]];
            for (long long j = 0; j < link.rank; ++j)
                if (const double at = from[link.pivot_column[j]]; at != 0.0) add(at, basic(j), to, count);
        }
        for (long long j = 0; j < link.rank; ++j) {
            const double* from = form(link.pivot_column[j]);
            double* to = slope(j);
            for (long long r = 0; r < count; ++r) to[r] = from[link.others[r]];
            for (long long l = 0; l < link.rank; ++l)
                if (const double at = from[link.pivot_column[l]]; at != 0.0) add(at, basic(l), to, count);
        }
        for (long long j = 0; j < link.rank; ++j)
            for (long long q = 0; q < count; ++q)
                if (const double at = basic(j)[q]; at != 0.0) add(at, slope(j), reduced(q), count);
    }

    // Cholesky's factors of the open part, in `reduced`, each step taken out of all rows behind: what is left of these
    // is the form of (c, 1), and rows of the open part are ready for back substitution.
    bool minimise() const noexcept {
        const long long count = link.kept();
        for (long long q = 0; q < link.open(); ++q) link.sizes[link.rows + q] = std::abs(reduced(q)[q]);
        for (long long q = 0; q < link.open(); ++q) {
            const double* own = reduced(q);
            if (!(own[q] > no_curvature * link.sizes[link.rows + q]) || !(own[q] > 0.0)) return false;
            for (long long r = q + 1; r < count; ++r)
                if (const double at = reduced(r)[q]; at != 0.0) add(-at / own[q], own + q, reduced(r) + q, count - q);
        }
        return true;
    }
};

bool eliminate(LinkNumbers& link) noexcept {
    const LinkElimination own{link};
    own.solve_rows();
    own.back_substitute();
    own.reduce();
    return own.minimise();
}

void substitute(const LinkNumbers& link, double* v, double* by, double* work) noexcept {
    const long long open = link.open(), count = link.kept(), stride = link.stride;
    for (long long q = open; q < count; ++q) work[q] = v[link.others[q]];
    for (long long q = open - 1; q >= 0; --q) {
        const double* row = link.reduced + q * stride;
        work[q] = -dot(row + q + 1, work + q + 1, count - q - 1) / row[q];
        v[link.others[q]] = work[q];
    }
    for (long long j = 0; j < link.rank; ++j) v[link.pivot_column[j]] = dot(link.basics + j * stride, work, count);
    // Stationarity by the basic variables gives the multipliers of the pivots, and from them those of the rows.
    double* pressed = work;
    for (long long j = 0; j < link.rank; ++j) {
        const long long column = link.pivot_column[j];
        double sum = dot(link.form + column * stride, v, link.width());
        for (long long l = 0; l < j; ++l) sum += link.conditions[link.pivot_row[l] * stride + column] * pressed[l];
        pressed[j] = -sum / link.conditions[link.pivot_row[j] * stride + column];
    }
    for (long long j = link.rank - 1; j >= 0; --j) {
        double sum = pressed[j];
        for (long long l = j + 1; l < link.rank; ++l)
            sum -= link.ratios[link.pivot_row[l] * stride + j] * by[link.pivot_row[l]];
        for (long long k = 0; k < link.left_rows; ++k) sum -= link.ratios[link.left[k] * stride + j] * by[link.left[k]];
        by[link.pivot_row[j]] = sum;
    }
}

}  // namespace

LinkKernels link_kernels() noexcept { return {eliminate, substitute}; }

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
