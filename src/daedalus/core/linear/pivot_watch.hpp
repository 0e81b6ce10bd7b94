// What rounding leaves in factors and in what is solved with them: the limits that every factorisation judges by.
//
// And a watch over the pivots of one that keeps its order: are they still large beside what they eliminate with?
#pragma once

#include <limits>

#include "machine/arithmetic.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// A pivot above this, in rows and columns of size one, owes nothing to cancellation that matters: six digits are left.
inline constexpr double suspicious_pivot = 1e-10;

// What rounding can leave of an entry that is zero, by the sum of |l| |u| of its products: n eps of it at most, and far
// less than that in long sums (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 9.3).
constexpr double noise_of_products(double sum) noexcept { return 512 * std::numeric_limits<double>::epsilon() * sum; }

// Terms of a row below this share of the row's size times the solution's are at the rounding level of the whole solution
// (M. Arioli, J. W. Demmel, I. S. Duff, SIAM J. Matrix Anal. Appl. 10, 1989).
constexpr double share_of_solution(long long n) noexcept {
    return 1000 * static_cast<double>(n) * std::numeric_limits<double>::epsilon();
}

enum class Quality { good, poor, singular };

class PivotWatch {
public:
    // A pivot, the largest entry behind it in its row, and whether it eliminates anything: one that does not may be small.
    DAEDALUS_INLINE void see(double size, double largest, bool eliminates) noexcept {
        poor_ |= !(size >= least_pivot * largest) && eliminates;
        const double both = larger(size, largest);
        growth_ = both > growth_ ? both : growth_;
    }
    // What another one saw, too.
    void join(const PivotWatch& other) noexcept {
        poor_ |= other.poor_, growth_ = larger(other.growth_, growth_);
    }
    // Whether entries grew so little that one good answer speaks for all others of these factors.
    bool calm() const noexcept { return growth_ <= harmless_growth; }
    Quality quality() const noexcept { return poor_ || !(growth_ <= most_growth) ? Quality::poor : Quality::good; }

private:
    // A kept pivot may be this small in its row, and entries (of size one at first) may grow so far, before other
    // pivots are chosen. Half the digits are left then, from which one refinement gives the rest.
    static constexpr double least_pivot = 1e-6, most_growth = 1e6;
    // Growth as large leaves twelve digits of an answer that nobody looks at.
    static constexpr double harmless_growth = 1e4;

    double growth_ = 0;
    bool poor_ = false;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
