// Where the polynomial of a step is looked at, and along which polynomials it is mended there.
//
// At trusted places theta_0 = 0, ..., the values of a step are right to its own accuracy: both ends, and every stage of a
// collocation method. N(theta) = prod (theta - theta_i) is the shape of what interpolation leaves out between them. Looks are
// taken where N is largest, each next one where the product with the looks before is (Leja's points): there the derivative of
// what is left out vanishes, so that a step of Newton's method finds the value itself. Where only the ends are trusted the
// first look is not in the middle, where what many methods leave out changes its sign. Where many stages leave gaps without a
// look, the last gap has one of its own: what begins late in a step, such as the current of a diode, shows there alone.
#pragma once

#include <cmath>

#include "machine/platform.hpp"

namespace daedalus {

inline constexpr int most_looks = 4, most_checks = 2, most_mended = 12;
inline constexpr double beside_middle = 0.3;
inline constexpr int many_trusted = 5;

struct BetweenNodes {
    int looks = 0;                              // 0: the degree leaves no room to mend anything
    double at[most_looks + most_checks] = {};   // the looks, then where the mended polynomial is looked at
    double late = 0;                            // the look into the last gap, 0 where there is none
    int degree = 0;
    double basis[most_looks][most_mended] = {};  // powers of the polynomial that is 1 at a look, 0 at the others and where trusted
};

inline namespace DAEDALUS_ISA {

// Trusted places, the two ends among them, and the degree that a mended polynomial may have.
inline BetweenNodes between_nodes(const double* trusted, int count, int degree) noexcept {
    constexpr int grid = 1000;
    BetweenNodes nodes;
    double places[most_mended + most_looks + most_checks] = {};
    int known = 0;
    for (; known < count; ++known) places[known] = trusted[known];
    const int room = degree - count + 1;
    nodes.looks = room < 0 ? 0 : room < most_looks ? room : most_looks;
    const auto product = [&](double theta) {
        double value = 1;
        for (int k = 0; k < known; ++k) value *= theta - places[k];
        return std::fabs(value);
    };
    // From the first of the grid behind the last place inside: the largest |N| of that gap.
    for (int k = 1; k < grid && count >= many_trusted; ++k) {
        const double theta = static_cast<double>(k) / grid;
        if (theta > trusted[count - 2] && product(theta) > product(nodes.late)) nodes.late = theta;
    }
    for (int look = 0; look < nodes.looks + most_checks; ++look) {
        double best = 0.5;
        for (int k = 1; k < grid; ++k)
            if (product(static_cast<double>(k) / grid) > product(best)) best = static_cast<double>(k) / grid;
        if (known == 2) best = beside_middle;
        places[known++] = nodes.at[look] = best;
    }
    known = count + nodes.looks;
    nodes.degree = nodes.looks > 0 ? known - 1 : 0;
    for (int look = 0; look < nodes.looks; ++look) {
        double* powers = nodes.basis[look];
        powers[0] = 1;
        int length = 0;
        for (int k = 0; k < known; ++k) {
            if (k == count + look) continue;
            const double scale = 1 / (nodes.at[look] - places[k]);
            ++length;
            for (int j = length; j >= 0; --j)
                powers[j] = scale * ((j > 0 ? powers[j - 1] : 0) - (j < length ? places[k] * powers[j] : 0));
        }
    }
    return nodes;
}

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
