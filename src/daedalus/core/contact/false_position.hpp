// False position with halved weights, which keeps a bracket of a zero (M. Dowell, P. Jarratt, BIT 11, 1971).
#pragma once

namespace daedalus::contact {

struct FalsePosition {
    double low, high, at_low, at_high;  // the values have different signs
    int side = 0;                         // which end was taken last

    // Between the ends, where a line through the weighted values vanishes.
    double next() const { return (low * at_high - high * at_low) / (at_high - at_low); }

    // Take a place between the ends and the value there. An end that stays twice in a row counts half.
    void take(double place, double value) {
        if ((value > 0) == (at_low > 0)) {
            low = place, at_low = value;
            if (side == 1) at_high *= 0.5;
            side = 1;
        } else {
            high = place, at_high = value;
            if (side == -1) at_low *= 0.5;
            side = -1;
        }
    }
};

}  // namespace daedalus::contact
