// Watches the pivots of a factorisation that keeps its order: are they still large beside what they eliminate with?
#pragma once

#include "machine/arithmetic.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

enum class Quality { good, poor, singular };

class PivotWatch {
public:
    // A pivot above this owes nothing to cancellation that matters.
    static constexpr double suspicious = 1e-10;

    // A pivot, the largest entry behind it in its row, and whether it eliminates anything: one that does not may be small.
    DAEDALUS_INLINE void see(double size, double largest, bool eliminates) noexcept {
        poor_ |= !(size >= least_pivot * largest) && eliminates;
        const double both = larger(size, largest);
        growth_ = both > growth_ ? both : growth_;
    }
    Quality quality() const noexcept { return poor_ || !(growth_ <= most_growth) ? Quality::poor : Quality::good; }

private:
    // A kept pivot may be this small in its row, and entries (of size one at first) may grow so far, before other
    // pivots are chosen. Half the digits are left then, from which one refinement gives the rest.
    static constexpr double least_pivot = 1e-6, most_growth = 1e6;

    double growth_ = 0;
    bool poor_ = false;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
