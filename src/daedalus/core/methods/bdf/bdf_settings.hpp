// What a caller may choose about BDF.
#pragma once

namespace daedalus {

inline constexpr int bdf_orders = 5;  // above 5 the formulas lose stability near the imaginary axis

struct BdfSettings {
    int max_order = bdf_orders;
    // In models of index 2 the algebraic variables converge one order later: their estimates would stop the step.
    bool algebraic_in_error_test = true;
};

}  // namespace daedalus
